// Work that would take longer than a frame, in parts: a generator that stops after every so many documents, words or tokens. It goes on for
// a few milliseconds at a time, so that the page answers in between, and is dropped where what it was for is no longer asked.

/** Items of a part, after which the clock is looked at. */
const partItems = 256;

/** A part that ends with something to be seen, which is to be drawn before the next. */
const afterFrame = "frame";

/** Goes on with work until a time, by a part at least, or until a frame is to be drawn; the step that was last. */
const proceed = (work, until) => {
  let step;
  do step = work.next(); while (!step.done && (step.value !== afterFrame || until === Infinity) && performance.now() < until);
  return step;
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
