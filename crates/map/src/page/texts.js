// Whole texts, which the page has compressed, and the words of each document.

/** A word is a run of letters, marks and digits, in any case; so `don't` is two words that follow one another. */
const wordPattern = /[\p{L}\p{M}\p{N}]+/gu;
const folded = (text) => text.toLowerCase().normalize("NFC");
const wordsOf = (text) => folded(text).match(wordPattern) ?? [];

/** Lets the page answer before going on. */
const breathe = () => new Promise((resolve) => setTimeout(resolve));

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

/** Numbers of words, the documents that have each, also in their titles, and the words of each document in their order, -1 between title and text. */
class Index {
  numbers = new Map();
  having = []; // [word][...], documents, ascending
  titled = []; // the same
  sequences = []; // [document]

  add(item) {
    const sequence = [];
    [item.title, item.text ?? item.snippet].forEach((text, isText) => {
      for (const word of wordsOf(text)) {
        let number = this.numbers.get(word);
        if (number === undefined) {
          number = this.having.length;
          this.numbers.set(word, number);
          this.having.push([]);
          this.titled.push([]);
        }
        for (const list of isText ? [this.having[number]] : [this.having[number], this.titled[number]]) {
          if (list.at(-1) !== item.id) list.push(item.id);
        }
        sequence.push(number);
      }
      sequence.push(-1);
    });
    this.sequences.push(Int32Array.from(sequence));
  }
}

/** The index of what is known of the documents; that of whole texts is made in pieces, and takes the place of the first. */
let index = null;
const indexed = () => {
  if (index === null) {
    index = new Index();
    documents.forEach((item) => index.add(item));
  }
  return index;
};
/** Whether searches of many documents wait for the index, which would take longer than a frame to make at once. */
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
  const whole = new Index();
  let since = performance.now();
  for (const item of documents) {
    whole.add(item);
    if (performance.now() - since > 8) {
      await breathe();
      since = performance.now();
    }
  }
  index = whole;
};
