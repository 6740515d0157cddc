// What the page tries out of lists that are worked out in slices.

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

const selftestOfLists = async (check, type, scanned) => {
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
