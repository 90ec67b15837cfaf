//! Value numbering of conditions: values computed by the same operation from the same operands are equal, so a trace
//! tests no condition twice.

use std::collections::{BTreeMap, HashMap};

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstructionData, Opcode, Type, Value, ValueDef, types};

use crate::clif::known_bits::{constant_in, most_of};
use crate::emit::Emitter;
use crate::trace::passes::TracePass;

/// The computation of a value: opcode, type, constant or offset, comparison, and operands.
type Definition = (Opcode, Type, i64, Option<IntCC>, Vec<Value>);

/// Equivalence classes of values, each with a representative.
#[derive(Default)]
pub(crate) struct ValueNumbering {
    by_how: HashMap<Definition, Value>,
    same_as: HashMap<Value, Value>,
}

/// What guards have established so far, by representative.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KnownConditions {
    truths: BTreeMap<Value, bool>,
    constants: BTreeMap<Value, i64>,
    bounds: BTreeMap<Value, u64>,
}

impl Emitter<'_> {
    /// Whether a condition holds, if an earlier guard decided it.
    pub(crate) fn known_truth(&mut self, condition: Value) -> Option<bool> {
        if let Some(always) = self.always(condition) {
            return Some(always);
        }
        if !self.has_pass(TracePass::ConditionNumbering) {
            return None;
        }
        let (c, truth) = self.plain(condition);
        if let Some(known) = self.flow.trace.conditions.truths.get(&c) {
            return Some(*known == truth);
        }
        let (v, constant, equal) = self.equality(c)?;
        let known = self.flow.trace.conditions.constants.get(&v)?;
        Some(((*known == constant) == equal) == truth)
    }

    /// Records the outcome of a guard.
    pub(crate) fn record_truth(&mut self, condition: Value, holds: bool) {
        if !self.is_trace() {
            return;
        }
        let (c, truth) = self.plain(condition);
        self.flow.trace.conditions.truths.insert(c, holds == truth);
        if let Some((v, constant, equal)) = self.equality(c)
            && (holds == truth) == equal
        {
            self.flow.trace.conditions.constants.insert(v, constant);
        }
        if let Some((v, bound)) = self.bounding(c, holds == truth) {
            let bounds = &mut self.flow.trace.conditions.bounds;
            let least = bounds.get(&v).map_or(bound, |old| bound.min(*old));
            bounds.insert(v, least);
        }
    }

    /// The upper bound of a value that follows from the outcome of a comparison with a constant.
    fn bounding(&self, c: Value, holds: bool) -> Option<(Value, u64)> {
        let (Opcode::Icmp, _, _, Some(cc), args) = self.how(c)? else { return None };
        let constant = self.unsigned_constant(args[1])?;
        let cc = if holds { cc } else { cc.complement() };
        match cc {
            IntCC::UnsignedLessThanOrEqual | IntCC::Equal => Some((args[0], constant)),
            IntCC::UnsignedLessThan => Some((args[0], constant.checked_sub(1)?)),
            _ => None,
        }
    }

    /// The upper bound of a value that earlier guards established.
    pub(crate) fn guarded_bound(&self, v: Value) -> Option<u64> {
        let bounds = &self.flow.trace.conditions.bounds;
        if bounds.is_empty() {
            return None;
        }
        let stands = self.numbering.same_as.get(&v).copied().unwrap_or(v);
        bounds.get(&stands).copied()
    }

    /// Returns the representative of the comparison that a condition is, and the outcome it must have. An equality and
    /// its negation share a representative.
    fn plain(&mut self, condition: Value) -> (Value, bool) {
        let (mut c, mut truth) = (self.standing(condition), true);
        loop {
            let Some((op, _, _, cc, args)) = self.how(c) else { return (c, truth) };
            match (op, cc) {
                (Opcode::Uextend | Opcode::Ireduce, _) if self.is_truth(args[0]) => c = args[0],
                (Opcode::Icmp, Some(IntCC::Equal | IntCC::NotEqual)) if self.is_truth(args[0]) => {
                    let Some(constant @ 0..=1) = self.constant_of(args[1]) else { return (c, truth) };
                    truth ^= (cc == Some(IntCC::Equal)) != (constant == 1);
                    c = args[0];
                }
                (Opcode::Icmp, Some(cc @ (IntCC::Equal | IntCC::NotEqual))) => {
                    let how = (op, types::I8, 0, Some(cc.complement()), args);
                    let contrary = self.numbering.by_how.get(&how).copied();
                    return match contrary {
                        Some(contrary) if contrary < c => (contrary, !truth),
                        _ => (c, truth),
                    };
                }
                _ => return (c, truth),
            }
        }
    }

    /// Whether a value is the result of a comparison.
    fn is_truth(&self, v: Value) -> bool {
        match self.how(v) {
            Some((Opcode::Icmp, ..)) => true,
            Some((Opcode::Uextend | Opcode::Ireduce, _, _, _, args)) => self.is_truth(args[0]),
            _ => false,
        }
    }

    /// The value and the constant that an equality or inequality compares.
    fn equality(&self, c: Value) -> Option<(Value, i64, bool)> {
        match self.how(c)? {
            (Opcode::Icmp, _, _, Some(cc @ (IntCC::Equal | IntCC::NotEqual)), args) => {
                Some((args[0], self.constant_of(args[1])?, cc == IntCC::Equal))
            }
            _ => None,
        }
    }

    pub(crate) fn constant_of(&self, v: Value) -> Option<i64> {
        constant_in(&self.b.func.dfg, v)
    }

    /// A constant as an unsigned number.
    pub(crate) fn unsigned_constant(&self, v: Value) -> Option<u64> {
        Some(self.constant_of(v)? as u64 & most_of(self.b.func.dfg.value_type(v)))
    }

    /// The representative of a value.
    fn standing(&mut self, v: Value) -> Value {
        if let Some(known) = self.numbering.same_as.get(&v) {
            return *known;
        }
        let stands = match self.how(v) {
            Some((op, ty, constant, cc, args)) => {
                let args = args.into_iter().map(|a| self.standing(a)).collect();
                *self.numbering.by_how.entry((op, ty, constant, cc, args)).or_insert(v)
            }
            None => v,
        };
        self.numbering.same_as.insert(v, stands);
        stands
    }

    /// Returns the computation of a value, if it depends only on its operands, which are replaced by their
    /// representatives.
    fn how(&self, v: Value) -> Option<Definition> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, 0) = dfg.value_def(dfg.resolve_aliases(v)) else { return None };
        let data = &dfg.insts[inst];
        let op = data.opcode();
        let (constant, cc) = match data {
            InstructionData::UnaryImm { imm, .. } => (imm.bits(), None),
            InstructionData::Unary { .. } | InstructionData::Binary { .. } | InstructionData::Ternary { .. } => {
                (0, None)
            }
            InstructionData::IntCompare { cond, .. } => (0, Some(*cond)),
            // Memory that is constant during a batch.
            InstructionData::Load { flags, offset, .. } if dfg.mem_flags[*flags].readonly() => {
                (i64::from(i32::from(*offset)), None)
            }
            _ => return None,
        };
        if op.can_trap() || op.can_store() {
            return None;
        }
        let stands = |v: &Value| self.numbering.same_as.get(v).copied().unwrap_or(*v);
        let args = dfg.inst_args(inst).iter().map(stands).collect();
        Some((op, dfg.value_type(v), constant, cc, args))
    }
}
