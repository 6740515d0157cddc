"use strict";

const part = (id) => document.getElementById(id);

// Fewer documents have no neighbours to be placed beside.
const FEWEST = 5;

// --- the text -------------------------------------------------------------------------------------------

const documentsOf = (text, unit) =>
  text.split(unit === "line" ? /\r\n|\r|\n/ : /(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)\s*/).map((one) => one.trim()).filter((one) => one !== "");

const unit = () => document.querySelector("input[name=unit]:checked").value;

const counted = () => {
  const { length } = documentsOf(part("text").value, unit());
  part("count").textContent = length === 0 ? "" : length === 1 ? "1 document" : `${length.toLocaleString("en")} documents`;
  part("text").placeholder = `One document to a ${unit()}${unit() === "line" ? "" : ", with a blank line in between"}`;
};

// --- what is asked for ----------------------------------------------------------------------------------

class Problem extends Error {
  constructor(message, field) {
    super(message);
    this.field = field;
  }
}

const whole = (id) => {
  const field = part(id), label = field.labels[0].textContent.trim();
  if (field.validity.badInput) throw new Problem(`“${label}” needs to be a whole number.`, field);
  if (field.value === "") return undefined;
  const value = field.valueAsNumber, least = Number(field.min), most = field.max === "" ? Number.MAX_SAFE_INTEGER : Number(field.max);
  if (!Number.isSafeInteger(value) || value < least || value > most) {
    throw new Problem(`“${label}” is ${field.value}, needs to be a whole number from ${least} to ${most}.`, field);
  }
  return value;
};

const request = () => {
  const documents = documentsOf(part("text").value, unit());
  if (documents.length < FEWEST) {
    const found = documents.length === 0 ? "There is no text yet" : documents.length === 1 ? "One document has no neighbours" : `${documents.length} documents are too few`;
    throw new Problem(`${found}: paste at least ${FEWEST} documents, one to a ${unit()}.`, part("text"));
  }
  const side = whole("side"), window = whole("window");
  if (side !== undefined && window !== undefined && window > side) {
    throw new Problem(`A window of ${window} cells does not fit into a grid of ${side}: take a smaller window or a larger grid.`, part("window"));
  }
  return {
    documents,
    text: { stem: part("stem").checked, stopWords: part("stop").checked ? "english" : "none", minCount: whole("least") },
    options: { extents: side && [side, side], window, iterations: whole("iterations"), seed: whole("seed") },
    title: `A map of ${documents.length.toLocaleString("en")} documents`,
  };
};

// --- the work -------------------------------------------------------------------------------------------

const library = () => Uint8Array.from(atob(part("library").textContent), (letter) => letter.charCodeAt(0));

let worker = null;
let bounds = [];

const start = () => {
  const source = new Blob([part("worker").textContent], { type: "text/javascript" });
  const address = URL.createObjectURL(source);
  worker = new Worker(address);
  worker.addEventListener("message", ({ data }) => {
    if (data.type === "step") step(data);
    else if (data.type === "map") show(data);
    else {
      if (data.fatal) dismiss(); // its memory is in no good state
      fail(new Problem(data.message));
    }
  });
  worker.addEventListener("error", (event) => {
    dismiss();
    fail(new Problem(`The fit could not be run: ${event.message || "this browser did not start it"}.`));
  });
};

const dismiss = () => {
  worker?.terminate();
  worker = null;
};

const busy = (on) => {
  part("fit").disabled = on;
  part("stop-fit").hidden = !on;
  part("share").hidden = !on;
  part("form").setAttribute("aria-busy", String(on));
};

const fail = (problem) => {
  busy(false);
  part("progress").hidden = bounds.length === 0;
  part("problem").textContent = problem.message;
  part("problem").hidden = false;
  problem.field?.setAttribute("aria-invalid", "true");
  problem.field?.closest("details")?.setAttribute("open", "");
  problem.field?.focus();
};

const submit = (event) => {
  event.preventDefault();
  part("problem").hidden = true;
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  bounds = [];
  try {
    const asked = request();
    busy(true);
    part("share").value = 0;
    part("progress").hidden = true;
    if (!worker) start();
    worker.postMessage({ type: "map", library: library(), ...asked });
  } catch (problem) {
    fail(problem);
  }
};

// --- what comes back ------------------------------------------------------------------------------------

const number = (value) => value.toFixed(4).replace("-", "−");

const step = ({ bound, share, iteration, extents }) => {
  bounds.push(bound);
  part("share").value = share;
  part("progress").hidden = false;
  part("bound").textContent = `Iteration ${iteration} on ${extents.join("×")} cells: ${number(bound)} nats per word`;
  if (draw.frame) return;
  draw.frame = requestAnimationFrame(draw);
};

// The bound by iteration, from the lowest to the highest.
const draw = () => {
  draw.frame = 0;
  const least = Math.min(...bounds), most = Math.max(...bounds), room = most - least || 1;
  const x = (n) => (4 + (292 * n) / Math.max(1, bounds.length - 1)).toFixed(1);
  const y = (bound) => (94 - (88 * (bound - least)) / room).toFixed(1);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", bounds.map((bound, n) => `${x(n)},${y(bound)}`).join(" "));
  part("curve").replaceChildren(line);
};

let saved = "";

const show = ({ page, converged, stopped, iteration, documents, words, tokens, extents }) => {
  busy(false);
  const map = part("map");
  map.sandbox = "allow-scripts"; // the map needs nothing of this page
  map.srcdoc = page;
  map.hidden = false;
  part("empty").hidden = true;
  URL.revokeObjectURL(saved);
  saved = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  part("download").href = saved;
  part("save").hidden = false;
  const count = (value) => value.toLocaleString("en");
  const end = stopped ? "stopped" : converged ? "converged" : "all iterations used";
  part("bound").textContent = `${count(documents)} documents, ${count(words)} different words, ${count(tokens)} in all, on ${extents.join("×")} cells. ` +
    `${iteration} iterations (${end}): ${bounds.length ? number(bounds.at(-1)) : "no"} nats per word`;
  if (matchMedia("(max-width: 60rem)").matches) part("result").scrollIntoView({ block: "start" });
};

part("form").addEventListener("submit", submit);
part("stop-fit").addEventListener("click", () => worker?.postMessage({ type: "stop" }));
part("text").addEventListener("input", counted);
for (const choice of document.querySelectorAll("input[name=unit]")) choice.addEventListener("change", counted);
part("sample").addEventListener("click", () => {
  part("text").value = part("sample-text").textContent.trim();
  document.querySelector("input[value=line]").checked = true;
  counted();
});
counted();
