// What can be taken out of the page: its address, which brings the same view back, and the list as a table.

/** The view, the query, what is chosen, which labels are hidden, and what columns keep and colour, as the part of an address after `#`. */
const addressOf = () => {
  const fields = new URLSearchParams(), filters = columnsOfPage.filter((field) => field.kind !== "text");
  const query = part("search").value.trim();
  if (query !== "") fields.set("q", query);
  else if (state.place) fields.set("at", `${state.place.row},${state.place.column}`);
  else if (state.region) fields.set("region", `${state.region.level},${state.region.id}`);
  else if (state.lasso) fields.set("lasso", state.lasso.flat().join());
  const hidden = labels.filter((label) => !label.shown).map((label) => label.id);
  if (hidden.length > 0) fields.set("hidden", hidden.join());
  if (colouring !== null) fields.set("by", colouring.id);
  for (const field of filters.filter(isNarrowed)) {
    fields.append("keep", [field.id, ...(isRange(field) ? [field.from, field.to] : field.shown.flatMap((shown, id) => (shown ? [id] : [])))].join());
  }
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
  keepAll();
  for (const [id, ...values] of fields.getAll("keep").map((keep) => keep.split(",").map(Number))) {
    const field = columnsOfPage[id];
    if (!field || field.kind === "text" || !values.every(Number.isFinite)) continue;
    if (!isRange(field)) field.shown.forEach((_, value) => { field.shown[value] = values.includes(value); });
    else if (values.length === 2 && values[0] <= values[1]) [field.from, field.to] = [Math.max(field.low, values[0]), Math.min(field.high, values[1])];
  }
  const by = columnsOfPage[fields.has("by") ? fields.get("by") : -1] ?? null;
  colourBy(by !== null && by.kind !== "text" ? by : null);
  part("colour").value = colouring === null ? "" : String(colouring.id);
  const hidden = new Set(numbers("hidden", 1) ?? []);
  for (const label of labels) label.shown = !hidden.has(label.id);
  keepDocuments();
  for (const { show } of controls) show();
  tint = null;
  showLegend();
  clearAll();
  const points = numbers("lasso", 6);
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
  } else if (points) {
    selectDrawn(Array.from({ length: Math.min(mostPoints, Math.floor(points.length / 2)) }, (_, n) => points.slice(2 * n, 2 * n + 2)));
  }
  if (seen) look(seen[0], seen[1], view.fit * seen[2]);
};

/** Writes the address once nothing has moved for a moment. */
let remembering = 0;
const remember = () => {
  if (["#selftest", "#frames"].includes(location.hash)) return;
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
  const formula = /^[=+\-@\t\r]/.test(value) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(value);
  const text = formula ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
const csvOf = (entries) => [["title", "label", "share", ...columnsOfPage.map((field) => field.name), "text"], ...entries.map(({ item, share }) =>
  [item.title, ownLabel(item), share === undefined ? "" : share.toFixed(3),
    ...columnsOfPage.map((field) => plainOf(field, field.values[item.id] ?? null)), item.text ?? item.snippet])]
  .map((row) => row.map(csvCell).join()).join("\r\n") + "\r\n";


/** The same as JSON: a list of objects, values of columns as numbers and texts. */
const jsonOf = (entries) => JSON.stringify(entries.map(({ item, share }) => ({
  title: item.title, label: ownLabel(item) || undefined, share,
  columns: Object.fromEntries(columnsOfPage.map((field) => {
    const value = field.values[item.id] ?? null;
    return [field.name, value === null || field.kind === "number" ? value : textOf(field, value)];
  })),
  text: item.text ?? item.snippet,
})), null, 1);

const download = (blob, name) => {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
};
const onClick = (id, act) => part(id).addEventListener("click", act);
onClick("csv", () => whenListed(() => download(new Blob([csvOf(state.list)], { type: "text/csv" }), "documents.csv")));
onClick("json", () => whenListed(() => download(new Blob([jsonOf(state.list)], { type: "application/json" }), "documents.json")));
onClick("svg", () => download(new Blob([svgOf()], { type: "image/svg+xml" }), "map.svg"));
onClick("png", () => {
  paintWhole();
  canvas.toBlob((blob) => download(blob, "map.png"));
});

/** In another page: the map alone, with a way to the whole page. */
const embed = (embedded) => {
  document.body.classList.toggle("embed", embedded);
  const whole = part("whole");
  whole.hidden = !embedded;
  whole.textContent = `${pageTitle} ↗`;
  const follow = () => { whole.href = `${location.pathname}#${addressOf()}`; };
  follow();
  whole.addEventListener("pointerdown", follow);
  whole.addEventListener("focus", follow);
};
