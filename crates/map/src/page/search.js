// Documents that have words: all of them, `OR`, a minus, phrases in quotes, beginnings with an asterisk.

/** Scripts that are written without blanks, where a word is looked for anywhere within a run of letters. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** A query as alternatives, each of terms that a document must have, or must not have. */
const parse = (text) => {
  const alternatives = [[]];
  let without = false;
  const pieces = text.match(/-?"[^"]*"?|\S+/g) ?? [];
  pieces.forEach((piece, n) => {
    if (piece === "OR" || piece === "|") return void alternatives.push([]);
    if (piece === "AND") return;
    if (piece === "NOT") return void (without = true);
    const minus = piece.length > 1 && piece.startsWith("-");
    const body = minus ? piece.slice(1) : piece;
    const parts = wordsOf(body);
    if (parts.length > 0) {
      const quoted = body.startsWith('"');
      alternatives.at(-1).push({ parts, without: without || minus, open: !quoted && body.endsWith("*"),
        // Whoever is still typing has not ended the word.
        typing: !quoted && n === pieces.length - 1 && !/\s$/.test(text) });
    }
    without = false;
  });
  return alternatives.filter((terms) => terms.length > 0);
};

/** The numbers of the words that a part of a term stands for. */
function* numbersOf(part, open) {
  const { numbers, words } = indexed();
  const fits = unspaced.test(part) ? (word) => word.includes(part) : open ? (word) => word.startsWith(part) : null;
  if (fits === null) return numbers.has(part) ? [numbers.get(part)] : [];
  const found = [];
  yield* inParts(words.length, (from, to) => { for (let n = from; n < to; n++) if (fits(words[n])) found.push(n); });
  return found;
}

/** A flag of each document: 1 of those that have one of the words. Loops over flags are many times as fast as sets of ids. */
function* flagsOf(numbers, having) {
  const flags = new Uint8Array(documents.length);
  let seen = 0;
  for (const number of numbers) {
    const list = having[number];
    for (let n = 0; n < list.length; n++) {
      flags[list[n]] = 1;
      if (++seen === partItems) {
        yield seen;
        seen = 0;
      }
    }
  }
  yield seen;
  return flags;
}

/** Flags of the documents that have a term, and whether its last word was taken as a beginning. */
function* havingTerm({ parts, open, typing }) {
  const { having, sequences, words } = indexed(), numbers = [];
  for (const part of parts.slice(0, -1)) numbers.push(yield* numbersOf(part, false));
  let last = yield* numbersOf(parts.at(-1), open), begun = open;
  if (last.length === 0 && typing) [last, begun] = [yield* numbersOf(parts.at(-1), true), true];
  numbers.push(last);
  const found = yield* flagsOf(numbers[0], having);
  if (numbers.length === 1) return { found, begun };
  for (const all of numbers.slice(1)) {
    const flags = yield* flagsOf(all, having);
    yield* inParts(found.length, (from, to) => { for (let id = from; id < to; id++) found[id] &= flags[id]; });
  }
  // Mostly a part is one word, which is compared; no word has the number -2.
  const own = numbers.map((all) => (all.length === 1 ? all[0] : -2)), among = [];
  for (const all of numbers) {
    among.push(all.length === 1 ? null : new Uint8Array(words.length));
    if (all.length > 1) yield* inParts(all.length, (from, to) => { for (let n = from; n < to; n++) among.at(-1)[all[n]] = 1; });
  }
  const follows = (sequence, from, to) => {
    for (let at = from; at < to; at++) {
      let n = 0;
      while (n < own.length && (own[n] === -2 ? among[n][sequence[at + n]] === 1 : sequence[at + n] === own[n])) n++;
      if (n === own.length) return true;
    }
    return false;
  };
  let seen = 0;
  for (let id = 0; id < found.length; id++) {
    const sequence = sequences[id], end = found[id] === 1 ? sequence.length - own.length + 1 : 0;
    found[id] = 0;
    for (let from = 0, to; from < end && found[id] === 0; from = to) {
      to = Math.min(end, from + partItems - seen);
      if (follows(sequence, from, to)) found[id] = 1;
      seen += to - from;
      if (seen === partItems) {
        yield seen;
        seen = 0;
      }
    }
    if (++seen === partItems) {
      yield seen;
      seen = 0;
    }
  }
  yield seen;
  return { found, begun };
}

/** Flags of the documents that a query finds, and which words are to be marked in their texts. */
function* lookUp(text) {
  const found = new Uint8Array(documents.length), marks = [];
  for (const terms of parse(text)) {
    const all = new Uint8Array(documents.length).fill(1);
    for (const term of terms) {
      const { found: flags, begun } = yield* havingTerm(term), wanted = term.without ? 0 : 1;
      if (!term.without) marks.push(...term.parts.map((part, n) => ({ part, open: begun && n === term.parts.length - 1 })));
      yield* inParts(all.length, (from, to) => { for (let id = from; id < to; id++) if (flags[id] !== wanted) all[id] = 0; });
    }
    yield* inParts(all.length, (from, to) => { for (let id = from; id < to; id++) found[id] |= all[id]; });
  }
  return { found, marks };
}

/** Flags of the documents whose title has a word that was looked for. */
function* inTitle(marks) {
  const numbers = [];
  for (const { part, open } of marks) numbers.push(yield* numbersOf(part, open));
  return yield* flagsOf(numbers.flat(), indexed().titled);
}

/** Whether a word of a text is one of those that were looked for. */
const isMarked = (word, marks) => marks.some(({ part, open }) =>
  unspaced.test(part) ? word.includes(part) : open ? word.startsWith(part) : word === part);

/** How many letters must change to make one word of the other, up to two; three stands for more. */
const distance = (a, b) => {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    if (Math.min(...next) > 2) return 3;
    row = next;
  }
  return Math.min(3, row[b.length]);
};

/** Of a single word that no document has: the words nearest to it, the most frequent first. */
function* meant(text) {
  const parts = wordsOf(text);
  if (parts.length !== 1 || parts[0].length < 3 || unspaced.test(parts[0])) return [];
  const { words, having } = indexed(), nearest = [];
  yield* inParts(words.length, (from, to) => {
    for (let n = from; n < to; n++) {
      const away = distance(parts[0], words[n]);
      if (away > 2) continue;
      nearest.push({ word: words[n], away, documents: having[n].length });
      nearest.sort((a, b) => a.away - b.away || b.documents - a.documents || (a.word < b.word ? -1 : 1));
      nearest.length = Math.min(3, nearest.length);
    }
  }, 32);
  return nearest.map(({ word }) => word);
}

/** A text as nodes, with addresses of the web as links that name what they lead to and nothing else. */
const withLinks = (text, marks, local) => {
  const nodes = [];
  let done = 0;
  for (const match of text.matchAll(/https?:\/\/[^\s<>"'()]+/gu)) {
    const address = match[0].replace(/[.,;:!?]+$/u, "");
    nodes.push(...annotated(text.slice(done, match.index), marks, local),
      element("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...annotated(address, marks, local)));
    done = match.index + address.length;
  }
  return [...nodes, ...annotated(text.slice(done), marks, local)];
};

/** A text as nodes: words that were looked for are marked, words of a place stand out. Only text goes in, as text. */
const annotated = (text, marks, local = new Set()) => {
  const nodes = [];
  let done = 0;
  if (marks.length === 0 && local.size === 0) return [text];
  for (const match of text.matchAll(wordPattern)) {
    const word = folded(match[0]);
    const tag = isMarked(word, marks) ? "mark" : local.has(word) ? "b" : null;
    if (tag === null) continue;
    nodes.push(text.slice(done, match.index), element(tag, { textContent: match[0] }));
    done = match.index + match[0].length;
  }
  nodes.push(text.slice(done));
  return nodes;
};

/** What a list shows of a document: where it has what was looked for, else how it begins. */
function* excerpt(item, marks) {
  const text = item.text ?? item.snippet;
  if (marks.length > 0) {
    let seen = 0;
    for (const match of text.matchAll(wordPattern)) {
      if (++seen === partItems) {
        yield seen;
        seen = 0;
      }
      if (!isMarked(folded(match[0]), marks)) continue;
      const blank = text.indexOf(" ", match.index - 60) + 1;
      const start = match.index <= 60 ? 0 : blank > 0 && blank < match.index ? blank : match.index;
      const shown = text.slice(start, match.index + 140).replace(/\s+/gu, " ");
      return (start > 0 ? "…" : "") + shown + (match.index + 140 < text.length ? "…" : "");
    }
  }
  // What the title has already is not said twice.
  const title = item.title.replace(/…$/u, "");
  if (item.snippet === item.title || title === "" || !item.snippet.startsWith(title)) {
    return item.snippet === item.title ? "" : item.snippet;
  }
  const rest = item.snippet.slice(title.length).trim();
  return rest === "" || rest === "…" ? "" : `…${rest}`;
}
