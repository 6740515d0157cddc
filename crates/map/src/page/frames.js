// With #frames in the address the page measures itself and writes it into the document: what drawing costs, in milliseconds of script,
// and of script and drawing, since a canvas may draw only when it is looked at; and for how long a search keeps everything else waiting.

/** The longest time for which the page answered to nothing, and the time it took, from an act until what it leads to is drawn. */
const blocked = async (act, isDone = () => pending === null) => {
  const { port1, port2 } = new MessageChannel(), nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  let longest = 0, last = performance.now(), goes = true;
  port1.onmessage = () => { // a task that comes back as soon as nothing else has to be done
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (goes) port2.postMessage(null);
  };
  port2.postMessage(null);
  for (let n = 0; n < 3; n++) await nextFrame();
  await breathe();
  longest = 0;
  const start = performance.now();
  act();
  while (!isDone()) await breathe();
  const listed = performance.now();
  do await nextFrame(); while (frame !== 0);
  const drawn = performance.now();
  await nextFrame(); // whatever the browser makes of it
  await breathe();
  goes = false;
  port1.close();
  return { task: longest, listed: listed - start, drawn: drawn - start };
};

const summary = (times) => {
  const sorted = times.toSorted((a, b) => a - b), at = (share) => sorted[Math.floor(share * (sorted.length - 1))];
  return { median: at(0.5), p95: at(0.95), most: at(1) };
};

const measureFrames = () => {
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
  report.near = timed(() => documentNear(view.width / 2, view.height / 2))[0];
  report.place = timed(() => selectPlace(windowAt(view.width / 2, view.height / 2)))[0];
  return report;
};

/** A word that most documents have, a phrase, a beginning, a rare word, one that nobody has, and everything again. */
const measuredSearches = { frequent: "w1 ", phrase: '"w1 w2"', both: "w1 w2 ", prefix: "w1*", rare: "w777 ", nothing: "wq777 ", clear: "" };
const measureSearches = async (report) => {
  let read = false;
  report.index = (await blocked(() => { reading.then(() => { read = true; }); }, () => read)).task;
  report.repaint = (await blocked(repaint)).task;
  report.firstSearch = await blocked(() => search(measuredSearches.frequent));
  for (const [name, query] of Object.entries(measuredSearches)) {
    const all = [];
    for (let n = 0; n < 20; n++) {
      await blocked(() => search("w2999 "));
      all.push(await blocked(() => search(query)));
    }
    report[name] = { found: state.list.length, task: summary(all.map(({ task }) => task)), drawn: summary(all.map(({ drawn }) => drawn)) };
  }
  return report;
};

if (location.hash === "#frames") {
  measureSearches(measureFrames()).then((report) => {
    if (performance.memory) report.heapMegabytes = Math.round(performance.memory.usedJSHeapSize / 1e6);
    document.body.append(element("pre", { id: "frames", textContent: JSON.stringify(report, (_, value) =>
      (typeof value === "number" ? Number(value.toFixed(1)) : value)) }));
  });
}
