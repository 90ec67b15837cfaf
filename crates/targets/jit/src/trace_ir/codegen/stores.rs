//! Stores of adjacent fields, in one header or in several, with the fewest instructions.

use cranelift_codegen::ir::{InstBuilder, Opcode, Value, ValueDef, types};

use super::{Codegen, InImage};
use crate::emit::bytes::int;

/// The minimum number of bytes for which a copy from the entry is cheaper than stores of numbers.
const LEAST_COPIED: i64 = 4;

/// A written field: its first bit relative to an address, its width, and its value.
pub(super) struct Piece {
    pub from: i64,
    pub width: u32,
    pub value: Vec<Value>,
}

impl Piece {
    pub(super) fn to(&self) -> i64 {
        self.from + i64::from(self.width)
    }
}

impl Codegen<'_, '_> {
    /// Stores adjacent fields. Bytes that are adjacent in an entry's image, too, are copied.
    pub(super) fn store_run(&mut self, base: Value, run: &[Piece]) {
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
        let lowest = self.g.b.func.dfg.resolve_aliases(*piece.value.first()?);
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
            let v = self.g.b.ins().load(ty, image.flags, image.entry, image.at + done as i32);
            pieces.push((v, at + done as i32));
            done += ty.bytes();
        }
        for (v, at) in pieces {
            self.g.b.ins().store(self.g.flags.packet, v, to, at);
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
            self.g.store_bits(self.g.flags.packet, base, at as i32, (p.from - 8 * at) as u32, p.width, &p.value);
        }
        let run = &run[first..last];
        let [begin, .., end] = run else {
            if let [p] = run {
                self.g.store_bits(self.g.flags.packet, base, (p.from / 8) as i32, 0, p.width, &p.value);
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
        match self.g.b.func.dfg.value_def(v) {
            ValueDef::Result(inst, _) => self.g.b.func.dfg.insts[inst].opcode() == Opcode::Iconst,
            _ => false,
        }
    }

    fn store_piece(&mut self, base: Value, run: &[Piece], byte: i64, size: u32) {
        let (from, to) = (8 * byte, 8 * (byte + i64::from(size)));
        let mut whole: Option<Value> = None;
        for p in run.iter().filter(|p| p.from < to && p.to() > from) {
            // Bits beyond the piece are shifted out; those before it are truncated.
            let (beyond, behind) = ((p.to() - to).max(0) as u32, (to - p.to()).max(0));
            let v = self.g.wide_shr(&p.value, beyond, 1, None)[0];
            let v = if behind > 0 { self.g.b.ins().ishl_imm_u(v, behind) } else { v };
            whole = Some(match whole {
                Some(others) => self.g.b.ins().bor(others, v),
                None => v,
            });
        }
        let Some(v) = whole else { return };
        let v = if size < 8 { self.g.b.ins().ireduce(int(size), v) } else { v };
        let v = if size > 1 { self.g.b.ins().bswap(v) } else { v };
        self.g.b.ins().store(self.g.flags.packet, v, base, byte as i32);
    }
}
