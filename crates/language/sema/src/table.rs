//! Tables: keys, actions, default action, entries and other properties.

mod entries;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast::{self, TablePropertyValue};
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::analyser::Analyser;
use crate::architecture;
use crate::args::ArgRule;
use crate::context::Body;
use crate::defs::Sig;
use crate::entity::{ActionEntity, Entity};
use crate::hir::{self, Direction};
use crate::infer::Unifier;
use crate::match_kinds::MatchKind;
use crate::types::Ty;
use crate::value::Value;

/// An action in the table's list, and its bound arguments to compare later references with.
struct Listed<'a> {
    action: Rc<ActionEntity>,
    args: &'a [ast::Arg],
    hir: hir::ActionRef,
    default_only: bool,
    table_only: bool,
    annotations: &'a [ast::Annotation],
    span: Span,
}

/// The actions of a table, in order and by id.
#[derive(Default)]
struct Actions<'a> {
    list: Vec<Listed<'a>>,
    by_id: HashMap<hir::FunctionId, usize>,
    /// Names of invalid list entries that have been reported.
    broken: HashSet<Arc<str>>,
}

impl<'a> Actions<'a> {
    fn get(&self, id: hir::FunctionId) -> Option<&Listed<'a>> {
        self.by_id.get(&id).map(|i| &self.list[*i])
    }

    fn push(&mut self, listed: Listed<'a>) {
        self.by_id.insert(listed.action.id, self.list.len());
        self.list.push(listed);
    }
}

/// Table properties of the language.
const PROPERTIES: &[&str] =
    &["key", "actions", "entries", "default_action", "size", "largest_priority_wins", "priority_delta"];

impl<'a> Analyser<'a> {
    /// Declares a table.
    pub(crate) fn table(&mut self, decl: &'a ast::Decl, table: &'a ast::TableDecl) {
        // Only key expressions of a table may apply something.
        let was = std::mem::replace(&mut self.context.body, Body::Action);
        self.table_inner(decl, table);
        self.context.body = was;
    }

    fn table_inner(&mut self, decl: &'a ast::Decl, table: &'a ast::TableDecl) {
        let mut first: HashMap<Arc<str>, Span> = HashMap::new();
        for p in &table.properties {
            match first.get(&p.name.name) {
                Some(at) => self.duplicate(p.name.as_str(), p.name.span, *at),
                None => drop(first.insert(p.name.name.clone(), p.name.span)),
            }
        }
        let find = |name: &str| table.properties.iter().find(|p| p.name.as_str() == name);
        let (mut keys, mut types) = (Vec::new(), Vec::new());
        if let Some(p) = find("key") {
            match &p.value {
                TablePropertyValue::Key(elements) => {
                    self.context.body = Body::Control;
                    for k in elements {
                        let (ty, key) = self.key(k);
                        types.push(ty);
                        keys.extend(key);
                    }
                    self.context.body = Body::Action;
                }
                _ => self.property_form(p, "a list of keys in braces"),
            }
        }
        let listed = self.listed_actions(find("actions"), &table.name);
        if let (Some(default), Some(actions)) = (find("default_action"), find("actions")) {
            let why = "the default action is one of the list";
            self.property_order(default, actions, "`default_action` stands after `actions`", (why, "the actions"));
        }
        let default = find("default_action").map(|p| (p.is_const, self.default_action(p, &listed)));
        let mut out = hir::Table {
            name: table.name.to_string(),
            control_plane_name: self.qualified(table.name.as_str(), &decl.annotations),
            keys,
            actions: Vec::new(),
            default_action: hir::ActionRef { function: hir::FunctionId(0), args: Vec::new(), span: table.name.span },
            const_default_action: false,
            entries: Vec::new(),
            const_entries: false,
            largest_priority_wins: true,
            priority_delta: 1,
            size: None,
            properties: Vec::new(),
            annotations: self.annotations(&decl.annotations),
            span: table.name.span,
        };
        match default {
            Some((is_const, action)) => {
                out.const_default_action = is_const;
                if let Some(a) = action {
                    out.default_action = a;
                }
            }
            None => out.default_action.function = self.no_action(table.name.span),
        }
        for p in &table.properties {
            self.property(p, &mut out);
        }
        if let Some(p) = find("entries") {
            if let Some(k) = find("key") {
                self.property_order(p, k, "`entries` stands after `key`", ("entries need the keys", "the keys"));
            }
            out.const_entries = p.is_const;
            match &p.value {
                TablePropertyValue::Entries(entries) => self.entries(entries, &types, &listed, &mut out),
                _ => self.property_form(p, "a list of entries in braces"),
            }
        }
        for l in &listed.list {
            let annotations = self.annotations(l.annotations);
            out.actions.push(hir::TableAction { action: l.hir.clone(), annotations });
        }
        let mut runs: Vec<hir::FunctionId> = listed.list.iter().map(|l| l.action.id).collect();
        runs.push(out.default_action.function);
        self.out.tables.push(out);
        let id = hir::TableId((self.out.tables.len() - 1) as u32);
        self.table_actions.insert(id.0, runs);
        self.declare(&table.name, Entity::Table(id));
    }

    /// The actions of a table; reports those that stand twice.
    fn listed_actions(&mut self, property: Option<&'a ast::TableProperty>, table: &ast::Ident) -> Actions<'a> {
        let mut listed = Actions::default();
        let Some(p) = property else {
            let what = format!("table `{table}` has no `actions`");
            self.error("E0311", table.span, what, "every table lists its actions");
            return listed;
        };
        let TablePropertyValue::Actions(actions) = &p.value else {
            self.property_form(p, "a list of actions in braces");
            return listed;
        };
        for a in actions {
            let errors = self.errors;
            let l = self.listed(a);
            if self.errors > errors {
                listed.broken.insert(a.action.path.name.name.clone());
            }
            let Some(l) = l else { continue };
            let same = listed.list.iter().find(|o| o.action.sig.name == l.action.sig.name);
            match listed.get(l.action.id).or(same).map(|o| o.span) {
                Some(at) => self.duplicate(a.action.path.name.as_str(), a.action.span, at),
                None => listed.push(l),
            }
        }
        listed
    }

    /// Reports a property that stands in front of the one that it needs.
    fn property_order(
        &mut self,
        p: &ast::TableProperty,
        needed: &ast::TableProperty,
        what: &str,
        (why, there): (&str, &str),
    ) {
        if needed.span.start > p.span.start {
            let error = Diagnostic::error("E0311", what).at(p.name.span, why);
            self.report(error.related(needed.name.span, there));
        }
    }

    fn property_form(&mut self, p: &ast::TableProperty, form: &str) {
        self.error("E0311", p.span, format!("`{}` must be {form}", p.name), "not in that form");
    }

    /// The action that does nothing.
    fn no_action(&mut self, span: Span) -> hir::FunctionId {
        if let Some(s) = self.lookup("NoAction", true)
            && let Entity::Action(a) = &s.entity
        {
            let (id, declared) = (a.id, a.sig.span);
            if !a.sig.params.is_empty() {
                self.report(
                    Diagnostic::error("E0311", "the default action `NoAction` has parameters")
                        .at(span, "this table has no `default_action`")
                        .related(declared, "declared here"),
                );
            }
            return id;
        }
        self.out.functions.push(hir::Function {
            name: "NoAction".into(),
            control_plane_name: "NoAction".into(),
            is_action: true,
            params: Vec::new(),
            result: hir::Type::Void,
            body: Vec::new(),
            annotations: Vec::new(),
            span: Span::none(),
        });
        hir::FunctionId((self.out.functions.len() - 1) as u32)
    }

    fn key(&mut self, k: &'a ast::KeyElement) -> (Ty, Option<hir::TableKey>) {
        let t = self.expr(&k.expr, None);
        let kind = k.match_kind.as_str();
        let declaration = self.match_kinds.iter().find(|(n, _)| &**n == kind).map(|(_, at)| *at);
        if let Some(declaration) = declaration {
            self.index_use(k.match_kind.span, declaration);
        }
        let known = declaration.is_some();
        if !known && !self.include_missing(kind, k.match_kind.span, "is not a match kind", "E0311") {
            let names: Vec<Arc<str>> = self.match_kinds.iter().map(|(n, _)| n.clone()).collect();
            let near = nearest(kind, names.iter().map(|n| &**n));
            let mut d = Diagnostic::error("E0311", format!("`{kind}` is not a match kind"))
                .at(k.match_kind.span, "not declared in any `match_kind`");
            if !names.is_empty() {
                let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
                d = d.note(format!("the match kinds are {}", list.join(", ")));
            }
            if let Some(near) = near {
                d = d.did_you_mean(k.match_kind.span, kind, near);
            }
            self.report(d);
        }
        if t.is_err() || !known {
            return (Ty::Err, None);
        }
        let inner = self.defs.underlying(&self.defs.strip_newtype(&t.ty));
        let number = matches!(inner, Ty::Bits(_) | Ty::Int(_) | Ty::Param(_));
        let numbers = MatchKind::by_name(kind).is_some_and(|k| k.numbers);
        let ok = number || !numbers && matches!(inner, Ty::Bool | Ty::Enum(_) | Ty::Error);
        if !ok {
            let shown = self.show(&t.ty);
            let mut d = Diagnostic::error("E0311", format!("a `{shown}` cannot be a key of kind `{kind}`"))
                .at(k.expr.span, "not possible as key");
            if inner == Ty::InfInt {
                d = d.help("give the number a width");
            }
            self.report(d);
            return (Ty::Err, None);
        }
        let given = self.annotation_text(&k.annotations, "name");
        if given.is_none() && !names_itself(&k.expr) {
            self.report(
                Diagnostic::error("E0311", "this key has no name")
                    .at(k.expr.span, "too complex to name itself")
                    .help("give it one for the control plane: `... @name(\"key\")`"),
            );
        }
        let name = given.map_or_else(|| self.key_name(&k.expr, &t.hir), |s| s.to_string());
        let new_type = self.new_type(&t.ty);
        let key = hir::TableKey {
            expr: t.hir,
            match_kind: kind.to_string(),
            match_span: k.match_kind.span,
            name,
            new_type,
            annotations: self.annotations(&k.annotations),
        };
        (t.ty, Some(key))
    }

    /// The control-plane name of a key without `@name`: its text, with the control-plane names of fields, and `$valid$` for
    /// `isValid()`.
    fn key_name(&self, e: &ast::Expr, typed: &hir::Expr) -> String {
        use ast::ExprKind as K;
        match (&e.kind, &typed.kind) {
            (K::Cast { .. }, _) => source_text(e),
            (_, hir::ExprKind::Cast(inner)) => self.key_name(e, inner),
            (K::Member { base, name }, hir::ExprKind::Field(of, at)) => {
                let field = match &of.ty {
                    hir::Type::Struct(id) | hir::Type::Header(id) | hir::Type::Union(id) => {
                        self.out[*id].fields.get(*at).and_then(|f| hir::Annotation::name_of(&f.annotations))
                    }
                    _ => None,
                };
                match field {
                    Some(global) if global.starts_with('.') => global[1..].to_string(),
                    Some(field) => format!("{}.{field}", self.key_name(base, of)),
                    None => format!("{}.{name}", self.key_name(base, of)),
                }
            }
            (K::Call { callee, .. }, hir::ExprKind::Call(call)) => match (&callee.kind, &call.callee) {
                (K::Member { base, name }, hir::Callee::Builtin(of, _)) if name.as_str() == "isValid" => {
                    format!("{}.$valid$", self.key_name(base, of))
                }
                _ => source_text(e),
            },
            (K::Index { base, index }, hir::ExprKind::Index(of, _)) => {
                format!("{}[{}]", self.key_name(base, of), source_text(index))
            }
            (K::Slice { base, hi, lo }, hir::ExprKind::Slice(of, ..)) => {
                format!("{}[{}:{}]", self.key_name(base, of), source_text(hi), source_text(lo))
            }
            (K::Binary { op, left, right }, hir::ExprKind::Binary(_, l, r)) => {
                format!("{} {} {}", self.key_name(left, l), op.symbol(), self.key_name(right, r))
            }
            (K::Int(lit), _) => match lit.base {
                2 => format!("{:#b}", lit.value),
                8 => format!("{:#o}", lit.value),
                16 => format!("{:#x}", lit.value),
                _ => lit.value.to_string(),
            },
            _ => source_text(e),
        }
    }

    fn find_action(&mut self, path: &ast::Path) -> Option<Rc<ActionEntity>> {
        match self.resolve(path)? {
            Entity::Action(a) => Some(a),
            other => {
                let what = other.what();
                self.error("E0311", path.span, format!("`{}` is not an action", path.name), format!("this is {what}"));
                None
            }
        }
    }

    fn listed(&mut self, a: &'a ast::TableAction) -> Option<Listed<'a>> {
        let action = self.find_action(&a.action.path)?;
        let args: &'a [ast::Arg] = a.action.args.as_deref().unwrap_or(&[]);
        let full = &action.sig;
        let directed: Vec<_> = full.params.iter().filter(|p| p.direction != Direction::None).cloned().collect();
        if args.len() > directed.len() && directed.len() < full.params.len() {
            self.report(
                Diagnostic::error("E0304", format!("the action data of `{}` are not given here", full.name))
                    .at(a.action.span, "too many arguments")
                    .related(full.span, "parameters without direction are action data")
                    .help(if directed.is_empty() {
                        format!("write `{};`: entries and the control plane give the data", full.name)
                    } else {
                        "leave them out: entries and the control plane give the data".to_string()
                    }),
            );
            return None;
        }
        let sig = Rc::new(Sig {
            name: full.name.clone(),
            type_params: Vec::new(),
            type_param_names: Vec::new(),
            open_types: Vec::new(),
            params: directed,
            ret: Ty::Void,
            is_abstract: false,
            is_optional: false,
            deprecated: None,
            no_side_effects: false,
            span: full.span,
        });
        let checked =
            self.check_args(&sig, args, HashMap::new(), &mut Unifier::default(), ArgRule::Any, None, a.action.span)?;
        let mut bound = checked.args.into_iter();
        let values = full
            .params
            .iter()
            .map(|p| match p.direction {
                Direction::None => None,
                _ => bound.next().flatten().map(|t| t.hir),
            })
            .collect();
        Some(Listed {
            hir: hir::ActionRef { function: action.id, args: values, span: a.action.span },
            action,
            args,
            default_only: ast::find_annotation(&a.annotations, "defaultonly").is_some(),
            table_only: ast::find_annotation(&a.annotations, "tableonly").is_some(),
            annotations: &a.annotations,
            span: a.action.span,
        })
    }

    /// A reference to a listed action with all arguments, in `default_action` or an entry.
    fn complete(
        &mut self,
        path: &ast::Path,
        args: &'a [ast::Arg],
        span: Span,
        listed: &Actions<'a>,
        is_default: bool,
    ) -> Option<hir::ActionRef> {
        let action = self.find_action(path)?;
        let Some(l) = listed.get(action.id) else {
            if listed.broken.contains(&path.name.name) {
                self.consequence();
                return None;
            }
            self.error(
                "E0312",
                span,
                format!("`{}` is not among the actions of this table", path.name),
                "add it to `actions`",
            );
            return None;
        };
        let unfit =
            if is_default { l.table_only.then_some("@tableonly") } else { l.default_only.then_some("@defaultonly") };
        if let Some(annotation) = unfit {
            let at = l.span;
            self.report(
                Diagnostic::error("E0312", format!("`{}` is {annotation}", path.name))
                    .at(span, "not possible here")
                    .related(at, "listed here"),
            );
            return None;
        }
        let checked = self.check_args(
            &action.sig,
            args,
            HashMap::new(),
            &mut Unifier::default(),
            ArgRule::ConstantUndirected,
            None,
            span,
        )?;
        let directed = action.sig.params.iter().filter(|p| p.direction != Direction::None).count();
        for (given, list) in args.iter().zip(l.args).take(directed) {
            if source_text(&given.value) != source_text(&list.value) {
                self.report(
                    Diagnostic::error("E0312", "this differs from the table's action list")
                        .at(given.span, "arguments with direction are bound in the list")
                        .related(list.span, "bound here"),
                );
                return None;
            }
        }
        let mut values: Vec<Option<hir::Expr>> = l.hir.args.clone();
        for ((v, p), t) in values.iter_mut().zip(&action.sig.params).zip(checked.args) {
            if p.direction == Direction::None {
                *v = t.map(|t| t.hir);
            }
        }
        Some(hir::ActionRef { function: action.id, args: values, span })
    }

    fn default_action(&mut self, p: &'a ast::TableProperty, listed: &Actions<'a>) -> Option<hir::ActionRef> {
        let TablePropertyValue::Expr(e) = &p.value else {
            self.property_form(p, "an action");
            return None;
        };
        let (path, args): (_, &'a [ast::Arg]) = match &e.kind {
            ast::ExprKind::Path(path) => (path, &[]),
            ast::ExprKind::Call { callee, args, .. } => match &callee.kind {
                ast::ExprKind::Path(path) => (path, args),
                _ => {
                    self.property_form(p, "an action");
                    return None;
                }
            },
            _ => {
                self.property_form(p, "an action");
                return None;
            }
        };
        self.complete(path, args, e.span, listed, true)
    }

    fn property(&mut self, p: &'a ast::TableProperty, out: &mut hir::Table) {
        let name = p.name.as_str();
        if matches!(name, "key" | "actions" | "entries" | "default_action") {
            return;
        }
        let TablePropertyValue::Expr(e) = &p.value else {
            self.property_form(p, "a value");
            return;
        };
        match name {
            "size" => {
                out.size = self.integer_property(e, p).and_then(|i| i.to_u64()).or(out.size);
            }
            "priority_delta" => {
                if let Some(i) = self.integer_property(e, p) {
                    out.priority_delta = i.to_u64().unwrap_or(1);
                }
            }
            "largest_priority_wins" => {
                if let Some(Value::Bool(b)) = self.constant_to(e, &Ty::Bool) {
                    out.largest_priority_wins = b;
                }
            }
            _ => {
                let of_architecture = self.architecture().unwrap_or(architecture::ALL[0]).table_properties;
                let mut known = PROPERTIES.iter().chain(of_architecture).copied();
                if !known.clone().any(|k| k == name) {
                    let mut d = Diagnostic::warning("W0007", format!("unknown property `{name}`"))
                        .at(p.name.span, "nothing looks at it");
                    if let Some(near) = nearest(name, &mut known) {
                        d = d.did_you_mean(p.name.span, name, near);
                    }
                    self.report(d);
                }
                let path = match self.annotation_text(&p.annotations, "name") {
                    Some(given) => given.strip_prefix('.').unwrap_or(&given).to_string(),
                    None => format!("{}.{name}", out.control_plane_name),
                };
                let was_path = std::mem::take(&mut self.context.path);
                let was_args = std::mem::replace(&mut self.context.constructing, true);
                self.context.nameless = Some(path);
                let objects = self.out.objects.len();
                let t = self.expr(e, None);
                self.context.nameless = None;
                self.context.constructing = was_args;
                self.context.path = was_path;
                if t.is_err() {
                    return;
                }
                let value = match t.value {
                    Some(Value::Object(id)) => {
                        if id.0 as usize >= objects {
                            // Constructed here: the property's annotations are its own.
                            self.out.objects[id.0 as usize].annotations = self.annotations(&p.annotations);
                        }
                        hir::Property::Object(id)
                    }
                    Some(Value::Instance(_)) => {
                        self.property_form(p, "a value or an extern object");
                        return;
                    }
                    Some(_) => hir::Property::Value(t.hir),
                    None => {
                        self.not_constant(e.span);
                        return;
                    }
                };
                out.properties.push((name.to_string(), value));
            }
        }
    }

    fn integer_property(&mut self, e: &'a ast::Expr, p: &ast::TableProperty) -> Option<BigInt> {
        let t = self.expr(e, None);
        if t.is_err() {
            return None;
        }
        match t.value {
            Some(Value::Int(i)) if i.to_u64().is_some() => Some(i),
            Some(Value::Opaque) => None,
            Some(_) => {
                self.property_form(p, "an integer from 0 to 2^64 - 1");
                None
            }
            None => {
                self.not_constant(e.span);
                None
            }
        }
    }
}

/// Whether a key expression is simple enough to serve as its name.
fn names_itself(e: &ast::Expr) -> bool {
    use ast::ExprKind as K;
    match &e.kind {
        K::Path(_) | K::Int(_) => true,
        K::Member { base, .. } => names_itself(base),
        K::Index { base, index } => {
            names_itself(base) && matches!(index.kind, K::Int(_) | K::Path(_) | K::Member { .. })
        }
        K::Slice { base, .. } => names_itself(base),
        K::Binary { op: ast::BinaryOp::BitAnd, left, right } => {
            let constant = |e: &ast::Expr| matches!(e.kind, K::Int(_) | K::Path(_));
            (names_itself(left) && constant(right)) || (constant(left) && names_itself(right))
        }
        K::Call { callee, args, .. } => {
            args.is_empty()
                && matches!(&callee.kind, K::Member { base, name } if name.as_str() == "isValid" && names_itself(base))
        }
        _ => false,
    }
}

/// The text of an expression as control planes name keys: `h.f[3:0]`, `a & 15`.
pub(crate) fn source_text(e: &ast::Expr) -> String {
    use ast::ExprKind as K;
    let list = |items: &[ast::Arg]| items.iter().map(|a| source_text(&a.value)).collect::<Vec<_>>().join(", ");
    match &e.kind {
        K::Path(p) => p.name.to_string(),
        K::Member { base, name } => format!("{}.{name}", source_text(base)),
        K::TypeMember { ty, name } => match &ty.kind {
            ast::TypeKind::Named(p) => format!("{}.{name}", p.name),
            ast::TypeKind::Error => format!("error.{name}"),
            _ => format!("_.{name}"),
        },
        K::Call { callee, args, .. } => format!("{}({})", source_text(callee), list(args)),
        K::Index { base, index } => format!("{}[{}]", source_text(base), source_text(index)),
        K::Slice { base, hi, lo } => format!("{}[{}:{}]", source_text(base), source_text(hi), source_text(lo)),
        K::PlusSlice { base, lo, width } => {
            format!("{}[{}+:{}]", source_text(base), source_text(lo), source_text(width))
        }
        K::Int(lit) => lit.value.to_string(),
        K::Bool(b) => b.to_string(),
        K::String(s) => format!("{s:?}"),
        K::Unary { op, operand } => format!("{}{}", op.symbol(), source_text(operand)),
        K::Binary { op, left, right } => format!("{} {} {}", source_text(left), op.symbol(), source_text(right)),
        K::Ternary { condition, then, otherwise } => {
            format!("{} ? {} : {}", source_text(condition), source_text(then), source_text(otherwise))
        }
        K::Cast { operand, .. } => source_text(operand),
        K::List(items) => {
            let items: Vec<String> = items.iter().map(source_text).collect();
            format!("{{ {} }}", items.join(", "))
        }
        K::DontCare => "_".into(),
        K::Default => "default".into(),
        _ => "...".into(),
    }
}
