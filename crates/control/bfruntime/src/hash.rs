//! Hashes that controllers change: algorithms, which bits of which fields are hashed in which order, and the form in which the data plane
//! computes the result: each of its bits is the parity of some bits of the data, and a constant.

use std::collections::BTreeMap;

use crate::failure::{Result, invalid, unimplemented};

/// Bits of a word of a form.
const WORD: usize = 64;

/// A hash of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hash {
    /// Its ids: of the object that computes it once it is changed, and of the register that says so.
    pub object: u32,
    pub register: u32,
    /// Bits of the result, no more than 64.
    pub width: u32,
    /// What it hashes, in order, with widths in bits. The first field is in the highest bits of the data.
    pub fields: Vec<(String, u32)>,
    /// What the program hashes with.
    pub algorithm: Algorithm,
}

/// How data become a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Algorithm {
    pub function: Function,
    /// Results that are wider than the function's repeat it.
    pub extends: bool,
    /// The result is rotated to the left by this many bits.
    pub rotate: u32,
    /// Exclusive or with the result.
    pub seed: u64,
}

/// A function of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Function {
    /// The last bits.
    #[default]
    Identity,
    /// The exclusive or of words of this many bits.
    Xor(u32),
    Crc(Crc),
}

/// A CRC (the Rocksoft model). Bits are taken from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Crc {
    pub width: u32,
    pub polynomial: u64,
    pub initial: u64,
    pub xor: u64,
    /// Bytes are taken from their last bit on, and the result is reversed.
    pub reversed: bool,
}

/// Bits of a field, and their place among what is hashed. Two slices of one order are hashed as their exclusive or, in the place of the
/// second one; the other's place is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slice {
    pub order: u64,
    /// Index of the field.
    pub field: usize,
    pub start: u32,
    pub length: u32,
}

const fn crc(width: u32, polynomial: u64, reversed: bool, initial: u64, xor: u64) -> Crc {
    Crc { width, polynomial, initial, xor, reversed }
}

/// Algorithms that controllers name, under the names that Tofino's drivers have for them: those of the
/// catalogue of parametrised CRC algorithms, but that `CRC_8_ITU` begins with 0x55, and the reversed register of
/// `CRC_16_RIELLO` with 0xb2aa.
const NAMED: [(&str, Crc); 41] = [
    ("CRC_8", crc(8, 0x07, false, 0, 0)),
    ("CRC_8_DARC", crc(8, 0x39, true, 0, 0)),
    ("CRC_8_I_CODE", crc(8, 0x1d, false, 0xfd, 0)),
    ("CRC_8_ITU", crc(8, 0x07, false, 0x55, 0x55)),
    ("CRC_8_MAXIM", crc(8, 0x31, true, 0, 0)),
    ("CRC_8_ROHC", crc(8, 0x07, true, 0xff, 0)),
    ("CRC_8_WCDMA", crc(8, 0x9b, true, 0, 0)),
    ("CRC_16", crc(16, 0x8005, true, 0, 0)),
    ("CRC_16_BYPASS", crc(16, 0x8005, false, 0, 0)),
    ("CRC_16_DDS_110", crc(16, 0x8005, false, 0x800d, 0)),
    ("CRC_16_DECT", crc(16, 0x0589, false, 1, 1)),
    ("CRC_16_DECT_R", crc(16, 0x0589, false, 0, 1)),
    ("CRC_16_DECT_X", crc(16, 0x0589, false, 0, 0)),
    ("CRC_16_DNP", crc(16, 0x3d65, true, 0, 0xffff)),
    ("CRC_16_EN_13757", crc(16, 0x3d65, false, 0, 0xffff)),
    ("CRC_16_GENIBUS", crc(16, 0x1021, false, 0xffff, 0xffff)),
    ("CRC_16_MAXIM", crc(16, 0x8005, true, 0, 0xffff)),
    ("CRC_16_MCRF4XX", crc(16, 0x1021, true, 0xffff, 0)),
    ("CRC_16_RIELLO", crc(16, 0x1021, true, 0x554d, 0)),
    ("CRC_16_T10_DIF", crc(16, 0x8bb7, false, 0, 0)),
    ("CRC_16_TELEDISK", crc(16, 0xa097, false, 0, 0)),
    ("CRC_16_USB", crc(16, 0x8005, true, 0xffff, 0xffff)),
    ("X_25", crc(16, 0x1021, true, 0xffff, 0xffff)),
    ("XMODEM", crc(16, 0x1021, false, 0, 0)),
    ("MODBUS", crc(16, 0x8005, true, 0xffff, 0)),
    ("KERMIT", crc(16, 0x1021, true, 0, 0)),
    ("CRC_CCITT_FALSE", crc(16, 0x1021, false, 0xffff, 0)),
    ("CRC_AUG_CCITT", crc(16, 0x1021, false, 0x1d0f, 0)),
    ("CRC_32", crc(32, 0x04c1_1db7, true, 0xffff_ffff, 0xffff_ffff)),
    ("CRC_32_BZIP2", crc(32, 0x04c1_1db7, false, 0xffff_ffff, 0xffff_ffff)),
    ("CRC_32C", crc(32, 0x1edc_6f41, true, 0xffff_ffff, 0xffff_ffff)),
    ("CRC_32D", crc(32, 0xa833_982b, true, 0xffff_ffff, 0xffff_ffff)),
    ("CRC_32_MPEG", crc(32, 0x04c1_1db7, false, 0xffff_ffff, 0)),
    ("POSIX", crc(32, 0x04c1_1db7, false, 0, 0xffff_ffff)),
    ("CRC_32Q", crc(32, 0x8141_41ab, false, 0, 0)),
    ("JAMCRC", crc(32, 0x04c1_1db7, true, 0xffff_ffff, 0)),
    ("XFER", crc(32, 0xaf, false, 0, 0)),
    ("CRC_64", crc(64, 0x42f0_e1eb_a9ea_3693, false, 0, 0)),
    ("CRC_64_GO_ISO", crc(64, 0x1b, true, u64::MAX, u64::MAX)),
    ("CRC_64_WE", crc(64, 0x42f0_e1eb_a9ea_3693, false, u64::MAX, u64::MAX)),
    ("CRC_64_JONES", crc(64, 0xad93_d235_94c9_35a9, true, u64::MAX, 0)),
];

/// The names of algorithms in `bf-rt.json`.
pub(crate) const NAMES: [&str; NAMED.len() + 2] = names();

const fn names() -> [&'static str; NAMED.len() + 2] {
    let mut names = ["IDENTITY"; NAMED.len() + 2];
    names[1] = "XOR";
    let mut at = 0;
    while at < NAMED.len() {
        names[at + 2] = NAMED[at].0;
        at += 1;
    }
    names
}

impl Function {
    /// The function of a name, in whatever case.
    ///
    /// # Errors
    /// If there is none, or it is not one of a form.
    pub(crate) fn named(name: &str, width: u32) -> Result<Function> {
        let upper = name.to_ascii_uppercase();
        match upper.as_str() {
            "IDENTITY" => Ok(Function::Identity),
            "XOR" => Ok(Function::Xor(width)),
            "RANDOM" => Err(unimplemented("`RANDOM` has no function here that could be the device's")),
            _ => {
                let found = NAMED.iter().find(|(known, _)| *known == upper);
                found
                    .map(|(_, crc)| Function::Crc(*crc))
                    .ok_or_else(|| invalid(format!("there is no algorithm `{name}`")))
            }
        }
    }

    /// Bits of its result, if these are not those that are wanted.
    fn bits(self) -> Option<u32> {
        match self {
            Function::Identity => None,
            Function::Xor(bits) | Function::Crc(Crc { width: bits, .. }) => Some(bits),
        }
    }

    /// The function of bits, the first one first.
    fn of(self, bits: &[bool]) -> u64 {
        match self {
            Function::Identity => number(&bits[bits.len().saturating_sub(WORD)..]),
            Function::Xor(width) => {
                let words = bits.chunks(width.max(1) as usize);
                words.fold(0, |sum, word| sum ^ number(word) << (width as usize - word.len()))
            }
            Function::Crc(crc) => crc.of(bits),
        }
    }
}

fn number(bits: &[bool]) -> u64 {
    bits.iter().fold(0, |number, bit| number << 1 | u64::from(*bit))
}

fn ones(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits.min(64)) }
}

impl Crc {
    /// The CRC of bits, which are filled up to bytes with zeros at their beginning.
    fn of(self, bits: &[bool]) -> u64 {
        let mask = ones(self.width);
        let missing = bits.len().next_multiple_of(8) - bits.len();
        let all: Vec<bool> = std::iter::repeat_n(false, missing).chain(bits.iter().copied()).collect();
        let mut crc = self.initial & mask;
        for byte in all.chunks(8) {
            let mut feed = |bit: bool| {
                let out = (crc >> (self.width - 1) & 1 == 1) != bit;
                crc = (crc << 1 & mask) ^ if out { self.polynomial & mask } else { 0 };
            };
            match self.reversed {
                true => byte.iter().rev().for_each(|bit| feed(*bit)),
                false => byte.iter().for_each(|bit| feed(*bit)),
            }
        }
        let crc = if self.reversed { crc.reverse_bits() >> (64 - self.width) } else { crc };
        crc ^ (self.xor & mask)
    }
}

impl Algorithm {
    /// The hash of bits in a result of this width.
    fn of(&self, bits: &[bool], width: u32) -> u64 {
        let mut result = self.function.of(bits);
        if let Some(own) = self.function.bits().filter(|own| self.extends && *own < width) {
            let mut have = own;
            while have < width {
                result |= (result & ones(own)) << have;
                have += own;
            }
        }
        result &= ones(width);
        let rotate = self.rotate % width;
        let rotated = if rotate == 0 { result } else { result << rotate | result >> (width - rotate) };
        (rotated ^ self.seed) & ones(width)
    }
}

impl Hash {
    /// All bits of all fields, in the program's order.
    pub(crate) fn all(&self) -> Vec<Slice> {
        let slice = |(field, (_, length)): (usize, &(String, u32))| Slice {
            order: field as u64 + 1,
            field,
            start: 0,
            length: *length,
        };
        self.fields.iter().enumerate().map(slice).collect()
    }

    /// Checks slices: within their fields, none twice, and no more than two of an order, which are equally long.
    pub(crate) fn check(&self, slices: &[Slice]) -> Result<()> {
        let mut seen: Vec<Vec<bool>> = self.fields.iter().map(|(_, bits)| vec![false; *bits as usize]).collect();
        let mut orders: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for slice in slices {
            let (name, bits) = &self.fields[slice.field];
            if slice.start >= *bits || slice.length == 0 || slice.length > bits - slice.start {
                return Err(invalid(format!("`{name}` has {bits} bits: start_bit {} is too high", slice.start)));
            }
            for bit in slice.start..slice.start + slice.length {
                if std::mem::replace(&mut seen[slice.field][bit as usize], true) {
                    return Err(invalid(format!("bit {bit} of `{name}` is in two slices")));
                }
            }
            orders.entry(slice.order).or_default().push(slice.length);
        }
        for (order, lengths) in orders {
            match lengths.as_slice() {
                [_] => {}
                [a, b] if a == b => {}
                [_, _] => return Err(invalid(format!("two slices of order {order} have different lengths"))),
                _ => return Err(invalid(format!("more than two slices are of order {order}"))),
            }
        }
        Ok(())
    }

    /// Bits of the data.
    fn data_bits(&self) -> usize {
        self.fields.iter().map(|(_, bits)| *bits as usize).sum()
    }

    /// What is hashed of data, whose bits are given from the lowest on.
    fn hashed(&self, slices: &[Slice], data: &[bool]) -> Vec<bool> {
        let mut ordered: Vec<&Slice> = slices.iter().collect();
        ordered.sort();
        let bits_of = |slice: &Slice| -> Vec<bool> {
            let below: u32 = self.fields[slice.field + 1..].iter().map(|(_, bits)| bits).sum();
            let low = (below + slice.start) as usize;
            (low..low + slice.length as usize).rev().map(|bit| data[bit]).collect()
        };
        let mut out = Vec::new();
        let mut rest = ordered.as_slice();
        while let [first, after @ ..] = rest {
            let mine = bits_of(first);
            match after {
                [second, further @ ..] if second.order == first.order => {
                    out.extend(std::iter::repeat_n(false, mine.len()));
                    out.extend(mine.iter().zip(bits_of(second)).map(|(a, b)| *a != b));
                    rest = further;
                }
                _ => {
                    out.extend(mine);
                    rest = after;
                }
            }
        }
        out
    }

    /// The hash of data, which are given field by field.
    pub(crate) fn value(&self, algorithm: &Algorithm, slices: &[Slice], fields: &[num_bigint::BigUint]) -> u64 {
        let mut data = Vec::with_capacity(self.data_bits());
        for ((_, bits), value) in self.fields.iter().zip(fields).rev() {
            data.extend((0..*bits).map(|bit| value.bit(bit.into())));
        }
        algorithm.of(&self.hashed(slices, &data), self.width)
    }

    /// The form of the hash, as the object of the data plane takes it.
    pub(crate) fn form(&self, algorithm: &Algorithm, slices: &[Slice]) -> Vec<u8> {
        let bits = self.data_bits();
        let words = bits.div_ceil(WORD);
        let mut data = vec![false; bits];
        let constant = algorithm.of(&self.hashed(slices, &data), self.width);
        let mut masks = vec![0u64; words * WORD];
        for bit in 0..bits {
            data[bit] = true;
            let effect = algorithm.of(&self.hashed(slices, &data), self.width) ^ constant;
            data[bit] = false;
            for to in (0..WORD).filter(|to| effect >> to & 1 == 1) {
                masks[to * words + bit / WORD] |= 1 << (bit % WORD);
            }
        }
        std::iter::once(constant).chain(masks).flat_map(u64::to_le_bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(bytes: &[u8]) -> Vec<bool> {
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect()
    }

    /// The check values of the catalogue of parametrised CRC algorithms.
    #[test]
    fn crcs_of_the_usual_nine_digits() {
        for (name, expected) in [
            ("crc_8", 0xf4),
            ("crc_8_darc", 0x15),
            ("crc_8_rohc", 0xd0),
            ("crc_16", 0xbb3d),
            ("crc_16_dnp", 0xea82),
            ("crc_16_usb", 0xb4c8),
            ("x_25", 0x906e),
            ("xmodem", 0x31c3),
            ("modbus", 0x4b37),
            ("kermit", 0x2189),
            ("crc_ccitt_false", 0x29b1),
            ("crc_aug_ccitt", 0xe5cc),
            ("crc_32", 0xcbf4_3926),
            ("crc_32_bzip2", 0xfc89_1918),
            ("crc_32c", 0xe306_9283),
            ("crc_32d", 0x8731_5576),
            ("crc_32_mpeg", 0x0376_e6e7),
            ("posix", 0x765e_7680),
            ("crc_32q", 0x3010_bf7f),
            ("jamcrc", 0x340b_c6d9),
            ("xfer", 0xbd0b_e338),
            ("crc_64", 0x6c40_df5f_0b49_7347),
            ("crc_64_we", 0x62ec_59e3_f1a4_f00a),
            ("crc_64_go_iso", 0xb909_56c7_75a4_1001),
        ] {
            let function = Function::named(name, 32).unwrap();
            assert_eq!(function.of(&bits(b"123456789")), expected, "{name}");
        }
        assert!(Function::named("random", 32).is_err() && Function::named("crc_9", 32).is_err());
    }

    fn hash() -> Hash {
        let fields = vec![("a".to_string(), 16), ("b".to_string(), 12), ("c".to_string(), 48)];
        Hash { width: 40, fields, ..Hash::default() }
    }

    /// The data plane's side of a form.
    fn of_form(form: &[u8], data: &[u64]) -> u64 {
        let words: Vec<u64> = form.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
        let masks = words[1..].chunks(data.len()).enumerate();
        masks.fold(words[0], |result, (at, masks)| {
            let ones: u32 = masks.iter().zip(data).map(|(mask, word)| (mask & word).count_ones()).sum();
            result ^ u64::from(ones & 1) << at
        })
    }

    #[test]
    fn a_form_computes_the_hash() {
        let hash = hash();
        let slice = |order, field, start, length| Slice { order, field, start, length };
        let slices = [slice(3, 0, 0, 16), slice(1, 2, 8, 30), slice(2, 1, 4, 8), slice(2, 2, 0, 8)];
        hash.check(&slices).unwrap();
        let (a, b, c) = (0xbeef_u64, 0x123_u64, 0xfedc_ba98_7654_u64);
        let data = [c | b << 48 | a << 60, a >> 4];
        for function in [Function::Identity, Function::Xor(16), Function::named("crc_32", 40).unwrap()] {
            for (extends, rotate, seed) in [(false, 0, 0), (true, 7, 0x55)] {
                let algorithm = Algorithm { function, extends, rotate, seed };
                for chosen in [&slices[..], &hash.all()] {
                    let expected = hash.value(&algorithm, chosen, &[a.into(), b.into(), c.into()]);
                    assert_eq!(of_form(&hash.form(&algorithm, chosen), &data), expected, "{algorithm:?}");
                }
            }
        }
    }

    #[test]
    fn slices_of_one_order_are_symmetric_and_others_are_not() {
        let hash = Hash { width: 32, fields: vec![("a".into(), 16), ("b".into(), 16)], ..Hash::default() };
        let slice = |order, field| Slice { order, field, start: 0, length: 16 };
        let algorithm = Algorithm { function: Function::named("crc_32", 32).unwrap(), ..Algorithm::default() };
        let value = |slices: &[Slice], a: u32, b: u32| hash.value(&algorithm, slices, &[a.into(), b.into()]);
        let symmetric = [slice(1, 0), slice(1, 1)];
        assert_eq!(value(&symmetric, 5, 9), value(&symmetric, 9, 5));
        assert_ne!(value(&hash.all(), 5, 9), value(&hash.all(), 9, 5));
        let swapped = [slice(2, 0), slice(1, 1)];
        assert_eq!(value(&swapped, 5, 9), value(&hash.all(), 9, 5));
    }

    #[test]
    fn slices_that_make_no_sense_are_refused() {
        let hash = hash();
        let slice = |order, field, start, length| Slice { order, field, start, length };
        for (bad, reason) in [
            (vec![slice(1, 0, 0, 8), slice(2, 0, 7, 2)], "bit 7 of `a` is in two slices"),
            (vec![slice(1, 0, 16, 1)], "start_bit 16"),
            (vec![slice(1, 0, 0, 8), slice(1, 2, 0, 9)], "different lengths"),
            (vec![slice(1, 0, 0, 4), slice(1, 1, 0, 4), slice(1, 2, 0, 4)], "more than two"),
        ] {
            let failure = hash.check(&bad).unwrap_err();
            assert!(failure.message.contains(reason), "{}", failure.message);
        }
    }
}
