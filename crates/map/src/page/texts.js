// Whole texts, which the page has compressed, and the words of each document.

/** A word is a run of letters, marks and digits, in any case; so `don't` is two words that follow one another. */
const wordPattern = /[\p{L}\p{M}\p{N}]+/gu;
const folded = (text) => text.toLowerCase().normalize("NFC");
const wordsOf = (text) => folded(text).match(wordPattern) ?? [];

const unpack = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
};

/** Gives each document its whole text, where the page has it. */
const readTexts = async () => {
  let next = 0, rest = "";
  for (const packed of data.texts ?? []) {
    const texts = (rest + await unpack(packed)).split("\0");
    rest = texts.pop();
    for (const text of texts) if (text !== "") documents[next++].text = text; else next++;
    await breathe();
  }
};

/** A text in pieces of about so many letters, each but the first from a blank on, so that words and what belongs to their letters stay whole. */
const pieceLetters = 2 * partItems;
const pieceEnd = /[ \n\r\t\u3000。]/g;
const pieceOf = (text, from) => {
  pieceEnd.lastIndex = from + pieceLetters;
  return text.slice(from, pieceEnd.lastIndex < text.length ? pieceEnd.exec(text)?.index : text.length);
};

/** Words, the documents that have each, also in their titles, and the words of each document in their order, -1 between title and text. */
class Index {
  words = [];
  numbers = new Map(); // of words
  having = []; // [word][...], documents, ascending
  titled = []; // the same
  sequences = []; // [document]

  /** Adds all documents. */
  *read() {
    let read = 0;
    for (const item of documents) {
      const sequence = [];
      for (const isText of [false, true]) {
        const text = isText ? item.text ?? item.snippet : item.title;
        for (let from = 0, piece; from < text.length; from += piece.length) {
          piece = pieceOf(text, from);
          const own = wordsOf(piece);
          for (const word of own) sequence.push(this.add(word, item.id, isText));
          read += own.length;
          if (read >= partItems) {
            yield read;
            read = 0;
          }
        }
        sequence.push(-1);
        read += 1;
      }
      this.sequences.push(new Int32Array(sequence));
    }
    yield read;
    return this;
  }
  add(word, id, isText) {
    let number = this.numbers.get(word);
    if (number === undefined) {
      number = this.words.length;
      this.numbers.set(word, number);
      this.words.push(word);
      this.having.push([]);
      this.titled.push([]);
    }
    for (const list of isText ? [this.having[number]] : [this.having[number], this.titled[number]]) {
      if (list.at(-1) !== id) list.push(id);
    }
    return number;
  }
}

/** The index of what is known of the documents; that of whole texts takes the place of the first. */
let index = null;
let indexWork = null;
function* indexing() {
  indexWork ??= new Index().read();
  while (index === null) {
    const { done, value } = indexWork.next();
    if (done) index = value;
    else yield value;
  }
  return index;
}
/** The same at once. */
const indexed = () => atOnce(indexing());
/** Whether searches of many documents wait for the index, which takes long to make. */
let waiting = isMany();
const readAll = async () => {
  if (data.texts === undefined && !isMany()) return;
  try {
    await makeIndex();
  } finally {
    waiting = false;
    showSearched();
    if (part("search").value.trim() !== "") search(part("search").value);
  }
};
const makeIndex = async () => {
  await readTexts();
  const work = new Index().read();
  let step;
  while (!(step = proceed(work, performance.now() + listMilliseconds)).done) await breathe();
  index = step.value;
};
