//! Sequences of every format: what comes out, and what is refused.

use crate::common;

use common::{folder, gzip};
use countgrid_io::{
    Alphabet, AlphabetError, Columns, Limits, Problem, SequenceFormat, SequenceOptions, SequenceSet, Table,
    read_sequences, read_sequences_from,
};

fn read(name: &str, bytes: &[u8], options: &SequenceOptions) -> Result<SequenceSet, String> {
    let folder = folder(&[(name, bytes)]);
    let folder_prefix = format!("{}/", folder.path().display());
    read_sequences(folder.path().join(name), options)
        .map_err(|error| error.to_string().replace(&folder_prefix, "~/"))
}

/// Numbers of symbols, one sequence after the other.
fn entries(set: &SequenceSet) -> Vec<u16> {
    set.sequences.clone().into_parts().2
}

fn texts(set: &SequenceSet) -> Vec<String> {
    let view = set.sequences.as_view();
    let text = |t| {
        let own = view.get(t).unwrap().entries();
        own.iter().map(|&entry| set.alphabet.symbols()[usize::from(entry)]).collect()
    };
    (0..view.len()).map(text).collect()
}

#[test]
fn one_set_in_every_format() {
    let options = SequenceOptions::default();
    let fasta = b">one of two\nTAC\nta\n\n; a comment\n>two\r\ng t t\r\n";
    let csv = b"class,name,sequence\n+,one,TACta\n-,two,gtt\n";
    for (name, bytes) in [
        ("a.fasta", fasta.to_vec()),
        ("a.fa.gz", gzip(fasta)),
        ("a", fasta.to_vec()),
        ("a.csv", csv.to_vec()),
        ("b", csv.to_vec()),
        ("a.tsv", String::from_utf8_lossy(csv).replace(',', "\t").into_bytes()),
        ("c", b"tacta\n\ngtt".to_vec()),
    ] {
        let set = read(name, &bytes, &options).unwrap();
        assert_eq!(set.alphabet.to_string(), "acgt", "{name}");
        assert_eq!(texts(&set), ["tacta", "gtt"], "{name}");
        let labelled = name.ends_with("sv") || name == "b";
        assert_eq!(set.labels[0].as_deref(), labelled.then_some("+"), "{name}");
        // Only FASTA names them here.
        let ids = if labelled || name == "c" { ["1", "2"] } else { ["one", "two"] };
        assert_eq!(set.ids, ids, "{name}");
    }
}

#[test]
fn alphabets_are_stated_or_inferred() {
    let stated = |symbols| SequenceOptions {
        alphabet: Some(Alphabet::new(symbols).unwrap()),
        ..SequenceOptions::default()
    };
    let set = read("a.txt", b"gattaca\n", &stated("TGCA")).unwrap();
    assert_eq!((entries(&set), set.alphabet.len()), (vec![1, 3, 0, 0, 3, 2, 3], 4));
    assert_eq!(
        read("a.txt", b"gatt\nga-ta\n", &stated("acgt")).unwrap_err(),
        "~/a.txt, line 2: `-` at position 3 of the sequence is not in the alphabet `acgt`\nremedy: mend the sequence, or \
         name an alphabet that has this symbol"
    );
    let case = SequenceOptions { distinguish_case: true, ..SequenceOptions::default() };
    assert_eq!(read("a.txt", b"aA b\n", &case).unwrap().alphabet.symbols(), ['A', 'a', 'b']);
    assert_eq!(entries(&read("a.txt", b"aA\n", &stated("aA")).unwrap()), [0, 1]);
    let greek = read("a.txt", "βαβ\n".as_bytes(), &SequenceOptions::default()).unwrap();
    assert_eq!((greek.alphabet.to_string().as_str(), entries(&greek)), ("αβ", vec![1, 0, 1]));
    assert_eq!(Alphabet::new(""), Err(AlphabetError::Empty));
    assert_eq!(Alphabet::new("aba"), Err(AlphabetError::Repeated('a')));
    assert_eq!(Alphabet::new("a b"), Err(AlphabetError::Blank));
    let many: String = ('\0'..).filter(|symbol| !symbol.is_whitespace()).take(65_537).collect();
    assert_eq!(Alphabet::new(&many), Err(AlphabetError::TooMany));
    assert!(read("a.txt", many.as_bytes(), &case).unwrap_err().contains("more than 65536 different symbols"));
}

#[test]
fn refusals_name_the_line() {
    let options = SequenceOptions::default();
    let fasta = SequenceOptions { format: Some(SequenceFormat::Fasta), ..SequenceOptions::default() };
    assert_eq!(
        read("a.fa", b"acgt\n>a\n", &fasta).unwrap_err(),
        "~/a.fa, line 1: a line that begins with `>` is expected before the first sequence\nremedy: put one there, such as \
         `>name`; or, if each line is a sequence, say so"
    );
    assert_eq!(
        read("a.fa", b">a\nac\n>b\n>c\nac\n", &options).unwrap_err(),
        "~/a.fa, line 3: a sequence without a symbol\nremedy: remove the record, or mend it"
    );
    assert!(read("a.fa", b"", &options).unwrap_err().starts_with("~/a.fa: empty"));
    assert!(
        read("a.csv", b"class,name\n+,x\n", &options)
            .unwrap_err()
            .contains("no column is known to hold text")
    );
    let columns = Columns { text: Some("name".into()), ..Columns::default() };
    let named = SequenceOptions { columns, ..SequenceOptions::default() };
    assert_eq!(texts(&read("a.csv", b"class,name\n+,xyx\n", &named).unwrap()), ["xyx"]);
    let limits = Limits { record_bytes: 8, total_bytes: 1 << 20 };
    let short = SequenceOptions { limits, ..SequenceOptions::default() };
    assert!(read("a.fa", b">a\nacgtacgt\nacgtacgt\n", &short).is_ok()); // a record may have many lines
    let refused = read_sequences_from(&b"acgtacgta\n"[..], "a", SequenceFormat::Lines, &short).unwrap_err();
    assert!(matches!(refused.problem(), Problem::TooLong { limit: 8 }) && refused.line() == Some(1));
    assert_eq!(SequenceFormat::Table(Table::Semicolon).to_string(), "CSV with semicolons");
}

#[test]
fn shared_data_are_read_whole() {
    let data = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for (name, symbols, label, sequences, length) in [
        ("promoters/promoters.csv", "acgt", "+", 106, Some(57)),
        ("splice/splice.csv", "acdgnst", "EI", 2223, Some(60)),
        ("hs3d_donor/hs3d_donor.csv", "acgt", "exon", 4020, Some(70)),
    ] {
        let path = data.join(name);
        if !path.is_file() {
            eprintln!("SKIPPED, no {}", path.display());
            continue;
        }
        let set = read_sequences(&path, &SequenceOptions::default()).unwrap();
        assert_eq!((set.ids.len(), set.alphabet.to_string().as_str()), (sequences, symbols));
        assert_eq!(set.labels[0].as_deref(), Some(label));
        let view = set.sequences.as_view();
        assert!((0..view.len()).all(|t| view.get(t).map(|sequence| sequence.entries().len()) == length));
    }
}

#[test]
fn a_name_says_that_a_file_is_a_table() {
    // A column alone, as no other file of lines begins.
    for name in ["a.csv", "a.tsv"] {
        let set = read(name, b"sequence\ntac\ngtt\n", &SequenceOptions::default()).unwrap();
        assert_eq!(texts(&set), ["tac", "gtt"], "{name}");
    }
    // And a text before a tab or a comma is one of the table's.
    let set = read(
        "b.tsv",
        b"sequence;x\tname\ntac\tone\n",
        &SequenceOptions {
            columns: Columns { text: Some("sequence;x".to_owned()), ..Columns::default() },
            ..SequenceOptions::default()
        },
    );
    assert_eq!(texts(&set.unwrap()), ["tac"]);
}

#[test]
fn what_has_no_name_is_called_by_its_number() {
    let set = read("a.fasta", b">\ntac\n>two\ngtt\n> \nta\n", &SequenceOptions::default()).unwrap();
    assert_eq!(set.ids, ["1", "two", "3"]);
}

#[test]
fn rows_of_a_table_are_no_longer_than_the_limit() {
    let table = b"sequence,name\ntactactac,one\n";
    let options = |record_bytes| SequenceOptions {
        limits: Limits { record_bytes, ..Limits::default() },
        ..SequenceOptions::default()
    };
    assert!(read("a.csv", table, &options(13)).is_ok());
    let said = read("a.csv", table, &options(12)).unwrap_err();
    assert!(said.contains("longer than 12 bytes"), "{said}");
}
