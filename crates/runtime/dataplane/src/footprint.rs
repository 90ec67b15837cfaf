//! What a program takes, computed from its declarations before anything is allocated: the price of a pipeline.
//!
//! Arrays cost their cells. Tables grow: they cost what they are without entries, which are charged when they are written
//! ([`crate::table::footprint`]). Sums are saturating: a register of 2^60 cells is dear, and no overflow.

use std::mem::size_of;

use hopwright_abi::{CounterCell, Interface, limbs_of};
use hopwright_ir::{ExternKind, Pipeline, TableId, ValueSet, walk};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::account::allocated;
use crate::state::{digest, meter};
use crate::table;

/// What a program takes beside its text and its statements: names, types, ids.
const PROGRAM: u64 = 128 << 10;
/// A statement in the pipeline, with its expressions.
const STATEMENT: u64 = 256;
/// Times that a program's text is kept: with the pipeline, and with what controllers read back.
const TEXTS: u64 = 2;
/// Bytes of a worker's records of paused packets that are charged with the tenant's part of the worker, whatever the program.
pub(crate) const RECORDS: u64 = 128 << 10;
/// A cell of a filter, and a key.
const NAMED_CELL: u64 = 320;

/// What a program with its declared state takes, without machine code, for this many workers.
pub(crate) fn of(pipeline: &Pipeline, workers: u64) -> u64 {
    let digests = digest::footprint(&Interface::of(pipeline).digests);
    let objects = pipeline.externs.iter().map(|object| of_object(&object.kind, workers));
    let tables = (0..pipeline.tables.len()).map(|at| table::footprint::of(pipeline, TableId(at as u32)));
    let sets = pipeline.value_sets.iter().map(of_value_set);
    let program = of_program(pipeline);
    objects.chain(tables).chain(sets).fold(program.saturating_add(digests), u64::saturating_add)
}

/// What the program itself takes: its text, statements, names.
pub(crate) fn of_program(pipeline: &Pipeline) -> u64 {
    let text: u64 = pipeline.sources.files().map(|(_, file)| file.text().len() as u64).sum();
    let mut statements = 0u64;
    walk::all_stmts(pipeline, &mut |_| statements += 1);
    PROGRAM.saturating_add(text.saturating_mul(TEXTS)).saturating_add(statements.saturating_mul(STATEMENT))
}

fn of_object(kind: &ExternKind, workers: u64) -> u64 {
    let cells = |count: u64, each: usize| count.saturating_mul(each as u64);
    match kind {
        ExternKind::Counter { size, .. } => cells(*size, size_of::<CounterCell>()).saturating_mul(workers),
        ExternKind::Register { size, ty } => cells(*size, limbs_of(ty.width()).max(1) * 8),
        ExternKind::Meter { size, .. } => size.saturating_mul(meter::FOOTPRINT),
        // The first argument is a number of cells, if there are some.
        ExternKind::Named { args, .. } => args.first().map_or(0, size).saturating_mul(NAMED_CELL),
        // Members and groups are charged when they are written, cells of entries with their table.
        ExternKind::ActionProfile { .. }
        | ExternKind::ActionSelector { .. }
        | ExternKind::DirectCounter { .. }
        | ExternKind::DirectMeter { .. }
        | ExternKind::Stateless => 0,
    }
}

fn size(argument: &BigUint) -> u64 {
    argument.to_u64().unwrap_or(u64::MAX)
}

/// Members are kept as they were written, and in the form that lookups use.
fn of_value_set(set: &ValueSet) -> u64 {
    let part = |width: u32| table::footprint::of_match(width).saturating_add(4 * allocated(limbs_of(width) * 8));
    let member = set.types.iter().map(|ty| part(ty.width())).fold(allocated(0) * 4, u64::saturating_add);
    set.size.saturating_mul(member)
}
