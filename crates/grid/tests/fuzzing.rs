//! Exported grids: as written, damaged, and made up.

use countgrid_grid::{Blob, BlobError, GridError, Kind, fuzzing};
use proptest::prelude::*;

const KINDS: [Kind; 3] = [Kind::F32, Kind::U16, Kind::U8];

fn seed(kind: Kind) -> Vec<u8> {
    fuzzing::blob_seed(kind).unwrap()
}

#[test]
fn what_is_written_is_read() {
    for kind in KINDS {
        let bytes = seed(kind);
        assert!(fuzzing::blob(&bytes));
        let blob = Blob::<2>::new(&bytes).unwrap();
        assert_eq!((blob.kind(), blob.labels(), blob.shape().features()), (kind, 2, 2));
        assert_eq!(blob.shape().windows().torus().extents(), [2, 3]);
        assert_eq!(blob.shape().windows().sides(), [2, 2]);
        let mut shares = [0.0; 2];
        blob.read_labels(&[0.0, 0.5, 0.25, 0.0, 0.25, 0.0], &mut shares).unwrap();
        assert_eq!(shares, [0.5, 0.5]); // 0.125 + 0.125 + 0.25, and 0.375 + 0.125
    }
}

/// The table of the docs, byte by byte.
#[test]
fn the_header_is_as_documented() {
    let bytes = seed(Kind::U8);
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[..8], b"countgrd");
    assert_eq!([8, 12, 16, 20, 24, 28].map(number), [1, 2, 2, 2, 2, 0]);
    assert_eq!([32, 36, 40, 44].map(number), [2, 3, 2, 2]);
    assert_eq!(bytes[48..64], [0; 16]);
    assert_eq!(bytes.len(), 64 + 3 * 8 * 2 + 4 * 2 * 6);
    assert_eq!(bytes[64 + 48 + 4..][..4], 0.25f32.to_le_bytes());
}

#[test]
fn each_mistake_has_its_error() {
    let bytes = seed(Kind::F32);
    let with = |at: usize, value: u32| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        Blob::<2>::new(&bytes).map(|_| ()).unwrap_err()
    };
    let length = bytes.len();
    assert_eq!(with(0, 0), BlobError::Magic);
    assert_eq!(with(8, 2), BlobError::Version { expected: 1, found: 2 });
    assert_eq!(with(12, 3), BlobError::UnknownKind { found: 3 });
    assert_eq!(with(16, 3), BlobError::Axes { expected: 2, found: 3 });
    assert_eq!(with(28, 1), BlobError::Reserved { at: 28 });
    assert_eq!(with(60, 1 << 24), BlobError::Reserved { at: 63 });
    assert!(matches!(with(20, 0), BlobError::Grid(_)));
    assert!(matches!(with(32, 0), BlobError::Grid(_)));
    assert!(matches!(with(40, 3), BlobError::Grid(_)), "a window larger than the grid");
    for (at, value) in [(24, 3), (24, u32::MAX), (20, 1 << 20), (32, 1 << 16)] {
        let error = with(at, value);
        assert!(matches!(error, BlobError::Length { found, .. } if found == length), "{error}");
    }
    let error = with(length - 4, f32::NAN.to_bits());
    assert_eq!(error, BlobError::Label { label: 1, cell: 5 });
    let cut = |to: usize| Blob::<2>::new(&bytes[..to]).map(|_| ()).unwrap_err();
    assert_eq!(cut(length - 1), BlobError::Length { expected: Some(length), found: length - 1 });
    assert_eq!(cut(40), BlobError::Length { expected: Some(64), found: 40 });
    assert_eq!(cut(7), BlobError::Magic);

    let blob = Blob::<2>::new(&bytes).unwrap();
    let numbers = blob.shape().histograms_len::<f32>();
    assert_eq!(blob.quantised::<u8>().unwrap_err(), BlobError::Kind { found: Kind::F32 });
    let mut moved = vec![0; length + 4];
    let offset = (1..4).find(|offset| !(moved[*offset..].as_ptr() as usize).is_multiple_of(4)).unwrap();
    moved[offset..offset + length].copy_from_slice(&bytes);
    let moved = Blob::<2>::new(&moved[offset..offset + length]).unwrap();
    let few = &mut vec![0.0; numbers - 1];
    let error = moved.log_histograms(few).unwrap_err();
    assert_eq!(error, BlobError::NotInPlace { expected: numbers, found: numbers - 1 });
    assert!(moved.log_histograms(&mut vec![0.0; numbers]).is_ok());
}

/// A lane beyond the torus must not take a share of a posterior.
#[test]
fn padding_has_no_prior() {
    let bytes = seed(Kind::F32);
    let padding: Vec<usize> = (64..bytes.len() - 4)
        .step_by(4)
        .filter(|&at| bytes[at..at + 4] == f32::NEG_INFINITY.to_le_bytes())
        .collect();
    assert!(!padding.is_empty());
    for at in padding {
        let mut bytes = bytes.clone();
        bytes[at + 3] = 0x80; // -1e-38
        assert!(fuzzing::blob(&bytes));
        let blob = Blob::<2>::new(&bytes).unwrap();
        let mut spare = vec![0.0; blob.shape().histograms_len::<f32>()];
        let error = blob.log_histograms(&mut spare).unwrap_err();
        assert!(matches!(error, BlobError::Grid(GridError::Padding { tile: 0 })), "{error}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_an_error_or_a_grid(bytes in prop::collection::vec(any::<u8>(), 0..300), known in any::<bool>()) {
        let mut bytes = bytes;
        if known && bytes.len() >= 8 {
            bytes[..8].copy_from_slice(b"countgrd");
        }
        _ = fuzzing::blob(&bytes);
    }

    /// A few bytes changed in each, and some cut off.
    #[test]
    fn so_are_damaged_ones(
        kind in prop::sample::select(KINDS.to_vec()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in 0usize..3,
    ) {
        let mut bytes = seed(kind);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut);
        _ = fuzzing::blob(&bytes);
    }
}
