//! One body, compiled for several instruction sets, chosen when the program runs.

/// A computation that [`dispatch`] compiles for every instruction set it knows.
///
/// Mark `run` `#[inline(always)]`, and everything hot that it calls: only what is inlined is compiled for
/// the wider vectors. The result does not depend on the choice, because nothing is ever fused or reordered.
///
/// ```
/// use countgrid_math::{Kernel, dispatch};
///
/// struct Square<'a>(&'a mut [f32]);
/// impl Kernel for Square<'_> {
///     type Output = ();
///     #[inline(always)]
///     fn run(self) {
///         self.0.iter_mut().for_each(|x| *x *= *x);
///     }
/// }
/// let mut x = [1.0, 2.0, 3.0];
/// dispatch(Square(&mut x));
/// assert_eq!(x, [1.0, 4.0, 9.0]);
/// ```
pub trait Kernel {
    /// What [`Kernel::run`] returns.
    type Output;
    /// The widest vectors that this body was found to gain from. Wider is not always faster: a compiler that is given
    /// 512 bits made some loops over lanes five times as slow.
    const WIDEST: Level = Level::Avx2;
    /// The body.
    fn run(self) -> Self::Output;
}

/// An instruction set that [`dispatch`] compiles for.
///
/// Example: [`level`](crate::level).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// What the program was compiled for: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// 256-bit vectors of x86-64.
    Avx2,
    /// 512-bit vectors of x86-64, for the kernels that gain from them: see [`Kernel::WIDEST`].
    Avx512,
}

impl Level {
    /// All of them, the narrowest vectors first. A machine need not have each.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::Avx2, Self::Avx512];

    /// `baseline`, `avx2` or `avx512`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs a kernel with the widest vectors that this machine has and [`level`] allows.
///
/// Example: [`Kernel`](crate::Kernel).
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx512f")))]
    {
        let level = level();
        if level >= Level::Avx512 && K::WIDEST >= Level::Avx512 {
            // SAFETY: `level` is `Avx512` only after `is_x86_feature_detected!` said of every feature that
            // `run_avx512` enables that this machine has it, which is all that calling it asks for.
            return unsafe { run_time::run_avx512(kernel) };
        }
        if level >= Level::Avx2 && K::WIDEST >= Level::Avx2 {
            // SAFETY: `level` is `Avx2` or above only after `is_x86_feature_detected!("avx2")` said so on this
            // machine, or because all of the program is compiled for it; calling a function with
            // `target_feature(enable = "avx2")` asks for nothing else.
            return unsafe { run_time::run_avx2(kernel) };
        }
    }
    kernel.run()
}

#[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx512f")))]
mod run_time {
    use super::{Kernel, Level};
    use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

    /// A level, or `UNKNOWN`. Every thread that finds that has the same answer, so order is free.
    static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);
    const UNKNOWN: u8 = u8::MAX;

    #[inline]
    pub(super) fn level() -> Level {
        match LEVEL.load(Relaxed) {
            2 => Level::Avx512,
            1 => Level::Avx2,
            0 => Level::Baseline,
            _ => detect(),
        }
    }

    #[cold]
    fn detect() -> Level {
        let asked = std::env::var("COUNTGRID_SIMD").ok();
        let asked = Level::ALL.into_iter().find(|level| asked.as_deref() == Some(level.name()));
        let found = at_most(asked.unwrap_or(Level::Avx512));
        // What another thread has asked for meanwhile stays.
        match LEVEL.compare_exchange(UNKNOWN, found as u8, Relaxed, Relaxed) {
            Ok(_) => found,
            Err(_) => level(),
        }
    }

    pub(super) fn set_level(asked: Level) -> Level {
        let level = at_most(asked);
        LEVEL.store(level as u8, Relaxed);
        level
    }

    /// What was asked for, or the best below it that the machine has.
    fn at_most(asked: Level) -> Level {
        let avx2 = std::arch::is_x86_feature_detected!("avx2");
        let avx512 = std::arch::is_x86_feature_detected!("avx512f")
            && std::arch::is_x86_feature_detected!("avx512bw")
            && std::arch::is_x86_feature_detected!("avx512dq")
            && std::arch::is_x86_feature_detected!("avx512vl");
        asked.min(best(avx2, avx512)).max(super::compiled_level())
    }

    /// The best level of a machine that has these instructions.
    const fn best(avx2: bool, avx512: bool) -> Level {
        match (avx2, avx512) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            _ => Level::Baseline,
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_machine_has_the_widest_vectors_of_its_instructions() {
            let of = |avx2, avx512| best(avx2, avx512);
            assert_eq!([of(false, false), of(true, false)], [Level::Baseline, Level::Avx2]);
            assert_eq!([of(false, true), of(true, true)], [Level::Baseline, Level::Avx512]);
        }
    }
}

/// The instruction set that [`dispatch`] uses.
///
/// Under `std` on x86-64 it is looked up once, when first needed: the best of the machine, or the one below it that
/// the environment variable `COUNTGRID_SIMD` names. Elsewhere it is what the program was compiled for.
///
/// ```
/// use countgrid_math::{Level, level, set_level};
/// let usual = level();
/// assert_eq!(set_level(Level::Baseline), level());
/// assert!(level() <= usual);
/// set_level(usual);
/// ```
#[inline]
#[must_use]
pub fn level() -> Level {
    #[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx512f")))]
    return run_time::level();
    #[cfg(not(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx512f"))))]
    compiled_level()
}

/// Asks for an instruction set from now on, for all threads, and returns what is in force: what was asked
/// for, or the best that there is below it. For tests and measurements; no result depends on it.
///
/// Example: [`level`](crate::level).
#[allow(clippy::must_use_candidate, reason = "it is called for its effect")]
pub fn set_level(asked: Level) -> Level {
    #[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx512f")))]
    return run_time::set_level(asked);
    #[cfg(not(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx512f"))))]
    {
        let _ = asked;
        compiled_level()
    }
}

/// What every kernel is compiled for without dispatch.
const fn compiled_level() -> Level {
    if cfg!(target_feature = "avx512f") {
        Level::Avx512
    } else if cfg!(target_feature = "avx2") {
        Level::Avx2
    } else {
        Level::Baseline
    }
}
