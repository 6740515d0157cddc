// The view as SVG: what paints on the screen paints into a text instead.

const xmlText = (text) => text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")
  .replace(/[&<>"]/g, (character) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[character]);
const brief = (x) => String(Math.round(x * 100) / 100);

/** As much of a canvas's context as the map is drawn with. */
class SvgBrush {
  parts = [];
  defined = new Map(); // marks and patterns, by what they are of
  path = "";
  fillStyle = "#000000"; strokeStyle = "#000000"; lineWidth = 1; globalAlpha = 1; font = ""; textAlign = ""; textBaseline = ""; lineJoin = "";

  constructor(ruler) { this.ruler = ruler; }
  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${brief(x)} ${brief(y)}`; }
  lineTo(x, y) { this.path += `L${brief(x)} ${brief(y)}`; }
  closePath() { this.path += "Z"; }
  rect(x, y, wide, tall) { this.path += `M${brief(x)} ${brief(y)}h${brief(wide)}v${brief(tall)}h${brief(-wide)}Z`; }
  arc(x, y, r) { // all the way around
    this.path += `M${brief(x + r)} ${brief(y)}a${brief(r)} ${brief(r)} 0 1 1 ${brief(-2 * r)} 0a${brief(r)} ${brief(r)} 0 1 1 ${brief(2 * r)} 0Z`;
  }
  roundRect(x, y, wide, tall, r) {
    const corner = (a, b) => `a${r} ${r} 0 0 1 ${a} ${b}`;
    this.path += `M${brief(x + r)} ${brief(y)}h${brief(wide - 2 * r)}${corner(r, r)}v${brief(tall - 2 * r)}${corner(-r, r)}` +
      `h${brief(2 * r - wide)}${corner(-r, -r)}v${brief(2 * r - tall)}${corner(r, -r)}Z`;
  }
  get opacity() { return this.globalAlpha === 1 ? "" : ` opacity="${brief(this.globalAlpha)}"`; }
  fill() { this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.opacity}/>`); }
  stroke() { this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${brief(this.lineWidth)}"${this.opacity}/>`); }
  fillRect(x, y, wide, tall) {
    const style = typeof this.fillStyle === "string" ? this.fillStyle : this.fillStyle.paint();
    this.parts.push(`<rect x="${brief(x)}" y="${brief(y)}" width="${brief(wide)}" height="${brief(tall)}" fill="${style}"${this.opacity}/>`);
  }
  write(text, x, y, paint) {
    const [weight, size] = this.font.split(" ");
    this.parts.push(`<text x="${brief(x)}" y="${brief(y)}" font-weight="${weight}" font-size="${brief(parseFloat(size))}" ${paint}${this.opacity}>${xmlText(text)}</text>`);
  }
  fillText(text, x, y) { this.write(text, x, y, `fill="${this.fillStyle}"`); }
  strokeText(text, x, y) { this.write(text, x, y, `fill="none" stroke="${this.strokeStyle}" stroke-width="${brief(this.lineWidth)}" stroke-linejoin="round"`); }
  define(key, make) {
    if (!this.defined.has(key)) this.defined.set(key, make(`d${this.defined.size}`));
    return `d${[...this.defined.keys()].indexOf(key)}`;
  }
  /** A picture that repeats, or stands once if it is not to. */
  createPattern(image, repetition) {
    let matrix = new DOMMatrix();
    return {
      setTransform: (transform) => { matrix = transform; },
      paint: () => `${"url"}(#${this.define("pattern", (id) => {
        const far = repetition === "repeat" ? 1 : 1e4; // so that no other copy is near
        return `<pattern id="${id}" patternUnits="userSpaceOnUse" width="${image.width * far}" height="${image.height * far}" ` +
          `patternTransform="matrix(${[matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f].join(" ")})">` +
          `<image href="${image.toDataURL()}" width="${image.width}" height="${image.height}"/></pattern>`;
      })})`,
    };
  }
  /** A document's mark, whose outline is written once. */
  stamp(label, r, x, y, added) {
    const id = this.define(`${label} ${r} ${added}`, (own) => {
      const outline = new SvgBrush(this.ruler);
      mark(outline, shapeOf(label), 0, 0, r);
      const edge = added ? ` stroke="${ink.text}" stroke-width="1.5"` : r > 2.5 ? ` stroke="${ink.paper}" stroke-width="0.8"` : "";
      return `<path id="${own}" d="${outline.path}" fill="${colourOf(label)}" fill-opacity="${r < 2 ? 0.6 : 0.8}"${edge}/>`;
    });
    this.parts.push(`<use href="#${id}" x="${brief(x)}" y="${brief(y)}"/>`);
  }
}

/** What is on the screen, as a document of its own. */
const svgOf = () => {
  const screen = context, brush = new SvgBrush(screen);
  context = brush;
  try {
    paint();
  } finally {
    context = screen;
  }
  const size = `width="${brief(view.width)}" height="${brief(view.height)}"`;
  return `<svg xmlns="${document.querySelector("svg").namespaceURI}" ${size} viewBox="0 0 ${brief(view.width)} ${brief(view.height)}" ` +
    `font-family="${xmlText(fontFamily)}" text-anchor="middle" dominant-baseline="central">` +
    `<title>${xmlText(data.title)}</title><defs>${[...brush.defined.values()].join("")}</defs>${brush.parts.join("\n")}</svg>\n`;
};
