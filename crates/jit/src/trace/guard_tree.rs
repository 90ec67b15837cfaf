//! Guard trees: in a trace, a select on several keys becomes a tree of tests that tests no key twice. Tests whose
//! failure leads off all paths become guards, which can be coalesced.

use cranelift_codegen::ir::{InstBuilder, Value};
use hopwright_ir::{Expr, ExprKind, KeySet, SelectCase, Target};
use num_traits::ToPrimitive;

use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::parser::has;
use crate::trace::passes::TracePass;

type Result<T> = std::result::Result<T, Unsupported>;

/// The maximum number of key sets in such a select. The tree branches for each way in which a set does not match.
const MOST_SETS: usize = 12;

/// A select statement.
#[derive(Clone, Copy)]
pub(crate) struct Select<'a, 'b> {
    pub keys: &'a [Expr],
    pub values: &'b [Vec<Value>],
    pub cases: &'a [SelectCase],
}

/// A test whether a key is in a set.
struct SetTest<'a> {
    condition: Value,
    set: &'a KeySet,
    key: &'a Expr,
}

impl<'a> Emitter<'a> {
    /// Whether a select is emitted as a tree.
    pub(crate) fn is_tree(&self, select: Select<'a, '_>) -> bool {
        let sets = select.cases.iter().flat_map(|case| &case.sets);
        self.has_pass(TracePass::GuardTree)
            && select.keys.len() > 1
            && select.keys.len() * select.cases.len() <= MOST_SETS
            && !sets.clone().any(|set| matches!(set, KeySet::ValueSet(_)))
    }

    /// Emits the tree for the cases from one on.
    pub(crate) fn tree(&mut self, select: Select<'a, '_>, from: usize) -> Result<()> {
        for (number, case) in select.cases.iter().enumerate().skip(from) {
            self.at(case.span);
            let to = self.target(case.target)?;
            let trace = self.is_on_path(&to);
            if !trace && self.is_apart(case, select.cases) {
                continue;
            }
            let Some(tests) = self.tests(select, case) else { continue };
            if let ([test], false) = (&tests[..], trace) {
                self.emit_guard(test.condition, false);
                self.assume_set(test, false);
                continue;
            }
            let only = self.is_only_path(&to) && !self.is_target_of(&select.cases[number + 1..], &to);
            for test in tests {
                let before = self.flow.clone();
                self.record_truth(test.condition, false);
                self.assume_set(&test, false);
                if only || self.leads_away(select, number + 1)? {
                    self.flow = before;
                    self.emit_guard(test.condition, true);
                } else {
                    let (more, other) = (self.b.create_block(), self.b.create_block());
                    self.b.ins().brif(test.condition, more, &[], other, &[]);
                    self.enter(other);
                    self.tree(select, number + 1)?;
                    self.flow = before;
                    self.enter(more);
                    self.record_truth(test.condition, true);
                }
                self.assume_set(&test, true);
            }
            self.go(&to);
            return Ok(());
        }
        let accepted = self.target(Target::Accept)?;
        self.go(&accepted);
        Ok(())
    }

    /// The tests that decide whether a case is taken; `None` if it cannot be.
    fn tests(&mut self, select: Select<'a, '_>, case: &'a SelectCase) -> Option<Vec<SetTest<'a>>> {
        let mut tests = Vec::new();
        for ((set, key), value) in case.sets.iter().zip(select.keys).zip(select.values) {
            match self.known(key).and_then(|v| has(set, v, key.ty)) {
                Some(true) => continue,
                Some(false) => return None,
                None if matches!(set, KeySet::Any) => continue,
                None => {}
            }
            let condition = self.in_set(set, key, value, case.span);
            match self.known_truth(condition) {
                Some(true) => {}
                Some(false) => return None,
                None => tests.push(SetTest { condition, set, key }),
            }
        }
        Some(tests)
    }

    /// Whether all cases from `from` on lead off the paths.
    fn leads_away(&mut self, select: Select<'a, '_>, from: usize) -> Result<bool> {
        for case in &select.cases[from..] {
            let to = self.target(case.target)?;
            match self.tests(select, case) {
                None => {}
                Some(tests) if tests.is_empty() => return Ok(!self.is_on_path(&to)),
                Some(_) if self.is_on_path(&to) => return Ok(false),
                Some(_) => {}
            }
        }
        let accepted = self.target(Target::Accept)?;
        Ok(!self.is_on_path(&accepted))
    }

    /// Records whether a key is in a set.
    fn assume_set(&mut self, test: &SetTest<'a>, is: bool) {
        if let (KeySet::Value(v), ExprKind::Slot(slot)) = (test.set, &test.key.kind) {
            self.assume_value(*slot, test.key.ty, v.to_u64(), is);
        }
    }
}
