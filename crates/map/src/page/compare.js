// Two sets of documents against each other.

/** What is compared: documents and what they are called. */
const sets = { A: null, B: null };

/** Tokens that the words of the whole collection count as before those of the sets are seen. */
const priorTokens = 500;
/** The least log-odds that are worth a line: half as frequent again, at the lower end of the interval. */
const clearly = Math.log(1.5);
/** Words of each set. */
const comparedWords = 12;

/** How often each word of the index is in documents. */
const tokensOf = (items) => {
  const { having, sequences } = indexed(), counts = new Float64Array(having.length);
  for (const { id } of items) for (const number of sequences[id]) if (number >= 0) counts[number] += 1;
  return counts;
};
const sumOf = (counts) => counts.reduce((sum, n) => sum + n, 0);

/** Log-odds ratio of a word in two sets with its standard error, under a Dirichlet prior that knows how frequent the word is in all
 * documents (Monroe, Colaresi and Quinn 2008, equations 15 to 22). */
const logOdds = (a, totalA, b, totalB, share) => {
  const prior = priorTokens * share;
  const odds = (n, total) => Math.log((n + prior) / (total + priorTokens - n - prior));
  return { delta: odds(a, totalA) - odds(b, totalB), error: Math.sqrt(1 / (a + prior) + 1 / (b + prior)) };
};

/** Words of three tokens or more in both sets together, those first whose log-odds are the most standard errors from 0. */
const compareWords = (itemsA, itemsB) => {
  const [a, b, all] = [itemsA, itemsB, documents].map(tokensOf), [totalA, totalB, total] = [a, b, all].map(sumOf);
  const found = [];
  if (totalA === 0 || totalB === 0) return { A: [], B: [] };
  for (const [number, word] of indexed().words.entries()) {
    if (a[number] + b[number] < 3 || (word.length < 2 && !unspaced.test(word)) || /^\p{N}+$/u.test(word)) continue;
    const { delta, error } = logOdds(a[number], totalA, b[number], totalB, all[number] / total);
    found.push({ word, number, delta, error, z: delta / error, low: delta - 1.96 * error, high: delta + 1.96 * error });
  }
  found.sort((x, y) => y.z - x.z || (x.word < y.word ? -1 : 1));
  return { A: found.filter(({ low }) => low > clearly).slice(0, comparedWords), B: found.filter(({ high }) => high < -clearly).slice(-comparedWords).reverse() };
};

/** Regions of each set. */
const comparedRegions = 5;

/** Regions, of the middle level if there are three, that have clearly more of one set: the log-odds of a document to lie there, by the same rule
 * as of words, with a document more for each region. */
const compareRegions = (itemsA, itemsB) => {
  const level = Math.min(1, levelsOfRegions.length - 1), regions = levelsOfRegions[level] ?? [];
  const countsOf = (items) => {
    const counts = new Float64Array(regions.length);
    for (const item of items) if (item.regions) counts[item.regions[level].id] += 1;
    return counts;
  };
  const [a, b, all] = [itemsA, itemsB, documents].map(countsOf), [totalA, totalB, total] = [a, b, all].map(sumOf);
  if (totalA === 0 || totalB === 0) return { A: [], B: [] }; // also where there are no regions
  const found = regions.filter(({ name, id }) => name !== "" && all[id] > 0).map((region) => {
    const n = region.id, prior = regions.length * all[n] / total;
    const odds = (count, sum) => Math.log((count + prior) / (sum + regions.length - count - prior));
    const delta = odds(a[n], totalA) - odds(b[n], totalB), error = Math.sqrt(1 / (a[n] + prior) + 1 / (b[n] + prior));
    return { region, shares: [a[n] / totalA, b[n] / totalB], delta, z: delta / error, low: delta - 1.96 * error, high: delta + 1.96 * error };
  });
  found.sort((x, y) => y.z - x.z || x.region.id - y.region.id);
  return { A: found.filter(({ low }) => low > 0).slice(0, comparedRegions), B: found.filter(({ high }) => high < 0).slice(-comparedRegions).reverse() };
};

/** The documents that have most of the words of their set. */
const examplesOf = (items, words) => {
  const { sequences } = indexed(), weight = new Map(words.map(({ number, delta }) => [number, Math.abs(delta)]));
  const score = ({ id }) => [...new Set(sequences[id])].reduce((sum, number) => sum + (weight.get(number) ?? 0), 0);
  return items.map((item) => ({ item, score: score(item) })).sort((x, y) => y.score - x.score || x.item.id - y.item.id)
    .slice(0, 3).map(({ item }) => item);
};

/** What is listed now, in words. */
const listedAs = () => {
  const narrowed = columnsOfPage.filter((field) => field.kind !== "text" && isNarrowed(field)).map((field) =>
    `${field.name} ${isRange(field) ? `${textOf(field, field.from)} – ${textOf(field, field.to)}`
      : field.names.filter((_, id) => field.shown[id]).slice(0, 3).join(", ")}`);
  const shown = labels.filter((label) => label.shown);
  if (shown.length < labels.length) narrowed.push(shown.slice(0, 3).map(({ name }) => name).join(", "));
  return [part("heading").textContent, ...narrowed].join("; ");
};

const setTo = (side, name, items) => {
  sets[side] = items.length === 0 ? null : { name, items };
  showComparison();
};

/** `3.2 (2.1 – 4.9)`: how many times the odds of the word in one set are those in the other. */
const ratioOf = (sign, { delta, low, high }) => {
  const [middle, least, most] = (sign > 0 ? [delta, low, high] : [-delta, -high, -low]).map((x) => {
    const ratio = Math.exp(x);
    return ratio < 10 ? ratio.toFixed(1) : Math.round(ratio).toLocaleString("en");
  });
  return [`× ${middle}`, `${least} – ${most}`];
};

const tableOf = (caption, headings) => {
  const table = element("table", {}, element("caption", { textContent: caption }));
  if (headings.length > 0) {
    table.append(element("thead", {}, element("tr", {}, ...headings.map((textContent) => {
      const cell = element("th", { textContent });
      cell.scope = "col";
      return cell;
    }))));
  }
  return table;
};

const wordTable = (side, sign, words) => {
  const table = tableOf(words.length > 0 ? `More in ${side}` : `No word is clearly more frequent in ${side}`,
    words.length > 0 ? ["word", "odds", "95 % interval"] : []);
  table.append(element("tbody", {}, ...words.map((word) => {
    const button = element("button", { type: "button", textContent: word.word, dir: "auto", title: `Search for ${word.word}` });
    button.addEventListener("click", () => { part("search").value = `${word.word} `; search(`${word.word} `); });
    return element("tr", {}, element("td", {}, button), ...ratioOf(sign, word).map((textContent) => element("td", { textContent })));
  })));
  return table;
};

/** Regions of which one set has more, with the shares of both sets that lie there. */
const regionTable = (side, regions) => {
  const table = tableOf(`Regions with more of ${side}`, ["region", "A", "B"]);
  table.className = "grown";
  table.append(element("tbody", {}, ...regions.map(({ region, shares }) => element("tr", {},
    element("td", {}, regionButton(region)), ...shares.map((share) => element("td", { textContent: `${(100 * share).toFixed(1)} %` }))))));
  return table;
};

/** The middle half of the values of a range. */
const quartiles = (field, items) => {
  const values = items.map(({ id }) => field.values[id]).filter((value) => value !== null).sort((a, b) => a - b);
  const at = (share) => textOf(field, values[Math.floor(share * (values.length - 1))]);
  return values.length === 0 ? "none" : `${at(0.5)} (${at(0.25)} – ${at(0.75)})`;
};

const showComparison = () => {
  for (const side of ["A", "B"]) {
    part(`set${side}`).textContent = sets[side] === null ? `${side}: nothing yet` : `${side}: ${sets[side].name} (${sets[side].items.length.toLocaleString("en")})`;
  }
  part("compared").replaceChildren();
  if (sets.A === null || sets.B === null) return;
  const inB = new Set(sets.B.items), both = new Set(sets.A.items.filter((item) => inB.has(item)));
  const [A, B] = [sets.A, sets.B].map(({ items }) => items.filter((item) => !both.has(item)));
  if (both.size > 0) part("compared").append(element("p", { className: "note", textContent: `${count(both.size, "document is", "documents are")} in both and left out.` }));
  const words = compareWords(A, B), regions = compareRegions(A, B);
  for (const [side, items, sign] of [["A", A, 1], ["B", B, -1]]) {
    const bar = element("div", { className: "mixture" });
    showMixture(atOnce(mixtureOf(items.map((item) => ({ item })))), bar);
    const ranges = columnsOfPage.filter(isRange).flatMap((field) =>
      [element("dt", { textContent: field.name, dir: "auto" }), element("dd", { textContent: quartiles(field, items) })]);
    const examples = examplesOf(items, words[side]).map((item) => {
      const button = element("button", { type: "button", textContent: item.title || "(no title)", dir: "auto" });
      button.addEventListener("click", () => {
        if (item.placed) selectPlace(item.places[0], item);
        else showList("A document without a place", [{ item }], []);
      });
      return element("li", {}, button);
    });
    part("compared").append(element("h3", { textContent: `${side}: ${count(items.length, "document", "documents")}` }), bar);
    if (ranges.length > 0) part("compared").append(element("dl", {}, ...ranges));
    part("compared").append(wordTable(side, sign, words[side]));
    if (regions[side].length > 0) part("compared").append(regionTable(side, regions[side]));
    part("compared").append(element("ol", { className: "examples" }, ...examples));
  }
};

for (const side of ["A", "B"]) {
  part(`list${side}`).addEventListener("click", () => whenListed(() => {
    part("comparison").open = true;
    setTo(side, listedAs(), state.list.map(({ item }) => item));
  }));
  const select = part(`label${side}`);
  data.labels.forEach((name, id) => select.append(element("option", { value: String(id), textContent: name })));
  if (data.added !== undefined) select.append(...["added", "before"].map((value) => element("option", { value, textContent: `documents ${value}` })));
  select.hidden = data.labels.length === 0 && data.added === undefined;
  select.addEventListener("change", () => {
    const id = Number(select.value);
    if (select.value === "added" || select.value === "before") {
      setTo(side, `documents ${select.value}`, documents.filter(({ added }) => added === (select.value === "added")));
    } else if (select.value !== "") setTo(side, data.labels[id], documents.filter((item) => data.documentLabels[item.id] === id));
  });
}
showComparison();
