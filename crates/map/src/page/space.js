// The space that the map lies in: a torus, or a plane with edges.

const data = JSON.parse(document.getElementById("data").textContent);
/** A heading without a text would be passed over by who listens to the page. */
const pageTitle = data.title.trim() === "" ? "Map" : data.title;

const plane = data.space === "plane";
/** Whether documents are points with a place of their own, not only cells. */
const pointed = data.places !== undefined;

/** The place along an axis of so many cells: around the torus, or the nearest that the plane has. */
const onto = (x, extent) => (plane ? Math.min(extent, Math.max(0, x)) : wrap(x, extent));
/** The same for the numbers of cells, and for places between their centres. */
const cellAt = (n, extent) => (plane ? Math.min(extent - 1, Math.max(0, n)) : wrap(n, extent));
/** The way from a to b: around the torus the shortest. */
const way = (a, b, extent) => (plane ? b - a : shortest(a, b, extent));
/** Which share of a window another covers that starts `offset` cells away. */
const covers = (offset, side, extent) => (plane ? Math.max(0, side - Math.abs(offset)) / side : overlap(offset, side, extent));
