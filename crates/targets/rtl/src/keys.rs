//! What ciphers have of a key: the round keys of AES-128 (FIPS 197) and the subkeys of AES-CMAC (RFC 4493).

type Block = [u8; 16];

/// The product in the field of AES.
fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b > 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ ((a >> 7) * 0x1b);
        b >>= 1;
    }
    product
}

/// The S-box: the inverse, which is the 254th power, and an affine map.
fn substitute(a: u8) -> u8 {
    let (mut inverse, mut power) = (1, a);
    for _ in 1..8 {
        power = multiply(power, power);
        inverse = multiply(inverse, power);
    }
    (0..5).fold(0x63, |sum, turn| sum ^ inverse.rotate_left(turn))
}

/// Rounds 0 to 10, and behind them the subkeys K1 and K2.
pub(crate) fn rounds(key: &Block) -> [Block; 13] {
    let mut rounds = [*key; 13];
    let mut constant = 1;
    let mut before = *key;
    for next in &mut rounds[1..=10] {
        for i in 0..4 {
            next[i] = before[i] ^ substitute(before[12 + (i + 1) % 4]);
        }
        next[0] ^= constant;
        for i in 4..16 {
            next[i] = before[i] ^ next[i - 4];
        }
        constant = multiply(constant, 2);
        before = *next;
    }
    let zero = encrypt(&rounds, [0; 16]);
    rounds[11] = doubled(zero);
    rounds[12] = doubled(rounds[11]);
    rounds
}

fn encrypt(rounds: &[Block; 13], block: Block) -> Block {
    let add = |a: Block, b: &Block| std::array::from_fn(|i| a[i] ^ b[i]);
    let mut state: Block = add(block, &rounds[0]);
    for (round, key) in rounds.iter().enumerate().take(11).skip(1) {
        let shifted: Block = std::array::from_fn(|i| substitute(state[(i + 4 * (i % 4)) % 16]));
        let at = |i: usize, row: usize| shifted[i / 4 * 4 + (i + row) % 4];
        let mixed: Block = std::array::from_fn(|i| multiply(at(i, 0), 2) ^ multiply(at(i, 1), 3) ^ at(i, 2) ^ at(i, 3));
        state = add(if round == 10 { shifted } else { mixed }, key);
    }
    state
}

/// Twice the number, in the field of 128 bits.
fn doubled(block: Block) -> Block {
    let number = u128::from_be_bytes(block);
    ((number << 1) ^ ((number >> 127) * 0x87)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_4493_section_4_subkeys() {
        let rounds = rounds(&0x2b7e1516_28aed2a6_abf71588_09cf4f3c_u128.to_be_bytes());
        assert_eq!(u128::from_be_bytes(rounds[10]), 0xd014f9a8_c9ee2589_e13f0cc8_b6630ca6);
        assert_eq!(u128::from_be_bytes(rounds[11]), 0xfbeed618_35713366_7c85e08f_7236a8de);
        assert_eq!(u128::from_be_bytes(rounds[12]), 0xf7ddac30_6ae266cc_f90bc11e_e46d513b);
    }
}
