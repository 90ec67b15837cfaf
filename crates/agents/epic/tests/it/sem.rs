//! Statistics of the cipher SEM: its boxes, how far a change spreads, and what byte positions have in common.

use hopwright_epic::{SEM_BOXES, SEM_SOURCES, sem};

const TRIALS: u64 = 20_000;

/// Deterministic bytes, each equally likely (SplitMix64).
fn random(seed: u64, number: u64) -> [u8; 16] {
    let word = |place: u64| {
        let mut z = (seed << 40 | number << 1 | place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    (u128::from(word(0)) << 64 | u128::from(word(1))).to_be_bytes()
}

fn xor(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    std::array::from_fn(|i| a[i] ^ b[i])
}

fn ones(block: [u8; 16]) -> u32 {
    u128::from_be_bytes(block).count_ones()
}

#[test]
fn boxes_are_bijective_without_fixed_points_and_two_cycles_and_all_differ() {
    for (number, values) in SEM_BOXES.iter().enumerate() {
        let mut seen = [false; 256];
        values.iter().for_each(|&v| seen[v as usize] = true);
        assert_eq!(seen, [true; 256]);
        for x in 0..256 {
            assert_ne!(values[x] as usize, x);
            assert_ne!(values[values[x] as usize] as usize, x);
        }
        assert!(!SEM_BOXES[..number].contains(values));
    }
    let mut sources = SEM_SOURCES;
    sources.sort_unstable();
    assert_eq!(sources, std::array::from_fn(|i| i));
}

/// One bit of every byte flips, and half of the 128 bits of the result change. A single bit changes four bits of one byte:
/// boxes and a permutation of bytes spread it no further.
#[test]
fn half_of_the_bits_change_when_one_bit_of_each_byte_flips() {
    let (mut all, mut single) = (0, 0);
    for trial in 0..TRIALS {
        let (key, block, choice) = (random(1, trial), random(2, trial), random(3, trial));
        let flips = choice.map(|c| 1 << (c & 7));
        let plain = sem(&key, block);
        all += u64::from(ones(xor(plain, sem(&key, xor(block, flips)))));
        let place = (trial % 16) as usize;
        let one = std::array::from_fn(|i| if i == place { flips[i] } else { 0 });
        single += u64::from(ones(xor(plain, sem(&key, xor(block, one)))));
    }
    let mean = |sum: u64| sum as f64 / TRIALS as f64;
    assert!((mean(all) - 64.0).abs() <= 1.0, "{}", mean(all));
    assert!((mean(single) - 4.0).abs() <= 0.1, "{}", mean(single));
}

/// A byte of the message decides one byte of the result, and no other does.
#[test]
fn byte_positions_do_not_mix() {
    let mut targets = Vec::new();
    for place in 0..16 {
        let changed = |trial: u64, value: u8| {
            let (key, block) = (random(4, trial), random(5, trial));
            let mut other = block;
            other[place] ^= value;
            let difference = xor(sem(&key, block), sem(&key, other));
            (0..16).filter(|&i| difference[i] != 0).collect::<Vec<_>>()
        };
        let target = changed(0, 1);
        assert_eq!(target.len(), 1);
        assert!((1..=255).all(|value| changed(value.into(), value) == target));
        targets.extend(target);
    }
    targets.sort_unstable();
    assert_eq!(targets, (0..16).collect::<Vec<_>>());
}

/// The same bytes at two positions give results that agree in half of their bits, as independent ones do.
#[test]
fn byte_positions_are_independent() {
    // Behind the permutation, results of the message's bytes stand at other places; the pairs are the same.
    let results: Vec<[u8; 16]> = (0..=255).map(|byte| sem(&[0; 16], [byte; 16])).collect();
    for a in 0..16 {
        for b in 0..a {
            let agree: u32 = results.iter().map(|r| 8 - (r[a] ^ r[b]).count_ones()).sum();
            // Of 2,048 bits; five standard deviations.
            assert!(agree.abs_diff(1024) < 113, "{a}, {b}: {agree}");
        }
    }
}
