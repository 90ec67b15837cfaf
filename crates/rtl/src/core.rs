//! The core of a design: parser, ingress, egress and deparser as one pipeline, for programs that send each packet to at most
//! one port.
//!
//! The traffic manager is wiring: the egress port is what ingress chose. Headers are put together at all offsets that they can
//! have in the packet that is sent.

use std::collections::BTreeMap;

use hopwright_ir::{DROP_PORT, Pipeline};

use crate::exclusive;
use crate::hir::{Binary, Builder, Design, Edit, Input, Op, Piece, Value};
use crate::refusal::{Capability, Refusal};
use crate::target::Target;
use crate::windows;

/// The most bytes of an edit.
const MAX_EDIT: u32 = 16;

/// How often it is looked into whether a header can be at an offset at all. That takes long.
const MAX_CHECKS: u32 = 64;

/// A design as one pipeline.
#[derive(Clone, Debug)]
pub struct Core {
    /// The operations. Its results are not used.
    pub design: Design,
    /// Whether the packet is dropped, one bit.
    pub drop: Value,
    /// The egress port, 9 bits.
    pub port: Value,
    /// The new headers, the first byte highest; [`Core::header_capacity`] bytes.
    pub header: Value,
    /// The number of bytes of the new headers, 16 bits; zero if the packet is dropped.
    pub header_bytes: Value,
    /// The number of bytes of the packet as received in front of what is kept, 16 bits.
    pub skip: Value,
    /// The number of bytes that are kept, 16 bits; zero if the packet is dropped.
    pub length: Value,
    /// The most bytes of headers.
    pub header_capacity: u32,
    /// What changes in the part that is kept; each at most 16 bytes.
    pub edits: Vec<Edit>,
}

impl Core {
    /// Makes one pipeline of a design.
    ///
    /// # Errors
    /// The program makes copies of packets, or sends headers that the target does not put together.
    pub fn of(pipeline: &Pipeline, design: &Design, target: &Target) -> Result<Core, Vec<Refusal>> {
        let mut refusals = Vec::new();
        let mut refuse = |capability, span, message: String| refusals.push(Refusal { capability, span, message });
        let zero = |v: Value| matches!(&design[v].op, Op::Const(bits) if bits.bits() == 0);
        let (ingress, egress) = (&design.ingress, &design.egress);
        if !zero(ingress.multicast_group) {
            let message = "the program sets `mcast_grp`".to_string();
            refuse(Capability::Multicast, design[ingress.multicast_group].span, message);
        }
        if !zero(ingress.clone) {
            refuse(Capability::Multicast, design[ingress.clone].span, "the program clones packets".to_string());
        }
        if !zero(egress.truncate) {
            let message = "the program truncates packets".to_string();
            refuse(Capability::Truncation, design[egress.truncate].span, message);
        }
        for emit in &egress.emits {
            if emit.pieces.iter().any(|piece| matches!(piece, Piece::Region(_))) {
                let name = &pipeline[emit.header].name;
                refuse(Capability::VariableHeader, emit.span, format!("header `{name}` has a varbit field"));
            }
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let mut b = Builder::default();
        let mut places: Vec<Value> = Vec::with_capacity(design.nodes.len());
        let mut dropped = None;
        for (i, node) in design.nodes.iter().enumerate() {
            b.span = node.span;
            if i == design.split {
                dropped = Some(b.eq_const(places[ingress.egress_spec.index()], DROP_PORT));
            }
            let mut op = node.op.clone();
            op.map_operands(|v| places[v.index()]);
            // Egress is not reached by packets that ingress drops.
            if let (Some(dropped), Some(enable)) = (dropped, op.enable_mut()) {
                let on = b.not(dropped);
                *enable = b.and(*enable, on);
            }
            places.push(match op {
                Op::Input(Input::EgressPort) => places[ingress.egress_spec.index()],
                Op::Input(input @ (Input::EgressRid | Input::Cloned | Input::Replicated | Input::QueueDepth)) => {
                    b.constant(0u32, input.width())
                }
                op => b.rebuild(op, node.width),
            });
        }
        let at = |v: Value| places[v.index()];
        let in_ingress = match dropped {
            Some(dropped) => dropped,
            None => b.eq_const(at(ingress.egress_spec), DROP_PORT),
        };
        let drop = b.or(in_ingress, at(egress.drop));
        let headers: Vec<(Value, Value)> = egress
            .emits
            .iter()
            .map(|emit| {
                b.span = emit.span;
                let pieces = emit.pieces.iter().filter_map(|piece| match piece {
                    Piece::Bits(v) => Some(at(*v)),
                    Piece::Region(_) => None,
                });
                (at(emit.enable), b.concat(pieces.collect()))
            })
            .collect();
        b.span = pipeline.deparser.span;
        let (header, bytes, header_capacity) = assemble(&mut b, &headers);
        let mut edits = Vec::new();
        for edit in &egress.edits {
            let (enable, offset, bits) = (at(edit.enable), at(edit.offset), at(edit.bits));
            let bytes = b.width(bits) / 8;
            for first in (0..bytes).step_by(MAX_EDIT as usize) {
                let end = bytes.min(first + MAX_EDIT);
                let by = b.constant(first, 16);
                let offset = b.binary(Binary::Add, offset, by);
                let bits = b.slice(bits, 8 * (bytes - first) - 1, 8 * (bytes - end));
                edits.push(Edit { enable, offset, bits, span: edit.span });
            }
        }
        let none = b.constant(0u32, 16);
        let header_bytes = b.mux(drop, none, bytes);
        let skip = at(egress.skip);
        let whole = b.input(Input::Length);
        let rest = b.binary(Binary::Sub, whole, skip);
        let length = b.mux(drop, none, rest);
        let port = at(ingress.egress_spec);
        let design = b.design;
        let mut core = Core { design, drop, port, header, header_bytes, skip, length, header_capacity, edits };
        core.eliminate_dead(pipeline);
        let places = exclusive::merge(&mut core.design);
        core.map_outputs(&places);
        core.eliminate_dead(pipeline);
        let places = windows::lower(&mut core.design, target);
        core.map_outputs(&places);
        core.eliminate_dead(pipeline);
        Ok(core)
    }

    /// The results, edits last.
    pub fn outputs(&self) -> Vec<Value> {
        let mut outputs = vec![self.drop, self.port, self.header, self.header_bytes, self.skip, self.length];
        outputs.extend(self.edits.iter().flat_map(|edit| [edit.enable, edit.offset, edit.bits]));
        outputs
    }

    /// Replaces the results.
    fn map_outputs(&mut self, places: &[Value]) {
        let edits = self.edits.iter_mut().flat_map(|edit| [&mut edit.enable, &mut edit.offset, &mut edit.bits]);
        let own = [
            &mut self.drop,
            &mut self.port,
            &mut self.header,
            &mut self.header_bytes,
            &mut self.skip,
            &mut self.length,
        ];
        own.into_iter().chain(edits).for_each(|output| *output = places[output.index()]);
    }

    /// Removes operations that have no effect and whose results nobody uses.
    fn eliminate_dead(&mut self, pipeline: &Pipeline) {
        let mut live = vec![false; self.design.nodes.len()];
        self.outputs().into_iter().for_each(|v| live[v.index()] = true);
        let places = self.design.remove_dead(pipeline, live);
        self.map_outputs(&places);
    }
}

/// Puts headers behind each other: the bytes, their number (16 bits), and the most bytes there can be.
fn assemble(b: &mut Builder, headers: &[(Value, Value)]) -> (Value, Value, u32) {
    // For each offset at which the next header can be, the condition that it is there.
    let mut places: BTreeMap<u32, Value> = BTreeMap::from([(0, b.boolean(true))]);
    // Headers by offset, with conditions. Those at one offset exclude each other.
    let mut parts: BTreeMap<(u32, u32), Vec<(Value, Value)>> = BTreeMap::new();
    let mut checks = 0;
    for (enable, bits) in headers {
        let size = b.width(*bits) / 8;
        let not = b.not(*enable);
        let mut next: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
        for (offset, here) in places {
            let mut both = |a: Value, c: Value| {
                checks += 1;
                if checks <= MAX_CHECKS && exclusive::exclude(&b.design, a, c) { b.boolean(false) } else { b.and(a, c) }
            };
            let (sent, skipped) = (both(here, *enable), both(here, not));
            if b.as_const(sent).is_none_or(|c| c.bits() > 0) {
                parts.entry((offset, size)).or_default().push((sent, *bits));
                next.entry(offset + size).or_default().push(sent);
            }
            next.entry(offset).or_default().push(skipped);
        }
        places = next.into_iter().map(|(offset, conds)| (offset, b.any(&conds))).collect();
        places.retain(|_, cond| b.as_const(*cond).is_none_or(|c| c.bits() > 0));
    }
    let capacity = parts.keys().map(|(offset, size)| offset + size).max().unwrap_or(0).max(1);
    // Between two ends of parts, the bytes are those of the part that is there, if any.
    let mut ends: Vec<u32> = parts.keys().flat_map(|(offset, size)| [*offset, offset + size]).collect();
    ends.extend([0, capacity]);
    ends.sort_unstable();
    ends.dedup();
    let mut bytes = Vec::new();
    for range in ends.windows(2) {
        let (first, end) = (range[0], range[1]);
        let mut cases = Vec::new();
        for ((offset, size), headers) in &parts {
            if *offset <= first && end <= offset + size {
                let (hi, lo) = (8 * (offset + size - first) - 1, 8 * (offset + size - end));
                for (cond, bits) in headers {
                    cases.push((*cond, b.slice(*bits, hi, lo)));
                }
            }
        }
        bytes.push(b.one_hot(cases, 8 * (end - first)));
    }
    let total = places.into_iter().map(|(offset, cond)| (cond, b.constant(offset, 16))).collect();
    let header = b.concat(bytes);
    (header, b.one_hot(total, 16), capacity)
}
