// Drawing, back to front: where labels live, cells, documents, windows, words; words before documents that are points.

/** Colours: first eight that stay apart for colour-blind readers (Okabe and Ito 2008), then sixteen more that stay apart from those
 * and from one another; and shapes, which do not need colours. Labels beyond them have the colours again with other shapes. */
const palettes = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#8f7a00", "#5c5c5c",
    "#6a3d9a", "#b2182b", "#1a4d1a", "#8c510a", "#00a6a6", "#f032e6", "#0a2463", "#9acd32",
    "#b79ce8", "#ffd92f", "#ffa07a", "#7fe0c0", "#6b0f1a", "#4b5fe0", "#a01a7d", "#bdbdbd"],
  dark: ["#4aa8e0", "#ff8a3d", "#1fc198", "#e59bc5", "#8fd0f5", "#f2b632", "#e5d64a", "#b0b0b0",
    "#a974e0", "#ff4d5e", "#4c9a4c", "#c08552", "#00d0d0", "#ff66f0", "#5a78d8", "#b8f050",
    "#d8c4ff", "#fff2a8", "#ffc2a8", "#b0f5e0", "#c04050", "#7f8cff", "#d050a8", "#f0f0f0"],
};
/** Colours of numbers and days, from the lowest to the highest, ever lighter on light paper and on dark, so that they stay apart for
 * colour-blind readers. */
const ramps = {
  light: ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39"],
  dark: ["#7e58c9", "#b052b0", "#dd5e8c", "#f5786a", "#fc9d4f", "#fcc63f", "#f0f46a"],
};
const darkness = matchMedia("(prefers-color-scheme: dark)");
let ink = {};
const readColours = () => {
  stamps.clear();
  wordPictures.clear();
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  ink = { paper: read("paper"), text: read("ink"), muted: read("muted"), line: read("line"), accent: read("accent"),
    accentText: read("accent-ink"), density: read("density"), labels: palettes[darkness.matches ? "dark" : "light"], ramp: ramps[darkness.matches ? "dark" : "light"] };
};
const colourOf = (label) => (label < 0 ? ink.density
  : colouring !== null && isRange(colouring) ? ink.ramp[label] : ink.labels[label % ink.labels.length]);
const shapeOf = (label) => (label < 0 || (colouring !== null && isRange(colouring)) ? 0 : (label + Math.floor(label / 8)) % 4);

/** Adds a document's mark to the path: a circle, a square, a triangle or a diamond of about the same area. */
const mark = (path, shape, x, y, r) => {
  if (shape === 0) { path.moveTo(x + r, y); path.arc(x, y, r, 0, 2 * Math.PI); }
  else if (shape === 1) path.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
  else if (shape === 2) { path.moveTo(x, y - 1.4 * r); path.lineTo(x + 1.25 * r, y + 0.8 * r); path.lineTo(x - 1.25 * r, y + 0.8 * r); path.closePath(); }
  else { path.moveTo(x, y - 1.3 * r); path.lineTo(x + 1.3 * r, y); path.lineTo(x, y + 1.3 * r); path.lineTo(x - 1.3 * r, y); path.closePath(); }
};

const channels = (colour) => [1, 3, 5].map((n) => (parseInt(colour.slice(n, n + 2), 16) / 255) ** 2.2);

/** Red, green, blue in linear light times strength, and strength, of cells coloured by who lives where: the hue from the
 * labels' shares, sharpened a little so that regions read as regions; the strength from how many documents there are. */
const byLabels = () => {
  const cells = cellRows * columns;
  const colours = planes.map((_, n) => channels(colourOf(n < labels.length ? n : -1)));
  const shown = planes.map((_, n) => n >= labels.length || labels[n].shown);
  const mixed = new Float32Array(cells * 4);
  let mean = 0;
  for (const plane of planes) for (const mass of plane) mean += mass / cells;
  for (let cell = 0; cell < cells; cell++) {
    let mass = 0, total = 0;
    const sum = [0, 0, 0];
    planes.forEach((plane, n) => {
      if (!shown[n] || plane[cell] === 0) return;
      mass += plane[cell];
      const share = plane[cell] ** 2;
      total += share;
      for (let c = 0; c < 3; c++) sum[c] += share * colours[n][c];
    });
    const strength = mass > 0 ? 0.52 * mass / (mass + 0.8 * mean) : 0;
    for (let c = 0; c < 3; c++) mixed[4 * cell + c] = total > 0 ? sum[c] / total * strength : 0;
    mixed[4 * cell + 3] = strength;
  }
  return mixed;
};

/** The same of one colour, as strong as the relief is high. */
const byRelief = () => {
  const colour = channels(ink.text), mixed = new Float32Array(cellRows * columns * 4);
  data.relief.forEach((height, cell) => {
    const strength = 0.6 * height / 255;
    for (let c = 0; c < 3; c++) mixed[4 * cell + c] = colour[c] * strength;
    mixed[4 * cell + 3] = strength;
  });
  return mixed;
};

/** A picture of the map in the colours of its cells. */
let tint = null, tintSize = 1;
const makeTint = () => {
  const mixed = state.background === "labels" ? byLabels()
    : state.background === "relief" ? byRelief() : new Float32Array(cellRows * columns * 4);
  // Drawn several pixels to a cell by linear interpolation that wraps, so that the picture has no edge.
  tintSize = Math.max(1, Math.min(8, Math.floor(1024 / Math.max(cellRows, columns))));
  const tall = ring ? 1 : cellRows * tintSize, wide = columns * tintSize;
  const image = new ImageData(wide, tall);
  for (let y = 0; y < tall; y++) {
    const v = cellAt((y + 0.5) / tintSize - 0.5, cellRows), row = Math.floor(v), down = ring ? 0 : v - row;
    for (let x = 0; x < wide; x++) {
      const u = cellAt((x + 0.5) / tintSize - 0.5, columns), column = Math.floor(u), across = u - column;
      const at = (r, c) => 4 * (cellAt(r, cellRows) * columns + cellAt(c, columns));
      const corners = [[at(row, column), (1 - down) * (1 - across)], [at(row, column + 1), (1 - down) * across],
        [at(row + 1, column), down * (1 - across)], [at(row + 1, column + 1), down * across]];
      const pixel = 4 * (y * wide + x);
      let strength = 0;
      for (const [corner, share] of corners) strength += mixed[corner + 3] * share;
      if (strength <= 0) continue;
      for (let c = 0; c < 3; c++) {
        let light = 0;
        for (const [corner, share] of corners) light += mixed[corner + c] * share;
        image.data[pixel + c] = 255 * (light / strength) ** (1 / 2.2);
      }
      image.data[pixel + 3] = 255 * strength;
    }
  }
  tint = document.createElement("canvas");
  tint.width = wide;
  tint.height = tall;
  tint.getContext("2d").putImageData(image, 0, 0);
};

const paintTint = () => {
  const pattern = context.createPattern(tint, plane ? "no-repeat" : "repeat");
  const [left, top] = onScreen(0, 0);
  const zoom = view.scale / tintSize;
  pattern.setTransform(new DOMMatrix([zoom, 0, 0, ring ? view.height : zoom * view.ratio, left, ring ? 0 : top]));
  context.fillStyle = pattern;
  context.fillRect(0, 0, view.width, view.height);
};

const paintCells = () => {
  const strength = Math.min(1, Math.max(0, (view.scale - 34) / 60));
  if (strength === 0) return;
  context.globalAlpha = strength;
  context.strokeStyle = ink.line;
  context.lineWidth = 1;
  context.beginPath();
  const [x0, y0] = onTorus(0, 0), [x1, y1] = onTorus(view.width, view.height);
  // To the middle of a pixel; cells are often halves and thirds of one, which must not fall either way.
  const crisp = (pixels) => Math.floor(pixels + 0.37) + 0.5;
  for (let x = Math.ceil(x0); x <= x1; x++) {
    const left = crisp(onScreen(x, 0)[0]);
    context.moveTo(left, 0);
    context.lineTo(left, view.height);
  }
  for (let y = Math.ceil(y0); y <= y1 && !ring; y++) {
    const top = crisp(onScreen(0, y)[1]);
    context.moveTo(0, top);
    context.lineTo(view.width, top);
  }
  context.stroke();
  context.globalAlpha = 1;
};

/** Radius of a document's mark in pixels. */
const markSize = (scale = view.scale) => pointed
  ? Math.min(8, Math.min(6, Math.max(1.6, 95 / Math.sqrt(documents.length))) * (scale / view.fit) ** 0.4)
  : Math.min(6, Math.max(1.1, scale * Math.min(1, view.ratio) * 0.045));
const roundedSize = (r) => Math.round(4 * r) / 4;

/** Draws a document's mark around a place. */
const drawMark = (brush, label, r, added, x, y) => {
  brush.beginPath();
  mark(brush, shapeOf(label), x, y, r);
  brush.globalAlpha = r < 2 ? 0.6 : 0.8;
  brush.fillStyle = colourOf(label);
  brush.fill();
  if (added || r > 2.5) {
    brush.globalAlpha = 1;
    brush.strokeStyle = added ? ink.text : ink.paper;
    brush.lineWidth = added ? 1.5 : 0.8;
    brush.stroke();
  }
};

/** A mark drawn once, to be stamped: ten thousand stamps are much faster than a path of ten thousand marks. */
const stamps = new Map();
const stampOf = (label, r, added) => {
  const dots = canvas.width / view.width, key = `${label} ${r} ${added} ${dots}`;
  if (!stamps.has(key)) {
    if (stamps.size > 400) stamps.clear();
    const half = Math.ceil(1.5 * r + 1), image = document.createElement("canvas");
    image.width = image.height = Math.ceil(2 * half * dots);
    const brush = image.getContext("2d");
    brush.scale(dots, dots);
    drawMark(brush, label, r, added, half, half);
    stamps.set(key, { image, half, side: image.width / dots });
  }
  return stamps.get(key);
};

/** Documents that were added to the map are larger, have an edge, and lie above the others. */
const addedSize = 1.4;
const paintDocuments = () => {
  if (isMany() && !context.stamp) return paintMany();
  const r = roundedSize(markSize());
  for (const added of data.added === undefined ? [false] : [false, true]) {
    const size = added ? Math.max(3, addedSize * r) : r;
    const marks = new Array(labels.length + 1); // one of each label is looked up, not one of each document
    const put = context.stamp ? (label, _, left, top) => context.stamp(label, size, left, top, added)
      : (_, { image, half, side }, left, top) => context.drawImage(image, left - half, top - half, side, side);
    for (const item of documents) {
      if (!item.placed || item.added !== added || !isShown(item)) continue;
      const stamp = marks[item.label + 1] ??= stampOf(item.label, size, added);
      copies(item.x, item.y, stamp.half, stamp.half, (left, top) => put(item.label, stamp, left, top));
    }
  }
};

const paintWindow = (place, fill) => {
  const wide = sides[1] * view.scale, tall = sides[0] * view.scale * view.ratio;
  const drawn = new Set();
  copies(place.column, place.row, wide, tall, (left, top) => {
    if (ring && drawn.has(left)) return; // one band, however often the ring repeats downwards
    drawn.add(left);
    context.beginPath();
    context.roundRect(left, ring ? 1 : top, wide, ring ? view.height - 2 : tall, 6);
    if (fill) {
      context.globalAlpha = 0.08;
      context.fillStyle = ink.text;
      context.fill();
    }
    context.globalAlpha = fill ? 1 : 0.45;
    context.strokeStyle = fill ? ink.accent : ink.text;
    context.lineWidth = fill ? 2 : 1.2;
    context.stroke();
    context.globalAlpha = 1;
  });
};

const paintSelected = () => {
  for (const item of state.marked) {
    if (!item.placed) continue;
    const r = markSize() + 3;
    copies(item.x, item.y, 16, 16, (left, top) => {
      context.beginPath();
      mark(context, shapeOf(item.label), left, top, r);
      context.fillStyle = colourOf(item.label);
      context.fill();
      context.strokeStyle = ink.accent;
      context.lineWidth = 2.5;
      context.stroke();
    });
  }
};

/** Draws what is on the screen; `whole` if nothing may be left for the frames to come. */
const paint = (whole = false) => {
  chooseWords(whole);
  context.fillStyle = ink.paper;
  context.fillRect(0, 0, view.width, view.height);
  if (tint === null) { // whatever the colours of cells follow from, marks do too
    makeTint();
    changeMany();
  }
  paintTint();
  paintCells();
  if (pointed) paintWords(); // points come out, words are what they lie on
  paintDocuments();
  paintRegion();
  paintLasso();
  if (state.hover) paintWindow(state.hover, false);
  if (state.place) paintWindow(state.place, true);
  if (!pointed) paintWords();
  paintNames();
  paintFound();
  paintSelected();
  remember();
};
