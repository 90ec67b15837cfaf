//! Declarations of types: structs, headers and unions, enums, typedefs and new types.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;
use num_bigint::BigInt;

use crate::analyser::Analyser;
use crate::consteval;
use crate::defs::{EnumDef, FieldDef, NewtypeDef, StructDef};
use crate::entity::{Entity, Scope};
use crate::types::Ty;
use crate::value::Value;

impl<'a> Analyser<'a> {
    pub(super) fn struct_decl(&mut self, d: &'a ast::Decl, s: &'a ast::StructDecl) -> usize {
        let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
        let mut fields = Vec::new();
        let type_params = self.scoped(|a| {
            let (ids, _) = a.type_params(&s.type_params);
            for f in &s.fields {
                let mut ty = a.ty(&f.ty);
                a.index_type(f.name.span, &ty, None);
                if let Some(first) = seen.get(&f.name.name) {
                    let first = *first;
                    a.duplicate(f.name.as_str(), f.name.span, first);
                    continue;
                }
                seen.insert(f.name.name.clone(), f.name.span);
                if !a.field_fits(&ty, s.kind) {
                    if !ty.is_err() {
                        let shown = a.show(&ty);
                        let kind = match s.kind {
                            ast::StructKind::Struct => "struct",
                            ast::StructKind::Header => "header",
                            ast::StructKind::HeaderUnion => "header union",
                        };
                        a.error(
                            "E0308",
                            f.ty.span,
                            format!("a {kind} cannot have a field of type `{shown}`"),
                            "not possible here",
                        );
                    }
                    ty = Ty::Err;
                }
                fields.push(FieldDef { name: f.name.name.clone(), ty, annotations: &f.annotations, span: f.span });
            }
            ids
        });
        let generic = !type_params.is_empty();
        self.defs.structs.push(StructDef {
            kind: s.kind,
            name: s.name.name.clone(),
            type_params,
            fields: Rc::new(fields),
            annotations: &d.annotations,
            span: s.name.span,
        });
        let id = self.defs.structs.len() - 1;
        let entity = if generic || self.check_size(&Ty::Struct(id, Rc::new([])), s.name.span) {
            Entity::Struct(id)
        } else {
            Entity::Broken
        };
        self.declare(&s.name, entity);
        id
    }

    /// Whether the fields of a specialised generic type can have their types; reports an error if not.
    pub(crate) fn fields_fit(&mut self, ty: &Ty, span: Span) -> bool {
        let Ty::Struct(d, args) = ty else {
            return true;
        };
        let kind = self.defs.structs[*d].kind;
        for (name, t) in self.defs.fields(*d, args) {
            if !t.is_err() && !self.field_fits(&t, kind) {
                let (shown, field) = (self.show(ty), self.show(&t));
                let declared = self.defs.structs[*d].span;
                self.report(
                    Diagnostic::error("E0308", format!("field `{name}` of `{shown}` cannot have type `{field}`"))
                        .at(span, "specialised here")
                        .related(declared, "declared here"),
                );
                return false;
            }
        }
        true
    }

    /// Whether a type can be that of a field.
    pub(super) fn field_fits(&self, ty: &Ty, kind: ast::StructKind) -> bool {
        let inner = self.defs.strip_newtype(ty);
        match (kind, &inner) {
            (_, Ty::Param(_)) => true,
            (_, Ty::Err) => false,
            (ast::StructKind::HeaderUnion, t) => self.defs.is_header(t),
            (ast::StructKind::Header, Ty::Bits(_) | Ty::Int(_) | Ty::Bool | Ty::Varbit(_)) => true,
            (ast::StructKind::Header, Ty::Enum(e)) => self.defs.enums[*e].underlying.is_some(),
            (ast::StructKind::Header, Ty::Struct(d, args)) => {
                self.defs.structs[*d].kind == ast::StructKind::Struct
                    && self
                        .defs
                        .fields(*d, args)
                        .iter()
                        .all(|(_, t)| !matches!(t, Ty::Varbit(_)) && self.field_fits(t, kind))
            }
            (ast::StructKind::Header, Ty::Stack(t, _)) => !matches!(**t, Ty::Varbit(_)) && self.field_fits(t, kind),
            (ast::StructKind::Header, _) => false,
            (ast::StructKind::Struct, t) => !matches!(
                t,
                Ty::InfInt
                    | Ty::String
                    | Ty::Void
                    | Ty::MatchKind
                    | Ty::List(_)
                    | Ty::Extern(..)
                    | Ty::Block(..)
                    | Ty::Package(..)
            ),
        }
    }

    pub(super) fn enum_decl(&mut self, e: &'a ast::EnumDecl, annotations: &'a [ast::Annotation]) {
        let underlying = e.underlying.as_ref().map(|t| {
            let ty = self.ty(t);
            if ty.is_err() || ty.width().is_some() {
                return ty;
            }
            let shown = self.show(&ty);
            self.error(
                "E0308",
                t.span,
                format!("an enum cannot be represented as `{shown}`"),
                "only `bit<W>` and `int<W>` are possible",
            );
            Ty::Err
        });
        let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
        let mut members = Vec::new();
        self.scopes.push(Scope::default());
        for (i, m) in e.members.iter().enumerate() {
            if let Some(first) = seen.get(&m.name.name) {
                let first = *first;
                self.duplicate(m.name.as_str(), m.name.span, first);
                continue;
            }
            seen.insert(m.name.name.clone(), m.name.span);
            let value = match (&underlying, &m.value) {
                (None, None) => BigInt::from(i),
                (None, Some(v)) => {
                    self.error("E0308", v.span, "only an enum with an underlying type has values", "remove it");
                    BigInt::from(i)
                }
                (Some(_), None) => {
                    self.error(
                        "E0308",
                        m.name.span,
                        format!("member `{}` needs a value", m.name),
                        "the enum has an underlying type",
                    );
                    BigInt::from(i)
                }
                (Some(ty), Some(v)) => {
                    let t = self.expr(v, Some(ty));
                    if let (Ty::InfInt, Some(Value::Int(i))) = (&t.ty, &t.value)
                        && !ty.is_err()
                        && consteval::wrap(i, ty) != *i
                    {
                        let shown = self.show(ty);
                        self.error(
                            "E0402",
                            v.span,
                            format!("{i} does not fit `{shown}`"),
                            "the enum's underlying type",
                        );
                        continue;
                    }
                    let t = self.coerce(t, ty);
                    match t.value {
                        Some(Value::Int(i)) => consteval::wrap(&i, ty),
                        _ if t.is_err() => BigInt::ZERO,
                        _ => {
                            self.not_constant(v.span);
                            BigInt::ZERO
                        }
                    }
                }
            };
            // Members that follow may use this one.
            if let Some(ty) = &underlying {
                let known = Entity::Const(Value::Int(value.clone()), ty.clone());
                self.declare(&m.name, known);
            }
            members.push((m.name.name.clone(), value));
        }
        self.scopes.pop();
        self.defs.enums.push(EnumDef {
            name: e.name.name.clone(),
            annotations,
            underlying: underlying.clone(),
            members,
            span: e.name.span,
        });
        let id = self.defs.enums.len() - 1;
        let entity = if underlying.is_some_and(|t| t.is_err()) { Entity::Broken } else { Entity::Type(Ty::Enum(id)) };
        self.declare(&e.name, entity);
    }

    pub(super) fn typedef(&mut self, d: &'a ast::Decl, t: &'a ast::TypedefDecl) {
        let target = match &t.target {
            ast::TypedefTarget::Type(ty) => self.ty(ty),
            ast::TypedefTarget::Decl(d) => {
                let name = match &d.kind {
                    ast::DeclKind::Struct(s) => {
                        self.struct_decl(d, s);
                        &s.name
                    }
                    ast::DeclKind::Enum(e) => {
                        self.enum_decl(e, &[]);
                        &e.name
                    }
                    _ => {
                        self.unsupported(d.span, "this kind of `typedef` is");
                        return;
                    }
                };
                match self.globals.symbols.get(&name.name).map(|s| &s.entity) {
                    Some(Entity::Type(ty)) => ty.clone(),
                    Some(Entity::Struct(d)) => Ty::Struct(*d, Rc::new([])),
                    _ => Ty::Err,
                }
            }
        };
        if target.is_err() {
            self.declare(&t.name, Entity::Broken);
            return;
        }
        if !t.is_new_type {
            self.declare(&t.name, Entity::Type(target));
            return;
        }
        self.check_translation(&d.annotations);
        let inner = self.defs.strip_newtype(&target);
        if !matches!(inner, Ty::Bits(_) | Ty::Int(_) | Ty::Bool | Ty::Varbit(_) | Ty::Error | Ty::Enum(_)) {
            let shown = self.show(&target);
            self.error(
                "E0308",
                t.name.span,
                format!("`type` cannot make a new type of `{shown}`"),
                "only of numbers, booleans, enums and errors",
            );
            self.declare(&t.name, Entity::Broken);
            return;
        }
        let (annotations, span) = (&*d.annotations, t.name.span);
        self.defs.newtypes.push(NewtypeDef { name: t.name.name.clone(), target, annotations, span });
        let id = self.defs.newtypes.len() - 1;
        self.declare(&t.name, Entity::Type(Ty::Newtype(id)));
    }

    /// The representation of a type towards controllers (P4Runtime 8.4.6): a width, `bit<width>` or `string`.
    pub(super) fn check_translation(&mut self, annotations: &'a [ast::Annotation]) {
        for annotation in annotations.iter().filter(|a| a.name.as_str() == "p4runtime_translation") {
            let ast::AnnotationBody::Unstructured { tokens, .. } = &annotation.body else { continue };
            let Some(comma) = tokens.iter().position(|t| &*t.text == ",") else { continue };
            let number = |t: &ast::AnnotationToken| matches!(t.kind, ast::AnnotationTokenKind::Int(_));
            let fits = match &tokens[comma + 1..] {
                [one] => number(one) || &*one.text == "string",
                [bit, open, width, close] => {
                    [&*bit.text, &*open.text, &*close.text] == ["bit", "<", ">"] && number(width)
                }
                _ => false,
            };
            if !fits {
                let message = "a type is translated to a number of bits, `bit<W>` or `string`";
                self.error("E0308", annotation.span, message, "translated to something else");
            }
        }
    }
}
