// Documents chosen by drawing around them: with the shift key, or after the button.

/** Points of the drawing, in places of the map that go on beyond its edges; none while nothing is drawn. */
let drawn = null;
const lassoButton = part("lasso");
const isDrawing = () => lassoButton.getAttribute("aria-pressed") === "true";
lassoButton.addEventListener("click", () => lassoButton.setAttribute("aria-pressed", String(!isDrawing())));

/** Whether a place is inside, by how often a line from it to the right crosses the edge. */
const encloses = (points, x, y) => points.reduce((inside, [ax, ay], n) => {
  const [bx, by] = points[(n + 1) % points.length];
  return (ay > y) !== (by > y) && x < ax + (y - ay) / (by - ay) * (bx - ax) ? !inside : inside;
}, false);

/** Whether one of the places of the plane that a document has on the torus is inside. */
const surrounds = (points, item) => {
  if (plane) return encloses(points, item.x, item.y);
  const [left, right] = [Math.min(...points.map(([x]) => x)), Math.max(...points.map(([x]) => x))];
  const [top, bottom] = [Math.min(...points.map(([, y]) => y)), Math.max(...points.map(([, y]) => y))];
  for (let y = top + wrap(item.y - top, rows); y <= bottom; y += rows) {
    for (let x = left + wrap(item.x - left, columns); x <= right; x += columns) if (encloses(points, x, y)) return true;
  }
  return false;
};

/** At most so many points, so that an address has room for them. */
const mostPoints = 60;
const thinned = (points) => {
  const every = Math.max(1, Math.ceil(points.length / mostPoints));
  return points.filter((_, n) => n % every === 0).map((point) => point.map((x) => Number(x.toFixed(2))));
};

/** Lists the documents inside. */
const selectDrawn = (points) => {
  Object.assign(state, { place: null, region: null, lasso: points, found: new Set(), marked: [], marks: [] });
  part("search").value = "";
  delete part("result").dataset.place;
  const entries = documents.filter((item) => item.placed && isShown(item) && surrounds(points, item)).map((item) => ({ item }));
  showList(`${count(entries.length, "document", "documents")} selected`, entries, []);
  repaint();
};

const paintLasso = () => {
  const points = drawn ?? state.lasso;
  if (points === null || points.length < 2) return;
  const [x0, y0] = points[0], [wide, tall] = [columns * view.scale, rows * view.scale * view.ratio];
  context.strokeStyle = ink.accent;
  context.lineWidth = 2;
  copies(x0, y0, wide, tall, (left, top) => {
    context.beginPath();
    points.forEach(([x, y], n) => {
      const [a, b] = [left + (x - x0) * view.scale, top + (y - y0) * view.scale * view.ratio];
      if (n === 0) context.moveTo(a, b);
      else context.lineTo(a, b);
    });
    context.closePath();
    context.stroke();
  });
};
