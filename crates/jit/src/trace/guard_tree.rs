//! Selects of parser states on hot paths, by several keys: a tree of questions, in which nothing is asked twice and what
//! leads away from all ways is asked for together with the rest. Does not live here: selects elsewhere, and whether a value
//! is in a set ([`crate::emit::parser`]).

use cranelift_codegen::ir::{InstBuilder, Value};
use hopwright_ir::{Expr, ExprKind, KeySet, SelectCase, Target};
use num_traits::ToPrimitive;

use crate::Unsupported;
use crate::emit::Gen;
use crate::emit::parser::has;

type Result<T> = std::result::Result<T, Unsupported>;

/// Sets that such a select has at most: a tree has a branch for each way to be in none of them.
const MOST_SETS: usize = 12;

/// What is selected.
#[derive(Clone, Copy)]
pub(crate) struct Select<'a, 'b> {
    pub keys: &'a [Expr],
    pub values: &'b [Vec<Value>],
    pub cases: &'a [SelectCase],
}

/// A question whether a key is in a set.
struct Question<'a> {
    condition: Value,
    set: &'a KeySet,
    key: &'a Expr,
}

impl<'a> Gen<'a> {
    /// Whether it is one of those.
    pub(crate) fn is_tree(&self, select: Select<'a, '_>) -> bool {
        let sets = select.cases.iter().flat_map(|case| &case.sets);
        self.is_hot()
            && select.keys.len() > 1
            && select.keys.len() * select.cases.len() <= MOST_SETS
            && !sets.clone().any(|set| matches!(set, KeySet::ValueSet(_)))
    }

    /// Goes where the cases from one on lead.
    pub(crate) fn tree(&mut self, select: Select<'a, '_>, from: usize) -> Result<()> {
        for (number, case) in select.cases.iter().enumerate().skip(from) {
            self.at(case.span);
            let to = self.target(case.target)?;
            let on_way = self.is_on_way(&to);
            if !on_way && self.is_apart(case, select.cases) {
                continue;
            }
            let Some(questions) = self.questions(select, case) else { continue };
            if let ([question], false) = (&questions[..], on_way) {
                self.ask(question.condition, false);
                self.assume_set(question, false);
                continue;
            }
            let only = self.is_only_way(&to) && !self.is_target_of(&select.cases[number + 1..], &to);
            for question in questions {
                let before = self.facts.clone();
                self.learn_truth(question.condition, false);
                self.assume_set(&question, false);
                if only || self.leads_away(select, number + 1)? {
                    self.facts = before;
                    self.ask(question.condition, true);
                } else {
                    let (more, other) = (self.b.create_block(), self.b.create_block());
                    self.b.ins().brif(question.condition, more, &[], other, &[]);
                    self.enter(other);
                    self.tree(select, number + 1)?;
                    self.facts = before;
                    self.enter(more);
                    self.learn_truth(question.condition, true);
                }
                self.assume_set(&question, true);
            }
            self.go(&to);
            return Ok(());
        }
        let accepted = self.target(Target::Accept)?;
        self.go(&accepted);
        Ok(())
    }

    /// What is to be asked to know whether a case is taken; nothing if it surely is not.
    fn questions(&mut self, select: Select<'a, '_>, case: &'a SelectCase) -> Option<Vec<Question<'a>>> {
        let mut questions = Vec::new();
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
                None => questions.push(Question { condition, set, key }),
            }
        }
        Some(questions)
    }

    /// All that the cases from one on may lead to is away from the ways.
    fn leads_away(&mut self, select: Select<'a, '_>, from: usize) -> Result<bool> {
        for case in &select.cases[from..] {
            let to = self.target(case.target)?;
            match self.questions(select, case) {
                None => {}
                Some(questions) if questions.is_empty() => return Ok(!self.is_on_way(&to)),
                Some(_) if self.is_on_way(&to) => return Ok(false),
                Some(_) => {}
            }
        }
        let accepted = self.target(Target::Accept)?;
        Ok(!self.is_on_way(&accepted))
    }

    /// A key is in a set or is not.
    fn assume_set(&mut self, question: &Question<'a>, is: bool) {
        if let (KeySet::Value(v), ExprKind::Slot(slot)) = (question.set, &question.key.kind) {
            self.assume_value(*slot, question.key.ty, v.to_u64(), is);
        }
    }
}
