//! Calls of methods: of extern objects, of parameters of parsers and controls, and those that the language has.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use num_traits::ToPrimitive;

use crate::analyser::Analyser;
use crate::args::{ArgRule, Checked};
use crate::context::Body;
use crate::defs::Sig;
use crate::entity::FunctionEntity;
use crate::hir::{self, Callee};
use crate::infer::Unifier;
use crate::types::{Ty, bind};
use crate::value::{Typed, Value};

impl<'a> Analyser<'a> {
    pub(super) fn find_method(
        &mut self,
        e: usize,
        ty: &Ty,
        name: &ast::Ident,
        args: &[ast::Arg],
        span: Span,
    ) -> Option<Rc<Sig>> {
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
    pub(super) fn index_overload(&mut self, name: &ast::Ident, all: &[FunctionEntity<'a>], args: &[ast::Arg]) {
        if self.index.is_some()
            && let Some(one) = all.iter().find(|f| self.arity_fits(&f.sig, args))
        {
            self.index_use(name.span, one.sig.span);
        }
    }

    pub(super) fn method(
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
    pub(super) fn method_args(
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
    pub(super) fn parameter_call(
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

    pub(super) fn check_extract(&mut self, ty: &Ty, sized: bool, span: Span) -> Option<()> {
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

    pub(super) fn check_emit(&mut self, ty: &Ty, span: Span) -> Option<()> {
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
    pub(super) fn type_method(&mut self, ty: &Ty, name: &ast::Ident, args: &[ast::Arg], span: Span) -> Option<Typed> {
        if ty.is_err() {
            return None;
        }
        if let Some(t) = self.size_method(ty, name, args, span) {
            return Some(t);
        }
        let known = ["minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"];
        self.unknown_method(ty, name, &known)
    }

    pub(super) fn size_method(&mut self, ty: &Ty, name: &ast::Ident, args: &[ast::Arg], span: Span) -> Option<Typed> {
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
    pub(super) fn builtin(
        &mut self,
        receiver: Typed,
        name: &'a ast::Ident,
        args: &'a [ast::Arg],
        span: Span,
    ) -> Option<Typed> {
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
