//! Guard elimination: removes guards that a later guard on the trace implies. Side exits may be delayed, because a
//! trace has no effects before its end. Three rules apply: `x != 0` is implied by `y < x`; `x != a` by `x == b`, if `a`
//! and `b` differ; and that the packet contains some bytes by that it contains more, if none of them is read in
//! between.

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{
    AliasRegion, Block, Function, Inst, InstBuilder, InstructionData, Opcode, SourceLoc, StackSlot, Value, ValueDef,
};

use crate::clif::cfg::{arrivals, successors};
use crate::clif::known_bits::{bound_of, constant_in};
use crate::emit::memory::{MemoryKinds, region_of};

/// The maximum number of following blocks that are examined.
const FAR: usize = 200;

/// The maximum depth of operations that are examined.
const DEPTH: u32 = 8;

/// Runs the pass. `exit` is the block of side exits.
pub(crate) fn run(function: &mut Function, exit: Block, flags: &MemoryKinds) {
    let kept = kept(function, flags);
    let (packet, descriptor) = (flags.packet.alias_region(), flags.descriptor.alias_region());
    let regions = Regions { packet, descriptor, memory: flags, kept: &kept };
    let arrivals = arrivals(function);
    let alone = |block: Block| arrivals.get(&block) == Some(&1);
    let blocks: Vec<Block> = function.layout.blocks().collect();
    for block in blocks {
        let Some(guard) = Guard::at_end(function, block, exit) else { continue };
        let predicate = predicate_of(function, &guard, regions);
        if alone(guard.go_on) && is_implied_later(function, &predicate, guard.go_on, exit, regions, &alone) {
            guard.remove(function);
        }
    }
}

/// The kinds of memory that matter here: packets, their descriptors with the addresses of packets, and words of the
/// frame.
#[derive(Clone, Copy)]
struct Regions<'a> {
    packet: Option<AliasRegion>,
    descriptor: Option<AliasRegion>,
    memory: &'a MemoryKinds,
    /// The contents of words of the frame.
    kept: &'a HashMap<Word, Option<Value>>,
}

/// A word of the frame.
type Word = (StackSlot, i32);

/// The value of each word of the frame that is stored only once.
fn kept(function: &Function, flags: &MemoryKinds) -> HashMap<Word, Option<Value>> {
    let mut kept = HashMap::new();
    for inst in function.layout.blocks().flat_map(|block| function.layout.block_insts(block)) {
        let InstructionData::Store { args: [value, address], offset, .. } = function.dfg.insts[inst] else { continue };
        if flags.is_frame(region_of(&function.dfg, inst))
            && let Some(word) = word(function, address, offset.into())
        {
            kept.entry(word).and_modify(|only| *only = None).or_insert(Some(function.dfg.resolve_aliases(value)));
        }
    }
    kept
}

fn word(function: &Function, address: Value, offset: i32) -> Option<Word> {
    let ValueDef::Result(inst, 0) = function.dfg.value_def(function.dfg.resolve_aliases(address)) else { return None };
    match function.dfg.insts[inst] {
        InstructionData::StackAddr { stack_slot, offset: at, .. } => Some((stack_slot, i32::from(at) + offset)),
        _ => None,
    }
}

/// The fact that a guard establishes.
enum Predicate {
    /// The value differs from the number.
    Not(Value, i64),
    /// The value equals the number.
    Is(Value, i64),
    /// Some other value is less than this one.
    Less(Value),
    /// An address in the packet, the sum of the values and the number, is at most the last value.
    Within(Vec<Value>, i64, Value),
    Other,
}

impl Predicate {
    /// Whether another predicate implies this one.
    fn follows_from(&self, other: &Predicate) -> bool {
        match (self, other) {
            (Predicate::Not(v, 0), Predicate::Less(more)) => v == more,
            (Predicate::Not(v, number), Predicate::Is(same, other)) => v == same && number != other,
            (Predicate::Within(terms, number, end), Predicate::Within(others, more, other_end)) => {
                terms == others && number <= more && end == other_end
            }
            _ => false,
        }
    }
}

/// A guard at the end of a block: packets for which the condition does not have the expected outcome take a side exit.
pub(crate) struct Guard {
    pub condition: Value,
    pub holds: bool,
    /// The block on the trace.
    pub go_on: Block,
    /// The block that leads to the side exit.
    pub leave: Block,
    /// The branch.
    inst: Inst,
}

impl Guard {
    pub(crate) fn at_end(function: &Function, block: Block, exit: Block) -> Option<Guard> {
        let inst = function.layout.last_inst(block)?;
        let InstructionData::Brif { arg: condition, .. } = function.dfg.insts[inst] else { return None };
        let &[yes, no] = successors(function, block).as_slice() else { return None };
        let plain = function.dfg.insts[inst]
            .branch_destination(&function.dfg.jump_tables, &function.dfg.exception_tables)
            .iter()
            .all(|to| to.len(&function.dfg.value_lists) == 0);
        let (holds, go_on, leave) = match [yes, no].map(|to| leaves(function, to, exit)) {
            [false, true] => (true, yes, no),
            [true, false] => (false, no, yes),
            _ => return None,
        };
        plain.then_some(Guard { condition, holds, go_on, leave, inst })
    }

    /// The place in the program.
    pub(crate) fn place(&self, function: &Function) -> SourceLoc {
        function.srcloc(self.inst)
    }

    /// Removes the guard.
    pub(crate) fn remove(self, function: &mut Function) {
        let mut at = FuncCursor::new(function).at_inst(self.inst);
        at.use_srcloc(self.inst);
        at.ins().jump(self.go_on, &[]);
        function.layout.remove_inst(self.inst);
    }

    /// Replaces the guard's condition.
    pub(crate) fn replace(self, function: &mut Function, make: impl FnOnce(&mut FuncCursor<'_>) -> Value) {
        let mut at = FuncCursor::new(function).at_inst(self.inst);
        at.use_srcloc(self.inst);
        let condition = make(&mut at);
        at.ins().brif(condition, self.go_on, &[], self.leave, &[]);
        function.layout.remove_inst(self.inst);
    }
}

/// Whether a block is the side exit or only jumps to it.
fn leaves(function: &Function, block: Block, exit: Block) -> bool {
    let only_jump = || match function.layout.first_inst(block) {
        Some(inst) => function.dfg.insts[inst].opcode() == Opcode::Jump,
        None => false,
    };
    block == exit || (only_jump() && successors(function, block) == [exit])
}

fn predicate_of(function: &Function, guard: &Guard, regions: Regions<'_>) -> Predicate {
    let dfg = &function.dfg;
    let condition = dfg.resolve_aliases(guard.condition);
    let not = |v: Value, number: i64| {
        // A value that may be an address is tested before memory is read through it, so its guard stays.
        let small = bound_of(dfg, &|_| None, v, DEPTH) <= u64::from(u32::MAX);
        if small || number != 0 { Predicate::Not(v, number) } else { Predicate::Other }
    };
    let compared = match dfg.value_def(condition) {
        ValueDef::Result(inst, 0) => match dfg.insts[inst] {
            InstructionData::IntCompare { cond, args, .. } => Some((cond, args.map(|v| dfg.resolve_aliases(v)))),
            _ => None,
        },
        _ => None,
    };
    let Some((cond, [a, b])) = compared else {
        return if guard.holds { not(condition, 0) } else { Predicate::Is(condition, 0) };
    };
    match (if guard.holds { cond } else { cond.complement() }, constant_in(dfg, b)) {
        (IntCC::NotEqual, Some(number)) => return not(a, number),
        (IntCC::Equal, Some(number)) => return Predicate::Is(a, number),
        _ => {}
    }
    match if guard.holds { cond } else { cond.complement() } {
        IntCC::UnsignedLessThan => Predicate::Less(b),
        IntCC::UnsignedGreaterThan => Predicate::Less(a),
        IntCC::UnsignedLessThanOrEqual => {
            let (mut terms, mut number) = (Vec::new(), 0);
            sum(function, a, regions, DEPTH, &mut terms, &mut number);
            terms.sort();
            // The sum of an address and small numbers does not wrap around.
            let large = |v: &&Value| bound_of(dfg, &|_| None, **v, DEPTH) > u64::from(u32::MAX);
            match terms.iter().filter(large).collect::<Vec<_>>()[..] {
                [address] if (0..1 << 16).contains(&number) && is_loaded(function, *address, regions.descriptor) => {
                    Predicate::Within(terms, number, b)
                }
                _ => Predicate::Other,
            }
        }
        _ => Predicate::Other,
    }
}

/// Whether a value was loaded from a region.
fn is_loaded(function: &Function, v: Value, region: Option<AliasRegion>) -> bool {
    let dfg = &function.dfg;
    let ValueDef::Result(inst, 0) = dfg.value_def(v) else { return false };
    let from = region_of(dfg, inst);
    dfg.insts[inst].opcode() == Opcode::Load && from.is_some() && from == region
}

/// Collects the terms of a sum.
fn sum(function: &Function, v: Value, regions: Regions<'_>, depth: u32, terms: &mut Vec<Value>, number: &mut i64) {
    let dfg = &function.dfg;
    let v = dfg.resolve_aliases(v);
    if let Some(constant) = constant_in(dfg, v) {
        *number = number.saturating_add(constant);
        return;
    }
    let (ValueDef::Result(inst, 0), true) = (dfg.value_def(v), depth > 0) else { return terms.push(v) };
    match dfg.insts[inst] {
        InstructionData::Binary { opcode: Opcode::Iadd, args } => {
            args.iter().for_each(|part| sum(function, *part, regions, depth - 1, terms, number));
        }
        InstructionData::Load { opcode: Opcode::Load, arg, offset, .. }
            if regions.memory.is_frame(region_of(dfg, inst)) =>
        {
            match word(function, arg, offset.into()).and_then(|word| *regions.kept.get(&word)?) {
                Some(kept) => sum(function, kept, regions, depth - 1, terms, number),
                None => terms.push(v),
            }
        }
        _ => terms.push(v),
    }
}

/// Whether a later guard implies the predicate, before any access to memory that depends on it.
fn is_implied_later(
    function: &Function,
    predicate: &Predicate,
    from: Block,
    exit: Block,
    regions: Regions<'_>,
    alone: &dyn Fn(Block) -> bool,
) -> bool {
    let reads = matches!(predicate, Predicate::Within(..));
    let mut block = from;
    for _ in 0..FAR {
        for inst in function.layout.block_insts(block) {
            let op = function.dfg.insts[inst].opcode();
            let region = region_of(&function.dfg, inst);
            if op.is_call() || (op.can_load() && reads && (region.is_none() || region == regions.packet)) {
                return false;
            }
        }
        block = match (Guard::at_end(function, block, exit), successors(function, block).as_slice()) {
            (Some(other), _) if predicate.follows_from(&self::predicate_of(function, &other, regions)) => return true,
            (Some(other), _) => other.go_on,
            (None, &[only]) => only,
            _ => return false,
        };
        if !alone(block) {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{Signature, UserFuncName, types};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;

    /// A test of a packet: of its first byte's value, or whether as many bytes follow as that byte says.
    #[derive(Clone, Copy)]
    enum Test {
        NotZero,
        /// The byte differs from this number.
        Not(i64),
        /// The byte equals this number.
        Is(i64),
        More,
        Bytes(i64),
        /// Like `Bytes`, behind an address that may be arbitrary.
        Far(i64),
    }

    /// Returns how many of two guards remain. With `reads`, the packet is read between them.
    fn left(tests: [Test; 2], reads: bool) -> usize {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let signature = Signature::new(isa.default_call_conv());
        let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let flags = MemoryKinds::new(&mut function);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut frontend);
        let [entry, exit] = [(); 2].map(|()| b.create_block());
        b.switch_to_block(entry);
        let descriptor = b.ins().iconst(types::I64, 4096);
        let packet = b.ins().load(types::I64, flags.descriptor, descriptor, 0);
        let end = b.ins().load(types::I64, flags.descriptor, descriptor, 8);
        let byte = b.ins().uload8(types::I64, flags.packet, packet, 0);
        let number = b.ins().load(types::I64, flags.packet, packet, 8);
        for (i, guard) in tests.into_iter().enumerate() {
            let condition = match guard {
                Test::NotZero => b.ins().icmp_imm_u(IntCC::NotEqual, byte, 0),
                Test::Not(other) => b.ins().icmp_imm_u(IntCC::NotEqual, byte, other),
                Test::Is(number) => b.ins().icmp_imm_u(IntCC::Equal, byte, number),
                Test::More => b.ins().icmp(IntCC::UnsignedLessThan, number, byte),
                Test::Bytes(bytes) | Test::Far(bytes) => {
                    let far = matches!(guard, Test::Far(_));
                    let behind = b.ins().iadd(packet, if far { number } else { byte });
                    let to = b.ins().iadd_imm_s(behind, bytes);
                    b.ins().icmp(IntCC::UnsignedLessThanOrEqual, to, end)
                }
            };
            let go_on = b.create_block();
            b.ins().brif(condition, go_on, &[], exit, &[]);
            b.switch_to_block(go_on);
            if reads && i == 0 {
                b.ins().load(types::I64, flags.packet, packet, 16);
            }
        }
        b.ins().return_(&[]);
        b.switch_to_block(exit);
        b.ins().return_(&[]);
        b.seal_all_blocks();
        b.finalize(isa.frontend_config());
        run(&mut function, exit, &flags);
        let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
        insts.filter(|inst| function.dfg.insts[*inst].opcode() == Opcode::Brif).count()
    }

    #[test]
    fn guards_that_a_later_one_implies_are_removed() {
        use Test::{Bytes, Far, Is, More, Not, NotZero};
        assert_eq!(left([NotZero, More], false), 1);
        assert_eq!(left([NotZero, More], true), 1);
        assert_eq!(left([More, NotZero], false), 2, "only the earlier guard implies the other");
        assert_eq!(left([Not(1), Is(2)], true), 1);
        assert_eq!(left([NotZero, Is(2)], true), 1);
        assert_eq!(left([Not(2), Is(2)], true), 2, "contradiction");
        assert_eq!(left([Is(2), Not(1)], true), 2, "only the earlier guard implies the other");
        assert_eq!(left([Not(1), Not(2)], true), 2);
        assert_eq!(left([Bytes(12), Bytes(24)], false), 1);
        assert_eq!(left([Bytes(12), Bytes(24)], true), 2, "bytes are read in between");
        assert_eq!(left([Bytes(24), Bytes(12)], false), 2, "fewer bytes");
        assert_eq!(left([Far(12), Far(24)], false), 2, "the sum may wrap around");
        assert_eq!(left([Far(12), Bytes(24)], false), 2, "behind other bytes");
    }
}
