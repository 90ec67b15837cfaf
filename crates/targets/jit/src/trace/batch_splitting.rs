//! Batch splitting: software pipelining at the cipher. A trace is cut where it encrypts blocks. The first stage runs
//! for a number of packets and stores their blocks contiguously. Then all blocks are encrypted at once, and the second
//! stage resumes each packet. Packets thus do not wait for one another's cipher rounds.
//!
//! ```text
//! begin: k = 0
//! top:   packet → record k, first stage ──► its trace ends or side exit: next packet, or flush
//!        └► cut: blocks and live values → record k; k += 1; next packet, or flush
//! flush: all blocks at once; for each record: second stage; then the side exit of a packet, if any; begin
//! ```
//!
//! The pass works on the finished function. Of the program it only knows the packets' words in the frame and the calls
//! of block methods. It is valid because a trace has no effects before its end except counts, which do not depend on
//! the order of packets. Programs whose results depend on the order, because of registers, are not split.

mod second_stage;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, Inst, InstBuilder, InstructionData, Opcode, SigRef, Signature, StackSlot,
    StackSlotData, StackSlotKind, Value, ValueDef, types,
};

use crate::clif::cfg::{arrivals, successors};
use crate::clif::known_bits::constant_in;
use crate::emit::memory::MemoryKinds;
use crate::trace::passes::TracePass;
use hopwright_abi as abi;

/// The maximum number of packets that are encrypted together.
const PACKETS: u32 = 32;

/// The structure of a trace function, for passes.
pub(crate) struct TraceShape {
    /// The block where a packet begins.
    pub top: Block,
    /// The block where a packet ends: it advances the first word of the frame to the next packet and goes to `top` or
    /// `out`.
    pub next_packet: Block,
    /// The block where the batch ends.
    pub out: Block,
    /// The block where the packet in the first word of the frame takes a side exit.
    pub exit: Option<Block>,
    /// The address of the generic function.
    pub all: i64,
    /// The frame: words of packets and of the batch.
    pub frame: StackSlot,
    /// The offset of the word of the batch with the runtime's address, if there are side exits.
    pub runtime_word: Option<i32>,
    /// Offsets of the words of the batch.
    pub batch_words: BTreeSet<i32>,
    /// Buffers of call arguments, written just before the call.
    pub arguments: [StackSlot; 2],
    /// The signature of [`abi::BlockMethod::run`].
    pub block: SigRef,
    /// Addresses of [`abi::BlockMethod::run`] to those of [`abi::BlockMethod::run_all`].
    pub methods: BTreeMap<i64, i64>,
    /// Whether packets that take a side exit may pause. The packets after such a packet then run again, so none of them
    /// may have been completed.
    pub pauses: bool,
    /// Whether the pass may split the function.
    pub splittable: bool,
    pub flags: MemoryKinds,
    /// The passes that are left out.
    pub without: Vec<TracePass>,
}

/// Offsets in the frame of the address of the next packet, and of the end of the packets.
const PACKET: i32 = 0;
const BEYOND: i32 = 8;

/// Fields of a packet's descriptor that do not change before the end of a trace.
const RECEIVED: [usize; 4] = [
    offset_of!(abi::Packet, buffer),
    offset_of!(abi::Packet, start),
    offset_of!(abi::Packet, end),
    offset_of!(abi::Packet, ingress_port),
];

/// Splits a function in two stages, if it encrypts blocks.
pub(crate) fn split(function: &Function, shape: &TraceShape) -> Option<Function> {
    let mut function = function.clone();
    function.dfg.resolve_all_aliases();
    let mut split =
        Splitter { f: function, shape, method: None, cuts: Vec::new(), first: Vec::new(), order: Vec::new() };
    split.find_cuts();
    split.carry_out()?;
    Some(split.f)
}

/// A place where a path is cut in two.
struct Cut {
    /// The last block of the first stage.
    from: Block,
    /// The first block of the second stage.
    to: Block,
    /// The words of each block to encrypt and of its result.
    blocks: Vec<[Value; 4]>,
}

struct Splitter<'a> {
    f: Function,
    shape: &'a TraceShape,
    /// The method: its address, and the offset in the frame of its first argument.
    method: Option<(i64, i32)>,
    cuts: Vec<Cut>,
    /// The blocks of the first stage.
    first: Vec<Block>,
    /// The instructions of these blocks, operands before uses.
    order: Vec<Inst>,
}

/// The layout of a packet's record: its words of the frame, followed by these fields.
struct RecordLayout {
    /// The index of the cut.
    cut: i32,
    /// The address of its blocks.
    blocks: i32,
    /// Values that are live across the cut.
    saved: i32,
}

impl Splitter<'_> {
    /// Walks the paths from the top and splits blocks at the cuts.
    fn find_cuts(&mut self) {
        let arrivals = arrivals(&self.f);
        let mut work = vec![self.shape.top];
        let mut seen = BTreeSet::from_iter(work.iter().copied());
        seen.extend([self.shape.next_packet, self.shape.out]);
        seen.extend(self.shape.exit);
        while let Some(block) = work.pop() {
            let calls = self.calls_from(block, &arrivals);
            let Some(last) = calls.last().copied() else {
                self.take(block);
                for to in successors(&self.f, block) {
                    if seen.insert(to) {
                        work.push(to);
                    }
                }
                continue;
            };
            // The blocks between the calls form a chain.
            let mut from = block;
            while self.f.layout.inst_block(last) != Some(from) {
                self.take(from);
                from = successors(&self.f, from)[0];
            }
            let to = self.f.dfg.blocks.add();
            if let Some(behind) = self.f.layout.next_inst(last) {
                self.f.layout.split_block(to, behind);
            }
            self.take(from);
            let dfg = &self.f.dfg;
            let blocks = calls.iter().map(|call| {
                let (args, results) = (dfg.inst_args(*call), dfg.inst_results(*call));
                // The callee is the first argument.
                [args[2], args[3], results[0], results[1]]
            });
            let blocks = blocks.collect();
            self.cuts.push(Cut { from, to, blocks });
            for call in calls {
                self.f.layout.remove_inst(call);
            }
        }
    }

    fn take(&mut self, block: Block) {
        self.first.push(block);
        self.order.extend(self.f.layout.block_insts(block));
    }

    /// Returns independent calls of the method from a block on, with no side exit between them.
    fn calls_from(&mut self, block: Block, arrivals: &HashMap<Block, u32>) -> Vec<Inst> {
        let mut calls = Vec::new();
        let mut depends: BTreeSet<Value> = BTreeSet::new();
        let mut block = block;
        loop {
            for inst in self.f.layout.block_insts(block) {
                let dfg = &self.f.dfg;
                if dfg.inst_values(inst).any(|v| depends.contains(&v)) {
                    return calls;
                }
                let method = self.method_of(inst);
                if method.is_some() && (self.method.is_none() || self.method == method) {
                    self.method = method;
                    depends.extend(self.f.dfg.inst_results(inst));
                    calls.push(inst);
                } else if dfg.insts[inst].opcode().is_call() {
                    return calls;
                }
            }
            let behind = successors(&self.f, block);
            match behind[..] {
                [next] if !calls.is_empty() && arrivals.get(&next) == Some(&1) => block = next,
                _ => return calls,
            }
        }
    }

    /// The method that an instruction calls.
    fn method_of(&self, inst: Inst) -> Option<(i64, i32)> {
        let dfg = &self.f.dfg;
        let InstructionData::CallIndirect { sig_ref, .. } = dfg.insts[inst] else { return None };
        let &[callee, prepared, ..] = dfg.inst_args(inst) else { return None };
        let method = constant_in(dfg, callee)?;
        let ValueDef::Result(prepared, _) = dfg.value_def(prepared) else { return None };
        let place = self.frame_place(prepared).filter(|place| self.shape.batch_words.contains(place))?;
        (sig_ref == self.shape.block && self.shape.methods.contains_key(&method)).then_some((method, place))
    }

    /// The offset of the word of the frame that an instruction accesses.
    fn frame_place(&self, inst: Inst) -> Option<i32> {
        let (address, offset) = match self.f.dfg.insts[inst] {
            InstructionData::Load { arg, offset, .. } => (arg, offset),
            InstructionData::Store { args, offset, .. } => (args[1], offset),
            _ => return None,
        };
        let (slot, at) = self.slot_address(address)?;
        (slot == self.shape.frame).then_some(at + i32::from(offset))
    }

    fn slot_address(&self, address: Value) -> Option<(StackSlot, i32)> {
        let ValueDef::Result(inst, _) = self.f.dfg.value_def(address) else { return None };
        match self.f.dfg.insts[inst] {
            InstructionData::StackAddr { stack_slot, offset, .. } => Some((stack_slot, i32::from(offset))),
            InstructionData::Binary { opcode: Opcode::Iadd, args } => {
                let (slot, _) = args.iter().find_map(|a| self.slot_address(*a))?;
                // The offset is not constant.
                Some((slot, i32::MIN))
            }
            _ => None,
        }
    }

    /// Splits the function. Returns `None` if that is not possible; the function is unusable then.
    fn carry_out(&mut self) -> Option<()> {
        let (run, prepared) = self.method?;
        let run_all = *self.shape.methods.get(&run)?;
        let ends = |block: &Block| successors(&self.f, *block).contains(&self.shape.next_packet);
        if self.shape.pauses && self.first.iter().any(ends) {
            return None;
        }
        let second = self.own_second_stage()?;
        let needs = self.needs(&second)?;
        if self.shares_memory(&second) {
            return None;
        }
        let around = self.around();

        // Words of packets move to their records, and stages end in blocks of their own.
        let (next_packet, exit) = (self.shape.next_packet, self.shape.exit);
        for (blocks, record, next, leave) in [
            (self.first.clone(), around.first_record, around.next_in_first, around.leave_first),
            (
                second.blocks(),
                around.second_record,
                around.next_in_second,
                second.exit.unwrap_or(around.next_in_second),
            ),
        ] {
            for block in blocks {
                self.address_record(block, record)?;
                self.redirect(block, &|to| match to {
                    to if to == next_packet => next,
                    to if Some(to) == exit => leave,
                    to => to,
                });
            }
        }
        let top = self.shape.top;
        for block in self.f.layout.blocks().collect::<Vec<_>>() {
            self.redirect(block, &|to| if to == top { around.begin } else { to });
        }

        let words = self.f.sized_stack_slots[self.shape.frame].size.next_multiple_of(8) as i32;
        let places = RecordLayout { cut: words, blocks: words + 8, saved: words + 16 };
        let mut saved = BTreeMap::new();
        for (i, (blocks, need)) in second.of_cuts.iter().zip(&needs).enumerate() {
            self.hand_over(i, blocks, need, &places, &around, &mut saved);
        }
        let (offsets, record_bytes) = self.allocate(&saved, places.saved);
        let blocks = self.cuts.iter().map(|cut| cut.blocks.len()).max()? as u32;
        let mut slot =
            |size: u32| self.f.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4));
        let memory = StageMemory {
            records: slot(PACKETS * record_bytes as u32),
            record_bytes,
            blocks: slot(PACKETS * 16 * blocks),
            control: slot(24),
        };
        self.first_stage(&around, &memory);
        self.flush(&around, &memory, prepared, run_all);
        self.second_stage(&around, &memory, &places);
        self.save(&saved, &offsets, around.first_record);
        Some(())
    }

    /// Creates the blocks around the stages, still empty.
    fn around(&mut self) -> Connectors {
        let f = &mut self.f;
        let mut block = |cold: bool| {
            let block = f.dfg.make_block();
            f.layout.append_block(block);
            if cold {
                f.layout.set_cold(block);
            }
            block
        };
        let (begin, next_in_first, leave_first, flush) = (block(false), block(false), block(true), block(false));
        let (top_of_second, next_in_second, after) = (block(false), block(false), block(false));
        let mut param = |block: Block| f.dfg.append_block_param(block, types::I64);
        Connectors {
            begin,
            next_in_first,
            leave_first,
            flush,
            flushed: [param(flush), param(flush), param(flush), param(flush)],
            top_of_second,
            next_in_second,
            after,
            first_record: param(self.shape.top),
            first_blocks: param(self.shape.top),
            packet: param(self.shape.top),
            second_record: param(top_of_second),
        }
    }

    /// Connects the first stage.
    fn first_stage(&mut self, around: &Connectors, memory: &StageMemory) {
        let TraceShape { top, frame, flags, .. } = *self.shape;
        let mut at = FuncCursor::new(&mut self.f).at_bottom(around.begin);
        let words = at.ins().stack_addr(types::I64, frame, 0);
        let packet = at.ins().load(types::I64, flags.packet_word(PACKET), words, PACKET);
        let beyond = at.ins().load(types::I64, flags.batch_words, words, BEYOND);
        let end = at.ins().iadd_imm_s(packet, i64::from(PACKETS) * size_of::<abi::Packet>() as i64);
        let end = at.ins().umin(end, beyond);
        let control = at.ins().stack_addr(types::I64, memory.control, 0);
        at.ins().store(flags.stack, end, control, STOP);
        let record = at.ins().stack_addr(types::I64, memory.records, 0);
        let blocks = at.ins().stack_addr(types::I64, memory.blocks, 0);
        at.ins().jump(top, &[record, blocks, packet].map(BlockArg::from));

        let mut at = FuncCursor::new(&mut self.f).at_first_insertion_point(top);
        at.ins().store(flags.packet_word(PACKET), around.packet, around.first_record, PACKET);

        for cut in &self.cuts {
            let mut at = FuncCursor::new(&mut self.f).at_bottom(cut.from);
            let record = at.ins().iadd_imm_s(around.first_record, i64::from(memory.record_bytes));
            let blocks = at.ins().iadd_imm_s(around.first_blocks, 16 * cut.blocks.len() as i64);
            next_packet(&mut at, self.shape, around, memory, [record, blocks]);
        }
        let mut at = FuncCursor::new(&mut self.f).at_bottom(around.next_in_first);
        next_packet(&mut at, self.shape, around, memory, [around.first_record, around.first_blocks]);

        let mut at = FuncCursor::new(&mut self.f).at_bottom(around.leave_first);
        let packet = at.ins().load(types::I64, flags.packet_word(PACKET), around.first_record, PACKET);
        let left = at.ins().iconst(types::I64, 1);
        let to_flush = [around.first_record, around.first_blocks, packet, left];
        at.ins().jump(around.flush, &to_flush.map(BlockArg::from));
    }

    /// Emits the encryption of all blocks.
    fn flush(&mut self, around: &Connectors, memory: &StageMemory, prepared: i32, run_all: i64) {
        let TraceShape { frame, flags, .. } = *self.shape;
        let encrypt = self.f.dfg.make_block();
        self.f.layout.append_block(encrypt);
        let mut signature = Signature::new(self.f.signature.call_conv);
        signature.params.extend([AbiParam::new(types::I64); 3]);
        let signature = self.f.import_signature(signature);
        let [record, block, packet, left] = around.flushed;

        let mut at = FuncCursor::new(&mut self.f).at_bottom(around.flush);
        let words = at.ins().stack_addr(types::I64, frame, 0);
        at.ins().store(flags.packet_word(PACKET), packet, words, PACKET);
        let control = at.ins().stack_addr(types::I64, memory.control, 0);
        at.ins().store(flags.stack, record, control, END);
        at.ins().store(flags.stack, left, control, LEFT);
        let first = at.ins().stack_addr(types::I64, memory.records, 0);
        let some = at.ins().icmp(IntCC::NotEqual, record, first);
        at.ins().brif(some, encrypt, &[], around.after, &[]);

        at.goto_bottom(encrypt);
        let blocks = at.ins().stack_addr(types::I64, memory.blocks, 0);
        let count = at.ins().isub(block, blocks);
        let count = at.ins().ushr_imm_u(count, 4);
        let prepared = at.ins().load(types::I64, flags.batch_words, words, prepared);
        let callee = at.ins().iconst(types::I64, run_all);
        at.ins().call_indirect(signature, callee, &[prepared, blocks, count]);
        at.ins().jump(around.top_of_second, &[BlockArg::from(first)]);
    }

    /// Connects the second stage.
    fn second_stage(&mut self, around: &Connectors, memory: &StageMemory, places: &RecordLayout) {
        let TraceShape { frame, flags, out, exit, .. } = *self.shape;
        let targets: Vec<Block> = self.cuts.iter().map(|cut| cut.to).collect();
        let mut at = FuncCursor::new(&mut self.f).at_bottom(around.top_of_second);
        match targets[..] {
            [one] => {
                at.ins().jump(one, &[]);
            }
            _ => {
                let number = at.ins().load(types::I64, flags.stack, around.second_record, places.cut);
                go_to(&mut at, number, &targets, 0);
            }
        }

        at.goto_bottom(around.next_in_second);
        let next = at.ins().iadd_imm_s(around.second_record, i64::from(memory.record_bytes));
        let control = at.ins().stack_addr(types::I64, memory.control, 0);
        let end = at.ins().load(types::I64, flags.stack, control, END);
        let more = at.ins().icmp(IntCC::UnsignedLessThan, next, end);
        at.ins().brif(more, around.top_of_second, &[BlockArg::from(next)], around.after, &[]);

        let go_on = at.func.dfg.make_block();
        at.func.layout.append_block(go_on);
        at.goto_bottom(around.after);
        let control = at.ins().stack_addr(types::I64, memory.control, 0);
        let left = at.ins().load(types::I64, flags.stack, control, LEFT);
        at.ins().brif(left, exit.unwrap_or(go_on), &[], go_on, &[]);

        at.goto_bottom(go_on);
        let words = at.ins().stack_addr(types::I64, frame, 0);
        let packet = at.ins().load(types::I64, flags.packet_word(PACKET), words, PACKET);
        let beyond = at.ins().load(types::I64, flags.batch_words, words, BEYOND);
        let more = at.ins().icmp(IntCC::UnsignedLessThan, packet, beyond);
        at.ins().brif(more, around.begin, &[], out, &[]);
    }
}

/// Jumps to one of the blocks by number; `first` is the number of the first. A few comparisons cost less than a jump
/// table.
fn go_to(at: &mut FuncCursor, number: Value, blocks: &[Block], first: usize) {
    if let &[one] = blocks {
        at.ins().jump(one, &[]);
        return;
    }
    let (low, high) = blocks.split_at(blocks.len() / 2);
    let below = at.ins().icmp_imm_u(IntCC::UnsignedLessThan, number, (first + low.len()) as i64);
    let parts = [(low, first), (high, first + low.len())].map(|part| (at.func.dfg.make_block(), part));
    at.ins().brif(below, parts[0].0, &[], parts[1].0, &[]);
    for (block, (blocks, first)) in parts {
        at.func.layout.append_block(block);
        at.goto_bottom(block);
        go_to(at, number, blocks, first);
    }
}

/// A cursor before an instruction, or at the end of the block.
fn before(f: &mut Function, first: Option<Inst>, block: Block) -> FuncCursor<'_> {
    match first {
        Some(inst) => FuncCursor::new(f).at_inst(inst),
        None => FuncCursor::new(f).at_bottom(block),
    }
}

/// Ends a packet in the first stage: continues with the next packet, with these places for its record and blocks, or
/// flushes.
fn next_packet(
    at: &mut FuncCursor,
    shape: &TraceShape,
    around: &Connectors,
    memory: &StageMemory,
    [record, blocks]: [Value; 2],
) {
    let flags = shape.flags;
    let packet = at.ins().load(types::I64, flags.packet_word(PACKET), around.first_record, PACKET);
    let packet = at.ins().iadd_imm_s(packet, size_of::<abi::Packet>() as i64);
    let control = at.ins().stack_addr(types::I64, memory.control, 0);
    let stop = at.ins().load(types::I64, flags.stack, control, STOP);
    let more = at.ins().icmp(IntCC::UnsignedLessThan, packet, stop);
    let none = at.ins().iconst(types::I64, 0);
    let to_top = [record, blocks, packet].map(BlockArg::from);
    let to_flush = [record, blocks, packet, none].map(BlockArg::from);
    at.ins().brif(more, shape.top, &to_top, around.flush, &to_flush);
}

/// Offsets of the control words: the end of the records, whether a packet takes a side exit, and the packet that must
/// not begin before the flush.
const END: i32 = 0;
const LEFT: i32 = 8;
const STOP: i32 = 16;

/// Stack slots of the stages.
struct StageMemory {
    records: StackSlot,
    record_bytes: i32,
    /// Blocks to encrypt.
    blocks: StackSlot,
    control: StackSlot,
}

/// The blocks around the stages and their parameters.
struct Connectors {
    begin: Block,
    next_in_first: Block,
    leave_first: Block,
    flush: Block,
    /// The end of the records and of the blocks, the first packet that has not begun, and whether it takes a side exit.
    flushed: [Value; 4],
    top_of_second: Block,
    next_in_second: Block,
    after: Block,
    /// A packet's record, the address of its blocks, and its descriptor.
    first_record: Value,
    first_blocks: Value,
    packet: Value,
    second_record: Value,
}

/// The blocks of the second stage.
struct Second {
    /// Blocks reached from one cut only, by cut.
    of_cuts: Vec<Vec<Block>>,
    /// Blocks reached from several cuts.
    of_all: Vec<Block>,
    /// The side exit of the second stage.
    exit: Option<Block>,
}

impl Second {
    fn blocks(&self) -> Vec<Block> {
        self.of_cuts.iter().flatten().chain(&self.of_all).copied().collect()
    }
}
