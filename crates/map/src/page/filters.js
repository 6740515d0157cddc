// The controls of the columns: a histogram with two handles for numbers and days, a list for categories.

/** Values of a column of categories that are listed before the others are asked for. */
const listedValues = 8;
const bins = 40;

/** Everything that follows from which documents the columns keep. */
const filtered = () => {
  keepDocuments();
  tint = null;
  for (const { show } of controls) show();
  refresh();
};
const controls = [];

/** Documents in each of the bins of a range, all of them and those that are kept. */
const histogram = (field) => {
  const all = new Float64Array(bins), kept = new Float64Array(bins);
  field.values.forEach((value, id) => {
    if (value === null) return;
    const bin = Math.min(bins - 1, Math.floor(shareOf(field, value) * bins));
    all[bin] += 1;
    if (documents[id].kept) kept[bin] += 1;
  });
  return { all, kept };
};

const rangeControl = (field) => {
  // Steps of the handles; a whole number or a day at a time, if there are not too many.
  const whole = field.high - field.low <= 20_000 && field.values.every((value) => value === null || Number.isInteger(value));
  const steps = field.high === field.low ? 1 : whole ? field.high - field.low : 1000;
  const valueAt = (step) => (step >= steps ? field.high : whole ? field.low + step : field.low * (1 - step / steps) + field.high * (step / steps));
  const stepOf = (value) => {
    const step = shareOf(field, value) * steps;
    return Math.abs(step - Math.round(step)) < 1e-6 ? Math.round(step) : step;
  };
  const picture = element("canvas", { className: "bars", width: 4 * bins, height: 48 });
  picture.setAttribute("role", "img");
  const handle = (name) => {
    const input = element("input", { type: "range", min: 0, max: steps, step: 1 });
    input.setAttribute("aria-label", `${field.name}, ${name}`);
    return input;
  };
  const [from, to] = [handle("from"), handle("to")];
  to.value = steps;
  const said = element("output", {});
  const play = element("button", { type: "button", textContent: "Play", disabled: field.high === field.low });
  const set = (low, high) => {
    Object.assign(field, { from: valueAt(low), to: valueAt(high) });
    filtered();
  };
  from.addEventListener("input", () => { stop(); set(Math.min(Number(from.value), Number(to.value)), Number(to.value)); });
  to.addEventListener("input", () => { stop(); set(Number(from.value), Math.max(Number(from.value), Number(to.value))); });
  // A window as wide as what is chosen, or a tenth of everything, goes from the beginning to the end.
  let timer = 0;
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  const move = () => {
    const [low, high] = [Math.round(stepOf(field.from)), Math.round(stepOf(field.to))], by = Math.max(1, Math.round((high - low) / 4));
    if (high >= steps) return stop();
    set(Math.min(low + by, steps), Math.min(high + by, steps));
  };
  play.addEventListener("click", () => {
    if (timer !== 0) return stop();
    const [low, high] = [Math.round(stepOf(field.from)), Math.round(stepOf(field.to))];
    if (!isNarrowed(field)) set(0, Math.max(1, Math.round(steps / 10)));
    else if (high >= steps) set(0, high - low);
    play.textContent = "Stop";
    timer = setInterval(move, still.matches ? 1000 : 250);
  });
  const show = () => {
    from.value = Math.floor(stepOf(field.from));
    to.value = Math.ceil(stepOf(field.to));
    from.setAttribute("aria-valuetext", textOf(field, field.from));
    to.setAttribute("aria-valuetext", textOf(field, field.to));
    said.textContent = `${textOf(field, field.from)} – ${textOf(field, field.to)}`;
    const { all, kept } = histogram(field), most = Math.max(...all), brush = picture.getContext("2d");
    picture.setAttribute("aria-label", `Documents by ${field.name}, from ${textOf(field, field.low)} to ${textOf(field, field.high)}`);
    brush.clearRect(0, 0, picture.width, picture.height);
    [[all, ink.line], [kept, ink.accent]].forEach(([counts, colour]) => {
      brush.fillStyle = colour;
      counts.forEach((n, bin) => {
        const tall = n === 0 ? 0 : Math.max(1, n / most * picture.height);
        brush.fillRect(4 * bin, picture.height - tall, 3, tall);
      });
    });
  };
  return { field, show, stop, nodes: [picture, element("div", { className: "range" }, from, to), element("div", { className: "said" }, said, play)] };
};

const categoryControl = (field) => {
  const counts = field.names.map((name, id) => ({ id, name, documents: 0 }));
  for (const value of field.values) if (value !== null) counts[value].documents += 1;
  const order = counts.filter(({ documents }) => documents > 0).sort((a, b) => b.documents - a.documents || a.id - b.id);
  const list = element("div", { className: "values" });
  let listed = listedValues;
  const show = () => {
    const rows = order.slice(0, listed).map(({ id, name, documents }) => {
      const toggle = element("button", { type: "button", className: "value", title: `${name}: show or hide` },
        element("span", { textContent: name, dir: "auto" }), element("small", { textContent: documents.toLocaleString("en") }));
      toggle.setAttribute("aria-pressed", String(field.shown[id]));
      toggle.addEventListener("click", () => { field.shown[id] = !field.shown[id]; filtered(); });
      const only = element("button", { type: "button", className: "only", textContent: "only this" });
      only.setAttribute("aria-label", `only this: ${name}`);
      only.addEventListener("click", () => { field.shown.forEach((_, other) => { field.shown[other] = other === id; }); filtered(); });
      return element("div", { className: "row" }, toggle, only);
    });
    // The key that was pressed stays the one that has the focus.
    const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
    list.replaceChildren(...rows);
    if (order.length > listed) {
      const more = element("button", { type: "button", textContent: `${(order.length - listed).toLocaleString("en")} more` });
      more.addEventListener("click", () => { listed += 50; show(); });
      list.append(more);
    }
    if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
  };
  return { field, show, stop: () => {}, nodes: [list] };
};

/** Takes all documents again. */
const keepAll = () => {
  for (const { field, stop } of controls) {
    stop();
    if (isRange(field)) [field.from, field.to] = [field.low, field.high];
    else field.shown.fill(true);
  }
};

const showFilters = () => {
  const filters = columnsOfPage.filter((field) => field.kind !== "text");
  part("filters").hidden = filters.length === 0;
  for (const field of filters) {
    const control = isRange(field) ? rangeControl(field) : categoryControl(field);
    controls.push(control);
    part("columns").append(element("fieldset", {}, element("legend", { textContent: field.name, dir: "auto" }), ...control.nodes));
    part("colour").append(element("option", { value: String(field.id), textContent: field.name }));
    control.show();
  }
  part("colour").addEventListener("change", () => {
    colourBy(columnsOfPage[part("colour").value] ?? null);
    filtered();
    showLegend();
  });
  part("unfiltered").addEventListener("click", () => { keepAll(); filtered(); });
};

/** What a document has in the columns, a link where that is an address of the web. */
const fieldsOf = (item) => columnsOfPage.flatMap((field) => {
  const value = textOf(field, field.values[item.id]);
  if (value === "") return [];
  const address = field.kind === "text" || field.kind === "category" ? addressIn(value) : null;
  const shown = address === null ? value
    : element("a", { href: address, target: "_blank", rel: "noopener noreferrer", textContent: value });
  return [element("dt", { textContent: field.name, dir: "auto" }), element("dd", { dir: "auto" }, shown)];
});
