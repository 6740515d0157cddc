//! Sequences of symbols: what is refused, and views.

use countgrid_counts::{Bag, Length, Sequence, Sequences, SequencesBuf, SequencesError, Symbol};
use proptest::prelude::*;

#[test]
fn bad_parts_are_refused() {
    let new = |offsets: &[usize], entries: &[u16]| Sequences::new(3, offsets, entries).map(|s| s.len());
    assert_eq!(new(&[], &[]), Err(SequencesError::NoOffsets));
    assert_eq!(new(&[0], &[]), Ok(0));
    assert_eq!(new(&[1, 2], &[0, 1]), Err(SequencesError::FirstOffset { found: 1 }));
    assert_eq!(new(&[0, 1], &[0, 1]), Err(SequencesError::LastOffset { expected: 2, found: 1 }));
    assert_eq!(new(&[0, 1, 1, 2], &[0, 1]), Err(SequencesError::Empty { sequence: 1 }));
    assert_eq!(new(&[0, 9, 2], &[0, 1]), Err(SequencesError::Empty { sequence: 1 })); // falls
    let symbol = SequencesError::Symbol { sequence: 1, position: 1, symbol: 3, symbols: 3 };
    assert_eq!(new(&[0, 1, 3], &[0, 1, 3]), Err(symbol));
    assert_eq!(Sequence::<u8>::new(3, &[]).unwrap_err(), SequencesError::Empty { sequence: 0 });
    assert_eq!(
        Sequences::new(0, &[0, 1], &[0u8]).map(|s| s.len()),
        Err(SequencesError::Symbol { sequence: 0, position: 0, symbol: 0, symbols: 0 })
    );
    assert!(SequencesBuf::from_parts(2, vec![0, 0], Vec::<u8>::new()).is_err());
}

#[test]
fn symbols_convert_where_they_fit() {
    assert_eq!((u8::try_index(255), u8::try_index(256)), (Some(255), None));
    assert_eq!((u16::try_index(65_536), u32::try_index(65_536)), (None, Some(65_536)));
    assert_eq!(usize::try_index(usize::MAX).map(Symbol::index), Some(usize::MAX));
    assert_eq!((7_u8.index(), 300_u16.index(), 70_000_u32.index()), (7, 300, 70_000));
}

#[test]
fn views_say_their_alphabet_and_whether_they_hold_anything() {
    let all = Sequences::new(4, &[0, 2, 3], &[0_u8, 3, 1]).unwrap();
    let none = all.slice(1..1).unwrap();
    assert_eq!((all.symbols(), all.len(), all.is_empty()), (4, 2, false));
    assert_eq!((none.symbols(), none.len(), none.is_empty()), (4, 0, true));
    assert!(all.iter().all(|sequence| sequence.symbols() == 4));
}

/// Tokens of a bag, symbols of a sequence, also by reference.
#[test]
fn lengths() {
    fn length<D: Length>(datum: D) -> f64 {
        datum.length()
    }
    let bag = Bag::new(9, &[2, 7], &[1.5, 3.0]).unwrap();
    let sequence = Sequence::new(2, &[0_u8, 1, 1]).unwrap();
    assert_eq!((length(bag), length::<&Bag<'_, f64>>(&bag)), (4.5, 4.5));
    assert_eq!((length(sequence), length::<&Sequence<'_, u8>>(&sequence)), (3.0, 3.0));
    assert_eq!(length(Bag::<u8>::new(9, &[], &[]).unwrap()), 0.0);
}

/// A sequence that is refused is named by its place, in the error and in its text, and leaves what was there.
#[test]
fn a_refused_sequence_is_named() {
    let mut sequences = SequencesBuf::new(4);
    sequences.push([0_u8, 3]).unwrap();
    sequences.push([1]).unwrap();
    let before = sequences.clone();
    assert_eq!(sequences.push([]), Err(SequencesError::Empty { sequence: 2 }));
    let error = sequences.push([0, 4]).unwrap_err();
    assert_eq!(error, SequencesError::Symbol { sequence: 2, position: 1, symbol: 4, symbols: 4 });
    assert_eq!(error.to_string(), "sequence 2 has symbol 4 at position 1, needs to be below 4");
    assert_eq!(sequences, before);
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(all in prop::collection::vec(prop::collection::vec(0u8..5, 1..9), 0..9), cut in any::<prop::sample::Index>()) {
        let mut buf = SequencesBuf::new(5);
        all.iter().for_each(|x| buf.push(x.iter().copied()).unwrap());
        prop_assert!(buf.push([5]).is_err() && buf.push([]).is_err());
        let view = buf.as_view();
        prop_assert_eq!(view.len(), all.len());
        prop_assert_eq!(view.longest(), all.iter().map(Vec::len).max().unwrap_or(0));
        prop_assert_eq!(view.positions(), all.iter().map(Vec::len).sum::<usize>());
        prop_assert!(view.iter().map(|s| s.entries().to_vec()).eq(all.iter().cloned()));
        let cut = cut.index(all.len() + 1);
        let (first, second) = (view.slice(0..cut).unwrap(), view.slice(cut..all.len()).unwrap());
        prop_assert!(first.iter().chain(second.iter()).map(|s| s.entries().to_vec()).eq(all.iter().cloned()));
        prop_assert!((0..cut).all(|t| first.get(t).unwrap().entries() == all[t]));
        prop_assert!(first.get(cut).is_none() && view.slice(0..all.len() + 1).is_none());
        let (symbols, offsets, entries) = buf.clone().into_parts();
        prop_assert_eq!(SequencesBuf::from_parts(symbols, offsets, entries).unwrap(), buf);
    }
}
