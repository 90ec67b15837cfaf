//! Leaves out choices whose result does not matter when they would make a difference.
//!
//! A value matters (it is *observed*) when something depends on it: the new header when the packet is not dropped, a case of a choice when its
//! condition is true, the key of a table when the table is applied. Where a choice is observed only when its condition is true, it is the
//! value of that case; what is the same whenever it is observed is a constant. What is computed in vain may change, what is
//! observed does not (observability don't-cares: Bartlett and others, Multilevel logic minimization using implicit don't cares, IEEE
//! Transactions on Computer-Aided Design, 1988).
//!
//! When a value is observed is not known as a function but by the [facts](Facts) that hold then: values that are equal to constants. They
//! are facts about the old design. A value of the new one equals that of the old one whenever it is observed: by induction that holds for its
//! operands, as far as it depends on them. For this, of two operands of a conjunction only the second one counts as not observed when
//! the first one is false.

use std::collections::BTreeMap;
use std::rc::Rc;

use num_traits::ToPrimitive;

use crate::hir::{Binary, Design, Op, Value, rewrite};

/// How many operands are looked at to find what follows from a fact.
const MAX_STEPS: usize = 2_000;

/// How many operands and facts are looked at in all. Beyond, no fact is added: fewer facts are facts, too.
const MAX_EFFORT: usize = 5_000_000;

/// Values that are equal to constants of at most 64 bits.
type Facts = BTreeMap<Value, u64>;

/// Simplifies a design whose results are observed when all these conditions have these values. Returns the new value of each old one.
pub(crate) fn simplify(design: &mut Design, results: &[(Value, Vec<(Value, bool)>)]) -> Vec<Value> {
    let mut observed = Observed::of(design);
    for (result, conditions) in results {
        let mut when = Rc::default();
        for (cond, value) in conditions {
            when = observed.also(&when, *cond, (*value).into());
        }
        observed.add(*result, &when);
    }
    for at in (0..design.nodes.len()).rev() {
        observed.operands(Value(at as u32));
    }
    let (simplified, places) = rewrite(design, |b, value, places| {
        let at = |v: Value| places[v.index()];
        let width = design[value].width;
        Some(match observed.choice(value)? {
            Choice::Constant(bits) => b.constant(bits, width),
            Choice::Operand(operand) => at(operand),
            Choice::Cases(cases) => {
                b.one_hot(cases.into_iter().map(|(cond, value)| (at(cond), at(value))).collect(), width)
            }
        })
    });
    *design = simplified;
    places
}

/// What becomes of an operation.
enum Choice {
    Constant(u64),
    Operand(Value),
    Cases(Vec<(Value, Value)>),
}

struct Observed<'a> {
    design: &'a Design,
    users: Vec<Vec<Value>>,
    /// The number of operands of each operation.
    operands: Vec<usize>,
    /// What has been looked at so far.
    effort: usize,
    /// What is known when a value is observed; nothing if it never is.
    when: Vec<Option<Rc<Facts>>>,
}

impl Observed<'_> {
    fn of(design: &Design) -> Observed<'_> {
        let mut users = vec![Vec::new(); design.nodes.len()];
        let mut count = Vec::with_capacity(design.nodes.len());
        for (i, node) in design.nodes.iter().enumerate() {
            let operands = node.op.operands();
            count.push(operands.len());
            operands.into_iter().for_each(|operand| users[operand.index()].push(Value(i as u32)));
        }
        Observed { design, users, operands: count, effort: 0, when: vec![None; design.nodes.len()] }
    }

    /// A value is observed when these facts hold.
    fn add(&mut self, value: Value, facts: &Rc<Facts>) {
        let when = &mut self.when[value.index()];
        match when {
            None => *when = Some(facts.clone()),
            Some(when) if Rc::ptr_eq(when, facts) => {}
            Some(when) => {
                let lost = |(value, bits): (&Value, &u64)| facts.get(value) != Some(bits);
                if when.iter().any(lost) {
                    Rc::make_mut(when).retain(|value, bits| !lost((value, bits)));
                }
            }
        }
    }

    /// These facts, that a value has these bits, and what follows.
    fn also(&mut self, facts: &Rc<Facts>, value: Value, bits: u64) -> Rc<Facts> {
        let known = facts.contains_key(&value) || self.constant(value).is_some();
        if known || self.effort > MAX_EFFORT {
            return facts.clone();
        }
        let mut facts = Facts::clone(facts);
        let mut new = vec![(value, bits)];
        let mut steps = 0;
        while let Some((value, bits)) = new.pop() {
            if steps > MAX_STEPS {
                break;
            }
            // Two different values at once: this never happens, and anything may follow.
            if self.constant(value).is_some() || facts.insert(value, bits).is_some() {
                continue;
            }
            self.operands_of(value, bits, &facts, &mut new);
            for user in &self.users[value.index()] {
                steps += self.operands[user.index()];
                match facts.get(user) {
                    Some(bits) => self.operands_of(*user, *bits, &facts, &mut new),
                    None => new.extend(self.result(*user, &facts).map(|bits| (*user, bits))),
                }
            }
        }
        self.effort += facts.len() + steps;
        Rc::new(facts)
    }

    fn constant(&self, value: Value) -> Option<u64> {
        match &self.design[value].op {
            Op::Const(bits) => bits.to_u64(),
            _ => None,
        }
    }

    /// The bits of a value, if they are known.
    fn bits(&self, value: Value, facts: &Facts) -> Option<u64> {
        self.constant(value).or_else(|| facts.get(&value).copied())
    }

    /// The result of an operation, if what is known of its operands suffices.
    fn result(&self, value: Value, facts: &Facts) -> Option<u64> {
        let node = &self.design[value];
        let bits = |v: &Value| self.bits(*v, facts);
        match &node.op {
            Op::Not(a) if node.width == 1 => Some(bits(a)? ^ 1),
            Op::Binary(op @ (Binary::And | Binary::Or), a, b) if node.width == 1 => {
                let decides = u64::from(*op == Binary::Or);
                match (bits(a), bits(b)) {
                    (Some(bit), _) | (_, Some(bit)) if bit == decides => Some(bit),
                    (Some(_), Some(bit)) => Some(bit),
                    _ => None,
                }
            }
            Op::Binary(Binary::Eq, a, b) => Some((bits(a)? == bits(b)?).into()),
            Op::Mux { cond, then, otherwise } => match bits(cond) {
                Some(1) => bits(then),
                Some(_) => bits(otherwise),
                None => bits(then).filter(|then| bits(otherwise) == Some(*then)),
            },
            Op::OneHot(cases) => {
                let mut all_false = true;
                for (cond, case) in cases {
                    match bits(cond) {
                        Some(0) => {}
                        Some(_) => return bits(case),
                        None => all_false = false,
                    }
                }
                all_false.then_some(0)
            }
            Op::Slice { arg, lo } if self.design[*arg].width <= 64 => Some(bits(arg)? >> lo & mask(node.width)),
            Op::Concat(parts) if node.width <= 64 => {
                parts.iter().try_fold(0, |all, part| Some(shifted(all, self.design[*part].width) | bits(part)?))
            }
            _ => None,
        }
    }

    /// What follows for the operands of an operation from its result.
    fn operands_of(&self, value: Value, bits: u64, facts: &Facts, new: &mut Vec<(Value, u64)>) {
        let node = &self.design[value];
        let known = |v: &Value| self.bits(*v, facts);
        match &node.op {
            Op::Not(a) if node.width == 1 => new.push((*a, bits ^ 1)),
            Op::Binary(op @ (Binary::And | Binary::Or), a, b) if node.width == 1 => {
                let neutral = u64::from(*op == Binary::And);
                if bits == neutral {
                    new.extend([(*a, bits), (*b, bits)]);
                } else {
                    new.extend((known(a) == Some(neutral)).then_some((*b, bits)));
                    new.extend((known(b) == Some(neutral)).then_some((*a, bits)));
                }
            }
            Op::Binary(Binary::Eq, a, b) if bits == 1 => new.extend(known(b).map(|bits| (*a, bits))),
            Op::Mux { cond, then, otherwise } => {
                let mut cond_bits = known(cond);
                if known(then).is_some_and(|then| then != bits) {
                    cond_bits = Some(0);
                } else if known(otherwise).is_some_and(|otherwise| otherwise != bits) {
                    cond_bits = Some(1);
                }
                if let Some(taken) = cond_bits {
                    new.extend([(*cond, taken), (if taken == 1 { *then } else { *otherwise }, bits)]);
                }
            }
            Op::OneHot(cases) => {
                for (cond, case) in cases {
                    new.extend(known(case).is_some_and(|case| case != bits).then_some((*cond, 0)));
                    new.extend((known(cond) == Some(1)).then_some((*case, bits)));
                }
            }
            Op::Concat(parts) => {
                let mut lo = 0;
                for part in parts.iter().rev() {
                    let width = self.design[*part].width;
                    new.push((*part, bits.checked_shr(lo).unwrap_or(0) & mask(width)));
                    lo += width;
                }
            }
            _ => {}
        }
    }

    /// When the operands of an operation are observed.
    fn operands(&mut self, value: Value) {
        let design = self.design;
        let op = &design[value].op;
        if let Some(enable) = op.clone().enable_mut() {
            // What an effect needs matters when it takes place; it may have no result.
            let always = Rc::default();
            self.add(*enable, &always);
            let when = self.also(&always, *enable, 1);
            op.operands().into_iter().skip(1).for_each(|operand| self.add(operand, &when));
            return;
        }
        let Some(when) = self.when[value.index()].clone() else { return };
        match op {
            Op::Mux { cond, then, otherwise } => {
                self.add(*cond, &when);
                for (operand, taken) in [(then, 1), (otherwise, 0)] {
                    let when = self.also(&when, *cond, taken);
                    self.add(*operand, &when);
                }
            }
            Op::OneHot(cases) => {
                for (cond, case) in cases {
                    self.add(*cond, &when);
                    let when = self.also(&when, *cond, 1);
                    self.add(*case, &when);
                }
            }
            Op::Binary(op @ (Binary::And | Binary::Or), a, b) if design[value].width == 1 => {
                let (first, second) = (a.min(b), a.max(b));
                self.add(*first, &when);
                let when = self.also(&when, *first, u64::from(*op == Binary::And));
                self.add(*second, &when);
            }
            op => op.operands().into_iter().for_each(|operand| self.add(operand, &when)),
        }
    }

    fn choice(&self, value: Value) -> Option<Choice> {
        let node = &self.design[value];
        let facts = self.when[value.index()].as_deref()?;
        if node.op.accesses_state() || matches!(node.op, Op::Const(_)) {
            return None;
        }
        if let Some(bits) = facts.get(&value) {
            return Some(Choice::Constant(*bits));
        }
        let known = |v: &Value| self.bits(*v, facts);
        match &node.op {
            Op::Mux { cond, then, otherwise } => {
                known(cond).map(|taken| Choice::Operand(if taken == 1 { *then } else { *otherwise }))
            }
            Op::Binary(op @ (Binary::And | Binary::Or), a, b) if node.width == 1 => {
                let neutral = Some(u64::from(*op == Binary::And));
                let found = [(a, b), (b, a)].into_iter().find(|(other, _)| known(other) == neutral);
                found.map(|(_, left)| Choice::Operand(*left))
            }
            Op::OneHot(cases) => {
                if let Some((_, case)) = cases.iter().find(|(cond, _)| known(cond) == Some(1)) {
                    return Some(Choice::Operand(*case));
                }
                let left: Vec<(Value, Value)> =
                    cases.iter().filter(|(cond, _)| known(cond).is_none()).copied().collect();
                (left.len() < cases.len()).then_some(Choice::Cases(left))
            }
            _ => None,
        }
    }
}

fn mask(width: u32) -> u64 {
    shifted(1, width).wrapping_sub(1)
}

fn shifted(bits: u64, by: u32) -> u64 {
    bits.checked_shl(by).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use hopwright_ir::hash::Random;

    use super::*;
    use crate::hir::{Builder, Input, evaluate_binary};

    /// Simplifies a design with one result; the result.
    fn simplified(b: Builder, result: Value) -> (Design, Value) {
        let mut design = b.design;
        let places = simplify(&mut design, &[(result, Vec::new())]);
        (design, places[result.index()])
    }

    #[test]
    fn choices_that_are_observed_in_one_case_are_left_out() {
        let mut b = Builder::default();
        let (port, length) = (b.input(Input::IngressPort), b.input(Input::Length));
        let (valid, other) = (b.slice(port, 0, 0), b.slice(port, 1, 1));
        let zero = b.constant(0u32, 16);
        let field = b.mux(valid, length, zero);
        let both = b.and(valid, other);
        let result = b.mux(both, field, zero);
        let (design, result) = simplified(b, result);
        let Op::Mux { then, .. } = design[result].op else { panic!("{:?}", design[result].op) };
        assert_eq!(design[then].op, Op::Input(Input::Length));
    }

    #[test]
    fn conditions_lose_what_is_known_where_they_are_observed() {
        let mut b = Builder::default();
        let (port, length) = (b.input(Input::IngressPort), b.input(Input::Length));
        let (one, other) = (b.slice(port, 0, 0), b.slice(port, 1, 1));
        let both = b.and(one, other);
        let (zero, five) = (b.constant(0u32, 16), b.constant(5u32, 16));
        let inner = b.mux(both, length, five);
        let result = b.mux(one, inner, zero);
        let (design, result) = simplified(b, result);
        let Op::Mux { then: inner, .. } = design[result].op else { panic!("{:?}", design[result].op) };
        let Op::Mux { cond, .. } = design[inner].op else { panic!("{:?}", design[inner].op) };
        assert!(matches!(design[cond].op, Op::Slice { lo: 1, .. }), "{:?}", design[cond].op);
    }

    #[test]
    fn the_second_operand_of_a_conjunction_is_observed_when_the_first_is_true() {
        let mut b = Builder::default();
        let port = b.input(Input::IngressPort);
        let (one, other) = (b.slice(port, 0, 0), b.slice(port, 1, 1));
        let either = b.or(one, other);
        let both = b.and(one, either);
        let (design, result) = simplified(b, both);
        assert!(matches!(design[result].op, Op::Slice { lo: 0, .. }), "{:?}", design[result].op);
    }

    /// The values of a design of inputs and gates.
    fn evaluate(design: &Design, port: u64, length: u64) -> Vec<u64> {
        let mut values: Vec<u64> = Vec::new();
        for node in &design.nodes {
            let at = |v: &Value| values[v.index()];
            let value = match &node.op {
                Op::Const(bits) => bits.to_u64().unwrap_or_default(),
                Op::Input(Input::IngressPort) => port,
                Op::Input(_) => length,
                Op::Not(a) => at(a) ^ mask(node.width),
                Op::Binary(op, a, b) => {
                    let width = |v: &Value| design[*v].width;
                    let result = evaluate_binary(*op, &at(a).into(), &at(b).into(), width(a), width(b));
                    result.to_u64().unwrap_or_default()
                }
                Op::Mux { cond, then, otherwise } => at(if at(cond) == 1 { then } else { otherwise }),
                Op::OneHot(cases) => cases.iter().filter(|(cond, _)| at(cond) == 1).fold(0, |all, (_, v)| all | at(v)),
                Op::Slice { arg, lo } => at(arg) >> lo & mask(node.width),
                Op::Concat(parts) => parts.iter().fold(0, |all, p| all << design[*p].width | at(p)),
                op => panic!("{op:?}"),
            };
            values.push(value);
        }
        values
    }

    #[test]
    fn random_designs_keep_their_results() {
        let mut less = 0;
        for seed in 0..3000 {
            let mut random = Random::new(seed);
            let mut below = |most: usize| random.next_u64() as usize % most;
            let mut b = Builder::default();
            let (port, length) = (b.input(Input::IngressPort), b.input(Input::Length));
            let mut bits: Vec<Value> = (0..4).map(|bit| b.slice(port, bit, bit)).collect();
            let low = b.slice(length, 3, 0);
            let mut words = vec![low, b.constant(0u32, 4), b.constant(5u32, 4), b.slice(length, 7, 4)];
            for _ in 0..30 {
                let mut bit = || bits[below(bits.len())];
                let (c, d) = (bit(), bit());
                let mut word = || words[below(words.len())];
                let (x, y) = (word(), word());
                match below(9) {
                    0 => bits.push(b.and(c, d)),
                    1 => bits.push(b.or(c, d)),
                    2 => bits.push(b.not(c)),
                    3 => bits.push(b.eq(x, y)),
                    4 => bits.push(b.mux(c, d, c)),
                    5 => {
                        let not = b.not(c);
                        let (one, other) = (b.and(c, d), b.and(not, d));
                        words.push(b.one_hot(vec![(one, x), (other, y)], 4));
                    }
                    6 => {
                        let (high, low) = (b.slice(x, 3, 2), b.slice(y, 1, 0));
                        words.push(b.concat(vec![high, low]));
                    }
                    _ => words.push(b.mux(c, x, y)),
                }
            }
            let old = b.design;
            let (enable, offset, last) = (bits[bits.len() - 1], words[words.len() - 1], words[words.len() - 2]);
            let results = [(enable, Vec::new()), (offset, vec![(enable, true)]), (last, Vec::new())];
            let mut new = old.clone();
            let places = simplify(&mut new, &results);
            let choices =
                |d: &Design| d.nodes.iter().filter(|n| matches!(n.op, Op::Mux { .. } | Op::OneHot(_))).count();
            less += usize::from(choices(&new) < choices(&old));
            for port in 0..16 {
                let length = below(1 << 16) as u64;
                let (before, after) = (evaluate(&old, port, length), evaluate(&new, port, length));
                for (result, conditions) in &results {
                    if conditions.iter().all(|(cond, is)| before[cond.index()] == u64::from(*is)) {
                        assert_eq!(
                            before[result.index()],
                            after[places[result.index()].index()],
                            "seed {seed}: {result}"
                        );
                    }
                }
            }
        }
        assert!(less > 100, "{less} designs have fewer choices");
    }
}
