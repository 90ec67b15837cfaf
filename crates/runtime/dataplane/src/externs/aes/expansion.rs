//! The key expansion in portable code.

/// The eleven round keys of a key (FIPS 197, section 5.2).
pub(super) fn expand(key: &[u8; 16]) -> [[u8; 16]; 11] {
    let mut rounds = [*key; 11];
    let mut constant = 1;
    for round in 1..rounds.len() {
        let before = rounds[round - 1];
        let mut column: [u8; 4] = std::array::from_fn(|i| substitute(before[12 + (i + 1) % 4]));
        column[0] ^= constant;
        constant = times(constant, 2);
        for (i, byte) in rounds[round].iter_mut().enumerate() {
            column[i % 4] ^= before[i];
            *byte = column[i % 4];
        }
    }
    rounds
}

/// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1, in constant time.
fn times(a: u8, b: u8) -> u8 {
    let (mut a, mut product) = (a, 0);
    for bit in 0..8 {
        product ^= a & 0u8.wrapping_sub(b >> bit & 1);
        a = a << 1 ^ 0x1b & 0u8.wrapping_sub(a >> 7);
    }
    product
}

/// The S-box, in constant time: the inverse, which is the 254th power, and an affine function of it.
fn substitute(x: u8) -> u8 {
    let mut inverse = 1;
    for bit in (0..8).rev() {
        inverse = times(inverse, inverse);
        inverse = times(inverse, if 254 >> bit & 1 == 1 { x } else { 1 });
    }
    inverse ^ inverse.rotate_left(1) ^ inverse.rotate_left(2) ^ inverse.rotate_left(3) ^ inverse.rotate_left(4) ^ 0x63
}

#[cfg(test)]
mod tests {
    use super::super::Aes128Key;
    use super::*;

    /// FIPS 197, appendix A.1.
    #[test]
    fn expansion() {
        let key = 0x2b7e151628aed2a6abf7158809cf4f3cu128.to_be_bytes();
        let rounds = expand(&key).map(u128::from_be_bytes);
        assert_eq!(rounds[0], u128::from_be_bytes(key));
        assert_eq!(rounds[1], 0xa0fafe1788542cb123a339392a6c7605);
        assert_eq!(rounds[10], 0xd014f9a8c9ee2589e13f0cc8b6630ca6);
    }

    #[test]
    fn hardware_and_portable_agree() {
        let key = [7; 16];
        let (fast, portable) = (Aes128Key::new(&key), Aes128Key::portable(&key));
        for round in 0..12 {
            assert_eq!(fast.cmac_round_key(round), portable.cmac_round_key(round), "{round}");
        }
    }
}
