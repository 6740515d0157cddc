// The panel beside the map. Text only ever goes in as text.

const part = (id) => document.getElementById(id);
const element = (tag, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
};
const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

/** What is chosen: a window, the window under the pointer, words and documents that were looked for. */
const state = { place: null, hover: null, found: new Set(), marked: [], list: [], listed: 0, marks: [], region: null, lasso: null,
  background: "labels", words: true };

/** A label's mark. A drawing, since a list of 25 canvases takes longer than what it is a list of. */
const labelMark = (label) => {
  const brush = new SvgBrush(null), space = document.querySelector("svg").namespaceURI;
  const set = (node, attributes) => {
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  mark(brush, shapeOf(label), 16, 16, 11);
  const drawing = set(document.createElementNS(space, "svg"), { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true" });
  drawing.append(set(document.createElementNS(space, "path"), { d: brush.path, fill: colourOf(label) }));
  return drawing;
};

const showLegend = () => {
  const ordered = colouring !== null && isRange(colouring);
  const order = ordered ? labels : [...labels].sort((a, b) => b.documents - a.documents || a.id - b.id);
  part("legend").hidden = labels.length === 0;
  part("legend").setAttribute("aria-label", `${colouring === null ? "Labels" : colouring.name}, press to show or hide`);
  part("legend").replaceChildren(...order.map((label) => {
    const button = element("button", { type: "button", title: `${label.name}: show or hide` }, labelMark(label.id),
      element("span", { textContent: label.name, dir: "auto" }),
      element("small", { textContent: label.documents.toLocaleString("en") }));
    button.setAttribute("aria-pressed", String(label.shown));
    button.addEventListener("click", () => {
      label.shown = !label.shown;
      button.setAttribute("aria-pressed", String(label.shown));
      tint = null;
      refresh();
    });
    return button;
  }));
};

/** The shares of the labels among entries, the largest first, and their sum. */
function* mixtureOf(entries) {
  const shares = new Float64Array(labels.length), order = [];
  let total = 0;
  yield* inParts(entries.length, (from, to) => {
    for (let n = from; n < to; n++) {
      const { item: { label }, share = 1 } = entries[n];
      if (label < 0) continue;
      if (shares[label] === 0) order.push(label);
      shares[label] += share;
      total += share;
    }
  });
  return { total, sorted: order.map((label) => [label, shares[label]]).sort((a, b) => b[1] - a[1]) };
}
const showMixture = ({ total, sorted }, bar = part("mixture")) => {
  bar.hidden = sorted.length === 0;
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", sorted.map(([label, share]) =>
    `${labels[label].name} ${Math.round(100 * share / total)} percent`).join(", "));
  bar.replaceChildren(...sorted.map(([label, share]) => {
    const piece = element("span", { title: `${labels[label].name}: ${Math.round(100 * share / total)}%` });
    piece.style.flex = `${100 * share / total} 0 0`; // below 1 in all, flex would leave a gap
    piece.style.background = colourOf(label);
    return piece;
  }));
};

const showChips = (texts) => {
  part("chips").replaceChildren(...texts.map((text) => {
    const chip = element("button", { type: "button", textContent: text, dir: "auto", title: `Search for ${text}` });
    chip.addEventListener("click", () => { part("search").value = text; search(text); });
    return chip;
  }));
};

function* entryOf({ item, share }, marks) {
  const name = item.label < 0 ? "" : labels[item.label].name;
  const button = element("button", { type: "button", title: name }, labelMark(item.label),
    element("b", { textContent: item.title || "(no title)", dir: "auto" }),
    element("small", { textContent: share === undefined ? "" : `${Math.max(1, Math.round(100 * share))}%` }));
  const short = yield* excerpt(item, marks);
  if (short !== "") button.append(element("p", { dir: "auto" }, ...annotated(short, marks)));
  if (name) button.append(element("span", { className: "hidden", textContent: `Label: ${name}` }));
  button.addEventListener("click", () => {
    openEntry(button, item);
    state.marked = [item];
    if (item.placed) flyTo(item.x, item.y);
    repaint();
  });
  return element("li", {}, button);
}

/** Opens a document below its entry in the list, to be read; the one that was open is closed. */
const openEntry = (button, item) => {
  part("list").querySelectorAll("[aria-current]").forEach((other) => other.removeAttribute("aria-current"));
  part("list").querySelectorAll(".reader").forEach((other) => other.remove());
  button.setAttribute("aria-current", "true");
  const [place] = item.places;
  const local = new Set(place ? wordsAt(place.row, place.column, 60).flatMap(wordsOf) : []);
  const reader = element("div", { className: "reader" },
    element("div", { className: "text", tabIndex: 0, dir: "auto" }, ...withLinks(item.text ?? item.snippet, state.marks, local)));
  reader.lastChild.setAttribute("aria-label", "Text of the document");
  reader.lastChild.setAttribute("role", "region");
  const about = fieldsOf(item);
  if (about.length > 0) reader.append(element("dl", { className: "about" }, ...about));
  if (item.text === undefined && data.texts !== undefined && item.snippet !== "") {
    reader.append(element("p", { className: "note", textContent: "The page has only the beginning of this text." }));
  }
  if (place) {
    const like = element("button", { type: "button", textContent: "Documents like this" });
    like.addEventListener("click", () => selectPlace(place, item));
    reader.append(like);
  }
  button.after(reader);
};

/** The elements of entries, each of which is a part. */
function* rowsOf(entries, marks) {
  const made = [];
  for (const entry of entries) {
    made.push(yield* entryOf(entry, marks));
    yield 1;
  }
  return made;
}
/** Entries that are shown before the others of a list. */
const firstEntries = 8;
/** Shows a list once its first entries are made, with what else changes with it; then the map, then more entries, each in a frame of its own,
 * since what a browser makes of 25 entries and of the map takes longer than a frame has. */
function* listing(heading, entries, chips, change) {
  const mixture = yield* mixtureOf(entries), made = yield* rowsOf(entries.slice(0, 25), change?.marks ?? state.marks);
  if (change !== undefined) {
    Object.assign(state, change);
    delete part("result").dataset.place;
  }
  part("heading").textContent = heading;
  part("status").textContent = heading;
  state.list = entries;
  state.listed = made.length;
  showMixture(mixture);
  showChips(chips);
  part("list").replaceChildren(...made.slice(0, firstEntries));
  part("take").hidden = entries.length === 0;
  part("more").hidden = true;
  yield afterFrame;
  repaint();
  yield afterFrame;
  part("list").append(...made.slice(firstEntries));
  part("more").hidden = state.listed >= entries.length;
}
const showList = (heading, entries, chips) => {
  drop();
  atOnce(listing(heading, entries, chips));
};
/** Shows so many entries more, some in each frame. */
function* moreEntries(n) {
  for (const end = Math.min(state.list.length, state.listed + n); state.listed < end;) {
    const made = yield* rowsOf(state.list.slice(state.listed, Math.min(end, state.listed + 2 * firstEntries)), state.marks);
    part("list").append(...made);
    state.listed += made.length;
    part("more").hidden = state.listed >= state.list.length;
    yield afterFrame;
  }
}
const showMore = (n) => startListing(moreEntries(n));

/** Milliseconds of a slice, and after how many it is said that there is something to wait for. */
let listMilliseconds = 5, patience = 200;
/** The list that is being worked out, which any other one takes the place of. */
let pending = null;
const stopTimers = () => {
  clearTimeout(pending?.timer);
  cancelAnimationFrame(pending?.frame);
};
const drop = () => {
  stopTimers();
  pending = null;
};
const goOnListing = () => {
  const own = pending, now = performance.now(), later = () => { own.timer = setTimeout(goOnListing); };
  stopTimers();
  try {
    const { done, value } = proceed(own.work, now + listMilliseconds);
    if (done) {
      drop();
      own.acts.forEach((act) => act());
    } else if (value === afterFrame) {
      own.heading = "";
      own.frame = requestAnimationFrame(later);
    } else {
      if (own.heading !== "" && now - own.since > patience) announce(own);
      later();
    }
  } catch (error) {
    if (pending === own) drop();
    throw error;
  }
};
/** Begins to work out a list; with a heading until it is there, should that take long. */
const startListing = (work, heading = "") => {
  drop();
  pending = { work, heading, since: performance.now(), timer: 0, frame: 0, acts: [] };
  goOnListing();
};
/** Acts on what is listed, once that is what was asked for last. */
const whenListed = (act) => {
  if (pending === null) act();
  else pending.acts.push(act);
};
const nothingChosen = () => ({ place: null, region: null, lasso: null, found: new Set(), marked: [], marks: [] });
const announce = (own) => {
  Object.assign(state, nothingChosen());
  atOnce(listing(own.heading, [], []));
  own.heading = "";
};

/** Lists the documents of the window that starts at a cell, one that was chosen first. */
const selectPlace = (place, chosen = null) => {
  state.place = place;
  state.region = null;
  state.lasso = null;
  state.found = new Set();
  state.marks = [];
  state.marked = chosen === null ? [] : [chosen];
  let entries = documentsAt(place.row, place.column);
  if (chosen !== null) { // the document that was meant comes first, wherever most of its posterior is
    const own = entries.find((entry) => entry.item === chosen) ?? { item: chosen };
    entries = [own, ...entries.filter((entry) => entry !== own)];
  }
  showList(entries.length > 0 ? `${count(entries.length, "document", "documents")} here, nearest first` : "No documents here",
    entries, wordsAt(place.row, place.column, 12));
  if (chosen !== null) openEntry(part("list").querySelector("button"), chosen);
  part("result").dataset.place = `${place.row},${place.column}`;
  repaint();
};

const clearAll = () => {
  Object.assign(state, nothingChosen());
  part("search").value = "";
  delete part("result").dataset.place;
  startListing(listAll());
};
function* listAll() {
  const entries = [], total = documents.length.toLocaleString("en");
  yield* inParts(documents.length, (from, to) => {
    for (let id = from; id < to; id++) if (isShown(documents[id])) entries.push({ item: documents[id] });
  });
  yield* listing(data.sampledFrom !== undefined ? `${entries.length.toLocaleString("en")} of ${count(data.sampledFrom, "document", "documents")}`
    : entries.length === documents.length ? `All ${count(entries.length, "document", "documents")}`
      : `${entries.length.toLocaleString("en")} of ${total} documents`,
  entries, [...new Set(words.slice(0, 60).map((word) => word.text))].slice(0, 12));
}

const search = (text) => {
  if (folded(text.trim()) === "") return clearAll();
  if (waiting) { // it is searched for once all is read
    Object.assign(state, nothingChosen());
    return showList("Reading the texts of all documents…", [], []);
  }
  startListing(listFound(text), "Searching…");
};
function* listFound(text) {
  yield* indexing();
  const query = folded(text.trim()), { found: flags, marks } = yield* lookUp(text);
  // Words of the map: those that were named, or what a single word may become.
  const named = new Set(marks.map(({ part }) => part));
  const exact = new Set(), prefixed = new Set(), inside = new Set();
  yield* inParts(words.length, (from, to) => {
    for (let n = from; n < to; n++) {
      const { key, text: word } = words[n];
      if (key === query || named.has(key)) exact.add(word);
      else if (key.startsWith(query)) prefixed.add(word);
      else if (key.includes(query)) inside.add(word);
    }
  });
  const found = [...exact, ...prefixed, ...inside];
  const titled = yield* inTitle(marks), inTitles = [], inTexts = [];
  let any = false;
  yield* inParts(documents.length, (from, to) => {
    for (let id = from; id < to; id++) {
      if (flags[id] === 0) continue;
      any = true;
      if (isShown(documents[id])) (titled[id] === 1 ? inTitles : inTexts).push({ item: documents[id] });
    }
  });
  const entries = inTitles.concat(inTexts), instead = any ? [] : yield* meant(query);
  yield* listing(`${count(found.length, "word", "words")}, ${count(entries.length, "document", "documents")} with ${text.includes('"') ? text.trim() : `“${text.trim()}”`}` +
    (instead.length > 0 ? ". Did you mean:" : ""), entries, instead.length > 0 ? instead : found.slice(0, 12),
  { ...nothingChosen(), marks, found: new Set(exact.size > 0 ? exact : found.slice(0, 12)), marked: entries.slice(0, 200).map(({ item }) => item) });
}

/** Says what a search goes over. */
const showSearched = () => {
  const whole = documents.filter((item) => item.text !== undefined).length;
  part("searched").textContent = whole === 0 ? "A search goes over titles and the beginnings of texts."
    : `A search goes over every word of ${whole === documents.length ? "all" : `${whole.toLocaleString("en")} of ${documents.length.toLocaleString("en")}`} documents` +
      (whole === documents.length ? "." : "; of the others over title and beginning.");
  part("result").dataset.searched = String(whole);
};

/** Everything again, after labels were switched or colours changed. */
const refresh = () => {
  if (part("search").value.trim() !== "") search(part("search").value);
  else if (state.place) selectPlace(state.place);
  else if (state.region) selectRegion(state.region);
  else if (state.lasso) selectDrawn(state.lasso);
  else clearAll();
};

/** What can be shown behind and as points, on a page of points. */
const showOptions = () => {
  part("options").hidden = !pointed;
  part("relief").hidden = part("relief").disabled = data.relief === undefined;
  const [background, place, wordy] = ["background", "place", "wordy"].map(part);
  const change = () => {
    Object.assign(state, { background: background.value, words: wordy.checked });
    settle(place.value === "mean");
    tint = null;
    repaint();
  };
  [background, place, wordy].forEach((control) => control.addEventListener("change", change));
};

const showFrame = () => {
  part("title").textContent = pageTitle;
  part("summary").textContent = `${count(data.sampledFrom ?? documents.length, "document", "documents")} on ` +
    (ring ? `a ring of ${columns}` : `${rows} × ${columns}`) + " places" +
    (data.added === undefined ? "" : `, ${(documents.length - data.added).toLocaleString("en")} of them added (larger, with an edge)`) +
    (data.sampledFrom === undefined ? "" : `; this page has a sample of ${documents.length.toLocaleString("en")}`);
  part("facts").replaceChildren(...data.facts.flatMap(([name, value]) => [
    element("dt", { textContent: name, dir: "auto" }), element("dd", { textContent: value, dir: "auto" })]));
  for (const part of document.querySelectorAll(plane ? ".torus" : ".plane")) part.hidden = true;
  showLegend();
  showSearched();
  showContents();
};
