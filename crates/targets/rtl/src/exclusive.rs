//! Accesses to one object at several places of the program, of which a packet makes at most one, become one access.
//!
//! Whether two conditions exclude each other is decided on the Boolean functions that they are of the program's comparisons,
//! as ordered binary decision diagrams (Bryant, IEEE Transactions on Computers, 1986).

use std::collections::HashMap;

use hopwright_ir::{ExternId, TableId};
use num_bigint::BigUint;

use crate::hir::{Binary, Builder, Design, Node, Op, Value};

/// The most nodes of the decision diagrams of two conditions.
const MAX_NODES: usize = 1 << 16;

/// The most nodes of the decision diagrams of all conditions of a design together.
const MAX_SHARED_NODES: usize = 1 << 18;

/// The most results of choices that are kept, for each node that there can be.
const CHOICES_PER_NODE: usize = 4;

/// How many pairs of conditions get diagrams of their own. These take long.
const MAX_PAIRS: usize = 64;

/// The most variables of a value: whether it is true, or equal to a constant.
const VARIABLES: u32 = 256;

/// How far in front of the conditions values are looked into, tried in order, where the diagrams of all values are too large.
const DEPTHS: [usize; 9] = [0, 16, 32, 64, 128, 256, 512, 1024, usize::MAX];

/// Merges accesses that exclude each other. Returns the new value of each old one.
pub(crate) fn merge(design: &mut Design) -> Vec<Value> {
    let groups = groups(design);
    let mut merger =
        Merger { old: design, b: Builder::default(), places: vec![None; design.nodes.len()], group_of: HashMap::new() };
    for group in &groups {
        for member in group {
            merger.group_of.insert(*member, group.clone());
        }
    }
    let mut split = 0;
    for i in 0..merger.old.nodes.len() {
        if i == merger.old.split {
            split = merger.b.design.nodes.len();
        }
        merger.place(Value(i as u32));
    }
    merger.b.design.split = split;
    let places = merger.places.into_iter().map(|place| place.expect("every node has its place")).collect();
    *design = merger.b.design;
    places
}

/// What is accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Object {
    Table(TableId),
    Extern(ExternId, String),
}

fn object(op: &Op) -> Option<Object> {
    match op {
        Op::Lookup { table, .. } => Some(Object::Table(*table)),
        Op::Count { counter: id, .. } | Op::Measure { meter: id, .. } => Some(Object::Extern(*id, String::new())),
        Op::Extern { instance: Some(id), method, .. } => Some(Object::Extern(*id, method.clone())),
        _ => None,
    }
}

fn enable(op: &Op) -> Option<Value> {
    op.clone().enable_mut().copied()
}

/// Accesses that can be one, each group in order.
fn groups(design: &Design) -> Vec<Vec<Value>> {
    let mut groups: Vec<(Object, Vec<Value>)> = Vec::new();
    let mut exclusions = Exclusions::default();
    for (i, node) in design.nodes.iter().enumerate() {
        let (Some(object), Some(enabled)) = (object(&node.op), enable(&node.op)) else { continue };
        let value = Value(i as u32);
        let mut joins = |members: &[Value]| {
            members.iter().all(|member| {
                let other = enable(&design[*member].op).unwrap_or_default();
                // What two pipelines access is not at one place.
                let together = (value.index() < design.split) == (member.index() < design.split);
                together && !depends(design, value, *member) && exclusions.exclude(design, enabled, other)
            })
        };
        match groups.iter_mut().find(|(o, members)| *o == object && joins(members)) {
            Some((_, members)) => members.push(value),
            None => groups.push((object, vec![value])),
        }
    }
    groups.into_iter().map(|(_, members)| members).filter(|members| members.len() > 1).collect()
}

/// Which conditions of a design exclude each other. Operations may be added to the design meanwhile, and none changed.
pub(crate) struct Exclusions {
    shared: Conditions,
    /// The number of pairs that had diagrams of their own.
    pairs: usize,
}

impl Default for Exclusions {
    fn default() -> Exclusions {
        Exclusions { shared: Conditions::new(0, MAX_SHARED_NODES), pairs: 0 }
    }
}

impl Exclusions {
    /// Whether two conditions are never true together, as far as that can be found out.
    pub(crate) fn exclude(&mut self, design: &Design, a: Value, b: Value) -> bool {
        if let Some(found) = self.shared.exclude(design, a, b) {
            return found;
        }
        self.pairs += 1;
        let first = a.min(b).index();
        self.pairs <= MAX_PAIRS
            && DEPTHS.into_iter().any(|depth| {
                Conditions::new(first.saturating_sub(depth), MAX_NODES).exclude(design, a, b) == Some(true)
            })
    }
}

/// Whether a value is computed from another one.
fn depends(design: &Design, value: Value, on: Value) -> bool {
    let mut seen = vec![false; value.index() + 1];
    let mut work = vec![value];
    while let Some(at) = work.pop() {
        if at == on {
            return true;
        }
        for operand in design[at].op.operands() {
            if operand >= on && !std::mem::replace(&mut seen[operand.index()], true) {
                work.push(operand);
            }
        }
    }
    false
}

struct Merger<'a> {
    old: &'a Design,
    b: Builder,
    places: Vec<Option<Value>>,
    group_of: HashMap<Value, Vec<Value>>,
}

impl Merger<'_> {
    /// The new value of an old one, which is built if it does not exist.
    fn place(&mut self, value: Value) -> Value {
        if let Some(place) = self.places[value.index()] {
            return place;
        }
        let members = self.group_of.get(&value).cloned().unwrap_or_else(|| vec![value]);
        let old = self.old;
        for member in &members {
            old[*member].op.operands().into_iter().for_each(|operand| {
                self.place(operand);
            });
        }
        // What was written before must not be read after.
        if let Op::RegisterRead { register, .. } = &old[value].op {
            for i in 0..value.index() {
                if matches!(&old.nodes[i].op, Op::RegisterWrite { register: r, .. } if r == register) {
                    self.place(Value(i as u32));
                }
            }
        }
        let Node { width, span, slot, .. } = old[members[0]];
        self.b.span = span;
        let op = self.merged(&members);
        let place = self.b.rebuild(op, width);
        self.b.hold(place, slot);
        for member in members {
            self.places[member.index()] = Some(place);
        }
        place
    }

    /// The operation that does what each of some does when it is enabled.
    fn merged(&mut self, members: &[Value]) -> Op {
        let places = &self.places;
        let mapped = |member: &Value| {
            let mut op = self.old[*member].op.clone();
            op.map_operands(|v| places[v.index()].unwrap_or_default());
            op
        };
        let mut ops: Vec<Op> = members.iter().map(mapped).collect();
        let mut all = ops.remove(0);
        for op in ops {
            let chosen = enable(&op).unwrap_or_default();
            let operands = op.operands();
            let before = all.operands();
            let mut new = Vec::new();
            for (at, (mine, other)) in before.iter().zip(&operands).enumerate() {
                new.push(if at == 0 { self.b.or(*mine, *other) } else { self.b.mux(chosen, *other, *mine) });
            }
            let mut new = new.into_iter();
            all.map_operands(|v| new.next().unwrap_or(v));
        }
        all
    }
}

/// The conditions of a design as decision diagrams over the values in front of some place, and over comparisons. Values that
/// exclude each other may look compatible, never the other way round.
struct Conditions {
    /// The first value that is looked into.
    first: usize,
    /// A variable and what follows if it is false, and if it is true. The first two are the constants.
    nodes: Vec<(u32, u32, u32)>,
    unique: HashMap<(u32, u32, u32), u32>,
    chosen: HashMap<(u32, u32, u32), u32>,
    known: HashMap<Value, u32>,
    /// Whether values are equal to constants.
    equal: HashMap<(Value, BigUint), u32>,
    /// The number of constants to which a value is compared.
    constants: HashMap<Value, u32>,
    /// The most nodes that there can be.
    most_nodes: usize,
}

impl Conditions {
    fn new(first: usize, most_nodes: usize) -> Conditions {
        Conditions {
            first,
            nodes: vec![(u32::MAX, 0, 0), (u32::MAX, 1, 1)],
            unique: HashMap::new(),
            chosen: HashMap::new(),
            known: HashMap::new(),
            equal: HashMap::new(),
            constants: HashMap::new(),
            most_nodes,
        }
    }

    /// Whether two conditions are never true together. `None` if the diagrams are too large.
    fn exclude(&mut self, design: &Design, a: Value, b: Value) -> Option<bool> {
        let (a, b) = (self.function(design, a)?, self.function(design, b)?);
        Some(self.choose(a, b, 0)? == 0)
    }

    fn function(&mut self, design: &Design, value: Value) -> Option<u32> {
        if let Some(known) = self.known.get(&value) {
            return Some(*known);
        }
        let node = &design[value];
        let boolean = |v: &Value| design[*v].width == 1;
        let function = match &node.op {
            Op::Const(bits) => u32::from(bits.bits() > 0),
            Op::Not(a) => {
                let a = self.function(design, *a)?;
                self.choose(a, 0, 1)?
            }
            Op::Binary(Binary::Eq, a, b) if matches!(design[*b].op, Op::Const(_)) => {
                let Op::Const(bits) = &design[*b].op else { unreachable!("just seen") };
                self.equals(design, *a, bits)?
            }
            _ if value.index() < self.first => self.unique((VARIABLES * value.0, 0, 1))?,
            Op::Binary(op @ (Binary::And | Binary::Or | Binary::Xor | Binary::Eq), a, b) if boolean(a) => {
                let (a, b) = (self.function(design, *a)?, self.function(design, *b)?);
                let not = self.choose(b, 0, 1)?;
                match op {
                    Binary::And => self.choose(a, b, 0)?,
                    Binary::Or => self.choose(a, 1, b)?,
                    Binary::Xor => self.choose(a, not, b)?,
                    _ => self.choose(a, b, not)?,
                }
            }
            Op::Mux { cond, then, otherwise } => {
                let (cond, then, otherwise) =
                    (self.function(design, *cond)?, self.function(design, *then)?, self.function(design, *otherwise)?);
                self.choose(cond, then, otherwise)?
            }
            _ => self.unique((VARIABLES * value.0, 0, 1))?,
        };
        self.known.insert(value, function);
        Some(function)
    }

    /// Whether a value is equal to a constant.
    fn equals(&mut self, design: &Design, value: Value, bits: &BigUint) -> Option<u32> {
        let key = (value, bits.clone());
        if let Some(known) = self.equal.get(&key) {
            return Some(*known);
        }
        let function = match &design[value].op {
            Op::Const(own) => u32::from(own == bits),
            Op::Mux { cond, then, otherwise } if value.index() >= self.first => {
                let cond = self.function(design, *cond)?;
                let (then, otherwise) = (self.equals(design, *then, bits)?, self.equals(design, *otherwise, bits)?);
                self.choose(cond, then, otherwise)?
            }
            Op::OneHot(cases) if value.index() >= self.first => {
                // Zero if no condition is true.
                let mut rest = u32::from(bits.bits() == 0);
                for (cond, case) in cases {
                    let (cond, case) = (self.function(design, *cond)?, self.equals(design, *case, bits)?);
                    rest = self.choose(cond, case, rest)?;
                }
                rest
            }
            _ => {
                // Near the value in the order of variables.
                let others = self.constants.entry(value).or_default();
                if *others == VARIABLES - 2 {
                    return None;
                }
                *others += 1;
                let variable = VARIABLES * value.0 + *others;
                self.unique((variable, 0, 1))?
            }
        };
        self.equal.insert(key, function);
        Some(function)
    }

    fn unique(&mut self, node: (u32, u32, u32)) -> Option<u32> {
        if let Some(known) = self.unique.get(&node) {
            return Some(*known);
        }
        if self.nodes.len() >= self.most_nodes {
            return None;
        }
        let at = self.nodes.len() as u32;
        self.nodes.push(node);
        self.unique.insert(node, at);
        Some(at)
    }

    /// `cond ? then : otherwise`.
    fn choose(&mut self, cond: u32, then: u32, otherwise: u32) -> Option<u32> {
        match (cond, then, otherwise) {
            (1, _, _) => return Some(then),
            (0, _, _) => return Some(otherwise),
            (_, 1, 0) => return Some(cond),
            _ if then == otherwise => return Some(then),
            _ => {}
        }
        let key = (cond, then, otherwise);
        if let Some(known) = self.chosen.get(&key) {
            return Some(*known);
        }
        let variable = [cond, then, otherwise].map(|f| self.nodes[f as usize].0).into_iter().min()?;
        let part = |this: &Self, f: u32, taken: bool| match this.nodes[f as usize] {
            (v, no, yes) if v == variable => {
                if taken {
                    yes
                } else {
                    no
                }
            }
            _ => f,
        };
        let branch = |this: &mut Self, taken: bool| {
            let (c, t, o) = (part(this, cond, taken), part(this, then, taken), part(this, otherwise, taken));
            this.choose(c, t, o)
        };
        let (no, yes) = (branch(self, false)?, branch(self, true)?);
        let function = if no == yes { no } else { self.unique((variable, no, yes))? };
        if self.chosen.len() >= CHOICES_PER_NODE * self.most_nodes {
            return None;
        }
        self.chosen.insert(key, function);
        Some(function)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hir::Input;

    /// Eight different conditions.
    fn conditions(b: &mut Builder) -> Vec<Value> {
        let port = b.input(Input::IngressPort);
        (0..8).map(|bit| b.slice(port, bit, bit)).collect()
    }

    #[test]
    fn conditions_exclude_each_other_or_do_not() {
        let mut b = Builder::default();
        let c = conditions(&mut b);
        let not = b.not(c[0]);
        let (one, other) = (b.and(c[0], c[1]), b.and(c[1], not));
        let chosen = b.mux(c[2], one, other);
        let rest = b.not(c[1]);
        let design = b.design;
        let mut exclusions = Exclusions::default();
        assert!(exclusions.exclude(&design, one, other));
        assert!(exclusions.exclude(&design, chosen, rest));
        assert!(!exclusions.exclude(&design, one, chosen));
    }

    #[test]
    fn accesses_that_exclude_each_other_are_merged() {
        let mut b = Builder::default();
        let c = conditions(&mut b);
        let port = b.input(Input::IngressPort);
        let not = b.not(c[0]);
        let counter = ExternId(0);
        b.effect(Op::Count { counter, enable: c[0], index: port }, 0);
        let zero = b.constant(0u32, 9);
        b.effect(Op::Count { counter, enable: not, index: zero }, 0);
        b.effect(Op::Count { counter, enable: c[1], index: zero }, 0);
        let mut design = b.design;
        merge(&mut design);
        let counts = design.nodes.iter().filter(|node| matches!(node.op, Op::Count { .. })).count();
        assert_eq!(counts, 2);
    }
}
