//! Base 62 of a big-endian integer.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The number whose big-endian bytes these are, in base 62, without leading zeros (zero itself is `0`).
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut number = bytes.to_vec();
    let mut digits = Vec::with_capacity(bytes.len() * 2);
    // Long division by 62, over and over: the remainders are the digits, last one first.
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest << 8 | u32::from(*byte);
            *byte = (value / 62) as u8; // below 256: rest is below 62
            rest = value % 62;
        }
        digits.push(DIGITS[rest as usize]);
    }
    if digits.is_empty() {
        digits.push(DIGITS[0]);
    }
    digits.iter().rev().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::encode;

    #[test]
    fn zeros_in_front_vanish() {
        assert_eq!(encode(&[]), "0");
        assert_eq!(encode(&[0, 0]), "0");
        assert_eq!(encode(&[61]), "z");
        assert_eq!(encode(&[0, 62]), "10");
        assert_eq!(encode(&[1, 0]), "48");
    }

    #[test]
    fn the_longest_numbers_have_the_lengths_the_format_promises() {
        assert_eq!(encode(&[0xff; 12]).len(), 17);
        assert_eq!(encode(&[0xff; 32]).len(), 43);
    }

    proptest! {
        #[test]
        fn decodes_to_the_same_number(bytes in proptest::collection::vec(any::<u8>(), 0..16)) {
            let number = bytes.iter().fold(0_u128, |n, byte| n << 8 | u128::from(*byte));
            let decoded = encode(&bytes).bytes().fold(0_u128, |n, digit| {
                n * 62 + super::DIGITS.iter().position(|d| *d == digit).expect("a digit") as u128
            });
            prop_assert_eq!(number, decoded);
        }
    }
}
