//! Guard coalescing for entries: guards on adjacent fields of an entry, such as hit, action and small arguments, become
//! one comparison at the first of them. A guard may be moved up to where the entry is known, because a side exit may be
//! taken anywhere before the end of a trace.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, Function, InstBuilder, InstructionData, Opcode, Value, ValueDef};

use crate::clif::cfg::{arrivals, successors};
use crate::clif::known_bits::{constant_in, most_of};
use crate::emit::bytes::int;
use crate::emit::memory::{MemoryKinds, region_of};
use crate::trace::guard::Guard;

/// The maximum number of following blocks that are examined.
const FAR: usize = 200;

/// The maximum depth of operations that are examined.
const DEPTH: u32 = 4;

/// The maximum size of a comparison in bytes, and the alignment of entries.
const WORD: i32 = 8;

/// The bits of an entry that a guard tests, and their required values: those set in `mask`, of `bytes` bytes at an
/// offset.
#[derive(Clone, Copy)]
struct Bits {
    entry: Value,
    at: i32,
    bytes: i32,
    mask: u64,
    is: u64,
    /// Whether they belong to the data, whose size depends on the action.
    data: bool,
}

impl Bits {
    fn end(&self) -> i32 {
        self.at + self.bytes
    }

    /// Mask and value relative to a window that begins at an offset before them.
    fn within(&self, from: i32) -> (u64, u64) {
        let by = 8 * (self.at - from);
        (self.mask << by, self.is << by)
    }
}

/// Runs the pass. `exit` is the block of side exits.
pub(crate) fn run(function: &mut Function, exit: Block, flags: &MemoryKinds) {
    let arrivals = arrivals(function);
    let blocks: Vec<Block> = function.layout.blocks().collect();
    for block in blocks {
        let Some(first) = tested_bits(function, block, exit, flags) else { continue };
        let mut others: Vec<(Block, Bits)> = Vec::new();
        let mut at = block;
        for _ in 0..FAR {
            at = match (Guard::at_end(function, at, exit), successors(function, at).as_slice()) {
                (Some(guard), _) => guard.go_on,
                (None, &[only]) => only,
                _ => break,
            };
            if arrivals.get(&at) != Some(&1) {
                break;
            }
            let other = tested_bits(function, at, exit, flags).filter(|other| other.entry == first.entry);
            others.extend(other.map(|other| (at, other)));
        }
        let (with, start, size) = window(&first, &others);
        if with.is_empty() {
            continue;
        }
        let (mut mask, mut is) = first.within(start);
        for (block, bits) in with {
            let (more, wanted) = bits.within(start);
            if (is ^ wanted) & mask & more != 0 {
                // This contradicts an earlier guard. It stays, and the code after it is unreachable.
                continue;
            }
            mask |= more;
            is |= wanted;
            if let Some(guard) = Guard::at_end(function, block, exit) {
                guard.remove(function);
            }
        }
        let Some(guard) = Guard::at_end(function, block, exit) else { continue };
        let memory = if first.data { flags.entry_data } else { flags.entry };
        guard.replace(function, |at| {
            let ty = int(size as u32);
            let signed = |v: u64| (v << (64 - ty.bits())) as i64 >> (64 - ty.bits());
            let mut found = at.ins().load(ty, memory, first.entry, start);
            if mask != most_of(ty) {
                let mask = at.ins().iconst(ty, signed(mask));
                found = at.ins().band(found, mask);
            }
            let is = at.ins().iconst(ty, signed(is));
            at.ins().icmp(IntCC::Equal, found, is)
        });
    }
}

/// Returns the guards that can be coalesced with a guard, and offset and size of a load that covers all of them. The
/// load only covers words of which guards test some bytes, so these words exist. At least one word follows the header
/// of an entry, so guards on data can be tested together with the action.
fn window(first: &Bits, others: &[(Block, Bits)]) -> (Vec<(Block, Bits)>, i32, i32) {
    let within = |start: i32| {
        let fits = move |bits: &Bits| bits.at >= start && bits.end() <= start + WORD;
        others.iter().filter(move |(_, bits)| fits(bits)).copied()
    };
    let starts = first.end() - WORD..=first.at;
    let with: Vec<(Block, Bits)> = match starts.max_by_key(|start| within(*start).count()) {
        Some(start) => within(start).collect(),
        None => Vec::new(),
    };
    let start = with.iter().map(|(_, bits)| bits.at).fold(first.at, i32::min);
    let end = with.iter().map(|(_, bits)| bits.end()).fold(first.end(), i32::max);
    let size = (end - start).cast_unsigned().next_power_of_two().cast_signed();
    let beyond = -(-end).div_euclid(WORD) * WORD;
    (with, start.min(beyond - size), size)
}

/// The bits that the guard at the end of a block tests, if they are an entry's.
fn tested_bits(function: &Function, block: Block, exit: Block, flags: &MemoryKinds) -> Option<Bits> {
    let guard = Guard::at_end(function, block, exit)?;
    let dfg = &function.dfg;
    let condition = dfg.resolve_aliases(guard.condition);
    let compared = match dfg.value_def(condition) {
        ValueDef::Result(inst, 0) => match dfg.insts[inst] {
            InstructionData::IntCompare { cond, args: [a, b], .. } => Some((cond, a, b)),
            _ => None,
        },
        _ => None,
    };
    let (v, number, equal) = match compared {
        Some((cond @ (IntCC::Equal | IntCC::NotEqual), a, b)) => {
            let number = constant_in(dfg, b)? as u64 & most_of(dfg.value_type(a));
            (a, number, (cond == IntCC::Equal) == guard.holds)
        }
        Some(_) => return None,
        None => (condition, 0, !guard.holds),
    };
    let (bits, shift) = bits_of(function, v, flags, DEPTH)?;
    let is = number << shift;
    match equal {
        _ if is >> shift != number || is & !bits.mask != 0 => None,
        true => Some(Bits { is, ..bits }),
        // If a single bit must differ, it must equal its complement.
        false if bits.mask.is_power_of_two() => Some(Bits { is: is ^ bits.mask, ..bits }),
        false => None,
    }
}

/// Returns the bits of an entry that a value consists of, and how far right they are shifted in it.
fn bits_of(function: &Function, v: Value, flags: &MemoryKinds, depth: u32) -> Option<(Bits, u32)> {
    let dfg = &function.dfg;
    let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(v)) else { return None };
    let ty = dfg.value_type(v);
    if depth == 0 || !ty.is_int() || ty.bits() > 64 {
        return None;
    }
    let of = |v: Value| bits_of(function, v, flags, depth - 1);
    let masked = |(bits, shift): (Bits, u32), mask: u64| (Bits { mask: bits.mask & mask << shift, ..bits }, shift);
    match dfg.insts[inst] {
        InstructionData::Load { opcode, arg, offset, .. } => {
            let bytes = match opcode {
                Opcode::Load => ty.bytes() as i32,
                Opcode::Uload8 => 1,
                Opcode::Uload16 => 2,
                Opcode::Uload32 => 4,
                _ => return None,
            };
            let region = region_of(dfg, inst)?;
            let data = dfg.insts[inst].memflags_data(dfg).is_some_and(|flags| flags.can_move());
            let mask = u64::MAX >> (64 - 8 * bytes);
            let entry = dfg.resolve_aliases(arg);
            let bits = Bits { entry, at: offset.into(), bytes, mask, is: 0, data };
            (Some(region) == flags.entry.alias_region()).then_some((bits, 0))
        }
        InstructionData::Unary { opcode: Opcode::Uextend, arg } => of(arg),
        InstructionData::Unary { opcode: Opcode::Ireduce, arg } => Some(masked(of(arg)?, most_of(ty))),
        InstructionData::Binary { opcode: Opcode::Band, args: [a, b] } => {
            Some(masked(of(a)?, constant_in(dfg, b)? as u64))
        }
        InstructionData::Binary { opcode: Opcode::Ushr, args: [a, b] } => {
            let (bits, shift) = of(a)?;
            let shift = u32::try_from(constant_in(dfg, b)?).ok()?.checked_add(shift).filter(|shift| *shift < 64)?;
            Some((Bits { mask: bits.mask >> shift << shift, ..bits }, shift))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::Context;
    use cranelift_codegen::control::ControlPlane;
    use cranelift_codegen::ir::{AbiParam, Signature, UserFuncName, types};
    use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

    use super::*;
    use crate::code::memory::Code;

    /// A test of an entry: whether some bytes at an offset equal a number, or whether a bit of a byte is set.
    #[derive(Clone, Copy)]
    enum Test {
        Is(u32, i32, u64),
        Bit(i32, u32),
        /// No test, but a join of control flow.
        Join,
    }

    /// Builds a function that returns 1 if an entry passes all tests.
    fn test_function(tests: &[Test]) -> (Function, Block, MemoryKinds) {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let mut signature = Signature::new(isa.default_call_conv());
        signature.params.extend([AbiParam::new(types::I64); 3]);
        signature.returns.push(AbiParam::new(types::I64));
        let mut function = Function::with_name_signature(UserFuncName::user(0, 0), signature);
        let flags = MemoryKinds::new(&mut function);
        let mut frontend = FunctionBuilderContext::new();
        let mut b = FunctionBuilder::new(&mut function, &mut frontend);
        let [begin, exit] = [(); 2].map(|()| b.create_block());
        b.append_block_params_for_function_params(begin);
        b.switch_to_block(begin);
        let entry = b.block_params(begin)[0];
        let other = b.block_params(begin)[1];
        for test in tests {
            let go_on = b.create_block();
            let condition = match *test {
                Test::Is(bytes, at, number) => {
                    let v = match bytes {
                        1 => b.ins().uload8(types::I64, flags.entry_data, entry, at),
                        2 => b.ins().uload16(types::I64, flags.entry_data, entry, at),
                        4 => b.ins().load(types::I32, flags.entry, entry, at),
                        _ => b.ins().load(types::I64, flags.entry_data, entry, at),
                    };
                    b.ins().icmp_imm_u(IntCC::Equal, v, number as i64)
                }
                Test::Bit(at, bit) => {
                    let v = b.ins().uload8(types::I64, flags.entry_data, entry, at);
                    b.ins().band_imm_u(v, 1 << bit)
                }
                Test::Join => {
                    let between = b.create_block();
                    b.ins().brif(other, between, &[], go_on, &[]);
                    b.switch_to_block(between);
                    b.ins().jump(go_on, &[]);
                    b.switch_to_block(go_on);
                    continue;
                }
            };
            b.ins().brif(condition, go_on, &[], exit, &[]);
            b.switch_to_block(go_on);
        }
        for (block, result) in [(None, 1), (Some(exit), 0)] {
            if let Some(block) = block {
                b.switch_to_block(block);
            }
            let result = b.ins().iconst(types::I64, result);
            b.ins().return_(&[result]);
        }
        b.seal_all_blocks();
        b.finalize(isa.frontend_config());
        (function, exit, flags)
    }

    fn guards(function: &Function) -> usize {
        let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
        insts.filter(|inst| function.dfg.insts[*inst].opcode() == Opcode::Brif).count()
    }

    /// Returns the number of guards that remain. Compares the results before and after the pass, also for entries that
    /// differ in one byte.
    fn left(tests: &[Test]) -> usize {
        let isa = crate::code::target::host().expect("a machine that code is generated for");
        let (mut function, exit, flags) = test_function(tests);
        super::run(&mut function, exit, &flags);
        let left = guards(&function);
        let codes = [test_function(tests).0, function].map(|function| {
            let mut context = Context::for_function(function);
            let compiled = context.compile(&*isa, &mut ControlPlane::default()).expect("valid code");
            Code::new(compiled.code_buffer()).expect("memory")
        });
        let mut right = [0u8; 32];
        for test in tests {
            match *test {
                Test::Is(bytes, at, number) => {
                    let (from, to) = (at as usize, at as usize + bytes as usize);
                    right[from..to].copy_from_slice(&number.to_le_bytes()[..bytes as usize]);
                }
                Test::Bit(at, bit) => right[at as usize] |= 1 << bit,
                Test::Join => {}
            }
        }
        let tell = |entry: &[u8; 32]| {
            let [a, b] = codes.each_ref().map(|code| code.of_bytes(entry));
            assert_eq!(a, b, "{entry:x?}");
            a
        };
        assert_eq!(tell(&right), 1);
        for byte in 0..32 {
            for other in [1, 4, 0xff] {
                let mut wrong = right;
                wrong[byte] ^= other;
                tell(&wrong);
            }
        }
        left
    }

    #[test]
    fn adjacent_fields_are_tested_by_one_guard() {
        use Test::{Bit, Is, Join};
        assert_eq!(left(&[Is(4, 0, 7), Is(4, 4, 1)]), 1);
        assert_eq!(left(&[Is(4, 4, 7), Is(1, 8, 2), Is(2, 10, 500)]), 1, "bytes in between are masked");
        assert_eq!(left(&[Is(2, 10, 500), Bit(9, 3), Is(4, 4, 7)]), 1, "in any order");
        assert_eq!(left(&[Bit(9, 3), Bit(9, 5), Bit(9, 3)]), 1);
        assert_eq!(left(&[Is(4, 4, 7), Is(1, 12, 2)]), 2, "too far away");
        assert_eq!(left(&[Is(4, 4, 7), Is(8, 8, 3), Is(8, 16, 3)]), 3, "too large");
        assert_eq!(left(&[Is(4, 4, 7), Is(1, 13, 2), Is(2, 15, 9)]), 2, "the later two");
        assert_eq!(left(&[Is(1, 31, 2), Is(2, 28, 5)]), 1, "the load ends with the entry");
        assert_eq!(left(&[Is(4, 4, 7), Join, Is(4, 8, 5)]), 3, "the second guard is behind a join");
    }

    #[test]
    fn contradicting_guards_stay_apart() {
        let (mut function, exit, flags) = test_function(&[Test::Is(1, 8, 2), Test::Is(1, 8, 3)]);
        super::run(&mut function, exit, &flags);
        assert_eq!(guards(&function), 2);
    }
}
