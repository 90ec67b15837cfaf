//! Calls of functions, actions, methods, tables, parsers and controls.

mod method;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::args::{ArgRule, Checked};
use crate::context::Body;
use crate::defs::Sig;
use crate::entity::{ActionEntity, Entity, FunctionEntity, InstanceEntity, OpenInstance};
use crate::hir::{self, Callee};
use crate::infer::Unifier;
use crate::types::{Subst, Ty, bind};
use crate::value::{Typed, Value};

impl<'a> Analyser<'a> {
    pub(crate) fn call(
        &mut self,
        callee: &'a ast::Expr,
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Typed {
        let typed = match &callee.kind {
            ast::ExprKind::Path(path) => {
                let Some(entity) = self.resolve(path) else {
                    self.check_loosely(args);
                    return Typed::error(span);
                };
                match entity {
                    Entity::Functions(all) => {
                        self.index_overload(&path.name, &all, args);
                        self.function(&all, type_args, args, hint, span)
                    }
                    Entity::Action(_) if !type_args.is_empty() => {
                        self.error(
                            "E0204",
                            span,
                            format!("`{}` has no type parameters", path.name),
                            "actions have none",
                        );
                        None
                    }
                    Entity::Action(a) => self.action(&a, args, span),
                    Entity::Extern(_) | Entity::Block(_) | Entity::Package(_) => {
                        self.construct_path(path, type_args, args, hint, span)
                    }
                    other => {
                        let what = other.what();
                        let mut d = Diagnostic::error("E0306", format!("`{}` cannot be called", path.name))
                            .at(callee.span, format!("this is {what}"));
                        if matches!(other, Entity::Table(_) | Entity::Instance(_)) {
                            d = d.help(format!("did you mean `{}.apply(...)`?", path.name));
                            d = d.suggest(callee.span, path.name.as_str(), format!("{}.apply", path.name));
                        }
                        self.report(d);
                        None
                    }
                }
            }
            ast::ExprKind::Member { base, name } => self.member_call(base, name, type_args, args, hint, span),
            ast::ExprKind::TypeMember { ty, name } => {
                if name.as_str() == "apply" {
                    return self.direct_apply(ty, args, span);
                }
                let ty = self.ty(ty);
                self.type_method(&ty, name, args, span)
            }
            _ => {
                self.error("E0306", callee.span, "this cannot be called", "not a function, action or method");
                None
            }
        };
        typed.unwrap_or_else(|| Typed::error(span))
    }

    /// Checks the arguments of an invalid call for errors of their own.
    fn check_loosely(&mut self, args: &'a [ast::Arg]) {
        for a in args {
            if !matches!(a.value.kind, ast::ExprKind::DontCare | ast::ExprKind::Default) {
                self.expr(&a.value, None);
            }
        }
    }

    /// The overload that matches the number and names of the arguments.
    pub(crate) fn overload<T: Clone>(
        &mut self,
        name: &str,
        candidates: &[T],
        sig_of: impl Fn(&T) -> Rc<Sig>,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<T> {
        if let [one] = candidates {
            return Some(one.clone());
        }
        let fit: Vec<&T> = candidates.iter().filter(|c| self.arity_fits(&sig_of(c), args)).collect();
        if let [one] = fit.as_slice() {
            return Some((*one).clone());
        }
        // With optional parameters, the one that needs most of the arguments.
        let needed = |c: &&T| sig_of(c).params.iter().filter(|p| !p.optional && p.default.is_none()).count();
        let most = fit.iter().map(needed).max();
        let mut best = fit.iter().filter(|c| Some(needed(c)) == most);
        let any_optional = fit.iter().any(|c| sig_of(c).params.iter().any(|p| p.optional));
        if let (true, Some(one), None) = (any_optional, best.next(), best.next()) {
            return Some((*one).clone());
        }
        let mut d = if fit.is_empty() {
            Diagnostic::error("E0316", format!("no `{name}` takes these arguments"))
                .at(span, "the number or names of the arguments fit none")
        } else {
            Diagnostic::error("E0316", format!("several `{name}` take these arguments"))
                .at(span, "this call is ambiguous")
        };
        for c in candidates {
            d = d.related(sig_of(c).span, "this one exists");
        }
        self.report(d);
        None
    }

    /// Starts inference for a generic callee: variables or the types given.
    pub(crate) fn type_arguments(
        &mut self,
        sig: &Sig,
        type_args: &'a [ast::TypeExpr],
        unifier: &mut Unifier,
        span: Span,
    ) -> Option<Subst> {
        if type_args.is_empty() {
            return Some(unifier.fresh(&sig.type_params));
        }
        if type_args.len() != sig.type_params.len() {
            let n = sig.type_params.len();
            self.report(
                Diagnostic::error(
                    "E0204",
                    format!(
                        "`{}` takes {n} type argument{}, {} given",
                        sig.name,
                        if n == 1 { "" } else { "s" },
                        type_args.len()
                    ),
                )
                .at(span, "wrong number of type arguments")
                .related(sig.span, "declared here"),
            );
            return None;
        }
        let mut subst = Subst::new();
        for (p, t) in sig.type_params.iter().zip(type_args) {
            let ty = self.ty_with(t, &mut Some(unifier));
            if ty.is_err() {
                return None;
            }
            subst.insert(*p, ty);
        }
        Some(subst)
    }

    /// Type arguments after inference; reports those that remain open.
    pub(crate) fn inferred(
        &mut self,
        name: &str,
        sig: &Sig,
        params: &[u32],
        checked: &Checked,
        span: Span,
    ) -> Option<Vec<Ty>> {
        let mut types = Vec::new();
        for p in params {
            let ty = checked.subst.get(p).cloned().unwrap_or(Ty::Err);
            let param = self.defs.type_params[*p as usize].clone();
            if ty.has_vars() && only_optional(sig, *p) {
                types.push(Ty::Void);
                continue;
            }
            if ty.has_vars() {
                self.report(
                    Diagnostic::error("E0303", format!("type argument `{param}` of `{name}` cannot be inferred"))
                        .at(span, "not enough is known here")
                        .help(format!("say it: `{name}<...>(...)`")),
                );
                return None;
            }
            if ty.is_err() {
                return None;
            }
            let unfit = ty.any(&mut |t| matches!(t, Ty::InvalidLit | Ty::DotsLit));
            let immaterial = matches!(ty, Ty::Block(..) | Ty::Package(..));
            // `void` is the type of results only.
            let nothing = ty == Ty::Void && (sig.ret != Ty::Param(*p) || sig.params.iter().any(|q| q.ty.uses(*p)));
            if nothing || unfit || immaterial {
                let shown = self.show(&ty);
                self.error(
                    "E0303",
                    span,
                    format!("`{shown}` is no type argument for `{param}` of `{name}`"),
                    "not a type of values",
                );
                return None;
            }
            types.push(ty);
        }
        Some(types)
    }

    fn call_expr(&mut self, callee: Callee, type_args: &[Ty], args: Vec<hir::Arg>, ret: Ty, span: Span) -> Typed {
        let type_args = type_args.iter().map(|t| self.hir_ty(t)).collect();
        let call = hir::Call { callee, type_args, args, no_side_effects: false, span };
        self.computed(hir::ExprKind::Call(Box::new(call)), ret, span, true)
    }

    /// A call of an extern function or method.
    fn extern_call(&mut self, callee: Callee, sig: &Sig, type_args: &[Ty], checked: Checked, span: Span) -> Typed {
        let ret = checked.ret.clone();
        let args = self.extern_args(sig, checked, span);
        let type_args = type_args.iter().map(|t| self.hir_ty(t)).collect();
        let call = hir::Call { callee, type_args, args, no_side_effects: sig.no_side_effects, span };
        self.computed(hir::ExprKind::Call(Box::new(call)), ret, span, true)
    }

    fn deprecated(&mut self, sig: &Sig, span: Span) {
        if let Some(why) = &sig.deprecated {
            self.warn_deprecated(&sig.name, why, span);
        }
    }

    /// Warns of something deprecated.
    pub(crate) fn warn_deprecated(&mut self, name: &str, why: &str, span: Span) {
        let mut d = Diagnostic::warning("W0003", format!("`{name}` is deprecated")).at(span, "used here");
        if !why.is_empty() {
            d = d.note(why.to_string());
        }
        self.report(d);
    }

    fn function(
        &mut self,
        all: &[FunctionEntity<'a>],
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Typed> {
        let name: Arc<str> = all[0].sig.name.clone();
        let f = self.overload(&name, all, |f| f.sig.clone(), args, span)?;
        let sig = f.sig.clone();
        let mut unifier = Unifier::default();
        let subst = self.type_arguments(&sig, type_args, &mut unifier, span)?;
        let checked = self.check_args(&sig, args, subst, &mut unifier, ArgRule::Any, hint, span)?;
        let types = self.inferred(&name, &sig, &sig.type_params, &checked, span)?;
        self.deprecated(&sig, span);
        if f.decl.is_none() {
            if &*name == "static_assert" {
                return self.static_assert(&checked, span);
            }
            if &*name == "verify" && !matches!(self.context.body, Body::Parser | Body::Function) {
                self.error("E0310", span, "`verify` is available only in parsers", "not in a parser");
                return None;
            }
            if self.context.body == Body::None {
                self.not_constant(span);
                return None;
            }
            let callee = Callee::ExternFunction(name.to_string());
            return Some(self.extern_call(callee, &sig, &types, checked, span));
        }
        if self.context.body == Body::None {
            self.not_constant(span);
            return None;
        }
        let known = self.known_arguments(&sig, &checked, span)?;
        let id = match f.id {
            Some(id) => id,
            None => self.specialise(&f, &types, &known)?,
        };
        let ret = checked.ret.clone();
        let args = checked.hir_of_body(&sig);
        Some(self.call_expr(Callee::Function(id), &types, args, ret, span))
    }

    /// Arguments for an extern, with a new variable for each ignored result.
    fn extern_args(&mut self, sig: &Sig, mut checked: Checked, span: Span) -> Vec<hir::Arg> {
        for (p, arg) in sig.params.iter().zip(&mut checked.args) {
            let ty = p.ty.subst(&checked.subst);
            if arg.is_none() && p.direction == hir::Direction::Out && !p.optional && !ty.has_vars() {
                let var = self.new_var(hir::UNWANTED, &ty, span);
                *arg = Some(self.computed(hir::ExprKind::Var(var), ty, span, false));
            }
        }
        checked.hir(sig)
    }

    fn static_assert(&mut self, checked: &Checked, span: Span) -> Option<Typed> {
        let message = match checked.args.get(1) {
            Some(Some(t)) => match &t.value {
                Some(Value::Str(s)) => Some(s.clone()),
                _ => None,
            },
            _ => None,
        };
        match checked.args.first().and_then(|a| a.as_ref()?.value.clone()) {
            Some(Value::Bool(true) | Value::Opaque) => Some(self.constant(Value::Bool(true), &Ty::Bool, span)),
            None => {
                self.not_constant(checked.args.first().and_then(|a| a.as_ref()).map_or(span, Typed::span));
                None
            }
            _ => {
                let text =
                    message.map_or("static assertion failed".to_string(), |m| format!("static assertion failed: {m}"));
                self.error("E0403", span, text, "this is false");
                None
            }
        }
    }

    fn action(&mut self, a: &Rc<ActionEntity>, args: &'a [ast::Arg], span: Span) -> Option<Typed> {
        if !matches!(self.context.body, Body::Action | Body::Control) {
            self.error("E0310", span, "an action cannot be called here", "only controls and actions call actions");
            return None;
        }
        let checked =
            self.check_args(&a.sig, args, HashMap::new(), &mut Unifier::default(), ArgRule::Any, None, span)?;
        let args = checked.hir(&a.sig);
        Some(self.call_expr(Callee::Function(a.id), &[], args, Ty::Void, span))
    }

    fn member_call(
        &mut self,
        base: &'a ast::Expr,
        name: &'a ast::Ident,
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Typed> {
        if let ast::ExprKind::This = &base.kind {
            let this = self.this(base.span)?;
            return self.method((this.def, this.args, this.id), name, type_args, args, hint, span);
        }
        if let ast::ExprKind::Path(path) = &base.kind {
            let entity = self.resolve(path)?;
            match entity {
                Entity::Table(id) => return self.table_call(id, name, args, span),
                Entity::Instance(i) => return self.instance_call(&i, name, args, span),
                Entity::Object(e, ext_args, id) => {
                    return self.method((e, ext_args, id), name, type_args, args, hint, span);
                }
                Entity::Block(b) if name.as_str() == "apply" => {
                    return self.apply_block(b, Rc::new([]), path.name.as_str(), args, span);
                }
                Entity::Type(ty) => return self.type_method(&ty, name, args, span),
                Entity::Struct(d) => {
                    return self.type_method(&Ty::Struct(d, Rc::new([])), name, args, span);
                }
                Entity::Var(id, Ty::Extern(e, ext_args), _) => {
                    return self.parameter_call(id, e, &ext_args, name, type_args, args, hint, span);
                }
                _ => {}
            }
        }
        let receiver = match self.makes_object(base) {
            true => self.new_receiver(base),
            false => self.expr(base, None),
        };
        if receiver.is_err() {
            self.check_loosely(args);
            return None;
        }
        if let Ty::Extern(e, ext_args) = &receiver.ty {
            let id = match receiver.value {
                Some(Value::Object(id)) => Some(id),
                _ => None,
            };
            return self.method((*e, ext_args.clone(), id), name, type_args, args, hint, span);
        }
        self.builtin(receiver, name, args, span)
    }

    fn no_arguments(&mut self, name: &ast::Ident, args: &[ast::Arg], span: Span) -> Option<()> {
        if args.is_empty() {
            return Some(());
        }
        self.error("E0304", span, format!("`{name}` takes no arguments"), "arguments given");
        None
    }

    fn unknown_method(&mut self, ty: &Ty, name: &ast::Ident, known: &[&str]) -> Option<Typed> {
        let near = nearest(name.as_str(), known.iter().copied());
        self.no_member(ty, name.as_str(), name.span, near);
        None
    }

    fn table_call(&mut self, id: hir::TableId, name: &ast::Ident, args: &'a [ast::Arg], span: Span) -> Option<Typed> {
        if name.as_str() != "apply" {
            self.error("E0203", name.span, format!("a table has no method `{name}`"), "only `apply`");
            return None;
        }
        self.no_arguments(name, args, span)?;
        if self.context.body != Body::Control {
            self.error(
                "E0310",
                span,
                "a table cannot be applied here",
                "only the `apply` block of a control applies tables",
            );
            return None;
        }
        let kind = hir::ExprKind::TableHit(id, true);
        Some(self.computed(kind, Ty::ApplyResult(id.0), span, true))
    }

    fn instance_call(
        &mut self,
        i: &InstanceEntity,
        name: &ast::Ident,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Typed> {
        let ty = Ty::Block(i.block, i.args.clone());
        if name.as_str() != "apply" {
            return self.unknown_method(&ty, name, &["apply"]);
        }
        let def = &self.defs.blocks[i.block];
        let (sig, params, is_parser, declared) = (def.apply.clone(), def.type_params.clone(), def.is_parser, def.span);
        let wanted = if is_parser { Body::Parser } else { Body::Control };
        if self.context.body != wanted {
            let (what, place) = if is_parser {
                ("parser", "a state of another parser")
            } else {
                ("control", "the `apply` block of another control")
            };
            self.report(
                Diagnostic::error("E0310", format!("a {what} cannot be applied here"))
                    .at(span, format!("possible only in {place}"))
                    .related(declared, "declared here"),
            );
            return None;
        }
        let subst = bind(&params, &i.args);
        let checked =
            self.check_args(&sig, args, subst, &mut Unifier::default(), ArgRule::ConstantUndirected, None, span)?;
        let known = self.known_arguments(&sig, &checked, span)?;
        let id = match &i.open {
            Some(open) => self.close_instance(i, open, known, span)?,
            None => i.id.unwrap_or(hir::InstanceId(u32::MAX)),
        };
        let args = checked.hir_of_body(&sig);
        Some(self.call_expr(Callee::Instance(id), &[], args, Ty::Void, span))
    }

    /// Values for the parameters that exist only at compile time, in order.
    fn known_arguments(&mut self, sig: &Sig, checked: &Checked, span: Span) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        for (_, arg) in sig.params.iter().zip(&checked.args).filter(|(p, _)| p.is_known()) {
            match arg.as_ref().and_then(|t| t.value.clone()) {
                Some(value) => values.push(value),
                None => {
                    self.not_constant(arg.as_ref().map_or(span, Typed::span));
                    return None;
                }
            }
        }
        Some(values)
    }

    /// Creates an instance with the values known where it is applied.
    fn close_instance(
        &mut self,
        i: &InstanceEntity,
        open: &OpenInstance,
        known: Vec<Value>,
        span: Span,
    ) -> Option<hir::InstanceId> {
        if let Some((before, id)) = open.made.get() {
            if *before == known {
                return Some(*id);
            }
            self.report(
                Diagnostic::error(
                    "E0500",
                    "applying an instance with other values for what is known at compile time is not supported yet",
                )
                .at(span, "applied before with other values")
                .help("make an instance for each"),
            );
            return None;
        }
        let args = Some(open.args.clone());
        let id = self.elaborate(i.block, &i.args, open.path.clone(), args, &known, open.span)?;
        // It was empty.
        let _ = open.made.set((known, id));
        Some(id)
    }

    /// `Type.apply(args)`.
    pub(crate) fn direct_apply(&mut self, ty: &'a ast::TypeExpr, args: &'a [ast::Arg], span: Span) -> Typed {
        let t = self.ty(ty);
        let typed = match t {
            Ty::Err => None,
            Ty::Block(b, types) => {
                let name = self.defs.blocks[b].name.clone();
                self.apply_block(b, types, &name, args, span)
            }
            other => {
                let shown = self.show(&other);
                self.error("E0306", span, format!("`{shown}` cannot be applied"), "not a parser or control");
                None
            }
        };
        typed.unwrap_or_else(|| Typed::error(span))
    }

    fn apply_block(
        &mut self,
        block: usize,
        types: Rc<[Ty]>,
        name: &str,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Typed> {
        let i = self.instantiate_plain(block, types, name, span)?;
        let apply = ast::Ident { name: "apply".into(), span };
        self.instance_call(&i, &apply, args, span)
    }
}

/// Whether only optional parameters use a type parameter.
fn only_optional(sig: &Sig, param: u32) -> bool {
    let uses = |t: &Ty| t.uses(param);
    !uses(&sig.ret) && sig.params.iter().any(|p| uses(&p.ty)) && sig.params.iter().all(|p| p.optional || !uses(&p.ty))
}
