//! Aligned buffers.
#![cfg(feature = "alloc")]

use countgrid_math::{AlignedVec, AllocationError};

#[test]
fn every_length_starts_on_a_cache_line() {
    for len in 0..200 {
        let mut x = AlignedVec::<f32>::zeroed(len).unwrap();
        assert_eq!(x.as_ptr() as usize % 64, 0);
        assert_eq!(x.as_ref().len(), len);
        x.as_mut().iter_mut().zip(0_u8..).for_each(|(x, i)| *x = i.into());
        let copy = x.clone();
        assert_eq!(copy.as_ptr() as usize % 64, 0);
        assert_eq!(copy, x);
        assert!(copy.iter().zip(0_u8..).all(|(&x, i)| x == i.into()));
    }
}

#[test]
fn a_moved_buffer_stays_aligned() {
    let many: Vec<_> = (0..50).map(|len| AlignedVec::<f64>::zeroed(len).unwrap()).collect();
    let moved: Vec<_> = many.into_iter().rev().collect();
    assert!(moved.iter().all(|x| (x.as_ptr() as usize).is_multiple_of(64)));
}

#[test]
fn too_long_a_buffer_is_an_error() {
    for len in [usize::MAX, usize::MAX - 16, isize::MAX as usize, isize::MAX as usize / 8] {
        assert_eq!(AlignedVec::<f64>::zeroed(len).err(), Some(AllocationError { elements: len }));
    }
}

#[test]
fn from_slice_copies() {
    let x = AlignedVec::from_slice(&[1.0_f32, 2.0]).unwrap();
    assert_eq!(*x, [1.0, 2.0]);
    assert_eq!(format!("{x:?}"), "[1.0, 2.0]");
}

#[test]
fn buffers_are_equal_by_their_elements() {
    let x = AlignedVec::from_slice(&[1.0_f32, 2.0]).unwrap();
    for (other, equal) in
        [(&[1.0, 2.0][..], true), (&[1.0, 3.0], false), (&[1.0], false), (&[1.0, 2.0, 0.0], false)]
    {
        assert_eq!(x == AlignedVec::from_slice(other).unwrap(), equal, "{other:?}");
    }
}
