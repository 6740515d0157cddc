//! Random bags, and bags as plain lists: for property tests of what takes bags.
//!
//! ```
//! use countgrid_counts::testing::{listed, nonzero, rows};
//! use countgrid_counts::{Bags, CsrBuf, Dense};
//! use proptest::prelude::*;
//!
//! proptest!(|(rows in rows(3, 0..5))| {
//!     let flat = rows.concat();
//!     let expected: Vec<_> = rows.iter().map(|row| nonzero(row)).collect();
//!     prop_assert_eq!(&listed(&Dense::new(3, &flat)?), &expected);
//!     prop_assert_eq!(&listed(&CsrBuf::from_dense(3, &flat)?), &expected);
//! });
//! proptest!(|(bags: CsrBuf<u16>)| prop_assert!(bags.tokens() >= bags.nonzeros() as f64));
//! ```

use alloc::vec::Vec;

use proptest::collection::{SizeRange, vec};
use proptest::prelude::*;

use crate::{Bags, Count, CsrBuf};

/// Rows of counts `[bag][feature]`, two thirds of them zero, the others up to the largest of the type.
///
/// Example: [`testing`](crate::testing).
pub fn rows(features: usize, bags: impl Into<SizeRange>) -> impl Strategy<Value = Vec<Vec<u8>>> {
    let count = prop_oneof![2 => Just(0_u8), 1 => 1..=u8::MAX];
    vec(vec(count, features), bags)
}

/// Sparse bags over at least one and at most `features` features, as many as in [`rows`].
///
/// Example: [`testing`](crate::testing).
pub fn csr<C: Count + From<u8>>(
    features: usize,
    bags: impl Into<SizeRange>,
) -> impl Strategy<Value = CsrBuf<C>> {
    let bags = bags.into();
    let sized = (1..=features).prop_flat_map(move |features| (Just(features), rows(features, bags.clone())));
    sized.prop_filter_map("refused", |(features, rows)| {
        let counts: Vec<C> = rows.concat().into_iter().map(C::from).collect();
        CsrBuf::from_dense(features, &counts).ok()
    })
}

impl<C: Count + From<u8>> Arbitrary for CsrBuf<C> {
    type Parameters = ();
    type Strategy = BoxedStrategy<Self>;

    /// Up to eight bags over one to nine features.
    fn arbitrary_with((): ()) -> Self::Strategy {
        csr(9, 0..=8).boxed()
    }
}

/// The entries of a row that are not zero, as a bag must list them.
///
/// Example: [`testing`](crate::testing).
pub fn nonzero<C: Count>(row: &[C]) -> Vec<(usize, C)> {
    row.iter().copied().enumerate().filter(|(_, count)| !count.is_zero()).collect()
}

/// The entries of all bags, as the data set lists them.
///
/// Example: [`testing`](crate::testing).
pub fn listed<B: Bags + ?Sized>(bags: &B) -> Vec<Vec<(usize, B::Count)>> {
    (0..bags.len()).map(|bag| bags.entries(bag).collect()).collect()
}
