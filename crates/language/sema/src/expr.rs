//! Types and values of expressions other than operators and calls.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive};

use crate::analyser::Analyser;
use crate::consteval;
use crate::context::Body;
use crate::entity::Entity;
use crate::hir;
use crate::types::{MAX_WIDTH, Ty};
use crate::value::{Items, Place, Typed, Value};

impl<'a> Analyser<'a> {
    /// Checks an expression. `hint` is the expected type, if known; it helps inference and is not enforced.
    pub(crate) fn expr(&mut self, e: &'a ast::Expr, hint: Option<&Ty>) -> Typed {
        let typed = self.deeper(e.span, |s| s.expr_inner(e, hint)).unwrap_or_else(|| Typed::error(e.span));
        self.index_type(e.span, &typed.ty, typed.value.as_ref());
        typed
    }

    /// Checks an expression and converts it to `target`.
    pub(crate) fn expr_to(&mut self, e: &'a ast::Expr, target: &Ty) -> Typed {
        let typed = self.expr(e, Some(target));
        self.coerce(typed, target)
    }

    /// Checks an expression that must be known at compile time and have type `target`.
    pub(crate) fn constant_to(&mut self, e: &'a ast::Expr, target: &Ty) -> Option<Value> {
        let typed = self.expr_to(e, target);
        if typed.is_err() {
            return None;
        }
        if typed.value.is_none() {
            self.not_constant(e.span);
        }
        typed.value
    }

    pub(crate) fn not_constant(&mut self, span: Span) {
        self.error("E0400", span, "this must be known at compile time", "not a compile-time constant");
    }

    /// A checked expression that is not a literal nor constant.
    pub(crate) fn computed(&mut self, kind: hir::ExprKind, ty: Ty, span: Span, effects: bool) -> Typed {
        let hir_ty = self.hir_ty(&ty);
        Typed { hir: hir::Expr { kind, ty: hir_ty, span }, ty, value: None, place: Place::None, effects, items: None }
    }

    fn expr_inner(&mut self, e: &'a ast::Expr, hint: Option<&Ty>) -> Typed {
        let span = e.span;
        match &e.kind {
            ast::ExprKind::Int(lit) => self.int_literal(lit, span),
            ast::ExprKind::Bool(b) => self.constant(Value::Bool(*b), &Ty::Bool, span),
            ast::ExprKind::String(s) => self.constant(Value::Str(s.clone()), &Ty::String, span),
            ast::ExprKind::Path(path) => match self.resolve(path) {
                Some(entity) => self.entity_expr(&entity, path.name.as_str(), span),
                None => Typed::error(span),
            },
            ast::ExprKind::This => self.this_expr(span),
            ast::ExprKind::Dots => self.computed(hir::ExprKind::Invalid, Ty::DotsLit, span, false),
            ast::ExprKind::Invalid => self.computed(hir::ExprKind::Invalid, Ty::InvalidLit, span, false),
            ast::ExprKind::DontCare | ast::ExprKind::Default => {
                self.error("E0310", span, "this is not a value", "possible only in key sets, labels and arguments");
                Typed::error(span)
            }
            ast::ExprKind::Mask { .. } | ast::ExprKind::Range { .. } => {
                self.error("E0310", span, "a set is not a value", "possible only in key sets");
                Typed::error(span)
            }
            ast::ExprKind::List(items) => self.list_literal(items, hint, span),
            ast::ExprKind::Struct { fields, dots } => self.struct_literal(fields, dots.is_some(), hint, span),
            ast::ExprKind::Index { base, index } => self.index(base, index, span),
            ast::ExprKind::Slice { base, hi, lo } => self.slice(base, hi, lo, span),
            ast::ExprKind::PlusSlice { base, lo, width } => self.plus_slice(base, lo, width, span),
            ast::ExprKind::Member { base, name } => {
                if let ast::ExprKind::Path(path) = &base.kind {
                    let Some(entity) = self.resolve(path) else {
                        return Typed::error(span);
                    };
                    let ty = match entity {
                        Entity::Type(t) => Some(t),
                        Entity::Struct(d) => Some(Ty::Struct(d, Rc::new([]))),
                        _ => None,
                    };
                    if let Some(ty) = ty {
                        return self.type_member(&ty, name, span);
                    }
                }
                let base = self.expr(base, None);
                self.member(base, name, span)
            }
            ast::ExprKind::TypeMember { ty, name } => {
                let ty = self.ty(ty);
                self.type_member(&ty, name, span)
            }
            ast::ExprKind::Unary { op, operand } => self.unary(*op, operand, hint, span),
            ast::ExprKind::Binary { op, left, right } => self.binary(*op, left, right, hint, span),
            ast::ExprKind::Ternary { condition, then, otherwise } => self.mux(condition, then, otherwise, hint, span),
            ast::ExprKind::Cast { ty, operand } => {
                let target = self.ty(ty);
                let within = match (&target, &self.modular) {
                    // `(int) x` where the context truncates the result to the width of `x`.
                    (Ty::InfInt, Some(_)) => None,
                    (Ty::Bits(_) | Ty::Int(_), _) if is_modular(operand) => Some(target.clone()),
                    _ => None,
                };
                let around = std::mem::replace(&mut self.modular, within);
                let typed = self.expr(operand, Some(&target));
                self.modular = around;
                if target == Ty::Void {
                    self.error("E0302", span, "nothing can be cast to `void`", "cast here");
                    return Typed::error(span);
                }
                if let (Ty::InfInt, Some(cut), None) = (&target, self.modular.clone(), &typed.value)
                    && typed.ty.width() == cut.width()
                {
                    return self.cast(typed, &cut, span);
                }
                self.cast(typed, &target, span)
            }
            ast::ExprKind::Call { callee, type_args, args } => self.call(callee, type_args, args, hint, span),
            ast::ExprKind::Construct { ty, args } => self.construct_nameless(ty, args, hint, span),
        }
    }

    fn int_literal(&mut self, lit: &ast::IntLit, span: Span) -> Typed {
        let Some(width) = lit.width else {
            if lit.value.bits() > 8 * u64::from(MAX_WIDTH) {
                self.error("E0402", span, "this number is too large", "too many digits");
                return Typed::error(span);
            }
            return self.constant(Value::Int(lit.value.clone()), &Ty::InfInt, span);
        };
        if width.bits > MAX_WIDTH || width.bits == 0 {
            self.error(
                "E0402",
                span,
                format!("width {} is out of range", width.bits),
                format!("must be from 1 to {MAX_WIDTH}"),
            );
            return Typed::error(span);
        }
        let ty = if width.signed { Ty::Int(width.bits) } else { Ty::Bits(width.bits) };
        let wrapped = consteval::wrap(&lit.value, &ty);
        if wrapped != lit.value && lit.value.bits() > u64::from(width.bits) {
            let shown = self.show(&ty);
            self.report(
                Diagnostic::warning("W0002", format!("{} does not fit `{shown}`", lit.value))
                    .at(span, format!("becomes {wrapped}")),
            );
        }
        self.constant(Value::Int(wrapped), &ty, span)
    }

    /// A name as a value.
    fn entity_expr(&mut self, entity: &Entity<'a>, name: &str, span: Span) -> Typed {
        match entity {
            Entity::Const(value, ty) => self.constant(value.clone(), ty, span),
            Entity::Var(id, ty, place) => {
                let mut t = self.computed(hir::ExprKind::Var(*id), ty.clone(), span, false);
                t.place = place.clone();
                t
            }
            Entity::Instance(i) => {
                if i.open.is_some() {
                    self.unsupported(
                        span,
                        "handing over an instance with parameters that are known at compile time is",
                    );
                    return Typed::error(span);
                }
                let value = i.id.map_or(Value::Opaque, Value::Instance);
                let ty = Ty::Block(i.block, i.args.clone());
                self.constant(value, &ty, span)
            }
            Entity::Object(e, args, id) => {
                let value = id.map_or(Value::Opaque, Value::Object);
                let ty = Ty::Extern(*e, args.clone());
                self.constant(value, &ty, span)
            }
            other => {
                let what = other.what();
                let mut d =
                    Diagnostic::error("E0202", format!("`{name}` is not a value")).at(span, format!("this is {what}"));
                d = match other {
                    Entity::Block(_) | Entity::Package(_) if self.context.constructing => {
                        d.help(format!("to make an instance of it, write `{name}()`"))
                    }
                    Entity::Functions(_) | Entity::Action(_) => d.help(format!("to call it, write `{name}(...)`")),
                    Entity::Table(_) => d.help(format!("to look into it, write `{name}.apply()`")),
                    _ => d,
                };
                self.report(d);
                Typed::error(span)
            }
        }
    }

    fn list_literal(&mut self, items: &'a [ast::Expr], hint: Option<&Ty>, span: Span) -> Typed {
        let (dots, items) = match items.split_last() {
            Some((last, rest)) if matches!(last.kind, ast::ExprKind::Dots) => (true, rest),
            _ => (false, items),
        };
        let hints = hint.map(|h| match h {
            Ty::Stack(..) if items.len() > crate::types::MAX_STACK as usize => Vec::new(),
            h => self.member_types(h, items.len()),
        });
        let mut parts = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let hint = hints.as_ref().and_then(|h| h.get(i));
            let part = self.expr(item, hint.filter(|t| !t.is_err()));
            if part.ty == Ty::Void {
                self.error("E0300", item.span, "this has no value", "`void` in a list");
                return Typed::error(span);
            }
            parts.push(part);
        }
        if parts.iter().any(Typed::is_err) {
            return Typed::error(span);
        }
        let types: Rc<[Ty]> = parts.iter().map(|p| p.ty.clone()).collect();
        let kept = Items::List(parts.clone(), dots);
        let mut t = self.aggregate(parts, &Ty::ListLit(types), span);
        t.items = Some(Rc::new(kept));
        t
    }

    fn struct_literal(&mut self, fields: &'a [ast::NamedExpr], dots: bool, hint: Option<&Ty>, span: Span) -> Typed {
        let hints: Vec<(Arc<str>, Ty)> = match hint {
            Some(Ty::Struct(d, args)) => self.defs.fields(*d, args),
            _ => Vec::new(),
        };
        let mut parts: Vec<(Arc<str>, Span, Typed)> = Vec::new();
        let mut bad = false;
        for f in fields {
            let name = &f.name.name;
            let hint = hints.iter().find(|(n, _)| n == name).map(|(_, t)| t);
            let part = self.expr(&f.value, hint);
            if part.ty == Ty::Void {
                self.error("E0300", f.span, "this has no value", "`void` in a struct");
                bad = true;
            }
            if let Some(first) = parts.iter().find(|(n, _, _)| n == name).map(|p| p.1) {
                self.report(
                    Diagnostic::error("E0201", format!("field `{name}` is given twice"))
                        .at(f.name.span, "second value")
                        .related(first, "first given here"),
                );
                bad = true;
            }
            bad |= part.is_err();
            parts.push((name.clone(), f.name.span, part));
        }
        if bad {
            return Typed::error(span);
        }
        let ty = Ty::StructLit(parts.iter().map(|(n, _, p)| (n.clone(), p.ty.clone())).collect());
        let values = parts.iter().map(|(_, _, p)| p.clone()).collect();
        let mut t = self.aggregate(values, &ty, span);
        t.items = Some(Rc::new(Items::Struct(parts, dots)));
        t
    }

    fn index(&mut self, base: &'a ast::Expr, index: &'a ast::Expr, span: Span) -> Typed {
        let b = self.expr(base, None);
        let i = self.expr(index, None);
        if b.is_err() || i.is_err() {
            return Typed::error(span);
        }
        let i_ty = self.defs.underlying(&i.ty);
        if !matches!(i_ty, Ty::Bits(_) | Ty::Int(_) | Ty::InfInt) {
            let shown = self.show(&i.ty);
            self.error("E0300", index.span, format!("an index must be an integer, not `{shown}`"), "not an integer");
            return Typed::error(span);
        }
        let known = match &i.value {
            Some(Value::Int(v)) => Some(v.clone()),
            _ => None,
        };
        let opaque = i.value == Some(Value::Opaque);
        let count = match &b.ty {
            Ty::Stack(_, n) => *n as usize,
            Ty::Tuple(items) | Ty::ListLit(items) => items.len(),
            Ty::List(_) => match &b.value {
                Some(Value::Aggregate(values)) => values.len(),
                _ => {
                    self.unsupported(span, "indexing this list is");
                    return Typed::error(span);
                }
            },
            other => {
                let shown = self.show(other);
                self.error("E0301", span, format!("`{shown}` cannot be indexed"), "only stacks, tuples and lists can");
                return Typed::error(span);
            }
        };
        let position = match &known {
            Some(v) => match v.to_usize().filter(|v| *v < count) {
                Some(v) => Some(v),
                None => {
                    self.error(
                        "E0405",
                        index.span,
                        format!("index {v} is out of bounds"),
                        format!("there are {count} elements"),
                    );
                    return Typed::error(span);
                }
            },
            None => None,
        };
        if let Ty::Stack(element, _) = &b.ty {
            let element = (**element).clone();
            let effects = b.effects || i.effects;
            let place = b.place.clone();
            let idx = match position {
                Some(p) => self.constant(Value::Int(p.into()), &Ty::Bits(32), index.span),
                None if i_ty == Ty::InfInt && !opaque => {
                    self.not_constant(index.span);
                    return Typed::error(span);
                }
                None if i_ty.width().is_some_and(|w| w > 32) => match self.narrow_index(i, &i_ty) {
                    Some(i) => i,
                    None => return Typed::error(span),
                },
                None => {
                    let i = self.cast(i, &i_ty, index.span);
                    let wide = match i_ty {
                        Ty::Int(_) => self.cast(i, &Ty::Int(32), index.span),
                        _ => i,
                    };
                    self.cast(wide, &Ty::Bits(32), index.span)
                }
            };
            let kind = hir::ExprKind::Index(Box::new(b.hir), Box::new(idx.hir));
            let mut t = self.computed(kind, element, span, effects);
            t.place = place;
            return t;
        }
        let Some(p) = position else {
            if opaque {
                let ty = self.member_types(&b.ty, count).swap_remove(0);
                return self.constant(Value::Opaque, &ty, span);
            }
            self.not_constant(index.span);
            return Typed::error(span);
        };
        let ty = self.member_types(&b.ty, count).swap_remove(p);
        self.part(b, p, ty, span)
    }

    /// An index of more than 32 bits as one of 32 bits; values that do not fit are out of bounds in either form.
    fn narrow_index(&mut self, i: Typed, ty: &Ty) -> Option<Typed> {
        let span = i.span();
        if i.effects {
            self.unsupported(span, "an index of more than 32 bits that a call determines is");
            return None;
        }
        let unsigned = Ty::Bits(ty.width().unwrap_or(0));
        let i = self.cast(i, ty, span);
        let i = self.cast(i, &unsigned, span);
        let limit = consteval::mask(32);
        let bound = self.constant(Value::Int(limit.clone()), &unsigned, span);
        let greater = hir::ExprKind::Binary(hir::BinaryOp::Gt, Box::new(i.hir.clone()), Box::new(bound.hir));
        let greater = self.computed(greater, Ty::Bool, span, false);
        let last = self.constant(Value::Int(limit), &Ty::Bits(32), span);
        let low = self.cast(i, &Ty::Bits(32), span);
        let kind = hir::ExprKind::Mux(Box::new(greater.hir), Box::new(last.hir), Box::new(low.hir));
        Some(self.computed(kind, Ty::Bits(32), span, false))
    }

    /// Member number `p` of a struct or tuple.
    fn part(&mut self, base: Typed, p: usize, ty: Ty, span: Span) -> Typed {
        let value = match &base.value {
            Some(Value::Aggregate(values)) => values.get(p).cloned(),
            Some(Value::Opaque) => Some(Value::Opaque),
            _ => None,
        };
        if let Some(v) = value {
            return self.constant(v, &ty, span);
        }
        let (effects, place) = (base.effects, base.place.clone());
        let kind = hir::ExprKind::Field(Box::new(base.hir), p);
        let mut t = self.computed(kind, ty, span, effects);
        t.place = place;
        t
    }

    /// A position in a value of `width` bits.
    fn bit_position(&mut self, e: &'a ast::Expr, width: u32) -> Option<u32> {
        let t = self.expr(e, None);
        if t.is_err() {
            return None;
        }
        match &t.value {
            Some(Value::Int(i)) => match i.to_u32().filter(|i| *i < width) {
                Some(i) => Some(i),
                None => {
                    self.error(
                        "E0405",
                        e.span,
                        format!("bit {i} is out of bounds"),
                        format!("the value has {width} bits"),
                    );
                    None
                }
            },
            _ => {
                self.not_constant(e.span);
                None
            }
        }
    }

    fn slice(&mut self, base: &'a ast::Expr, hi: &'a ast::Expr, lo: &'a ast::Expr, span: Span) -> Typed {
        let Some((b, width)) = self.sliceable(base, span) else {
            return Typed::error(span);
        };
        let (h, l) = (self.bit_position(hi, width), self.bit_position(lo, width));
        let (Some(h), Some(l)) = (h, l) else {
            return Typed::error(span);
        };
        if h < l {
            self.error("E0405", span, "the high bit of a slice stands first", format!("{h} is less than {l}"));
            return Typed::error(span);
        }
        self.slice_of(b, h, l, span)
    }

    fn sliceable(&mut self, base: &'a ast::Expr, span: Span) -> Option<(Typed, u32)> {
        let b = self.expr(base, None);
        if b.is_err() {
            return None;
        }
        let u = self.defs.underlying(&b.ty);
        let Some(width) = u.width() else {
            let shown = self.show(&b.ty);
            self.error(
                "E0301",
                span,
                format!("bits of `{shown}` cannot be selected"),
                "only `bit<W>` and `int<W>` have bits",
            );
            return None;
        };
        let b = if u == b.ty { b } else { self.convert(b, &u) };
        Some((b, width))
    }

    fn slice_of(&mut self, b: Typed, h: u32, l: u32, span: Span) -> Typed {
        let ty = Ty::Bits(h - l + 1);
        match &b.value {
            Some(Value::Int(v)) => {
                let v = consteval::slice(v, h, l);
                return self.constant(Value::Int(v), &ty, span);
            }
            Some(Value::Opaque) => return self.constant(Value::Opaque, &ty, span),
            _ => {}
        }
        let (effects, place) = (b.effects, b.place.clone());
        let kind = hir::ExprKind::Slice(Box::new(b.hir), h, l);
        let mut t = self.computed(kind, ty, span, effects);
        t.place = place;
        t
    }

    fn plus_slice(&mut self, base: &'a ast::Expr, lo: &'a ast::Expr, width: &'a ast::Expr, span: Span) -> Typed {
        let Some((b, have)) = self.sliceable(base, span) else {
            return Typed::error(span);
        };
        let w = match self.expr(width, None) {
            t if t.is_err() => return Typed::error(span),
            t => match &t.value {
                Some(Value::Int(i)) if *i >= BigInt::one() && *i <= have.into() => i.to_u32(),
                Some(Value::Int(i)) => {
                    self.error(
                        "E0405",
                        width.span,
                        format!("width {i} is out of bounds"),
                        format!("the value has {have} bits"),
                    );
                    None
                }
                _ => {
                    self.not_constant(width.span);
                    None
                }
            },
        };
        let Some(w) = w else {
            return Typed::error(span);
        };
        let l = self.expr(lo, None);
        if l.is_err() {
            return Typed::error(span);
        }
        if let Some(Value::Int(i)) = &l.value {
            return match i.to_u32().filter(|i| i.checked_add(w).is_some_and(|e| e <= have)) {
                Some(i) => self.slice_of(b, i + w - 1, i, span),
                None => {
                    self.error(
                        "E0405",
                        span,
                        format!("bits from {i} are out of bounds"),
                        format!("the value has {have} bits"),
                    );
                    Typed::error(span)
                }
            };
        }
        if !matches!(l.ty, Ty::Bits(_)) {
            let shown = self.show(&l.ty);
            self.error("E0301", lo.span, format!("a bit position must be unsigned, not `{shown}`"), "not a `bit<W>`");
            return Typed::error(span);
        }
        // As a value: shift down and keep the low bits.
        let effects = b.effects || l.effects;
        let place = if b.place == Place::Writable { Place::RunTimeBits } else { b.place.clone() };
        let unsigned = self.cast(b, &Ty::Bits(have), span);
        let kind = hir::ExprKind::Binary(hir::BinaryOp::Shr, Box::new(unsigned.hir), Box::new(l.hir));
        let shifted = self.computed(kind, Ty::Bits(have), span, effects);
        let mut t = self.cast(shifted, &Ty::Bits(w), span);
        t.place = place;
        t
    }

    /// `T.name`.
    fn type_member(&mut self, ty: &Ty, name: &ast::Ident, span: Span) -> Typed {
        match ty {
            Ty::Err => Typed::error(span),
            Ty::Error => match self.errors_declared.get(&name.name) {
                Some((i, declaration)) => {
                    let (i, declaration) = (*i, *declaration);
                    self.index_use(name.span, declaration);
                    self.constant(Value::Error(i), ty, span)
                }
                None => {
                    let names: Vec<Arc<str>> = self.errors_declared.keys().cloned().collect();
                    let near = nearest(name.as_str(), names.iter().map(|n| &**n));
                    self.no_member(ty, name.as_str(), name.span, near);
                    Typed::error(span)
                }
            },
            Ty::Enum(e) => {
                let def = &self.defs.enums[*e];
                match def.members.iter().position(|(n, _)| *n == name.name) {
                    Some(i) => {
                        let value = if def.underlying.is_some() {
                            Value::Int(def.members[i].1.clone())
                        } else {
                            Value::Member(i)
                        };
                        self.index_member(ty, name);
                        self.constant(value, ty, span)
                    }
                    None => {
                        let names: Vec<Arc<str>> = def.members.iter().map(|(n, _)| n.clone()).collect();
                        let near = nearest(name.as_str(), names.iter().map(|n| &**n));
                        self.no_member(ty, name.as_str(), name.span, near);
                        Typed::error(span)
                    }
                }
            }
            _ => {
                self.no_member(ty, name.as_str(), name.span, None);
                Typed::error(span)
            }
        }
    }

    /// `base.name`, not called.
    fn member(&mut self, base: Typed, name: &ast::Ident, span: Span) -> Typed {
        match base.ty.clone() {
            Ty::Err => Typed::error(span),
            Ty::Struct(d, args) => match self.defs.field(d, &args, name.as_str()) {
                Some((i, ty)) => {
                    self.index_member(&base.ty, name);
                    self.part(base, i, ty, span)
                }
                None => {
                    let fields = self.defs.fields(d, &args);
                    let mut near = nearest(name.as_str(), fields.iter().map(|(n, _)| &**n));
                    let has_validity = self.defs.struct_kind(&base.ty) != Some(ast::StructKind::Struct);
                    let builtin = has_validity && matches!(name.as_str(), "isValid" | "setValid" | "setInvalid");
                    if has_validity && matches!(name.as_str(), "valid" | "is_valid" | "isvalid") {
                        near = Some("isValid()");
                    }
                    if builtin {
                        let d = Diagnostic::error("E0306", format!("`{name}` is a method"));
                        let d = d.at(span, "call it: add `()`");
                        self.report(d.suggest(name.span, name.as_str(), format!("{name}()")));
                    } else {
                        self.no_member(&base.ty, name.as_str(), name.span, near);
                    }
                    Typed::error(span)
                }
            },
            Ty::StructLit(fields) => match fields.iter().position(|(n, _)| *n == name.name) {
                Some(i) => {
                    let ty = fields[i].1.clone();
                    self.part(base, i, ty, span)
                }
                None => {
                    self.no_member(&base.ty, name.as_str(), name.span, None);
                    Typed::error(span)
                }
            },
            Ty::Stack(element, n) if self.defs.is_stack(&base.ty) => self.stack_member(base, &element, n, name, span),
            Ty::ApplyResult(table) => self.result_member(&base.ty, hir::TableId(table), name, span),
            _ => {
                self.no_member(&base.ty, name.as_str(), name.span, None);
                Typed::error(span)
            }
        }
    }

    /// `base.name` of a header stack with elements of a type.
    fn stack_member(&mut self, base: Typed, element: &Ty, size: u32, name: &ast::Ident, span: Span) -> Typed {
        let (effects, place) = (base.effects, base.place.clone());
        let boxed = Box::new(base.hir);
        let (kind, ty, place) = match name.as_str() {
            "size" => {
                return self.constant(Value::Int(size.into()), &Ty::Bits(32), span);
            }
            "next" => (hir::ExprKind::StackNext(boxed), element.clone(), place),
            "last" => {
                let place = Place::ReadOnly("`last` can only be read, unlike `next`", None);
                (hir::ExprKind::StackLast(boxed), element.clone(), place)
            }
            "lastIndex" => (hir::ExprKind::StackLastIndex(boxed), Ty::Bits(32), Place::None),
            _ => {
                let known = ["size", "next", "last", "lastIndex"];
                let near = nearest(name.as_str(), known.into_iter());
                self.no_member(&base.ty, name.as_str(), name.span, near);
                return Typed::error(span);
            }
        };
        if self.context.body != Body::Parser {
            self.error("E0310", span, format!("`{name}` of a stack is available only in parsers"), "not in a parser");
            return Typed::error(span);
        }
        let mut t = self.computed(kind, ty, span, effects);
        t.place = place;
        t
    }

    /// `table.apply().name`.
    fn result_member(&mut self, ty: &Ty, table: hir::TableId, name: &ast::Ident, span: Span) -> Typed {
        match name.as_str() {
            "hit" | "miss" => {
                let kind = hir::ExprKind::TableHit(table, name.as_str() == "hit");
                self.computed(kind, Ty::Bool, span, true)
            }
            "action_run" => {
                self.error("E0310", span, "`action_run` is only for `switch`", "not the subject of a switch");
                Typed::error(span)
            }
            _ => {
                let known = ["hit", "miss", "action_run"];
                let near = nearest(name.as_str(), known.into_iter());
                self.no_member(ty, name.as_str(), name.span, near);
                Typed::error(span)
            }
        }
    }
}

/// Whether the low bits of a result do not depend on higher bits of the operands.
fn is_modular(e: &ast::Expr) -> bool {
    use ast::BinaryOp as B;
    match &e.kind {
        ast::ExprKind::Int(_) => true,
        ast::ExprKind::Binary { op: B::Add | B::Sub | B::Mul | B::BitAnd | B::BitOr | B::BitXor, left, right } => {
            is_modular(left) && is_modular(right)
        }
        ast::ExprKind::Unary { op: ast::UnaryOp::Negate | ast::UnaryOp::Complement | ast::UnaryOp::Plus, operand } => {
            is_modular(operand)
        }
        ast::ExprKind::Cast { ty, .. } => matches!(ty.kind, ast::TypeKind::Int),
        _ => false,
    }
}
