//! Traces: straight-line code for the paths that packets take most.
//!
//! A *path* is the sequence of program points ([`crate::emit::point`]) that a packet passes. The path profiler, a
//! variant of the generic function, records it. A trace function is generated from a few paths, by way of the trace IR
//! ([`crate::trace_ir`]), and has no joins: paths diverge at decisions and never meet again. The outcome of every decision is
//! therefore known at compile time: which headers are valid, where they are, and what slots contain.
//!
//! A packet that leaves the paths takes a side exit: the generic function processes it from the beginning. This is
//! possible at any point, because a trace has no effects before its end.
//!
//! The passes in this module know that a function is a trace; they run on Cranelift IR, because they need what only it shows, such
//! as addresses, calls and what Cranelift moves out of the loop over packets.

pub(crate) mod batch_invariants;
pub(crate) mod batch_splitting;
pub(crate) mod code;
pub(crate) mod entry_guards;
pub(crate) mod exit_counters;
pub(crate) mod guard;
pub(crate) mod guard_hoisting;
pub(crate) mod mode;
pub(crate) mod passes;
pub(crate) mod tree;

use std::mem::offset_of;

use cranelift_codegen::ir::{AbiParam, Block, InstBuilder, MemFlagsData, Signature, Value, types};
use cranelift_codegen::isa::CallConv;
use hopwright_ir::ExternId;

use crate::emit::Emitter;
use crate::emit::point::PointId;
use crate::trace::mode::{BatchInvariant, Mode, PacketLoads, TraceBuild};
use hopwright_abi as abi;

impl Emitter<'_> {
    /// Whether a trace is emitted.
    pub(crate) fn is_trace(&self) -> bool {
        matches!(self.mode, Mode::Trace(_))
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

    /// Takes a side exit unless the condition has an outcome.
    pub(crate) fn exit_unless(&mut self, condition: Value, holds: bool) {
        let exit = self.side_exit_block();
        let go_on = self.b.create_block();
        let (yes, no) = if holds { (go_on, exit) } else { (exit, go_on) };
        self.b.ins().brif(condition, yes, &[], no, &[]);
        self.enter(go_on);
    }

    /// The address of the generic function. Traces only.
    pub(crate) fn generic_function(&self) -> i64 {
        match &self.mode {
            Mode::Trace(build) => build.all as usize as i64,
            _ => 0,
        }
    }

    /// Emits the side exit: counts the packet and calls the generic function for it.
    pub(crate) fn emit_side_exit(&mut self, next_packet: Block, call_conv: CallConv) {
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

    /// A value loaded earlier from the packet, if its memory has not changed. Traces only, as the other methods about loads.
    pub(crate) fn loaded(&self, base: Value, at: i32, bytes: u32) -> Option<Value> {
        let Mode::Trace(build) = &self.mode else { return None };
        build.loads.bytes.get(&(base, at, bytes)).copied()
    }

    /// Remembers a value loaded from the packet.
    pub(crate) fn keep_loaded(&mut self, base: Value, at: i32, bytes: u32, value: Value) {
        if let Mode::Trace(build) = &mut self.mode
            && build.roots.contains(&base)
        {
            build.loads.bytes.insert((base, at, bytes), value);
        }
    }

    /// The end of the packet, if it has been computed.
    pub(crate) fn loaded_end(&self) -> Option<Value> {
        let Mode::Trace(build) = &self.mode else { return None };
        build.loads.end
    }

    /// Remembers the end of the packet.
    pub(crate) fn keep_end(&mut self, end: Value) {
        if let Mode::Trace(build) = &mut self.mode {
            build.loads.end = Some(end);
        }
    }

    /// All that has been loaded.
    pub(crate) fn packet_loads(&self) -> PacketLoads {
        match &self.mode {
            Mode::Trace(build) => build.loads.clone(),
            _ => PacketLoads::default(),
        }
    }

    /// Sets what has been loaded, at the beginning of a block.
    pub(crate) fn set_packet_loads(&mut self, loads: PacketLoads) {
        if let Mode::Trace(build) = &mut self.mode {
            build.loads = loads;
        }
    }

    /// Prepares for a call: forgets loaded values, which would have to be spilled across the call.
    pub(crate) fn before_call(&mut self) {
        if let Mode::Trace(build) = &mut self.mode {
            build.loads.bytes.clear();
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
}
