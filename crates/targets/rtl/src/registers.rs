//! Several accesses of a packet to one cell of a register become a read and a write.
//!
//! A read behind a write gives what the write has written, if it was enabled, so that only the first read and the last write are left.

use std::collections::HashMap;

use hopwright_ir::ExternId;

use crate::hir::{Builder, Design, Op, Value, rewrite};

/// The accesses to a register, in order.
#[derive(Default)]
struct Accesses {
    indices: Vec<Value>,
    reads: usize,
    writes: Vec<Value>,
}

/// A cell while a packet passes.
struct Cell {
    value: Value,
    written: Option<Value>,
}

/// Leaves at most one read and one write of each register whose accesses are all to the cell of the same index. Returns the new value of each
/// old one; nothing if there is nothing to do.
pub(crate) fn forward(design: &mut Design) -> Option<Vec<Value>> {
    let mut all: HashMap<ExternId, Accesses> = HashMap::new();
    for (i, node) in design.nodes.iter().enumerate() {
        let (register, index, write) = match node.op {
            Op::RegisterRead { register, index } => (register, index, false),
            Op::RegisterWrite { register, index, .. } => (register, index, true),
            _ => continue,
        };
        let accesses = all.entry(register).or_default();
        accesses.indices.push(index);
        accesses.reads += usize::from(!write);
        accesses.writes.extend(write.then_some(Value(i as u32)));
    }
    all.retain(|_, accesses| {
        let one_cell = accesses.indices.windows(2).all(|pair| pair[0] == pair[1]);
        one_cell && (accesses.reads > 1 || accesses.writes.len() > 1)
    });
    if all.is_empty() {
        return None;
    }
    let mut cells: HashMap<ExternId, Cell> = HashMap::new();
    let (forwarded, places) = rewrite(design, |b, value, new| match &design[value].op {
        Op::RegisterRead { register, index } if all.contains_key(register) => {
            let read = Op::RegisterRead { register: *register, index: new[index.index()] };
            Some(cell(&mut cells, b, *register, read, design[value].width).value)
        }
        Op::RegisterWrite { register, enable, index, value: data } => {
            let accesses = all.get(register)?;
            let [enable, index, data] = [enable, index, data].map(|v| new[v.index()]);
            let read = Op::RegisterRead { register: *register, index };
            let width = b.width(data);
            let cell = cell(&mut cells, b, *register, read, width);
            let value_now = b.mux(enable, data, cell.value);
            let written = cell.written.map_or(enable, |before| b.or(before, enable));
            (cell.value, cell.written) = (value_now, Some(written));
            Some(if accesses.writes.last() == Some(&value) {
                b.effect(Op::RegisterWrite { register: *register, enable: written, index, value: value_now }, 0)
            } else {
                b.constant(0u32, 0)
            })
        }
        _ => None,
    });
    *design = forwarded;
    Some(places)
}

/// The cell of a register, which is read at the first access.
fn cell<'a>(
    cells: &'a mut HashMap<ExternId, Cell>,
    b: &mut Builder,
    register: ExternId,
    read: Op,
    width: u32,
) -> &'a mut Cell {
    cells.entry(register).or_insert_with(|| Cell { value: b.effect(read, width), written: None })
}
