// Work that would take longer than a frame, in parts: a generator that stops after every so many documents, words or tokens. It goes on for
// a few milliseconds at a time, so that the page answers in between, and is dropped where what it was for is no longer asked.

/** Items of a part, after which the clock is looked at. */
const partItems = 256;

/** Goes on with work until a time, by a part at least; the last step once there is no more, else null. */
const proceed = (work, until) => {
  do {
    const step = work.next();
    if (step.done) return step;
  } while (performance.now() < until);
  return null;
};
/** What work comes to, however long it takes. */
const atOnce = (work) => proceed(work, Infinity).value;

/** Calls `act(from, to)` for the numbers below a length, so many at a time; parts say how many items they had. */
function* inParts(length, act, most = partItems) {
  for (let from = 0; from < length; from += most) {
    const to = Math.min(length, from + most);
    act(from, to);
    yield to - from;
  }
}

/** Lets the page answer before going on. */
const breathe = () => new Promise((resolve) => setTimeout(resolve));
