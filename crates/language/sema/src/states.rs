//! Parser states, transitions, `select`, and key sets (of selects and table entries).

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::entity::Entity;
use crate::hir::{self, Set, StateRef, Transition};
use crate::types::Ty;
use crate::value::{Typed, Value};

/// The states of a parser by name.
type States = HashMap<Arc<str>, (StateRef, Span)>;

impl<'a> Analyser<'a> {
    /// The states of a parser whose parameters and locals are in scope.
    pub(crate) fn states(&mut self, decl: &'a ast::ParserDecl) -> Vec<hir::State> {
        let mut names: States = HashMap::new();
        for (i, s) in decl.states.iter().enumerate() {
            let name = s.name.as_str();
            if name == "accept" || name == "reject" {
                self.error("E0201", s.name.span, format!("`{name}` is a state of every parser"), "choose another name");
                continue;
            }
            if let Some((_, first)) = names.get(&s.name.name) {
                let first = *first;
                self.duplicate(name, s.name.span, first);
                continue;
            }
            if let Some(local) = self.scopes.last().and_then(|scope| scope.symbols.get(&s.name.name)) {
                let first = local.span;
                self.duplicate(name, s.name.span, first);
            }
            names.insert(s.name.name.clone(), (StateRef::State(i), s.name.span));
        }
        if !names.contains_key("start") {
            let name = &decl.sig.name;
            self.error(
                "E0207",
                name.span,
                format!("parser `{name}` has no state `start`"),
                "parsing begins in `start`",
            );
        }
        let states: Vec<hir::State> = decl
            .states
            .iter()
            .map(|s| {
                self.scoped(|a| {
                    let body = a.stmts(&s.stmts);
                    if s.transition.is_none() {
                        let end = Span { start: s.span.end.saturating_sub(1), ..s.span };
                        a.report(
                            Diagnostic::warning("W0029", format!("state `{}` has no transition", s.name))
                                .at(s.name.span, "ends in `reject`: the packet is dropped")
                                .help("write `transition accept;` or the name of the next state")
                                .suggest(end, "}", "transition accept; }"),
                        );
                    }
                    let transition = a.transition(s.transition.as_ref(), &names);
                    hir::State { name: s.name.to_string(), body, transition, span: s.span }
                })
            })
            .collect();
        if let Some((StateRef::State(start), _)) = names.get("start")
            && !ends(&states, *start)
        {
            let name = &decl.sig.name;
            self.error(
                "E0318",
                name.span,
                format!("parser `{name}` never ends"),
                "no way leads from `start` to `accept` or `reject`",
            );
        }
        states
    }

    fn state_ref(&mut self, name: &ast::Ident, names: &States) -> StateRef {
        match name.as_str() {
            "accept" => return StateRef::Accept,
            "reject" => return StateRef::Reject,
            _ => {}
        }
        if let Some((s, declaration)) = names.get(&name.name) {
            self.index_use(name.span, *declaration);
            return *s;
        }
        let mut d = Diagnostic::error("E0206", format!("there is no state `{name}`"))
            .at(name.span, "no such state in this parser");
        let known = names.keys().map(|n| &**n).chain(["accept", "reject"]);
        if let Some(near) = nearest(name.as_str(), known) {
            d = d.did_you_mean(name.span, name.as_str(), near);
        }
        self.report(d);
        StateRef::Reject
    }

    fn transition(&mut self, t: Option<&'a ast::Transition>, names: &States) -> Transition {
        match t {
            None => Transition::Goto(StateRef::Reject),
            Some(ast::Transition::Direct(name)) => Transition::Goto(self.state_ref(name, names)),
            Some(ast::Transition::Select(select)) => self.select(select, names),
        }
    }

    fn select(&mut self, select: &'a ast::SelectExpr, names: &States) -> Transition {
        let mut keys = Vec::new();
        let mut types = Vec::new();
        for e in &select.exprs {
            let t = self.expr(e, None);
            let ok = self.selectable(&t.ty);
            if !ok {
                let shown = self.show(&t.ty);
                self.error(
                    "E0315",
                    e.span,
                    format!("`select` cannot look at a `{shown}`"),
                    "only numbers with a width, booleans, enums, errors, and tuples and structs of these",
                );
            }
            types.push(if ok { keyed(&t.ty) } else { Ty::Err });
            keys.push(t.hir);
        }
        // A single tuple is equivalent to its members.
        if let [only] = types.as_slice()
            && let Some(members) = self.members(only)
        {
            types = members;
        }
        let mut cases = Vec::new();
        let mut default: Option<Span> = None;
        for c in &select.cases {
            let target = self.state_ref(&c.state, names);
            let Some(sets) = self.keyset(&c.keyset, &types, false) else {
                continue;
            };
            if let Some(first) = default {
                self.report(
                    Diagnostic::warning("W0006", "this case is never taken")
                        .at(c.span, "unreachable")
                        .related(first, "everything is matched here"),
                );
            } else if sets.iter().all(|s| matches!(s, Set::Any)) {
                default = Some(c.span);
            }
            cases.push(hir::SelectCase { sets, target, span: c.span });
        }
        Transition::Select { keys, cases, span: select.span }
    }

    /// A key set for keys of the given types. `None` after an error.
    pub(crate) fn keyset(&mut self, keyset: &'a ast::Keyset, types: &[Ty], constant: bool) -> Option<Vec<Set>> {
        if let [item] = keyset.items.as_slice()
            && (!keyset.is_tuple || types.len() == 1)
        {
            if matches!(item.kind, ast::ExprKind::DontCare | ast::ExprKind::Default) {
                return Some(vec![Set::Any; types.iter().map(|t| self.flat(t).len()).sum()]);
            }
            if let ast::ExprKind::Path(path) = &item.kind
                && let Some(symbol) = self.lookup(path.name.as_str(), path.leading_dot)
                && let Entity::ValueSet(id, ty) = symbol.entity.clone()
            {
                let declaration = symbol.span;
                self.index_use(path.name.span, declaration);
                return self.value_set_case(id, &ty, types, item.span);
            }
            if types.len() != 1 {
                return self.tuple_keyset(item, types, constant, keyset.span);
            }
            if let ast::ExprKind::List(items) = &item.kind
                && let [inner] = items.as_slice()
            {
                let mut sets = Vec::new();
                self.sets(inner, &types[0], constant, &mut sets)?;
                return Some(sets);
            }
        }
        if keyset.items.len() != types.len() {
            self.error(
                "E0313",
                keyset.span,
                format!("{} keys need as many sets, {} given", types.len(), keyset.items.len()),
                "wrong number of sets",
            );
            return None;
        }
        let mut sets = Vec::new();
        let mut bad = false;
        for (item, ty) in keyset.items.iter().zip(types) {
            bad |= self.sets(item, ty, constant, &mut sets).is_none();
        }
        (!bad).then_some(sets)
    }

    /// The sets for one key: as many as it has scalars.
    fn sets(&mut self, item: &'a ast::Expr, ty: &Ty, constant: bool, out: &mut Vec<Set>) -> Option<()> {
        let Some(members) = self.members(ty) else {
            out.push(self.set(item, ty, constant)?);
            return Some(());
        };
        match &item.kind {
            ast::ExprKind::DontCare | ast::ExprKind::Default => {
                out.extend(self.flat(ty).iter().map(|_| Set::Any));
            }
            ast::ExprKind::List(items) if items.len() == members.len() => {
                for (item, ty) in items.iter().zip(&members) {
                    self.sets(item, ty, constant, out)?;
                }
            }
            _ => {
                let value = self.set_value(item, &self.defs.strip_newtype(ty), constant)?;
                self.member_sets(&value.hir, ty, out);
            }
        }
        Some(())
    }

    /// The sets that have just the scalars of a value.
    fn member_sets(&mut self, value: &hir::Expr, ty: &Ty, out: &mut Vec<Set>) {
        let Some(members) = self.members(ty) else { return out.push(Set::Value(value.clone())) };
        for (i, ty) in members.iter().enumerate() {
            let kind = hir::ExprKind::Field(Box::new(value.clone()), i);
            let member = hir::Expr { kind, ty: self.hir_ty(ty), span: value.span };
            self.member_sets(&member, ty, out);
        }
    }

    /// The types that `select` accepts.
    fn selectable(&self, ty: &Ty) -> bool {
        match self.members(ty) {
            Some(members) => members.iter().all(|t| self.selectable(t)),
            None => matches!(
                self.defs.strip_newtype(ty),
                Ty::Err | Ty::Bits(_) | Ty::Int(_) | Ty::Bool | Ty::Enum(_) | Ty::Error | Ty::Param(_)
            ),
        }
    }

    /// The types of a tuple's or struct's members.
    fn members(&self, ty: &Ty) -> Option<Vec<Ty>> {
        let inner = self.defs.strip_newtype(ty);
        let nested = matches!(inner, Ty::ListLit(_) | Ty::StructLit(_) | Ty::Tuple(_))
            || self.defs.struct_kind(&inner) == Some(ast::StructKind::Struct);
        nested.then(|| self.member_types(&inner, 0))
    }

    /// One expression for several keys: a tuple or struct.
    fn tuple_keyset(&mut self, item: &'a ast::Expr, types: &[Ty], constant: bool, span: Span) -> Option<Vec<Set>> {
        if let ast::ExprKind::List(items) = &item.kind
            && items.len() == types.len()
        {
            let mut sets = Vec::new();
            for (i, ty) in items.iter().zip(types) {
                self.sets(i, ty, constant, &mut sets)?;
            }
            return Some(sets);
        }
        let t = self.expr(item, None);
        if t.is_err() {
            return None;
        }
        self.error("E0313", span, format!("{} keys need as many sets, one given", types.len()), "wrong number of sets");
        None
    }

    fn value_set_case(&mut self, id: hir::ValueSetId, ty: &Ty, types: &[Ty], span: Span) -> Option<Vec<Set>> {
        let elements = self.flat(ty);
        if types.iter().any(Ty::is_err) {
            return None;
        }
        let keys: Vec<Ty> = types.iter().flat_map(|t| self.flat(t)).collect();
        if elements != keys {
            let (e, k) = (self.show(ty), self.show(&Ty::tuple(types.to_vec())));
            self.error(
                "E0313",
                span,
                format!("a value set of `{e}` does not fit these keys"),
                format!("the keys are `{k}`"),
            );
            return None;
        }
        Some(vec![Set::ValueSet(id)])
    }

    /// The scalars that a key or the element type of a value set has, in order.
    fn flat(&self, ty: &Ty) -> Vec<Ty> {
        match self.members(ty) {
            Some(members) => members.iter().flat_map(|t| self.flat(t)).collect(),
            None => vec![ty.clone()],
        }
    }

    fn number_type(&mut self, ty: &Ty, span: Span, what: &str) -> Option<()> {
        let inner = self.defs.underlying(&self.defs.strip_newtype(ty));
        if inner.width().is_some() || matches!(inner, Ty::Param(_)) {
            return Some(());
        }
        let shown = self.show(ty);
        self.error(
            "E0313",
            span,
            format!("{what} is not possible for a key of type `{shown}`"),
            "the key is not a number",
        );
        None
    }

    /// One set for a key of type `ty`.
    fn set(&mut self, item: &'a ast::Expr, ty: &Ty, constant: bool) -> Option<Set> {
        match &item.kind {
            ast::ExprKind::DontCare | ast::ExprKind::Default => Some(Set::Any),
            ast::ExprKind::Mask { value, mask } => {
                let v = self.set_value(value, ty, constant);
                let m = self.set_value(mask, ty, constant);
                self.number_type_ok(ty, item.span, "a mask")?;
                Some(Set::Mask(v?.hir, m?.hir))
            }
            ast::ExprKind::Range { lo, hi } => {
                let l = self.set_value(lo, ty, constant);
                let h = self.set_value(hi, ty, constant);
                self.number_type_ok(ty, item.span, "a range")?;
                let (l, h) = (l?, h?);
                if let (Some(Value::Int(a)), Some(Value::Int(b))) = (&l.value, &h.value)
                    && a > b
                {
                    self.report(
                        Diagnostic::warning("W0008", format!("the range {a} .. {b} is empty"))
                            .at(item.span, "the lower bound stands first"),
                    );
                }
                Some(Set::Range(l.hir, h.hir))
            }
            ast::ExprKind::Path(path) => {
                if let Some(symbol) = self.lookup(path.name.as_str(), path.leading_dot)
                    && let Entity::ValueSet(id, elements) = symbol.entity.clone()
                    && !constant
                {
                    let declaration = symbol.span;
                    self.index_use(path.name.span, declaration);
                    self.value_set_case(id, &elements, std::slice::from_ref(ty), item.span)?;
                    return Some(Set::ValueSet(id));
                }
                Some(Set::Value(self.set_value(item, ty, constant)?.hir))
            }
            _ => Some(Set::Value(self.set_value(item, ty, constant)?.hir)),
        }
    }

    fn number_type_ok(&mut self, ty: &Ty, span: Span, what: &str) -> Option<()> {
        if ty.is_err() {
            return None;
        }
        self.number_type(ty, span, what)
    }

    fn set_value(&mut self, e: &'a ast::Expr, ty: &Ty, constant: bool) -> Option<Typed> {
        let t = self.expr(e, Some(ty));
        if t.is_err() || ty.is_err() {
            return None;
        }
        // A key that is a serialisable enum may be compared with its number.
        let u = self.defs.underlying(ty);
        let t = if u != *ty && t.ty != *ty {
            let t = self.coerce(t, &u);
            if t.is_err() {
                return None;
            }
            self.convert(t, ty)
        } else {
            self.coerce(t, ty)
        };
        if t.is_err() {
            return None;
        }
        if constant && t.value.is_none() {
            self.not_constant(e.span);
            return None;
        }
        if t.effects {
            self.error("E0313", e.span, "a set must not have effects", "a call is made here");
            return None;
        }
        Some(t)
    }
}

/// The type of a key: a list of expressions is a tuple.
fn keyed(ty: &Ty) -> Ty {
    match ty {
        Ty::ListLit(items) => Ty::tuple(items.iter().map(keyed).collect()),
        other => other.clone(),
    }
}

/// Whether some path from a state reaches an end.
fn ends(states: &[hir::State], start: usize) -> bool {
    let mut seen = vec![false; states.len()];
    let mut work = vec![StateRef::State(start)];
    while let Some(at) = work.pop() {
        let StateRef::State(at) = at else { return true };
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        match &states[at].transition {
            Transition::Goto(to) => work.push(*to),
            Transition::Select { cases, .. } => {
                // Without such a case a key may match none, which ends the parser.
                if !cases.iter().any(|c| c.sets.iter().all(|s| matches!(s, Set::Any))) {
                    return true;
                }
                work.extend(cases.iter().map(|c| c.target));
            }
        }
    }
    false
}
