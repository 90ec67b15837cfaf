//! Fills the index while a program is analysed.

use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use num_bigint::BigInt;

use super::{Form, Target, Type, Typed};
use crate::analyser::Analyser;
use crate::entity::Entity;
use crate::types::Ty;
use crate::value::Value;

/// Longest text of a constant.
const MAX_VALUE: usize = 200;

impl<'a> Analyser<'a> {
    /// Notes that the name at `name` refers to the declaration at `declaration`.
    pub(crate) fn index_use(&mut self, name: Span, declaration: Span) {
        if let Some(builder) = &mut self.index {
            builder.index.uses.insert(name, Target::Declaration(declaration));
        }
    }

    /// Notes that a name refers to a field or member of a declared type.
    pub(crate) fn index_member(&mut self, ty: &Ty, name: &ast::Ident) {
        self.index_member_at(ty, &name.name, name.span);
    }

    pub(crate) fn index_member_at(&mut self, ty: &Ty, name: &Arc<str>, at: Span) {
        if self.index.is_none() {
            return;
        }
        let of = self.declaration_of(ty);
        if let (Some(builder), Some(of)) = (&mut self.index, of) {
            builder.index.uses.insert(at, Target::Member { of, name: name.clone() });
        }
    }

    /// Notes the type of an expression or declaration.
    pub(crate) fn index_type(&mut self, at: Span, ty: &Ty, value: Option<&Value>) {
        if self.index.is_none() || ty.is_err() {
            return;
        }
        let found = self.described(ty);
        let value = value.and_then(|v| self.value_text(v, ty));
        if let Some(builder) = &mut self.index {
            builder.index.types.insert(at, Typed { ty: found, value });
        }
    }

    /// Notes the type of what has been declared.
    pub(crate) fn index_entity(&mut self, at: Span, entity: &Entity<'a>) {
        if self.index.is_none() {
            return;
        }
        let open = |params: &[u32]| params.iter().map(|p| Ty::Param(*p)).collect();
        match entity {
            Entity::Var(_, ty, _) | Entity::ValueSet(_, ty) | Entity::Type(ty) => self.index_type(at, ty, None),
            Entity::Const(value, ty) => self.index_type(at, ty, Some(value)),
            Entity::Object(e, args, _) => self.index_type(at, &Ty::Extern(*e, args.clone()), None),
            Entity::Instance(i) => self.index_type(at, &Ty::Block(i.block, i.args.clone()), None),
            Entity::Struct(d) => self.index_type(at, &Ty::Struct(*d, open(&self.defs.structs[*d].type_params)), None),
            Entity::Extern(d) => self.index_type(at, &Ty::Extern(*d, open(&self.defs.externs[*d].type_params)), None),
            _ => {}
        }
    }

    fn declaration_of(&self, ty: &Ty) -> Option<Span> {
        Some(match ty {
            Ty::Struct(d, _) => self.defs.structs[*d].span,
            Ty::Enum(d) => self.defs.enums[*d].span,
            Ty::Newtype(d) => self.defs.newtypes[*d].span,
            Ty::Extern(d, _) => self.defs.externs[*d].span,
            Ty::Block(d, _) => self.defs.blocks[*d].span,
            Ty::Package(d, _) => self.defs.packages[*d].span,
            Ty::Stack(element, _) => self.declaration_of(element)?,
            _ => return None,
        })
    }

    fn described(&mut self, ty: &Ty) -> Arc<Type> {
        let known = self.index.as_ref().and_then(|b| b.types.get(ty));
        if let Some(known) = known {
            return known.clone();
        }
        let form = match self.defs.strip_newtype(ty) {
            Ty::Struct(d, _) => match self.defs.structs[d].kind {
                ast::StructKind::Struct => Form::Struct,
                ast::StructKind::Header => Form::Header,
                ast::StructKind::HeaderUnion => Form::Union,
            },
            Ty::Stack(element, _) => Form::Stack(self.described(&element)),
            Ty::Enum(_) => Form::Enum,
            Ty::Error => Form::Error,
            Ty::Extern(..) => Form::Extern,
            Ty::Block(..) => Form::Block,
            Ty::Package(..) => Form::Package,
            Ty::ApplyResult(_) => Form::ApplyResult,
            _ => Form::Scalar,
        };
        let fields = match ty {
            Ty::Struct(d, args) => self.defs.fields(*d, args),
            _ => Vec::new(),
        };
        let fields = fields.into_iter().map(|(name, ty)| (name, self.described(&ty))).collect();
        let found = Arc::new(Type {
            text: self.show(ty),
            form,
            bits: self.defs.bit_size(ty, false),
            max_bits: self.defs.bit_size(ty, true),
            declaration: self.declaration_of(ty),
            fields,
        });
        if let Some(builder) = &mut self.index {
            builder.types.insert(ty.clone(), found.clone());
        }
        found
    }

    fn value_text(&self, value: &Value, ty: &Ty) -> Option<String> {
        let text = match value {
            Value::Int(i) => number(i),
            Value::Bool(b) => b.to_string(),
            Value::Str(s) => format!("\"{s}\""),
            Value::Error(i) => format!("error.{}", self.out.errors.get(*i)?),
            Value::Member(i) => {
                let Ty::Enum(e) = ty else { return None };
                let def = &self.defs.enums[*e];
                format!("{}.{}", def.name, def.members.get(*i)?.0)
            }
            Value::Aggregate(values) if values.len() <= 16 => {
                let parts: Option<Vec<String>> = values.iter().map(|v| self.value_text(v, &Ty::Void)).collect();
                format!("{{ {} }}", parts?.join(", "))
            }
            _ => return None,
        };
        (text.len() <= MAX_VALUE).then_some(text)
    }
}

/// A number as decimal, and hexadecimal if that may help.
fn number(i: &BigInt) -> String {
    if i.bits() < 4 { i.to_string() } else { format!("{i} ({i:#x})") }
}
