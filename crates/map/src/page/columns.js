// Further columns of the data: which documents they keep, and what they are coloured by.

/** Groups that colours tell apart; of more values the rarest are one. */
const mostGroups = 24;
/** Groups of numbers and days, from the lowest to the highest. */
const numberGroups = 7;
const millisecondsOfDay = 86_400_000;
/** Days before and after 1970 that a date of the language can be. */
const lastDay = 1e8;

const columnsOfPage = (data.columns ?? []).map(({ name, kind, values, names }, id) => {
  const field = { id, name, kind, values, names, shown: (names ?? []).map(() => true) };
  if (kind === "number" || kind === "day") {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (value !== null) [low, high] = [Math.min(low, value), Math.max(high, value)];
    Object.assign(field, low > high ? { kind: "text" } : { low, high, from: low, to: high });
  }
  if (values.every((value) => value === null)) field.kind = "text"; // there is nothing to choose
  return field;
});
const isRange = (field) => field.kind === "number" || field.kind === "day";
/** Whether a field leaves any document out. */
const isNarrowed = (field) => (isRange(field) ? field.from > field.low || field.to < field.high : field.shown.includes(false));
/** Where a value lies between the lowest and the highest, 0 to 1; also where their difference is no number any more. */
const shareOf = ({ low, high }, value) => {
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return high === low ? 0 : (value / most - low / most) / (high / most - low / most);
};
/** Documents without a value are kept as long as no value is left out. */
const keeps = (field, id) => {
  if (!isNarrowed(field)) return true;
  const value = field.values[id];
  return value !== null && (isRange(field) ? value >= field.from && value <= field.to : field.shown[value]);
};

const textOf = (field, value) => {
  if (value === null) return "";
  if (field.kind === "day" && Math.abs(value) <= lastDay) {
    const text = new Date(value * millisecondsOfDay).toISOString();
    return text.slice(0, text.indexOf("T"));
  }
  // A year has no comma.
  if (field.kind === "number") return value.toLocaleString("en", { maximumSignificantDigits: 6, useGrouping: Math.abs(value) >= 1e4 });
  return field.kind === "category" ? field.names[value] : String(value);
};
/** The same for a table: numbers as they are. */
const plainOf = (field, value) => (field.kind === "number" && value !== null ? String(value) : textOf(field, value));
/** The address that a value is, if it is one of the web. */
const addressIn = (value) => {
  try {
    const { protocol, href } = new URL(value);
    return /^https?:$/.test(protocol) ? href : null;
  } catch {
    return null;
  }
};

/** What documents are coloured by: the labels of the data, or a column. */
let colouring = null;
const groupsOfLabels = () => ({ names: data.labels, of: data.documentLabels });
const groupsOfCategories = ({ names, values }) => {
  const counts = names.map((name, id) => ({ id, name, documents: 0 }));
  for (const value of values) if (value !== null) counts[value].documents += 1;
  const order = counts.filter(({ documents }) => documents > 0).sort((a, b) => b.documents - a.documents || a.id - b.id);
  const own = order.length > mostGroups ? order.slice(0, mostGroups - 1) : order;
  const group = new Map(own.map(({ id }, n) => [id, n]));
  const rest = order.length > own.length ? [`${order.length - own.length} others`] : [];
  return { names: [...own.map(({ name }) => name), ...rest], of: values.map((value) => (value === null ? -1 : group.get(value) ?? own.length)) };
};
/** Of about as many documents each; documents with the same value are in one. */
const groupsOfRange = (field) => {
  const sorted = field.values.filter((value) => value !== null).sort((a, b) => a - b);
  const starts = [...new Set(Array.from({ length: numberGroups }, (_, n) => sorted[Math.floor(n * sorted.length / numberGroups)]))];
  const groupOf = (value) => starts.findLastIndex((start) => start <= value);
  const highest = starts.map((_, n) => sorted.findLast((value) => groupOf(value) === n));
  const names = starts.map((start, n) => (start === highest[n] ? textOf(field, start) : `${textOf(field, start)} – ${textOf(field, highest[n])}`));
  return { names, of: field.values.map((value) => (value === null ? -1 : groupOf(value))) };
};

/** Colours documents by a column, or by their labels: what is hidden shows again. */
const colourBy = (field) => {
  colouring = field;
  const { names, of } = field === null ? groupsOfLabels() : isRange(field) ? groupsOfRange(field) : groupsOfCategories(field);
  labels = names.map((name, id) => ({ id, name, shown: true, documents: 0 }));
  documents.forEach((item, id) => {
    item.label = of[id];
    if (item.label >= 0) labels[item.label].documents += 1;
  });
};

/** Leaves out the documents that a column does not keep, also from where labels live. */
const keepDocuments = () => {
  const narrowed = columnsOfPage.filter((field) => field.kind !== "text" && isNarrowed(field));
  for (const item of documents) item.kept = narrowed.every((field) => keeps(field, item.id));
  planes = makePlanes();
};
const keptBy = () => documents.reduce((sum, item) => sum + Number(item.kept), 0);

colourBy(null);
keepDocuments();
