//! The values that most inputs of gates and registers take in a cycle. Loads in large numbers lie far apart on a chip, and routing to
//! them takes much of a cycle.
//!
//! Only what the program says counts. Engines take their operands once; signals of the packet store and of engines are not the
//! program's.

use std::collections::BTreeMap;

use crate::hir::{Binary, Design, Op, Value};
use crate::schedule::{CHOSEN_BITS, Schedule};

/// Most loads of a bit of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fanout {
    /// The number of loads.
    pub loads: u32,
    /// The stage with the signal or register that has them.
    pub stage: u32,
}

/// Loads of each bit of a value, by the stage of the register they are at.
type Loads = BTreeMap<u32, Vec<u32>>;

/// The fan-out of each value.
pub(super) fn of(design: &Design, schedule: &Schedule) -> Vec<Fanout> {
    let gap = schedule.engines.gap;
    let mut all = vec![Loads::new(); design.nodes.len()];
    let mut most = vec![Fanout::default(); design.nodes.len()];
    for (i, node) in design.nodes.iter().enumerate().rev() {
        let (start, ready, last) = (schedule.start[i], schedule.ready[i].stage, schedule.last_use[i]);
        let mut own = std::mem::take(&mut all[i]);
        let none = || vec![0; node.width as usize];
        let results = own.entry(ready).or_insert_with(none);
        if last > ready {
            // The register behind it.
            results.iter_mut().for_each(|loads| *loads += 1);
        }
        if matches!(node.op, Op::Lookup { .. })
            && let Some(hit) = results.last_mut()
        {
            // A miss has the data of the default action.
            *hit += node.width - 1;
        }
        let results = own[&ready].clone();
        if !matches!(node.op, Op::Const(_)) {
            let stages = own
                .iter()
                .map(|(stage, bits)| Fanout { loads: bits.iter().copied().max().unwrap_or(0), stage: *stage });
            most[i] = stages.max_by_key(|fanout| fanout.loads).unwrap_or_default();
        }
        let mut load = |operand: Value, start: u32, lo: u32, loads: &mut dyn Iterator<Item = u32>| {
            let from = schedule.ready[operand.index()].stage;
            // A register holds a value for as many stages as packets are apart.
            let at = if start > from { start - (start - from - 1) % gap } else { from };
            let width = design[operand].width as usize;
            let bits = all[operand.index()].entry(at).or_insert_with(|| vec![0; width]);
            bits.iter_mut().skip(lo as usize).zip(loads).for_each(|(bit, more)| *bit += more);
        };
        let width = node.width;
        let each = |count: u32| std::iter::repeat(count);
        // Copies of what chooses many bits are made in the stage before.
        let chooses = |cond: Value| match schedule.is_copied(cond, width) {
            true => (cond, start - 1, width.div_ceil(CHOSEN_BITS)),
            false => (cond, start, width),
        };
        let mut choices = Vec::new();
        let mut add = |operand: Value, lo: u32, loads: &mut dyn Iterator<Item = u32>| load(operand, start, lo, loads);
        match &node.op {
            // Wiring: what takes the result takes the operand.
            Op::Not(a) | Op::SignExtend(a) => add(*a, 0, &mut results.iter().copied()),
            Op::Slice { arg, lo } => add(*arg, *lo, &mut results.iter().copied()),
            Op::Concat(parts) => {
                let mut lo = 0;
                for part in parts.iter().rev() {
                    let bits = design[*part].width as usize;
                    add(*part, 0, &mut results[lo..lo + bits].iter().copied());
                    lo += bits;
                }
            }
            Op::Mux { cond, then, otherwise } => {
                choices.push(chooses(*cond));
                add(*then, 0, &mut each(1));
                add(*otherwise, 0, &mut each(1));
            }
            Op::OneHot(cases) => cases.iter().for_each(|(cond, value)| {
                choices.push(chooses(*cond));
                add(*value, 0, &mut each(1));
            }),
            Op::Binary(Binary::Shl | Binary::Shr | Binary::ShrSigned, a, distance) => {
                add(*a, 0, &mut each(1));
                add(*distance, 0, &mut each(width));
            }
            op => op.operands().into_iter().for_each(|operand| add(operand, 0, &mut each(1))),
        }
        choices.into_iter().for_each(|(cond, stage, loads)| load(cond, stage, 0, &mut each(loads)));
    }
    most
}
