//! Commits the deferred effects at the end of a trace. Written fields that are adjacent, in one header or in several,
//! are stored with the fewest instructions.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, ValueDef, types};
use hopwright_abi as abi;

use crate::emit::Emitter;
use crate::emit::bytes::int;
use crate::emit::flow_state::Root;
use crate::emit::table::InImage;
use crate::trace::batch_invariants::BatchInvariant;
use crate::trace::{DeferredEffect, Mode, TraceState};

/// The minimum number of bytes for which a copy from the entry is cheaper than stores of numbers.
const LEAST_COPIED: i64 = 4;

/// A written field: its first bit relative to an address, its width, and its value.
pub(crate) struct Piece {
    pub from: i64,
    pub width: u32,
    pub value: Vec<Value>,
}

impl Piece {
    pub(crate) fn to(&self) -> i64 {
        self.from + i64::from(self.width)
    }
}

impl Emitter<'_> {
    /// Ends the trace: emits pending guards and commits all deferred effects.
    pub(crate) fn commit(&mut self) {
        self.flush_guards();
        let TraceState { written, held, paths, left, .. } = std::mem::take(&mut self.flow.trace);
        if let Mode::Trace(build) = &mut self.mode
            && !left
        {
            build.completed.extend(paths.iter().map(|(path, _)| *path));
        }
        let mut pieces: BTreeMap<Root, Vec<Piece>> = BTreeMap::new();
        for (slot, value) in written {
            let Some((header, field)) = self.field_of(slot) else { continue };
            if !self.flow.writable[header.index()] {
                continue;
            }
            let f = &self.p[header].fields[field];
            match self.flow.place[header.index()].filter(|_| self.p[header].varbit.is_none()) {
                Some(at) => {
                    let from = 8 * i64::from(at.offset) + i64::from(f.offset_bits);
                    pieces.entry(at.root).or_default().push(Piece { from, width: f.width, value });
                }
                None => self.store_field(header, field, &value),
            }
        }
        for (root, mut pieces) in pieces {
            pieces.sort_by_key(|p| p.from);
            let base = self.root(root);
            for run in pieces.chunk_by(|a, b| a.to() == b.from) {
                self.store_run(base, run);
            }
        }
        for effect in held {
            self.happen(effect);
        }
    }

    /// Commits an effect.
    pub(crate) fn happen(&mut self, effect: DeferredEffect) {
        match effect {
            DeferredEffect::Count(handle, offset) => {
                let cells = self.batch_invariant(BatchInvariant::State(handle));
                let cell = self.b.ins().iadd(cells, offset);
                self.count(cell);
            }
            DeferredEffect::CountIf(cell) => self.count_if(cell),
            DeferredEffect::Priority(priority) => self.describe(offset_of!(abi::Packet, priority), priority),
            DeferredEffect::Register(_, cell, words) => {
                for (i, word) in words.into_iter().enumerate() {
                    self.b.ins().store(self.flags.cells, word, cell, 8 * i as i32);
                }
            }
        }
    }

    /// Stores adjacent fields. Bytes that are adjacent in an entry's image, too, are copied.
    pub(crate) fn store_run(&mut self, base: Value, run: &[Piece]) {
        for first in 0..run.len() {
            let Some(image) = self.image_of(&run[first]) else { continue };
            let next = |(i, piece): &(usize, &Piece)| {
                let behind = (piece.from - run[first].from) / 8;
                let wanted = (image.entry, i64::from(image.at) + behind);
                *i == 0 || self.image_of(piece).is_some_and(|there| (there.entry, i64::from(there.at)) == wanted)
            };
            let count = run[first..].iter().enumerate().take_while(next).count();
            let (begin, end) = (run[first].from / 8, run[first + count - 1].to() / 8);
            if end - begin >= LEAST_COPIED {
                self.store_numbers(base, &run[..first]);
                self.copy(image, base, begin as i32, (end - begin) as u32);
                return self.store_run(base, &run[first + count..]);
            }
        }
        self.store_numbers(base, run);
    }

    /// The bytes of a field in an entry's image.
    fn image_of(&self, piece: &Piece) -> Option<InImage> {
        let lowest = self.b.func.dfg.resolve_aliases(*piece.value.first()?);
        let image = self.images.get(&lowest)?;
        (piece.width == image.width && piece.from % 8 == 0).then_some(*image)
    }

    /// Copies bytes from an entry's image.
    fn copy(&mut self, image: InImage, to: Value, at: i32, bytes: u32) {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < bytes {
            let ty = match bytes - done {
                16.. => types::I8X16,
                left => int(1 << left.ilog2().min(3)),
            };
            let v = self.b.ins().load(ty, image.flags, image.entry, image.at + done as i32);
            pieces.push((v, at + done as i32));
            done += ty.bytes();
        }
        for (v, at) in pieces {
            self.b.ins().store(self.flags.packet, v, to, at);
        }
    }

    /// Stores adjacent fields from their values.
    fn store_numbers(&mut self, base: Value, run: &[Piece]) {
        if run.is_empty() {
            return;
        }
        // Fields at the ends that do not start or end at a byte boundary are stored separately.
        let first = run.iter().position(|p| p.from % 8 == 0).unwrap_or(run.len());
        let last = run.iter().rposition(|p| p.to() % 8 == 0).map_or(first, |i| i + 1).max(first);
        for p in run[..first].iter().chain(&run[last..]) {
            let at = p.from.div_euclid(8);
            self.store_bits(self.flags.packet, base, at as i32, (p.from - 8 * at) as u32, p.width, &p.value);
        }
        let run = &run[first..last];
        let [begin, .., end] = run else {
            if let [p] = run {
                self.store_bits(self.flags.packet, base, (p.from / 8) as i32, 0, p.width, &p.value);
            }
            return;
        };
        let (begin, end) = (begin.from / 8, end.to() / 8);
        let bytes = (end - begin) as usize;
        // For each byte, the least cost from there on, and the size of the first store.
        let mut best: Vec<(u32, u32)> = vec![(0, 0); bytes + 1];
        for at in (0..bytes).rev() {
            let sizes = [1u32, 2, 4, 8].into_iter().filter(|s| at + *s as usize <= bytes);
            let costs = sizes.map(|s| {
                let there = self.cost(run, begin + at as i64, s);
                (there + best[at + s as usize].0, s)
            });
            best[at] = costs.min().unwrap_or_default();
        }
        let mut at = 0;
        while at < bytes {
            let size = best[at].1;
            self.store_piece(base, run, begin + at as i64, size);
            at += size as usize;
        }
    }

    /// Twice the approximate number of instructions that a store of `size` bytes takes.
    fn cost(&self, run: &[Piece], byte: i64, size: u32) -> u32 {
        let (from, to) = (8 * byte, 8 * (byte + i64::from(size)));
        let (mut fixed, mut cost) = (0, 3);
        let mut variable = 0;
        for p in run.iter().filter(|p| p.from < to && p.to() > from) {
            if p.value.iter().all(|v| self.is_constant(*v)) {
                fixed += 1;
                continue;
            }
            variable += 1;
            let whole = p.from == from && p.to() == to;
            cost += if whole || p.to() == to { 0 } else { 2 };
        }
        if variable == 0 {
            return cost + if size == 8 { 2 } else { 0 };
        }
        cost += 2 * (variable - 1) + 2 * u32::from(fixed > 0);
        cost + if size > 1 { 2 } else { 0 }
    }

    fn is_constant(&self, v: Value) -> bool {
        match self.b.func.dfg.value_def(v) {
            ValueDef::Result(inst, _) => self.b.func.dfg.insts[inst].opcode() == cranelift_codegen::ir::Opcode::Iconst,
            _ => false,
        }
    }

    fn store_piece(&mut self, base: Value, run: &[Piece], byte: i64, size: u32) {
        let (from, to) = (8 * byte, 8 * (byte + i64::from(size)));
        let mut whole: Option<Value> = None;
        for p in run.iter().filter(|p| p.from < to && p.to() > from) {
            // Bits beyond the piece are shifted out; those before it are truncated.
            let (beyond, behind) = ((p.to() - to).max(0) as u32, (to - p.to()).max(0));
            let v = self.wide_shr(&p.value, beyond, 1, None)[0];
            let v = if behind > 0 { self.b.ins().ishl_imm_u(v, behind) } else { v };
            whole = Some(match whole {
                Some(others) => self.b.ins().bor(others, v),
                None => v,
            });
        }
        let Some(v) = whole else { return };
        let v = if size < 8 { self.b.ins().ireduce(int(size), v) } else { v };
        let v = if size > 1 { self.b.ins().bswap(v) } else { v };
        self.b.ins().store(self.flags.packet, v, base, byte as i32);
    }
}
