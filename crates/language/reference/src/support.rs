//! What a program uses that is not supported: found before it runs, so that nothing is evaluated wrongly.

use std::collections::BTreeSet;

use hopwright_sema::architecture::BlockRole;
use hopwright_sema::hir::{
    ActionRef, Call, Callee, Expr, ExprKind, ForRange, FunctionId, InstanceBody, InstanceId, Set, State as ParserState,
    Stmt, StmtKind, TableId, Transition, Type, TypedProgram,
};
use hopwright_source::Span;

use crate::blocks::params;
use crate::checksum::Algorithm;
use crate::externs::is_known;
use crate::objects::{Cells, is_tofino, member_name};
use crate::parser::is_constant;
use crate::state::State;
use crate::tofino_externs::{self, unsupported};
use crate::value::{member_types, width};

/// Architectures whose way of a packet is known.
const ARCHITECTURES: &[&str] = &["v1model", "psa", "pna", "tna", "t2na"];
const MATCH_KINDS: &[&str] = &[
    "exact",
    "lpm",
    "ternary",
    "range",
    "optional",
    "selector",
    "masked",
    "suffix",
    "atcam_partition_index",
    "dleft_hash",
];

/// Follows all code that the package's blocks reach. Returns what is not supported and where it is.
pub(crate) fn check(program: &TypedProgram, state: &mut State) -> Vec<(String, Span)> {
    let mut walk = Walk { program, state, found: Vec::new(), seen: BTreeSet::new(), reads_prefix: false };
    match program.architecture() {
        Some(architecture) if ARCHITECTURES.contains(&architecture.name) => {}
        _ => {
            let package = &program.main.type_name;
            return vec![(format!("the package `{package}`"), program.main.span)];
        }
    }
    for object in &program.objects {
        if let Some(what) = is_tofino(program).then(|| unsupported(program, object)).flatten() {
            walk.refuse(what, object.span);
        } else if Cells::new(program, object).is_none() || object.type_name == "AesCmacRoundKeys" {
            walk.refuse(format!("the extern `{}`", object.type_name), object.span);
        }
    }
    let blocks = program.architecture().map_or(&[][..], |a| a.blocks);
    for (at, (_, block)) in program.main.blocks.iter().enumerate() {
        // Each block is followed anew, because pipes may share some.
        walk.seen.clear();
        walk.reads_prefix = false;
        walk.instance(*block);
        if blocks.get(at % blocks.len()).is_some_and(|b| b.role == BlockRole::EgressParser) && !walk.reads_prefix {
            walk.state.egress_begins_behind.insert(at / blocks.len());
        }
    }
    program.main.ghosts.iter().for_each(|(_, id)| walk.instance(*id));
    walk.found
}

/// What has been followed already.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Instance(InstanceId),
    Function(FunctionId),
    Table(TableId),
}

struct Walk<'a> {
    program: &'a TypedProgram,
    state: &'a mut State,
    found: Vec<(String, Span)>,
    seen: BTreeSet<Seen>,
    /// Whether a parser extracts `egress_intrinsic_metadata_t`, or skips something.
    reads_prefix: bool,
}

impl Walk<'_> {
    fn refuse(&mut self, what: impl Into<String>, span: Span) {
        let refusal = (what.into(), span);
        if !self.found.contains(&refusal) {
            self.found.push(refusal);
        }
    }

    fn instance(&mut self, id: InstanceId) {
        if !self.seen.insert(Seen::Instance(id)) {
            return;
        }
        let instance = &self.program[id];
        self.stmts(&instance.locals);
        match &instance.body {
            InstanceBody::Control(body) => self.stmts(body),
            InstanceBody::Parser(states) => states.iter().for_each(|s| self.state(s)),
        }
    }

    fn state(&mut self, state: &ParserState) {
        self.stmts(&state.body);
        let Transition::Select { keys, cases, .. } = &state.transition else { return };
        keys.iter().for_each(|e| self.expr(e));
        for set in cases.iter().flat_map(|c| &c.sets) {
            match set {
                Set::Value(a) => self.expr(a),
                Set::Mask(a, b) | Set::Range(a, b) => [a, b].into_iter().for_each(|e| self.expr(e)),
                Set::Any | Set::ValueSet(_) => {}
            }
        }
    }

    fn function(&mut self, id: FunctionId) {
        if self.seen.insert(Seen::Function(id)) {
            self.stmts(&self.program[id].body);
        }
    }

    fn table(&mut self, id: TableId) {
        if !self.seen.insert(Seen::Table(id)) {
            return;
        }
        let table = &self.program[id];
        for key in &table.keys {
            self.expr(&key.expr);
            if !MATCH_KINDS.contains(&key.match_kind.as_str()) {
                self.refuse(format!("the match kind `{}`", key.match_kind), key.expr.span);
            }
        }
        if let Some((name, _)) = table.properties.iter().find(|(name, _)| name.ends_with("_empty_group_action")) {
            self.refuse(format!("the table property `{name}`"), table.span);
        }
        let actions = table.actions.iter().map(|a| &a.action).chain([&table.default_action]);
        actions.for_each(|a| self.action(a));
    }

    fn action(&mut self, action: &ActionRef) {
        action.args.iter().flatten().for_each(|e| self.expr(e));
        self.function(action.function);
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare(_, value) | StmtKind::Return(value) => value.iter().for_each(|e| self.expr(e)),
            StmtKind::Assign(to, value) => [to, value].into_iter().for_each(|e| self.expr(e)),
            StmtKind::Call(call) => self.call(call),
            StmtKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.stmts(then);
                self.stmts(otherwise);
            }
            StmtKind::SwitchTable(table, cases) => {
                self.table(*table);
                cases.iter().for_each(|(_, body)| self.stmts(body));
            }
            StmtKind::SwitchValue(value, cases) => {
                self.expr(value);
                cases.iter().for_each(|(_, body)| self.stmts(body));
            }
            StmtKind::Block(body) => self.stmts(body),
            StmtKind::For { init, cond, update, body } => {
                self.expr(cond);
                [init, update, body].into_iter().for_each(|stmts| self.stmts(stmts));
            }
            StmtKind::ForIn { over, body, .. } => {
                match over {
                    ForRange::Range(low, high) => [low, high].into_iter().for_each(|e| self.expr(e)),
                    ForRange::Elements(list) => self.expr(list),
                }
                self.stmts(body);
            }
            StmtKind::Break | StmtKind::Continue | StmtKind::Exit => {}
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &e.kind {
            ExprKind::Call(call) => self.call(call),
            ExprKind::TableHit(table, _) => self.table(*table),
            ExprKind::Field(of, member) => {
                if let Type::Struct(id) = of.ty
                    && self.program[id].name == "ingress_intrinsic_metadata_from_parser_t"
                    && self.program[id].fields[*member].name == "parser_err"
                {
                    self.state.reads_parser_error = true;
                }
                self.expr(of);
            }
            _ => e.parts().into_iter().for_each(|part| self.expr(part)),
        }
    }

    fn call(&mut self, call: &Call) {
        let arg = |at: usize| call.args.get(at).and_then(|a| a.value.as_ref());
        call.args.iter().filter_map(|a| a.value.as_ref()).for_each(|e| self.expr(e));
        match &call.callee {
            Callee::Function(id) => self.function(*id),
            Callee::Instance(id) => self.instance(*id),
            Callee::Table(id) => self.table(*id),
            Callee::Builtin(receiver, _) => self.expr(receiver),
            Callee::Packet(method) if method == "extract" || method == "emit" => {
                let ty = arg(0).map(|e| &e.ty).or(call.type_args.first());
                if let Some(Type::Header(id)) = ty {
                    self.reads_prefix |= self.program[*id].name == "egress_intrinsic_metadata_t";
                }
                if let Some(ty) = ty.filter(|ty| !takes_whole_bytes(self.program, ty)) {
                    let name = if let Type::Header(id) = ty { &self.program[*id].name } else { "" };
                    self.refuse(format!("the header `{name}`, which is not whole bytes"), call.span);
                }
            }
            Callee::Packet(method) => self.reads_prefix |= method == "advance",
            Callee::ExternFunction(name) => self.extern_function(name, call, &arg),
            Callee::Method(object, name) => {
                let type_name = &self.program[*object].type_name;
                if type_name == "Digest" {
                    self.digest(arg(0).map(|e| &e.ty), call.span);
                }
                let methods = self.program[*object].methods.iter();
                methods.for_each(|(_, function)| self.function(*function));
                let colored = !is_tofino(self.program)
                    && matches!((type_name.as_str(), call.args.len()), ("Meter", 2) | ("DirectMeter", 1));
                if colored && name == "execute" {
                    let color = call.args.last().and_then(|a| a.value.as_ref());
                    if color.and_then(|e| member_name(self.program, e)).as_deref() != Some("GREEN") {
                        self.refuse("a meter that is aware of colours", call.span);
                    }
                }
                let given = call.args.iter().filter(|a| a.value.is_some()).count();
                let adjusted = name == "count"
                    && given > usize::from(type_name == "Counter")
                    && matches!(type_name.as_str(), "Counter" | "DirectCounter")
                    && !is_tofino(self.program);
                if name.starts_with("dpdk_") || adjusted {
                    self.refuse(format!("`{type_name}.{name}` with these arguments"), call.span);
                }
            }
            Callee::ParameterMethod(..) => {}
        }
    }

    fn extern_function<'e>(&mut self, name: &str, call: &Call, arg: &dyn Fn(usize) -> Option<&'e Expr>) {
        let word = |at: usize| arg(at).and_then(|e| member_name(self.program, e));
        let known = |at: usize| word(at).is_some_and(|name| Algorithm::by_name(&name).is_some());
        match name {
            "hash" if !known(1) => self.refuse("this hash algorithm", call.span),
            "verify_checksum" | "verify_checksum_with_payload" | "update_checksum" | "update_checksum_with_payload"
                if !known(3) =>
            {
                self.refuse("this hash algorithm", call.span);
            }
            "clone" | "clone3" | "clone_preserving_field_list" if word(0).is_none() => {
                self.refuse("a clone type that is not known at compile time", call.span);
            }
            "digest" => self.digest(call.type_args.first().or(arg(1).map(|e| &e.ty)), call.span),
            "clone3" => self.kept(arg(2), call.span),
            "resubmit" | "recirculate" => self.kept(arg(0), call.span),
            _ if is_known(name) => {}
            _ if is_tofino(self.program) && tofino_externs::FUNCTIONS.contains(&name) => {}
            _ => self.refuse(format!("the extern function `{name}`"), call.span),
        }
    }

    /// The data of a deprecated resubmit, recirculate or clone: parts of the parameters of blocks.
    fn kept(&mut self, data: Option<&Expr>, span: Span) {
        let stored = params(self.program, 0);
        if !data.is_none_or(|e| is_kept(e, &|var| stored.iter().any(|(_, param)| *param == var))) {
            self.refuse("a list of fields that are no parts of the block's parameters", span);
        }
    }

    /// Digests whose data have no named type have numbers by the order of their calls.
    fn digest(&mut self, ty: Option<&Type>, span: Span) {
        match ty {
            Some(Type::Struct(id) | Type::Header(id) | Type::Union(id)) if self.program[*id].span != Span::none() => {}
            _ => {
                self.state.nameless_digest(span);
            }
        }
    }
}

/// Whether all headers in a type have a size of whole bytes, apart from a `varbit`.
fn takes_whole_bytes(program: &TypedProgram, ty: &Type) -> bool {
    match ty {
        Type::Header(_) => width(program, ty).is_multiple_of(8),
        _ => member_types(program, ty).iter().all(|ty| takes_whole_bytes(program, ty)),
    }
}

fn is_kept(e: &Expr, stored: &dyn Fn(hopwright_sema::hir::VarId) -> bool) -> bool {
    match &e.kind {
        ExprKind::Aggregate { members, .. } => members.iter().all(|m| is_kept(m, stored)),
        ExprKind::Field(of, _) => is_kept(of, stored),
        ExprKind::Index(of, index) => is_constant(index) && is_kept(of, stored),
        ExprKind::Var(var) => stored(*var),
        _ => is_constant(e),
    }
}
