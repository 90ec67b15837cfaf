//! Removes questions of hot paths that a later one answers. Who leaves a way may do so later, since nothing has happened
//! before its end: that a number is not zero need not be asked if another is less further on, nor whether so many bytes
//! are there if more are asked for before any is read. Does not live here: what is asked twice ([`crate::conditions`]).

use std::collections::HashMap;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{
    AliasRegion, Block, Function, InstBuilder, InstructionData, Opcode, StackSlot, Value, ValueDef,
};

use crate::bounds::{bound_of, constant_in};
use crate::edges::{arrivals, successors};
use crate::function::{Flags, region_of};

/// So many blocks further on are looked at.
const FAR: usize = 200;

/// Operations that are looked through.
const DEPTH: u32 = 8;

/// Removes them. `exit`: where packets leave.
pub(crate) fn remove(function: &mut Function, exit: Block, flags: &Flags) {
    let kept = kept(function, flags);
    let (packet, descriptor) = (flags.packet.alias_region(), flags.descriptor.alias_region());
    let regions = Regions { packet, descriptor, frame: flags.frame_load.alias_region(), kept: &kept };
    let arrivals = arrivals(function);
    let alone = |block: Block| arrivals.get(&block) == Some(&1);
    let blocks: Vec<Block> = function.layout.blocks().collect();
    for block in blocks {
        let Some((asked, go_on)) = question(function, block, exit, regions) else { continue };
        if alone(go_on) && is_answered(function, &asked, go_on, exit, regions, &alone) {
            let Some(last) = function.layout.last_inst(block) else { continue };
            function.layout.remove_inst(last);
            FuncCursor::new(function).at_bottom(block).ins().jump(go_on, &[]);
        }
    }
}

/// Memory that matters here: packets, their descriptors with the addresses of packets, and words of the frame.
#[derive(Clone, Copy)]
struct Regions<'a> {
    packet: Option<AliasRegion>,
    descriptor: Option<AliasRegion>,
    frame: Option<AliasRegion>,
    /// What is in words of the frame.
    kept: &'a HashMap<Word, Option<Value>>,
}

/// A word of the frame.
type Word = (StackSlot, i32);

/// What is stored in each word of the frame, if that is one value.
fn kept(function: &Function, flags: &Flags) -> HashMap<Word, Option<Value>> {
    let mut kept = HashMap::new();
    for inst in function.layout.blocks().flat_map(|block| function.layout.block_insts(block)) {
        let InstructionData::Store { args: [value, address], offset, .. } = function.dfg.insts[inst] else { continue };
        if region_of(&function.dfg, inst) == flags.frame.alias_region()
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

/// What holds of those who go on.
enum Asked {
    NotZero(Value),
    /// Something is less than a value.
    Less(Value),
    /// An address in the packet, which is a sum of values and a number, is at most a value.
    Within(Vec<Value>, i64, Value),
    Other,
}

impl Asked {
    /// It holds if another thing does.
    fn follows_from(&self, other: &Asked) -> bool {
        match (self, other) {
            (Asked::NotZero(v), Asked::Less(more)) => v == more,
            (Asked::Within(terms, number, end), Asked::Within(others, more, other_end)) => {
                terms == others && number <= more && end == other_end
            }
            _ => false,
        }
    }
}

/// What a block asks of packets at its end, and where those go that do not leave.
fn question(function: &Function, block: Block, exit: Block, regions: Regions<'_>) -> Option<(Asked, Block)> {
    let last = function.layout.last_inst(block)?;
    let InstructionData::Brif { arg, .. } = function.dfg.insts[last] else { return None };
    let &[yes, no] = successors(function, block).as_slice() else { return None };
    let plain = function.dfg.insts[last]
        .branch_destination(&function.dfg.jump_tables, &function.dfg.exception_tables)
        .iter()
        .all(|to| to.len(&function.dfg.value_lists) == 0);
    let (holds, go_on) = match [yes, no].map(|to| leaves(function, to, exit)) {
        [false, true] => (true, yes),
        [true, false] => (false, no),
        _ => return None,
    };
    plain.then(|| (asked(function, arg, holds, regions), go_on))
}

/// Whether a block only goes to where packets leave.
fn leaves(function: &Function, block: Block, exit: Block) -> bool {
    let only_jump = || match function.layout.first_inst(block) {
        Some(inst) => function.dfg.insts[inst].opcode() == Opcode::Jump,
        None => false,
    };
    block == exit || (only_jump() && successors(function, block) == [exit])
}

fn asked(function: &Function, condition: Value, holds: bool, regions: Regions<'_>) -> Asked {
    let dfg = &function.dfg;
    let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(condition)) else { return Asked::Other };
    let InstructionData::IntCompare { cond, args, .. } = dfg.insts[inst] else { return Asked::Other };
    let [a, b] = args.map(|v| dfg.resolve_aliases(v));
    match if holds { cond } else { cond.complement() } {
        IntCC::NotEqual if constant_in(dfg, b) == Some(0) => {
            // What may be an address is asked for before something is read there.
            let small = bound_of(dfg, &|_| None, a, DEPTH) <= u64::from(u32::MAX);
            if small { Asked::NotZero(a) } else { Asked::Other }
        }
        IntCC::UnsignedLessThan => Asked::Less(b),
        IntCC::UnsignedGreaterThan => Asked::Less(a),
        IntCC::UnsignedLessThanOrEqual => {
            let (mut terms, mut number) = (Vec::new(), 0);
            sum(function, a, regions, DEPTH, &mut terms, &mut number);
            terms.sort();
            // An address and small numbers do not wrap around.
            let large = |v: &&Value| bound_of(dfg, &|_| None, **v, DEPTH) > u64::from(u32::MAX);
            match terms.iter().filter(large).collect::<Vec<_>>()[..] {
                [address] if (0..1 << 16).contains(&number) && is_loaded(function, *address, regions.descriptor) => {
                    Asked::Within(terms, number, b)
                }
                _ => Asked::Other,
            }
        }
        _ => Asked::Other,
    }
}

/// A value was loaded from a region.
fn is_loaded(function: &Function, v: Value, region: Option<AliasRegion>) -> bool {
    let dfg = &function.dfg;
    let ValueDef::Result(inst, 0) = dfg.value_def(v) else { return false };
    let from = region_of(dfg, inst);
    dfg.insts[inst].opcode() == Opcode::Load && from.is_some() && from == region
}

/// The terms of a sum.
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
        InstructionData::Load { opcode: Opcode::Load, arg, offset, .. } if is_loaded(function, v, regions.frame) => {
            match word(function, arg, offset.into()).and_then(|word| *regions.kept.get(&word)?) {
                Some(kept) => sum(function, kept, regions, depth - 1, terms, number),
                None => terms.push(v),
            }
        }
        _ => terms.push(v),
    }
}

/// Whether all who go on from here are asked something that answers this, before it matters.
fn is_answered(
    function: &Function,
    asked: &Asked,
    from: Block,
    exit: Block,
    regions: Regions<'_>,
    alone: &dyn Fn(Block) -> bool,
) -> bool {
    let reads = matches!(asked, Asked::Within(..));
    let mut block = from;
    for _ in 0..FAR {
        for inst in function.layout.block_insts(block) {
            let op = function.dfg.insts[inst].opcode();
            let region = region_of(&function.dfg, inst);
            if op.is_call() || (op.can_load() && reads && (region.is_none() || region == regions.packet)) {
                return false;
            }
        }
        block = match (question(function, block, exit, regions), successors(function, block).as_slice()) {
            (Some((other, _)), _) if asked.follows_from(&other) => return true,
            (Some((_, go_on)), _) => go_on,
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

    /// What is asked of a packet: a number of its first byte, or whether so many bytes are there behind as many as that
    /// byte says.
    #[derive(Clone, Copy)]
    enum Question {
        NotZero,
        More,
        Bytes(i64),
        /// The same behind an address that may be any number.
        Far(i64),
    }

    /// The number of questions that are left of two, between which the packet may be read.
    fn left(questions: [Question; 2], reads: bool) -> usize {
        let isa = crate::host().expect("a machine that code is generated for");
        let signature = Signature::new(isa.default_call_conv());
        let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let flags = Flags::new(&mut function);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut frontend);
        let [entry, exit] = [(); 2].map(|()| b.create_block());
        b.switch_to_block(entry);
        let descriptor = b.ins().iconst(types::I64, 4096);
        let packet = b.ins().load(types::I64, flags.descriptor, descriptor, 0);
        let end = b.ins().load(types::I64, flags.descriptor, descriptor, 8);
        let byte = b.ins().uload8(types::I64, flags.packet, packet, 0);
        let number = b.ins().load(types::I64, flags.packet, packet, 8);
        for (i, question) in questions.into_iter().enumerate() {
            let condition = match question {
                Question::NotZero => b.ins().icmp_imm_u(IntCC::NotEqual, byte, 0),
                Question::More => b.ins().icmp(IntCC::UnsignedLessThan, number, byte),
                Question::Bytes(bytes) | Question::Far(bytes) => {
                    let far = matches!(question, Question::Far(_));
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
        remove(&mut function, exit, &flags);
        let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
        insts.filter(|inst| function.dfg.insts[*inst].opcode() == Opcode::Brif).count()
    }

    #[test]
    fn what_a_later_question_answers_is_not_asked() {
        use Question::{Bytes, Far, More, NotZero};
        assert_eq!(left([NotZero, More], false), 1);
        assert_eq!(left([NotZero, More], true), 1);
        assert_eq!(left([More, NotZero], false), 2, "that is the earlier one's");
        assert_eq!(left([Bytes(12), Bytes(24)], false), 1);
        assert_eq!(left([Bytes(12), Bytes(24)], true), 2, "something is read that may not be there");
        assert_eq!(left([Bytes(24), Bytes(12)], false), 2, "fewer bytes");
        assert_eq!(left([Far(12), Far(24)], false), 2, "it may wrap around");
        assert_eq!(left([Far(12), Bytes(24)], false), 2, "behind other bytes");
    }
}
