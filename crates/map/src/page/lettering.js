// Words on the screen. For text of a size that it has not drawn yet a browser takes many times as long as for the same text again. So
// while the scale changes, pictures of words are stretched; once it rests they are made anew in the new size, a few milliseconds of each
// frame, and when all are made the browser knows the sizes and text is drawn again. New layouts are made in the same milliseconds.

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

/** A picture of each word in some size: dots with their opacity, so that it lies over the map as text does. */
const wordPictures = new Map();
const makeWordPicture = (word, size, opacity) => {
  const dots = canvas.width / view.width;
  const halfWide = widthOf(word) * size / 2 + 0.3 * size + 2, halfTall = size + 2;
  const picture = element("canvas", { width: Math.ceil(2 * halfWide * dots), height: Math.ceil(2 * halfTall * dots) });
  const brush = picture.getContext("2d", { willReadFrequently: true });
  brush.scale(dots, dots);
  brush.globalAlpha = opacity;
  letterInto(brush);
  brush.font = fontOf(word, size);
  writeWord(brush, word.text, halfWide, halfTall);
  brush.getImageData(0, 0, 1, 1); // draws now, not when it is looked at
  wordPictures.set(word, { picture, size, opacity, dots, wide: picture.width / dots, tall: picture.height / dots, halfWide, halfTall });
};
/** Longer words are always text, since a picture can only be so wide. */
const widestPicture = 1500;
const isWide = (word, size) => widthOf(word) * size > widestPicture;

const letterInto = (brush) => Object.assign(brush, { textAlign: "center", textBaseline: "middle", lineJoin: "round" });
const writeWord = (brush, text, left, top) => {
  brush.strokeStyle = ink.paper;
  brush.lineWidth = 2.5;
  brush.strokeText(text, left, top);
  brush.fillStyle = ink.text;
  brush.fillText(text, left, top);
};

/** Forgets pictures of words that are not on the screen, if they are more dots than two screens have. */
const forgetWordPictures = (used) => {
  let dots = 0;
  for (const { picture } of wordPictures.values()) dots += picture.width * picture.height;
  if (dots <= 2 * canvas.width * canvas.height + 1e6) return;
  for (const word of wordPictures.keys()) if (!used.has(word)) wordPictures.delete(word);
};

/** Makes pictures of the words on the screen until a time, at least one, and says whether all are there; if `sharp` in their own size, else in
 * one that is not too far from it. */
const makeWordPictures = (until, sharp) => {
  const stretch = view.scale / levelScale(lettering.level), opacity = wordOpacity(), used = new Set();
  let whole = true, made = 0;
  for (const { word, size, x, y } of layouts.get(lettering.level)) {
    const drawn = size * stretch;
    if (isWide(word, drawn)) continue;
    let seen = false;
    copies(x, y, widthOf(word) * drawn / 2 + 4, drawn, () => { seen = true; });
    if (!seen) continue;
    used.add(word);
    const picture = wordPictures.get(word);
    if (picture?.opacity === opacity && picture.dots === canvas.width / view.width &&
      (picture.size === drawn || (!sharp && drawn < 1.3 * picture.size && drawn > 0.4 * picture.size))) continue;
    if (made > 0 && performance.now() >= until) {
      whole = false;
      break;
    }
    // Whole sizes are few; and a browser takes sizes that are almost the same for one, so that others would show in the text at rest.
    makeWordPicture(word, sharp ? drawn : Math.ceil(drawn), opacity);
    made += 1;
  }
  if (whole && made > 0) forgetWordPictures(used);
  return whole;
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
    if (!whole && state.words && !makeWordPictures(performance.now() + wordMilliseconds, false)) repaint();
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
  const made = !state.words || makeWordPictures(until, rests);
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
