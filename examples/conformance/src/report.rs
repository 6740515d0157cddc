//! Digests, where they go, and the numbers that computations start from.

use core::{fmt, panic::Location};

use countgrid_em::{Tables, TablesExt};
use countgrid_math::Real;

/// Where digests go, a line each.
pub(crate) struct Report<'a> {
    line: &'a mut dyn FnMut(fmt::Arguments<'_>),
}

impl<'a> Report<'a> {
    pub(crate) fn new(line: &'a mut dyn FnMut(fmt::Arguments<'_>)) -> Self {
        Self { line }
    }

    /// A digest and its name.
    pub(crate) fn digest(&mut self, name: impl fmt::Display, digest: Digest) {
        (self.line)(format_args!("{:016x} {name}", digest.0));
    }

    /// The digest of one table.
    pub(crate) fn table<T: Real>(&mut self, name: impl fmt::Display, table: &[T]) {
        self.digest(name, Digest::from_values(table));
    }

    /// A digest for each table of a model or of statistics.
    pub(crate) fn tables(&mut self, name: impl fmt::Display, tables: &impl Tables) {
        for (table, values) in tables.tables() {
            self.table(format_args!("{name}: {}", table.name), values);
        }
    }
}

/// FNV-1a over little-endian bytes.
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn from_values<T: Real>(values: &[T]) -> Self {
        let mut digest = Self::new();
        digest.add(values);
        digest
    }

    /// The bits of floats. Both types are widened to `f64`, which loses nothing; the length counts too. NaN has no
    /// promised bits, so all of them are one value.
    pub(crate) fn add<T: Real>(&mut self, values: &[T]) {
        self.add_integer(values.len() as u64);
        for &value in values {
            self.add_integer(if value.is_nan() { u64::MAX } else { Real::to_f64(value).to_bits() });
        }
    }

    /// Integers of every size, as `u64`.
    pub(crate) fn add_integers<I: Into<u64> + Copy>(&mut self, values: &[I]) {
        self.add_integer(values.len() as u64);
        values.iter().for_each(|&value| self.add_integer(value.into()));
    }

    pub(crate) fn add_integer(&mut self, value: u64) {
        for byte in value.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Where a computation was refused. Inputs are fixed, so no target should ever see one.
#[derive(Debug)]
pub(crate) struct Failure(&'static Location<'static>);

impl Failure {
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self(Location::caller())
    }
}

impl<E: core::error::Error> From<E> for Failure {
    #[track_caller]
    fn from(_: E) -> Self {
        Self(Location::caller())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FAILED at {}", self.0)
    }
}

/// The first elements of a buffer.
#[track_caller]
pub(crate) fn first<T>(buffer: &mut [T], len: usize) -> Result<&mut [T], Failure> {
    let too_long = Failure::here();
    buffer.get_mut(..len).ok_or(too_long)
}

/// `f32` or `f64`.
pub(crate) fn name<T>() -> &'static str {
    core::any::type_name::<T>()
}

/// A linear congruential sequence, Knuth's constants: integers, so the same everywhere.
pub(crate) struct Values(pub(crate) u64);

impl Values {
    /// 24 random bits.
    pub(crate) fn bits(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as u32
    }

    /// A value in `[0, 1)` that every type holds exactly.
    pub(crate) fn next<T: Real>(&mut self) -> T {
        T::from_f64(f64::from(self.bits()) / 16_777_216.0)
    }

    pub(crate) fn fill<T: Real>(&mut self, values: &mut [T]) {
        values.iter_mut().for_each(|value| *value = self.next());
    }
}
