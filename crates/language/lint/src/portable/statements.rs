//! Arithmetic, types, parsers and loops.

use std::collections::HashSet;

use hopwright_sema::hir::{
    BinaryOp, Call, Callee, Expr, ExprKind, InstanceBody, Stmt, StmtKind, Struct, StructId, Transition, Type,
};

use super::{Lint, Target};
use crate::visit::{self, Seen};

/// The widest operands of a Tofino's arithmetic units: a pair of containers.
const ARITHMETIC_BITS: u32 = 64;
/// The bits that a Tofino's parser compares in one state.
const SELECT_BITS: u32 = 32;

impl Lint<'_, '_> {
    pub(super) fn statements(&mut self) {
        let program = self.program;
        let mut found: Vec<Seen<'_>> = Vec::new();
        visit::program(program, &mut |seen| found.push(seen));
        for seen in found {
            match seen {
                Seen::Expr(e) => self.expression(e),
                Seen::Stmt(stmt) => self.statement(stmt),
                Seen::Call(call) => self.packet_call(call),
                Seen::Set(_) => {}
            }
        }
        for instance in &program.instances {
            let InstanceBody::Parser(states) = &instance.body else { continue };
            for state in states {
                self.select(&state.transition);
            }
        }
    }

    fn expression(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Binary(op, a, b) if self.target == Target::Tofino => self.arithmetic(*op, e, a, b),
            ExprKind::Index(stack, index)
                if !matches!(index.kind, ExprKind::Int(_))
                    && matches!(stack.ty, Type::Stack(..))
                    && self.target != Target::Bmv2 =>
            {
                let why = "the place of a header in the packet header vector is known when the program is compiled";
                let instead = "compare the index, and use each element by its number";
                self.say("W0050", e.span, "an element of a stack is chosen at run time", why, instead);
            }
            _ => {}
        }
    }

    fn arithmetic(&mut self, op: BinaryOp, e: &Expr, a: &Expr, b: &Expr) {
        let width = self.width(&a.ty);
        let constant = |e: &Expr| matches!(e.kind, ExprKind::Int(_));
        match op {
            BinaryOp::Div | BinaryOp::Mod => {
                let why = "its arithmetic units add, subtract, compare and shift";
                let instead = "shift by a power of two, or let a table or a `MathUnit` approximate it";
                let fix = self.without_division(op, e, a, b);
                self.say_with_fix("W0042", (e.span, fix), "a division", why, instead);
            }
            BinaryOp::Mul if !(constant(a) || constant(b)) => {
                let why = "its arithmetic units add, subtract, compare and shift";
                let instead = "add up what shifts yield, let a table multiply, or a `MathUnit` of a register action";
                self.say("W0042", e.span, "a product of two values", why, instead);
            }
            BinaryOp::Shl | BinaryOp::Shr if !constant(b) => {
                let why = "an instruction shifts by a constant";
                let instead = "a table with the distance as its key, and an action for each distance";
                self.say("W0042", e.span, "a shift by a distance that is known at run time only", why, instead);
            }
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::SatAdd
            | BinaryOp::SatSub
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
                if width.is_some_and(|width| width > ARITHMETIC_BITS) =>
            {
                let why = "operands have at most 64 bits, a pair of containers";
                let what = format!("arithmetic on {} bits", width.unwrap_or_default());
                self.say("W0042", e.span, &what, why, "compute the halves one by one, with the carry between them");
            }
            _ => {}
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        if matches!(stmt.kind, StmtKind::For { .. } | StmtKind::ForIn { .. }) {
            let why = "pipelines have no loops; compilers unroll those with constant bounds, and older ones have none";
            let instead = "write the statements one after the other, or recirculate the packet";
            self.say_with_fix("W0050", (stmt.span, self.without_loop(stmt)), "a loop", why, instead);
        }
    }

    /// Distances and sizes in parsers.
    fn packet_call(&mut self, call: &Call) {
        let Callee::Packet(method) = &call.callee else { return };
        let first = call.args.first().and_then(|a| a.value.as_ref());
        let second = call.args.get(1).and_then(|a| a.value.as_ref());
        let computed = |e: Option<&Expr>| e.is_some_and(|e| !matches!(e.kind, ExprKind::Int(_)));
        match (self.target, method.as_str()) {
            (Target::Tofino, "advance") if computed(first) => {
                let why = "a state of its parser moves by a constant";
                let instead = "a state for each distance, or a `ParserCounter` and states that move by a word";
                self.say("W0044", call.span, "`advance` by a distance that is known at run time only", why, instead);
            }
            (Target::Tofino, "length") => {
                let why = "its parser does not know the packet's length";
                self.say("W0044", call.span, "`length` of the packet", why, "read `pkt_length` in egress");
            }
            (Target::Tofino, "extract") if second.is_some() => {
                let why = "its compiler unrolls the lengths: at most one `varbit` in a state, of whole bytes";
                let instead = "a header stack of words and a `ParserCounter`, or a header for each length";
                self.say("W0044", call.span, "a header of variable length is extracted", why, instead);
            }
            (Target::Bmv2, "length") => {
                let why = "p4c's backend for BMv2 does not have it";
                let fix = self.packet_length(call.span);
                let instead = "read `standard_metadata.packet_length`";
                self.say_with_fix("W0044", (call.span, fix), "`length` of the packet", why, instead);
            }
            _ => {}
        }
    }

    fn select(&mut self, transition: &Transition) {
        let Transition::Select { keys, span, .. } = transition else { return };
        let bits: u32 = keys.iter().filter_map(|key| self.width(&key.ty)).sum();
        if self.target == Target::Tofino && bits > SELECT_BITS {
            let why = "its parser compares 32 bits in a state";
            let instead = "decide in several states, or by a table in the control";
            self.say("W0044", *span, &format!("a `select` of {bits} bits"), why, instead);
        }
    }

    pub(super) fn types(&mut self) {
        let program = self.program;
        let mut headers = HashSet::new();
        for field in program.structs.iter().flat_map(|it| &it.fields) {
            match &field.ty {
                Type::Header(id) => drop(headers.insert(*id)),
                Type::Stack(of, _) => {
                    if let Type::Header(id) = **of {
                        headers.insert(id);
                    }
                }
                _ => {}
            }
        }
        for (id, it) in (0..).map(StructId).zip(&program.structs) {
            self.structure(it, headers.contains(&id));
        }
    }

    fn structure(&mut self, it: &Struct, is_header: bool) {
        for field in &it.fields {
            match &field.ty {
                Type::Union(_) if self.target == Target::Tofino => {
                    let instead = "the headers one by one; its parser makes the one valid that it extracts";
                    self.say("W0043", field.span, "a header union", "its compiler has none", instead);
                }
                Type::Varbit(_) if self.target == Target::Tofino => {
                    let why = "a `varbit` may be extracted and emitted; its bits cannot be read, compared or assigned";
                    let instead = "a header for each length, or a stack of words";
                    self.say("W0043", field.span, "a field of variable length", why, instead);
                }
                _ => {}
            }
        }
        let bits: Option<u32> = it.fields.iter().map(|f| self.width(&f.ty)).sum();
        if is_header && self.target != Target::Psa && bits.is_some_and(|bits| !bits.is_multiple_of(8)) {
            let what = format!("the header `{}` has {} bits", it.name, bits.unwrap_or_default());
            self.say(
                "W0043",
                it.span,
                &what,
                "headers consist of whole bytes",
                "fill it up with a field that nobody reads",
            );
        }
    }
}
