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
    /// The body.
    fn run(self) -> Self::Output;
}

/// An instruction set that [`dispatch`] compiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// What the program was compiled for: SSE2 on x86-64, NEON on AArch64.
    Baseline,
    /// 256-bit vectors of x86-64. Wider ones are left alone: loops over lanes came out 5 times slower.
    Avx2,
}

impl Level {
    /// `baseline` or `avx2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Avx2 => "avx2",
        }
    }
}

impl core::fmt::Display for Level {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs a kernel with the widest vectors that this machine has and [`level`] allows.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2")))]
    if level() == Level::Avx2 {
        // SAFETY: `level` is `Avx2` only after `is_x86_feature_detected!("avx2")` said so on this machine,
        // which is all that calling a function with `target_feature(enable = "avx2")` asks for.
        return unsafe { run_time::run_avx2(kernel) };
    }
    kernel.run()
}

#[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2")))]
mod run_time {
    use super::{Kernel, Level};
    use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

    const UNKNOWN: u8 = 0;
    const BASELINE: u8 = 1;
    const AVX2: u8 = 2;
    /// One of the three above. Every thread that finds `UNKNOWN` stores the same answer, so order is free.
    static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline]
    pub(super) fn level() -> Level {
        match LEVEL.load(Relaxed) {
            AVX2 => Level::Avx2,
            BASELINE => Level::Baseline,
            _ => detect(),
        }
    }

    #[cold]
    fn detect() -> Level {
        let asked = match std::env::var("COUNTGRID_SIMD") {
            Ok(name) if name == Level::Baseline.name() => Level::Baseline,
            _ => Level::Avx2,
        };
        set_level(asked)
    }

    pub(super) fn set_level(asked: Level) -> Level {
        if asked == Level::Avx2 && std::arch::is_x86_feature_detected!("avx2") {
            LEVEL.store(AVX2, Relaxed);
            Level::Avx2
        } else {
            LEVEL.store(BASELINE, Relaxed);
            Level::Baseline
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
        kernel.run()
    }
}

/// The instruction set that [`dispatch`] uses.
///
/// Under `std` on x86-64 it is looked up once, when first needed: the best of the machine, or `baseline` if
/// the environment variable `COUNTGRID_SIMD` says so. Elsewhere it is what the program was compiled for.
#[inline]
#[must_use]
pub fn level() -> Level {
    #[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2")))]
    return run_time::level();
    #[cfg(not(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2"))))]
    compiled_level()
}

/// Asks for an instruction set from now on, for all threads, and returns what is in force: what was asked
/// for, or the best that there is below it. For tests and measurements; no result depends on it.
pub fn set_level(asked: Level) -> Level {
    #[cfg(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2")))]
    return run_time::set_level(asked);
    #[cfg(not(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2"))))]
    {
        let _ = asked;
        compiled_level()
    }
}

#[cfg(not(all(feature = "std", target_arch = "x86_64", not(target_feature = "avx2"))))]
const fn compiled_level() -> Level {
    if cfg!(target_feature = "avx2") { Level::Avx2 } else { Level::Baseline }
}
