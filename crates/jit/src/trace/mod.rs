//! Traces: straight-line code for the paths that packets take most.
//!
//! A *path* is the sequence of program points ([`crate::emit::schedule`]) that a packet passes. The path profiler, a
//! variant of the generic function, records it. A trace function is generated from a few paths and has no joins: paths
//! diverge at decisions and never meet again. The outcome of every decision is therefore known at compile time: which
//! headers are valid, where they are, and what slots contain.
//!
//! A packet that leaves the paths takes a side exit: the generic function processes it from the beginning. This is
//! possible at any point, because a trace has no effects before its end. Written fields are kept in SSA values, and
//! counts and register writes in a list ([`DeferredEffect`]). An effect that can neither be deferred nor repeated takes
//! a side exit.

pub(crate) mod batch_invariants;
pub(crate) mod batch_splitting;
pub(crate) mod code;
pub(crate) mod condition_numbering;
pub(crate) mod deferred_effects;
pub(crate) mod exit_counters;
pub(crate) mod guard_coalescing;
pub(crate) mod guard_elimination;
pub(crate) mod guard_hoisting;
pub(crate) mod guard_tree;
pub(crate) mod passes;
pub(crate) mod tree;

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
use crate::trace::passes::{TracePass, TracePasses};
use crate::trace::tree::PointPlace;
use crate::trace_ir::TraceIr;
use hopwright_abi::{self as abi, ExternAttributes};

/// The maximum number of blocks in a trace function, whose size grows with the number of paths.
const MAX_BLOCKS: usize = 4_000;

/// The path of a packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub(crate) Arc<[PointId]>);

/// The kind of function that is emitted.
pub(crate) enum Mode<'a> {
    /// For all packets.
    Generic,
    /// For all packets; records their paths.
    Profile(PointNumbers),
    /// For packets on some paths.
    Trace(TraceBuild<'a>),
}

/// The numbers by which a path profiler records points.
#[derive(Default)]
pub(crate) struct PointNumbers {
    numbers: BTreeMap<PointId, u32>,
    /// What is at the points.
    places: BTreeMap<PointId, PointPlace>,
}

impl PointNumbers {
    /// The number of a point.
    fn number(&mut self, point_id: &PointId) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(point_id.clone()).or_insert(next)
    }

    /// Notes what is at a point.
    pub(crate) fn describe(&mut self, point_id: &PointId, place: impl FnOnce() -> PointPlace) {
        if !self.places.contains_key(point_id) {
            self.places.insert(point_id.clone(), place());
        }
    }

    /// The points and what is there, indexed by number.
    pub(crate) fn list(mut self) -> Vec<(PointId, PointPlace)> {
        let mut list = vec![(PointId::new(), PointPlace::of_stage(u32::MAX)); self.numbers.len()];
        for (point_id, number) in self.numbers {
            let place = self.places.remove(&point_id);
            list[number as usize] = (point_id, place.unwrap_or_else(|| PointPlace::of_stage(u32::MAX)));
        }
        list
    }
}

/// A trace function being built.
pub(crate) struct TraceBuild<'a> {
    pub paths: &'a [Path],
    /// The generic function.
    pub all: abi::RunBatch,
    /// Attributes of the extern objects.
    pub attributes: &'a [ExternAttributes],
    /// The tree of the paths, if code is generated from it.
    pub tree: Option<&'a TraceIr>,
    /// The passes that the trace gets.
    pub passes: TracePasses,
    /// The block that packets take side exits to.
    pub exit: Option<Block>,
    /// The values of roots, by number.
    pub roots: Vec<Value>,
    /// Indices of the paths whose end the code reaches.
    pub completed: BTreeSet<usize>,
    /// The block methods that are called: addresses of `run` to those of `run_all`.
    pub methods: BTreeMap<i64, i64>,
    /// The result depends on the order of packets.
    pub order_dependent: bool,
}

impl<'a> TraceBuild<'a> {
    pub(crate) fn new(
        paths: &'a [Path],
        all: abi::RunBatch,
        attributes: &'a [ExternAttributes],
        passes: TracePasses,
    ) -> TraceBuild<'a> {
        TraceBuild {
            paths,
            all,
            attributes,
            tree: None,
            passes,
            exit: None,
            roots: Vec::new(),
            completed: BTreeSet::new(),
            methods: BTreeMap::new(),
            order_dependent: false,
        }
    }
}

/// An effect that waits for the end of the trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeferredEffect {
    /// Counts the packet in a cell: the offset of the counter's handle, and of the cell in the counter.
    Count(i32, Value),
    /// Counts the packet in the cell at an address, unless that is null.
    CountIf(Value),
    /// Gives the packet a priority.
    Priority(Value),
    /// Writes words to a cell of a register.
    Register(ExternId, Value, Vec<Value>),
}

/// The part of the flow state that only traces have.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TraceState {
    /// The paths that start with the points passed so far, and the number of these points.
    pub paths: Vec<(usize, usize)>,
    /// Deferred writes of fields.
    pub written: BTreeMap<SlotId, Vec<Value>>,
    pub held: Vec<DeferredEffect>,
    /// One past the packet's last byte.
    pub end: Option<Value>,
    /// Values loaded from the packet since the last call, by address, offset and size.
    loaded: BTreeMap<(Value, i32, u32), Value>,
    /// The outcomes of guards so far.
    pub conditions: KnownConditions,
    /// Guards on the packet's bytes that are not emitted yet.
    pub pending: PendingGuards,
    /// The last emit whose header is not in place.
    pub which: usize,
    /// Whether this code is unreachable, because a side exit was taken.
    pub left: bool,
}

impl TraceState {
    /// The state behind a point, if a path continues there.
    fn to(&self, point: &PointId, paths: &[Path]) -> Option<TraceState> {
        let goes_on = |&&(path, passed): &&(usize, usize)| paths[path].0.get(passed).is_some_and(|p| p == point);
        let on: Vec<_> = self.paths.iter().filter(goes_on).map(|&(path, passed)| (path, passed + 1)).collect();
        if self.left || on.is_empty() {
            return None;
        }
        Some(TraceState { paths: on, ..self.clone() })
    }
}

impl<'a> Emitter<'a> {
    /// Whether a trace is emitted.
    pub(crate) fn is_trace(&self) -> bool {
        matches!(self.mode, Mode::Trace(_))
    }

    /// Whether a trace is emitted that gets this pass.
    pub(crate) fn has_pass(&self, pass: TracePass) -> bool {
        matches!(&self.mode, Mode::Trace(build) if build.passes.has(pass))
    }

    /// In a path profiler, records that the packet passes a point.
    pub(crate) fn profile_point(&mut self, point_id: &PointId) {
        let Mode::Profile(points) = &mut self.mode else { return };
        let number = points.number(point_id);
        let flags = self.flags.cells;
        let at = offset_of!(abi::Runtime, profile) as i32;
        let path = self.b.ins().load(types::I64, self.flags.runtime, self.runtime, at);
        let passed = self.b.ins().load(types::I32, flags, path, 0);
        let passed = self.b.ins().iadd_imm_s(passed, 1);
        let last = self.b.ins().iconst(types::I32, abi::MAX_PROFILE_POINTS as i64);
        let passed = self.b.ins().umin(passed, last);
        self.b.ins().store(flags, passed, path, 0);
        let offset = self.b.ins().uextend(types::I64, passed);
        let offset = self.b.ins().ishl_imm_u(offset, 2);
        let place = self.b.ins().iadd(path, offset);
        let number = self.b.ins().iconst(types::I32, i64::from(number));
        self.b.ins().store(flags, number, place, 0);
    }

    /// The remaining points of each path that a packet here may be on.
    pub(crate) fn paths_ahead(&self) -> impl Iterator<Item = &'a [PointId]> {
        let paths = match &self.mode {
            Mode::Trace(build) => build.paths,
            _ => &[],
        };
        self.flow.trace.paths.iter().filter_map(|&(path, passed)| paths[path].0.get(passed..))
    }

    /// Whether a path continues at a point. Always true in the generic function.
    pub(crate) fn is_on_path(&self, point: &Point<'a>) -> bool {
        !self.is_trace() || (!self.flow.trace.left && self.paths_ahead().any(|ahead| ahead.first() == Some(point.id())))
    }

    /// Whether all paths of a trace continue at this point.
    pub(crate) fn is_only_path(&self, point: &Point<'a>) -> bool {
        self.is_trace() && self.is_on_path(point) && self.paths_ahead().all(|ahead| ahead.first() == Some(point.id()))
    }

    /// Skips, on all paths, the points within a place whose outcome is known.
    pub(crate) fn skip_within(&mut self, place: &PointId) {
        if let Mode::Trace(build) = &self.mode {
            for (path, passed) in &mut self.flow.trace.paths {
                while build.paths[*path].0.get(*passed).is_some_and(|p| p.starts_with(place)) {
                    *passed += 1;
                }
            }
        }
    }

    /// Begins a packet: it may be on any path.
    pub(crate) fn begin_paths(&mut self) {
        if let Mode::Trace(build) = &mut self.mode {
            let paths = (0..build.paths.len()).map(|path| (path, 0)).collect();
            self.flow.trace = TraceState { paths, ..TraceState::default() };
        }
    }

    /// The state behind a point on a path, or the side exit if no path continues there.
    pub(crate) fn trace_edge(&mut self, point: &Point<'a>) -> Result<FlowState, Block> {
        let Mode::Trace(build) = &self.mode else { return Ok(self.flow.clone()) };
        let full = self.schedule.blocks() > MAX_BLOCKS;
        match self.flow.trace.to(point.id(), build.paths) {
            Some(trace) if !full => {
                let mut flow = self.flow.clone();
                flow.trace = trace;
                Ok(flow)
            }
            _ => Err(self.side_exit_block()),
        }
    }

    /// The block that packets take side exits to.
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

    /// In a trace, takes a side exit; the code after it is unreachable. Returns whether this is a trace.
    pub(crate) fn side_exit(&mut self) -> bool {
        if !self.is_trace() {
            return false;
        }
        let exit = self.side_exit_block();
        self.b.ins().jump(exit, &[]);
        let unreachable = self.b.create_block();
        self.enter(unreachable);
        self.flow.trace.left = true;
        true
    }

    /// Takes a side exit unless the condition has an outcome.
    pub(crate) fn exit_unless(&mut self, condition: Value, holds: bool) {
        let exit = self.side_exit_block();
        let go_on = self.b.create_block();
        let (yes, no) = if holds { (go_on, exit) } else { (exit, go_on) };
        self.b.ins().brif(condition, yes, &[], no, &[]);
        self.enter(go_on);
    }

    /// Takes a side exit unless the condition holds.
    pub(crate) fn guard(&mut self, condition: Value) {
        self.emit_guard(condition, true);
    }

    /// The address of the generic function. Traces only.
    pub(crate) fn generic_function(&self) -> i64 {
        match &self.mode {
            Mode::Trace(build) => build.all as usize as i64,
            _ => 0,
        }
    }

    /// Emits the side exit: counts the packet and calls the generic function for it.
    pub(crate) fn emit_side_exit(&mut self, next_packet: Block, call_conv: cranelift_codegen::isa::CallConv) {
        let Mode::Trace(TraceBuild { exit: Some(exit), .. }) = self.mode else { return };
        self.enter(exit);
        let runtime = self.batch_invariant(BatchInvariant::Runtime);
        let left = offset_of!(abi::Runtime, side_exits) as i32;
        // This load must not be hoisted out of the loop over packets.
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

    /// A value loaded earlier from the packet, if its memory has not changed.
    pub(crate) fn loaded(&self, base: Value, at: i32, bytes: u32) -> Option<Value> {
        self.flow.trace.loaded.get(&(base, at, bytes)).copied()
    }

    /// All values loaded from the packet.
    pub(crate) fn loaded_bytes(&self) -> BTreeMap<(Value, i32, u32), Value> {
        self.flow.trace.loaded.clone()
    }

    /// Sets the values that are loaded from the packet.
    pub(crate) fn set_loaded(&mut self, loaded: BTreeMap<(Value, i32, u32), Value>) {
        self.flow.trace.loaded = loaded;
    }

    /// Remembers a value loaded from the packet.
    pub(crate) fn keep_loaded(&mut self, base: Value, at: i32, bytes: u32, value: Value) {
        if let Mode::Trace(build) = &self.mode
            && build.roots.contains(&base)
        {
            self.flow.trace.loaded.insert((base, at, bytes), value);
        }
    }

    /// Prepares for a call: emits pending guards, so that the call is not made for packets that leave the trace, and
    /// forgets loaded values, which would have to be spilled across the call.
    pub(crate) fn before_call(&mut self) {
        self.flush_guards();
        self.flow.trace.loaded.clear();
    }

    /// Prepares for a call at which the batch is split. Pending guards stay pending, to be coalesced with those after
    /// the call.
    pub(crate) fn before_block_method(&mut self) {
        self.flow.trace.loaded.clear();
    }

    /// The value of a deferred write of a field.
    pub(crate) fn deferred_field(&self, slot: SlotId) -> Option<Vec<Value>> {
        self.flow.trace.written.get(&slot).cloned()
    }

    /// Defers the write of a field. Returns false outside of traces.
    pub(crate) fn defer_field(&mut self, header: HeaderId, slot: SlotId, value: &[Value]) -> bool {
        if !self.is_trace() {
            return false;
        }
        // A write to an invalid header without bytes of its own is only visible to reads before the header becomes
        // valid.
        if !self.flow.writable[header.index()] && self.known_valid(header) != Some(false) {
            self.side_exit();
        }
        self.flow.trace.written.insert(slot, value.to_vec());
        true
    }

    /// Whether writes of the header's fields are deferred.
    pub(crate) fn has_deferred_fields(&self, header: HeaderId) -> bool {
        let written = &self.flow.trace.written;
        !written.is_empty() && self.p[header].fields.iter().any(|f| written.contains_key(&f.slot))
    }

    /// A header's deferred writes, as writes of another header of its type.
    pub(crate) fn deferred_fields_for(&self, header: HeaderId, other: HeaderId) -> Vec<(SlotId, Vec<Value>)> {
        let pairs = self.p[header].fields.iter().zip(&self.p[other].fields);
        pairs.filter_map(|(from, to)| Some((to.slot, self.deferred_field(from.slot)?))).collect()
    }

    /// Defers writes of fields.
    pub(crate) fn defer_fields(&mut self, fields: Vec<(SlotId, Vec<Value>)>) {
        self.flow.trace.written.extend(fields);
    }

    /// Discards the deferred writes of a header, because its bytes are replaced.
    pub(crate) fn drop_deferred_fields(&mut self, header: HeaderId) {
        if !self.flow.trace.written.is_empty() {
            for field in &self.p[header].fields {
                self.flow.trace.written.remove(&field.slot);
            }
        }
    }

    /// Defers an effect. Returns false outside of traces.
    pub(crate) fn defer(&mut self, effect: DeferredEffect) -> bool {
        let is_trace = self.is_trace();
        if is_trace {
            self.flow.trace.held.push(effect);
        }
        is_trace
    }

    /// Whether a write of the register is deferred.
    pub(crate) fn is_register_deferred(&self, id: ExternId) -> bool {
        self.flow.trace.held.iter().any(|e| matches!(e, DeferredEffect::Register(r, ..) if *r == id))
    }

    /// Takes a side exit unless calling the object twice is the same as calling it once.
    pub(crate) fn side_exit_unless_repeatable(&mut self, object: Option<ExternId>) {
        if let Mode::Trace(build) = &self.mode
            && !object.and_then(|id| build.attributes.get(id.index())).is_some_and(|native| native.repeatable)
        {
            self.side_exit();
        }
    }

    /// In traces, the method of an extern object that takes and returns blocks in registers.
    pub(crate) fn block_method(&mut self, object: Option<ExternId>) -> Option<abi::BlockMethod> {
        let Mode::Trace(build) = &mut self.mode else { return None };
        let method = build.attributes.get(object?.index())?.block?;
        build.methods.insert(method.run as usize as i64, method.run_all as usize as i64);
        Some(method)
    }

    /// Notes that the result depends on the order of packets.
    pub(crate) fn set_order_dependent(&mut self) {
        if let Mode::Trace(build) = &mut self.mode {
            build.order_dependent = true;
        }
    }

    /// Guards that the program requests nothing from the traffic manager.
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

    /// Guards that an index is in range, unless that is known.
    pub(crate) fn guard_within(&mut self, index: &Expr, value: Value, size: u64) {
        if most(index).is_none_or(|most| most >= size) {
            let within = self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, size as i64);
            self.guard(within);
        }
    }
}

/// Returns the maximum of an expression of at most 63 bits, for any values of slots.
pub(crate) fn most(e: &Expr) -> Option<u64> {
    if e.ty.width() > 63 || !matches!(e.ty, Type::Bits(_)) {
        return None;
    }
    Ranges::default().of(e).map(|range| range.hi)
}
