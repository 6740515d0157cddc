//! Division of numbers of 16 bits by one that is not known when the program is compiled.

use super::neighbours::One;

/// Rounds `sum / count` by a multiplication of 16-bit numbers, twice as many at a time as of floats.
///
/// With `shift = ⌊log₂ (count - 1)⌋` and `factor = ⌈2^(16 + shift) / count⌉`, `⌊n factor / 2^(16 + shift)⌋` is
/// `⌊n / count⌋` for every `n` with `n (factor · count - 2^(16 + shift)) < 2^(16 + shift)`: with `n = q count + r` it is
/// `⌊q + r / count + n (factor · count - 2^(16 + shift)) / (count 2^(16 + shift))⌋`, where the last term is below
/// `1 / count`. (Granlund & Montgomery 1994, Theorem 4.2.)
#[derive(Clone, Copy)]
pub(super) struct Multiply {
    half: u16,
    factor: u16,
    shift: u16,
    zero: u16, // which the compiler does not know
}

impl Multiply {
    /// If it is exact for sums up to `largest`, with means that fit 8 bits.
    #[inline]
    pub(super) fn new(count: u64, largest: u64) -> Option<Self> {
        let highest = largest.checked_add(count / 2)?;
        if !(2..=1 << 16).contains(&count) || highest > 0xFFFF || highest >= count << 8 {
            return None;
        }
        let shift = (count - 1).ilog2(); // at most 15
        let power = 1u32 << (16 + shift);
        let factor = power.div_ceil(count as u32);
        let excess = u64::from(factor) * count - u64::from(power);
        if highest * excess >= power.into() {
            return None;
        }
        let (half, factor, zero) = ((count / 2) as u16, factor.try_into().ok()?, core::hint::black_box(0));
        Some(Self { half, factor, shift: shift as u16, zero })
    }

    /// The same, for one turn of a loop in which `value` is another each time.
    ///
    /// Of a factor that is the same in every turn the compiler makes 32 bits before the loop, and then forgets that there is
    /// an instruction for the upper halves of products of 16.
    #[inline(always)]
    pub(super) fn in_turn(self, value: u16) -> Self {
        Self { factor: self.factor ^ (value & self.zero), zero: 0, ..self }
    }

    /// `⌊sum / count + 1 / 2⌋`, once the factor is that of [`in_turn`](Self::in_turn).
    #[inline(always)]
    pub(super) fn rounded(self, sum: u16) -> u8 {
        let high = (u32::from(sum.wrapping_add(self.half)) * u32::from(self.factor)) >> 16;
        (high as u16).wrapping_shr(self.shift.into()) as u8
    }
}

impl One<u16, u8> for Multiply {
    #[inline(always)]
    fn one(self, sum: u16) -> u8 {
        self.in_turn(sum).rounded(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::{Multiply, One};

    /// Of every number of cells, and every sum that so many bytes can have.
    #[test]
    fn means_of_bytes_are_rounded_to_the_nearest() {
        let mut refused = 0;
        for count in 1..=257_u64 {
            let Some(by) = Multiply::new(count, 255 * count) else {
                assert!(count == 1 || count > 185, "{count}");
                refused += 1;
                continue;
            };
            for sum in 0..=255 * count {
                assert_eq!(u64::from(by.one(sum as u16)), (2 * sum + count) / (2 * count), "{sum} / {count}");
            }
        }
        // 1, 257 (whose largest sum and half of it are more than 16 bits), and those of which a mean would be one too large.
        assert_eq!(refused, 29);
    }

    /// With fewer values than bytes have windows may have more cells.
    #[test]
    fn is_exact_for_all_sums_that_it_takes() {
        let mut taken = 0;
        for count in 2..=0x2_0000_u64 {
            // Not all: of each number of cells the largest sums, where the error is largest.
            for largest in [count, 2 * count, 17 * count, 254 * count, 0xFFFF - count.min(0x1_FFFE) / 2] {
                let Some(by) = Multiply::new(count, largest) else { continue };
                taken += 1;
                for sum in largest.saturating_sub(3)..=largest {
                    assert_eq!(
                        u64::from(by.one(sum as u16)),
                        (2 * sum + count) / (2 * count),
                        "{sum} / {count}"
                    );
                }
                let last = (largest + count / 2) / count * count; // where the quotient is last one more
                for n in last.saturating_sub(1)..=last {
                    let Some(sum) = n.checked_sub(count / 2) else { continue };
                    assert_eq!(u64::from(by.one(sum as u16)), n / count, "{sum} / {count}");
                }
            }
        }
        assert!(taken > 10_000, "{taken}");
    }
}
