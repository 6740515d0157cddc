// Words on the screen. For text of a size that it has not drawn yet a browser takes many times as long as for the same text again. So
// while the scale changes, pictures of words are stretched; once it rests each word is drawn in its new size away from the screen, a few
// milliseconds of each frame, and when the browser knows all sizes text is drawn again. New layouts are made in the same milliseconds.

let wordMilliseconds = 5;

/** What is drawn of words: a level that is laid out, and whether as text; for which scale that was so last. */
const lettering = { level: -1, text: false, textScale: 0 };
/** The scale and level of the frame before, and the layout that is begun. */
let scaleBefore = 0, levelBefore = -1, begun = null;
const forgetLayouts = () => {
  layouts.clear();
  begun = null;
};

const wordOpacity = () => (state.found.size > 0 ? 0.35 : pointed || levelsOfRegions.length > 0 ? 0.62 : 1);

/** What words are drawn with away from the screen: one context, since each learns anew what fonts are. */
let desk = null;
const letterInto = (brush) => Object.assign(brush, { textAlign: "center", textBaseline: "middle", lineJoin: "round" });
const writeWord = (brush, text, left, top) => {
  brush.strokeStyle = ink.paper;
  brush.lineWidth = 2.5;
  brush.strokeText(text, left, top);
  brush.fillStyle = ink.text;
  brush.fillText(text, left, top);
};
/** Draws a word on the desk: its size in dots, and half its size in pixels. */
const writeOnDesk = (word, size, opacity) => {
  const dots = canvas.width / view.width, halfWide = widthOf(word) * size / 2 + 0.3 * size + 2, halfTall = size + 2;
  const wide = Math.ceil(2 * halfWide * dots), tall = Math.ceil(2 * halfTall * dots);
  desk ??= element("canvas", { width: 0, height: 0 }).getContext("2d", { willReadFrequently: true });
  if (desk.canvas.width < wide || desk.canvas.height < tall) {
    Object.assign(desk.canvas, { width: Math.max(desk.canvas.width, wide), height: Math.max(desk.canvas.height, tall) });
  }
  desk.setTransform(dots, 0, 0, dots, 0, 0);
  desk.clearRect(0, 0, wide, tall);
  desk.globalAlpha = opacity;
  letterInto(desk);
  desk.font = fontOf(word, size);
  writeWord(desk, word.text, halfWide, halfTall);
  return { wide, tall, halfWide, halfTall };
};

/** Words whose text the browser has drawn in the size of a scale. */
const known = { scale: 0, words: new Set() };
const learnWord = (word, size) => {
  writeOnDesk(word, size, 1);
  desk.getImageData(0, 0, 1, 1); // draws now, not when it is looked at
  known.words.add(word);
};

/** A picture of each word in some size: dots with their opacity, so that it lies over the map as text does. */
const wordPictures = new Map();
const makeWordPicture = (word, size, opacity) => {
  const { wide, tall, halfWide, halfTall } = writeOnDesk(word, size, opacity), dots = canvas.width / view.width;
  const picture = element("canvas", { width: wide, height: tall });
  picture.getContext("2d").putImageData(desk.getImageData(0, 0, wide, tall), 0, 0);
  wordPictures.set(word, { picture, size, opacity, dots, wide: wide / dots, tall: tall / dots, halfWide, halfTall });
};
/** Longer words are always text, since a picture can only be so wide. */
const widestPicture = 1500;
const isWide = (word, size) => widthOf(word) * size > widestPicture;

/** Forgets pictures of words that are not on the screen, if they are more dots than two screens have. */
const forgetWordPictures = (used) => {
  let dots = 0;
  for (const { picture } of wordPictures.values()) dots += picture.width * picture.height;
  if (dots <= 2 * canvas.width * canvas.height + 1e6) return;
  for (const word of wordPictures.keys()) if (!used.has(word)) wordPictures.delete(word);
};

/** Makes pictures of the words on the screen until a time, at least one, in a size that is not too far from theirs; and at rest draws their
 * text in its own size. Whether nothing is missing. */
const prepareWords = (until, rests) => {
  const stretch = view.scale / levelScale(lettering.level), opacity = wordOpacity(), dots = canvas.width / view.width, seen = new Map();
  for (const { word, size, x, y } of layouts.get(lettering.level)) {
    const drawn = size * stretch;
    if (!isWide(word, drawn)) copies(x, y, widthOf(word) * drawn / 2 + 4, drawn, () => seen.set(word, drawn));
  }
  let made = 0;
  const isLate = () => made++ > 0 && performance.now() >= until;
  for (const [word, drawn] of seen) {
    const picture = wordPictures.get(word);
    if (picture?.opacity === opacity && picture.dots === dots && drawn < 1.3 * picture.size && drawn > 0.4 * picture.size) continue;
    if (isLate()) return false;
    makeWordPicture(word, Math.ceil(drawn), opacity); // whole sizes are few
  }
  if (made > 0) forgetWordPictures(seen);
  if (!rests) return true;
  if (known.scale !== view.scale) Object.assign(known, { scale: view.scale, words: new Set() });
  // In the order in which they are painted, since a browser takes sizes that are almost the same for the first of them.
  for (const [word, drawn] of [...seen].reverse()) {
    if (known.words.has(word)) continue;
    if (isLate()) return false;
    learnWord(word, drawn);
  }
  return true;
};

/** The same while words are text: beside the frames, since nothing that is seen changes. */
let preparing = 0;
const prepareAtRest = () => {
  clearTimeout(preparing);
  preparing = setTimeout(() => {
    if (lettering.text && layouts.has(lettering.level) && !prepareWords(performance.now() + wordMilliseconds, false)) prepareAtRest();
  });
};

/** Chooses what is drawn of words in this frame, and makes some of what is missing. What is not a zoom is drawn whole at once. */
const chooseWords = (whole) => {
  const level = levelOf(), rests = scaleBefore === view.scale, stays = levelBefore === level;
  [scaleBefore, levelBefore] = [view.scale, level];
  if (whole || context.stamp || !layouts.has(lettering.level) || lettering.textScale === view.scale) {
    layout(level);
    Object.assign(lettering, { level, text: true });
    if (context.stamp) return;
    lettering.textScale = view.scale;
    if (!whole && state.words) prepareAtRest();
    return;
  }
  const until = performance.now() + wordMilliseconds;
  // A level that is passed by within a frame is not laid out.
  if (!layouts.has(level) && (rests || stays)) {
    if (begun?.level !== level) begun = startLayout(level);
    if (begun.goOn(until)) {
      layouts.set(level, begun.shown);
      begun = null;
    }
  }
  if (layouts.has(level)) lettering.level = level;
  const made = !state.words || prepareWords(until, rests && lettering.level === level);
  lettering.text = rests && made && lettering.level === level;
  if (lettering.text) lettering.textScale = view.scale;
  else repaint();
};

const isFound = (word) => state.found.has(word.text);
const paintWords = () => {
  if (!state.words) return;
  const stretch = view.scale / levelScale(lettering.level);
  letterInto(context);
  for (const { word, size, x, y } of [...layouts.get(lettering.level)].reverse()) {
    if (isFound(word)) continue;
    const drawn = size * stretch, place = (draw) => copies(x, y, widthOf(word) * drawn / 2 + 4, drawn, draw);
    if (lettering.text || isWide(word, drawn)) {
      context.globalAlpha = wordOpacity();
      context.font = fontOf(word, drawn);
      place((left, top) => writeWord(context, word.text, left, top));
    } else if (wordPictures.has(word)) { // else it comes in one of the next frames
      const { picture, size: own, wide, tall, halfWide, halfTall } = wordPictures.get(word), zoom = drawn / own;
      context.globalAlpha = 1; // the picture has it
      place((left, top) => context.drawImage(picture, left - halfWide * zoom, top - halfTall * zoom, wide * zoom, tall * zoom));
    }
  }
  context.globalAlpha = 1;
};

const paintFound = () => {
  if (state.found.size === 0) return;
  letterInto(context);
  const { level } = lettering, stretch = view.scale / levelScale(level), shown = layouts.get(level);
  // A word that is looked for shows at its best place, whatever else stands there.
  const placed = new Set(shown.filter((entry) => isFound(entry.word)).map((entry) => entry.word));
  const texts = new Set([...placed].map((word) => word.text));
  for (const word of words) {
    if (!isFound(word) || (texts.has(word.text) && !placed.has(word))) continue;
    texts.add(word.text);
    const { x, y } = shown.find((entry) => entry.word === word) ?? word;
    const drawn = Math.max(13, fontSize(word, level)) * stretch, half = widthOf(word) * drawn / 2;
    context.font = fontOf(word, drawn);
    copies(x, y, half + 4, drawn, (left, top) => {
      context.fillStyle = ink.accent;
      context.beginPath();
      context.roundRect(left - half - 5, top - drawn * 0.62, 2 * half + 10, drawn * 1.24, 5);
      context.fill();
      context.fillStyle = ink.accentText;
      context.fillText(word.text, left, top);
    });
  }
};
