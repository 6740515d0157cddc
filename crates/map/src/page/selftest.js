// With #selftest in the address the page tries itself out and writes what failed into the document.

/** Tests of the crate put further ones here. */
const furtherChecks = [];

const selftest = async () => {
  const failed = [];
  let checks = 0;
  const check = (name, holds) => {
    checks += 1;
    if (!holds) failed.push(name);
  };
  const listBudget = listMilliseconds;
  listMilliseconds = Infinity;
  if (pending !== null) goOnListing();
  const near = (a, b, tolerance = 1e-6) => Math.abs(a - b) <= tolerance;
  const middleX = view.width / 2, middleY = view.height / 2;
  const pointer = (type, left, top, pointerId = 1) => {
    const box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new PointerEvent(type, { pointerId, button: 0, clientX: box.left + left, clientY: box.top + top, bubbles: true }));
  };
  const press = (target, key) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const click = (left, top) => { pointer("pointerdown", left, top); pointer("pointerup", left, top); };
  const home = () => { look(columns / 2, rows / 2, view.fit); };

  // The data is whole and nothing of it became part of the page.
  check("title", part("title").textContent === pageTitle && document.title.trim() === pageTitle.replace(/[\t\n\f\r ]+/g, " ").trim());
  check("scripts", document.scripts.length === 2);
  check("no foreign elements", document.querySelectorAll("img, iframe, object, embed, base, form, style ~ style").length === 0);
  check("no requests", performance.getEntriesByType("resource").every((entry) => entry.name.startsWith("data:")));

  // Arithmetic.
  check("wrap", wrap(-1, 5) === 4 && wrap(5, 5) === 0 && wrap(12, 5) === 2 && wrap(-1e-20, 5) === 0);
  check("shortest", near(shortest(4.5, 0.5, 5), 1) && near(shortest(0.5, 4.5, 5), -1));
  check("overlap", overlap(0, 3, 8) === 1 && near(overlap(1, 3, 8), 2 / 3) && near(overlap(-2, 3, 8), 1 / 3) &&
    overlap(3, 3, 8) === 0 && near(overlap(3, 5, 5), 1));

  // On a plane nothing comes around.
  if (plane) {
    check("edges", onto(-1, 5) === 0 && onto(7, 5) === 5 && cellAt(5, 5) === 4 && way(4.5, 0.5, 5) === -4 && covers(-2, 3, 8) === 1 / 3);
    look(-3, rows + 3, view.fit * 2);
    const [west, south] = onTorus(0, view.height);
    const beside = (extent, shown) => Math.max(0, (shown - extent) / 2); // where the screen shows more than there is, it lies in the middle
    check("held", west >= -beside(columns, view.width / view.scale) - 1e-6 &&
      south <= rows + beside(rows, view.height / (view.scale * view.ratio)) + 1e-6);
    let drawn = 0;
    copies(columns / 2, rows / 2, 1e9, 1e9, () => { drawn += 1; });
    check("one copy", drawn === 1);
    home();
  }

  // Seen from the corner the picture is the same, cut and glued: the seam does not show. The torus is made as
  // large as the screen in whole, even pixels for this.
  const dots = canvas.width / view.width, even = (n) => 2 * Math.ceil(n / 2);
  const [wide, tall] = [even(view.width), even(view.height)];
  const copy = element("canvas", { width: canvas.width, height: canvas.height }).getContext("2d", { willReadFrequently: true });
  const seenFrom = (x, y) => {
    forgetLayouts();
    Object.assign(view, { x, y, scale: wide / columns, fit: wide / columns, ratio: (tall / rows) / (wide / columns) });
    paintWhole();
    copy.drawImage(canvas, 0, 0);
    return new Uint8Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  };
  const whole = seenFrom(columns / 2, rows / 2), corner = seenFrom(0, 0);
  let compared = 0, different = 0;
  for (let top = 0; top < canvas.height && !plane; top++) {
    const y = top + (top < canvas.height / 2 ? 1 : -1) * tall / 2 * dots;
    for (let left = 0; left < canvas.width; left++) {
      const x = left + (left < canvas.width / 2 ? 1 : -1) * wide / 2 * dots;
      if (x < 0 || y < 0 || x >= canvas.width || y >= canvas.height || x % 1 !== 0 || y % 1 !== 0) continue;
      const [a, b] = [4 * (top * canvas.width + left), 4 * (y * canvas.width + x)];
      compared += 1;
      different += [0, 1, 2].some((c) => Math.abs(corner[a + c] - whole[b + c]) > 8);
    }
  }
  check(`no seam: ${different} of ${compared} pixels differ`, plane || (different <= compared / 200 && (dots % 1 !== 0 || compared > 0)));
  check("something is drawn", new Set(new Uint32Array(whole.buffer)).size > (words.length > 0 ? 2 : 0));
  resize();

  // No two words of a layout overlap, and closer up there are at least as many.
  for (const level of [0, 6]) {
    const scale = levelScale(level), boxes = layout(level).map(({ word, size, x, y }) =>
      [x * scale, y * scale * view.ratio, widthOf(word) * size / 2, size * 0.5]);
    const clash = boxes.some(([x, y, w, h], n) => boxes.slice(0, n).some(([u, v, a, b]) =>
      Math.abs(way(x, u, columns * scale)) < w + a && Math.abs(way(y, v, rows * scale * view.ratio)) < h + b));
    check(`words whole at level ${level}`, !plane || boxes.every(([x, , w]) => x >= w && x <= columns * scale - w));
    check(`words apart at level ${level}`, !clash);
  }
  // On a lower level of regions more names may stand where words stood, but twice as close there is room for both.
  check("level of detail", layout(12).length >= layout(0).length);

  // Names of regions do not overlap, nor do words lie on them; every document is in one region of each level.
  for (const level of [0, 4, 9]) {
    const scale = levelScale(level), { names } = layout(level);
    const boxes = names.map(({ box }) => [box.x, box.y, box.w, box.h]);
    const wordBoxes = layout(level).map(({ word, size, x, y }) => [x * scale, y * scale * view.ratio, widthOf(word) * size / 2, size * 0.5]);
    const meets = ([x, y, w, h], [u, v, a, b]) => Math.abs(way(x, u, columns * scale)) < w + a &&
      Math.abs(way(y, v, rows * scale * view.ratio)) < h + b;
    check(`names apart at level ${level}`, !boxes.some((a, n) => boxes.slice(0, n).some((b) => meets(a, b))));
    check(`words off names at level ${level}`, !boxes.some((a) => wordBoxes.some((b) => meets(a, b))));
    check(`names of one level at ${level}`, new Set(names.map(({ region }) => region.level)).size <= 1);
  }
  check("documents in regions", levelsOfRegions.every((regions) =>
    regions.reduce((sum, region) => sum + region.documents.length, 0) === documents.filter((item) => item.placed).length));
  const contents = part("regions").querySelectorAll("button");
  check("contents", part("contents").hidden === (contents.length === 0));
  if (contents.length > 0) {
    contents[0].click();
    cancelAnimationFrame(view.flight);
    check("a region lists its documents", state.region !== null && state.list.length === state.region.documents.filter(isShown).length &&
      part("heading").textContent.startsWith(state.region.name));
    paint();
    press(document, "Escape");
    check("no region any more", state.region === null);
  }

  // A click lists the documents of that window, also across the seam; against a count cell by cell.
  const cellsOf = (row, column) => {
    const cells = new Set();
    for (let a = 0; a < (ring ? 1 : sides[0]); a++) for (let b = 0; b < sides[1]; b++) {
      cells.add(wrap(row + a, cellRows) * columns + wrap(column + b, columns));
    }
    return cells;
  };
  const covered = new Float64Array(cellRows * columns);
  for (const { places } of documents) for (const { row, column, mass } of places) {
    for (const cell of cellsOf(row, column)) covered[cell] += mass;
  }
  check("tint", covered.every((mass, cell) => near(mass, planes.reduce((sum, plane) => sum + plane[cell], 0), 1e-4 * (1 + mass))));
  for (const [x, y] of [[columns / 2, rows / 2], [0, 0], [columns - 0.01, 0.01]]) {
    look(x, y, view.fit * 1.5);
    click(...(plane ? onScreen(x, y) : [middleX, middleY]));
    const { row, column } = state.place ?? { row: -1, column: -1 };
    const centre = way(column + sides[1] / 2, x, columns);
    check(`window under the click at ${x}, ${y}`, Math.abs(centre) <= 0.5 + 1e-9 && row >= 0 && row < rows && column < columns);
    const clicked = cellsOf(row, column);
    const share = ({ places }) => places.reduce((sum, place) =>
      sum + place.mass * [...cellsOf(place.row, place.column)].filter((cell) => clicked.has(cell)).length / clicked.size, 0);
    const expected = documents.map(share).filter((value) => value > 0).sort((a, b) => b - a);
    if (expected.length > 0 && state.marked.length === 0) {
      check(`documents at ${x}, ${y}`, expected.length === state.list.length &&
        state.list.every((entry, n) => near(entry.share, expected[n], 1e-6) && near(share(entry.item), entry.share, 1e-6)));
    }
    check(`list at ${x}, ${y}`, part("list").children.length === Math.min(25, state.list.length));
  }
  check("somebody is near every place", documents.every((item) => !item.placed) || documentsAt(0, 0).length > 0);

  // Dragging across the seam goes on on the other side; the wheel keeps what is under the pointer.
  const [fromX, fromY] = plane ? [columns / 2, rows / 2] : [0.5, 0.5];
  look(fromX, fromY, view.fit * 2);
  pointer("pointerdown", middleX, middleY);
  pointer("pointermove", middleX + 20, middleY);
  pointer("pointermove", middleX + view.scale, middleY + view.scale * view.ratio);
  pointer("pointerup", middleX + view.scale, middleY + view.scale * view.ratio);
  check("drag", plane ? view.x <= fromX && view.y <= fromY
    : near(view.x, wrap(-0.5, columns)) && near(view.y, wrap(-0.5, rows)));
  const under = plane ? [Math.floor(middleX), Math.floor(middleY)] : [30, 40];
  const [x, y] = onTorus(...under), scale = view.scale, box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, clientX: box.left + under[0], clientY: box.top + under[1], cancelable: true }));
  const [u, v] = onTorus(...under);
  check("wheel", view.scale > scale && near(way(x, u, columns), 0) && near(way(y, v, rows), 0));
  pointer("pointerdown", 100, 100, 1);
  pointer("pointerdown", 200, 100, 2);
  const pinched = view.scale;
  pointer("pointermove", 220, 100, 2);
  pointer("pointermove", 230, 100, 2);
  check("pinch", view.scale > pinched || near(pinched, maxScale()));
  pointer("pointerup", 230, 100, 2);
  pointer("pointerup", 100, 100, 1);

  // Keyboard: as many steps as there are columns lead back.
  home();
  press(canvas, "Enter");
  const start = part("result").dataset.place;
  for (let n = 0; n < columns; n++) press(canvas, "ArrowRight");
  const ended = part("result").dataset.place;
  check("arrows wrap", plane ? ended.endsWith(`,${columns - 1}`) : ended === start);
  press(canvas, "ArrowDown"); // the last place that was clicked is in the first row
  check("arrow moves", ring || rows === 1 || part("result").dataset.place !== ended);
  cancelAnimationFrame(view.flight);
  home();
  press(canvas, "+");
  check("plus", view.scale > view.fit);
  press(document, "Escape");
  check("escape", state.place === null && state.list.length === documents.length);

  // Points: drawn where they are, chosen by a click, shown elsewhere on demand.
  const point = pointed && documents.find((item) => item.placed && isShown(item) && data.places[item.id]);
  if (point) {
    const seen = () => { paintWhole(); copy.drawImage(canvas, 0, 0); return copy; };
    const choose = (id, value) => {
      part(id)[id === "wordy" ? "checked" : "value"] = value;
      part(id).dispatchEvent(new Event("change"));
    };
    choose("background", "none");
    choose("wordy", false);
    home();
    press(document, "Escape");
    state.hover = null;
    // The mark that is drawn last at a place is the one that is seen there.
    const last = documents.findLast((item) => item.placed && isShown(item));
    const [left, top] = onScreen(last.x, last.y).map((pixels) => Math.floor(pixels * dots));
    const colour = (brush) => [...brush.getImageData(left, top, 1, 1).data].slice(0, 3).join();
    const before = colour(seen());
    const placed = documents.map((item) => item.placed);
    documents.forEach((item) => { item.placed = false; });
    check("points are drawn", before !== colour(seen()));
    documents.forEach((item, n) => { item.placed = placed[n]; });
    check("points are where they should be", near(point.x, data.places[point.id][1]) && near(point.y, data.places[point.id][0]));
    click(...onScreen(point.x, point.y));
    const [chosen] = state.marked;
    check("a click chooses a point", state.marked.length === 1 && near(chosen.x, point.x, 0.2) && near(chosen.y, point.y, 0.2));
    check("its text is shown", part("list").querySelector("[aria-current=true] b").textContent === (chosen.title || "(no title)") &&
      state.list[0].item === chosen);
    choose("place", "mode");
    check("modes", documents.every((item) => !item.mode || (item.x === item.mode[0] && item.y === item.mode[1])));
    choose("place", "mean");
    check("means", near(point.x, data.places[point.id][1]));
    if (data.relief) {
      const plain = new Set(new Uint32Array(seen().getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
      choose("background", "relief");
      const shaded = new Set(new Uint32Array(seen().getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
      check("relief", shaded > plain || new Set(data.relief).size < 2);
    }
    choose("background", "labels");
    choose("wordy", true);
    press(document, "Escape");
  }
  check("options", part("options").hidden === !pointed);

  // Search and legend.
  const type = (text) => {
    part("search").value = text;
    part("search").dispatchEvent(new Event("input"));
  };
  if (words.length > 0) {
    type(words[0].text.toUpperCase());
    check("search finds a word", state.found.has(words[0].text));
    paint();
  }
  const titled = documents.find((item) => item.title.trim() !== "");
  if (titled) {
    type(titled.title);
    check("search finds a document", state.list.some((entry) => entry.item === titled));
    part("list").querySelector("button").click();
    check("a document is marked", state.marked.length === 1);
    cancelAnimationFrame(view.flight);
  }
  press(document, "Escape");

  /** The words of each document, and a blank between title and text. */
  const scanned = documents.map((item) => [...wordsOf(item.title), " ", ...wordsOf(item.text ?? item.snippet)]);
  // Columns: a range or a value keeps those documents and no other, also on the map; what is not there is left out.
  press(document, "Escape");
  check("filters", part("filters").hidden === (controls.length === 0));
  const slide = (input, value) => {
    input.value = value;
    input.dispatchEvent(new Event("input"));
  };
  for (const { field, stop } of controls) {
    const box = part("columns").children[controls.findIndex((control) => control.field === field)];
    const filled = field.values.filter((value) => value !== null);
    const kept = () => state.list.map(({ item }) => item.id).sort((a, b) => a - b).join();
    const expect = (name, wanted) => check(`${field.kind}: ${name}`, kept() ===
      documents.filter((item) => wanted(field.values[item.id])).map((item) => item.id).join());
    check(`${field.kind}: its name`, box.querySelector("legend").textContent === field.name);
    if (isRange(field)) {
      const [from, to] = box.querySelectorAll("input"), steps = Number(to.max), quarter = Math.round(steps / 4);
      const bound = (value) => field.low * (1 - value / steps) + field.high * (value / steps);
      if (field.high > field.low) {
        slide(from, quarter);
        check(`${field.kind}: where the handle is`, near(field.from / 2, bound(quarter) / 2, 1e-9 * Math.max(-field.low, field.high, 1)));
        expect("from", (value) => value !== null && value >= field.from);
        slide(to, 2 * quarter);
        check(`${field.kind}: where the other is`, near(field.to / 2, bound(2 * quarter) / 2, 1e-9 * Math.max(-field.low, field.high, 1)));
        expect("to", (value) => value !== null && value >= field.from && value <= field.to);
        check(`${field.kind}: heading`, part("heading").textContent.startsWith(`${state.list.length.toLocaleString("en")} of `));
        const mass = planes.reduce((sum, plane) => sum + plane.reduce((all, x) => all + x, 0), 0);
        const own = documents.filter((item) => item.kept).reduce((sum, { places }) => sum + places.reduce((all, place) => all + place.mass, 0), 0);
        check(`${field.kind}: the map`, near(mass, own * (ring ? 1 : sides[0]) * sides[1], 1e-3 * (1 + mass)));
        const address = addressOf(), list = kept();
        goTo("");
        check(`${field.kind}: all again`, state.list.length === documents.length && !isNarrowed(field));
        goTo(address);
        check(`${field.kind}: address`, kept() === list && addressOf() === address);
        const play = box.querySelector(".said button");
        play.click();
        check(`${field.kind}: plays`, play.textContent === "Stop");
        stop();
        slide(from, steps);
        slide(to, 0);
        check(`${field.kind}: handles do not cross`, field.from <= field.to);
        const bars = histogram(field);
        check(`${field.kind}: histogram`, bars.all.reduce((sum, n) => sum + n, 0) === filled.length &&
          bars.kept.reduce((sum, n) => sum + n, 0) === state.list.length);
      }
    } else {
      const only = box.querySelector(".only"), name = only.previousSibling.querySelector("span").textContent;
      const value = field.names.indexOf(name);
      only.click();
      expect("only", (own) => own === value);
      check("category: a full list", state.list.length === Number(box.querySelector("small").textContent.replaceAll(",", "")));
      const address = addressOf();
      part("unfiltered").click();
      goTo(address);
      expect("address", (own) => own === value);
      part("unfiltered").click();
      box.querySelector(".value").click();
      expect("hidden", (own) => own !== null && own !== value);
    }
    part("unfiltered").click();
    check(`${field.kind}: unfiltered`, state.list.length === documents.length);
    part("colour").value = String(field.id);
    part("colour").dispatchEvent(new Event("change"));
    const groups = part("legend").querySelectorAll("button").length;
    check(`${field.kind}: legend`, groups === labels.length && groups <= mostGroups && (groups > 0) === (filled.length > 0));
    check(`${field.kind}: groups`, labels.reduce((sum, label) => sum + label.documents, 0) === filled.length &&
      documents.every((item) => (item.label < 0) === (field.values[item.id] === null)));
    const shades = labels.map((label) => colourOf(label.id));
    check(`${field.kind}: colours`, new Set(shades).size === shades.length);
    if (groups > 0) {
      part("legend").querySelector("button").click();
      check(`${field.kind}: a group hidden`, state.list.every(({ item }) => item.label !== labels.findIndex((label) => !label.shown)));
      const address = addressOf(), list = kept();
      goTo("");
      goTo(address);
      check(`${field.kind}: colours come back`, colouring === field && kept() === list);
      paint();
    }
    goTo("");
    check(`${field.kind}: labels again`, colouring === null && labels.length === data.labels.length && part("colour").value === "");
  }
  for (const item of documents.slice(0, 25)) {
    const button = part("list").children[item.id].querySelector("button");
    button.click();
    cancelAnimationFrame(view.flight);
    const about = part("list").querySelector(".reader .about"), links = [...(about?.querySelectorAll("a") ?? [])];
    const texts = columnsOfPage.map((field) => textOf(field, field.values[item.id])).filter((text) => text !== "");
    check("columns are read", texts.join("\n") === [...(about?.querySelectorAll("dd") ?? [])].map((dd) => dd.textContent).join("\n"));
    check("only addresses of the web are links", links.every((link) => /^https?:$/.test(link.protocol) && link.rel === "noopener noreferrer") &&
      links.length === texts.filter((text) => /^https?:..[\w/.?=]+$/.test(text)).length);
  }

  // Drawing around documents selects those inside, also across the seam; and an address brings them back.
  const drag = (points, shift) => {
    const box = canvas.getBoundingClientRect();
    points.forEach(([left, top], n) => canvas.dispatchEvent(new PointerEvent(n === 0 ? "pointerdown" : "pointermove",
      { pointerId: 1, button: 0, shiftKey: shift, clientX: box.left + left, clientY: box.top + top, bubbles: true })));
    pointer("pointerup", ...points.at(-1));
  };
  const placedNow = documents.filter((item) => item.placed);
  for (const [x, y] of plane ? [[columns / 2, rows / 2]] : [[columns / 2, rows / 2], [0, 0]]) {
    for (const byButton of [false, true]) {
      home();
      look(x, y, view.fit * 1.3);
      const [w, h] = [view.width / 4, view.height / 4];
      const corners = [[middleX - w, middleY - h], [middleX + w, middleY - h], [middleX + w, middleY + h], [middleX - w, middleY + h]];
      if (byButton) part("lasso").click();
      const before = [view.x, view.y];
      drag(corners, !byButton);
      const inside = placedNow.filter((item) => Math.abs(way(view.x, item.x, columns)) * view.scale < w - 1 &&
        Math.abs(way(view.y, item.y, rows)) * view.scale * view.ratio < h - 1);
      const chosen = new Set(state.list.map(({ item }) => item));
      check(`selected at ${x}, ${y}`, state.lasso !== null && inside.every((item) => chosen.has(item)) && chosen.size <= inside.length +
        placedNow.filter((item) => !inside.includes(item) && Math.abs(way(view.x, item.x, columns)) * view.scale <= w + 1 &&
          Math.abs(way(view.y, item.y, rows)) * view.scale * view.ratio <= h + 1).length);
      check("drawing moves nothing", view.x === before[0] && view.y === before[1] && !isDrawing());
      const address = addressOf();
      goTo("");
      check("nothing selected", state.lasso === null && state.list.length === documents.length);
      goTo(address);
      check("the selection comes back", state.list.length === chosen.size && state.list.every(({ item }) => chosen.has(item)) && addressOf() === address);
      paint();
    }
  }
  goTo("");
  home();

  // Two sets: log-odds against a computation from the texts, and a case worked out by hand.
  const { delta, error } = logOdds(30, 1000, 10, 2000, 0.01);
  check("log-odds", near(delta, Math.log((35 / 1465) / (15 / 2485)), 1e-12) && near(error, Math.sqrt(1 / 35 + 1 / 15), 1e-12));
  if (documents.length >= 20) {
    const half = Math.floor(documents.length / 2), [first, second] = [documents.slice(0, half), documents.slice(half)];
    const from = (items, side) => {
      state.list = items.map((item) => ({ item }));
      part(`list${side}`).click();
    };
    from(first, "A");
    check("one is not two", part("compared").children.length === 0 && part("setA").textContent.includes(first.length.toLocaleString("en")));
    from(second, "B");
    const words = compareWords(first, second), tokens = (items) => items.flatMap(({ id }) => scanned[id]).filter((word) => word !== " ");
    const [inA, inB, inAll] = [first, second, documents].map(tokens);
    for (const [side, sign] of [["A", 1], ["B", -1]]) {
      for (const { word, delta: found, low, high } of words[side]) {
        const of = (all) => all.filter((other) => other === word).length, share = of(inAll) / inAll.length;
        const expected = logOdds(of(inA), inA.length, of(inB), inB.length, share);
        check(`log-odds of ${word}`, near(found, expected.delta, 1e-9) && (sign > 0 ? low > clearly : high < -clearly) && of(inA) + of(inB) >= 3);
      }
      const table = part("compared").querySelectorAll("table:not(.grown)")[sign > 0 ? 0 : 1];
      check("words are shown", [...table.querySelectorAll("td button")].map((button) => button.textContent).join() === words[side].map(({ word }) => word).join());
      check("with their intervals", [...table.querySelectorAll("tbody tr")].every((row) => /^× \S+$/.test(row.children[1].textContent) && row.children[2].textContent.includes(" – ")));
    }
    check("examples", part("compared").querySelectorAll(".examples button").length === 6);
    part("compared").querySelector(".examples button").click();
    check("an example is opened", part("list").querySelector(".reader") !== null && (state.place !== null || state.list.length === 1));
    // Regions by a count of their documents.
    const grown = compareRegions(first, second), level = Math.min(1, levelsOfRegions.length - 1);
    for (const { region, shares, low, high } of [...grown.A, ...grown.B]) {
      const of = (items) => items.filter((item) => item.regions?.[level] === region).length / items.filter(({ placed }) => placed).length;
      check(`shares of ${region.name}`, near(shares[0], of(first), 1e-12) && near(shares[1], of(second), 1e-12) && (low > 0) === (shares[0] > shares[1]) && (low > 0 || high < 0));
    }
    check("regions are shown", part("compared").querySelectorAll(".grown tbody tr").length === grown.A.length + grown.B.length);
    from(documents, "A");
    check("what is in both is left out", part("compared").querySelector(".note").textContent.startsWith(second.length.toLocaleString("en")));
    const label = data.labels.findIndex((_, id) => data.documentLabels.includes(id));
    if (label >= 0) {
      part("labelA").value = String(label);
      part("labelA").dispatchEvent(new Event("change"));
      check("a label", sets.A.items.length === data.documentLabels.filter((id) => id === label).length && part("setA").textContent.includes(data.labels[label]));
    }
    if (data.added !== undefined) {
      for (const [side, value] of [["A", "added"], ["B", "before"]]) {
        part(`label${side}`).value = value;
        part(`label${side}`).dispatchEvent(new Event("change"));
      }
      check("what was added against what was there", sets.A.items.length === documents.length - data.added && (sets.B?.items.length ?? 0) === data.added &&
        sets.A.items.every(({ id }) => id >= data.added));
      check("added documents are told", part("summary").textContent.includes(`${sets.A.items.length.toLocaleString("en")} of them added`));
    }
    setTo("A", "", []);
    setTo("B", "", []);
    press(document, "Escape");
  }

  // What is taken out: the view as a drawing that is whole, the list as JSON, the map alone.
  home();
  const svg = svgOf(), drawing = new DOMParser().parseFromString(svg, "image/svg+xml");
  check("the drawing is whole", drawing.querySelector("parsererror") === null && drawing.documentElement.localName === "svg");
  check("its title", drawing.querySelector("title").textContent === xmlText(data.title).replace(/&(amp|lt|gt|quot);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"' })[name]).replace(/\r\n?/g, "\n"));
  check("nothing in it acts", drawing.querySelectorAll("script, foreignObject, a, img, iframe").length === 0 &&
    [...drawing.querySelectorAll("*")].every((node) => [...node.attributes].every(({ name, value }) => !name.startsWith("on") && (name !== "href" || /^(#d\d+|data:image\/png)/.test(value)))));
  const written = new Set([...drawing.querySelectorAll("text")].map((text) => text.textContent));
  check("its words", !state.words || layout(levelOf()).every(({ word }) => written.has(word.text.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd")) || word.text === ""));
  const stampsInView = drawing.querySelectorAll("use").length;
  check("its documents", stampsInView >= placedNow.length);
  check("the screen again", context !== null && context.canvas === canvas);
  const objects = JSON.parse(jsonOf(documents.map((item) => ({ item }))));
  check("JSON", objects.length === documents.length && objects.every((object, id) => object.title === documents[id].title &&
    Object.keys(object.columns).length === new Set(columnsOfPage.map(({ name }) => name)).size && (object.label ?? "") === ownLabel(documents[id])));
  check("pictures", canvas.toDataURL().startsWith("data:image/png"));
  embed(true);
  check("embedded", document.querySelector("aside").offsetWidth === 1 && document.querySelector("aside").offsetHeight === 1 && !part("whole").hidden &&
    part("whole").textContent.startsWith(pageTitle) && canvas.getBoundingClientRect().width === document.documentElement.clientWidth);
  embed(new URLSearchParams(location.search).has("embed"));
  resize();
  home();

  // An address brings back what it was made of; one that makes no sense does no harm.
  press(document, "Escape");
  if (labels.length > 1) part("legend").querySelectorAll("button")[1].click();
  type("sun");
  look(columns / 3, rows / 3, view.fit * 2);
  const seen = [view.x, view.y, view.scale], listed = state.list.length, address = addressOf();
  press(document, "Escape");
  home();
  for (const label of labels) label.shown = true;
  goTo(address);
  check("address", part("search").value === "sun" && state.list.length === listed && addressOf() === address &&
    [view.x, view.y, view.scale].every((x, n) => near(x, seen[n], 0.01 * view.fit)) &&
    labels.filter((label) => !label.shown).length === Math.min(1, Math.max(0, labels.length - 1)));
  goTo("at=999999,0&region=7,8,9&hidden=x&view=a,b,c&q=");
  goTo("");
  check("no address", part("search").value === "" && labels.every((label) => label.shown) && state.list.length === documents.length);
  const table = csvOf([{ item: { id: -1, title: '=1+"1"', snippet: "a\nb" }, share: 0.5 }]);
  check("table", table === `title,label,share,${columnsOfPage.map(({ name }) => `${csvCell(name)},`).join("")}text\r\n"'=1+""1""",,0.500,${columnsOfPage.map(() => ",").join("")}"a\nb"\r\n`);
  home();

  press(document, "Escape");
  for (const button of part("legend").querySelectorAll("button")) button.click();
  check("hidden labels", state.list.every((entry) => entry.item.label < 0));
  paint();
  for (const button of part("legend").querySelectorAll("button")) button.click();
  const pieces = [...part("mixture").children].map((piece) => parseFloat(piece.style.flexGrow));
  check("mixture", pieces.length === labels.filter((label) => label.documents > 0).length && pieces.every((piece) => piece > 0) &&
    (pieces.length === 0 || near(pieces.reduce((sum, piece) => sum + piece, 0), 100, 1e-2)));
  check("all, or some of all", data.sampledFrom === undefined ? part("heading").textContent.startsWith("All ")
    : part("summary").textContent.includes("a sample of"));
  const tints = labels.slice(0, 24).map((label) => colourOf(label.id));
  check("labels have colours of their own", new Set(tints).size === tints.length);
  check("shown labels", state.list.length === documents.length);

  // Kept as pictures, documents look as they do one by one; when the view moves they are there at once, and nothing else is left to make.
  state.words = false; // which are pictures too at times
  const usual = manyFrom, slice = sliceMilliseconds, all = documents.splice(0), taken = (many, paintIt) => {
    manyFrom = many ? -1 : Infinity;
    paintIt();
    copy.drawImage(canvas, 0, 0);
    return copy.getImageData(0, 0, canvas.width, canvas.height).data;
  };
  const bare = () => { documents.length = 0; return taken(false, paint); };
  // Of squares of 6 dots, since in pictures marks stand to half a dot.
  const away = (a, b) => {
    const across = Math.ceil(canvas.width / 6), sums = new Float64Array(3 * across * Math.ceil(canvas.height / 6));
    for (let n = 0; n < a.length; n += 4) {
      const square = Math.floor(Math.floor(n / 4 / canvas.width) / 6) * across + Math.floor(n / 4 % canvas.width / 6);
      for (let c = 0; c < 3; c++) sums[3 * square + c] += a[n + c] - b[n + c];
    }
    return sums.reduce((sum, value) => sum + Math.abs(value), 0);
  };
  for (const [x, y, closer] of [[columns / 2, rows / 2, 1], [0, 0, 2.3]]) {
    look(x, y, view.fit * closer);
    cancelAnimationFrame(frame);
    frame = 0;
    const without = bare();
    documents.push(...all);
    const single = taken(false, paint);
    changeMany();
    const pictures = taken(true, paintWhole);
    const [differs, drawn] = [away(single, pictures), away(single, without)];
    check(`as pictures at ${closer}: ${differs} of ${drawn}`, differs <= 0.3 * drawn);
    check(`nothing is left to make at ${closer}`, makeMany(0) && suffices(kept.near) && kept.making === null);
    look(x + 0.4, y + 0.3, view.fit * closer * 1.4);
    sliceMilliseconds = 0;
    const moved = taken(true, paint);
    sliceMilliseconds = slice;
    const bareMoved = bare();
    documents.push(...all);
    const there = away(taken(false, paint), bareMoved);
    check(`documents while the view moves at ${closer}`, there === 0 || away(moved, bareMoved) > 0.1 * there);
  }
  manyFrom = usual;
  changeMany();

  // While the scale changes words are pictures, and a level that is passed by is not laid out; at rest they are the same text as if drawn at once.
  Object.assign(state, { words: true, hover: null });
  const screen = () => context.getImageData(0, 0, canvas.width, canvas.height).data;
  const budget = wordMilliseconds;
  home();
  paintWhole();
  prepareWords(Infinity, false);
  wordMilliseconds = 0;
  forgetLayouts();
  paint();
  for (let n = 2; n < 9; n++) {
    look(columns / 2, rows / 2, levelScale(n) * 1.01);
    paint();
  }
  check("levels that are passed by", layouts.size === 1 && (words.length === 0 || !lettering.text || maxScale() <= view.fit));
  const stretched = screen();
  state.words = false;
  paint();
  const wordless = screen();
  state.words = true;
  const seenWords = layout(0).filter(({ word, x, y, size }) => {
    let inside = false;
    copies(x, y, -size, -size, () => { inside = true; });
    return inside && word.text.trim() !== "";
  });
  check("words while the scale changes", seenWords.length === 0 || away(stretched, wordless) > 0);
  wordMilliseconds = 1;
  let rests = 0;
  do paint(); while (!lettering.text && ++rests < 50 + 4 * words.length);
  const rested = screen();
  check("at rest", lettering.text && lettering.level === levelOf());
  paintWhole();
  const atOnce = screen();
  check("the same text", rested.every((value, n) => value === atOnce[n]));
  wordMilliseconds = budget;
  const parts = startLayout(5);
  while (!parts.goOn(0));
  check("a layout in parts", JSON.stringify(parts.shown) === JSON.stringify(layout(5)));
  check("a search waits for the texts", (() => {
    waiting = true;
    search("a");
    const waited = part("heading").textContent.startsWith("Reading") && state.list.length === 0;
    waiting = false;
    clearAll();
    return waited && state.list.length === documents.length;
  })());

  // A canvas that gets another size is drawn before it is shown; what watches it last sees what is shown.
  home();
  paint();
  check("drawn at once", await new Promise((resolve) => {
    const inked = () => new Set(new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size;
    const before = inked(), { width } = canvas;
    const watcher = new ResizeObserver(() => {
      if (canvas.width === width) return;
      watcher.disconnect();
      resolve((inked() > 1) === (before > 1));
    });
    watcher.observe(canvas);
    canvas.style.width = `${view.width - 60}px`;
  }));
  canvas.style.width = "";
  resize();
  home();
  paint();
  const report = {};
  for (const further of furtherChecks) Object.assign(report, await further({ check, type, press, scanned }));
  listMilliseconds = listBudget;
  return { checks, ...report, failed };
};

if (location.hash === "#selftest") {
  const show = (result) => document.body.append(element("pre", { id: "selftest", textContent: JSON.stringify(result) }));
  reading.then(selftest).then(show).catch((error) => show({ checks: 0, failed: [String(error && error.stack)] }));
}
