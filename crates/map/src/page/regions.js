// Regions: parts of the map with names, on levels one inside the other. Which level is shown follows from the zoom.

/** A word that is longer than any name should be is cut. */
const inName = (word) => (word.length > 24 ? `${word.slice(0, 23)}…` : word);

/** By level. */
const levelsOfRegions = (data.regions ?? []).map(({ names, cells, parents, ofCell }, level) => {
  const regions = names.map((words, id) => ({ level, id, words: words.map(inName), name: words.map(inName).join(", "), parent: parents[id],
    x: columnOf(cells[id]) + 0.5, y: ring ? rows / 2 : rowOf(cells[id]) + 0.5, documents: [], cells: [] }));
  ofCell.forEach((region, cell) => regions[region].cells.push(cell));
  for (const item of documents) {
    if (!item.placed) continue;
    const { row, column } = item.places[0];
    const cell = cellAt(ring ? 0 : row + Math.floor(sides[0] / 2), cellRows) * columns + cellAt(column + Math.floor(sides[1] / 2), columns);
    item.regions = [...(item.regions ?? []), regions[ofCell[cell]]];
    regions[ofCell[cell]].documents.push(item);
  }
  return regions;
});

/** The level of regions that is named at a zoom level: a level for every two and a half times closer. */
const namedAt = (level) => Math.min(levelsOfRegions.length - 1, Math.floor(level / 4 / Math.log2(2.5)));

/** Names of regions that fit, those with more documents first, each in one line. Words then keep clear of them. */
const nameSize = () => (Math.min(view.width, view.height) < 480 ? 14 : 24);
const layoutNames = (level, scale) => {
  const shown = [], regions = levelsOfRegions[namedAt(level)] ?? [];
  const wide = columns * scale, tall = rows * scale * view.ratio, size = nameSize();
  context.font = nameFont(size);
  for (const region of [...regions].sort((a, b) => b.documents.length - a.documents.length || a.id - b.id)) {
    if (region.name === "" || region.documents.length === 0) continue;
    let lines = [region.name];
    if (region.words.length > 1 && context.measureText(region.name).width > 0.3 * wide) {
      lines = [region.words.slice(0, -1).join(", ") + ",", region.words.at(-1)];
    }
    const w = Math.max(...lines.map((line) => context.measureText(line).width)) / 2 + 6, h = lines.length * size * 0.62 + 3;
    const box = { x: region.x * scale, y: region.y * scale * view.ratio, w, h };
    if (2 * w > wide || 2 * h > tall) continue;
    if (plane) {
      box.x = Math.min(wide - w, Math.max(w, box.x));
      box.y = Math.min(tall - h, Math.max(h, box.y));
    }
    const clash = (other) => Math.abs(way(other.box.x, box.x, wide)) < w + other.box.w &&
      Math.abs(way(other.box.y, box.y, tall)) < h + other.box.h;
    if (!shown.some(clash)) shown.push({ region, lines, box, x: box.x / scale, y: box.y / (scale * view.ratio) });
  }
  return shown;
};
const nameFont = (size) => `750 ${size}px ${fontFamily}`;

/** Names, faded in the middle between two levels of zoom so that one list goes into the other. */
const paintNames = () => {
  if (state.found.size > 0 || !state.words) return;
  const size = nameSize();
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  context.font = nameFont(size);
  for (const { region, lines, box, x, y } of layouts.get(lettering.level).names) {
    copies(x, y, box.w, box.h, (left, top) => {
      lines.forEach((line, n) => {
        const at = top + (n - (lines.length - 1) / 2) * size * 1.15;
        context.strokeStyle = ink.paper;
        context.lineWidth = 5;
        context.strokeText(line, left, at);
        context.fillStyle = region === state.region ? ink.accent : ink.text;
        context.fillText(line, left, at);
      });
    });
  }
};

/** The cells of the region that is chosen. */
const paintRegion = () => {
  if (state.region === null) return;
  context.fillStyle = ink.accent;
  context.globalAlpha = 0.13;
  const wide = view.scale, tall = view.scale * view.ratio;
  for (const cell of state.region.cells) {
    copies(columnOf(cell), ring ? 0 : rowOf(cell), wide, tall, (left, top) =>
      context.fillRect(left, ring ? 0 : top, wide, ring ? view.height : tall));
  }
  context.globalAlpha = 1;
};

/** Lists the documents of a region, and shows where it is. */
const selectRegion = (region) => {
  Object.assign(state, { place: null, lasso: null, region, found: new Set(), marked: [], marks: [] });
  part("search").value = "";
  delete part("result").dataset.place;
  const entries = region.documents.filter(isShown).map((item) => ({ item }));
  showList(`${region.name}: ${count(entries.length, "document", "documents")}`, entries, region.words);
  const inside = (levelsOfRegions[region.level + 1] ?? []).filter((other) => other.parent === region.id && other.name !== "");
  part("chips").append(...inside.sort((a, b) => b.documents.length - a.documents.length).slice(0, 8).map(regionButton));
  flyTo(region.x, region.y, view.fit * 2.5 ** (region.level + 0.3));
  repaint();
};
const regionButton = (region) => {
  const button = element("button", { type: "button", className: "region", dir: "auto", title: `Region ${region.name}` },
    element("span", { textContent: region.name }), element("small", { textContent: region.documents.length.toLocaleString("en") }));
  button.addEventListener("click", () => selectRegion(region));
  return button;
};

/** A table of contents: the largest regions by their documents. */
const showContents = () => {
  const largest = (levelsOfRegions[0] ?? []).filter((region) => region.name !== "" && region.documents.length > 0)
    .sort((a, b) => b.documents.length - a.documents.length || a.id - b.id);
  part("contents").hidden = largest.length === 0;
  part("regions").replaceChildren(...largest.map((region) => element("li", {}, regionButton(region))));
  if (view.width > 760 || innerWidth > 760) part("contents").open = true;
};
