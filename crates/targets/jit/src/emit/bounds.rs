//! Upper bounds of values that the emitter knows, and comparisons that these bounds decide.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstructionData, Value, ValueDef};

use crate::clif::known_bits::{DEPTH, bound_of, constant_in, most_of};
use crate::emit::Emitter;

impl Emitter<'_> {
    /// The upper bound of a value.
    pub(crate) fn bound(&self, v: Value) -> u64 {
        bound_of(&self.b.func.dfg, &|v| self.param_bounds.get(&v).copied(), v, DEPTH)
    }

    /// Notes an upper bound of a value.
    pub(crate) fn note_bound(&mut self, v: Value, most: u64) {
        if most < most_of(self.b.func.dfg.value_type(v)) {
            let bound = self.param_bounds.entry(v).or_insert(most);
            *bound = most.min(*bound);
        }
    }

    pub(crate) fn constant_of(&self, v: Value) -> Option<i64> {
        constant_in(&self.b.func.dfg, v)
    }

    /// A constant as an unsigned number.
    pub(crate) fn unsigned_constant(&self, v: Value) -> Option<u64> {
        Some(self.constant_of(v)? as u64 & most_of(self.b.func.dfg.value_type(v)))
    }

    /// The outcome of a comparison that is the same for all possible values.
    pub(crate) fn always(&self, condition: Value) -> Option<bool> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(condition)) else { return None };
        let InstructionData::IntCompare { cond, args, .. } = dfg.insts[inst] else { return None };
        let constant = self.unsigned_constant(args[1])?;
        let bound = self.bound(args[0]);
        match cond {
            IntCC::UnsignedLessThanOrEqual if bound <= constant => Some(true),
            IntCC::UnsignedLessThan if bound < constant => Some(true),
            IntCC::UnsignedGreaterThan if bound <= constant => Some(false),
            IntCC::UnsignedGreaterThanOrEqual if bound < constant => Some(false),
            IntCC::Equal if bound < constant => Some(false),
            IntCC::NotEqual if bound < constant => Some(true),
            _ => None,
        }
    }
}
