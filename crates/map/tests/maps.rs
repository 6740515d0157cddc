//! Pages of grids and of points: what is where on them, worked out cell by cell.

use countgrid_map::{
    Document, DocumentPosterior, FEW_DOCUMENTS, GridFacts, GridMap, MAX_DOCUMENTS, PageError, PointMap,
    Space, characteristic_words, regions,
};

const WORDS: [&str; 5] = ["river", "stone", "tide", "moon", "bird"];

fn titled(number: usize) -> Document {
    Document { title: format!("document {number}"), ..Document::default() }
}

fn facts(tokens: f64) -> GridFacts<'static> {
    GridFacts {
        tokens,
        grid: "5x7",
        window: "2x3",
        iterations: Some((12, "converged")),
        bound_per_token: Some(-6.54321),
        seed: Some(3),
    }
}

/// `[feature][cell]`, each cell of one or two words.
fn pi(cells: usize) -> Vec<f32> {
    let mut pi = vec![0.02; WORDS.len() * cells];
    for cell in 0..cells {
        pi[cell * 3 / cells * cells + cell] += 0.6;
        pi[cell * 7 % WORDS.len() * cells + cell] += 0.3;
    }
    pi
}

#[test]
fn regions_of_a_grid_are_those_of_windows_by_their_middles() {
    let mut named = 0;
    for (extents, window, number) in [
        ([5, 7], [2, 3], 40),
        ([6, 4], [3, 2], 33),
        ([1, 9], [1, 4], 21),
        ([4, 4], [1, 1], 35),
        ([4, 5], [4, 5], 30),
    ] {
        let [rows, columns] = extents;
        let cells = rows * columns;
        let pi = pi(cells);
        let mut map = GridMap::new(&extents, &window).unwrap();
        let middle = |start: usize| {
            let (row, column) = (start / columns + window[0] / 2, start % columns + window[1] / 2);
            row % rows * columns + column % columns
        };
        let mut centred = vec![0.0; cells];
        for n in 0..number {
            let best = [(n * 5 % cells, 0.75), (n * n % cells, 0.25)];
            map.push(titled(n), DocumentPosterior { best: &best, layers: &[] });
            best.into_iter().for_each(|(start, q)| centred[middle(start)] += q);
        }
        let mut shares = vec![0.0; pi.len()];
        for (feature, row) in pi.chunks_exact(cells).enumerate() {
            for start in 0..cells {
                let mut sum = 0.0;
                for (down, across) in (0..window[0]).flat_map(|a| (0..window[1]).map(move |b| (a, b))) {
                    let (row_of, column) =
                        ((start / columns + down) % rows, (start % columns + across) % columns);
                    sum += f64::from(row[row_of * columns + column]);
                }
                shares[feature * cells + middle(start)] = (sum / (window[0] * window[1]) as f64) as f32;
            }
        }
        let tokens = 60.0 * number as f64;
        let expected = regions(&shares, extents, Space::Torus, &WORDS, &centred, tokens).unwrap();
        let pages = map.pages("Rivers", &pi, &WORDS, &["a".to_owned()], &facts(tokens)).unwrap();
        let [page] = &pages[..] else { panic!("{} pages", pages.len()) };
        assert_eq!(page.regions, expected, "{extents:?} {window:?}");
        named += page.regions[0].regions.iter().filter(|region| !region.words.is_empty()).count();
        assert_eq!((&page.title[..], page.extents, page.window), ("Rivers", extents, window));
        let titles: Vec<&str> = page.documents.iter().map(|document| document.title.as_str()).collect();
        assert_eq!(titles, (0..number).map(|n| titled(n).title).collect::<Vec<_>>());
        assert_eq!((page.sampled_from, page.added, &page.labels[..]), (None, None, &["a".to_owned()][..]));
        assert_eq!(page.check(), Ok(()));
    }
    assert!(named > 5, "{named}");
}

#[test]
fn a_page_says_what_was_fitted() {
    for number in [FEW_DOCUMENTS - 1, FEW_DOCUMENTS] {
        let mut map = GridMap::new(&[1, 2], &[1, 1]).unwrap();
        (0..number)
            .for_each(|n| map.push(titled(n), DocumentPosterior { best: &[(n % 2, 1.0)], layers: &[] }));
        let page = map
            .pages("Sky", &[0.9, 0.1, 0.1, 0.9], &["sun", "moon"], &[], &facts(12_345.4))
            .unwrap()
            .remove(0);
        let fact =
            |name: &str| page.facts.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str());
        assert_eq!(fact("Documents"), Some(number.to_string().as_str()));
        assert_eq!(fact("These documents are").is_some(), number < FEW_DOCUMENTS);
        for (name, value) in [
            ("Tokens", "12,345"),
            ("Vocabulary", "2 words"),
            ("Grid", "5x7"),
            ("Window", "2x3"),
            ("Iterations", "12 (converged)"),
            ("Bound per token", "-6.5432 nats"),
            ("Seed", "3"),
        ] {
            assert_eq!(fact(name), Some(value));
        }
        assert!(fact("Made by").unwrap().starts_with("countgrid "));
    }
}

/// Two layers of three cells: each has the words, documents and regions of its own, with cells from its first one.
#[test]
fn a_layer_has_what_is_on_it() {
    let mut map = GridMap::new(&[2, 1, 3], &[1, 1, 1]).unwrap();
    for n in 0..30 {
        let (cell, layers) = if n % 3 == 0 { (1, [0.9, 0.1]) } else { (3 + 2 * (n % 2), [0.2, 0.8]) };
        map.push(titled(n), DocumentPosterior { best: &[(cell, 0.9)], layers: &layers });
    }
    assert_eq!((map.documents(0).len(), map.documents(1).len(), map.documents(2).len()), (10, 20, 0));
    assert_eq!(map.documents(1)[1], Document { posterior: vec![(0, 0.9)], ..titled(2) });
    assert_eq!((map.planes().layer_of(2), map.planes().layer_of(3)), (0, 1));
    // Cells 0, 2 and 4 have no documents.
    let pi: Vec<f32> = [
        [0.2, 0.9, 0.2, 0.05, 0.2, 0.05], // river
        [0.2, 0.05, 0.2, 0.9, 0.2, 0.05], // stone
        [0.2, 0.05, 0.2, 0.05, 0.2, 0.9], // moon
        [0.4, 0.0, 0.4, 0.0, 0.4, 0.0],
    ]
    .concat();
    let words = ["river", "stone", "moon", "none"];
    let pages = map.pages("Layers", &pi, &words, &[], &facts(3000.0)).unwrap();
    let drawn = |n: usize| -> Vec<(&str, u32)> {
        pages[n].words.iter().map(|word| (word.text.as_str(), word.cell)).collect()
    };
    assert_eq!((drawn(0), drawn(1)), (vec![("river", 1)], vec![("stone", 0), ("moon", 2)]));
    for (n, own) in [(0, "10 of 30"), (1, "20 of 30")] {
        let page = &pages[n];
        assert_eq!(page.title, format!("Layers, layer {} of 2", n + 1));
        assert_eq!((page.extents, page.window, page.sampled_from), ([1, 3], [1, 1], None));
        assert_eq!(page.facts[0], ("Documents".to_owned(), own.to_owned()));
        let shares: Vec<f32> = pi.chunks_exact(6).flat_map(|row| row[3 * n..3 * n + 3].to_vec()).collect();
        let mass = [[0.0, 9.0, 0.0], [9.0, 0.0, 9.0]][n];
        let tokens = [1000.0, 2000.0][n];
        assert_eq!(page.regions, regions(&shares, [1, 3], Space::Torus, &words, &mass, tokens).unwrap());
        assert_eq!(page.regions[0].regions.len(), 1);
    }
}

/// Names of a layer rest on its share of the tokens: with all of them more words would stand out.
#[test]
fn a_layer_has_its_share_of_the_tokens() {
    let mut map = GridMap::new(&[2, 1, 4], &[1, 1, 1]).unwrap();
    for n in 0..40 {
        let (cell, layers) = if n < 4 { (n, [1.0, 0.0]) } else { (4 + n % 4, [0.0, 1.0]) };
        map.push(titled(n), DocumentPosterior { best: &[(cell, 1.0)], layers: &layers });
    }
    let half = [[0.6, 0.6, 0.4, 0.4], [0.4, 0.4, 0.6, 0.6]];
    let pi: Vec<f32> = half.iter().flat_map(|row| row.repeat(2)).collect();
    let words = ["river", "stone"];
    let tokens = 400.0;
    let pages = map.pages("Layers", &pi, &words, &[], &facts(tokens)).unwrap();
    let expected = |documents: f64, tokens: f64| {
        regions(&half.concat(), [1, 4], Space::Torus, &words, &[documents / 4.0; 4], tokens).unwrap()
    };
    for (page, documents) in pages.iter().zip([4.0, 36.0]) {
        assert_eq!(page.regions, expected(documents, tokens * documents / 40.0));
    }
    assert_ne!(expected(4.0, tokens * 4.0 / 40.0), expected(4.0, tokens));
}

/// More documents than a page lists are left out evenly, each layer has its share, and the regions are those of all.
#[test]
fn documents_beyond_the_most_are_left_out_evenly() {
    let most = MAX_DOCUMENTS / 2;
    for more in [0, 1] {
        let mut map = GridMap::new(&[2, 1, 2], &[1, 1, 1]).unwrap();
        for n in 0..most + more {
            let document = Document { label: Some((n % 2) as u32), ..Document::default() };
            map.push(document, DocumentPosterior { best: &[(n % 2, 1.0)], layers: &[1.0, 0.0] });
        }
        for cell in [2, 3, 3] {
            map.push(titled(cell), DocumentPosterior { best: &[(cell, 1.0)], layers: &[0.0, 1.0] });
        }
        let pi = [[0.9, 0.1, 0.1, 0.1], [0.1, 0.9, 0.9, 0.9]].concat();
        let labels = ["even".to_owned(), "odd".to_owned()];
        let pages = map.pages("Many", &pi, &["sun", "moon"], &labels, &facts(1e7)).unwrap();
        assert_eq!((pages[0].documents.len(), pages[1].documents.len()), (most, 3));
        assert_eq!((pages[0].sampled_from, pages[1].sampled_from), ((more > 0).then_some(most + 1), None));
        let listed = ["50,000 of 50,003", "50,001 of 50,004, of which 50,000 are listed"][more];
        assert_eq!(pages[0].facts[0].1, listed);
        assert_eq!(pages[1].facts[0].1, ["3 of 50,003", "3 of 50,004"][more]);
        assert_eq!(pages[0].labels, labels);
        assert_eq!(pages[0].regions[0].of_cell, [0, 0]);
    }
}

/// Of one layer of two cells, which are one region, and of points in four cells: no more documents than a page lists.
#[test]
fn points_are_drawn_where_they_are_and_listed_where_they_are_likely() {
    let place = |row: f32, column: f32| Some([row, column]);
    let mut map = PointMap::new([2, 5], Space::Plane);
    let mut mass = [0.0; 10];
    for n in 0..24 {
        let mut cells = [0.0; 10];
        cells[n % 10] = 0.5;
        cells[(n + 3) % 10] = 0.3;
        cells[(n * 3 + 1) % 10] += 0.2;
        mass.iter_mut().zip(cells).for_each(|(sum, q)| *sum += q);
        map.push(titled(n), &cells, place(0.5, n as f32 / 6.0));
    }
    // More cells than a page keeps, of equals the first; a rounding above 1; and one without a place.
    let wide = [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.15];
    map.push(titled(24), &wide, place(1.0, 1.0));
    let mut above = [0.0; 10];
    above[7] = 1.0 + 1e-6;
    map.push(titled(25), &above, place(2.0, 5.0));
    map.push(titled(26), &[0.1; 10], None);
    for other in [wide, above] {
        mass.iter_mut().zip(other).for_each(|(sum, q)| *sum += q);
    }
    let shares = pi(10);
    let tokens = mass.map(|mass| 100.0 * mass); // of a text of some length
    let columns = vec![("name".to_owned(), "value".to_owned())];
    let relief = vec![0.5; 10];
    let labels = ["x".to_owned()];
    let page = map.page("Points", &shares, &WORDS, &labels, relief.clone(), columns.clone()).unwrap();
    assert_eq!(page.words, characteristic_words(&shares, 10, &WORDS, &tokens, 6).unwrap());
    assert!(page.words.len() > 5);
    let expected = regions(&shares, [2, 5], Space::Plane, &WORDS, &mass, tokens.iter().sum()).unwrap();
    assert_eq!(page.regions, expected);
    assert_eq!(
        (page.title.as_str(), page.extents, page.window, page.space),
        ("Points", [2, 5], [1, 1], Space::Plane)
    );
    assert_eq!((page.relief, page.facts, &page.labels[..]), (relief, columns, &labels[..]));
    assert_eq!((page.documents.len(), page.sampled_from), (27, None));
    let first = &page.documents[2];
    assert_eq!((first.title.as_str(), first.place), ("document 2", place(0.5, 2.0 / 6.0)));
    assert_eq!(first.posterior, [(2, 0.5), (5, 0.3), (7, 0.2)]);
    let tenth = 0.1_f32;
    let kept: Vec<(u32, f32)> = [(9, 0.15)].into_iter().chain((0..7).map(|cell| (cell, tenth))).collect();
    assert_eq!(page.documents[24].posterior, kept);
    assert_eq!(
        (&page.documents[25].posterior[..], page.documents[25].place),
        (&[(7, 1.0)][..], place(2.0, 5.0))
    );
    assert_eq!((&page.documents[26].posterior[..], page.documents[26].place), (&[][..], None));
}

#[test]
fn points_beyond_the_most_are_left_out_evenly() {
    for number in [MAX_DOCUMENTS, MAX_DOCUMENTS + 1] {
        let mut map = PointMap::new([1, 2], Space::Torus);
        (0..number).for_each(|n| {
            let mut cells = [0.0; 2];
            cells[n % 2] = 1.0;
            map.push(Document::default(), &cells, Some([0.5, 0.5]));
        });
        let page =
            map.page("Many", &[0.9, 0.1, 0.1, 0.9], &["sun", "moon"], &[], Vec::new(), Vec::new()).unwrap();
        assert_eq!(page.documents.len(), MAX_DOCUMENTS);
        assert_eq!(page.sampled_from, (number > MAX_DOCUMENTS).then_some(number));
    }
    let refused = PointMap::new([1, 2], Space::Torus).page("", &[0.5], &["sun"], &[], Vec::new(), Vec::new());
    assert_eq!(refused, Err(PageError::Length { table: "pi", expected: 2, found: 1 }));
}
