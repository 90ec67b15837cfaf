//! Match kinds of table keys, and how an entry matches one key.
//!
//! A [`MatchKind`] is described by its [`MatchKindInfo`]: its name in P4, the [`MatchForm`] of its entries, and its
//! [`Precedence`]. Everything else depends on this description only: checks of entries, the text form, table
//! structures, packet tests and P4Runtime. There is one form for each kind of match that P4Runtime has a message for.

use std::fmt::{self, Display, Formatter};

use num_bigint::BigUint;
use num_traits::ToPrimitive as _;
use serde::{Deserialize, Serialize};

use crate::bits;

/// The kind of match of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MatchKind {
    /// The key equals the entry's value.
    Exact,
    /// The key begins with the entry's prefix; the longest prefix wins.
    Lpm,
    /// The key has the entry's value where the mask has ones; the highest priority wins.
    Ternary,
    /// The key is between the entry's bounds; the highest priority wins.
    Range,
    /// The key equals the entry's value, or the entry matches anything; the highest priority wins.
    Optional,
    /// Not matched; an input of an action selector's hash.
    Selector,
    /// Like ternary, but the entry whose masks have the most ones wins, and entries have no priorities.
    Masked,
    /// The key ends with the entry's suffix, a value under a mask whose ones are the lowest bits; the longest suffix wins.
    Suffix,
}

/// The form in which an entry specifies a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatchForm {
    /// A value: [`MatchValue::Exact`].
    Value,
    /// A prefix: [`MatchValue::Lpm`].
    Prefix,
    /// A value and a mask: [`MatchValue::Ternary`].
    Mask,
    /// Two bounds: [`MatchValue::Range`].
    Range,
    /// A value, or anything: [`MatchValue::Optional`].
    ValueOrAny,
    /// Nothing, because the key is not matched: [`MatchValue::Optional`] without a value.
    Nothing,
}

impl MatchForm {
    /// What may be written for a key of this form.
    fn takes(self) -> &'static str {
        match self {
            MatchForm::Prefix => "a value, a prefix or a mask that is one",
            MatchForm::Mask => "a value, a prefix or a mask",
            MatchForm::Range => "a value or a range",
            MatchForm::Value | MatchForm::ValueOrAny | MatchForm::Nothing => "a value",
        }
    }
}

/// How a key decides which of several matching entries wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precedence {
    /// It does not: entries that differ in this key never match the same packet.
    Distinct,
    /// The entry that compares more bits wins ([`MatchValue::compared_bits`]), unless entries have priorities because
    /// of another key.
    MoreBits,
    /// The entry with the higher priority wins.
    Priority,
}

/// The description of a match kind.
#[derive(Clone, Copy, Debug)]
pub struct MatchKindInfo {
    /// The name in P4 and P4Runtime.
    pub name: &'static str,
    /// The form of entries.
    pub form: MatchForm,
    /// Which entry wins.
    pub precedence: Precedence,
}

impl MatchKind {
    /// All match kinds.
    pub const ALL: [MatchKind; 8] = {
        use MatchKind::*;
        [Exact, Lpm, Ternary, Range, Optional, Selector, Masked, Suffix]
    };

    /// Returns the description.
    pub const fn info(self) -> MatchKindInfo {
        let (name, form, precedence) = match self {
            MatchKind::Exact => ("exact", MatchForm::Value, Precedence::Distinct),
            MatchKind::Lpm => ("lpm", MatchForm::Prefix, Precedence::MoreBits),
            MatchKind::Ternary => ("ternary", MatchForm::Mask, Precedence::Priority),
            MatchKind::Range => ("range", MatchForm::Range, Precedence::Priority),
            MatchKind::Optional => ("optional", MatchForm::ValueOrAny, Precedence::Priority),
            MatchKind::Selector => ("selector", MatchForm::Nothing, Precedence::Distinct),
            MatchKind::Masked => ("masked", MatchForm::Mask, Precedence::MoreBits),
            MatchKind::Suffix => ("suffix", MatchForm::Mask, Precedence::MoreBits),
        };
        MatchKindInfo { name, form, precedence }
    }

    /// Returns the kind with this name.
    pub fn by_name(name: &str) -> Option<MatchKind> {
        MatchKind::ALL.into_iter().find(|kind| kind.info().name == name)
    }

    /// Returns the form in which entries specify keys of this kind.
    pub const fn form(self) -> MatchForm {
        self.info().form
    }

    /// Whether packets are compared with entries in this key.
    pub fn is_matched(self) -> bool {
        self.form() != MatchForm::Nothing
    }

    /// Whether entries may have this mask, as far as the form [`MatchForm::Mask`] does not say it.
    pub fn allows_mask(self, mask: &BigUint) -> bool {
        // Ones at the low end: one more is a power of two.
        self != MatchKind::Suffix || mask & (mask + 1u32) == BigUint::ZERO
    }

    /// Converts a match for a key of `width` bits to the form of this kind. A plain value is valid for every form. Bits
    /// outside of a mask or prefix are cleared.
    ///
    /// # Errors
    /// This kind cannot express the match.
    pub fn value(self, written: WrittenMatch, width: u32) -> Result<MatchValue, MatchError> {
        let value = match (self.form(), written) {
            (MatchForm::Value, WrittenMatch::Value(value)) => MatchValue::Exact(value),
            (MatchForm::ValueOrAny, WrittenMatch::Value(value)) => MatchValue::Optional(Some(value)),
            (MatchForm::Prefix, WrittenMatch::Value(value)) => MatchValue::Lpm { value, prefix_len: width },
            (MatchForm::Prefix, WrittenMatch::Prefix(value, prefix_len)) => {
                MatchValue::Lpm { value: value & prefix_of(prefix_len, width)?, prefix_len }
            }
            (MatchForm::Prefix, WrittenMatch::Mask(value, mask)) => {
                let prefix_len = mask.count_ones() as u32;
                if mask != prefix(prefix_len, width) {
                    return Err(MatchError::NoPrefix(self));
                }
                MatchValue::Lpm { value: value & mask, prefix_len }
            }
            (MatchForm::Mask, WrittenMatch::Value(value)) => MatchValue::Ternary { value, mask: bits::mask(width) },
            (MatchForm::Mask, WrittenMatch::Prefix(value, prefix_len)) => {
                let mask = prefix_of(prefix_len, width)?;
                MatchValue::Ternary { value: value & &mask, mask }
            }
            (MatchForm::Mask, WrittenMatch::Mask(value, mask)) => MatchValue::Ternary { value: value & &mask, mask },
            (MatchForm::Range, WrittenMatch::Value(value)) => MatchValue::Range { lo: value.clone(), hi: value },
            (MatchForm::Range, WrittenMatch::Range(lo, hi)) => MatchValue::Range { lo, hi },
            (_, WrittenMatch::Any) => self.any(width).ok_or(MatchError::Any(self))?,
            _ => return Err(MatchError::Form(self)),
        };
        match &value {
            MatchValue::Ternary { mask, .. } if !self.allows_mask(mask) => Err(MatchError::Mask(self)),
            _ => Ok(value),
        }
    }

    /// Returns the match that accepts every value of a key of `width` bits, if this kind can express it.
    pub fn any(self, width: u32) -> Option<MatchValue> {
        let zero = BigUint::ZERO;
        Some(match self.form() {
            MatchForm::Value => return None,
            MatchForm::Prefix => MatchValue::Lpm { value: zero, prefix_len: 0 },
            MatchForm::Mask => MatchValue::Ternary { value: zero.clone(), mask: zero },
            MatchForm::Range => MatchValue::Range { lo: zero, hi: bits::mask(width) },
            MatchForm::ValueOrAny | MatchForm::Nothing => MatchValue::Optional(None),
        })
    }
}

impl Display for MatchKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

/// Returns the mask of a prefix.
fn prefix(len: u32, width: u32) -> BigUint {
    let rest = width.saturating_sub(len);
    (bits::mask(width) >> rest) << rest
}

/// The mask of a prefix that was written.
fn prefix_of(len: u32, width: u32) -> Result<BigUint, MatchError> {
    if len > width { Err(MatchError::LongPrefix { len, width }) } else { Ok(prefix(len, width)) }
}

/// Why a key of a kind cannot be matched as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchError {
    /// The kind has no such form.
    #[error("a key of kind {0} takes {takes}", takes = .0.form().takes())]
    Form(MatchKind),
    /// Keys of the kind cannot match everything.
    #[error("a key of kind {0} needs a value")]
    Any(MatchKind),
    /// A prefix is longer than the key.
    #[error("prefix length {len} is beyond {width} bits")]
    LongPrefix {
        /// Its length in bits.
        len: u32,
        /// The bits of the key.
        width: u32,
    },
    /// The ones of the mask are not the highest bits.
    #[error("the mask of an {0} key must be a prefix")]
    NoPrefix(MatchKind),
    /// [`MatchKind::allows_mask`] does not allow the mask.
    #[error("the ones in the mask of a {0} key must be its lowest bits")]
    Mask(MatchKind),
}

/// A match as programs, packet tests and control planes specify it, independent of the key's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenMatch {
    /// Anything.
    Any,
    /// One value.
    Value(BigUint),
    /// The leading bits, and their number.
    Prefix(BigUint, u32),
    /// A value where a mask has ones.
    Mask(BigUint, BigUint),
    /// An inclusive range.
    Range(BigUint, BigUint),
}

/// How an entry matches one key. Values are the bits of the key's type, less than 2^W.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MatchValue {
    /// The key equals the value.
    Exact(BigUint),
    /// The leading `prefix_len` bits are equal. The value's other bits are zero.
    Lpm {
        /// Prefix.
        value: BigUint,
        /// 0 to W.
        prefix_len: u32,
    },
    /// The key equals the value where the mask has ones. The value's other bits are zero.
    Ternary {
        /// Value.
        value: BigUint,
        /// Mask.
        mask: BigUint,
    },
    /// `lo <= key <= hi`, unsigned.
    Range {
        /// Lowest.
        lo: BigUint,
        /// Highest.
        hi: BigUint,
    },
    /// The key equals the value; `None` matches anything.
    Optional(Option<BigUint>),
}

impl MatchValue {
    /// Returns whether a key of `width` bits matches. This is the definition that all table structures must agree with.
    pub fn matches(&self, key: &BigUint, width: u32) -> bool {
        match self {
            MatchValue::Exact(v) => v == key,
            MatchValue::Lpm { value, prefix_len } => match width - prefix_len.min(&width) {
                0 => key == value,
                // Numbers of any width are on the heap: where they fit a machine's, none is made.
                rest => match (key.to_u128(), value.to_u128()) {
                    (Some(key), Some(value)) => (key ^ value).checked_shr(rest).unwrap_or(0) == 0,
                    _ => key >> rest == value >> rest,
                },
            },
            MatchValue::Ternary { value, mask } => match (key.to_u128(), value.to_u128(), mask.to_u128()) {
                (Some(key), Some(value), Some(mask)) => (key ^ value) & mask == 0,
                _ => key & mask == value & mask,
            },
            MatchValue::Range { lo, hi } => lo <= key && key <= hi,
            MatchValue::Optional(v) => v.as_ref().is_none_or(|v| v == key),
        }
    }

    /// Returns how many bits of the key a prefix or mask compares; zero for other forms. The sum over an entry's keys
    /// ranks entries without priorities ([`Precedence::MoreBits`]).
    pub fn compared_bits(&self) -> u32 {
        match self {
            MatchValue::Lpm { prefix_len, .. } => *prefix_len,
            MatchValue::Ternary { mask, .. } => mask.count_ones() as u32,
            MatchValue::Exact(_) | MatchValue::Range { .. } | MatchValue::Optional(_) => 0,
        }
    }

    /// Returns the value and mask that the match is equivalent to; `None` for ranges.
    pub fn value_and_mask(&self, width: u32) -> Option<(BigUint, BigUint)> {
        match self {
            MatchValue::Exact(v) | MatchValue::Optional(Some(v)) => Some((v.clone(), bits::mask(width))),
            MatchValue::Optional(None) => Some(Default::default()),
            MatchValue::Lpm { value, prefix_len } => Some((value.clone(), prefix(*prefix_len, width))),
            MatchValue::Ternary { value, mask } => Some((value.clone(), mask.clone())),
            MatchValue::Range { .. } => None,
        }
    }

    /// Returns the rank of an entry among those that match the same packet. The highest rank wins; of equal ranks, the
    /// entry inserted first. `has_priority` is the table's [`super::Table::has_priority`].
    pub fn rank(matches: &[MatchValue], priority: i32, has_priority: bool) -> i64 {
        if has_priority {
            return i64::from(priority);
        }
        matches.iter().map(|m| i64::from(m.compared_bits())).sum()
    }

    /// Returns the match of a key that an entry does not mention: any value, or zero for kinds that cannot express that
    /// (the convention of STF).
    pub fn any(key: &super::Key) -> MatchValue {
        key.kind.any(key.expr.ty.width()).unwrap_or(MatchValue::Exact(BigUint::ZERO))
    }

    /// Returns whether the match has this form.
    pub fn has_form(&self, form: MatchForm) -> bool {
        match self {
            MatchValue::Exact(_) => form == MatchForm::Value,
            MatchValue::Lpm { .. } => form == MatchForm::Prefix,
            MatchValue::Ternary { .. } => form == MatchForm::Mask,
            MatchValue::Range { .. } => form == MatchForm::Range,
            MatchValue::Optional(Some(_)) => form == MatchForm::ValueOrAny,
            MatchValue::Optional(None) => matches!(form, MatchForm::ValueOrAny | MatchForm::Nothing),
        }
    }
}

/// Formats a match: `0x0a00/8`, `0x10 &&& 0xf0`, `0x1..0x5`, `_`.
impl Display for MatchValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            MatchValue::Exact(v) | MatchValue::Optional(Some(v)) => write!(f, "0x{v:x}"),
            MatchValue::Lpm { value, prefix_len } => write!(f, "0x{value:x}/{prefix_len}"),
            MatchValue::Ternary { value, mask } => write!(f, "0x{value:x} &&& 0x{mask:x}"),
            MatchValue::Range { lo, hi } => write!(f, "0x{lo:x}..0x{hi:x}"),
            MatchValue::Optional(None) => f.write_str("_"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_their_names() {
        for kind in MatchKind::ALL {
            assert_eq!(MatchKind::by_name(kind.info().name), Some(kind));
        }
        assert_eq!(MatchKind::by_name("atcam"), None);
    }

    #[test]
    fn what_matches_anything_has_the_form_of_its_kind_and_matches_all() {
        for kind in MatchKind::ALL {
            let Some(any) = kind.any(4) else { continue };
            assert!(any.has_form(kind.form()), "{kind}");
            assert!((0u32..16).all(|key| any.matches(&key.into(), 4)), "{kind}");
        }
    }

    #[test]
    fn prefixes_and_masks_compare_numbers_of_any_width() {
        for width in [4u32, 64, 127, 128, 129, 200] {
            let bit = |at: u32| BigUint::from(1u32) << at;
            let value = bit(width - 1) + 1u32;
            for flipped in 0..width {
                let key = &value ^ bit(flipped);
                for prefix_len in 0..=width {
                    let lpm = MatchValue::Lpm { value: value.clone(), prefix_len };
                    assert!(lpm.matches(&value, width));
                    assert_eq!(
                        lpm.matches(&key, width),
                        flipped < width - prefix_len,
                        "{width} {flipped} {prefix_len}"
                    );
                }
                for compared in 0..width {
                    let ternary = MatchValue::Ternary { value: value.clone(), mask: bit(compared) };
                    assert_eq!(ternary.matches(&key, width), flipped != compared, "{width} {flipped} {compared}");
                }
            }
        }
    }

    #[test]
    fn a_value_is_a_match_of_each_kind_that_has_values() {
        for kind in MatchKind::ALL.into_iter().filter(|kind| kind.is_matched()) {
            let value = kind.value(WrittenMatch::Value(5u32.into()), 4).unwrap();
            assert!(value.has_form(kind.form()), "{kind}");
            let matched: Vec<u32> = (0..16).filter(|key| value.matches(&(*key).into(), 4)).collect();
            assert_eq!(matched, [5], "{kind}");
        }
    }

    #[test]
    fn only_prefixes_are_masks_of_lpm_keys() {
        let mask = |kind: MatchKind, mask: u32| kind.value(WrittenMatch::Mask(0xffu32.into(), mask.into()), 8);
        let lpm = MatchValue::Lpm { value: 0xe0u32.into(), prefix_len: 3 };
        assert_eq!(mask(MatchKind::Lpm, 0xe0), Ok(lpm));
        assert!(mask(MatchKind::Lpm, 0x70).is_err());
        let masked = MatchValue::Ternary { value: 0x70u32.into(), mask: 0x70u32.into() };
        assert_eq!(masked.compared_bits(), 3);
        assert_eq!(mask(MatchKind::Masked, 0x70), Ok(masked));
        assert!(mask(MatchKind::Exact, 0x70).is_err());
    }

    #[test]
    fn only_masks_of_the_lowest_bits_are_masks_of_suffix_keys() {
        let mask = |mask: u32| MatchKind::Suffix.value(WrittenMatch::Mask(0xa5u32.into(), mask.into()), 8);
        for ones in 0..=8 {
            let low = (1u32 << ones) - 1;
            let value = mask(low).unwrap();
            assert_eq!(value, MatchValue::Ternary { value: (0xa5 & low).into(), mask: low.into() });
            assert_eq!(value.compared_bits(), ones);
        }
        for other in [0x80, 0xf0, 0x0e, 0x05, 0xfe] {
            assert!(mask(other).is_err(), "{other:#x}");
        }
    }
}
