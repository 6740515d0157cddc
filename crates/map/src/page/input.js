// Pointer, wheel, touch, keyboard.

/** The window around a point of the screen. */
const windowAt = (left, top) => {
  const [x, y] = onTorus(left, top);
  return {
    row: ring ? 0 : cellAt(Math.round(y - sides[0] / 2), rows),
    column: cellAt(Math.round(x - sides[1] / 2), columns),
  };
};
const samePlace = (a, b) => a === b || (a !== null && b !== null && a.row === b.row && a.column === b.column);

const documentNear = (left, top) => {
  let best = null, least = Math.max(7, markSize() + 3) ** 2;
  const [x, y] = onTorus(left, top), { x: across, y: down, ids } = spotsOf(), high = view.scale * view.ratio;
  for (let n = 0; n < ids.length; n++) {
    const a = way(x, across[n], columns) * view.scale;
    if (a * a >= least) continue;
    const b = way(y, down[n], rows) * high, distance = a * a + b * b;
    if (distance < least && isShown(documents[ids[n]])) [best, least] = [documents[ids[n]], distance];
  }
  return best;
};

const hover = (left, top) => {
  const place = left === null ? null : windowAt(left, top);
  if (!samePlace(place, state.hover)) {
    state.hover = place;
    repaint();
  }
  const tip = part("tip");
  const item = left !== null && (pointed || view.scale > 24) ? documentNear(left, top) : null;
  tip.hidden = item === null;
  if (item === null) return;
  tip.textContent = item.title || "(no title)";
  tip.style.left = `${Math.min(left + 14, Math.max(0, view.width - 300))}px`;
  tip.style.top = `${Math.min(top + 14, view.height - 60)}px`;
};

const pointers = new Map();
const drag = { moved: 0, x: 0, y: 0, span: 0 };
const at = (event) => {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
};
const middle = () => {
  const points = [...pointers.values()];
  const sum = (axis) => points.reduce((total, point) => total + point[axis], 0) / points.length;
  return [sum(0), sum(1)];
};
const span = () => {
  const [a, b] = [...pointers.values()];
  return b ? Math.max(1, Math.hypot(a[0] - b[0], a[1] - b[1])) : 0;
};
const grip = () => {
  [drag.x, drag.y] = middle();
  drag.span = span();
};

canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  cancelAnimationFrame(view.flight);
  try { canvas.setPointerCapture(event.pointerId); } catch { /* the pointer is gone already */ }
  if (pointers.size === 0) drag.moved = 0;
  else drag.moved = Infinity; // two fingers never click
  pointers.set(event.pointerId, at(event));
  grip();
  drawn = pointers.size === 1 && (event.shiftKey || isDrawing()) ? [onTorus(...at(event))] : null;
});
canvas.addEventListener("pointermove", (event) => {
  if (!pointers.has(event.pointerId)) {
    if (event.pointerType !== "touch") hover(...at(event));
    return;
  }
  pointers.set(event.pointerId, at(event));
  const [x, y] = middle(), wide = span();
  drag.moved += Math.hypot(x - drag.x, y - drag.y);
  if (drawn !== null) {
    drawn.push(onTorus(x, y));
    grip();
    return repaint();
  }
  if (drag.moved > 5) {
    canvas.classList.add("dragging");
    hover(null);
    look(view.x - (x - drag.x) / view.scale, view.y - (y - drag.y) / (view.scale * view.ratio), view.scale);
    if (wide > 0 && drag.span > 0) zoomAt(wide / drag.span, x, y);
    [drag.x, drag.y, drag.span] = [x, y, wide];
  }
});
const release = (event) => {
  if (!pointers.delete(event.pointerId)) return;
  if (pointers.size > 0) return grip();
  canvas.classList.remove("dragging");
  const points = drawn;
  drawn = null;
  if (points !== null && points.length > 2 && event.type === "pointerup") {
    lassoButton.setAttribute("aria-pressed", "false");
    return selectDrawn(thinned(points));
  }
  if (event.type === "pointerup" && drag.moved <= 5) {
    part("search").value = "";
    const [left, top] = at(event);
    selectPlace(windowAt(left, top), pointed ? documentNear(left, top) : null);
  }
};
canvas.addEventListener("pointerup", release);
canvas.addEventListener("pointercancel", release);
canvas.addEventListener("pointerleave", () => hover(null));
canvas.addEventListener("dblclick", (event) => zoomAt(2, ...at(event)));
canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  cancelAnimationFrame(view.flight);
  const lines = event.deltaY * (event.deltaMode === 1 ? 18 : event.deltaMode === 2 ? 400 : 1);
  zoomAt(2 ** (-Math.max(-300, Math.min(300, lines)) / (event.ctrlKey ? 90 : 280)), ...at(event));
}, { passive: false });

const zoomStep = (factor) => zoomAt(factor, view.width / 2, view.height / 2);
const everything = () => flyTo(columns / 2, rows / 2, view.fit);

/** Moves the chosen window by cells, and the view with it when it leaves the middle. */
const step = (down, across) => {
  const from = state.place ?? windowAt(view.width / 2, view.height / 2);
  const place = { row: ring ? 0 : cellAt(from.row + down, rows), column: cellAt(from.column + across, columns) };
  selectPlace(place);
  const x = place.column + sides[1] / 2, y = ring ? view.y : place.row + sides[0] / 2;
  const far = Math.abs(way(view.x, x, columns)) * view.scale > view.width * 0.35 ||
    Math.abs(way(view.y, y, rows)) * view.scale * view.ratio > view.height * 0.35;
  if (far) flyTo(x, y);
};

canvas.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const actions = {
    ArrowUp: () => step(-1, 0), ArrowDown: () => step(1, 0), ArrowLeft: () => step(0, -1), ArrowRight: () => step(0, 1),
    "+": () => zoomStep(1.4), "=": () => zoomStep(1.4), "-": () => zoomStep(1 / 1.4), Home: everything, 0: everything,
    Enter: () => step(0, 0), " ": () => step(0, 0),
  };
  if (!(event.key in actions)) return;
  event.preventDefault();
  actions[event.key]();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") clearAll();
  else if (event.key === "/" && document.activeElement !== part("search")) {
    event.preventDefault();
    part("search").focus();
  }
});

const flyToFound = () => {
  const word = words.find((candidate) => state.found.has(candidate.text));
  const item = state.marked.find((candidate) => candidate.placed);
  if (word) flyTo(word.x, word.y, Math.max(view.scale, view.fit * 2.5));
  else if (item) flyTo(item.x, item.y, Math.max(view.scale, view.fit * 2.5));
};
part("search").addEventListener("input", () => search(part("search").value));
part("search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") whenListed(flyToFound);
});
part("more").addEventListener("click", () => showMore(100));
part("closer").addEventListener("click", () => zoomStep(1.6));
part("farther").addEventListener("click", () => zoomStep(1 / 1.6));
part("everything").addEventListener("click", everything);
darkness.addEventListener("change", () => {
  readColours();
  tint = null;
  for (const { show } of controls) show();
  showLegend();
  refresh();
});
addEventListener("beforeprint", paintWhole);
new ResizeObserver(() => { resize(); paintNow(); }).observe(canvas);

readColours();
resize();
showFrame();
showOptions();
showFilters();
clearAll();
embed(new URLSearchParams(location.search).has("embed"));
if (location.hash.length > 1 && !["#selftest", "#frames"].includes(location.hash)) goTo(location.hash.slice(1));
addEventListener("hashchange", () => goTo(location.hash.slice(1)));
paintNow();
const reading = readAll();
