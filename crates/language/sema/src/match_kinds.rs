//! What the match kinds that the compiler knows allow in keys and entries. A program may declare others; the lowering
//! refuses tables that use them.

use num_bigint::BigInt;

use crate::consteval;
use crate::hir::{self, Set};

/// The rules of one match kind.
pub(crate) struct MatchKind {
    pub name: &'static str,
    /// Keys are numbers, not truth values, enumerations or errors.
    pub numbers: bool,
    /// Sets that entries may give besides a value.
    sets: &'static [SetForm],
    /// Entries have priorities.
    pub priorities: bool,
    /// For a diagnostic: what the sets are.
    pub takes: &'static str,
}

#[derive(PartialEq)]
enum SetForm {
    Any,
    Mask,
    /// A mask whose ones are all at the front.
    Prefix,
    /// A mask whose ones are all at the end.
    Suffix,
    Range,
}

use SetForm::{Any, Mask, Prefix, Range, Suffix};

#[rustfmt::skip]
const KINDS: [MatchKind; 8] = [
    MatchKind { name: "exact", numbers: false, sets: &[], priorities: false, takes: "one value" },
    MatchKind { name: "lpm", numbers: true, sets: &[Any, Prefix], priorities: false, takes: "a prefix" },
    MatchKind { name: "ternary", numbers: false, sets: &[Any, Mask], priorities: true, takes: "a value and a mask" },
    MatchKind { name: "range", numbers: true, sets: &[Any, Range], priorities: true, takes: "a range" },
    MatchKind { name: "optional", numbers: false, sets: &[Any], priorities: true, takes: "one value or anything" },
    MatchKind { name: "selector", numbers: false, sets: &[Any, Mask, Range], priorities: false, takes: "anything" },
    MatchKind { name: "masked", numbers: false, sets: &[Any, Mask], priorities: false, takes: "a value and a mask" },
    MatchKind { name: "suffix", numbers: true, sets: &[Any, Suffix], priorities: false, takes: "a value and a mask of the lowest bits" },
];

impl MatchKind {
    /// Whether the entry that compares more bits of such keys wins, in tables without priorities.
    pub(crate) fn more_bits_win(&self) -> bool {
        let masks = self.sets.iter().any(|set| matches!(set, Mask | Prefix | Suffix));
        masks && !self.priorities && self.name != "selector"
    }

    /// The rules of a kind, if the compiler knows it.
    pub(crate) fn by_name(name: &str) -> Option<&'static MatchKind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Whether entries may give this set for such a key.
    pub(crate) fn allows(&self, set: &Set) -> bool {
        match set {
            Set::Value(_) => true,
            Set::Any => self.sets.contains(&Any),
            Set::Mask(..) if self.sets.contains(&Mask) => true,
            Set::Mask(_, mask) if self.sets.contains(&Prefix) => may_be_prefix(mask),
            Set::Mask(_, mask) => self.sets.contains(&Suffix) && may_be_suffix(mask),
            Set::Range(..) => self.sets.contains(&Range),
            Set::ValueSet(_) => false,
        }
    }
}

/// Whether the ones of a mask are all at its front, as far as it is known.
fn may_be_prefix(mask: &hir::Expr) -> bool {
    known_mask(mask).is_none_or(|(mask, all)| at_the_end(&(all ^ mask)))
}

/// Whether the ones of a mask are all at its end, as far as it is known.
fn may_be_suffix(mask: &hir::Expr) -> bool {
    known_mask(mask).is_none_or(|(mask, _)| at_the_end(&mask))
}

/// The bits of a mask, and those of a mask of ones.
fn known_mask(mask: &hir::Expr) -> Option<(BigInt, BigInt)> {
    match (&mask.kind, &mask.ty) {
        (hir::ExprKind::Int(mask), hir::Type::Bits(w) | hir::Type::Int(w)) => {
            let all = consteval::mask(*w);
            Some((mask & &all, all))
        }
        _ => None,
    }
}

/// Whether the ones are all at the low end: one more is a power of two.
fn at_the_end(ones: &BigInt) -> bool {
    (ones & (ones + 1u32)) == BigInt::ZERO
}
