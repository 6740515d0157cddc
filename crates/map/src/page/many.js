// Documents by the ten thousand. They are drawn into a picture that is larger than the screen, a few milliseconds of each frame, and
// while the view moves that picture is moved and stretched; beside it stands a small one of the whole map. Pixels are mixed here and
// not by the canvas, which keeps what it is told to draw until it is looked at, and then takes as long as it likes.

/** With more documents than this a picture of them is kept. */
let manyFrom = 4_000;
const isMany = () => documents.length > manyFrom;
let sliceMilliseconds = 5;

/** What is drawn of the documents that are shown, those that were added last. */
let spots = null;
const spotsOf = () => {
  if (spots !== null) return spots;
  const shown = documents.filter((item) => item.placed && isShown(item));
  const order = data.added === undefined ? shown : [...shown.filter((item) => !item.added), ...shown.filter((item) => item.added)];
  const x = new Float64Array(order.length), y = new Float64Array(order.length);
  const ids = new Int32Array(order.length), marks = new Int32Array(order.length);
  order.forEach((item, n) => {
    [x[n], y[n], ids[n]] = [item.x, item.y, item.id];
    marks[n] = 2 * (item.label + 1) + Number(item.added);
  });
  spots = { x, y, ids, marks };
  return spots;
};

/** The picture of the whole map, the one around the screen, and the one that is being made. */
const kept = { whole: null, near: null, making: null };
/** Colours, places or which documents are shown have changed: what is kept is shown until it is made again. */
const changeMany = () => {
  spots = null;
  kept.making = null;
  for (const picture of [kept.whole, kept.near]) if (picture) picture.old = true;
};

/** The dots of the last picture around the screen, to be used again. */
let spare = null;
/** Starts a picture from a place of the map on, so many dots large, with so many dots to a cell. */
const startPicture = (name, x, y, wide, tall, across, down, r) => {
  let image = spare;
  spare = null;
  if (image !== null && image.width === wide && image.height === tall) image.data.fill(0);
  else image = new ImageData(Math.max(1, wide), Math.max(1, tall));
  kept.making = { name, x, y, across, down, r, image, next: 0, stamps: new Map(), old: false,
    scale: view.scale, ratio: view.ratio, dots: canvas.width / view.width };
};
const startWhole = () => {
  const dots = canvas.width / view.width, size = (cells, scale) => Math.min(4096, Math.round(cells * scale * dots));
  const wide = size(columns, view.fit), tall = size(rows, view.fit * view.ratio);
  startPicture("whole", 0, 0, wide, tall, wide / columns, tall / rows, roundedSize(markSize(view.fit)));
};
/** How much the picture around the screen is larger than it on each side, as a share of it: less where memory would be much. */
const margin = () => (canvas.width * canvas.height > 4e6 ? 0.1 : 0.25);
const startNear = () => {
  const [x, y] = onTorus(-margin() * view.width, -margin() * view.height), dots = canvas.width / view.width;
  const size = (n) => Math.ceil(n * (1 + 2 * margin()));
  startPicture("near", x, y, size(canvas.width), size(canvas.height), view.scale * dots, view.scale * view.ratio * dots, roundedSize(markSize()));
};

/** A mark as dots, in the middle of a dot or between two. */
const dotsOf = (making, kind, right, below) => {
  const key = 4 * kind + 2 * right + below;
  let stamp = making.stamps.get(key);
  if (stamp === undefined) {
    const added = kind % 2 === 1, r = added ? Math.max(3, addedSize * making.r) : making.r;
    const half = Math.ceil((1.45 * r + 1) * making.dots), side = 2 * half + 1;
    const brush = element("canvas", { width: side, height: side }).getContext("2d", { willReadFrequently: true });
    brush.translate(half + right / 2, half + below / 2);
    brush.scale(making.dots, making.dots);
    drawMark(brush, Math.floor(kind / 2) - 1, r, added, 0, 0);
    stamp = { half, side, from: brush.getImageData(0, 0, side, side).data };
    making.stamps.set(key, stamp);
  }
  return stamp;
};

/** Lays a mark over an image, whose colours are not multiplied by their opacity. */
const lay = ({ data: onto, width, height }, { side, from }, left, top) => {
  const first = Math.max(0, -left), last = Math.min(side, width - left), end = Math.min(side, height - top);
  for (let y = Math.max(0, -top); y < end; y++) {
    let source = 4 * (y * side + first), to = 4 * ((top + y) * width + left + first);
    for (let x = first; x < last; x++, source += 4, to += 4) {
      const over = from[source + 3], under = onto[to + 3];
      if (over === 0) continue;
      const rest = under * (255 - over) / 255, sum = over + rest;
      onto[to] = (from[source] * over + onto[to] * rest) / sum;
      onto[to + 1] = (from[source + 1] * over + onto[to + 1] * rest) / sum;
      onto[to + 2] = (from[source + 2] * over + onto[to + 2] * rest) / sum;
      onto[to + 3] = sum;
    }
  }
};

/** Goes on with a picture until a time; whether it is whole. */
const goOn = (making, until) => {
  const { x, y, marks } = spotsOf(), { image } = making;
  const wide = columns * making.across, tall = rows * making.down;
  while (making.next < x.length) {
    const end = Math.min(x.length, making.next + 256);
    for (let n = making.next; n < end; n++) {
      // To half a dot.
      let left = Math.round(2 * (x[n] - making.x) * making.across) / 2, top = Math.round(2 * (y[n] - making.y) * making.down) / 2;
      const stamp = dotsOf(making, marks[n], Number(left % 1 !== 0), Number(top % 1 !== 0)), { half } = stamp;
      if (plane) {
        if (left > -half - 1 && left < image.width + half && top > -half - 1 && top < image.height + half) {
          lay(image, stamp, Math.floor(left) - half, Math.floor(top) - half);
        }
        continue;
      }
      left -= Math.floor((left + half + 1) / wide) * wide;
      top -= Math.floor((top + half + 1) / tall) * tall;
      for (let b = top; b < image.height + half; b += tall) {
        for (let a = left; a < image.width + half; a += wide) lay(image, stamp, Math.floor(a) - half, Math.floor(b) - half);
      }
    }
    making.next = end;
    if (performance.now() >= until) return making.next === x.length;
  }
  return true;
};

/** Whether the picture around the screen can be shown as it is, moved by whole dots. */
const suffices = (near) => {
  if (near === null || near.old || near.scale !== view.scale || near.ratio !== view.ratio || near.dots !== canvas.width / view.width) return false;
  const [left, top] = placeOf(near);
  return left <= 0 && top <= 0 && left + near.canvas.width / near.dots >= view.width && top + near.canvas.height / near.dots >= view.height;
};
/** Where the corner of the picture around the screen is on the screen: of the copy that is nearest. */
const placeOf = ({ x, y, across, down, canvas: { width, height } }) => {
  const [w, h] = [width / across / 2, height / down / 2];
  return onScreen(view.x + way(view.x, x + w, columns) - w, view.y + way(view.y, y + h, rows) - h);
};

/** Whether the scale changes from frame to frame; until it rests, a picture that is not too small or large is stretched. */
let lastScale = 0;
const isZooming = () => {
  const moved = lastScale !== view.scale, { near } = kept;
  lastScale = view.scale;
  return moved && near !== null && !near.old && Math.abs(Math.log2(view.scale / near.scale)) < 1;
};

/** Makes what is missing until a time; whether nothing is. */
const makeMany = (until) => {
  for (;;) {
    if (kept.making === null) {
      if (kept.whole === null || kept.whole.old) startWhole();
      else if (suffices(kept.near)) return true;
      else if (until < Infinity && isZooming()) return false;
      else startNear();
    }
    const { making } = kept;
    if (!goOn(making, until)) return false;
    const drawn = kept[making.name]?.canvas ?? document.createElement("canvas");
    const { width, height } = making.image;
    if (drawn.width !== width || drawn.height !== height) Object.assign(drawn, { width, height });
    drawn.getContext("2d").putImageData(making.image, 0, 0);
    kept[making.name] = { ...making, canvas: drawn, image: null, stamps: null };
    kept.making = null;
    if (making.name === "near") spare = making.image;
    if (until < Infinity) return !kept.whole.old && suffices(kept.near); // the next one is begun in the next frame
  }
};

const paintMany = () => {
  if (!makeMany(performance.now() + sliceMilliseconds)) repaint();
  const { near, whole } = kept, exact = suffices(near);
  context.beginPath();
  context.rect(0, 0, view.width, view.height);
  if (near !== null) {
    const zoom = view.scale / near.scale, [left, top] = placeOf(near);
    const wide = near.canvas.width / near.dots * zoom, tall = near.canvas.height / near.dots * zoom * view.ratio / near.ratio;
    const crisp = (x) => (exact ? Math.round(x * near.dots) / near.dots : x);
    context.imageSmoothingEnabled = !exact;
    context.drawImage(near.canvas, crisp(left), crisp(top), wide, tall);
    context.imageSmoothingEnabled = true;
    context.rect(left, top, wide, tall);
  }
  if (exact || whole === null) return;
  // Around it, the whole map.
  const pattern = context.createPattern(whole.canvas, plane ? "no-repeat" : "repeat"), [left, top] = onScreen(0, 0);
  pattern.setTransform(new DOMMatrix([columns * view.scale / whole.canvas.width, 0, 0, rows * view.scale * view.ratio / whole.canvas.height, left, top]));
  context.fillStyle = pattern;
  context.fill("evenodd");
};

/** Draws with everything that is missing, however long it takes: for a picture that is saved. */
const paintWhole = () => {
  if (isMany()) makeMany(Infinity);
  paint(true);
};
