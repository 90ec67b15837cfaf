//! `Hash` objects of Tofino programs: what they compute, as declared and as control planes change it.
//!
//! The lowering makes expressions of a hash ([`Configuration`] is its input); [`HashObject::compute`] computes the same of numbers.
//!
//! Data of a CRC that are not whole bytes are filled up with zeros at their beginning. A result that is wider than the CRC repeats it: bit
//! *i* is bit *i* modulo the CRC's width, unless the CRC is not `extended`. That is what `dynamic_hash` of p4c's Tofino backend does.

use std::fmt;

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::bits::{self, BitString};
use crate::hash;
use crate::model::HashAlgorithm;

/// A CRC algorithm (the Rocksoft model). Bits of the data are taken from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc {
    /// Bits of the CRC: 1 to 64.
    pub width: u32,
    /// Without its highest bit.
    pub polynomial: u64,
    /// The remainder in front of the first byte.
    pub initial: u64,
    /// Is added to the result.
    pub xor: u64,
    /// Bytes are taken from their last bit on, and the result is reversed.
    pub reflected: bool,
    /// Wider results repeat it.
    pub extended: bool,
}

/// CRC-8/SMBUS.
pub const CRC8: Crc = Crc { width: 8, polynomial: 0x07, initial: 0, xor: 0, reflected: false, extended: true };
/// CRC-16/ARC.
pub const CRC16: Crc = Crc { width: 16, polynomial: 0x8005, initial: 0, xor: 0, reflected: true, extended: true };
/// CRC-32/ISO-HDLC.
pub const CRC32: Crc =
    Crc { width: 32, polynomial: 0x04c1_1db7, initial: 0xffff_ffff, xor: 0xffff_ffff, reflected: true, extended: true };
/// CRC-64/ECMA-182.
pub const CRC64: Crc =
    Crc { width: 64, polynomial: 0x42f0_e1eb_a9ea_3693, initial: 0, xor: 0, reflected: false, extended: true };

impl Crc {
    /// The CRC of bytes.
    pub fn of(&self, data: &[u8]) -> u64 {
        let mask = u64::MAX >> (64 - self.width);
        let mut crc = self.initial & mask;
        for byte in data {
            let byte = if self.reflected { byte.reverse_bits() } else { *byte };
            for bit in (0..8).rev() {
                let out = (crc >> (self.width - 1) & 1) ^ u64::from(byte >> bit & 1);
                crc = (crc << 1 & mask) ^ if out == 1 { self.polynomial & mask } else { 0 };
            }
        }
        let crc = if self.reflected { crc.reverse_bits() >> (64 - self.width) } else { crc };
        crc ^ (self.xor & mask)
    }

    /// The IR's algorithm that computes it, if there is one.
    pub fn algorithm(&self) -> Option<HashAlgorithm> {
        match (Crc { extended: true, ..*self }) {
            CRC16 => Some(HashAlgorithm::Crc16),
            CRC32 => Some(HashAlgorithm::Crc32),
            _ => None,
        }
    }
}

/// What a hash computes of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The data's last bits.
    Identity,
    /// [`HashAlgorithm::Random`].
    Random,
    /// A CRC.
    Crc(Crc),
    /// The exclusive or of words of this width. The last one is filled up with zeros at its end.
    Xor(u32),
}

impl Function {
    /// The result, of `width` bits, for data of `bits` bits.
    pub fn of(&self, data: &BigUint, bits: u32, width: u32) -> BigUint {
        let result = match self {
            Function::Identity => data.clone(),
            Function::Random => {
                let mut string = BitString::new();
                string.push(data, bits);
                bits::truncate(hash::hash(HashAlgorithm::Random, &string.into_bytes()).into(), width.min(64))
            }
            Function::Crc(crc) => {
                let bytes = data.to_bytes_be();
                let mut filled = vec![0; (bits.div_ceil(8) as usize).saturating_sub(bytes.len())];
                filled.extend(bytes);
                filled.truncate(bits.div_ceil(8) as usize);
                let crc_of_data = BigUint::from(crc.of(&filled));
                match crc.extended {
                    true => (0..width.div_ceil(crc.width).max(1))
                        .fold(BigUint::ZERO, |whole, at| whole | &crc_of_data << (at * crc.width)),
                    false => crc_of_data,
                }
            }
            Function::Xor(word) => {
                let padded = data << (bits.next_multiple_of(*word) - bits);
                let words = (0..bits.div_ceil(*word)).map(|at| bits::truncate(&padded >> (at * word), *word));
                words.fold(BigUint::ZERO, |sum, word| sum ^ word)
            }
        };
        bits::truncate(result, width)
    }
}

/// A part of the data of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the field.
    pub field: usize,
    /// Its lowest bit in the field.
    pub low: u32,
    /// Its bits.
    pub width: u32,
    /// Parts are hashed in this order. Of two with the same number, each is hashed as their exclusive or.
    pub order: u64,
}

/// What a control plane has changed of a hash. It begins with nothing changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// What is hashed, in the place of the fields as the program has them.
    pub parts: Option<Vec<Part>>,
    /// What is computed.
    pub function: Option<Function>,
    /// The result for data of zeros.
    pub seed: Option<u64>,
    /// The number of bits by which the bits of the result that the program uses are rotated to the left.
    pub rotate: u64,
}

impl Configuration {
    /// The parts, sorted. Each has the one that it is symmetric to.
    pub fn sorted(parts: &[Part]) -> Vec<(Part, Option<Part>)> {
        let mut sorted: Vec<(usize, Part)> = parts.iter().copied().enumerate().collect();
        sorted.sort_by_key(|(at, part)| (part.order, *at));
        let other = |at: usize, part: &Part| {
            sorted.iter().find(|(other, with)| *other != at && with.order == part.order).map(|(_, with)| *with)
        };
        sorted.iter().map(|(at, part)| (*part, other(*at, part))).collect()
    }
}

/// A field of the data of a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// As the program writes it; empty if it is no field of something.
    pub name: String,
    /// Its bits.
    pub width: u32,
    /// Its value, if that is constant.
    pub constant: Option<BigUint>,
}

/// A `Hash` object that is used in one place, as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashObject {
    /// Its control-plane name.
    pub name: String,
    /// What is hashed.
    pub fields: Vec<Field>,
    /// Fields that `@symmetric` names: both are hashed in the place of the later one, and zeros in that of the other.
    pub symmetric: Vec<(usize, usize)>,
    /// What is computed.
    pub function: Function,
    /// Bits of the result.
    pub width: u32,
    /// The highest and the lowest bit of it that the program uses.
    pub used: (u32, u32),
}

/// The most bits of a result, and of its data, that annotations may say: whoever made them, it is computed in no time.
const MAX_RESULT: u32 = 1 << 12;
const MAX_DATA: u64 = 1 << 16;

impl HashObject {
    /// The result for these values of the fields, which fit them, with a configuration. Bits that the program does not use are zero.
    pub fn compute(&self, configuration: &Configuration, values: &[BigUint]) -> BigUint {
        let (data, bits) = self.data(configuration, values);
        let function = configuration.function.unwrap_or(self.function);
        let nothing = bits == 0;
        let of = |data: &BigUint| if nothing { BigUint::ZERO } else { function.of(data, bits, self.width) };
        let mut result = of(&data);
        if let Some(seed) = configuration.seed {
            result ^= of(&BigUint::ZERO) ^ bits::truncate(seed.into(), self.width);
        }
        let (high, low) = self.used;
        let count = high - low + 1;
        let used = bits::slice(&result, high, low);
        let by = (configuration.rotate % u64::from(count)) as u32;
        bits::truncate(&used << by | used >> (count - by), count) << low
    }

    /// What is hashed, and its width.
    fn data(&self, configuration: &Configuration, values: &[BigUint]) -> (BigUint, u32) {
        let mut values: Vec<BigUint> = values.to_vec();
        values.resize(self.fields.len(), BigUint::ZERO);
        let whole = |(field, it): (usize, &Field)| Part { field, low: 0, width: it.width, order: field as u64 };
        let parts = match &configuration.parts {
            Some(parts) => Configuration::sorted(parts),
            None => {
                for (first, second) in &self.symmetric {
                    let (early, late) = (*first.min(second), *first.max(second));
                    let sum = &values[early] ^ &values[late];
                    (values[early], values[late]) = (BigUint::ZERO, sum);
                }
                self.fields.iter().enumerate().map(whole).map(|part| (part, None)).collect()
            }
        };
        let value = |part: &Part| match part.width {
            0 => BigUint::ZERO,
            width => bits::slice(&values[part.field], part.low + width - 1, part.low),
        };
        parts.iter().fold((BigUint::ZERO, 0), |(data, bits), (part, with)| {
            let own = value(part) ^ with.as_ref().map(value).unwrap_or_default();
            (data << part.width | own, bits + part.width)
        })
    }

    /// As annotations, which P4Info has in the place of a message for it.
    pub fn annotations(&self) -> Vec<String> {
        let (high, low) = self.used;
        let mut all = vec![format!("@function({})", self.function), format!("@width({})", self.width)];
        all.push(format!("@used({high} {low})"));
        all.extend(self.fields.iter().map(|field| match &field.constant {
            Some(value) => format!("@constant({} {value} {})", field.width, field.name),
            None => format!("@field({} {})", field.width, field.name),
        }));
        all.extend(self.symmetric.iter().map(|(first, second)| format!("@symmetric({first} {second})")));
        all
    }

    /// What annotations say; `None` if they are not those of a hash.
    pub fn from_annotations(name: &str, annotations: &[String]) -> Option<HashObject> {
        let (mut fields, mut symmetric, mut function, mut width, mut used) = (Vec::new(), Vec::new(), None, 0, None);
        for annotation in annotations {
            let (kind, text) = annotation.strip_prefix('@')?.strip_suffix(')')?.split_once('(')?;
            let pair = || text.split_once(' ').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            match kind {
                "function" => function = Some(Function::from_text(text)?),
                "width" => width = text.parse().ok()?,
                "used" => used = Some(pair()?),
                "symmetric" => {
                    let (first, second) = pair()?;
                    symmetric.push((first as usize, second as usize));
                }
                "field" => {
                    let (width, name) = text.split_once(' ')?;
                    fields.push(Field { name: name.into(), width: width.parse().ok()?, constant: None });
                }
                "constant" => {
                    let (width, rest) = text.split_once(' ')?;
                    let (value, name) = rest.split_once(' ')?;
                    let constant = Some(value.parse().ok()?);
                    fields.push(Field { name: name.into(), width: width.parse().ok()?, constant });
                }
                _ => {}
            }
        }
        let ((high, low), name) = (used?, name.to_string());
        let known = |(first, second): &(usize, usize)| *first < fields.len() && *second < fields.len();
        let small = width <= MAX_RESULT && !matches!(function, Some(Function::Xor(word)) if word > MAX_RESULT);
        let small = small && fields.iter().map(|field| u64::from(field.width)).sum::<u64>() <= MAX_DATA;
        let right = small && low <= high && high < width && symmetric.iter().all(known);
        right.then_some(HashObject { name, fields, symmetric, function: function?, width, used: (high, low) })
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Function::Identity => f.write_str("identity"),
            Function::Random => f.write_str("random"),
            Function::Xor(word) => write!(f, "xor {word}"),
            Function::Crc(Crc { width, polynomial, initial, xor, reflected, extended }) => {
                let flags = u8::from(*reflected) | u8::from(*extended) << 1;
                write!(f, "crc {width} {polynomial} {initial} {xor} {flags}")
            }
        }
    }
}

impl Function {
    fn from_text(text: &str) -> Option<Function> {
        let mut words = text.split(' ');
        let kind = words.next()?;
        let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        match (kind, numbers.as_slice()) {
            ("identity", []) => Some(Function::Identity),
            ("random", []) => Some(Function::Random),
            ("xor", &[word]) if word > 0 => Some(Function::Xor(word.to_u32()?)),
            ("crc", &[width @ 1..=64, polynomial, initial, xor, flags]) => {
                let (reflected, extended) = (flags & 1 != 0, flags & 2 != 0);
                Some(Function::Crc(Crc { width: width as u32, polynomial, initial, xor, reflected, extended }))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the catalogue of parametrised CRC algorithms.
    #[test]
    fn crcs_of_the_usual_nine_digits() {
        let of = |width, polynomial, initial, xor, reflected| {
            Crc { width, polynomial, initial, xor, reflected, extended: true }.of(b"123456789")
        };
        assert_eq!(CRC8.of(b"123456789"), 0xf4);
        assert_eq!(CRC16.of(b"123456789"), 0xbb3d);
        assert_eq!(CRC32.of(b"123456789"), 0xcbf4_3926);
        assert_eq!(CRC64.of(b"123456789"), 0x6c40_df5f_0b49_7347);
        assert_eq!(of(16, 0x1021, 0xffff, 0, false), 0x29b1);
        assert_eq!(of(12, 0x80f, 0, 0, false), 0xf5b);
    }

    fn hash(function: Function) -> HashObject {
        let field = |name: &str, width| Field { name: name.into(), width, constant: None };
        HashObject {
            name: "I.h".into(),
            fields: vec![field("hdr.a", 16), field("hdr.b", 16), field("hdr.c", 8)],
            symmetric: Vec::new(),
            function,
            width: 64,
            used: (31, 0),
        }
    }

    fn values(numbers: [u32; 3]) -> Vec<BigUint> {
        numbers.map(BigUint::from).to_vec()
    }

    #[test]
    fn annotations_say_what_an_object_is() {
        let mut object = hash(Function::Crc(Crc { extended: false, ..CRC64 }));
        object.symmetric = vec![(0, 1)];
        object.fields[2].constant = Some(BigUint::from(7u32));
        object.fields[2].name = String::new();
        for function in [object.function, Function::Identity, Function::Random, Function::Xor(16), Function::Crc(CRC32)]
        {
            let object = HashObject { function, ..object.clone() };
            assert_eq!(HashObject::from_annotations("I.h", &object.annotations()), Some(object));
        }
        assert_eq!(HashObject::from_annotations("I.h", &["@width(8)".into()]), None);
        assert_eq!(HashObject::from_annotations("I.h", &["@function(crc 99 1 1 1 1)".into()]), None);
        // They may come from a client: what would take long to compute, or overflow, is no hash.
        let of = |width: u32, high: u32, word: u32, field: u32| {
            let all = [format!("@width({width})"), format!("@used({high} 0)"), format!("@function(xor {word})")];
            let fields = ["a", "b"].map(|name| format!("@field({field} {name})"));
            HashObject::from_annotations("I.h", &[&all[..], &fields[..]].concat())
        };
        assert!(of(32, 31, 32, 4000).is_some());
        for numbers in [(u32::MAX, 31, 32, 8), (32, 32, 32, 8), (32, 31, u32::MAX, 8), (32, 31, 32, u32::MAX)] {
            let (width, high, word, field) = numbers;
            assert_eq!(of(width, high, word, field), None, "{numbers:?}");
        }
    }

    #[test]
    fn a_configuration_changes_what_is_hashed() {
        let object = hash(Function::Identity);
        let of = |parts: &[(usize, u32, u32, u64)], numbers| {
            let part = |&(field, low, width, order)| Part { field, low, width, order };
            let parts = Some(parts.iter().map(part).collect());
            object.compute(&Configuration { parts, ..Configuration::default() }, &values(numbers))
        };
        assert_eq!(
            object.compute(&Configuration::default(), &values([1, 2, 3])),
            BigUint::from(0x0000_0203u32 | 1 << 24)
        );
        assert_eq!(of(&[(0, 0, 16, 2), (1, 0, 16, 1)], [0x1234, 0x5678, 3]), BigUint::from(0x5678_1234u32));
        assert_eq!(of(&[(0, 4, 8, 1), (1, 0, 4, 7)], [0x1234, 0x5678, 3]), BigUint::from(0x238u32));
        // Symmetric parts, also of one field.
        assert_eq!(of(&[(0, 0, 16, 1), (1, 0, 16, 1)], [0x1234, 0x5678, 3]), BigUint::from(0x444c_444cu32));
        assert_eq!(of(&[(0, 0, 4, 1), (0, 8, 4, 1)], [0x0206, 0, 0]), BigUint::from(0x44u32));
        assert_eq!(of(&[], [1, 2, 3]), BigUint::ZERO);
    }

    #[test]
    fn seeds_take_the_place_of_the_constant_and_rotation_is_of_used_bits() {
        let object = hash(Function::Crc(CRC32));
        let plain = |numbers| object.compute(&Configuration::default(), &values(numbers));
        let crc = |bytes: &[u8]| BigUint::from(CRC32.of(bytes));
        assert_eq!(plain([0x1234, 0x5678, 0x9a]), crc(&[0x12, 0x34, 0x56, 0x78, 0x9a]));
        let seeded = Configuration { seed: Some(5), ..Configuration::default() };
        assert_eq!(object.compute(&seeded, &values([0, 0, 0])), BigUint::from(5u32));
        let difference = plain([1, 2, 3]) ^ plain([0, 0, 0]);
        assert_eq!(object.compute(&seeded, &values([1, 2, 3])), difference ^ BigUint::from(5u32));
        let rotated = Configuration { rotate: 34, ..Configuration::default() };
        let before = CRC32.of(&[0, 1, 0, 2, 3]) as u32;
        assert_eq!(object.compute(&rotated, &values([1, 2, 3])), BigUint::from(before.rotate_left(2)));
    }

    #[test]
    fn results_that_are_wider_repeat_an_extended_crc_and_words_are_summed() {
        let data = BigUint::from(0x0123_4567_89abu64);
        let bytes = [0x01, 0x23, 0x45, 0x67, 0x89, 0xab];
        let eight = CRC8.of(&bytes);
        assert_eq!(Function::Crc(CRC8).of(&data, 48, 12), BigUint::from(eight & 0xf) << 8u32 | BigUint::from(eight));
        assert_eq!(Function::Crc(Crc { extended: false, ..CRC8 }).of(&data, 48, 12), BigUint::from(eight));
        // Data of 45 bits are the last of 48.
        assert_eq!(Function::Crc(CRC8).of(&data, 45, 8), BigUint::from(eight));
        assert_eq!(Function::Xor(16).of(&data, 48, 16), BigUint::from(0x0123u32 ^ 0x4567 ^ 0x89ab));
        assert_eq!(Function::Xor(32).of(&data, 48, 32), BigUint::from(0x0123_4567u32 ^ 0x89ab_0000));
        assert!(Function::Random.of(&data, 48, 16) < BigUint::from(1u32 << 16));
        assert_eq!(Function::Identity.of(&data, 48, 48), data);
    }
}
