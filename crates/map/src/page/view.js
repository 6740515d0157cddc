// Which part of the map is on the screen, and how large.

const canvas = document.getElementById("map");
/** What is drawn with: the screen's, or for a moment one that writes SVG. */
let context = canvas.getContext("2d");
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** x, y: the place at the centre; scale: pixels per column; ratio: height of a cell by its width. */
const view = { x: columns / 2, y: rows / 2, scale: 1, ratio: 1, width: 1, height: 1, fit: 1, flight: 0 };

const maxScale = () => Math.max(view.fit * 4, 420);
const onScreen = (x, y) => [
  view.width / 2 + (x - view.x) * view.scale,
  view.height / 2 + (y - view.y) * view.scale * view.ratio,
];
const onTorus = (left, top) => [
  view.x + (left - view.width / 2) / view.scale,
  view.y + (top - view.height / 2) / (view.scale * view.ratio),
];

/** The nearest place to look at: what lies beyond an edge is not shown if there is enough to fill the screen. */
const held = (x, extent, shown) =>
  plane ? Math.min(Math.max(x, shown / 2), Math.max(extent - shown / 2, extent / 2)) : wrap(x, extent);

const look = (x, y, scale) => {
  view.scale = Math.min(maxScale(), Math.max(view.fit, scale));
  view.x = held(x, columns, Math.min(columns, view.width / view.scale));
  view.y = held(y, rows, Math.min(rows, view.height / (view.scale * view.ratio)));
  repaint();
};

/** Zooms so that what is under a point of the screen stays under it. */
const zoomAt = (factor, left, top) => {
  const [x, y] = onTorus(left, top);
  const scale = Math.min(maxScale(), Math.max(view.fit, view.scale * factor));
  look(x - (left - view.width / 2) / scale, y - (top - view.height / 2) / (scale * view.ratio), scale);
};

const flyTo = (x, y, scale = view.scale) => {
  cancelAnimationFrame(view.flight);
  const from = { x: view.x, y: view.y, scale: view.scale };
  const [across, down] = [way(from.x, x, columns), way(from.y, y, rows)];
  const target = Math.min(maxScale(), Math.max(view.fit, scale));
  if (still.matches) return look(x, y, target);
  const start = performance.now();
  const step = (now) => {
    const t = Math.min(1, Math.max(0, (now - start) / 350)), eased = t * t * (3 - 2 * t);
    look(from.x + across * eased, from.y + down * eased, from.scale * (target / from.scale) ** eased);
    if (t < 1) view.flight = requestAnimationFrame(step);
  };
  view.flight = requestAnimationFrame(step);
};

/** Fits the map to the screen. Cells take the screen's shape, within reason, so that it shows once. */
const resize = () => {
  const box = canvas.getBoundingClientRect(), dots = window.devicePixelRatio || 1;
  const width = Math.max(1, box.width), height = Math.max(1, box.height);
  const ratio = Math.min(2, Math.max(0.5, (height / rows) / (width / columns))), fit = Math.min(width / columns, height / (rows * ratio));
  const [wide, tall] = [Math.round(width * dots), Math.round(height * dots)];
  // A browser also reports the size that it opens with.
  if (canvas.width === wide && canvas.height === tall && view.width === width && view.height === height && view.ratio === ratio && view.fit === fit) return;
  const closeness = view.scale / view.fit;
  Object.assign(view, { width, height, ratio, fit });
  Object.assign(canvas, { width: wide, height: tall });
  context.setTransform(dots, 0, 0, dots, 0, 0);
  forgetLayouts();
  look(view.x, view.y, view.fit * closeness);
};

/** Calls `draw(left, top)` for every copy of a place that comes within a margin of the screen. */
const copies = (x, y, marginX, marginY, draw) => {
  const wide = columns * view.scale, tall = rows * view.scale * view.ratio;
  const [left, top] = onScreen(x, y);
  if (plane) {
    if (left > -marginX && left < view.width + marginX && top > -marginY && top < view.height + marginY) draw(left, top);
    return;
  }
  const firstLeft = left - Math.floor((left + marginX) / wide) * wide;
  const firstTop = top - Math.floor((top + marginY) / tall) * tall;
  for (let b = firstTop; b < view.height + marginY; b += tall) {
    for (let a = firstLeft; a < view.width + marginX; a += wide) draw(a, b);
  }
};

let frame = 0;
const repaint = () => {
  if (frame === 0) frame = requestAnimationFrame(() => { frame = 0; paint(); });
};
/** Draws at once what waits for the next frame: a canvas of a new size is empty until then. */
const paintNow = () => {
  if (frame === 0) return;
  cancelAnimationFrame(frame);
  frame = 0;
  paint();
};
