//! Calls of functions, actions, methods, tables, parsers and controls.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;
use num_traits::ToPrimitive;

use crate::analyser::{Analyser, Body};
use crate::args::{ArgRule, Checked};
use crate::hir::{self, Callee};
use crate::infer::Unifier;
use crate::scope::{ActionEntity, Entity, FunctionEntity, InstanceEntity, OpenInstance};
use crate::types::{Sig, Subst, Ty, bind};
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
            let nothing = ty == Ty::Void && (sig.ret != Ty::Param(*p) || sig.params.iter().any(|q| uses(&q.ty, *p)));
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

    fn find_method(&mut self, e: usize, ty: &Ty, name: &ast::Ident, args: &[ast::Arg], span: Span) -> Option<Rc<Sig>> {
        let methods: Vec<Rc<Sig>> =
            self.defs.externs[e].methods.iter().filter(|m| m.name == name.name).cloned().collect();
        if methods.is_empty() {
            let names: Vec<Arc<str>> = self.defs.externs[e].methods.iter().map(|m| m.name.clone()).collect();
            let names: Vec<&str> = names.iter().map(|n| &**n).collect();
            self.unknown_method(ty, name, &names);
            return None;
        }
        let found = self.overload(name.as_str(), &methods, Rc::clone, args, span);
        self.index_use(name.span, found.as_ref().unwrap_or(&methods[0]).span);
        found
    }

    /// Notes which of several functions a name refers to.
    fn index_overload(&mut self, name: &ast::Ident, all: &[FunctionEntity<'a>], args: &[ast::Arg]) {
        if self.index.is_some()
            && let Some(one) = all.iter().find(|f| self.arity_fits(&f.sig, args))
        {
            self.index_use(name.span, one.sig.span);
        }
    }

    fn method(
        &mut self,
        (e, ext_args, id): (usize, Rc<[Ty]>, Option<hir::ObjectId>),
        name: &'a ast::Ident,
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Typed> {
        let ty = Ty::Extern(e, ext_args.clone());
        let sig = self.find_method(e, &ty, name, args, span)?;
        let (mut checked, types) = self.method_args(e, &ext_args, &sig, type_args, args, hint, span)?;
        self.deprecated(&sig, span);
        if let Some(id) = id.filter(|_| sig.is_abstract) {
            let errors = self.errors;
            if let Some(function) = self.implemented(id, &sig, &mut checked, span) {
                let ret = checked.ret.clone();
                let args = checked.hir(&sig);
                return Some(self.call_expr(Callee::Function(function), &[], args, ret, span));
            }
            if self.errors > errors {
                return None;
            }
        }
        let id = id.unwrap_or(hir::ObjectId(u32::MAX));
        let callee = Callee::Method(id, name.to_string());
        Some(self.extern_call(callee, &sig, &types, checked, span))
    }

    #[allow(clippy::too_many_arguments)]
    fn method_args(
        &mut self,
        e: usize,
        ext_args: &[Ty],
        sig: &Rc<Sig>,
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<(Checked, Vec<Ty>)> {
        if self.context.body == Body::None {
            self.not_constant(span);
            return None;
        }
        let mut unifier = Unifier::default();
        let mut subst = self.type_arguments(sig, type_args, &mut unifier, span)?;
        for (param, ty) in bind(&self.defs.externs[e].type_params, ext_args) {
            // What the object leaves open, each call decides.
            let open = ty == Ty::Void && !sig.ret.any(&mut |t| *t == Ty::Param(param));
            subst.insert(param, if open { unifier.var_or(Ty::Bits(32)) } else { ty });
        }
        let rule = ArgRule::Any;
        let checked = self.check_args(sig, args, subst, &mut unifier, rule, hint, span)?;
        let types = self.inferred(&sig.name, sig, &sig.type_params, &checked, span)?;
        Some((checked, types))
    }

    #[allow(clippy::too_many_arguments)]
    fn parameter_call(
        &mut self,
        var: hir::VarId,
        e: usize,
        ext_args: &[Ty],
        name: &'a ast::Ident,
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Typed> {
        let ty = Ty::Extern(e, ext_args.into());
        let sig = self.find_method(e, &ty, name, args, span)?;
        let (checked, types) = self.method_args(e, ext_args, &sig, type_args, args, hint, span)?;
        let ext = self.defs.externs[e].name.clone();
        if !matches!(&*ext, "packet_in" | "packet_out") {
            self.deprecated(&sig, span);
            let callee = Callee::ParameterMethod(var, name.to_string());
            return Some(self.extern_call(callee, &sig, &types, checked, span));
        }
        let parses = &*ext == "packet_in" && matches!(name.as_str(), "extract" | "advance");
        if parses && !matches!(self.context.body, Body::Parser | Body::Function) {
            self.error("E0310", span, format!("`{name}` is available only in parsers"), "not in a parser");
            return None;
        }
        match (&*ext, name.as_str()) {
            ("packet_in", "extract") => {
                let at = checked.args[0].as_ref().map_or(span, Typed::span);
                self.check_extract(&types[0], args.len() == 2, at)?;
            }
            ("packet_in", "lookahead") => {
                let t = &types[0];
                if self.defs.bit_size(t, true).is_none() && !matches!(t, Ty::Param(_)) {
                    let shown = self.show(t);
                    self.error(
                        "E0308",
                        span,
                        format!("`{shown}` cannot be read from a packet"),
                        "not a type of fixed size",
                    );
                    return None;
                }
                if self.defs.count_varbits(t) > 0 {
                    self.error(
                        "E0308",
                        span,
                        "the size of a `varbit` is not known here",
                        "only types of fixed size can be looked at",
                    );
                    return None;
                }
            }
            ("packet_out", "emit") => {
                let at = checked.args[0].as_ref().map_or(span, Typed::span);
                self.check_emit(&types[0], at)?;
            }
            _ => {}
        }
        let ret = checked.ret.clone();
        let args = checked.hir(&sig);
        let callee = Callee::Packet(name.to_string());
        Some(self.call_expr(callee, &types, args, ret, span))
    }

    fn check_extract(&mut self, ty: &Ty, sized: bool, span: Span) -> Option<()> {
        if matches!(ty, Ty::Param(_)) {
            return Some(());
        }
        let shown = self.show(ty);
        if !self.defs.is_header(ty) {
            self.error("E0308", span, format!("`{shown}` cannot be extracted"), "only headers can");
            return None;
        }
        let varbits = self.defs.count_varbits(ty);
        if sized && varbits != 1 {
            self.error(
                "E0308",
                span,
                format!("`{shown}` has {varbits} `varbit` fields, not one"),
                "extracted with a size",
            );
            return None;
        }
        if !sized && varbits != 0 {
            self.error(
                "E0308",
                span,
                format!("the size of `{shown}` is not known"),
                "it has a `varbit` field: give `extract` its size in bits",
            );
            return None;
        }
        Some(())
    }

    fn check_emit(&mut self, ty: &Ty, span: Span) -> Option<()> {
        let ok = match ty {
            Ty::Struct(d, args) => {
                if self.defs.struct_kind(ty) == Some(ast::StructKind::Struct) {
                    let fields = self.defs.fields(*d, args);
                    for (_, t) in fields {
                        self.check_emit(&t, span)?;
                    }
                }
                true
            }
            Ty::Stack(..) => self.defs.is_stack(ty),
            Ty::Param(_) => true,
            Ty::Tuple(items) => {
                for t in items.iter() {
                    self.check_emit(t, span)?;
                }
                true
            }
            _ => false,
        };
        if ok {
            return Some(());
        }
        let shown = self.show(ty);
        self.error(
            "E0308",
            span,
            format!("`{shown}` cannot be emitted"),
            "only headers, stacks, unions, and structs of them can",
        );
        None
    }

    /// `T.minSizeInBits()` and similar methods.
    fn type_method(&mut self, ty: &Ty, name: &ast::Ident, args: &[ast::Arg], span: Span) -> Option<Typed> {
        if ty.is_err() {
            return None;
        }
        if let Some(t) = self.size_method(ty, name, args, span) {
            return Some(t);
        }
        let known = ["minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"];
        self.unknown_method(ty, name, &known)
    }

    fn size_method(&mut self, ty: &Ty, name: &ast::Ident, args: &[ast::Arg], span: Span) -> Option<Typed> {
        let (largest, bytes) = match name.as_str() {
            "minSizeInBits" => (false, false),
            "minSizeInBytes" => (false, true),
            "maxSizeInBits" => (true, false),
            "maxSizeInBytes" => (true, true),
            _ => return None,
        };
        if let Ty::Param(_) = ty {
            return Some(self.constant(Value::Opaque, &Ty::InfInt, span));
        }
        if !args.is_empty() {
            self.no_arguments(name, args, span);
            return Some(Typed::error(span));
        }
        let bits = self.defs.bit_size(ty, largest)?;
        let n = if bytes { bits.div_ceil(8) } else { bits };
        Some(self.constant(Value::Int(n.into()), &Ty::InfInt, span))
    }

    /// Methods of headers, unions and stacks.
    fn builtin(&mut self, receiver: Typed, name: &'a ast::Ident, args: &'a [ast::Arg], span: Span) -> Option<Typed> {
        let ty = receiver.ty.clone();
        if let Some(t) = self.size_method(&ty, name, args, span) {
            return Some(t);
        }
        let (is_header, is_union) = (self.defs.is_header(&ty), self.defs.is_union(&ty));
        let is_stack = self.defs.is_stack(&ty);
        match name.as_str() {
            "isValid" if is_header || is_union => {
                self.no_arguments(name, args, span)?;
                let callee = Callee::Builtin(Box::new(receiver.hir), name.to_string());
                let mut t = self.call_expr(callee, &[], Vec::new(), Ty::Bool, span);
                t.effects = receiver.effects;
                Some(t)
            }
            "setValid" | "setInvalid" if is_header => {
                self.no_arguments(name, args, span)?;
                if !self.check_writable(&receiver) {
                    return None;
                }
                let callee = Callee::Builtin(Box::new(receiver.hir), name.to_string());
                Some(self.call_expr(callee, &[], Vec::new(), Ty::Void, span))
            }
            "push_front" | "pop_front" if is_stack => {
                if !self.check_writable(&receiver) {
                    return None;
                }
                let [arg] = args else {
                    self.error("E0304", span, format!("`{name}` takes one argument"), format!("{} given", args.len()));
                    return None;
                };
                let n = self.expr(&arg.value, None);
                if n.is_err() {
                    return None;
                }
                let n = match &n.value {
                    Some(Value::Int(i)) => match i.to_u32() {
                        Some(1..) => self.cast(n, &Ty::Bits(32), arg.span),
                        _ => {
                            self.error("E0402", arg.span, format!("{i} is out of range"), "must be above zero");
                            return None;
                        }
                    },
                    Some(Value::Opaque) => n,
                    _ => {
                        self.not_constant(arg.span);
                        return None;
                    }
                };
                let arg = hir::Arg { direction: hir::Direction::None, value: Some(n.hir), turn: 0 };
                let callee = Callee::Builtin(Box::new(receiver.hir), name.to_string());
                Some(self.call_expr(callee, &[], vec![arg], Ty::Void, span))
            }
            _ => {
                let known: &[&str] = if is_header {
                    &["isValid", "setValid", "setInvalid", "minSizeInBits"]
                } else if is_union {
                    &["isValid"]
                } else if is_stack {
                    &["push_front", "pop_front"]
                } else {
                    &[]
                };
                self.unknown_method(&ty, name, known)
            }
        }
    }
}

/// Whether a type parameter occurs in a type.
pub(crate) fn uses(ty: &Ty, param: u32) -> bool {
    ty.any(&mut |t| *t == Ty::Param(param))
}

/// Whether only optional parameters use a type parameter.
fn only_optional(sig: &Sig, param: u32) -> bool {
    let uses = |t: &Ty| uses(t, param);
    !uses(&sig.ret) && sig.params.iter().any(|p| uses(&p.ty)) && sig.params.iter().all(|p| p.optional || !uses(&p.ty))
}
