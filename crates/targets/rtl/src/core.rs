//! The core of a design: parser, ingress, egress and deparser as one pipeline, or as two for programs that copy packets.
//!
//! Where each packet goes to at most one port, the traffic manager is wiring: the egress port is what ingress chose. Otherwise a second
//! pipeline, for egress, is passed by each copy; what it needs of ingress goes with the copy. Headers are put together at all
//! offsets that they can have in the packet that is sent.

use std::collections::BTreeMap;

use hopwright_ir::{DROP_PORT, Pipeline};

use crate::dont_care;
use crate::exclusive::{self, Exclusions};
use crate::hir::{Binary, Builder, Design, Destinations, Edit, Emit, IngressOutputs, Input, Node, Op, Piece, Value};
use crate::offsets::possible_values;
use crate::refusal::{Capability, Refusal, distinct};
use crate::registers;
use crate::target::Target;
use crate::windows;

/// The most bytes of an edit.
const MAX_EDIT: u32 = 16;

/// The most bytes of a varbit field of a header that is put together with others.
const MAX_REGION: u32 = 128;

/// How often it is looked into whether a header can be at an offset at all. That takes long.
const MAX_CHECKS: u32 = 64;

/// What the traffic manager is to make of a packet: copies in the order of the fields.
#[derive(Clone, Copy, Debug)]
pub struct CopyRequest {
    /// The length of the list of a clone session's group, and where it begins.
    pub clones: [Value; 2],
    /// Whether the session has a port of its own, and the port, 9 bits.
    pub clone_port: [Value; 2],
    /// The length of the list of the multicast group, and where it begins.
    pub replicas: [Value; 2],
    /// Whether the packet goes to a port, and the port, 9 bits.
    pub port: [Value; 2],
}

impl CopyRequest {
    /// All values, in order.
    pub fn values(&self) -> [Value; 8] {
        let [[a, b], [c, d], [e, f], [g, h]] = [self.clones, self.clone_port, self.replicas, self.port];
        [a, b, c, d, e, f, g, h]
    }

    fn map(&mut self, places: &[Value]) {
        let fields = [&mut self.clones, &mut self.clone_port, &mut self.replicas, &mut self.port];
        fields.into_iter().flatten().for_each(|v| *v = places[v.index()]);
    }
}

/// What passes a design again.
#[derive(Clone, Copy, Debug)]
pub struct Again {
    /// Whether the packet enters again instead of leaving, one bit.
    pub loops: Value,
    /// What is kept of it.
    pub kept: Value,
}

/// Clones at the end of egress. Each copy is followed by its *shadow*, which has no effects: if the copy has asked for a clone, the packet as it
/// was received enters again in its place.
#[derive(Clone, Copy, Debug)]
pub struct Mirror {
    /// Whether this is a shadow, one bit.
    pub shadow: Value,
    /// Whether this copy is cloned, one bit.
    pub clones: Value,
    /// What is kept for the clone.
    pub kept: Value,
}

/// A design as one pipeline, or as two.
#[derive(Clone, Debug)]
pub struct Core {
    /// The operations. Its results are not used. Those in front of `split` are the first pipeline of two; it is zero for one pipeline.
    pub design: Design,
    /// Of two pipelines, what is between them.
    pub copies: Option<CopyRequest>,
    /// Whether this is the last copy of its packet, one bit.
    pub last: Value,
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
    /// Whether any bytes are sent, one bit.
    pub sends: Value,
    /// The most bytes of headers.
    pub header_capacity: u32,
    /// What changes in the part that is kept; each at most 16 bytes.
    pub edits: Vec<Edit>,
    /// Of programs that repeat packets, or clone them at the end of egress.
    pub again: Option<Again>,
    /// Of programs that clone packets at the end of egress.
    pub mirror: Option<Mirror>,
}

impl Core {
    /// Makes one pipeline of a design, or two.
    ///
    /// # Errors
    /// The program sends headers that the target does not put together, or accesses an object in both pipelines.
    pub fn of(pipeline: &Pipeline, design: &Design, target: &Target) -> Result<Core, Vec<Refusal>> {
        let zero = |v: Value| matches!(&design[v].op, Op::Const(bits) if bits.bits() == 0);
        let (ingress, egress) = (&design.ingress, &design.egress);
        let copies = !zero(ingress.multicast_group) || !zero(ingress.clone);
        let mut refusals = long_headers(pipeline, &egress.emits);
        if copies {
            refusals.extend(shared_by_pipelines(pipeline, design));
        }
        if !refusals.is_empty() {
            return Err(distinct(refusals));
        }
        let mut b = Builder::default();
        let mut places: Vec<Value> = Vec::with_capacity(design.nodes.len());
        let (first, second) = design.nodes.split_at(design.split);
        rebuild_ingress(&mut b, first, &mut places);
        let spec = places[ingress.egress_spec.index()];
        let (mut request, mut truncation) = (None, None);
        let nothing = if copies {
            inputs_of_both(&mut b, second);
            let (made, session) = request_copies(&mut b, ingress, &places, target);
            (request, truncation) = (Some(made), session);
            b.design.split = b.design.nodes.len();
            b.input(Input::NoCopy)
        } else {
            b.eq_const(spec, DROP_PORT)
        };
        let resubmit = ingress.resubmit.map(|again| {
            let (loops, kept) = (places[again.enable.index()], places[again.kept.index()]);
            let own = if copies { b.input(Input::Cloned) } else { b.boolean(false) };
            let own = b.not(own);
            Again { loops: b.and(loops, own), kept }
        });
        // Egress is not reached by packets that ingress drops or resubmits.
        let mut something = b.not(nothing);
        if let Some(again) = resubmit {
            let on = b.not(again.loops);
            something = b.and(something, on);
        }
        let shadow = if egress.mirror.is_some() { b.input(Input::Shadow) } else { b.boolean(false) };
        let no_shadow = b.not(shadow);
        let reached = b.and(something, no_shadow);
        rebuild_egress(&mut b, second, &mut places, reached, (!copies).then_some(spec));
        let at = |v: Value| places[v.index()];
        let drop = b.or(nothing, at(egress.drop));
        let (header, bytes, header_capacity) = new_headers(&mut b, pipeline, &egress.emits, at);
        let edits = short_edits(&mut b, &egress.edits, at);
        let skip = at(egress.skip);
        let whole = b.input(Input::Length);
        let rest = b.binary(Binary::Sub, whole, skip);
        let own = (at(egress.truncate), at(egress.truncate_length));
        let (bytes, rest) = truncated(&mut b, own, truncation, bytes, rest);
        let none = b.constant(0u32, 16);
        let header_bytes = b.mux(drop, none, bytes);
        let length = b.mux(drop, none, rest);
        let again = egress.recirculate.map(|again| {
            let sent = b.not(drop);
            Again { loops: b.and(sent, at(again.enable)), kept: at(again.kept) }
        });
        let mut core = Core {
            design: Design::default(),
            copies: request,
            last: none,
            drop,
            port: spec,
            header,
            header_bytes,
            skip,
            length,
            sends: none,
            header_capacity,
            edits,
            again,
            mirror: None,
        };
        if let Some(again) = resubmit {
            core.pass_whole(&mut b, again.loops, whole, none);
            core.repeat(&mut b, again);
        }
        if let Some(again) = egress.mirror {
            core.pass_whole(&mut b, shadow, whole, none);
            let (clones, kept) = (b.and(something, at(again.enable)), at(again.kept));
            core.clone_copies(&mut b, Mirror { shadow, clones, kept });
        }
        core.sends = sends(&mut b, core.header_bytes, core.length);
        (core.port, core.last) =
            if copies { (b.input(Input::EgressPort), b.input(Input::LastCopy)) } else { (spec, b.boolean(true)) };
        core.design = b.design;
        core.optimise(pipeline, target);
        Ok(core)
    }

    /// The results of a packet that enters again as it was received on a condition: `whole` bytes, and no new ones.
    fn pass_whole(&mut self, b: &mut Builder, loops: Value, whole: Value, none: Value) {
        self.header_bytes = b.mux(loops, none, self.header_bytes);
        self.skip = b.mux(loops, none, self.skip);
        self.length = b.mux(loops, whole, self.length);
        let on = b.not(loops);
        self.drop = b.and(self.drop, on);
        for edit in &mut self.edits {
            edit.enable = b.and(edit.enable, on);
        }
    }

    /// Has copies cloned, in a program that repeats packets or has nothing of that.
    fn clone_copies(&mut self, b: &mut Builder, mirror: Mirror) {
        let nothing = Again { loops: b.boolean(false), kept: b.constant(0u32, b.width(mirror.kept)) };
        self.again.get_or_insert(nothing);
        self.mirror = Some(mirror);
    }

    /// Has a packet enter again, besides those that do already.
    fn repeat(&mut self, b: &mut Builder, Again { loops, kept }: Again) {
        self.again = Some(match self.again {
            Some(other) => Again { loops: b.or(loops, other.loops), kept: b.mux(loops, kept, other.kept) },
            None => Again { loops, kept },
        });
    }

    fn optimise(&mut self, pipeline: &Pipeline, target: &Target) {
        self.eliminate_dead(pipeline);
        let places = hoist(&mut self.design);
        self.map_outputs(&places);
        let places = exclusive::merge(&mut self.design);
        self.replaced(pipeline, &places);
        if let Some(places) = registers::forward(&mut self.design) {
            self.replaced(pipeline, &places);
        }
        self.simplify(pipeline);
        let places = windows::lower(&mut self.design, target);
        self.replaced(pipeline, &places);
        self.simplify(pipeline);
    }

    /// The results; edits, what passes again and then clones last.
    pub fn outputs(&self) -> Vec<Value> {
        let mut outputs =
            vec![self.last, self.drop, self.port, self.header, self.header_bytes, self.skip, self.length, self.sends];
        outputs.extend(self.edits.iter().flat_map(|edit| [edit.enable, edit.offset, edit.bits]));
        outputs.extend(self.again.iter().flat_map(|again| [again.loops, again.kept]));
        outputs.extend(self.mirror.iter().flat_map(|mirror| [mirror.shadow, mirror.clones, mirror.kept]));
        outputs
    }

    /// Replaces the results.
    fn map_outputs(&mut self, places: &[Value]) {
        let edits = self.edits.iter_mut().flat_map(|edit| [&mut edit.enable, &mut edit.offset, &mut edit.bits]);
        let own = [
            &mut self.last,
            &mut self.drop,
            &mut self.port,
            &mut self.header,
            &mut self.header_bytes,
            &mut self.skip,
            &mut self.length,
            &mut self.sends,
        ];
        own.into_iter().chain(edits).for_each(|output| *output = places[output.index()]);
        if let Some(copies) = &mut self.copies {
            copies.map(places);
        }
        if let Some(again) = &mut self.again {
            [&mut again.loops, &mut again.kept].into_iter().for_each(|output| *output = places[output.index()]);
        }
        if let Some(Mirror { shadow, clones, kept }) = &mut self.mirror {
            [shadow, clones, kept].into_iter().for_each(|output| *output = places[output.index()]);
        }
    }

    /// Leaves out choices that make no difference to the results.
    fn simplify(&mut self, pipeline: &Pipeline) {
        let always = |value: Value| (value, Vec::new());
        let mut results: Vec<(Value, Vec<(Value, bool)>)> =
            [self.last, self.drop, self.port, self.header_bytes, self.skip, self.length, self.sends]
                .map(always)
                .to_vec();
        results.extend(self.copies.iter().flat_map(CopyRequest::values).map(always));
        results.push((self.header, vec![(self.drop, false)]));
        if let Some(Again { loops, kept }) = self.again {
            results.extend([always(loops), (kept, vec![(loops, true)])]);
        }
        if let Some(Mirror { shadow, clones, kept }) = self.mirror {
            results.extend([always(shadow), always(clones), (kept, vec![(clones, true)])]);
        }
        for Edit { enable, offset, bits, .. } in &self.edits {
            results.push(always(*enable));
            results.extend([*offset, *bits].map(|value| (value, vec![(*enable, true)])));
        }
        let places = dont_care::simplify(&mut self.design, &results);
        self.replaced(pipeline, &places);
    }

    /// The design has been replaced by one in which each value has this place.
    fn replaced(&mut self, pipeline: &Pipeline, places: &[Value]) {
        self.map_outputs(places);
        self.eliminate_dead(pipeline);
    }

    /// Removes operations that have no effect and whose results nobody uses.
    fn eliminate_dead(&mut self, pipeline: &Pipeline) {
        let mut live = vec![false; self.design.nodes.len()];
        let requests = self.copies.iter().flat_map(CopyRequest::values);
        self.outputs().into_iter().chain(requests).for_each(|v| live[v.index()] = true);
        let places = self.design.remove_dead(pipeline, live);
        self.map_outputs(&places);
    }
}

/// Headers with a varbit field that is too long to be put together with others.
fn long_headers(pipeline: &Pipeline, emits: &[Emit]) -> Vec<Refusal> {
    let long = emits.iter().filter_map(|emit| {
        let most = varbit_bytes(pipeline, emit);
        let region = emit.pieces.iter().any(|piece| matches!(piece, Piece::Region(_)));
        let message =
            format!("header `{}` has up to {most} bytes, of at most {MAX_REGION}", pipeline[emit.header].name);
        let refusal = Refusal { capability: Capability::VariableHeader, span: emit.span, message };
        (region && most > MAX_REGION).then_some(refusal)
    });
    long.collect()
}

/// Moves what needs nothing of a copy from the second pipeline to the first, where it is computed once for a packet. Less waits with packets
/// then. Returns the new value of each old one.
fn hoist(design: &mut Design) -> Vec<Value> {
    let mut first: Vec<bool> = Vec::with_capacity(design.nodes.len());
    for (i, node) in design.nodes.iter().enumerate() {
        let of_copy = node.op.accesses_state() || matches!(node.op, Op::Input(input) if input.is_egress());
        first.push(i < design.split || (!of_copy && node.op.operands().iter().all(|v| first[v.index()])));
    }
    if design.split == 0 {
        return (0..design.nodes.len() as u32).map(Value).collect();
    }
    design.split = first.iter().filter(|first| **first).count();
    let (mut before, mut behind) = (0, design.split as u32);
    let places: Vec<Value> = first
        .iter()
        .map(|first| {
            let next = if *first { &mut before } else { &mut behind };
            *next += 1;
            Value(*next - 1)
        })
        .collect();
    let mut nodes: Vec<(Value, Node)> = places.iter().copied().zip(std::mem::take(&mut design.nodes)).collect();
    nodes.sort_unstable_by_key(|(place, _)| *place);
    design.nodes = nodes.into_iter().map(|(_, node)| node).collect();
    design.nodes.iter_mut().for_each(|node| node.op.map_operands(|v| places[v.index()]));
    places
}

/// Objects whose accesses by two pipelines would not be in the order of packets.
fn shared_by_pipelines(pipeline: &Pipeline, design: &Design) -> Vec<Refusal> {
    let object = |op: &Op| match op {
        Op::RegisterRead { register: id, .. } | Op::RegisterWrite { register: id, .. } => Some(*id),
        _ => None,
    };
    let (first, second) = design.nodes.split_at(design.split);
    let both = second.iter().filter_map(|node| {
        let id = object(&node.op)?;
        let message = format!("ingress and egress access `{}`", pipeline[id].name);
        let writes = |node: &Node| matches!(node.op, Op::RegisterWrite { register, .. } if register == id);
        // What nobody writes has a memory in each.
        let shared = first.iter().any(|other| object(&other.op) == Some(id)) && first.iter().chain(second).any(writes);
        shared.then_some(Refusal { capability: Capability::SharedObject, span: node.span, message })
    });
    both.collect()
}

/// What the traffic manager is to make of a packet, and whether and to how many bytes its clones are truncated.
fn request_copies(
    b: &mut Builder,
    ingress: &IngressOutputs,
    places: &[Value],
    target: &Target,
) -> (CopyRequest, Option<(Value, Value)>) {
    let at = |v: Value| places[v.index()];
    let bits = target.copy_lists.ilog2();
    let (mut group, clone, spec) = (at(ingress.multicast_group), at(ingress.clone), at(ingress.egress_spec));
    if let Some(again) = ingress.resubmit {
        // A packet that is resubmitted goes nowhere else.
        let none = b.constant(0u32, 16);
        group = b.mux(at(again.enable), none, group);
    }
    let find = |b: &mut Builder, of: Destinations, number: Value, unused: bool| match unused {
        true => b.constant(0u32, of.width()),
        false => b.effect(Op::Destinations { of, number }, of.width()),
    };
    let never = b.as_const(clone).is_some_and(|c| c.bits() == 0);
    let session = find(b, Destinations::Session { bits }, at(ingress.session), never);
    let none = b.constant(0u32, b.width(session));
    let session = b.mux(clone, session, none);
    let never = b.as_const(group).is_some_and(|c| c.bits() == 0);
    let replicas = find(b, Destinations::Group { bits }, group, never);
    let mut part = |value: Value, hi: u32, width: u32| b.slice(value, hi - 1, hi - width);
    let clones = [part(session, 2 * bits + 27, bits), part(session, bits + 27, bits)];
    let clone_port = [part(session, 27, 1), part(session, 26, 9)];
    let truncation = (part(session, 17, 1), part(session, 16, 16));
    let replicas = [part(replicas, 2 * bits, bits), part(replicas, bits, bits)];
    let (single, dropped) = (b.eq_const(group, 0u32), b.eq_const(spec, DROP_PORT));
    let sent = b.not(dropped);
    let mut own = b.and(single, sent);
    if let Some(again) = ingress.resubmit {
        own = b.or(own, at(again.enable));
    }
    let port = [own, spec];
    let truncation = b.as_const(truncation.0).is_none().then_some(truncation);
    (CopyRequest { clones, clone_port, replicas, port }, truncation)
}

/// The numbers of bytes of the new headers and of the part that is kept, if the program truncates the packet (`own`: whether, and to how
/// many bytes) or otherwise the clone session does.
fn truncated(
    b: &mut Builder,
    own: (Value, Value),
    session: Option<(Value, Value)>,
    header: Value,
    kept: Value,
) -> (Value, Value) {
    let (mut on, wide) = own;
    let (high, low) = (b.slice(wide, 31, 16), b.slice(wide, 15, 0));
    let (small, all) = (b.eq_const(high, 0u32), b.constant(u16::MAX, 16));
    let mut most = b.mux(small, low, all);
    if let Some((clone_on, clone_most)) = session {
        let cloned = b.input(Input::Cloned);
        let clone_on = b.and(clone_on, cloned);
        most = b.mux(on, most, clone_most);
        on = b.or(on, clone_on);
    }
    if b.as_const(on).is_some_and(|c| c.bits() == 0) {
        return (header, kept);
    }
    let least = |b: &mut Builder, a: Value, most: Value| {
        let longer = b.binary(Binary::Less, most, a);
        let cut = b.and(on, longer);
        b.mux(cut, most, a)
    };
    let header = least(b, header, most);
    let rest = b.binary(Binary::Sub, most, header);
    (header, least(b, kept, rest))
}

/// The most bytes of a header's varbit field.
fn varbit_bytes(pipeline: &Pipeline, emit: &Emit) -> u32 {
    let header = &pipeline[emit.header];
    header.varbit.map_or(0, |at| header.fields[at as usize].width.div_ceil(8))
}

/// The forms that a header with this condition can have: one, or one for each length of its varbit field, with conditions that exclude each
/// other.
fn forms(b: &mut Builder, enable: Value, pieces: &[Piece], most: u32) -> Vec<(Value, Value)> {
    let bits = |piece: &Piece| match piece {
        Piece::Bits(v) => Some(*v),
        Piece::Region(_) => None,
    };
    let region = pieces.iter().position(|piece| matches!(piece, Piece::Region(_)));
    let Some((at, Piece::Region(region))) = region.map(|at| (at, pieces[at])) else {
        return vec![(enable, b.concat(pieces.iter().filter_map(bits).collect()))];
    };
    let (offset, length) = (b.slice(region, 31, 16), b.slice(region, 15, 0));
    let lengths = possible_values(&b.design)[length.index()].clone();
    let lengths = lengths.unwrap_or_else(|| (0..=u64::from(most)).collect());
    let lengths = lengths.into_iter().filter(|bytes| *bytes <= u64::from(most));
    let lengths: Vec<u64> = lengths.collect();
    // One fetch for all lengths.
    let most = 8 * lengths.iter().max().copied().unwrap_or(0) as u32;
    let longest = b.window(offset, 0, most);
    let forms = lengths.into_iter().map(|bytes| {
        let here = b.eq_const(length, bytes);
        let mut parts: Vec<Value> = pieces[..at].iter().filter_map(bits).collect();
        parts.push(if bytes > 0 { b.slice(longest, most - 1, most - 8 * bytes as u32) } else { b.constant(0u32, 0) });
        parts.extend(pieces[at + 1..].iter().filter_map(bits));
        (b.and(enable, here), b.concat(parts))
    });
    forms.collect()
}

/// Whether there are any bytes of headers, or any that are kept.
fn sends(b: &mut Builder, header_bytes: Value, length: Value) -> Value {
    let nothing = [header_bytes, length].map(|bytes| b.eq_const(bytes, 0u32));
    let nothing = b.and(nothing[0], nothing[1]);
    b.not(nothing)
}

/// Builds parser and ingress.
fn rebuild_ingress(b: &mut Builder, nodes: &[Node], places: &mut Vec<Value>) {
    for node in nodes {
        b.span = node.span;
        let mut op = node.op.clone();
        op.map_operands(|v| places[v.index()]);
        let place = b.rebuild(op, node.width);
        b.hold(place, node.slot);
        places.push(place);
    }
}

/// What enters with the packet is there for both pipelines of a design, as far as egress needs it.
fn inputs_of_both(b: &mut Builder, egress: &[Node]) {
    let needed = egress.iter().filter_map(|node| match node.op {
        Op::Input(input) if !input.is_egress() => Some(input),
        _ => None,
    });
    for input in [Input::Length, Input::IngressPort, Input::Timestamp].into_iter().chain(needed) {
        b.input(input);
    }
}

/// Builds egress behind ingress, for packets that reach it. Without copies their port is known.
fn rebuild_egress(b: &mut Builder, nodes: &[Node], places: &mut Vec<Value>, reached: Value, only_port: Option<Value>) {
    for node in nodes {
        b.span = node.span;
        let mut op = node.op.clone();
        op.map_operands(|v| places[v.index()]);
        if let Some(enable) = op.enable_mut() {
            *enable = b.and(*enable, reached);
        }
        let place = match (op, only_port) {
            (Op::Input(Input::QueueDepth), _) => b.constant(0u32, Input::QueueDepth.width()),
            (Op::Input(Input::EgressPort), Some(port)) => port,
            (Op::Input(input @ (Input::EgressRid | Input::Cloned | Input::Replicated)), Some(_)) => {
                b.constant(0u32, input.width())
            }
            (op, _) => b.rebuild(op, node.width),
        };
        b.hold(place, node.slot);
        places.push(place);
    }
}

/// The headers that are sent, as [`assemble`] puts them together.
fn new_headers(
    b: &mut Builder,
    pipeline: &Pipeline,
    emits: &[Emit],
    at: impl Fn(Value) -> Value,
) -> (Value, Value, u32) {
    let mut headers = Vec::new();
    for emit in emits {
        b.span = emit.span;
        let pieces = emit.pieces.iter().map(|piece| match piece {
            Piece::Bits(v) => Piece::Bits(at(*v)),
            Piece::Region(v) => Piece::Region(at(*v)),
        });
        let (pieces, enable) = (pieces.collect::<Vec<_>>(), at(emit.enable));
        headers.push((enable, forms(b, enable, &pieces, varbit_bytes(pipeline, emit))));
    }
    b.span = pipeline.deparser.span;
    assemble(b, &headers)
}

/// Edits of at most [`MAX_EDIT`] bytes that do the same.
fn short_edits(b: &mut Builder, edits: &[Edit], at: impl Fn(Value) -> Value) -> Vec<Edit> {
    let mut short = Vec::new();
    for edit in edits {
        let (enable, offset, bits) = (at(edit.enable), at(edit.offset), at(edit.bits));
        let bytes = b.width(bits) / 8;
        for first in (0..bytes).step_by(MAX_EDIT as usize) {
            let end = bytes.min(first + MAX_EDIT);
            let by = b.constant(first, 16);
            let offset = b.binary(Binary::Add, offset, by);
            let bits = b.slice(bits, 8 * (bytes - first) - 1, 8 * (bytes - end));
            short.push(Edit { enable, offset, bits, span: edit.span });
        }
    }
    short
}

/// Puts headers behind each other: the bytes, their number (16 bits), and the most bytes there can be. Each header has a condition and
/// [`forms`].
fn assemble(b: &mut Builder, headers: &[(Value, Vec<(Value, Value)>)]) -> (Value, Value, u32) {
    // For each offset at which the next header can be, the condition that it is there.
    let mut places: BTreeMap<u32, Value> = BTreeMap::from([(0, b.boolean(true))]);
    // Headers by offset, with conditions. Those at one offset exclude each other.
    let mut parts: BTreeMap<(u32, u32), Vec<(Value, Value)>> = BTreeMap::new();
    let mut exclusions = Exclusions::default();
    let mut checks = 0;
    for (enable, forms) in headers {
        let not = b.not(*enable);
        let mut next: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
        for (offset, here) in places {
            let mut both = |a: Value, c: Value| {
                checks += 1;
                if checks <= MAX_CHECKS && exclusions.exclude(&b.design, a, c) { b.boolean(false) } else { b.and(a, c) }
            };
            let sent: Vec<Value> = forms.iter().map(|(is_sent, _)| both(here, *is_sent)).collect();
            let skipped = both(here, not);
            for (sent, (_, bits)) in sent.into_iter().zip(forms) {
                let size = b.width(*bits) / 8;
                if b.as_const(sent).is_none_or(|c| c.bits() > 0) {
                    parts.entry((offset, size)).or_default().push((sent, *bits));
                    next.entry(offset + size).or_default().push(sent);
                }
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
