//! Edits that do what the help of a warning says. There is one only where nothing is left to decide, and the program means the same behind it.
//!
//! An edit is made of the program's own text. Where text comes from a macro, operands and operators are not beside each other, and there is
//! no edit.

use hopwright_sema::hir::{
    BinaryOp, Callee, Expr, ExprKind, ForRange, InstanceBody, Stmt, StmtKind, Table, TableKey, Type, VarId,
};
use hopwright_source::Span;

use super::Lint;
use crate::visit::{self, Seen};

/// The most turns of a loop that are written one after the other.
const MOST_TURNS: u32 = 16;

/// What is replaced, and by what.
pub(super) type Edit = (Span, String);

impl Lint<'_, '_> {
    fn text(&self, span: Span) -> &str {
        self.sources.snippet(span)
    }

    /// The text between two places.
    fn between(&self, a: Span, b: Span) -> &str {
        if a.file == b.file && a.end <= b.start { self.text(Span { start: a.end, end: b.start, ..a }) } else { "" }
    }

    /// A division by a power of two is a shift, and its remainder a mask.
    pub(super) fn without_division(&self, op: BinaryOp, e: &Expr, a: &Expr, b: &Expr) -> Option<Edit> {
        let (ExprKind::Int(divisor), Type::Bits(_)) = (&b.kind, &a.ty) else { return None };
        let divisor = divisor.to_biguint().filter(|n| n.count_ones() == 1)?;
        let symbol = if op == BinaryOp::Div { "/" } else { "%" };
        let whole = self.text(e.span);
        let whole = whole.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(whole).trim();
        let left = self.text(a.span);
        if self.between(a.span, b.span).trim() != symbol || whole != self.text(a.span.to(b.span)) {
            return None;
        }
        let new = match op {
            BinaryOp::Div => format!("({left} >> {})", divisor.trailing_zeros().unwrap_or(0)),
            _ => format!("({left} & {})", divisor - 1u32),
        };
        Some((e.span, new))
    }

    /// `packet.length()` in a parser of v1model that has the standard metadata.
    pub(super) fn packet_length(&self, call: Span) -> Option<Edit> {
        let program = self.program;
        let calls = |body: &[Stmt]| {
            let mut found = false;
            visit::stmts(body, &mut |seen| {
                found |= matches!(seen, Seen::Call(c) if c.span == call && matches!(c.callee, Callee::Packet(_)));
            });
            found
        };
        let parser = program.instances.iter().find(|instance| match &instance.body {
            InstanceBody::Parser(states) => states.iter().any(|state| calls(&state.body)),
            InstanceBody::Control(_) => false,
        })?;
        let is_standard = |ty: &Type| matches!(ty, Type::Struct(id) if program[*id].name == "standard_metadata_t");
        let standard = parser.params.iter().map(|param| &program[param.var]).find(|var| is_standard(&var.ty))?;
        self.text(call).ends_with(')').then(|| (call, format!("{}.packet_length", standard.name)))
    }

    /// Another match kind for a key.
    pub(super) fn match_kind(&self, key: &TableKey, new: &str) -> Option<Edit> {
        (self.text(key.match_span) == key.match_kind).then(|| (key.match_span, new.to_string()))
    }

    /// `ternary` for the only `lpm` key of a table. Entries of the program would need an order.
    pub(super) fn ternary_for_lpm(&self, table: &Table) -> Option<Edit> {
        let key = table.keys.iter().find(|key| key.match_kind == "lpm").filter(|_| table.entries.is_empty())?;
        self.match_kind(key, "ternary")
    }

    /// The turns of a loop over few numbers, one after the other.
    pub(super) fn without_loop(&self, stmt: &Stmt) -> Option<Edit> {
        let StmtKind::ForIn { var, over: ForRange::Range(from, to), body } = &stmt.kind else { return None };
        let (ExprKind::Int(first), ExprKind::Int(last)) = (&from.kind, &to.kind) else { return None };
        let turns = u32::try_from(&(last - first)).ok()? + 1;
        if turns > MOST_TURNS || leaves_or_sets(body, *var) {
            return None;
        }
        let name = self.program[*var].span;
        let head = self.text(Span { end: name.start, ..stmt.span }).strip_prefix("for")?.trim_start();
        let ty = head.strip_prefix('(')?.trim();
        let rest = self.text(Span { start: to.span.end, ..stmt.span }).trim_start().strip_prefix(')')?.trim();
        let from_text = self.between(name, from.span).trim();
        if ty.is_empty() || from_text != "in" || !rest.ends_with(['}', ';']) {
            return None;
        }
        let mut text = String::new();
        let mut number = first.clone();
        while number <= *last {
            if !text.is_empty() {
                text.push('\n');
            }
            text += &format!("{{ const {ty} {} = {number}; {rest} }}", self.text(name));
            number += 1;
        }
        Some((stmt.span, text))
    }
}

/// Whether the body of a loop ends turns early, or sets the loop's variable.
fn leaves_or_sets(body: &[Stmt], var: VarId) -> bool {
    fn writes(target: &Expr, var: VarId) -> bool {
        match &target.kind {
            ExprKind::Var(written) => *written == var,
            ExprKind::Slice(inner, ..) => writes(inner, var),
            _ => false,
        }
    }
    let mut found = false;
    visit::stmts(body, &mut |seen| match seen {
        Seen::Stmt(Stmt { kind: StmtKind::Break | StmtKind::Continue, .. }) => found = true,
        Seen::Stmt(Stmt { kind: StmtKind::Assign(target, _), .. }) => found |= writes(target, var),
        Seen::Call(call) => {
            let out = |e: &Expr, input: bool| !input && writes(e, var);
            found |= call.args.iter().any(|arg| {
                let input =
                    matches!(arg.direction, hopwright_sema::hir::Direction::In | hopwright_sema::hir::Direction::None);
                arg.value.as_ref().is_some_and(|e| out(e, input))
            });
        }
        _ => {}
    });
    found
}
