// What is on the map: words and documents with a fixed place each, and which label lives where.

/** A ring of cells is drawn as a band; up and down then mean nothing. */
const ring = data.extents[0] === 1;
const columns = data.extents[1];
const rows = ring ? Math.max(3, Math.round(columns / 2)) : data.extents[0];
const sides = [ring ? rows : data.window[0], data.window[1]];
const cellRows = data.extents[0];

const rowOf = (cell) => Math.floor(cell / columns);
const columnOf = (cell) => cell % columns;

/** Words by falling weight. The words of a cell stand around its centre, the heaviest on it. */
const words = data.words
  .map((text, n) => ({ text, cell: data.wordCells[n], weight: data.weights[n], x: 0, y: 0, unit: 0, key: text.toLowerCase() }))
  .sort((a, b) => b.weight - a.weight || a.cell - b.cell || (a.text < b.text ? -1 : 1));
{
  const seen = new Map();
  for (const word of words) {
    const rank = seen.get(word.cell) ?? 0;
    seen.set(word.cell, rank + 1);
    const up = radicalInverse(rank + 1, 2), across = rank === 0 ? 0.5 : radicalInverse(rank + 1, 3);
    word.x = columnOf(word.cell) + 0.5 + (across - 0.5) * 0.5;
    word.y = ring ? wrap(word.cell * 0.6180339887 + up, 1) * rows : rowOf(word.cell) + 0.5 + (up - 0.5) * 0.92;
  }
}

/** Documents. Each stands at the centre of its likeliest window, and those that share it form a sunflower; or at a place
 * of its own, the mean of its posterior. */
const documents = data.titles.map((title, id) => {
  const places = [];
  const flat = data.posteriors[id];
  for (let n = 0; n + 1 < flat.length; n += 2) {
    places.push({ row: rowOf(flat[n]), column: columnOf(flat[n]), cell: flat[n], mass: flat[n + 1] / 1000 });
  }
  places.sort((a, b) => b.mass - a.mass || a.cell - b.cell);
  return { id, title, snippet: data.snippets[id], label: -1, kept: true, added: id >= (data.added ?? Infinity), places, placed: places.length > 0, mode: null, x: 0, y: 0 };
});
{
  const total = new Map(), seen = new Map();
  const placed = documents.filter((item) => item.placed);
  for (const { places: [{ cell }] } of placed) total.set(cell, (total.get(cell) ?? 0) + 1);
  for (const item of placed) {
    const { cell, row, column } = item.places[0];
    const rank = seen.get(cell) ?? 0;
    seen.set(cell, rank + 1);
    const n = total.get(cell);
    const radius = Math.min(0.46, 0.1 * Math.sqrt(n)) * Math.sqrt((rank + (n > 1 ? 0.5 : 0)) / n);
    const angle = rank * 2.39996322973 + cell;
    item.mode = [onto(column + sides[1] / 2 + radius * Math.cos(angle), columns),
      ring ? rows * radicalInverse(item.id + 1, 2) : onto(row + sides[0] / 2 + radius * Math.sin(angle), rows)];
  }
}
/** Puts documents where the mean of their posterior is, if that is known, or its mode. */
const settle = (mean) => {
  for (const item of documents) {
    const own = mean && pointed ? data.places[item.id] : null;
    if (own) [item.y, item.x] = own;
    else if (item.mode) [item.x, item.y] = item.mode;
  }
};
settle(true);

/** What documents are coloured by, and may be hidden by: labels, or groups of the values of a column. */
let labels = [];
/** Documents without a label have none to hide. */
const isShown = (item) => item.kept && (item.label < 0 || labels[item.label].shown);
/** The name of a document's own label, whatever it is coloured by. */
const ownLabel = (item) => data.labels[data.documentLabels[item.id]] ?? "";

/** Expected documents over each cell, every document spread over its windows: one plane per label, one more
 * for documents without. */
let planes = [];
const makePlanes = () => {
  const starts = Array.from({ length: labels.length + 1 }, () => new Float32Array(cellRows * columns));
  for (const { label, places, kept } of documents) {
    if (!kept) continue;
    for (const { cell, mass } of places) starts[label < 0 ? labels.length : label][cell] += mass;
  }
  return starts.map((plane) =>
    spread(ring ? plane : spread(plane, cellRows, columns, sides[0], 0), cellRows, columns, sides[1], 1));
};

/** The documents of the window that starts at a cell: by the share of it that their windows cover, expected
 * under their posteriors. If nobody is there, the reach grows until somebody is. */
const documentsAt = (row, column) => {
  for (let reach = 0; ; reach = Math.max(1, 2 * reach)) {
    const tall = Math.min(rows, sides[0] + reach), wide = Math.min(columns, sides[1] + reach);
    const found = [];
    for (const item of documents) {
      if (!isShown(item)) continue;
      let share = 0;
      for (const place of item.places) {
        const across = covers(place.column - column, wide, columns);
        if (across > 0) share += place.mass * across * (ring ? 1 : covers(place.row - row, tall, rows));
      }
      if (share > 0) found.push({ item, share });
    }
    if (found.length > 0 || (tall === rows && wide === columns)) {
      return found.sort((a, b) => b.share - a.share || a.item.id - b.item.id);
    }
  }
};

/** The heaviest words inside a window, each once. */
const wordsAt = (row, column, limit) => {
  const found = new Set();
  for (const word of words) {
    if (found.size >= limit) break;
    const down = wrap(rowOf(word.cell) - row, rows), across = wrap(columnOf(word.cell) - column, columns);
    if (across < sides[1] && (ring || down < sides[0])) found.add(word.text);
  }
  return [...found];
};
