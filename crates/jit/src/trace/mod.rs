//! Hot paths: the ways that packets were seen to take, as straight code of their own.
//!
//! A *way* is the sequence of points ([`crate::emit::schedule`]) that a packet passes. A recorder, a variant of the ordinary
//! function, writes it down for the packets it runs. From a few ways comes a function without joins: ways part where
//! packets decide, and never meet again, so that on each of them everything that follows from the decisions is known
//! when the code is made: which headers are there, where they lie, what slots hold. Whoever leaves the ways is given to
//! the ordinary function from the beginning. That is possible at any time because a hot path has no effects before its
//! end: written fields wait in variables, counts and registers in a list ([`Held`]), and what cannot wait or be done
//! twice is never on a hot path. Does not live here: when what is recorded and compiled (the data plane).

pub(crate) mod batch_invariants;
pub(crate) mod batch_splitting;
pub(crate) mod code;
pub(crate) mod condition_numbering;
pub(crate) mod deferred_effects;
pub(crate) mod guard_coalescing;
pub(crate) mod guard_elimination;
pub(crate) mod guard_hoisting;
pub(crate) mod guard_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::mem::offset_of;
use std::sync::Arc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, MemFlagsData, Signature, Value, types};
use hopwright_ir::analysis::ranges::Ranges;
use hopwright_ir::{Expr, ExternId, HeaderId, SlotId, Type};

use crate::emit::Emitter;
use crate::emit::flow_state::FlowState;
use crate::emit::schedule::{Point, PointId};
use crate::trace::batch_invariants::BatchInvariant;
use crate::trace::condition_numbering::KnownConditions;
use crate::trace::guard_coalescing::packet::PendingGuards;
use hopwright_abi::{self as abi, ExternAttributes};

/// Points of all ways together that a function is made for: it grows with them.
const MAX_BLOCKS: usize = 4_000;

/// The way a packet took.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub(crate) Arc<[PointId]>);

/// What the function is for.
pub(crate) enum Mode<'a> {
    /// All packets.
    Generic,
    /// All packets, and writes down their ways.
    Profile(PointNumbers),
    /// Packets on some ways.
    Trace(TraceBuild<'a>),
}

/// The numbers that points have in what is written down.
#[derive(Default)]
pub(crate) struct PointNumbers {
    numbers: BTreeMap<PointId, u32>,
}

impl PointNumbers {
    /// A point's number.
    fn number(&mut self, point_id: &PointId) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(point_id.clone()).or_insert(next)
    }

    /// The points by number.
    pub fn list(self) -> Vec<PointId> {
        let mut list = vec![PointId::new(); self.numbers.len()];
        for (point_id, number) in self.numbers {
            list[number as usize] = point_id;
        }
        list
    }
}

/// The ways to make code for.
pub(crate) struct TraceBuild<'a> {
    pub ways: &'a [Path],
    /// The function for all packets.
    pub all: abi::RunBatch,
    /// The extern objects.
    pub attributes: &'a [ExternAttributes],
    /// Where packets leave the ways.
    pub exit: Option<Block>,
    /// Addresses that others are relative to.
    pub roots: Vec<Value>,
    /// The ways that code goes to the end of.
    pub completed: BTreeSet<usize>,
    /// The block methods that are called: by the address of one that for many blocks.
    pub methods: BTreeMap<i64, i64>,
    /// Packets read or write what others wrote.
    pub order_dependent: bool,
}

impl<'a> TraceBuild<'a> {
    pub fn new(ways: &'a [Path], all: abi::RunBatch, attributes: &'a [ExternAttributes]) -> TraceBuild<'a> {
        TraceBuild {
            ways,
            all,
            attributes,
            exit: None,
            roots: Vec::new(),
            completed: BTreeSet::new(),
            methods: BTreeMap::new(),
            order_dependent: false,
        }
    }
}

/// What a hot path has put off.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeferredEffect {
    /// A packet more in the counter cell that is so many bytes behind the first of the object with this handle.
    Count(i32, Value),
    /// The same if the address is not null.
    CountIf(Value),
    /// The cell of a register gets these words.
    Register(ExternId, Value, Vec<Value>),
}

/// What is known on a hot path besides the facts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TraceState {
    /// The recorded ways this is the beginning of, and how many of their points are passed.
    pub ways: Vec<(usize, usize)>,
    /// Fields that were written.
    pub written: BTreeMap<SlotId, Vec<Value>>,
    pub held: Vec<DeferredEffect>,
    /// One past the packet's last byte.
    pub end: Option<Value>,
    /// What was loaded from the packet since the last call: address, offset, bytes.
    loaded: BTreeMap<(Value, i32, u32), Value>,
    /// What was pending.
    pub conditions: KnownConditions,
    /// What is still to be pending of the packet's bytes.
    pub pending: PendingGuards,
    /// The last emit whose header does not lie where it belongs.
    pub which: usize,
    /// Nobody gets here.
    pub left: bool,
}

impl TraceState {
    /// The ways that go on to a point.
    fn to(&self, point: &PointId, ways: &[Path]) -> Option<TraceState> {
        let goes_on = |&&(way, passed): &&(usize, usize)| ways[way].0.get(passed).is_some_and(|p| p == point);
        let on: Vec<_> = self.ways.iter().filter(goes_on).map(|&(way, passed)| (way, passed + 1)).collect();
        if self.left || on.is_empty() {
            return None;
        }
        Some(TraceState { ways: on, ..self.clone() })
    }
}

impl<'a> Emitter<'a> {
    /// The function is for some ways only.
    pub(crate) fn is_trace(&self) -> bool {
        matches!(self.mode, Mode::Trace(_))
    }

    /// Writes down that a packet passes a point.
    pub(crate) fn profile_point(&mut self, point_id: &PointId) {
        let Mode::Profile(points) = &mut self.mode else { return };
        let number = points.number(point_id);
        let flags = self.flags.cells;
        let at = offset_of!(abi::Runtime, profile) as i32;
        let way = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        let passed = self.b.ins().load(types::I32, flags, way, 0);
        let passed = self.b.ins().iadd_imm_s(passed, 1);
        let last = self.b.ins().iconst(types::I32, abi::MAX_PROFILE_POINTS as i64);
        let passed = self.b.ins().umin(passed, last);
        self.b.ins().store(flags, passed, way, 0);
        let offset = self.b.ins().uextend(types::I64, passed);
        let offset = self.b.ins().ishl_imm_u(offset, 2);
        let place = self.b.ins().iadd(way, offset);
        let number = self.b.ins().iconst(types::I32, i64::from(number));
        self.b.ins().store(flags, number, place, 0);
    }

    /// What is ahead on each of the ways that a packet here can be on.
    pub(crate) fn paths_ahead(&self) -> impl Iterator<Item = &'a [PointId]> {
        let ways = match &self.mode {
            Mode::Trace(build) => build.ways,
            _ => &[],
        };
        self.flow.trace.ways.iter().filter_map(|&(way, passed)| ways[way].0.get(passed..))
    }

    /// Whether a packet here can go to a point on its way; it can go to any point if this is no hot path.
    pub(crate) fn is_on_path(&self, point: &Point<'a>) -> bool {
        !self.is_trace() || (!self.flow.trace.left && self.paths_ahead().any(|ahead| ahead.first() == Some(point.id())))
    }

    /// Whether on the hot path packets can go to this point and to no other.
    pub(crate) fn is_only_path(&self, point: &Point<'a>) -> bool {
        self.is_trace() && self.is_on_path(point) && self.paths_ahead().all(|ahead| ahead.first() == Some(point.id()))
    }

    /// The parts of this place are not pending for, because it is known how that ends: the ways go on behind them.
    pub(crate) fn skip_within(&mut self, place: &PointId) {
        if let Mode::Trace(build) = &self.mode {
            for (way, passed) in &mut self.flow.trace.ways {
                while build.ways[*way].0.get(*passed).is_some_and(|p| p.starts_with(place)) {
                    *passed += 1;
                }
            }
        }
    }

    /// The beginning of a packet on all ways.
    pub(crate) fn begin_paths(&mut self) {
        if let Mode::Trace(build) = &mut self.mode {
            let ways = (0..build.ways.len()).map(|way| (way, 0)).collect();
            self.flow.trace = TraceState { ways, ..TraceState::default() };
        }
    }

    /// Where a packet goes on a hot path: to a point on the way, or away from all of them.
    pub(crate) fn trace_edge(&mut self, point: &Point<'a>) -> Result<FlowState, Block> {
        let Mode::Trace(build) = &self.mode else { return Ok(self.flow.clone()) };
        let full = self.schedule.blocks() > MAX_BLOCKS;
        match self.flow.trace.to(point.id(), build.ways) {
            Some(trace) if !full => {
                let mut flow = self.flow.clone();
                flow.trace = trace;
                Ok(flow)
            }
            _ => Err(self.side_exit_block()),
        }
    }

    /// Where packets leave the ways.
    pub(crate) fn side_exit_block(&mut self) -> Block {
        let exit = match &self.mode {
            Mode::Trace(build) => build.exit,
            _ => None,
        };
        exit.unwrap_or_else(|| {
            let block = self.b.create_block();
            self.b.set_cold_block(block);
            if let Mode::Trace(build) = &mut self.mode {
                build.exit = Some(block);
            }
            block
        })
    }

    /// On a hot path, a packet that gets here leaves it. True if so.
    pub(crate) fn side_exit(&mut self) -> bool {
        if !self.is_trace() {
            return false;
        }
        let exit = self.side_exit_block();
        self.b.ins().jump(exit, &[]);
        let nobody = self.b.create_block();
        self.enter(nobody);
        self.flow.trace.left = true;
        true
    }

    /// Leaves the hot path unless the condition holds.
    pub(crate) fn guard(&mut self, condition: Value) {
        self.emit_guard(condition, true);
    }

    /// The address of the function for all packets, which a hot path has.
    pub(crate) fn generic_function(&self) -> i64 {
        match &self.mode {
            Mode::Trace(build) => build.all as usize as i64,
            _ => 0,
        }
    }

    /// Gives those who left to the function for all packets.
    pub(crate) fn emit_side_exit(&mut self, next_packet: Block, call_conv: cranelift_codegen::isa::CallConv) {
        let Mode::Trace(TraceBuild { exit: Some(exit), .. }) = self.mode else { return };
        self.enter(exit);
        let runtime = self.batch_invariant(BatchInvariant::Runtime);
        let left = offset_of!(abi::Runtime, side_exits) as i32;
        // Only here: not before the first packet.
        let flags = MemFlagsData::new().with_notrap().with_alias_region(self.flags.runtime.alias_region());
        let left = self.b.ins().load(types::I64, flags, runtime, left);
        let n = self.b.ins().load(types::I64, self.flags.cells, left, 0);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.ins().store(self.flags.cells, n, left, 0);
        let mut s = Signature::new(call_conv);
        s.params.extend([AbiParam::new(types::I64); 3]);
        s.returns.push(AbiParam::new(types::I64));
        let signature = self.b.import_signature(s);
        let (packet, one) = (self.load_frame(0), self.c64(1));
        let callee = self.batch_invariant(BatchInvariant::GenericFunction);
        let call = self.b.ins().call_indirect(signature, callee, &[runtime, packet, one]);
        let behind = self.b.inst_results(call)[0];
        let paused = self.b.create_block();
        self.b.ins().brif(behind, paused, &[], next_packet, &[]);
        self.enter(paused);
        self.b.ins().return_(&[behind]);
    }

    /// Bytes that were loaded from the packet on this way, in whose memory nothing has changed.
    pub(crate) fn loaded(&self, base: Value, at: i32, bytes: u32) -> Option<Value> {
        self.flow.trace.loaded.get(&(base, at, bytes)).copied()
    }

    /// Keeps what was loaded from the packet.
    pub(crate) fn keep_loaded(&mut self, base: Value, at: i32, bytes: u32, value: Value) {
        if let Mode::Trace(build) = &self.mode
            && build.roots.contains(&base)
        {
            self.flow.trace.loaded.insert((base, at, bytes), value);
        }
    }

    /// A call is made: what was loaded would have to be kept in memory over it. Who is not on the way is spared the call.
    pub(crate) fn before_call(&mut self) {
        self.flush_guards();
        self.flow.trace.loaded.clear();
    }

    /// The same where the way is cut in stages: what is still to be pending is pending behind it, together with what comes
    /// then.
    pub(crate) fn before_block_method(&mut self) {
        self.flow.trace.loaded.clear();
    }

    /// What a field was set to on this way.
    pub(crate) fn deferred_field(&self, slot: SlotId) -> Option<Vec<Value>> {
        self.flow.trace.written.get(&slot).cloned()
    }

    /// Puts off writing a field. False if there is no putting off.
    pub(crate) fn defer_field(&mut self, header: HeaderId, slot: SlotId, value: &[Value]) -> bool {
        if !self.is_trace() {
            return false;
        }
        // What an invalid header holds without bytes of its own, nobody sees but who reads it before it is valid.
        if !self.flow.writable[header.index()] && self.known_valid(header) != Some(false) {
            self.side_exit();
        }
        self.flow.trace.written.insert(slot, value.to_vec());
        true
    }

    /// Fields of this header are not yet in its bytes.
    pub(crate) fn has_deferred_fields(&self, header: HeaderId) -> bool {
        let written = &self.flow.trace.written;
        !written.is_empty() && self.p[header].fields.iter().any(|f| written.contains_key(&f.slot))
    }

    /// The fields of a header that are not yet in its bytes, for another header of its kind.
    pub(crate) fn deferred_fields_for(&self, header: HeaderId, other: HeaderId) -> Vec<(SlotId, Vec<Value>)> {
        let pairs = self.p[header].fields.iter().zip(&self.p[other].fields);
        pairs.filter_map(|(from, to)| Some((to.slot, self.deferred_field(from.slot)?))).collect()
    }

    /// Fields are not yet in their headers' bytes.
    pub(crate) fn defer_fields(&mut self, fields: Vec<(SlotId, Vec<Value>)>) {
        self.flow.trace.written.extend(fields);
    }

    /// A header's bytes are others now.
    pub(crate) fn drop_deferred_fields(&mut self, header: HeaderId) {
        if !self.flow.trace.written.is_empty() {
            for field in &self.p[header].fields {
                self.flow.trace.written.remove(&field.slot);
            }
        }
    }

    /// Puts off an effect. False if there is no putting off.
    pub(crate) fn defer(&mut self, effect: DeferredEffect) -> bool {
        let is_trace = self.is_trace();
        if is_trace {
            self.flow.trace.held.push(effect);
        }
        is_trace
    }

    /// A write to the register was put off.
    pub(crate) fn is_register_deferred(&self, id: ExternId) -> bool {
        self.flow.trace.held.iter().any(|e| matches!(e, DeferredEffect::Register(r, ..) if *r == id))
    }

    /// Calling an extern object twice is not the same as calling it once.
    pub(crate) fn side_exit_unless_repeatable(&mut self, object: Option<ExternId>) {
        if let Mode::Trace(build) = &self.mode
            && !object.and_then(|id| build.attributes.get(id.index())).is_some_and(|native| native.repeatable)
        {
            self.side_exit();
        }
    }

    /// The native method of an extern object that takes and gives blocks in registers, on a hot path.
    pub(crate) fn block_method(&mut self, object: Option<ExternId>) -> Option<abi::BlockMethod> {
        let Mode::Trace(build) = &mut self.mode else { return None };
        let method = build.attributes.get(object?.index())?.block?;
        build.methods.insert(method.run as usize as i64, method.run_all as usize as i64);
        Some(method)
    }

    /// On a hot path: packets take turns.
    pub(crate) fn set_order_dependent(&mut self) {
        if let Mode::Trace(build) = &mut self.mode {
            build.order_dependent = true;
        }
    }

    /// Packets for which there is more to do than to send them leave.
    pub(crate) fn guard_no_requests(&mut self) {
        if !self.is_trace() {
            return;
        }
        for slot in self.plan.slots.of_sending() {
            if self.flow.value(slot) != Some(0) {
                let pending = self.read(slot)[0];
                let none = self.b.ins().icmp_imm_u(IntCC::Equal, pending, 0);
                self.guard(none);
                self.flow.set(slot, 0);
            }
        }
    }

    /// Asks whether an index is within an array, unless it cannot be elsewhere: leaves the hot path if not.
    pub(crate) fn guard_within(&mut self, index: &Expr, value: Value, size: u64) {
        if most(index).is_none_or(|most| most >= size) {
            let within = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, size as i64);
            self.guard(within);
        }
    }
}

/// The highest value of an expression of at most 63 bits, whatever slots hold.
pub(crate) fn most(e: &Expr) -> Option<u64> {
    if e.ty.width() > 63 || !matches!(e.ty, Type::Bits(_)) {
        return None;
    }
    Ranges::default().of(e).map(|range| range.hi)
}
