//! Bodies of fuzz targets, kept here so that a test on stable can replay their inputs.

use alloc::vec::Vec;

use crate::{Bags, Csr, CsrBuf};

/// Slices of any content: what is accepted keeps the promises of [`Bags`], and survives every way round.
///
/// The input is `features`, the number of offsets, of indices and of counts, then offsets and indices, a byte
/// each, then counts, as the bits of an `f32`. Returns whether the slices were accepted.
///
/// # Panics
/// If a promise is broken.
#[must_use]
pub fn csr(data: &[u8]) -> bool {
    let Some((&[features, offsets, indices, counts], rest)) = data.split_first_chunk() else { return false };
    let Some((offsets, rest)) = rest.split_at_checked(offsets.into()) else { return false };
    let Some((indices, rest)) = rest.split_at_checked(indices.into()) else { return false };
    let far = |byte: u8| if byte < 0xf0 { byte.into() } else { usize::MAX - usize::from(0xff - byte) };
    let offsets: Vec<usize> = offsets.iter().map(|&byte| far(byte)).collect();
    let indices: Vec<u32> = indices.iter().map(|&byte| far(byte) as u32).collect();
    let counts: Vec<f32> =
        rest.as_chunks().0.iter().take(counts.into()).map(|&bits| f32::from_le_bytes(bits)).collect();
    let features = far(features);

    let Ok(csr) = Csr::new(features, &offsets, &indices, &counts) else { return false };
    assert_eq!(csr.len() + 1, offsets.len());
    assert_eq!(csr.nonzeros(), indices.len());
    for t in 0..csr.len() {
        let mut last = None;
        for (feature, count) in csr.entries(t) {
            assert!(feature < features && Some(feature) > last);
            assert!(count > 0.0 && count.is_finite());
            last = Some(feature);
        }
        assert!(csr.bag(t).is_some_and(|bag| bag.entries(0).eq(csr.entries(t))));
    }
    assert_eq!(csr.entries(csr.len()).count() + csr.entries(usize::MAX).count(), 0);
    assert!(csr.total(0) >= 0.0 && csr.max_count() <= csr.tokens());
    // Any way to cut the data set in two loses nothing.
    for cut in 0..=csr.len() {
        let parts = csr.slice(0..cut).zip(csr.slice(cut..csr.len()));
        assert!(parts.is_some_and(|(a, b)| a.nonzeros() + b.nonzeros() == csr.nonzeros()));
    }
    assert!(csr.slice(0..csr.len() + 1).is_none());
    if features < 0xf0 {
        // Entries in another order are the same bag, and bags that are taken off are no others.
        let Ok(mut pushed) = CsrBuf::new(features) else { panic!("these are few") };
        for t in 0..csr.len() {
            let entries: Vec<(usize, f32)> = csr.entries(t).collect();
            assert_eq!(pushed.push_bag(entries.into_iter().rev()), Ok(()));
        }
        let buf = CsrBuf::from_bags(&csr);
        assert_eq!(buf.as_ref(), Ok(&pushed));
        let rest = pushed.split_off(features);
        assert_eq!(pushed.len() + rest.len(), csr.len());
        assert!([pushed.indices(), rest.indices()].concat() == indices);
        assert!(buf.is_ok_and(|buf| buf.indices() == indices
            && buf.counts() == counts
            && buf.transpose().and_then(|turned| turned.transpose()).is_ok_and(|twice| twice == buf)));
    }
    true
}
