//! The invariants of a design.

use hopwright_ir::Pipeline;

use super::{Binary, Design, LookupLayout, Node, Op, Value};
use crate::digest::DigestCall;

/// Checks a design.
///
/// # Errors
/// What is wrong, one line for each node.
pub fn verify(pipeline: &Pipeline, design: &Design) -> Result<(), Vec<String>> {
    let mut errors = Vec::new();
    for (i, node) in design.nodes.iter().enumerate() {
        if let Some(v) = node.op.operands().into_iter().find(|v| v.index() >= i) {
            errors.push(format!("v{i} uses v{} before it exists", v.0));
        } else if let Err(message) = check(pipeline, design, node) {
            errors.push(format!("v{i}: {message}"));
        }
        if i < design.split && matches!(node.op, Op::Input(input) if input.is_egress()) {
            errors.push(format!("v{i}: ingress has no such input"));
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
        if value.index() >= design.split || design[value].width != width {
            errors.push(format!("v{} is no result of ingress of {width} bits", value.0));
        }
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
        if value.index() >= design.nodes.len() || design[value].width != width {
            errors.push(format!("v{} is no result of egress of {width} bits", value.0));
        }
    }
    for edit in &egress.edits {
        if !design[edit.bits].width.is_multiple_of(8) {
            errors.push(format!("the edit v{} is no whole number of bytes", edit.bits.0));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn check(pipeline: &Pipeline, design: &Design, node: &Node) -> Result<(), String> {
    let width = |v: Value| design[v].width;
    let expect = |what: &str, found: u32, expected: u32| {
        if found == expected { Ok(()) } else { Err(format!("{what} has {found} bits, not {expected}")) }
    };
    match &node.op {
        Op::Const(bits) if !hopwright_ir::bits::fits(bits, node.width) => Err("the constant does not fit".into()),
        Op::Const(_) => Ok(()),
        Op::Input(input) => expect("the result", node.width, input.width()),
        Op::Not(a) => expect("the result", node.width, width(*a)),
        Op::Binary(op, a, b) => {
            let result = if matches!(op, Binary::Eq | Binary::Less | Binary::LessSigned) { 1 } else { width(*a) };
            if !matches!(op, Binary::Shl | Binary::Shr | Binary::ShrSigned) {
                expect("the second operand", width(*b), width(*a))?;
            }
            expect("the result", node.width, result)
        }
        Op::Mux { cond, then, otherwise } => {
            expect("the condition", width(*cond), 1)?;
            expect("the first choice", width(*then), node.width)?;
            expect("the second choice", width(*otherwise), node.width)
        }
        Op::OneHot(cases) => cases.iter().try_for_each(|(cond, value)| {
            expect("a condition", width(*cond), 1)?;
            expect("a choice", width(*value), node.width)
        }),
        Op::Slice { arg, lo } if lo + node.width > width(*arg) => Err("the slice reaches beyond its operand".into()),
        Op::Slice { .. } => Ok(()),
        Op::Concat(parts) => expect("the result", node.width, parts.iter().map(|p| width(*p)).sum()),
        Op::SignExtend(a) if width(*a) == 0 || width(*a) >= node.width => Err("nothing is extended".into()),
        Op::SignExtend(_) => Ok(()),
        Op::Ones(a) => expect("the result", node.width, u32::BITS - width(*a).leading_zeros()),
        Op::Window { offset, .. } | Op::Fetch { offset } => expect("the offset", width(*offset), 16),
        Op::Lookup { table, enable, keys } => {
            expect("the enable", width(*enable), 1)?;
            let widths = pipeline[*table].match_keys().map(|k| k.expr.ty.width());
            if !widths.eq(keys.iter().map(|k| width(*k))) {
                return Err("the keys are not those of the table".into());
            }
            expect("the result", node.width, LookupLayout::of(pipeline, *table).width())
        }
        Op::Destinations { of, number } => {
            expect("the number", width(*number), of.number_width())?;
            expect("the result", node.width, of.width())
        }
        Op::Color { lookup } => match design[*lookup].op {
            Op::Lookup { .. } => expect("the result", node.width, 2),
            _ => Err("its operand is no lookup".into()),
        },
        Op::Member { lookup, hit, place } => match design[*lookup].op {
            Op::Lookup { table, .. } => {
                let layout = LookupLayout::of(pipeline, table);
                expect("the hit", width(*hit), 1)?;
                expect("the place", width(*place), layout.list_bits)?;
                expect("the result", node.width, layout.chosen_width())
            }
            _ => Err("its first operand is no lookup".into()),
        },
        Op::InSet { set, keys } => {
            let widths = pipeline[*set].types.iter().map(|t| t.width());
            if !widths.eq(keys.iter().map(|k| width(*k))) {
                return Err("the keys are not those of the set".into());
            }
            expect("the result", node.width, 1)
        }
        Op::Count { enable, .. } => expect("the enable", width(*enable), 1),
        Op::Measure { enable, .. } => {
            expect("the enable", width(*enable), 1)?;
            expect("the result", node.width, 2)
        }
        Op::RegisterRead { .. } => Ok(()),
        Op::Random { enable } => {
            expect("the enable", width(*enable), 1)?;
            expect("the result", node.width, 64)
        }
        Op::Digest { enable, word, calls } => {
            expect("the enable", width(*enable), 1)?;
            expect("the word", width(*word), calls.iter().map(DigestCall::bits).sum())
        }
        Op::RegisterWrite { enable, .. } => expect("the enable", width(*enable), 1),
        Op::Hash(_, data) if !width(*data).is_multiple_of(8) => Err("the data are no whole number of bytes".into()),
        Op::Hash(..) => Ok(()),
        Op::Extern { enable, args, results, .. } => {
            expect("the enable", width(*enable), 1)?;
            expect("the result", node.width, results.iter().map(|r| width(args[*r])).sum())
        }
    }
}
