//! Hot paths in two stages, cut where blocks are encrypted: the first stage runs for some packets and leaves their blocks
//! side by side, then all blocks are encrypted at once, then the second stage goes on with each packet. So packets do not
//! wait for one another's cipher rounds.
//!
//! ```text
//! begin: k = 0
//! top:   packet → record k, first stage ──► its way ends or leaves: next packet, or flush
//!        └► cut: blocks and what is needed later → record k; k += 1; next packet, or flush
//! flush: all blocks at once; for each record: second stage; then who left goes to the function for all packets; begin
//! ```
//!
//! It is a change of the finished function, which knows packets' words of the frame and calls of block methods and nothing
//! else of the program. It can be made because a hot path has no effects before its end but counts, which do not depend
//! on the order of packets; what depends on it, registers, rules it out. Does not live here: what a hot path is
//! ([`crate::trace`]).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::mem::offset_of;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, Function, Inst, InstBuilder, InstructionData, Opcode, SigRef, Signature, StackSlot,
    StackSlotData, StackSlotKind, Value, ValueDef, types,
};

use crate::clif::cfg::{arrivals, successors};
use crate::clif::known_bits::constant_in;
use crate::emit::memory::{MemoryKinds, region_of};
use hopwright_abi as abi;

/// Packets between two encryptions.
const PACKETS: u32 = 32;

/// What the function is like.
pub(crate) struct TraceShape {
    /// A packet begins.
    pub top: Block,
    /// A packet is done: takes the first word of the frame to the next packet and goes to `top` or `out`.
    pub next_packet: Block,
    /// All packets are done.
    pub out: Block,
    /// The packet in the first word of the frame leaves the hot path.
    pub exit: Option<Block>,
    /// The function for all packets.
    pub all: i64,
    /// Words of packets and of batches.
    pub frame: StackSlot,
    /// The places of those of batches.
    pub batch_words: BTreeSet<i32>,
    /// Where arguments of calls lie just before the call.
    pub arguments: [StackSlot; 2],
    /// Of [`abi::BlockMethod::run`].
    pub block: SigRef,
    /// By the address of [`abi::BlockMethod::run`] that of [`abi::BlockMethod::run_all`].
    pub methods: BTreeMap<i64, i64>,
    /// A packet that leaves may pause: then those behind it run again, and none of them may have come to its end.
    pub pauses: bool,
    /// It is to be cut in stages if it can be.
    pub splittable: bool,
    pub flags: MemoryKinds,
}

/// Where the first packet that has not begun and the end of the packets are in the frame.
const PACKET: i32 = 0;
const BEYOND: i32 = 8;

/// Members of a packet's descriptor that stay as they are to the end of the packet's way.
const RECEIVED: [usize; 4] = [
    offset_of!(abi::Packet, buffer),
    offset_of!(abi::Packet, start),
    offset_of!(abi::Packet, end),
    offset_of!(abi::Packet, ingress_port),
];

/// A function in two stages, if there are blocks to encrypt.
pub(crate) fn split(function: &Function, shape: &TraceShape) -> Option<Function> {
    let mut function = function.clone();
    function.dfg.resolve_all_aliases();
    let mut split =
        Splitter { f: function, shape, method: None, cuts: Vec::new(), first: Vec::new(), order: Vec::new() };
    split.find_cuts();
    split.carry_out()?;
    Some(split.f)
}

/// Where a way is cut.
struct Cut {
    /// The last block of the first stage.
    from: Block,
    /// The first of the second.
    to: Block,
    /// First and second word of each block to encrypt, and of what comes of it.
    blocks: Vec<[Value; 4]>,
}

struct Splitter<'a> {
    f: Function,
    shape: &'a TraceShape,
    /// The method: its address, and the place in the frame of what it is given first.
    method: Option<(i64, i32)>,
    cuts: Vec<Cut>,
    /// The blocks of the first stage.
    first: Vec<Block>,
    /// Its instructions, those that others depend on before those.
    order: Vec<Inst>,
}

/// The record of a packet: its words of the frame, and behind them these.
struct RecordLayout {
    /// Which cut the packet is at.
    cut: i32,
    /// Where its blocks are.
    blocks: i32,
    /// What the second stage needs of the first.
    saved: i32,
}

impl Splitter<'_> {
    /// Walks the ways from the top, and parts their blocks where they are to be cut.
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
            // The blocks in between follow one another.
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

    /// Calls of the method from a block on that do not depend on one another, with nothing in between that a packet could
    /// leave by.
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

    /// The method that is called.
    fn method_of(&self, inst: Inst) -> Option<(i64, i32)> {
        let dfg = &self.f.dfg;
        let InstructionData::CallIndirect { sig_ref, .. } = dfg.insts[inst] else { return None };
        let &[callee, prepared, ..] = dfg.inst_args(inst) else { return None };
        let method = constant_in(dfg, callee)?;
        let ValueDef::Result(prepared, _) = dfg.value_def(prepared) else { return None };
        let place = self.frame_place(prepared).filter(|place| self.shape.batch_words.contains(place))?;
        (sig_ref == self.shape.block && self.shape.methods.contains_key(&method)).then_some((method, place))
    }

    /// The word of the frame that is loaded or stored.
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
                // Somewhere in it.
                Some((slot, i32::MIN))
            }
            _ => None,
        }
    }

    /// Makes two stages of it. Nothing if that cannot be done, and then the function is spoilt.
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

        // Words of packets are in their records, and ways end elsewhere.
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
        let ends = second.of_cuts.iter().zip(&needs).enumerate();
        let ends: Vec<i32> =
            ends.map(|(i, (blocks, need))| self.hand_over(i, blocks, need, &places, &around)).collect();
        let record_bytes = ends.into_iter().max()?;
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
        Some(())
    }

    /// Makes the blocks around the stages, still empty.
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

    /// A packet is taken from its descriptor to what is encrypted.
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

    /// All blocks are encrypted.
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

    /// The packets of the records go on.
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

/// Goes to one of the blocks by its number, of which the first has this one. Few comparisons cost less than a jump by a table.
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

/// Before an instruction, or where the block ends.
fn before(f: &mut Function, first: Option<Inst>, block: Block) -> FuncCursor<'_> {
    match first {
        Some(inst) => FuncCursor::new(f).at_inst(inst),
        None => FuncCursor::new(f).at_bottom(block),
    }
}

/// The packet of the first stage is done for now: the next one begins, with these places for what it leaves, or all blocks
/// are encrypted.
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

/// Where the words of control are: the end of the records, whether a packet left, and the packet that is not to begin
/// before all blocks are encrypted.
const END: i32 = 0;
const LEFT: i32 = 8;
const STOP: i32 = 16;

/// StageMemory of the stack frame.
struct StageMemory {
    records: StackSlot,
    record_bytes: i32,
    /// Blocks to encrypt, side by side.
    blocks: StackSlot,
    control: StackSlot,
}

/// The blocks around the stages, and what they are given.
struct Connectors {
    begin: Block,
    next_in_first: Block,
    leave_first: Block,
    flush: Block,
    /// End of the records and of the blocks, the first packet that has not begun, and whether it is to leave.
    flushed: [Value; 4],
    top_of_second: Block,
    next_in_second: Block,
    after: Block,
    /// A packet's record, where its blocks go, and its descriptor.
    first_record: Value,
    first_blocks: Value,
    packet: Value,
    second_record: Value,
}

/// The blocks of the second stage.
struct Second {
    /// Those that only packets of one cut get to.
    of_cuts: Vec<Vec<Block>>,
    /// Those that packets of several cuts get to.
    of_all: Vec<Block>,
    /// Where its packets leave.
    exit: Option<Block>,
}

impl Second {
    fn blocks(&self) -> Vec<Block> {
        self.of_cuts.iter().flatten().chain(&self.of_all).copied().collect()
    }
}

impl Splitter<'_> {
    /// All blocks that packets get to from one on, before the next packet.
    fn reached(&self, from: Block) -> Vec<Block> {
        let ends = [self.shape.next_packet, self.shape.out];
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(&block) = reached.get(at) {
            at += 1;
            for to in successors(&self.f, block) {
                if !ends.contains(&to) && !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        reached
    }

    /// The blocks of the second stage; of those that packets of the first get to as well it has copies.
    fn own_second_stage(&mut self) -> Option<Second> {
        let first = BTreeSet::from_iter(self.first.iter().copied());
        let mut second: BTreeSet<Block> = self.cuts.iter().flat_map(|cut| self.reached(cut.to)).collect();
        // Those that packets of the first stage leave by.
        let leaving = BTreeSet::from_iter(self.shape.exit.into_iter().flat_map(|exit| self.reached(exit)));
        let both: Vec<Block> = second.iter().copied().filter(|b| first.contains(b) || leaving.contains(b)).collect();
        let mut copies: BTreeMap<Block, Block> = BTreeMap::new();
        let mut values: HashMap<Value, Value> = HashMap::new();
        for &block in &both {
            let copy = self.f.dfg.make_block();
            self.f.layout.append_block(copy);
            if self.f.layout.is_cold(block) {
                self.f.layout.set_cold(copy);
            }
            copies.insert(block, copy);
            for param in self.f.dfg.block_params(block).to_vec() {
                let ty = self.f.dfg.value_type(param);
                values.insert(param, self.f.dfg.append_block_param(copy, ty));
            }
            for inst in self.f.layout.block_insts(block).collect::<Vec<_>>() {
                if matches!(self.f.dfg.insts[inst], InstructionData::BranchTable { .. }) {
                    return None;
                }
                let new = self.f.dfg.clone_inst(inst);
                self.f.layout.append_inst(new, copy);
                let pairs = self.f.dfg.inst_results(inst).iter().zip(self.f.dfg.inst_results(new));
                values.extend(pairs.map(|(old, new)| (*old, *new)));
            }
            second.remove(&block);
        }
        for copy in copies.values() {
            self.replace(*copy, &values);
            second.insert(*copy);
        }
        for &block in &second {
            self.redirect(block, &|to| copies.get(&to).copied().unwrap_or(to));
        }
        let mut owners: BTreeMap<Block, Vec<usize>> = BTreeMap::new();
        for (i, cut) in self.cuts.iter().enumerate() {
            for block in self.reached(cut.to) {
                owners.entry(block).or_default().push(i);
            }
        }
        let mut found = Second { of_cuts: vec![Vec::new(); self.cuts.len()], of_all: Vec::new(), exit: None };
        for (block, owners) in owners {
            match owners[..] {
                [one] => found.of_cuts[one].push(block),
                _ => found.of_all.push(block),
            }
        }
        found.exit = self.shape.exit.and_then(|exit| copies.get(&exit).copied());
        Some(found)
    }

    /// Puts values in the place of others in a block.
    fn replace(&mut self, block: Block, values: &HashMap<Value, Value>) {
        for inst in self.f.layout.block_insts(block).collect::<Vec<_>>() {
            self.f.dfg.map_inst_values(inst, |v| values.get(&v).copied().unwrap_or(v));
        }
    }

    /// Lets a block end elsewhere.
    fn redirect(&mut self, block: Block, to: &dyn Fn(Block) -> Block) {
        let Some(last) = self.f.layout.last_inst(block) else { return };
        let dfg = &mut self.f.dfg;
        let branches = dfg.insts[last].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
        for branch in branches {
            let target = to(branch.block(&dfg.value_lists));
            branch.set_block(target, &mut dfg.value_lists);
        }
    }

    /// The block that a value is made in.
    fn home(&self, v: Value) -> Option<Block> {
        match self.f.dfg.value_def(v) {
            ValueDef::Result(inst, _) => self.f.layout.inst_block(inst),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Union(..) => None,
        }
    }

    /// What the second stage behind each cut uses that the first made, in the order it was made in.
    fn needs(&self, second: &Second) -> Option<Vec<Vec<Value>>> {
        let place = HashMap::<Block, usize>::from_iter(self.first.iter().enumerate().map(|(i, b)| (*b, i)));
        let step = HashMap::<Inst, usize>::from_iter(self.order.iter().enumerate().map(|(i, inst)| (*inst, i)));
        let used = |blocks: &[Block]| {
            let mut used = BTreeMap::new();
            for &block in blocks {
                for inst in self.f.layout.block_insts(block) {
                    for v in self.f.dfg.inst_values(inst) {
                        let Some(place) = self.home(v).and_then(|home| place.get(&home)) else { continue };
                        let step = match self.f.dfg.value_def(v) {
                            ValueDef::Result(inst, _) => step.get(&inst).map_or(0, |step| step + 1),
                            _ => 0,
                        };
                        used.insert((*place, step, v.as_u32()), v);
                    }
                }
            }
            used.into_values().collect::<Vec<Value>>()
        };
        used(&second.of_all).is_empty().then(|| second.of_cuts.iter().map(|blocks| used(blocks)).collect())
    }

    /// StageMemory of the stack frame that is neither a packet's word nor an argument is used in both stages.
    fn shares_memory(&self, second: &Second) -> bool {
        let slots = |blocks: &[Block]| {
            let insts = blocks.iter().flat_map(|b| self.f.layout.block_insts(*b));
            let values = insts.flat_map(|inst| self.f.dfg.inst_values(inst));
            BTreeSet::from_iter(values.filter_map(|v| Some(self.slot_address(v)?.0)))
        };
        // What makes an address of another in a way that is not followed.
        let hidden = self.f.layout.blocks().flat_map(|b| self.f.layout.block_insts(b)).any(|inst| {
            let data = &self.f.dfg.insts[inst];
            let op = data.opcode();
            let follows = op.can_load() || op.can_store() || op.is_call() || op == Opcode::Iadd;
            !follows && self.f.dfg.inst_values(inst).any(|v| self.slot_address(v).is_some())
        });
        let (first, second) = (slots(&self.first), slots(&second.blocks()));
        let own = |slot: &&StackSlot| **slot == self.shape.frame || self.shape.arguments.contains(slot);
        hidden || first.intersection(&second).any(|slot| !own(&slot))
    }

    /// Lets the packet's words of the frame be in its record.
    fn address_record(&mut self, block: Block, record: Value) -> Option<()> {
        for inst in self.f.layout.block_insts(block).collect::<Vec<_>>() {
            let frame = |v: &Value| self.slot_address(*v).is_some_and(|(slot, _)| slot == self.shape.frame);
            if !self.f.dfg.inst_values(inst).any(|v| frame(&v)) {
                continue;
            }
            let place = self.frame_place(inst).filter(|place| *place >= 0)?;
            if place == BEYOND || self.shape.batch_words.contains(&place) {
                continue;
            }
            match &mut self.f.dfg.insts[inst] {
                InstructionData::Load { arg, offset, .. } => (*arg, *offset) = (record, Offset32::new(place)),
                InstructionData::Store { args, offset, .. } => (args[1], *offset) = (record, Offset32::new(place)),
                _ => return None,
            }
        }
        Some(())
    }

    /// Bytes of records that a value takes.
    fn bytes(&self, v: Value) -> i32 {
        self.f.dfg.value_type(v).bytes().next_multiple_of(8) as i32
    }

    /// Puts what is needed behind a cut into the packet's record, and gets it from there or makes it anew.
    fn hand_over(
        &mut self,
        number: usize,
        blocks: &[Block],
        need: &[Value],
        record: &RecordLayout,
        around: &Connectors,
    ) -> i32 {
        let stack = self.shape.flags.stack;
        let (from, to) = (self.cuts[number].from, self.cuts[number].to);
        let of_blocks = self.cuts[number].blocks.clone();
        let mut known = HashMap::from([(around.first_record, around.second_record)]);
        let first = self.f.layout.first_inst(to);

        let mut store = FuncCursor::new(&mut self.f).at_bottom(from);
        if self.cuts.len() > 1 {
            let number = store.ins().iconst(types::I64, number as i64);
            store.ins().store(stack, number, around.first_record, record.cut);
        }
        store.ins().store(stack, around.first_blocks, around.first_record, record.blocks);
        let place = before(&mut self.f, first, to).ins().load(types::I64, stack, around.second_record, record.blocks);
        for (i, [first_word, second_word, first_result, second_result]) in of_blocks.into_iter().enumerate() {
            for (half, given, result) in [(0, first_word, first_result), (8, second_word, second_result)] {
                let offset = 16 * i as i32 + half;
                FuncCursor::new(&mut self.f).at_bottom(from).ins().store(stack, given, around.first_blocks, offset);
                let result_now = before(&mut self.f, first, to).ins().load(types::I64, stack, place, offset);
                known.insert(result, result_now);
            }
        }
        let mut free = record.saved;
        for &v in need {
            if let Some(again) = self.rebuilt(v, &mut known, first, to) {
                known.insert(v, again);
                continue;
            }
            let ty = self.f.dfg.value_type(v);
            FuncCursor::new(&mut self.f).at_bottom(from).ins().store(stack, v, around.first_record, free);
            let loaded = before(&mut self.f, first, to).ins().load(ty, stack, around.second_record, free);
            known.insert(v, loaded);
            free += self.bytes(v);
        }
        for &block in blocks {
            self.replace(block, &known);
        }
        free
    }

    /// A value of the first stage made again behind a cut from what is there.
    fn rebuilt(
        &mut self,
        v: Value,
        known: &mut HashMap<Value, Value>,
        before: Option<Inst>,
        to: Block,
    ) -> Option<Value> {
        let ValueDef::Result(inst, 0) = self.f.dfg.value_def(v) else { return None };
        if !self.is_cheap(inst) {
            return None;
        }
        let mut parts = HashMap::new();
        for part in self.f.dfg.inst_values(inst).collect::<Vec<_>>() {
            let there = match known.get(&part) {
                Some(there) => *there,
                None if self.home(part).is_none_or(|home| !self.first.contains(&home)) => part,
                None if self.is_descriptor(part) => {
                    let again = self.rebuilt(part, known, before, to)?;
                    known.insert(part, again);
                    again
                }
                None => self.constant_again(part, before, to)?,
            };
            parts.insert(part, there);
        }
        let again = self.copy_to(inst, before, to);
        self.f.dfg.map_inst_values(again, |v| parts.get(&v).copied().unwrap_or(v));
        Some(self.f.dfg.first_result(again))
    }

    /// The address of the packet's descriptor, from the record.
    fn is_descriptor(&self, v: Value) -> bool {
        let ValueDef::Result(inst, 0) = self.f.dfg.value_def(v) else { return false };
        let offset = self.f.dfg.insts[inst].load_store_offset();
        region_of(&self.f.dfg, inst) == self.shape.flags.packet_word(PACKET).alias_region() && offset == Some(PACKET)
    }

    fn constant_again(&mut self, v: Value, before: Option<Inst>, to: Block) -> Option<Value> {
        let ValueDef::Result(inst, 0) = self.f.dfg.value_def(v) else { return None };
        if self.f.dfg.insts[inst].opcode() != Opcode::Iconst {
            return None;
        }
        let again = self.copy_to(inst, before, to);
        Some(self.f.dfg.first_result(again))
    }

    fn copy_to(&mut self, inst: Inst, before: Option<Inst>, to: Block) -> Inst {
        let again = self.f.dfg.clone_inst(inst);
        match before {
            Some(before) => self.f.layout.insert_inst(again, before),
            None => self.f.layout.append_inst(again, to),
        }
        again
    }

    /// Making it again costs no more than keeping it, and gives the same: hot paths write to the packet at their end only.
    fn is_cheap(&self, inst: Inst) -> bool {
        let flags = &self.shape.flags;
        let data = &self.f.dfg.insts[inst];
        match data.opcode() {
            Opcode::Iconst | Opcode::Uextend | Opcode::Ireduce | Opcode::Iadd | Opcode::Isub => true,
            Opcode::Band | Opcode::Bor | Opcode::Bxor | Opcode::Ushr | Opcode::Ishl => true,
            op if op.can_load() && !op.can_store() && !op.is_call() => {
                let region = region_of(&self.f.dfg, inst);
                if region == flags.descriptor.alias_region() {
                    return data.load_store_offset().is_some_and(|at| RECEIVED.contains(&(at as usize)));
                }
                let constant = [flags.runtime, flags.entry, flags.packet];
                flags.is_frame(region) || region.is_some() && constant.iter().any(|kind| kind.alias_region() == region)
            }
            _ => false,
        }
    }
}
