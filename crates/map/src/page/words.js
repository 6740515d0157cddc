// Which words are shown at a zoom level: the heaviest first, each where it fits. The choice is made on the
// whole map, not on the screen, so that moving around never makes a word come or go.

const fontFamily = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const fontOf = (word, size) => `${word.weight > 0.3 ? 650 : 500} ${size}px ${fontFamily}`;

/** Levels are quarters of a doubling; in between a layout is stretched as a whole. */
const levelOf = () => Math.max(0, Math.floor(4 * Math.log2(view.scale / view.fit) + 1e-6));
const levelScale = (level) => view.fit * 2 ** (level / 4);

const fontSize = (word, level) => {
  const small = Math.min(view.width, view.height) < 480;
  const size = (small ? 10 : 10.5) + (small ? 12 : 22) * word.weight;
  return Math.min(46, size * 2 ** (level / 4 * 0.4));
};

const widthOf = (word) => {
  if (word.unit === 0) {
    context.font = fontOf(word, 100);
    word.unit = Math.max(0.2, context.measureText(word.text).width / 100);
  }
  return word.unit;
};

const layouts = new Map();
const layout = (level) => {
  let shown = layouts.get(level);
  if (shown) return shown;
  shown = [];
  const scale = levelScale(level), wide = columns * scale, tall = rows * scale * view.ratio;
  // Boxes that are taken, in bins of the torus; a bin lists every box that touches it.
  const binsX = Math.max(1, Math.floor(wide / 90)), binsY = Math.max(1, Math.floor(tall / 40));
  const bins = Array.from({ length: binsX * binsY }, () => []);
  const same = new Map(); // places of each text
  const apart = 300 * 2 ** (level / 4 * 0.3);
  const touchedBy = (box) => { // one twice where a box goes around the torus, which does no harm
    const touched = [];
    for (let b = Math.floor((box.y - box.h) / tall * binsY); b <= Math.floor((box.y + box.h) / tall * binsY); b++) {
      for (let a = Math.floor((box.x - box.w) / wide * binsX); a <= Math.floor((box.x + box.w) / wide * binsX); a++) {
        touched.push(cellAt(b, binsY) * binsX + cellAt(a, binsX));
      }
    }
    return touched;
  };
  shown.names = layoutNames(level, scale);
  for (const { box } of shown.names) for (const bin of touchedBy(box)) bins[bin].push(box);
  for (const word of words) {
    const size = fontSize(word, level);
    const box = { x: word.x * scale, y: word.y * scale * view.ratio, w: widthOf(word) * size / 2 + 5 + size * 0.2, h: size * 0.66 + 2 };
    if (2 * box.w > wide || 2 * box.h > tall) continue;
    if (plane) { // no word is cut by an edge
      box.x = Math.min(wide - box.w, Math.max(box.w, box.x));
      box.y = Math.min(tall - box.h, Math.max(box.h, box.y));
    }
    const twins = same.get(word.text);
    const near = (other, reachX, reachY) =>
      Math.abs(way(other.x, box.x, wide)) < reachX && Math.abs(way(other.y, box.y, tall)) < reachY;
    if (twins?.some((twin) => near(twin, apart, apart))) continue;
    const touched = touchedBy(box);
    let free = true;
    for (const bin of touched) {
      if (bins[bin].some((other) => near(other, box.w + other.w, box.h + other.h))) { free = false; break; }
    }
    if (!free) continue;
    for (const bin of touched) bins[bin].push(box);
    if (twins) twins.push(box);
    else same.set(word.text, [box]);
    shown.push({ word, size, x: box.x / scale, y: box.y / (scale * view.ratio) });
  }
  layouts.set(level, shown);
  return shown;
};
