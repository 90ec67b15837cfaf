//! Terms as clauses: each bit is a literal of a SAT solver. Literals are hashed, so that equal gates are one.

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use batsat::core::{Solver as Sat, SolverOpts};
use batsat::{Callbacks, ClauseKind, Lit, SolverInterface, lbool};
use num_bigint::BigUint;

use crate::term::{Direction, Node, Op, Term, Variable};

/// What the solver found.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Values of the inputs that matter.
    Values(BTreeMap<Variable, BigUint>),
    /// There are none.
    Impossible,
    /// It would take too long.
    Unknown,
}

/// Conflicts after which a question is given up.
const CONFLICTS: u64 = 20_000;

/// Stops the search after a number of conflicts.
struct Limit {
    left: Rc<Cell<u64>>,
}

impl Callbacks for Limit {
    fn on_new_clause(&mut self, _: &[Lit], kind: ClauseKind) {
        if kind == ClauseKind::Learnt {
            self.left.set(self.left.get().saturating_sub(1));
        }
    }

    fn stop(&self) -> bool {
        self.left.get() == 0
    }
}

/// A solver for the terms of a run.
pub(crate) struct Solver {
    sat: Sat<Limit>,
    left: Rc<Cell<u64>>,
    truth: Lit,
    gates: HashMap<(Gate, Lit, Lit), Lit>,
    /// The literals of terms, lowest bit first. The terms are kept, so that addresses stay theirs.
    terms: HashMap<*const Node, (Term, Rc<[Lit]>)>,
    inputs: BTreeMap<Variable, Rc<[Lit]>>,
    /// Of the last question that was impossible, the conditions that contradict each other, by their number.
    conflict: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Gate {
    And,
    Xor,
}

impl Solver {
    pub(crate) fn new() -> Solver {
        let left = Rc::new(Cell::new(CONFLICTS));
        let mut sat = Sat::new(SolverOpts::default(), Limit { left: left.clone() });
        let truth = Lit::new(sat.new_var(lbool::TRUE, true), true);
        sat.add_clause_reuse(&mut vec![truth]);
        Solver {
            sat,
            left,
            truth,
            gates: HashMap::new(),
            terms: HashMap::new(),
            inputs: BTreeMap::new(),
            conflict: Vec::new(),
        }
    }

    /// Looks for inputs with which all these one-bit terms are true. What they leave open stays as it is in the run.
    pub(crate) fn solve(&mut self, conditions: &[Term]) -> Answer {
        let assumptions: Vec<Lit> = conditions.iter().map(|c| self.bits(c)[0]).collect();
        if let Some(never) = assumptions.iter().position(|lit| *lit == !self.truth) {
            self.conflict = vec![never];
            return Answer::Impossible;
        }
        self.left.set(CONFLICTS);
        match self.sat.solve_limited(&assumptions) {
            answer if answer == lbool::TRUE => {
                let value = |bits: &Rc<[Lit]>| {
                    bits.iter().rev().fold(BigUint::ZERO, |value, lit| {
                        (value << 1u32) | BigUint::from(u32::from(self.sat.value_lit(*lit) == lbool::TRUE))
                    })
                };
                Answer::Values(self.inputs.iter().map(|(variable, bits)| (*variable, value(bits))).collect())
            }
            answer if answer == lbool::FALSE => {
                let lits = assumptions.iter().enumerate();
                let contradict = |(_, lit): &(usize, &Lit)| self.sat.unsat_core_contains_var(lit.var());
                self.conflict = lits.filter(contradict).map(|(at, _)| at).collect();
                Answer::Impossible
            }
            _ => Answer::Unknown,
        }
    }

    /// Of the last question that was impossible, the numbers of conditions that contradict each other.
    pub(crate) fn conflict(&self) -> &[usize] {
        &self.conflict
    }

    fn fresh(&mut self) -> Lit {
        Lit::new(self.sat.new_var_default(), true)
    }

    fn clause(&mut self, lits: &[Lit]) {
        self.sat.add_clause_reuse(&mut lits.to_vec());
    }

    fn literal(&self, value: bool) -> Lit {
        if value { self.truth } else { !self.truth }
    }

    fn and(&mut self, a: Lit, b: Lit) -> Lit {
        let falsehood = !self.truth;
        if a == falsehood || b == falsehood || a == !b {
            return falsehood;
        }
        if a == self.truth || a == b {
            return b;
        }
        if b == self.truth {
            return a;
        }
        let key = if a < b { (Gate::And, a, b) } else { (Gate::And, b, a) };
        if let Some(lit) = self.gates.get(&key) {
            return *lit;
        }
        let out = self.fresh();
        self.clause(&[!out, a]);
        self.clause(&[!out, b]);
        self.clause(&[out, !a, !b]);
        self.gates.insert(key, out);
        out
    }

    fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.and(!a, !b)
    }

    fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        if a == self.truth {
            return !b;
        }
        if b == self.truth {
            return !a;
        }
        if a == !self.truth {
            return b;
        }
        if b == !self.truth {
            return a;
        }
        if a == b {
            return !self.truth;
        }
        if a == !b {
            return self.truth;
        }
        let key = if a < b { (Gate::Xor, a, b) } else { (Gate::Xor, b, a) };
        if let Some(lit) = self.gates.get(&key) {
            return *lit;
        }
        let out = self.fresh();
        self.clause(&[!out, a, b]);
        self.clause(&[!out, !a, !b]);
        self.clause(&[out, !a, b]);
        self.clause(&[out, a, !b]);
        self.gates.insert(key, out);
        out
    }

    fn choose(&mut self, cond: Lit, then: Lit, otherwise: Lit) -> Lit {
        let (then, otherwise) = (self.and(cond, then), self.and(!cond, otherwise));
        self.or(then, otherwise)
    }

    fn add(&mut self, a: &[Lit], b: &[Lit]) -> Vec<Lit> {
        let mut carry = !self.truth;
        let mut sum = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let half = self.xor(x, y);
            sum.push(self.xor(half, carry));
            let (both, carried) = (self.and(x, y), self.and(half, carry));
            carry = self.or(both, carried);
        }
        sum
    }

    /// Whether the first is less; bits are compared from the lowest on.
    fn less(&mut self, a: &[Lit], b: &[Lit], signed: bool) -> Lit {
        let mut less = !self.truth;
        for (at, (&x, &y)) in a.iter().zip(b).enumerate() {
            let differ = self.xor(x, y);
            // The highest bit of a number with a sign counts the other way.
            let smaller = if signed && at + 1 == a.len() { x } else { y };
            less = self.choose(differ, smaller, less);
        }
        less
    }

    fn shift(&mut self, a: &[Lit], by: &[Lit], direction: Direction) -> Vec<Lit> {
        let width = a.len();
        let filling = match direction {
            Direction::SignedRight => a[width - 1],
            _ => !self.truth,
        };
        let mut bits = a.to_vec();
        for (power, &cond) in by.iter().enumerate() {
            let distance = if power < 31 { 1usize << power } else { usize::MAX };
            let shifted: Vec<Lit> = (0..width)
                .map(|at| {
                    let from = match direction {
                        Direction::Left => at.checked_sub(distance),
                        _ => at.checked_add(distance).filter(|from| *from < width),
                    };
                    from.map_or(filling, |from| bits[from])
                })
                .collect();
            bits = bits.iter().zip(shifted).map(|(&stays, moved)| self.choose(cond, moved, stays)).collect();
        }
        bits
    }

    fn input(&mut self, variable: Variable, node: &Node) -> Rc<[Lit]> {
        if let Some(bits) = self.inputs.get(&variable) {
            return bits.clone();
        }
        let bit = |sat: &mut Sat<Limit>, at: u32| {
            let tends = if node.value.bit(at.into()) { lbool::TRUE } else { lbool::FALSE };
            Lit::new(sat.new_var(tends, true), true)
        };
        let bits: Rc<[Lit]> = (0..node.width).map(|at| bit(&mut self.sat, at)).collect();
        self.inputs.insert(variable, bits.clone());
        bits
    }

    fn bits(&mut self, term: &Term) -> Rc<[Lit]> {
        if let Some((_, bits)) = self.terms.get(&Rc::as_ptr(term)) {
            return bits.clone();
        }
        let bits: Rc<[Lit]> = match &term.op {
            Op::Const => (0..term.width).map(|at| self.literal(term.value.bit(at.into()))).collect(),
            Op::Input(variable) => self.input(*variable, term),
            Op::Not(a) => self.bits(a).iter().map(|bit| !*bit).collect(),
            Op::And(a, b) => self.zip(a, b, Solver::and),
            Op::Or(a, b) => self.zip(a, b, Solver::or),
            Op::Xor(a, b) => self.zip(a, b, Solver::xor),
            Op::Add(a, b) => {
                let (a, b) = (self.bits(a), self.bits(b));
                self.add(&a, &b).into()
            }
            Op::Mul(a, b) => {
                let (a, b) = (self.bits(a), self.bits(b));
                let mut sum = vec![!self.truth; a.len()];
                for (at, &bit) in b.iter().enumerate() {
                    let partial: Vec<Lit> =
                        (0..a.len()).map(|i| if i < at { !self.truth } else { self.and(a[i - at], bit) }).collect();
                    sum = self.add(&sum, &partial);
                }
                sum.into()
            }
            Op::Concat(a, b) => {
                let (high, low) = (self.bits(a), self.bits(b));
                low.iter().chain(high.iter()).copied().collect()
            }
            Op::Slice(a, lo) => self.bits(a)[*lo as usize..][..term.width as usize].into(),
            Op::Extend(a, signed) => {
                let bits = self.bits(a);
                let filling = if *signed { bits[bits.len() - 1] } else { !self.truth };
                bits.iter().copied().chain(std::iter::repeat(filling)).take(term.width as usize).collect()
            }
            Op::Shift(a, b, direction) => {
                let (a, b) = (self.bits(a), self.bits(b));
                self.shift(&a, &b, *direction).into()
            }
            Op::Equal(a, b) => {
                let different = self.zip(a, b, Solver::xor);
                let mut equal = self.truth;
                for bit in different.iter() {
                    equal = self.and(equal, !*bit);
                }
                [equal].into()
            }
            Op::Less(a, b, signed) => {
                let (a, b) = (self.bits(a), self.bits(b));
                [self.less(&a, &b, *signed)].into()
            }
            Op::Choose(cond, a, b) => {
                let cond = self.bits(cond)[0];
                self.zip(a, b, |solver, a, b| solver.choose(cond, a, b))
            }
        };
        self.terms.insert(Rc::as_ptr(term), (term.clone(), bits.clone()));
        bits
    }

    fn zip(&mut self, a: &Term, b: &Term, gate: impl Fn(&mut Solver, Lit, Lit) -> Lit) -> Rc<[Lit]> {
        let (a, b) = (self.bits(a), self.bits(b));
        a.iter().zip(b.iter()).map(|(&a, &b)| gate(self, a, b)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::{self, constant, equal};
    use hopwright_ir::{BinaryOp, Type};

    /// For all pairs of 5-bit numbers, the solver finds the result that the interpreter's arithmetic has, and no other.
    #[test]
    fn operations_mean_what_the_interpreter_means() {
        use BinaryOp::*;
        let ops = [Add, Sub, Mul, And, Or, Xor, Shl, Shr, Eq, Ne, Lt, Le, Gt, Ge, Concat, SatAdd, SatSub];
        for (op, ty) in ops.into_iter().flat_map(|op| [(op, Type::Bits(5)), (op, Type::Int(5))]) {
            let right = if matches!(op, Shl | Shr) { Type::Bits(5) } else { ty };
            for (x, y) in (0..32u32).step_by(3).flat_map(|x| (0..32u32).step_by(5).map(move |y| (x, y))) {
                // The inputs have other values in the run than those asked for.
                let a = term::input(Variable::Byte(0), 9u32.into(), 5);
                let b = term::input(Variable::Byte(1), 3u32.into(), 5);
                let Some(result) = term::binary(op, &a, &b, ty, right) else { continue };
                let expected = hopwright_ir::bits::binary(op, &x.into(), &y.into(), ty, right);
                let given = [equal(&a, &constant(x, 5)), equal(&b, &constant(y, 5))];
                let same = equal(&result, &constant(expected, result.width));
                let mut solver = Solver::new();
                let asked = |last: Term| [given[0].clone(), given[1].clone(), last];
                assert!(matches!(solver.solve(&asked(same.clone())), Answer::Values(_)), "{op:?} {ty:?} {x} {y}");
                assert!(matches!(solver.solve(&asked(term::not(&same))), Answer::Impossible), "{op:?} {ty:?} {x} {y}");
            }
        }
    }

    #[test]
    fn a_checksum_is_solved_for() {
        // The example of RFC 1071, with a word to be found.
        let known = constant(0x0001_f203_f4f5u64, 48);
        let word = term::input(Variable::Register(0, 0), BigUint::ZERO, 16);
        let sum = term::checksum(&term::concat(&known, &word));
        let wanted = equal(&sum, &constant(!0xddf2u16, 16));
        let Answer::Values(values) = Solver::new().solve(&[wanted]) else { panic!("not solved") };
        assert_eq!(values[&Variable::Register(0, 0)], 0xf6f7u32.into());
    }

    #[test]
    fn what_is_left_open_stays() {
        let a = term::input(Variable::Byte(0), 0xa5u32.into(), 8);
        let low = equal(&term::slice(&a, 3, 0), &constant(0u32, 4));
        let Answer::Values(values) = Solver::new().solve(&[low]) else { panic!("not solved") };
        assert_eq!(values[&Variable::Byte(0)], 0xa0u32.into());
    }
}
