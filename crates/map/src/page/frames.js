// With #frames in the address the page measures what drawing costs and writes it into the document: milliseconds of script, and of
// script and drawing, since a canvas may draw only when it is looked at.

const frames = () => {
  const report = { documents: documents.length, read: performance.now() };
  const timed = (act) => {
    const start = performance.now();
    act();
    const script = performance.now();
    context.getImageData(0, 0, 1, 1);
    return [script - start, performance.now() - start];
  };
  [report.firstScript, report.first] = timed(paint);
  report.opened = performance.now();
  const summary = (times) => {
    const sorted = times.toSorted((a, b) => a - b), at = (share) => Number(sorted[Math.floor(share * (sorted.length - 1))].toFixed(1));
    return { median: at(0.5), p95: at(0.95), most: at(1) };
  };
  const moves = {
    pan: (n) => look(view.x + 7 / view.scale, view.y + 3 / view.scale, view.fit * 1.01),
    panClose: (n) => look(view.x + 7 / view.scale, view.y + 3 / view.scale, view.fit * 4),
    zoom: (n) => look(columns / 2 + 0.3, rows / 2 + 0.3, view.fit * 1.02 ** (n < 100 ? n : 200 - n)),
    rest: () => {},
  };
  for (const [name, move] of Object.entries(moves)) {
    const times = Array.from({ length: 200 }, (_, n) => timed(() => { move(n); paint(); }));
    report[name] = { script: summary(times.map(([script]) => script)), drawn: summary(times.map(([, drawn]) => drawn)) };
  }
  // Frames and the longest of them from the end of a zoom until words are text again.
  look(columns / 2, rows / 2, view.fit * 1.7);
  const settling = [];
  do settling.push(timed(paint)[0]); while (!lettering.text);
  report.settle = { frames: settling.length, most: Math.max(...settling) };
  report.index = timed(indexed)[0];
  waiting = false;
  for (const query of ["w1", "w1 w2", "w777", "\"w1 w2\""]) report[`search ${query}`] = timed(() => search(query))[0];
  report.near = timed(() => documentNear(view.width / 2, view.height / 2))[0];
  report.place = timed(() => selectPlace(windowAt(view.width / 2, view.height / 2)))[0];
  if (performance.memory) report.heapMegabytes = Math.round(performance.memory.usedJSHeapSize / 1e6);
  document.body.append(element("pre", { id: "frames", textContent: JSON.stringify(report, (_, value) =>
    (typeof value === "number" ? Number(value.toFixed(1)) : value)) }));
};
if (location.hash === "#frames") frames();
