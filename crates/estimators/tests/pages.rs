//! Pages of fitted grids: documents with their likeliest windows, columns, facts, and documents that are added.

use countgrid_corpus::{
    BlockLimits, BoilerplateLine, Column, ColumnValues, Corpus, DocumentInfo, LabelColumn,
};
use countgrid_counts::CsrBuf;
use countgrid_estimators::{
    EstimatorError, FeatureRows, FittedComponential, FittedGrid, GridLayout, ModelInfo, PageDocuments, Stored,
};
use countgrid_grid::{Grid, Shape};
use countgrid_map::{Document, Field, FieldKind, PageColumn, PageError};
use serde_json::json;

fn info(words: usize) -> ModelInfo {
    let mut info = ModelInfo::for_vocabulary((0..words).map(|word| format!("word{word}")).collect());
    info.title = "Words".to_owned();
    info.fit = json!({ "iterations": 7, "end": "converged", "bound_per_token": -2.5, "seed": 11 });
    info
}

/// Documents with these counts of words.
fn corpus<T: Stored>(rows: &[&[u8]]) -> Corpus<T> {
    let words = rows[0].len();
    let counts: Vec<T> = rows.concat().into_iter().map(|count| T::from_f64(count.into())).collect();
    let bags = CsrBuf::from_dense(words, &counts).unwrap();
    let mut corpus = Corpus::from_bags(bags, info(words).vocabulary, BlockLimits::in_memory()).unwrap();
    corpus.documents = (0..rows.len())
        .map(|row| DocumentInfo {
            id: format!("{}", row + 1),
            title: format!("title {row}"),
            snippet: format!("snippet {row}"),
            text: format!("text {row}"),
            tokens: rows[row].iter().copied().map(f64::from).sum(),
        })
        .collect();
    corpus.labels = LabelColumn {
        names: vec!["even".into(), "odd".into()],
        by_document: (0..rows.len() as u32).map(|row| (row != 1).then_some(row % 2)).collect(),
    };
    corpus
}

/// `[word][cell]`, positive, each cell with other words.
fn distributions(words: usize, cells: usize) -> Vec<f64> {
    let weight = |word: usize, cell: usize| 1.0 + ((word * 7 + cell * 5 + word * cell) % 13) as f64;
    let total = |cell| (0..words).map(|word| weight(word, cell)).sum::<f64>();
    (0..words * cells).map(|n| weight(n / cells, n % cells) / total(n % cells)).collect()
}

const WORDS: usize = 5;

/// Twelve windows, each of four cells.
fn grid() -> FittedGrid<f64> {
    let shape = Shape::from_sides([3, 4], [2, 2], WORDS).unwrap();
    let tables = [distributions(WORDS, 12), vec![1.0 / 12.0; 12]].concat();
    FittedGrid::from_grid(info(WORDS), &Grid::new(shape, tables).unwrap()).unwrap()
}

fn componential(extents: &[usize], window: &[usize]) -> FittedComponential<f64> {
    let cells = extents.iter().product();
    let tables = [distributions(WORDS, cells), vec![0.5; cells]].concat();
    let layout = GridLayout::new(extents.to_vec(), window.to_vec()).unwrap();
    FittedComponential::new(info(WORDS), layout, &tables, None).unwrap()
}

/// Documents of which the third has no word.
fn some() -> Corpus<f64> {
    corpus(&[&[3, 0, 1, 0, 0], &[0, 2, 0, 0, 1], &[0; 5], &[1, 1, 1, 1, 1], &[0, 0, 0, 4, 0]])
}

/// What a page should have of a document: the eight likeliest windows, of equals the first.
fn likeliest(row: &[f64]) -> Vec<(u32, f32)> {
    let mut all: Vec<(usize, f64)> = row.iter().copied().enumerate().filter(|&(_, q)| q > 0.0).collect();
    all.sort_by(|(a, p), (b, q)| q.total_cmp(p).then(a.cmp(b)));
    all.into_iter().take(8).map(|(cell, q)| (cell as u32, q as f32)).collect()
}

fn posteriors(documents: &[Document]) -> Vec<Vec<(u32, f32)>> {
    documents.iter().map(|document| document.posterior.clone()).collect()
}

fn shares(model: &FittedComponential<f64>, corpus: &Corpus<f64>) -> FeatureRows {
    let mut rows = FeatureRows::zeros(corpus.bags.len(), model.shape().cells()).unwrap();
    let keep = |bag, _, found: countgrid_estimators::BagInference<'_, f64>| {
        rows.row_mut(bag).copy_from_slice(found.shares);
    };
    model.for_each_inference(&corpus.bags, keep).unwrap();
    rows
}

#[test]
fn a_page_has_the_likeliest_windows_of_every_document() {
    let (grid, corpus) = (grid(), some());
    let pages = grid.pages(&corpus).unwrap();
    let [page] = &pages[..] else { panic!("{} pages", pages.len()) };
    let rows = grid.transform(&corpus.bags).unwrap();
    let mut expected: Vec<_> = (0..5).map(|bag| likeliest(rows.row(bag))).collect();
    assert!([0, 1, 3, 4].iter().all(|&bag: &usize| expected[bag].len() == 8));
    expected[2].clear(); // without a word it has no place
    assert_eq!(posteriors(&page.page.documents), expected);
    assert_eq!(page.documents, 5);
    let titles: Vec<_> = page.page.documents.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["title 0", "title 1", "title 2", "title 3", "title 4"]);
    assert_eq!((page.page.title.as_str(), page.page.extents, page.page.window), ("Words", [3, 4], [2, 2]));
    assert_eq!(page.page.labels, ["even", "odd"]);

    let (again, places) = grid.pages_and_places(&corpus).unwrap();
    assert_eq!((again.len(), &again[0].page, again[0].documents), (1, &page.page, 5));
    assert_eq!(places, grid.place(&corpus.bags).unwrap());
    assert_eq!(places.iter().filter(|place| place.position.is_none()).count(), 1);
}

#[test]
fn a_componential_page_has_the_windows_that_documents_draw_most_from() {
    // Fewer than eight windows, as many, and more.
    for (extents, window) in [([1, 5], [1, 2]), ([2, 4], [2, 2]), ([3, 4], [2, 2])] {
        let (model, corpus) = (componential(&extents, &window), some());
        let pages = model.pages(&corpus).unwrap();
        let [page] = &pages[..] else { panic!("{} pages", pages.len()) };
        let rows = shares(&model, &corpus);
        let expected: Vec<_> = (0..5).map(|bag| likeliest(rows.row(bag))).collect();
        let most = 8.min(extents[0] * extents[1]);
        assert!([0, 1, 3, 4].iter().all(|&bag: &usize| expected[bag].len() == most));
        assert_eq!(posteriors(&page.page.documents), expected);
        assert!(page.page.documents[2].posterior.is_empty());
        assert_eq!(page.documents, 5);

        let (again, places) = model.pages_and_places(&corpus).unwrap();
        assert_eq!((again.len(), &again[0].page), (1, &page.page));
        assert_eq!(places, model.place(&corpus.bags).unwrap());
        assert_eq!(places.len(), 5);
    }
}

#[test]
fn windows_that_a_document_draws_nothing_from_are_not_on_its_page() {
    let pi = [0.5, 0.5, 0.0, 0.5, 0.25, 0.5, 0.0, 0.25, 0.5]; // the third cell has none of the first word
    let layout = GridLayout::new(vec![3], vec![1]).unwrap();
    let tables = [&pi[..], &[0.5; 3]].concat();
    let model = FittedComponential::new(info(3), layout, &tables, None).unwrap();
    let corpus = corpus::<f64>(&[&[4, 0, 0], &[1, 1, 1]]);
    let page = model.pages(&corpus).unwrap().remove(0).page;
    assert_eq!(page.documents[0].posterior.iter().map(|&(cell, _)| cell).max(), Some(1));
    assert_eq!((page.documents[0].posterior.len(), page.documents[1].posterior.len()), (2, 3));
}

#[test]
fn documents_have_what_the_corpus_has_of_them() {
    let mut corpus = some();
    let column = |name: &str, values| Column { name: name.to_owned(), values };
    let date = "1970-01-31".parse().unwrap();
    corpus.columns = vec![
        column("size", ColumnValues::Numbers(vec![Some(1.5), None])),
        column("sent", ColumnValues::Dates(vec![Some(date), None])),
        column(
            "from",
            ColumnValues::Categories {
                names: vec!["Ghent".into(), "Lund".into()],
                of: vec![Some(1), None, Some(0)],
            },
        ),
        column("note", ColumnValues::Texts(vec!["a note".into(), String::new()])),
    ];
    let documents = PageDocuments::new(&corpus);
    let kinds = [
        ("size", FieldKind::Numbers),
        ("sent", FieldKind::Days),
        ("from", FieldKind::Categories(vec!["Ghent".into(), "Lund".into()])),
        ("note", FieldKind::Texts),
    ];
    let columns: Vec<_> =
        kinds.into_iter().map(|(name, kind)| PageColumn { name: name.to_owned(), kind }).collect();
    assert_eq!(documents.columns(), columns);
    let first = Document {
        title: "title 0".into(),
        label: Some(0),
        snippet: "snippet 0".into(),
        text: "text 0".into(),
        fields: vec![Field::Number(1.5), Field::Day(30), Field::Category(1), Field::Text("a note".into())],
        ..Document::default()
    };
    assert_eq!(documents.get(0), Some(first));
    let second = documents.get(1).unwrap();
    assert_eq!((second.label, second.fields), (None, vec![Field::Empty; 4]));
    // Columns may be shorter than the corpus.
    assert_eq!(documents.get(2).unwrap().fields[2], Field::Category(0));
    assert_eq!(documents.get(3).unwrap().fields, vec![Field::Empty; 4]);
    assert_eq!(documents.get(5), None);

    let page = grid().pages(&corpus).unwrap().remove(0).page;
    assert_eq!(page.columns, columns);
    assert_eq!(page.documents[0].fields, documents.get(0).unwrap().fields);
}

#[test]
fn ids_that_are_addresses_are_a_column() {
    let mut corpus = some();
    assert!(PageDocuments::new(&corpus).columns().is_empty());
    for address in ["https://a.example/1", "http://a.example/1"] {
        corpus.documents[3].id = address.to_owned();
        let documents = PageDocuments::new(&corpus);
        assert_eq!(documents.columns(), [PageColumn { name: "id".to_owned(), kind: FieldKind::Texts }]);
        assert_eq!(documents.get(3).unwrap().fields, [Field::Text(address.to_owned())]);
        assert_eq!(documents.get(0).unwrap().fields, [Field::Text("1".to_owned())]);
    }
    corpus.documents[1].id.clear();
    assert_eq!(PageDocuments::new(&corpus).get(1).unwrap().fields, [Field::Empty]);
    // By the name that the column has in the data.
    let columns = [("text", "body"), ("id", "address"), ("label", "topic")];
    corpus.source = Some(countgrid_io::Summary {
        path: "posts.csv".into(),
        format: countgrid_io::Format::Folder,
        gzip: false,
        files: 1,
        skipped: countgrid_io::Skipped::default(),
        left_out: Vec::new(),
        pages: 0,
        encodings: Default::default(),
        bytes: 0,
        documents: 5,
        labels: 0,
        columns: columns.map(|(role, name)| (role, name.to_owned())).to_vec(),
        paths: Vec::new(),
    });
    assert_eq!(PageDocuments::new(&corpus).columns()[0].name, "address");
    corpus.columns = vec![Column { name: "size".into(), values: ColumnValues::Numbers(vec![Some(1.0); 5]) }];
    let names: Vec<_> = PageDocuments::new(&corpus).columns().into_iter().map(|column| column.name).collect();
    assert_eq!(names, ["size", "address"]);
    assert_eq!(PageDocuments::new(&corpus).get(0).unwrap().fields[1], Field::Text("1".to_owned()));
}

#[test]
fn facts_are_those_of_the_fit_and_the_corpus() {
    let (grid, mut corpus) = (grid(), some());
    let facts = |corpus: &Corpus<f64>| grid.pages(corpus).unwrap().remove(0).page.facts;
    let fact = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let found = facts(&corpus);
    for (name, value) in [
        ("Documents", "5"),
        ("Tokens", "16"),
        ("Vocabulary", "5 words"),
        ("Grid", "3x4"),
        ("Window", "2x2"),
        ("Iterations", "7 (converged)"),
        ("Bound per token", "-2.5000 nats"),
        ("Seed", "11"),
    ] {
        assert!(found.contains(&fact(name, value)), "{name}: {found:?}");
    }
    let model = fact("Model", &grid.to_file().checksum().unwrap());
    assert_eq!(found.last(), Some(&model));
    assert!(found.iter().all(|(name, _)| name != "Left out"));
    let line = BoilerplateLine { words: "sent from".into(), source: "posts".into(), with: 12, documents: 12 };
    for (lines, said) in [
        (1, "1 line that most documents of a source have"),
        (2, "2 lines that most documents of a source have"),
        (1_200, "1,200 lines that most documents of a source have"),
    ] {
        corpus.boilerplate = vec![line.clone(); lines];
        assert_eq!(facts(&corpus)[found.len() - 1..], [fact("Left out", said), model.clone()]);
    }
}

/// Two layers of two cells, with a word of each layer, one of nearly all cells, and one that fills them up.
fn layers<T: Stored>() -> FittedGrid<T> {
    let pi = [[0.5, 0.1, 0.05, 0.05], [0.05, 0.1, 0.1, 0.5], [0.4, 0.01, 0.3, 0.3], [0.05, 0.79, 0.55, 0.15]];
    let tables: Vec<T> = pi.concat().into_iter().chain([0.25; 4]).map(T::from_f64).collect();
    let shape = Shape::from_sides([2, 1, 2], [1, 1, 1], 4).unwrap();
    FittedGrid::from_grid(info(4), &Grid::new(shape, tables).unwrap()).unwrap()
}

#[test]
fn a_document_is_on_the_layer_that_has_most_of_it() {
    fn check<T: Stored>() {
        // Of the third, the likeliest window is on the first layer, and most of it on the second.
        let corpus = corpus::<T>(&[&[3, 0, 0, 0], &[0, 3, 0, 0], &[0, 0, 1, 0], &[0; 4], &[0, 2, 0, 0]]);
        let grid = layers::<T>();
        assert_eq!(grid.place(&corpus.bags).unwrap()[2].position.as_ref().unwrap().window, [0, 0, 0]);
        let pages = grid.pages(&corpus).unwrap();
        let titles = |layer: usize| -> Vec<&str> {
            pages[layer].page.documents.iter().map(|document| document.title.as_str()).collect()
        };
        assert_eq!(pages.len(), 2);
        assert_eq!(titles(0), ["title 0", "title 3"]);
        assert_eq!(titles(1), ["title 1", "title 2", "title 4"]);
        assert_eq!((pages[0].documents, pages[1].documents), (2, 3));
        assert_eq!(pages[1].page.title, "Words, layer 2 of 2");
        // Cells are those of the layer.
        assert_eq!(pages[0].page.documents[0].posterior[0].0, 0);
        assert_eq!(pages[1].page.documents[0].posterior[0].0, 1);
        let windows: Vec<_> = pages[1].page.documents[1].posterior.iter().map(|&(cell, _)| cell).collect();
        assert_eq!(windows, [0, 1]);

        let mut page = pages[0].page.clone();
        let refused = grid.add_to_page(&mut page, &corpus, "new").unwrap_err();
        assert!(
            matches!(refused, EstimatorError::Page(PageError::Layers { limit: 1, found: 2 })),
            "{refused}"
        );
        assert_eq!(page, pages[0].page);
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn documents_are_added_to_the_page_of_their_model() {
    // Three tokens of which two are known, and one that is not.
    let mut new = corpus::<f64>(&[&[1, 1, 0, 0, 0], &[0; 5], &[0; 5]]);
    (new.documents[0].tokens, new.documents[1].tokens) = (3.0, 1.0);
    let (grid, model, old) = (grid(), componential(&[3, 4], &[2, 2]), some());
    let known = ("Known".to_owned(), "50.0 % of the words of new are words of the map".to_owned());

    let mut page = grid.pages(&old).unwrap().remove(0).page;
    let before = page.clone();
    let added = grid.add_to_page(&mut page, &new, "new").unwrap();
    assert_eq!((added.documents, added.placed, added.known_share), (3, 1, 0.5));
    assert_eq!((page.documents.len(), page.added), (8, Some(5)));
    assert_eq!(page.facts.last(), Some(&known));
    let rows = grid.transform(&new.bags).unwrap();
    assert_eq!(posteriors(&page.documents[5..]), [likeliest(rows.row(0)), Vec::new(), Vec::new()]);
    assert_eq!(posteriors(&page.documents[..5]), posteriors(&before.documents));
    assert_eq!((&page.words, &page.regions), (&before.words, &before.regions));

    let mut other = model.pages(&old).unwrap().remove(0).page;
    let added = model.add_to_page(&mut other, &new, "new").unwrap();
    assert_eq!((added.documents, added.placed, added.known_share), (3, 1, 0.5));
    assert_eq!((other.documents.len(), other.added), (8, Some(5)));
    assert_eq!(other.facts.last(), Some(&known));
    assert_eq!(
        posteriors(&other.documents[5..]),
        [likeliest(shares(&model, &new).row(0)), Vec::new(), Vec::new()]
    );

    // A page is that of one model.
    let refused = grid.add_to_page(&mut other, &new, "new").unwrap_err();
    assert!(matches!(refused, EstimatorError::OtherModel), "{refused}");
    assert!(matches!(model.add_to_page(&mut page, &new, "new"), Err(EstimatorError::OtherModel)));

    // Documents without any word have no share of known ones.
    new.documents.iter_mut().for_each(|document| document.tokens = 0.0);
    let added = grid.add_to_page(&mut page, &new, "empty").unwrap();
    assert_eq!((added.documents, added.known_share, page.added), (3, 0.0, Some(8)));
}
