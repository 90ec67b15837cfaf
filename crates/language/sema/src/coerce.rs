//! Conversions: implicit ones, explicit casts, and constants as expressions.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::{Span, nearest};
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;
use num_traits::Zero;

use crate::analyser::Analyser;
use crate::consteval::wrap;
use crate::hir;
use crate::types::Ty;
use crate::value::{Items, Place, Typed, Value};

/// The most members that an error lists.
const FEW_MEMBERS: usize = 16;

impl<'a> Analyser<'a> {
    /// A value as an expression.
    pub(crate) fn constant(&mut self, value: Value, ty: &Ty, span: Span) -> Typed {
        let hir = self.constant_hir(&value, ty, span);
        Typed { hir, ty: ty.clone(), value: Some(value), place: Place::None, effects: false, items: None }
    }

    fn constant_hir(&mut self, value: &Value, ty: &Ty, span: Span) -> hir::Expr {
        let kind = match value {
            Value::Int(i) => hir::ExprKind::Int(i.clone()),
            Value::Bool(b) => hir::ExprKind::Bool(*b),
            Value::Str(s) => hir::ExprKind::String(s.to_string()),
            Value::Error(e) => hir::ExprKind::Error(*e),
            Value::Member(m) => match ty {
                Ty::Enum(e) => hir::ExprKind::EnumMember(self.enum_id(*e), *m),
                _ => hir::ExprKind::Bool(false),
            },
            Value::Aggregate(values) => {
                let types: Vec<Ty> = self.member_types(ty, values.len());
                hir::ExprKind::Aggregate {
                    members: values.iter().zip(types).map(|(v, t)| self.constant_hir(v, &t, span)).collect(),
                    order: (0..values.len()).collect(),
                }
            }
            Value::Invalid => hir::ExprKind::Invalid,
            Value::Object(id) => hir::ExprKind::Object(*id),
            // Occurs only in code that is checked and discarded.
            Value::Instance(_) | Value::Package(_) | Value::Opaque => hir::ExprKind::Bool(false),
        };
        let ty = match (ty, value) {
            (Ty::List(t), Value::Aggregate(values)) => {
                let t = self.hir_ty(t);
                hir::Type::Tuple(values.iter().map(|_| t.clone()).collect())
            }
            _ => self.hir_ty(ty),
        };
        hir::Expr { kind, ty, span }
    }

    /// Types of the members of a compound type in order.
    pub(crate) fn member_types(&self, ty: &Ty, count: usize) -> Vec<Ty> {
        match ty {
            Ty::Struct(d, args) => self.defs.fields(*d, args).into_iter().map(|(_, t)| t).collect(),
            Ty::Tuple(items) | Ty::ListLit(items) => items.to_vec(),
            Ty::StructLit(items) => items.iter().map(|(_, t)| t.clone()).collect(),
            Ty::Stack(t, n) => vec![(**t).clone(); *n as usize],
            Ty::List(t) => vec![(**t).clone(); count],
            _ => vec![Ty::Err; count],
        }
    }

    /// An expression of type `target` made of `parts`, constant if all of them are.
    pub(crate) fn aggregate(&mut self, parts: Vec<Typed>, target: &Ty, span: Span) -> Typed {
        let order = (0..parts.len()).collect();
        self.aggregate_in_order(parts, order, target, span)
    }

    /// An expression of type `target` made of `parts`, evaluated in the order that the source has them.
    fn aggregate_in_order(&mut self, parts: Vec<Typed>, order: Vec<usize>, target: &Ty, span: Span) -> Typed {
        let values: Option<Rc<[Value]>> = parts.iter().map(|p| p.value.clone()).collect();
        let value =
            values.map(|values| if values.contains(&Value::Opaque) { Value::Opaque } else { Value::Aggregate(values) });
        let effects = parts.iter().any(|p| p.effects);
        let ty = match target {
            Ty::List(t) => {
                let t = self.hir_ty(t);
                hir::Type::Tuple(parts.iter().map(|_| t.clone()).collect())
            }
            _ => self.hir_ty(target),
        };
        Typed {
            hir: hir::Expr {
                kind: hir::ExprKind::Aggregate { members: parts.into_iter().map(|p| p.hir).collect(), order },
                ty,
                span,
            },
            ty: target.clone(),
            value,
            place: Place::None,
            effects,
            items: None,
        }
    }

    /// Converts implicitly to `target`; reports an error otherwise.
    pub(crate) fn coerce(&mut self, e: Typed, target: &Ty) -> Typed {
        if e.is_err() || target.is_err() {
            return Typed::error(e.span());
        }
        if e.ty == *target && e.items.is_none() {
            return e;
        }
        let span = e.span();
        match (&e.ty, target) {
            (Ty::InfInt, Ty::Bits(_) | Ty::Int(_)) => return self.int_to_width(e, target),
            (Ty::InfInt, Ty::Newtype(_)) => {
                let inner = self.defs.strip_newtype(target);
                if inner.width().is_some() {
                    let number = self.int_to_width(e, &inner);
                    return if number.is_err() { number } else { self.convert(number, target) };
                }
            }
            (Ty::Bits(_) | Ty::Int(_), Ty::InfInt) if e.value.is_some() => {
                return self.convert(e, target);
            }
            (Ty::ListLit(_) | Ty::StructLit(_), _) => {
                if let Some(items) = e.items.clone() {
                    return self.literal_to(&items, &e, target);
                }
            }
            (Ty::InvalidLit, t) if self.defs.is_header(t) || self.defs.is_union(t) => {
                return self.constant(Value::Invalid, target, span);
            }
            (Ty::InvalidLit, stack) if self.defs.is_stack(stack) => {
                return self.constant(Value::Invalid, target, span);
            }
            (Ty::DotsLit, _) => return self.default_value(target, span),
            (Ty::Enum(d), _) => {
                let underlying = self.defs.enums[*d].underlying.clone();
                if underlying.as_ref() == Some(target) {
                    return self.convert(e, target);
                }
            }
            (Ty::Param(_), _) | (_, Ty::Param(_)) if e.ty == *target => return e,
            _ => {}
        }
        if e.ty == *target {
            return e;
        }
        self.mismatch(&e.ty, target, span, Vec::new());
        Typed::error(span)
    }

    /// Reports a type.
    pub(crate) fn mismatch(&mut self, found: &Ty, wanted: &Ty, span: Span, notes: Vec<String>) {
        let (f, w) = (self.show(found), self.show(wanted));
        let mut d =
            Diagnostic::error("E0300", format!("expected `{w}`, found `{f}`")).at(span, format!("this is `{f}`"));
        for n in notes {
            d = d.note(n);
        }
        let same = match (found, wanted) {
            (Ty::Bits(_), Ty::Bits(_)) | (Ty::Int(_), Ty::Int(_)) => true,
            (Ty::Bits(a), Ty::Int(b)) | (Ty::Int(a), Ty::Bits(b)) => a == b,
            (Ty::Bits(1), Ty::Bool) | (Ty::Bool, Ty::Bits(1)) => true,
            (Ty::Newtype(_), t) => self.defs.strip_newtype(found) == *t,
            (t, Ty::Newtype(_)) => self.defs.strip_newtype(wanted) == *t,
            (Ty::InfInt, Ty::Enum(d)) => self.defs.enums[*d].underlying.is_some(),
            _ => false,
        };
        match (found, wanted) {
            (Ty::Bits(_) | Ty::Int(_) | Ty::InfInt, Ty::Bool) if *found != Ty::Bits(1) => {
                d = d.help("numbers are not truth values: compare, for instance `... != 0`");
            }
            (Ty::Bits(1), Ty::Bool) => d = d.help("compare, `... == 1`, or convert explicitly: `(bool)(...)`"),
            (Ty::ApplyResult(_), Ty::Bool) => d = d.help("ask whether the table had an entry: `.apply().hit`"),
            _ if same => d = d.help(format!("convert explicitly: `({w})(...)`")),
            _ => {}
        }
        self.report(d);
    }

    /// Makes an `int` a number of fixed width.
    fn int_to_width(&mut self, e: Typed, target: &Ty) -> Typed {
        let span = e.span();
        match e.value {
            Some(Value::Int(i)) => {
                let wrapped = wrap(&i, target);
                // 8w255 written as -1, or int<8> written as 0xff, are common and harmless.
                let bits = i.bits();
                let width = u64::from(target.width().unwrap_or(0));
                if wrapped != i && bits > width {
                    let shown = self.show(target);
                    self.report(
                        Diagnostic::warning("W0002", format!("{i} does not fit `{shown}`"))
                            .at(span, format!("becomes {wrapped}")),
                    );
                }
                self.constant(Value::Int(wrapped), target, span)
            }
            Some(Value::Opaque) => self.constant(Value::Opaque, target, span),
            _ => {
                self.error("E0307", span, "an `int` at run time has no width", "only constants can have type `int`");
                Typed::error(span)
            }
        }
    }

    /// The same value in another representation.
    pub(crate) fn convert(&mut self, e: Typed, target: &Ty) -> Typed {
        let span = e.span();
        let from = self.defs.underlying(&self.defs.strip_newtype(&e.ty));
        let to = self.defs.underlying(&self.defs.strip_newtype(target));
        let ty = self.hir_ty(target);
        if let Some(v) = &e.value {
            let converted = match (v, &to) {
                (Value::Int(i), Ty::Bits(_) | Ty::Int(_) | Ty::InfInt) => Some(Value::Int(wrap(i, &to))),
                (Value::Int(i), Ty::Bool) => Some(Value::Bool(!i.is_zero())),
                (Value::Bool(b), Ty::Bits(_) | Ty::Int(_) | Ty::InfInt) => Some(Value::Int(u8::from(*b).into())),
                (v, t) if *t == from => Some(v.clone()),
                (Value::Opaque, _) => Some(Value::Opaque),
                _ => None,
            };
            if let Some(v) = converted {
                return self.constant(v, target, span);
            }
        }
        if e.hir.ty == ty {
            // Only the name of the type changes.
            return Typed { ty: target.clone(), place: Place::None, ..e };
        }
        Typed {
            effects: e.effects,
            hir: hir::Expr { kind: hir::ExprKind::Cast(Box::new(e.hir)), ty, span },
            ty: target.clone(),
            value: None,
            place: Place::None,
            items: None,
        }
    }

    fn literal_to(&mut self, items: &Items, e: &Typed, target: &Ty) -> Typed {
        let span = e.span();
        match (items, target) {
            (Items::List(list, dots), Ty::Struct(d, args))
                if self.defs.structs[*d].kind != ast::StructKind::HeaderUnion =>
            {
                let fields = self.defs.fields(*d, args);
                let types = fields.into_iter().map(|(_, t)| t).collect();
                self.list_to(list, *dots, types, target, span)
            }
            (Items::List(list, dots), Ty::Tuple(types)) => self.list_to(list, *dots, types.to_vec(), target, span),
            (Items::List(list, dots), Ty::Stack(t, n)) => {
                let types = vec![(**t).clone(); *n as usize];
                self.list_to(list, *dots, types, target, span)
            }
            (Items::List(list, false), Ty::List(t)) => {
                let mut parts = Vec::new();
                for item in list {
                    parts.push(self.coerce(item.clone(), t));
                }
                if parts.iter().any(Typed::is_err) {
                    return Typed::error(span);
                }
                self.aggregate(parts, target, span)
            }
            (Items::Struct(list, dots), Ty::Struct(d, args))
                if self.defs.structs[*d].kind != ast::StructKind::HeaderUnion =>
            {
                self.struct_to(list, *dots, *d, args, target, span)
            }
            (Items::Struct(list, false), Ty::StructLit(types)) if list.len() == types.len() => {
                let mut parts = Vec::new();
                for ((_, _, item), (_, t)) in list.iter().zip(types.iter()) {
                    parts.push(self.coerce(item.clone(), t));
                }
                if parts.iter().any(Typed::is_err) {
                    return Typed::error(span);
                }
                self.aggregate(parts, target, span)
            }
            _ => {
                self.mismatch(&e.ty, target, span, Vec::new());
                Typed::error(span)
            }
        }
    }

    fn list_to(&mut self, list: &[Typed], dots: bool, types: Vec<Ty>, target: &Ty, span: Span) -> Typed {
        if list.len() > types.len() || (list.len() < types.len() && !dots) {
            let shown = self.show(target);
            let mut d =
                Diagnostic::error("E0300", format!("`{shown}` needs {} values, {} given", types.len(), list.len()))
                    .at(span, "wrong number of values");
            if let Ty::Struct(s, _) = target {
                d = d.related(self.defs.structs[*s].span, "declared here");
            }
            self.report(d);
            return Typed::error(span);
        }
        let mut parts = Vec::new();
        for (i, t) in types.iter().enumerate() {
            parts.push(match list.get(i) {
                Some(item) => self.coerce(item.clone(), t),
                None => self.default_value(t, span),
            });
        }
        if parts.iter().any(Typed::is_err) {
            return Typed::error(span);
        }
        self.aggregate(parts, target, span)
    }

    fn struct_to(
        &mut self,
        list: &[(Arc<str>, Span, Typed)],
        dots: bool,
        d: usize,
        args: &Rc<[Ty]>,
        target: &Ty,
        span: Span,
    ) -> Typed {
        let fields = self.defs.fields(d, args);
        let mut parts: Vec<Option<Typed>> = vec![None; fields.len()];
        let mut order = Vec::with_capacity(fields.len());
        let mut bad = false;
        for (name, at, item) in list {
            match fields.iter().position(|(n, _)| n == name) {
                Some(i) if parts[i].is_none() => {
                    self.index_member_at(target, name, *at);
                    let part = self.coerce(item.clone(), &fields[i].1);
                    bad |= part.is_err();
                    parts[i] = Some(part);
                    order.push(i);
                }
                Some(_) => {
                    self.error("E0201", *at, format!("field `{name}` is given twice"), "second value");
                    bad = true;
                }
                None => {
                    let names = fields.iter().map(|(n, _)| &**n);
                    self.no_member(target, name, *at, nearest(name, names));
                    bad = true;
                }
            }
        }
        let missing: Vec<String> =
            fields.iter().zip(&parts).filter(|(_, p)| p.is_none()).map(|((n, _), _)| format!("`{n}`")).collect();
        if !missing.is_empty() && !dots && !bad {
            let shown = self.show(target);
            let declared = self.defs.structs[d].span;
            self.report(
                Diagnostic::error("E0300", format!("no value for {} of `{shown}`", missing.join(", ")))
                    .at(span, "fields are missing")
                    .related(declared, "declared here")
                    .help("give them values, or end the list with `...` for defaults"),
            );
            bad = true;
        }
        if bad {
            return Typed::error(span);
        }
        order.extend((0..fields.len()).filter(|i| parts[*i].is_none()));
        let parts = parts
            .into_iter()
            .zip(fields)
            .map(|(p, (_, t))| match p {
                Some(p) => p,
                None => self.default_value(&t, span),
            })
            .collect();
        self.aggregate_in_order(parts, order, target, span)
    }

    pub(crate) fn no_member(&mut self, ty: &Ty, name: &str, span: Span, near: Option<&str>) {
        let shown = self.show(ty);
        let mut d = Diagnostic::error("E0203", format!("`{shown}` has no member `{name}`")).at(span, "no such member");
        let declared = match ty {
            Ty::Struct(s, _) => Some(self.defs.structs[*s].span),
            Ty::Enum(e) => Some(self.defs.enums[*e].span),
            Ty::Extern(e, _) => Some(self.defs.externs[*e].span),
            _ => None,
        };
        if let Some(at) = declared {
            d = d.related(at, "declared here");
        }
        match (near, ty) {
            (Some(near), _) => d = d.did_you_mean(span, name, near),
            (None, Ty::Struct(s, _)) if (1..=FEW_MEMBERS).contains(&self.defs.structs[*s].fields.len()) => {
                let names: Vec<&str> = self.defs.structs[*s].fields.iter().map(|field| &*field.name).collect();
                d = d.note(format!("its members are {}", names.join(", ")));
            }
            _ => {}
        }
        self.report(d);
    }

    /// The default value of a type (section 7.3).
    pub(crate) fn default_value(&mut self, ty: &Ty, span: Span) -> Typed {
        let value = match ty {
            Ty::Bool => Value::Bool(false),
            Ty::Bits(_) | Ty::Int(_) | Ty::InfInt => Value::Int(BigInt::zero()),
            Ty::String => Value::Str("".into()),
            Ty::Error => Value::Error(0),
            Ty::Enum(e) => {
                if self.defs.enums[*e].underlying.is_some() {
                    Value::Int(BigInt::zero())
                } else {
                    Value::Member(0)
                }
            }
            Ty::Newtype(_) => {
                let t = self.defs.strip_newtype(ty);
                let inner = self.default_value(&t, span);
                return Typed { ty: ty.clone(), ..inner };
            }
            Ty::Struct(d, args) if self.defs.structs[*d].kind == ast::StructKind::Struct => {
                let fields = self.defs.fields(*d, args);
                let mut parts = Vec::new();
                for (_, t) in fields {
                    parts.push(self.default_value(&t, span));
                }
                return self.aggregate(parts, ty, span);
            }
            // The default varbit is empty.
            Ty::Struct(..) | Ty::Varbit(_) => Value::Invalid,
            Ty::Stack(t, n) => {
                let part = self.default_value(t, span);
                return self.aggregate(vec![part; *n as usize], ty, span);
            }
            Ty::Tuple(items) => {
                let mut parts = Vec::new();
                for t in items.iter() {
                    parts.push(self.default_value(t, span));
                }
                return self.aggregate(parts, ty, span);
            }
            Ty::Param(_) => Value::Opaque,
            _ => {
                let shown = self.show(ty);
                self.error("E0300", span, format!("`{shown}` has no default value"), "needed here");
                return Typed::error(span);
            }
        };
        self.constant(value, ty, span)
    }

    /// `(target) e` (section 8.11).
    pub(crate) fn cast(&mut self, e: Typed, target: &Ty, span: Span) -> Typed {
        if e.is_err() || target.is_err() {
            return Typed::error(span);
        }
        let mut e = e;
        e.hir.span = span;
        if e.ty == *target {
            e.place = Place::None;
            return e;
        }
        if e.items.is_some() || matches!(e.ty, Ty::InvalidLit | Ty::DotsLit) {
            return self.coerce(e, target);
        }
        let (from, to) = (e.ty.clone(), target.clone());
        let allowed = match (&from, &to) {
            (Ty::InfInt, Ty::Bits(_) | Ty::Int(_)) => return self.int_to_width(e, target),
            (Ty::InfInt, Ty::Bool) => {
                matches!(&e.value, Some(Value::Int(i)) if *i == 0.into() || *i == 1.into())
            }
            (Ty::Bits(_), Ty::Bits(_)) | (Ty::Int(_), Ty::Int(_)) => true,
            (Ty::Bits(a), Ty::Int(b)) | (Ty::Int(a), Ty::Bits(b)) => a == b,
            (Ty::Bits(1), Ty::Bool) | (Ty::Bool, Ty::Bits(1)) => true,
            (Ty::Bits(_) | Ty::Int(_), Ty::InfInt) => e.value.is_some(),
            (Ty::Newtype(_), t) => self.defs.strip_newtype(&from) == self.defs.strip_newtype(t),
            (_, Ty::Newtype(_)) => {
                let inner = self.defs.strip_newtype(&to);
                if from == Ty::InfInt {
                    e = self.cast(e, &inner, span);
                    if e.is_err() {
                        return e;
                    }
                }
                inner == e.ty
            }
            (Ty::Enum(d), t) if self.defs.enums[*d].underlying.is_some() => {
                let u = self.defs.underlying(&from);
                if u == *t {
                    true
                } else {
                    let inner = self.convert(e, &u);
                    return self.cast(inner, target, span);
                }
            }
            (_, Ty::Enum(d)) if self.defs.enums[*d].underlying.is_some() => {
                let u = self.defs.underlying(&to);
                if u != from {
                    e = self.cast(e, &u, span);
                    if e.is_err() {
                        return e;
                    }
                }
                true
            }
            _ => false,
        };
        if !allowed {
            let (f, t) = (self.show(&from), self.show(target));
            let mut d =
                Diagnostic::error("E0302", format!("`{f}` cannot be cast to `{t}`")).at(span, "no such conversion");
            if matches!((&from, &to), (Ty::Bits(_), Ty::Int(_)) | (Ty::Int(_), Ty::Bits(_))) {
                d = d.help("change the sign and the width in two casts");
            }
            self.report(d);
            return Typed::error(span);
        }
        self.convert(e, target)
    }
}
