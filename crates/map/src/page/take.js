// What can be taken out of the page: its address, which brings the same view back, and the list as a table.

/** The view, the query, what is chosen and which labels are hidden, as the part of an address after `#`. */
const addressOf = () => {
  const fields = new URLSearchParams();
  const query = part("search").value.trim();
  if (query !== "") fields.set("q", query);
  else if (state.place) fields.set("at", `${state.place.row},${state.place.column}`);
  else if (state.region) fields.set("region", `${state.region.level},${state.region.id}`);
  const hidden = labels.filter((label) => !label.shown).map((label) => label.id);
  if (hidden.length > 0) fields.set("hidden", hidden.join());
  if (view.scale > view.fit * 1.001) {
    fields.set("view", [view.x, view.y, view.scale / view.fit].map((x) => Number(x.toFixed(3))).join());
  }
  return String(fields);
};

/** Goes to what an address says; what makes no sense here is left out. */
const goTo = (address) => {
  const fields = new URLSearchParams(address);
  const numbers = (name, count) => {
    const found = (fields.get(name) ?? "").split(",").map(Number);
    return fields.has(name) && found.length >= count && found.every(Number.isFinite) ? found : null;
  };
  const hidden = new Set(numbers("hidden", 1) ?? []);
  for (const label of labels) label.shown = !hidden.has(label.id);
  tint = null;
  showLegend();
  clearAll();
  const at = numbers("at", 2), region = numbers("region", 2), seen = numbers("view", 3);
  const chosen = region && levelsOfRegions[region[0]]?.[region[1]];
  if (fields.has("q")) {
    part("search").value = fields.get("q");
    search(fields.get("q"));
  } else if (at && Number.isInteger(at[0]) && Number.isInteger(at[1]) && at[0] >= 0 && at[0] < rows && at[1] >= 0 && at[1] < columns) {
    selectPlace({ row: at[0], column: at[1] });
  } else if (chosen) {
    selectRegion(chosen);
    cancelAnimationFrame(view.flight);
  }
  if (seen) look(seen[0], seen[1], view.fit * seen[2]);
};

/** Writes the address once nothing has moved for a moment. */
let remembering = 0;
const remember = () => {
  if (location.hash === "#selftest") return;
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const address = addressOf();
    if (address === location.hash.slice(1)) return;
    try {
      history.replaceState(null, "", `#${address}`);
    } catch {
      // A page within another, as in a notebook, may have no address of its own.
    }
  }, 300);
};

/** A cell of a table: in quotes where it has to be, and with a `'` before what a spreadsheet would take for a formula. */
const csvCell = (value) => {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvOf = (entries) => [["title", "label", "share", "text"], ...entries.map(({ item, share }) =>
  [item.title, item.label < 0 ? "" : labels[item.label].name, share === undefined ? "" : share.toFixed(3), item.text ?? item.snippet])]
  .map((row) => row.map(csvCell).join()).join("\r\n") + "\r\n";

part("save").addEventListener("click", () => {
  const address = URL.createObjectURL(new Blob([csvOf(state.list)], { type: "text/csv" }));
  element("a", { href: address, download: "documents.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
});
