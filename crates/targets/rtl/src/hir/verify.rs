//! The invariants of a design.

use hopwright_ir::Pipeline;

use super::{Binary, Design, LookupLayout, Node, Op, Value};
use crate::digest::DigestCall;

/// A violated invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("v{}: {violation}", value.0)]
pub struct VerifyError {
    /// The value.
    pub value: Value,
    /// What is wrong with it.
    pub violation: Violation,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The operand is computed later.
    #[error("it uses v{} before it exists", .0.0)]
    Operand(Value),
    /// The result or an operand has another width than the operation needs.
    #[error("{what} has {found} bits, not {expected}")]
    Width {
        /// Which one.
        what: &'static str,
        /// Its width in bits.
        found: u32,
        /// That which the operation needs.
        expected: u32,
    },
    /// A constant has more bits than its width.
    #[error("the constant does not fit")]
    Constant,
    /// Ingress reads an input of egress.
    #[error("ingress has no such input")]
    Input,
    /// A slice has bits that its operand lacks.
    #[error("the slice reaches beyond its operand")]
    Slice,
    /// The result has no more bits than the operand.
    #[error("nothing is extended")]
    Extension,
    /// The keys of a lookup have other widths than those of the table or value set.
    #[error("the keys are not those of the table or set")]
    Keys,
    /// An operand must be a lookup.
    #[error("its operand is no lookup")]
    NoLookup,
    /// Data or an edit must be whole bytes.
    #[error("the data are no whole number of bytes")]
    Bytes,
    /// It must be a result of ingress, or of egress, of this width.
    #[error("it is no result of {bits} bits there")]
    Result {
        /// The width in bits.
        bits: u32,
    },
}

/// Checks a design.
///
/// # Errors
/// All violations.
pub fn verify(pipeline: &Pipeline, design: &Design) -> Result<(), Vec<VerifyError>> {
    let mut checker = Checker { pipeline, design, value: Value(0), errors: Vec::new() };
    for (i, node) in (0..).zip(&design.nodes) {
        checker.value = Value(i);
        match node.op.operands().into_iter().find(|v| v.0 >= i) {
            Some(late) => checker.error(Violation::Operand(late)),
            None => checker.check(node),
        }
        if checker.value.index() < design.split && matches!(node.op, Op::Input(input) if input.is_egress()) {
            checker.error(Violation::Input);
        }
    }
    let ingress = design.ingress;
    let results = [
        (ingress.parser_error, 16),
        (ingress.multicast_group, 16),
        (ingress.egress_spec, 9),
        (ingress.clone, 1),
        (ingress.session, 32),
        (ingress.fault, 1),
    ];
    for (value, width) in results {
        checker.result(value, design.split, width);
    }
    let egress = &design.egress;
    let results = [
        (egress.drop, 1),
        (egress.instance_type, 32),
        (egress.skip, 16),
        (egress.truncate, 1),
        (egress.truncate_length, 32),
        (egress.fault, 1),
    ];
    let enables = egress.emits.iter().map(|e| (e.enable, 1));
    let edits = egress.edits.iter().flat_map(|e| [(e.enable, 1), (e.offset, 16)]);
    for (value, width) in results.into_iter().chain(enables).chain(edits) {
        checker.result(value, design.nodes.len(), width);
    }
    for edit in &egress.edits {
        checker.value = edit.bits;
        checker.require(design[edit.bits].width.is_multiple_of(8), Violation::Bytes);
    }
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

struct Checker<'a> {
    pipeline: &'a Pipeline,
    design: &'a Design,
    /// What is being checked.
    value: Value,
    errors: Vec<VerifyError>,
}

impl Checker<'_> {
    fn error(&mut self, violation: Violation) {
        self.errors.push(VerifyError { value: self.value, violation });
    }

    fn require(&mut self, condition: bool, violation: Violation) {
        if !condition {
            self.error(violation);
        }
    }

    fn expect(&mut self, what: &'static str, found: u32, expected: u32) {
        self.require(found == expected, Violation::Width { what, found, expected });
    }

    /// Checks a result of the first `nodes` of the design.
    fn result(&mut self, value: Value, nodes: usize, bits: u32) {
        self.value = value;
        let is_there = value.index() < nodes && self.design[value].width == bits;
        self.require(is_there, Violation::Result { bits });
    }

    fn check(&mut self, node: &Node) {
        let (pipeline, design) = (self.pipeline, self.design);
        let width = |v: Value| design[v].width;
        match &node.op {
            Op::Const(bits) => self.require(hopwright_ir::bits::fits(bits, node.width), Violation::Constant),
            Op::Input(input) => self.expect("the result", node.width, input.width()),
            Op::Not(a) => self.expect("the result", node.width, width(*a)),
            Op::Binary(op, a, b) => {
                let result = if matches!(op, Binary::Eq | Binary::Less | Binary::LessSigned) { 1 } else { width(*a) };
                if !matches!(op, Binary::Shl | Binary::Shr | Binary::ShrSigned) {
                    self.expect("the second operand", width(*b), width(*a));
                }
                self.expect("the result", node.width, result);
            }
            Op::Mux { cond, then, otherwise } => {
                self.expect("the condition", width(*cond), 1);
                self.expect("the first choice", width(*then), node.width);
                self.expect("the second choice", width(*otherwise), node.width);
            }
            Op::OneHot(cases) => {
                for (cond, value) in cases {
                    self.expect("a condition", width(*cond), 1);
                    self.expect("a choice", width(*value), node.width);
                }
            }
            Op::Slice { arg, lo } => self.require(lo + node.width <= width(*arg), Violation::Slice),
            Op::Concat(parts) => self.expect("the result", node.width, parts.iter().map(|p| width(*p)).sum()),
            Op::SignExtend(a) => self.require((1..node.width).contains(&width(*a)), Violation::Extension),
            Op::Ones(a) => self.expect("the result", node.width, u32::BITS - width(*a).leading_zeros()),
            Op::Window { offset, .. } | Op::Fetch { offset } => self.expect("the offset", width(*offset), 16),
            Op::Lookup { table, enable, keys } => {
                self.expect("the enable", width(*enable), 1);
                let widths = pipeline[*table].match_keys().map(|k| k.expr.ty.width());
                self.require(widths.eq(keys.iter().map(|k| width(*k))), Violation::Keys);
                self.expect("the result", node.width, LookupLayout::of(pipeline, *table).width());
            }
            Op::Destinations { of, number } => {
                self.expect("the number", width(*number), of.number_width());
                self.expect("the result", node.width, of.width());
            }
            Op::Color { lookup } => {
                self.require(matches!(design[*lookup].op, Op::Lookup { .. }), Violation::NoLookup);
                self.expect("the result", node.width, 2);
            }
            Op::Member { lookup, hit, place } => {
                let Op::Lookup { table, .. } = design[*lookup].op else { return self.error(Violation::NoLookup) };
                let layout = LookupLayout::of(pipeline, table);
                self.expect("the hit", width(*hit), 1);
                self.expect("the place", width(*place), layout.list_bits);
                self.expect("the result", node.width, layout.chosen_width());
            }
            Op::InSet { set, keys } => {
                let widths = pipeline[*set].types.iter().map(|t| t.width());
                self.require(widths.eq(keys.iter().map(|k| width(*k))), Violation::Keys);
                self.expect("the result", node.width, 1);
            }
            Op::Count { enable, .. } | Op::RegisterWrite { enable, .. } => self.expect("the enable", width(*enable), 1),
            Op::Measure { enable, .. } => {
                self.expect("the enable", width(*enable), 1);
                self.expect("the result", node.width, 2);
            }
            Op::RegisterRead { .. } => {}
            Op::Random { enable } => {
                self.expect("the enable", width(*enable), 1);
                self.expect("the result", node.width, 64);
            }
            Op::Digest { enable, word, calls } => {
                self.expect("the enable", width(*enable), 1);
                self.expect("the word", width(*word), calls.iter().map(DigestCall::bits).sum());
            }
            Op::Hash(_, data) => self.require(width(*data).is_multiple_of(8), Violation::Bytes),
            Op::Extern { enable, args, results, .. } => {
                self.expect("the enable", width(*enable), 1);
                self.expect("the result", node.width, results.iter().map(|r| width(args[*r])).sum());
            }
        }
    }
}
