//! Match kinds of table keys, and how an entry matches one key.
//!
//! A [`MatchKind`] is described by its [`MatchKindInfo`]: its name in P4, the [`MatchForm`] of what entries say about
//! the key, and its [`Precedence`]. Everything else asks for these: checks of entries, the text form, table
//! structures, packet tests and P4Runtime. There is one form for each kind of match that P4Runtime has a message for.

use std::fmt::{self, Display, Formatter};

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use crate::bits;

/// How a key is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MatchKind {
    /// The key has the entry's value.
    Exact,
    /// The key begins with the entry's prefix; the longest prefix wins.
    Lpm,
    /// The key has the entry's value where the mask has ones; the highest priority wins.
    Ternary,
    /// The key is between the entry's bounds; the highest priority wins.
    Range,
    /// The key has the entry's value, or the entry takes any; the highest priority wins.
    Optional,
    /// Not matched; part of the hash of an action selector.
    Selector,
    /// As ternary, but the entry whose masks have most ones wins, and entries have no priorities.
    Masked,
}

/// What an entry says about a key.
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

/// Which of several entries that match wins, as far as one key decides that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precedence {
    /// Entries that differ in this key do not match the same packets.
    Distinct,
    /// The entry that compares more bits ([`MatchValue::compared_bits`]), unless entries have priorities because of
    /// another key.
    MoreBits,
    /// The entry of higher priority.
    Priority,
}

/// What is known of a match kind.
#[derive(Clone, Copy, Debug)]
pub struct MatchKindInfo {
    /// Its name in P4 and P4Runtime.
    pub name: &'static str,
    /// What entries say.
    pub form: MatchForm,
    /// Which entry wins.
    pub precedence: Precedence,
}

impl MatchKind {
    /// All of them.
    pub const ALL: [MatchKind; 7] = {
        use MatchKind::*;
        [Exact, Lpm, Ternary, Range, Optional, Selector, Masked]
    };

    /// What is known of it.
    pub const fn info(self) -> MatchKindInfo {
        let (name, form, precedence) = match self {
            MatchKind::Exact => ("exact", MatchForm::Value, Precedence::Distinct),
            MatchKind::Lpm => ("lpm", MatchForm::Prefix, Precedence::MoreBits),
            MatchKind::Ternary => ("ternary", MatchForm::Mask, Precedence::Priority),
            MatchKind::Range => ("range", MatchForm::Range, Precedence::Priority),
            MatchKind::Optional => ("optional", MatchForm::ValueOrAny, Precedence::Priority),
            MatchKind::Selector => ("selector", MatchForm::Nothing, Precedence::Distinct),
            MatchKind::Masked => ("masked", MatchForm::Mask, Precedence::MoreBits),
        };
        MatchKindInfo { name, form, precedence }
    }

    /// The kind with this name.
    pub fn by_name(name: &str) -> Option<MatchKind> {
        MatchKind::ALL.into_iter().find(|kind| kind.info().name == name)
    }

    /// What entries say about keys of this kind.
    pub const fn form(self) -> MatchForm {
        self.info().form
    }

    /// Whether packets' keys are compared at all.
    pub fn is_matched(self) -> bool {
        self.form() != MatchForm::Nothing
    }

    /// What an entry means by this about a key of `width` bits. A value stands for itself whatever the form. Bits outside
    /// a mask or prefix are cleared.
    ///
    /// # Errors
    /// A message if keys of this kind cannot be matched like that.
    pub fn value(self, written: WrittenMatch, width: u32) -> Result<MatchValue, String> {
        let MatchKindInfo { name, form, .. } = self.info();
        Ok(match (form, written) {
            (MatchForm::Value, WrittenMatch::Value(value)) => MatchValue::Exact(value),
            (MatchForm::ValueOrAny, WrittenMatch::Value(value)) => MatchValue::Optional(Some(value)),
            (MatchForm::Prefix, WrittenMatch::Value(value)) => MatchValue::Lpm { value, prefix_len: width },
            (MatchForm::Prefix, WrittenMatch::Prefix(value, prefix_len)) => {
                if prefix_len > width {
                    return Err(format!("prefix length {prefix_len} is beyond {width} bits"));
                }
                MatchValue::Lpm { value: value & prefix(prefix_len, width), prefix_len }
            }
            (MatchForm::Prefix, WrittenMatch::Mask(value, mask)) => {
                let prefix_len = mask.count_ones() as u32;
                if mask != prefix(prefix_len, width) {
                    return Err(format!("the mask of an {name} key must be a prefix"));
                }
                MatchValue::Lpm { value: value & mask, prefix_len }
            }
            (MatchForm::Mask, WrittenMatch::Value(value)) => MatchValue::Ternary { value, mask: bits::mask(width) },
            (MatchForm::Mask, WrittenMatch::Mask(value, mask)) => MatchValue::Ternary { value: value & &mask, mask },
            (MatchForm::Range, WrittenMatch::Value(value)) => MatchValue::Range { lo: value.clone(), hi: value },
            (MatchForm::Range, WrittenMatch::Range(lo, hi)) => MatchValue::Range { lo, hi },
            (_, WrittenMatch::Any) => match self.any(width) {
                Some(any) => any,
                None => return Err(format!("a key of kind {name} needs a value")),
            },
            _ => return Err(format!("this is no way to match a key of kind {name}")),
        })
    }

    /// The match of a key of `width` bits that takes every value, if there is one.
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

/// The ones of a prefix.
fn prefix(len: u32, width: u32) -> BigUint {
    let rest = width.saturating_sub(len);
    (bits::mask(width) >> rest) << rest
}

/// A match as programs, packet tests and control planes write it, whatever the key's kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WrittenMatch {
    /// Anything.
    Any,
    /// One value.
    Value(BigUint),
    /// The first bits, and how many.
    Prefix(BigUint, u32),
    /// A value where a mask has ones.
    Mask(BigUint, BigUint),
    /// From a value to another, both included.
    Range(BigUint, BigUint),
}

/// How an entry matches one key. Values are bits of the key's type, below 2^W.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MatchValue {
    /// Equal.
    Exact(BigUint),
    /// The first `prefix_len` bits are equal; bits beyond are zero.
    Lpm {
        /// Prefix.
        value: BigUint,
        /// 0 to W.
        prefix_len: u32,
    },
    /// Equal where the mask has ones; bits where it has zeros are zero in the value.
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
    /// Equal, or anything.
    Optional(Option<BigUint>),
}

impl MatchValue {
    /// True if a key value of `width` bits matches: the definition that fast tables must agree with.
    pub fn matches(&self, key: &BigUint, width: u32) -> bool {
        match self {
            MatchValue::Exact(v) => v == key,
            MatchValue::Lpm { value, prefix_len } => {
                let rest = width - prefix_len.min(&width);
                key >> rest == value >> rest
            }
            MatchValue::Ternary { value, mask } => key & mask == value & mask,
            MatchValue::Range { lo, hi } => lo <= key && key <= hi,
            MatchValue::Optional(v) => v.as_ref().is_none_or(|v| v == key),
        }
    }

    /// How many bits of the key a prefix or mask compares; zero for the other forms. The sum over an entry's keys ranks
    /// entries without priorities ([`Precedence::MoreBits`]).
    pub fn compared_bits(&self) -> u32 {
        match self {
            MatchValue::Lpm { prefix_len, .. } => *prefix_len,
            MatchValue::Ternary { mask, .. } => mask.count_ones() as u32,
            MatchValue::Exact(_) | MatchValue::Range { .. } | MatchValue::Optional(_) => 0,
        }
    }

    /// The bits that a key must have and those it is compared in; `None` for ranges, which are no such thing.
    pub fn value_and_mask(&self, width: u32) -> Option<(BigUint, BigUint)> {
        match self {
            MatchValue::Exact(v) | MatchValue::Optional(Some(v)) => Some((v.clone(), bits::mask(width))),
            MatchValue::Optional(None) => Some(Default::default()),
            MatchValue::Lpm { value, prefix_len } => Some((value.clone(), prefix(*prefix_len, width))),
            MatchValue::Ternary { value, mask } => Some((value.clone(), mask.clone())),
            MatchValue::Range { .. } => None,
        }
    }

    /// Where an entry with these matches stands among those that match the same key: of two the higher wins, of equals
    /// the one inserted first. `has_priority`: as [`super::Table::has_priority`].
    pub fn rank(matches: &[MatchValue], priority: i32, has_priority: bool) -> i64 {
        if has_priority {
            return i64::from(priority);
        }
        matches.iter().map(|m| i64::from(m.compared_bits())).sum()
    }

    /// The match of a key that an entry does not name: that of every value; zero for kinds without such a match (the STF
    /// convention).
    pub fn any(key: &super::Key) -> MatchValue {
        key.kind.any(key.expr.ty.width()).unwrap_or(MatchValue::Exact(BigUint::ZERO))
    }

    /// Whether this is what entries say about keys of a form.
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

/// The text: `0x0a00/8`, `0x10 &&& 0xf0`, `0x1..0x5`, `_`.
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
}
