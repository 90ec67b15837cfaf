//! A test from a run: entries with the keys that tables were looked up with, and what the interpreter makes of the packet then.

use std::sync::Arc;

use hopwright_coverage::{Coverage, Points};
use hopwright_interp::{Interp, Value};
use hopwright_ir::hash::Random;
use hopwright_ir::{Key, MatchForm, MatchValue, Pipeline, TableEntry, ValueSetId, bits};
use num_bigint::BigUint;

use crate::inputs::{Applied, Choice};
use crate::path::Run;
use crate::test::Test;

/// Bytes of the payload behind what parsers look at.
const PAYLOAD: usize = 4;
/// Where the second run is in time: nothing of the first must be left in the digits that are compared.
const LATER_US: u64 = 0x0123_4567_89ab;

/// The form of a test.
#[derive(Clone, Copy)]
struct Form {
    /// The packet ends soon after what parsers look at.
    short: bool,
    /// Entries match more than the keys that were looked up.
    wide: bool,
}

/// The test, and what it reaches; `None` if what comes of the packet is a matter of chance.
pub(crate) fn test<E>(
    prepare: &dyn Fn() -> Result<Interp, E>,
    points: &Arc<Points>,
    run: &Run,
    wanted: &[usize],
    random: &mut Random,
) -> Result<Option<(Test, Coverage)>, E> {
    let mut best: Option<(usize, Test, Coverage)> = None;
    let forms = [(true, true), (true, false), (false, false)].map(|(short, wide)| Form { short, wide });
    for form in forms {
        let mut test = shape(points.pipeline(), run, form, random);
        let Some(coverage) = judge(prepare, points, &mut test)? else { continue };
        let reached = wanted.iter().filter(|point| coverage.counts()[**point] > 0).count();
        if best.as_ref().is_none_or(|(most, ..)| reached > *most) {
            best = Some((reached, test, coverage));
        }
        if reached == wanted.len() {
            break;
        }
    }
    Ok(best.map(|(_, test, coverage)| (test, coverage)))
}

/// Runs a test on a switch of its own, and expects what comes of it.
fn judge<E>(
    prepare: &dyn Fn() -> Result<Interp, E>,
    points: &Arc<Points>,
    test: &mut Test,
) -> Result<Option<Coverage>, E> {
    let ready = |test: &Test, seed: u64| -> Result<Option<Interp>, E> {
        let mut interp = prepare()?;
        interp.seed(seed);
        // Entries that contradict each other, or exceed a table, are not a test.
        Ok(test.set_up(&mut interp).is_ok().then_some(interp))
    };
    let other_chance = 0x5eed;
    let (Some(mut first), Some(mut second)) = (ready(test, 0)?, ready(test, other_chance)?) else { return Ok(None) };
    let mut coverage = Coverage::of(points.clone());
    let output = first.process_observed(&test.packet, test.port, 0, &mut coverage);
    if output.fault.is_some() || output.no_headroom > 0 {
        return Ok(None);
    }
    let again = second.process(&test.packet, test.port, LATER_US);
    if test.expect(&output, &again) {
        return Ok(Some(coverage));
    }
    // What depends on the time alone is a test where the clock begins at zero.
    let Some(mut third) = ready(test, other_chance)? else { return Ok(None) };
    let again = third.process(&test.packet, test.port, 0);
    test.at_zero = test.expect(&output, &again);
    Ok(test.at_zero.then_some(coverage))
}

fn shape(pipeline: &Pipeline, run: &Run, form: Form, random: &mut Random) -> Test {
    let inputs = &run.inputs;
    let mut packet = inputs.packet.clone();
    if form.short {
        packet.truncate(run.parsed + PAYLOAD);
    }
    let mut test = Test { port: inputs.port, packet, ..Test::default() };
    test.sessions.extend(&run.sessions);
    test.groups.extend(&run.groups);
    // Tables that are applied to nothing else keep what they had in the run before.
    let is_applied = |former: &&Applied| run.applied.iter().any(|now| now.table == former.table);
    for applied in run.applied.iter().chain(inputs.former.iter().filter(|former| !is_applied(former))) {
        let table = &pipeline[applied.table];
        match &applied.choice {
            Some(Choice::Hit(action)) => {
                let keys = table.keys.iter().zip(&applied.keys);
                let matches = keys.map(|(key, value)| match_of(key, value, form.wide, random)).collect();
                let priority = if table.has_priority() {
                    1 + table.entries.iter().map(|entry| entry.priority).max().unwrap_or(0)
                } else {
                    0
                };
                test.entries.push((applied.table, TableEntry { matches, priority, action: action.clone() }));
            }
            Some(Choice::Default(action)) if test.defaults.iter().all(|(table, _)| *table != applied.table) => {
                test.defaults.push((applied.table, action.clone()));
            }
            _ => {}
        }
    }
    for (set, keys) in &run.members {
        if inputs.members.contains(set) {
            let member = keys.iter().map(|key| MatchValue::Exact(key.bits.clone())).collect();
            test.members.push((ValueSetId(*set), member));
        }
    }
    for ((register, index), value) in &inputs.registers {
        test.registers.push((hopwright_ir::ExternId(*register), *index, value.clone()));
    }
    for ((meter, index), color) in &inputs.colors {
        test.set_color(*meter, *index, *color);
    }
    test
}

/// A match of a key's value, and with `wide` also of others.
fn match_of(key: &Key, value: &Value, wide: bool, random: &mut Random) -> MatchValue {
    let width = value.width;
    let all = bits::mask(width);
    let number = random.next_u64();
    match key.kind.form() {
        MatchForm::Value => MatchValue::Exact(value.bits.clone()),
        MatchForm::ValueOrAny => MatchValue::Optional(Some(value.bits.clone())),
        MatchForm::Nothing => MatchValue::Optional(None),
        MatchForm::Prefix => {
            let prefix_len = if wide { width - (number % u64::from(width / 2 + 1)) as u32 } else { width };
            let rest = width - prefix_len;
            MatchValue::Lpm { value: (&value.bits >> rest) << rest, prefix_len }
        }
        MatchForm::Mask => {
            // Every fourth bit is not compared.
            let open = (0..width).filter(|at| number >> (at % 16) & 3 == 0);
            let with_gaps = open.fold(all.clone(), |mut mask, at| {
                mask.set_bit(at.into(), false);
                mask
            });
            // Or the lower half, for keys that have no such masks.
            let mut others =
                [with_gaps, &all >> (width / 2)].into_iter().filter(|mask| wide && key.kind.allows_mask(mask));
            let mask = others.next().unwrap_or(all);
            MatchValue::Ternary { value: &value.bits & &mask, mask }
        }
        MatchForm::Range => {
            let by = BigUint::from(if wide { number % 16 } else { 0 });
            let lo = if value.bits > by { &value.bits - &by } else { BigUint::ZERO };
            MatchValue::Range { lo, hi: (&value.bits + by).min(all) }
        }
    }
}
