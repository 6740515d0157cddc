// What a page that is tested tries out of searches and other lists: this stands at the end of its script, and uses what is defined there.

/** All that a list comes to. */
const listed = () => JSON.stringify([part("heading").textContent, state.list.map(({ item, share }) => [item.id, share]), [...state.found], state.marked.map(({ id }) => id),
  state.marks, part("chips").textContent, part("list").innerHTML, part("mixture").innerHTML, part("mixture").hidden, part("take").hidden, part("more").hidden,
  part("result").dataset.place, state.listed, addressOf()]);

/** Runs the slices of what was begun, of a part each; how many there were. */
const stepThrough = () => {
  let slices = 1;
  for (; pending !== null; slices++) goOnListing();
  return slices;
};

/** The most items of the index, of documents and of words of the map that are touched between two looks at the clock. */
const mostTouched = (act) => {
  let touched = 0, most = 0;
  const own = { clock: performance.now, kept: documents.map(({ kept }) => kept), keys: words.map(({ key }) => key), index: { ...indexed() } };
  const counting = (value) => ({ configurable: true, get: () => { touched += 1; return value; } });
  const counted = (list) => new Proxy(list, { get: (from, key) => {
    if (typeof key === "string" && /^\d+$/.test(key)) touched += 1;
    return typeof from[key] === "function" ? from[key].bind(from) : from[key];
  } });
  documents.forEach((item) => Object.defineProperty(item, "kept", counting(item.kept)));
  words.forEach((word) => Object.defineProperty(word, "key", counting(word.key)));
  Object.assign(index, { words: counted(index.words), having: index.having.map(counted), titled: index.titled.map(counted), sequences: index.sequences.map(counted) });
  performance.now = () => {
    [most, touched] = [Math.max(most, touched), 0];
    return own.clock.call(performance);
  };
  try {
    act();
    performance.now();
  } finally {
    delete performance.now;
    const plain = (value) => ({ configurable: true, enumerable: true, writable: true, value });
    documents.forEach((item, n) => Object.defineProperty(item, "kept", plain(own.kept[n])));
    words.forEach((word, n) => Object.defineProperty(word, "key", plain(own.keys[n])));
    Object.assign(index, own.index);
  }
  return most;
};

/** A search finds what a scan of the texts finds. */
const searches = ({ check, type, press, scanned }) => {
  const scan = (wanted) => documents.filter((item) => isShown(item) && wanted(scanned[item.id])).length;
  const has = (...parts) => (all) => all.some((_, at) => parts.every((part, n) => all[at + n] === part));
  const finds = (text, wanted) => {
    type(text);
    check(`search for ${text}`, state.list.length === scan(wanted));
  };
  const some = scanned.flatMap((all) => all.filter((word) => word !== " ")).filter((word, n) => n % 97 === 3 && !unspaced.test(word)).slice(0, 12);
  some.forEach((a, n) => {
    const b = some[(n + 1) % some.length];
    finds(`${a} `, has(a));
    const titles = state.list.map(({ item }) => wordsOf(item.title).includes(a));
    check(`titles with ${a} come first`, !titles.slice(Math.max(0, titles.indexOf(false))).includes(true) || !titles.includes(false));
    finds(`"${a} ${b}"`, has(a, b));
    finds(`${a} ${b} `, (all) => has(a)(all) && has(b)(all));
    finds(`${a} OR ${b} `, (all) => has(a)(all) || has(b)(all));
    finds(`${a} -${b} `, (all) => has(a)(all) && !has(b)(all));
    finds(`-${a} `, (all) => !has(a)(all));
    finds(`${a.slice(0, 2)}*`, (all) => all.some((word) => word.startsWith(a.slice(0, 2))));
  });
  const pairs = scanned.flatMap((all) => all.slice(0, -1).map((word, at) => [word, all[at + 1]]))
    .filter(([a, b], n) => n % 131 === 7 && a !== " " && b !== " " && !unspaced.test(a + b)).slice(0, 12);
  for (const [a, b] of pairs) finds(`"${a} ${b}"`, has(a, b));
  check("phrases are found", pairs.length === 0 || (type(`"${pairs[0].join(" ")}"`), state.list.length > 0));
  check("texts are whole", data.texts === undefined || part("result").dataset.searched !== "0");
  const texted = documents.find((item) => item.text !== undefined && isShown(item) && wordsOf(item.text).length > 30);
  if (texted) {
    const last = wordsOf(texted.text).at(-1);
    type(`${last} `);
    check("a word at the end is found", state.list.some((entry) => entry.item === texted));
    check("hits are marked", [...part("list").querySelectorAll("p")].some((p) => p.querySelector("mark")));
    state.list = [{ item: texted }];
    state.listed = 0;
    part("list").replaceChildren();
    showMore(1);
    part("list").querySelector("button").click();
    cancelAnimationFrame(view.flight);
    const reader = part("list").querySelectorAll(".reader .text");
    check("the whole text is read", reader.length === 1 && reader[0].textContent === texted.text);
    check("hits are marked in it", [...reader[0].querySelectorAll("mark")].some((mark) => folded(mark.textContent).includes(last)));
    const links = [...reader[0].querySelectorAll("a")].map((link) => link.href);
    check("addresses are links", links.length === (texted.text.match(/https?:\/\//g) ?? []).length &&
      links.every((link) => /^https?:/.test(link)));
    const like = part("list").querySelector(".reader button");
    if (like) {
      like.click();
      check("documents like it", state.place !== null && state.list[0].item === texted);
    }
    const wrong = `${"q".repeat(1)}${wordsOf(texted.text).find((word) => word.length > 4 && !unspaced.test(word)) ?? ""}`;
    if (wrong.length > 5 && !indexed().numbers.has(wrong)) {
      type(`${wrong} `);
      check("did you mean", state.list.length === 0 && part("heading").textContent.includes("Did you mean") &&
        part("chips").children[0].textContent === wrong.slice(1));
    }
  }
  press(document, "Escape");
};

/** Lists in slices are those that are worked out at once. */
const slices = async ({ check, type, press, scanned }) => {
  const budget = listMilliseconds, waits = patience, report = { slices: 0, touched: 0 };
  const atOnceFor = (text) => {
    listMilliseconds = Infinity;
    type(text);
    listMilliseconds = 0;
    return listed();
  };
  const clear = () => { atOnceFor(""); };
  const whole = async () => { while (pending !== null) await breathe(); };

  // The index is made in parts, of whole words, and has them all.
  const parts = [], reading = new Index().read();
  let step;
  for (step = reading.next(); !step.done; step = reading.next()) parts.push(step.value);
  const tokens = scanned.reduce((sum, all) => sum + all.length + 1, 0);
  check(`parts of the index: ${Math.max(...parts)}`, parts.every((n) => n < 2 * partItems) && parts.reduce((sum, n) => sum + n, 0) === tokens);
  check("the index has all words in their order", scanned.every((all, id) => {
    const own = Array.from(step.value.sequences[id], (number) => step.value.words[number] ?? " ");
    return own.join("\n") === [...all, " "].join("\n");
  }));

  // 200 queries of words, phrases and all else, a part at a time.
  let seed = 1;
  const random = (n) => {
    seed = seed * 16807 % 2147483647;
    return seed % n;
  };
  const filled = scanned.filter((all) => all.length > 3);
  const queries = Array.from({ length: filled.length === 0 ? 1 : 200 }, (_, n) => {
    const all = filled[random(filled.length)] ?? ["x", " ", "y"], at = random(all.length - 1), [a, b] = [all[at], all[at + 1]].map((word) => (word === " " ? all[0] : word));
    return [`${a} `, `"${a} ${b}"`, `${a} ${b} `, `${a} OR ${b} `, `${a} -${b} `, `-${a} `, `${a.slice(0, 2)}*`, a.slice(0, -1), `q${a} `, `"${all.slice(0, 4).join(" ")}"`][n % 10];
  });
  let same = 0;
  for (const query of queries) {
    const expected = atOnceFor(query);
    clear();
    type(query);
    report.slices += stepThrough();
    same += Number(listed() === expected);
  }
  check(`lists in slices: ${queries.length - same} of ${queries.length} differ`, same === queries.length);
  report.touched = Math.max(...[...queries.slice(0, 10), ""].map((query) => mostTouched(() => { type(query); report.slices += stepThrough(); })));
  check(`items between two looks at the clock: ${report.touched}`, report.touched <= 2 * partItems);

  // A phrase at every place of the longest text, also where one part of it ends and another begins.
  const longest = documents.reduce((best, item) => (scanned[item.id].length > (scanned[best?.id]?.length ?? 0) ? item : best), null);
  const own = scanned[longest?.id]?.slice(0, 2 * partItems) ?? [], missed = own.filter((a, n) => {
    const b = own[n + 1] ?? " ";
    if (a === " " || b === " " || !isShown(longest)) return false;
    type(`"${a} ${b}"`);
    stepThrough();
    const count = scanned.filter((all, id) => isShown(documents[id]) && all.some((word, at) => word === a && all[at + 1] === b)).length;
    return unspaced.test(a + b) ? !state.list.some(({ item }) => item === longest) : state.list.length !== count;
  });
  check(`phrases of the longest text: ${missed.length} missed`, missed.length === 0);

  // The first search of a page, while there is no index yet, and the search of an address.
  const query = queries[0].trim(), expected = atOnceFor(query), address = addressOf();
  clear();
  [index, indexWork] = [null, null];
  type(query);
  report.slices += stepThrough();
  check("the first search", listed() === expected);
  clear();
  goTo(address);
  await whole();
  check("the search of an address", listed() === expected);

  // What is typed faster than it is looked for: nothing is seen but the last list.
  clear();
  patience = Infinity;
  const seen = [], observer = new MutationObserver((changes) => seen.push(...changes.flatMap(({ addedNodes }) => [...addedNodes].map((node) => node.textContent))));
  observer.observe(part("heading"), { childList: true });
  for (let n = 1; n <= query.length; n++) {
    type(query.slice(0, n));
    if (n % 3 === 0) await breathe();
  }
  await whole();
  observer.disconnect();
  check(`only the last of what is typed: ${seen.join(", ")}`, listed() === expected && seen.join("\n") === part("heading").textContent);
  clear();
  type(query);
  const left = pending !== null;
  press(document, "Escape");
  await whole();
  const cleared = listed();
  clear();
  check("a search that is given up", left && cleared === listed());

  const shown = () => part("list").children.length;
  showMore(60);
  check("more entries, not all at once", pending !== null === state.list.length > 25 && shown() < 26);
  await whole();
  check("all that were asked for", shown() === Math.min(85, state.list.length) && shown() === state.listed && part("more").hidden === (shown() === state.list.length));
  clear();

  // What is asked of a list waits for it; and it is said that there is something to wait for.
  type(query);
  part("listA").click();
  const before = sets.A;
  await whole();
  check("a list is taken once it is there", before === null && (sets.A?.items.length ?? 0) === state.list.length && (sets.A === null || sets.A.name === listedAs()));
  setTo("A", "", []);
  patience = -1;
  type(query);
  check("searching", part("heading").textContent === "Searching…" && state.list.length === 0);
  await whole();
  check("found", listed() === expected);
  [listMilliseconds, patience] = [Infinity, waits];
  clear();
  listMilliseconds = budget;
  return report;
};

furtherChecks.push(searches, slices);
