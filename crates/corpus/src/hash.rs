//! A hash that is the same on every machine, unlike that of the standard library.

/// FNV-1a with the mixing step of MurmurHash3.
pub(crate) fn hash(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mix(hash)
}

/// A bijection after which every bit of the result depends on the bits of the number.
pub(crate) fn mix(hash: u64) -> u64 {
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The number with this [`mix`]: every step undone, the last first.
    fn unmix(mixed: u64) -> u64 {
        let hash = mixed ^ (mixed >> 33);
        let hash = hash.wrapping_mul(0x4f74_430c_22a5_4005); // the inverse of the factor
        hash ^ (hash >> 33)
    }

    proptest! {
        #[test]
        fn mixing_is_a_bijection(number in any::<u64>()) {
            prop_assert_eq!(unmix(mix(number)), number);
            prop_assert_eq!(mix(unmix(number)), number);
        }
    }

    /// Those that the authors of FNV publish.
    #[test]
    fn hashes_of_texts() {
        let hashes =
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)];
        for (text, expected) in hashes {
            assert_eq!(unmix(hash(text)), expected, "{text}");
        }
    }
}
