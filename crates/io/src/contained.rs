//! Panics of libraries as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Problem;

/// What a library returns, or an error where it panics: those that decode Parquet and Arrow index and slice by numbers of the file
/// in places, such as the lengths of values in a page, that no check before them can reach without decoding the page itself, and that of mail
/// asserts, in builds with assertions, what parts of a message may contradict. What they were working on is dropped.
pub(crate) fn contained<T>(
    kind: &'static str,
    work: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    #[cfg(feature = "fuzzing")]
    let _inside = crate::fuzzing::Contained::begin();
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Problem::Damaged { kind, what: "its values contradict its lengths and types".to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(contained("mail", || Ok(3)).unwrap(), 3);
        let own = contained::<()>("mail", || Err(Problem::Empty)).unwrap_err();
        assert!(matches!(own, Problem::Empty), "{own}");
        let panicked = contained::<()>("mail", || panic!("parts of a message")).unwrap_err();
        assert!(matches!(panicked, Problem::Damaged { kind: "mail", .. }), "{panicked}");
    }
}
