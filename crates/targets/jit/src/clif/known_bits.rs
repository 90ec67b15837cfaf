//! Known bits: upper bounds of values, which follow from how they are computed.

use cranelift_codegen::ir::{DataFlowGraph, InstructionData, Opcode, Type, Value, ValueDef};

/// The maximum depth of operations that are examined.
pub(crate) const DEPTH: u32 = 12;

/// Returns the upper bound of a value. `given` returns bounds from other sources.
pub(crate) fn bound_of(dfg: &DataFlowGraph, given: &dyn Fn(Value) -> Option<u64>, v: Value, depth: u32) -> u64 {
    let v = dfg.resolve_aliases(v);
    let most = most_of(dfg.value_type(v));
    let given_bound = given(v).unwrap_or(most).min(most);
    if depth == 0 {
        return given_bound;
    }
    let ValueDef::Result(inst, 0) = dfg.value_def(v) else { return given_bound };
    let args = dfg.inst_args(inst);
    let arg = |i: usize| bound_of(dfg, given, args[i], depth - 1);
    let shift = |by: Value| constant_in(dfg, by).filter(|by| (0..64).contains(by)).map(|by| by as u32);
    let bound = match (dfg.insts[inst].opcode(), &dfg.insts[inst]) {
        (Opcode::Iconst, InstructionData::UnaryImm { imm, .. }) => imm.bits() as u64 & most,
        (Opcode::Uextend | Opcode::Ireduce, _) => arg(0),
        (Opcode::Uload8, _) => 0xff,
        (Opcode::Uload16, _) => 0xffff,
        (Opcode::Uload32, _) => 0xffff_ffff,
        (Opcode::Icmp, _) => 1,
        (Opcode::Band, _) => arg(0).min(arg(1)),
        (Opcode::Bor | Opcode::Bxor, _) => up_to_highest(arg(0) | arg(1)),
        (Opcode::Umin, _) => arg(0).min(arg(1)),
        (Opcode::Umax, _) => arg(0).max(arg(1)),
        (Opcode::Select, _) => arg(1).max(arg(2)),
        (Opcode::Ushr, _) => match shift(args[1]) {
            Some(by) => arg(0) >> by,
            None => arg(0),
        },
        (Opcode::Ishl, _) => match shift(args[1]) {
            Some(by) => arg(0).checked_mul(1 << by).unwrap_or(most),
            None => most,
        },
        (Opcode::Iadd, _) => arg(0).checked_add(arg(1)).unwrap_or(most),
        (Opcode::Imul, _) => arg(0).checked_mul(arg(1)).unwrap_or(most),
        _ => most,
    };
    // A sum beyond the type's maximum may have wrapped around.
    if bound > most { given_bound } else { bound.min(given_bound) }
}

/// The value of a constant.
pub(crate) fn constant_in(dfg: &DataFlowGraph, v: Value) -> Option<i64> {
    let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(v)) else { return None };
    match dfg.insts[inst] {
        InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
        _ => None,
    }
}

/// Returns the maximum of a type.
pub(crate) fn most_of(ty: Type) -> u64 {
    if ty.bits() >= 64 { u64::MAX } else { (1 << ty.bits()) - 1 }
}

/// Returns a mask of all bits up to the highest set bit.
fn up_to_highest(v: u64) -> u64 {
    v.checked_ilog2().map_or(0, |high| u64::MAX >> (63 - high))
}

#[cfg(test)]
mod tests {
    use super::up_to_highest;

    #[test]
    fn all_bits_up_to_the_highest() {
        assert_eq!([0, 1, 5, 8, u64::MAX].map(up_to_highest), [0, 1, 7, 15, u64::MAX]);
    }
}
