//! The values that a node can have, where there are few of them. The offsets of headers are such nodes: they are sums of the
//! lengths of the headers before.
//!
//! Sets are conservative: they contain every value that occurs, and may contain others.

use std::collections::BTreeSet;

use num_traits::ToPrimitive;

use crate::hir::{Binary, Design, Op, Value};

/// The maximum number of values in a set.
const MAX_VALUES: usize = 1024;

/// The maximum number of pairs that an operation on two sets tries.
const MAX_PAIRS: usize = 1 << 18;

/// Values of at most this width are enumerated if nothing else is known.
const SMALL_WIDTH: u32 = 8;

/// The possible values of each node; `None` if there are many, or they have more than 64 bits.
pub fn possible_values(design: &Design) -> Vec<Option<BTreeSet<u64>>> {
    let mut sets: Vec<Option<BTreeSet<u64>>> = Vec::with_capacity(design.nodes.len());
    for node in &design.nodes {
        let set = set_of(design, &sets, &node.op, node.width);
        let small = || (node.width <= SMALL_WIDTH).then(|| (0..1u64 << node.width).collect());
        sets.push(set.filter(|set| set.len() <= MAX_VALUES).or_else(small));
    }
    sets
}

fn set_of(design: &Design, sets: &[Option<BTreeSet<u64>>], op: &Op, width: u32) -> Option<BTreeSet<u64>> {
    if width > 64 {
        return None;
    }
    let all = if width == 64 { u64::MAX } else { (1u64 << width) - 1 };
    let set = |v: Value| sets[v.index()].as_ref();
    let pairs = |a: Value, b: Value, f: &dyn Fn(u64, u64) -> u64| {
        let (a, b) = (set(a)?, set(b)?);
        (a.len() * b.len() <= MAX_PAIRS).then(|| a.iter().flat_map(|x| b.iter().map(|y| f(*x, *y) & all)).collect())
    };
    Some(match op {
        Op::Const(bits) => BTreeSet::from([bits.to_u64()?]),
        Op::Mux { then, otherwise, .. } => set(*then)?.union(set(*otherwise)?).copied().collect(),
        Op::OneHot(cases) => {
            let mut union = BTreeSet::from([0]);
            for (_, value) in cases {
                union.extend(set(*value)?);
            }
            union
        }
        Op::Slice { arg, lo } => set(*arg)?.iter().map(|v| (v >> lo) & all).collect(),
        Op::Concat(parts) => {
            let mut joined = BTreeSet::from([0u64]);
            for part in parts {
                let (width, set) = (design[*part].width, set(*part)?);
                if joined.len() * set.len() > MAX_PAIRS {
                    return None;
                }
                joined = joined
                    .iter()
                    .flat_map(|high| set.iter().map(move |low: &u64| high.checked_shl(width).unwrap_or(0) | low))
                    .collect();
            }
            joined
        }
        Op::Binary(Binary::Add, a, b) => pairs(*a, *b, &u64::wrapping_add)?,
        Op::Binary(Binary::Sub, a, b) => pairs(*a, *b, &u64::wrapping_sub)?,
        Op::Binary(Binary::Mul, a, b) => pairs(*a, *b, &u64::wrapping_mul)?,
        Op::Binary(Binary::And, a, b) => pairs(*a, *b, &|x, y| x & y)?,
        _ => return None,
    })
}
