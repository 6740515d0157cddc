//! Random problems and naive references, those of `countgrid_grid::testing`, in every dimension.

pub(crate) use countgrid_grid::testing::*;

/// Runs a property for D = 1, 2, 3 and 5, on tori of up to 40 cells.
macro_rules! in_every_dimension {
    ($($property:ident),* $(,)?) => {
        $(mod $property {
            use proptest::prelude::*;
            proptest! {
                #![proptest_config(ProptestConfig::with_cases(48))]
                #[test]
                fn d1(p in $crate::common::problem::<1>(9), seed in any::<u64>()) { super::$property(p, seed)?; }
                #[test]
                fn d2(p in $crate::common::problem::<2>(5), seed in any::<u64>()) { super::$property(p, seed)?; }
                #[test]
                fn d3(p in $crate::common::problem::<3>(3), seed in any::<u64>()) { super::$property(p, seed)?; }
                #[test]
                fn d5(p in $crate::common::problem::<5>(2), seed in any::<u64>()) { super::$property(p, seed)?; }
            }
        })*
    };
}
