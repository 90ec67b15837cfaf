//! The generated function as a whole: what it is given, the loop over the packets, the order of v1model's blocks, and
//! reading and writing slots. What single statements, tables, parser states become lives in the other modules.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, AliasRegionData, Block, Function, InstBuilder, MemFlagsData, SigRef, Signature, SourceLoc, StackSlot,
    StackSlotData, StackSlotKind, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, Variable};
use hopwright_ir::{DROP_PORT, HeaderId, Pipeline, SlotId, Span, Type};

use crate::Unsupported;
use crate::abi::{self, Verdict};
use crate::deparse::Emitted;
use crate::externs::Interface;
use crate::headers::HeaderTable;
use crate::layout::{Layout, Place};
use crate::tail::Begun;
use crate::wide::limbs;

type Result<T> = std::result::Result<T, Unsupported>;

/// Parser states and loop turns a packet may take.
pub(crate) const MAX_STEPS: u64 = 65_536;

/// How memory accesses are marked: none traps, and different kinds of memory never overlap.
#[derive(Clone, Copy)]
pub(crate) struct Flags {
    /// Packet bytes, and the zeros that stand for them.
    pub packet: MemFlagsData,
    /// [`abi::Packet`]s.
    pub descriptor: MemFlagsData,
    /// [`abi::Runtime`] and the handles.
    pub runtime: MemFlagsData,
    /// Action entries.
    pub entry: MemFlagsData,
    /// Counters and registers.
    pub cells: MemFlagsData,
    /// Buffers in the stack frame.
    pub stack: MemFlagsData,
    /// The table of headers in the stack frame.
    pub headers: MemFlagsData,
}

impl Flags {
    fn new(function: &mut Function) -> Flags {
        let mut region = |name: &'static str, id| {
            let region = function.dfg.alias_regions.insert(AliasRegionData { user_id: id, description: name.into() });
            MemFlagsData::new().with_notrap().with_alias_region(Some(region))
        };
        Flags {
            packet: region("packet", 0),
            descriptor: region("descriptor", 1),
            runtime: region("runtime", 2),
            entry: region("entry", 3),
            cells: region("cells", 4),
            stack: region("stack", 5),
            headers: region("headers", 6),
        }
    }
}

/// Signatures of what is called.
#[derive(Clone, Copy)]
pub(crate) struct Signatures {
    pub lookup: SigRef,
    pub method: SigRef,
}

/// Values that are the same throughout a packet.
#[derive(Clone, Copy)]
pub(crate) struct PacketValues {
    /// The [`abi::Packet`].
    pub descriptor: Value,
    /// First byte of the buffer.
    pub buffer: Value,
    /// First byte of the packet.
    pub start: Value,
    /// One past the last.
    pub end: Value,
    /// Bytes as it was received, I32.
    pub length: Value,
}

/// The action whose body is being generated.
#[derive(Clone)]
pub(crate) struct ActionContext {
    pub entry: Value,
    /// Offset in the entry and width of each parameter.
    pub params: Vec<(i32, u32)>,
}

/// Builds the function.
pub(crate) struct Gen<'a> {
    pub b: FunctionBuilder<'a>,
    pub p: &'a Pipeline,
    pub layout: &'a Layout,
    pub interface: &'a Interface,
    pub flags: Flags,
    pub signatures: Signatures,
    call_conv: CallConv,
    zeros_address: u64,
    pub runtime: Value,
    pub tables: Value,
    pub externs: Value,
    pub functions: Value,
    pub packet: PacketValues,
    /// Variables of scalars and of fields with a home there, one per limb; address and length of varbits.
    slots: Vec<Vec<Variable>>,
    pub headers: HeaderTable,
    steps: Option<Variable>,
    pub cursor: Variable,
    /// Where the tail of headers begins ([`crate::tail`]), once one of them is extracted.
    pub tail_start: Variable,
    /// In the parser: whether one of them is.
    pub tail_begun: Begun,
    /// Headers whose bytes are surely their own here, so that fields can be written.
    pub writable: Vec<bool>,
    pub action: Option<ActionContext>,
    /// Where `exit` goes.
    pub exit: Option<Block>,
    /// Enclosing scopes.
    pub scopes: Vec<(u32, Block)>,
    /// Where a parser failure goes.
    pub parse_failed: Option<Block>,
    /// Checks of extracts are done already.
    pub unchecked: bool,
    /// The packet is finished, verdict and all.
    pub next_packet: Block,
    drop: Block,
    fault: Block,
    pub no_headroom: Block,
    /// The deparser's emits in program order, and how many were generated.
    pub emits: Vec<Emitted>,
    pub next_emit: usize,
    key_slot: StackSlot,
    spare_slot: StackSlot,
    /// Places in the program that code was generated for; instructions refer to them by number.
    pub places: Vec<Span>,
}

impl<'a> Gen<'a> {
    /// Generates everything into an empty function.
    pub fn run(
        mut b: FunctionBuilder<'a>,
        p: &'a Pipeline,
        layout: &'a Layout,
        interface: &'a Interface,
        zeros_address: u64,
        call_conv: CallConv,
    ) -> Result<(FunctionBuilder<'a>, Vec<Span>)> {
        let flags = Flags::new(b.func);
        let mut signature = |params: &[cranelift_codegen::ir::Type], result: bool| {
            let mut s = Signature::new(call_conv);
            s.params.extend(params.iter().map(|&t| AbiParam::new(t)));
            if result {
                s.returns.push(AbiParam::new(types::I64));
            }
            b.import_signature(s)
        };
        let signatures = Signatures {
            lookup: signature(&[types::I64, types::I64], true),
            method: signature(&[types::I64, types::I32, types::I64], false),
        };
        let slot =
            |b: &mut FunctionBuilder| b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3));
        let (key_slot, spare_slot) = (slot(&mut b), slot(&mut b));

        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let args: Vec<Value> = b.block_params(entry).to_vec();
        let (runtime, first, count) = (args[0], args[1], args[2]);
        let pointer = |b: &mut FunctionBuilder, at: usize| b.ins().load(types::I64, flags.runtime, runtime, at as i32);
        let tables = pointer(&mut b, offset_of!(abi::Runtime, tables));
        let externs = pointer(&mut b, offset_of!(abi::Runtime, externs));
        let functions = pointer(&mut b, offset_of!(abi::Runtime, functions));

        let slots = variables(&mut b, p, layout);
        let headers = HeaderTable::new(&mut b, layout);
        let steps = layout.counts_steps.then(|| b.declare_var(types::I64));
        let cursor = b.declare_var(types::I64);
        let tail_start = b.declare_var(types::I64);
        let (next_packet, drop, fault, no_headroom) =
            (b.create_block(), b.create_block(), b.create_block(), b.create_block());
        b.set_cold_block(fault);
        b.set_cold_block(no_headroom);

        let (top, body, out) = (b.create_block(), b.create_block(), b.create_block());
        let bytes = b.ins().imul_imm_u(count, size_of::<abi::Packet>() as i64);
        let beyond = b.ins().iadd(first, bytes);
        b.ins().brif(count, top, &[first.into()], out, &[]);
        let descriptor = b.append_block_param(top, types::I64);
        b.switch_to_block(top);
        let load = |b: &mut FunctionBuilder, ty, at: usize| b.ins().load(ty, flags.descriptor, descriptor, at as i32);
        let buffer = load(&mut b, types::I64, offset_of!(abi::Packet, buffer));
        let start = load(&mut b, types::I32, offset_of!(abi::Packet, start));
        let end = load(&mut b, types::I32, offset_of!(abi::Packet, end));
        let length = b.ins().isub(end, start);
        let (start, end) = (b.ins().uextend(types::I64, start), b.ins().uextend(types::I64, end));
        let (start, end) = (b.ins().iadd(buffer, start), b.ins().iadd(buffer, end));
        b.ins().jump(body, &[]);
        b.switch_to_block(body);
        b.seal_block(body);

        let mut g = Gen {
            b,
            p,
            layout,
            interface,
            flags,
            signatures,
            call_conv,
            zeros_address,
            runtime,
            tables,
            externs,
            functions,
            packet: PacketValues { descriptor, buffer, start, end, length },
            slots,
            headers,
            steps,
            cursor,
            tail_start,
            tail_begun: Begun::Not,
            writable: vec![false; p.headers.len()],
            action: None,
            exit: None,
            scopes: Vec::new(),
            parse_failed: None,
            unchecked: false,
            next_packet,
            drop,
            fault,
            no_headroom,
            emits: Vec::new(),
            next_emit: 0,
            key_slot,
            spare_slot,
            places: Vec::new(),
        };
        g.packet_body()?;
        g.verdicts();

        g.nowhere();
        let Gen { mut b, places, .. } = g;
        b.seal_block(next_packet);
        b.switch_to_block(next_packet);
        let following = b.ins().iadd_imm_s(descriptor, size_of::<abi::Packet>() as i64);
        let more = b.ins().icmp(IntCC::UnsignedLessThan, following, beyond);
        b.ins().brif(more, top, &[following.into()], out, &[]);
        b.seal_block(top);
        b.seal_block(out);
        b.switch_to_block(out);
        b.ins().return_(&[]);
        Ok((b, places))
    }

    /// What is generated from here on is for this place in the program.
    pub(crate) fn at(&mut self, span: Span) {
        if self.places.last() != Some(&span) {
            self.places.push(span);
        }
        self.b.set_srcloc(SourceLoc::new(self.places.len() as u32 - 1));
    }

    /// What is generated from here on is for no place in particular.
    fn nowhere(&mut self) {
        self.b.set_srcloc(SourceLoc::default());
    }

    /// One packet from descriptor to verdict.
    fn packet_body(&mut self) -> Result<()> {
        self.clear()?;
        self.parse()?;
        let p = self.p;
        let (ingress, egress) = (&p.ingress, &p.egress);
        self.control(&p.verify_checksum.body)?;
        self.control(&ingress.body)?;
        self.nowhere();

        let standard = &p.standard;
        let port = self.read(standard.egress_spec)[0];
        self.drop_if_no_port(port);
        self.preset(standard.egress_port, port);
        let now = self.now();
        self.preset(standard.enq_timestamp, now);
        self.preset(standard.egress_global_timestamp, now);
        for slot in [standard.egress_spec, standard.deq_timedelta, standard.enq_qdepth, standard.deq_qdepth] {
            self.write_zero(slot);
        }
        self.control(&egress.body)?;
        let spec = self.read(standard.egress_spec)[0];
        self.drop_if_no_port(spec);
        self.control(&p.compute_checksum.body)?;
        self.deparse()?;
        self.nowhere();
        self.describe(offset_of!(abi::Packet, egress_port), port);
        self.verdict(Verdict::Forward);
        let next = self.next_packet;
        self.b.ins().jump(next, &[]);
        Ok(())
    }

    fn verdicts(&mut self) {
        for (block, verdict) in
            [(self.drop, Verdict::Drop), (self.fault, Verdict::Fault), (self.no_headroom, Verdict::NoHeadroom)]
        {
            self.b.seal_block(block);
            self.b.switch_to_block(block);
            self.verdict(verdict);
            let next = self.next_packet;
            self.b.ins().jump(next, &[]);
        }
    }

    fn verdict(&mut self, verdict: Verdict) {
        let v = self.c64(verdict as u64);
        self.describe(offset_of!(abi::Packet, verdict), v);
    }

    /// Writes a 32-bit member of the packet's descriptor.
    pub(crate) fn describe(&mut self, at: usize, value: Value) {
        let v = self.b.ins().ireduce(types::I32, value);
        self.b.ins().store(self.flags.descriptor, v, self.packet.descriptor, at as i32);
    }

    /// Drops the packet if its port is the drop port.
    fn drop_if_no_port(&mut self, port: Value) {
        let go_on = self.b.create_block();
        let dropped = self.b.ins().icmp_imm_u(IntCC::Equal, port, i64::from(DROP_PORT));
        self.b.ins().brif(dropped, self.drop, &[], go_on, &[]);
        self.enter(go_on);
    }

    /// Goes on in a block that no further jump leads to.
    pub(crate) fn enter(&mut self, block: Block) {
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// Gives the packet up if the condition is false.
    pub(crate) fn fault_unless(&mut self, condition: Value) {
        let go_on = self.b.create_block();
        self.b.ins().brif(condition, go_on, &[], self.fault, &[]);
        self.enter(go_on);
    }

    /// Gives the packet up.
    pub(crate) fn jump_to_fault(&mut self) {
        let fault = self.fault;
        self.b.ins().jump(fault, &[]);
    }

    /// Counts a parser state or a loop turn.
    pub(crate) fn step(&mut self) {
        let Some(steps) = self.steps else { return };
        let left = self.b.use_var(steps);
        self.fault_unless(left);
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.b.def_var(steps, left);
    }

    fn now(&mut self) -> Value {
        self.b.ins().load(types::I64, self.flags.runtime, self.runtime, offset_of!(abi::Runtime, now_us) as i32)
    }

    pub(crate) fn packet_length(&mut self) -> Value {
        self.b.ins().uextend(types::I64, self.packet.length)
    }

    pub(crate) fn zeros(&mut self) -> Value {
        self.c64(self.zeros_address)
    }

    /// A fresh packet's slots.
    fn clear(&mut self) -> Result<()> {
        for i in 0..self.p.slots.len() {
            if self.layout.places[i] == Place::Scalar {
                self.write_zero(SlotId(i as u32));
            } else if self.layout.places[i] == Place::Varbit {
                let zeros = self.zeros();
                let none = self.c64(0);
                let vars = self.slots[i].clone();
                self.b.def_var(vars[0], zeros);
                self.b.def_var(vars[1], none);
            }
        }
        self.clear_headers();
        if let Some(steps) = self.steps {
            let most = self.c64(MAX_STEPS);
            self.b.def_var(steps, most);
        }
        let start = self.packet.start;
        self.b.def_var(self.cursor, start);
        self.b.def_var(self.tail_start, start);
        let standard = self.p.standard;
        let port = self.b.ins().load(
            types::I32,
            self.flags.descriptor,
            self.packet.descriptor,
            offset_of!(abi::Packet, ingress_port) as i32,
        );
        let port = self.b.ins().uextend(types::I64, port);
        self.preset(standard.ingress_port, port);
        let length = self.packet_length();
        self.preset(standard.packet_length, length);
        let now = self.now();
        self.preset(standard.ingress_global_timestamp, now);
        Ok(())
    }

    fn preset(&mut self, slot: SlotId, value: Value) {
        let width = self.p[slot].ty.width();
        let v = self.mask(value, width);
        self.write(slot, &[v]);
    }

    fn write_zero(&mut self, slot: SlotId) {
        let ty = self.p[slot].ty;
        for var in self.slots[slot.index()].clone() {
            let zero = if ty == Type::Bool { self.b.ins().iconst(types::I8, 0) } else { self.c64(0) };
            self.b.def_var(var, zero);
        }
    }

    /// The header and index of a field.
    pub(crate) fn field_of(&self, slot: SlotId) -> Option<(HeaderId, usize)> {
        match self.layout.places[slot.index()] {
            Place::Field(h, f) => Some((h, f as usize)),
            _ => None,
        }
    }

    /// A slot's value; a `bool` as 0 or 1.
    pub(crate) fn read(&mut self, slot: SlotId) -> Vec<Value> {
        if self.p[slot].ty == Type::Bool {
            let v = self.read_bool(slot);
            return vec![self.b.ins().uextend(types::I64, v)];
        }
        if let Some((h, f)) = self.field_of(slot) {
            return self.field(h, f);
        }
        (0..self.slots[slot.index()].len()).map(|i| self.b.use_var(self.slots[slot.index()][i])).collect()
    }

    /// A `bool` slot's value as I8.
    pub(crate) fn read_bool(&mut self, slot: SlotId) -> Value {
        if let Some((h, f)) = self.field_of(slot) {
            let v = self.field(h, f);
            return self.b.ins().ireduce(types::I8, v[0]);
        }
        if let Place::Valid(h) = self.layout.places[slot.index()] {
            return self.is_valid(h);
        }
        let var = self.slots[slot.index()][0];
        self.b.use_var(var)
    }

    /// Address and length in bytes of a varbit that is no header field.
    pub(crate) fn read_varbit(&mut self, slot: SlotId) -> (Value, Value) {
        let (address, length) = (self.slots[slot.index()][0], self.slots[slot.index()][1]);
        (self.b.use_var(address), self.b.use_var(length))
    }

    /// Sets the address and length of a varbit that is no header field.
    pub(crate) fn write_varbit(&mut self, slot: SlotId, address: Value, length: Value) {
        let vars = self.slots[slot.index()].clone();
        self.b.def_var(vars[0], address);
        self.b.def_var(vars[1], length);
    }

    /// Sets a slot that is no varbit; a `bool` from 0 or 1.
    pub(crate) fn write(&mut self, slot: SlotId, value: &[Value]) {
        if self.p[slot].ty == Type::Bool {
            let v = self.b.ins().ireduce(types::I8, value[0]);
            self.write_bool(slot, v);
            return;
        }
        if let Some((h, f)) = self.field_of(slot) {
            return self.write_field(h, f, value);
        }
        debug_assert_eq!(value.len(), self.slots[slot.index()].len(), "{}", self.p[slot].name);
        for (i, &v) in value.iter().enumerate() {
            let var = self.slots[slot.index()][i];
            self.b.def_var(var, v);
        }
    }

    /// Sets a `bool` slot from an I8.
    pub(crate) fn write_bool(&mut self, slot: SlotId, value: Value) {
        if let Place::Valid(h) = self.layout.places[slot.index()] {
            return self.write_validity(h, value);
        }
        if let Some((h, f)) = self.field_of(slot) {
            let v = self.b.ins().uextend(types::I64, value);
            return self.write_field(h, f, &[v]);
        }
        let var = self.slots[slot.index()][0];
        self.b.def_var(var, value);
    }

    /// A data parameter of the action that runs.
    pub(crate) fn param(&mut self, index: u32, span: Span) -> Result<Vec<Value>> {
        let Some(action) = self.action.clone() else {
            return Err(Unsupported::new(span, "an action parameter outside of an action"));
        };
        let (at, width) = action.params[index as usize];
        if width == 0 {
            return Ok(vec![self.c64(0)]);
        }
        Ok((0..limbs(width) as i32)
            .map(|i| self.b.ins().load(types::I64, self.flags.entry, action.entry, at + 8 * i))
            .collect())
    }

    /// The address of this many 8-byte words of the frame, for arguments of a call that is made at once.
    pub(crate) fn stack_buffer(&mut self, words: usize) -> Value {
        let slot = self.spare_slot;
        self.grow(slot, words)
    }

    /// The same for table keys and extern arguments.
    pub(crate) fn key_buffer(&mut self, words: usize) -> Value {
        let slot = self.key_slot;
        self.grow(slot, words)
    }

    /// Stores a value's limbs from a word of a buffer on. Two limbs go as one vector: who takes them as one would wait
    /// for two stores to reach the cache.
    pub(crate) fn store_limbs(&mut self, buffer: Value, word: usize, limbs: &[Value]) {
        let at = 8 * word as i32;
        if let &[low, high] = limbs {
            let pair = self.b.ins().scalar_to_vector(types::I64X2, low);
            let pair = self.b.ins().insertlane(pair, high, 1);
            self.b.ins().store(self.flags.stack, pair, buffer, at);
            return;
        }
        for (i, &limb) in limbs.iter().enumerate() {
            self.b.ins().store(self.flags.stack, limb, buffer, at + 8 * i as i32);
        }
    }

    fn grow(&mut self, slot: StackSlot, words: usize) -> Value {
        let data = &mut self.b.func.sized_stack_slots[slot];
        data.size = data.size.max(8 * words as u32);
        self.b.ins().stack_addr(types::I64, slot, 0)
    }

    /// Calls a function of ours with 64-bit arguments.
    pub(crate) fn call_shim(&mut self, address: usize, args: &[Value], result: bool) -> Option<Value> {
        let mut s = Signature::new(self.call_conv);
        s.params.extend(args.iter().map(|_| AbiParam::new(types::I64)));
        if result {
            s.returns.push(AbiParam::new(types::I64));
        }
        let signature = self.b.import_signature(s);
        let callee = self.c64(address as u64);
        let call = self.b.ins().call_indirect(signature, callee, args);
        self.b.inst_results(call).first().copied()
    }
}

fn variables(b: &mut FunctionBuilder, p: &Pipeline, layout: &Layout) -> Vec<Vec<Variable>> {
    let mut out = Vec::with_capacity(p.slots.len());
    for (slot, place) in p.slots.iter().zip(&layout.places) {
        let count = match place {
            Place::HeaderVarbit(_) | Place::Valid(_) | Place::Field(..) => 0,
            Place::Varbit => 2,
            _ => limbs(slot.ty.width()),
        };
        let ty = if slot.ty == Type::Bool { types::I8 } else { types::I64 };
        out.push((0..count).map(|_| b.declare_var(ty)).collect());
    }
    out
}
