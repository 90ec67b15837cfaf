//! An index of a program by place, for editors: what each name refers to, and the types of expressions and declarations.
//!
//! [`analyse_indexed`](crate::analyse_indexed) fills it; [`analyse`](crate::analyse) does not, and takes no time for it. A place that is
//! analysed several times, as in the body of a control with several instances, has what the last analysis found.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use num_bigint::BigInt;

use crate::analyser::Analyser;
use crate::scope::Entity;
use crate::types::Ty;
use crate::value::Value;

/// What is known of a program by place.
#[derive(Debug, Default)]
pub struct Index {
    /// What names refer to, by the place of the name.
    pub uses: HashMap<Span, Target>,
    /// Types of expressions, by the whole expression; of variables, constants, parameters, instances, fields and types, by the
    /// name in the declaration.
    pub types: HashMap<Span, Typed>,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The one whose name is at this place.
    Declaration(Span),
    /// The field or member of a type.
    Member {
        /// The name in the type's declaration.
        of: Span,
        /// The member.
        name: Arc<str>,
    },
}

/// The type of an expression or declaration.
#[derive(Clone, Debug)]
pub struct Typed {
    /// The type.
    pub ty: Arc<Type>,
    /// The value as text, if it is known at compile time and short.
    pub value: Option<String>,
}

/// A type.
#[derive(Debug)]
pub struct Type {
    /// As in source text.
    pub text: String,
    /// Its form.
    pub form: Form,
    /// Size in bits, if values have a fixed size in packets; of types with `varbit` fields the smallest.
    pub bits: Option<u64>,
    /// Size in bits of the largest value.
    pub max_bits: Option<u64>,
    /// The name in its declaration, if it has one.
    pub declaration: Option<Span>,
    /// Fields of structs, headers and unions.
    pub fields: Vec<(Arc<str>, Arc<Type>)>,
}

/// Forms of types.
#[derive(Clone, Debug)]
pub enum Form {
    /// Anything without members.
    Scalar,
    /// A struct.
    Struct,
    /// A header.
    Header,
    /// A header union.
    Union,
    /// A stack or array of these elements.
    Stack(Arc<Type>),
    /// An enum.
    Enum,
    /// `error`.
    Error,
    /// An extern type.
    Extern,
    /// A parser or control.
    Block,
    /// A package.
    Package,
    /// What applying a table returns.
    ApplyResult,
}

/// Longest text of a constant.
const MAX_VALUE: usize = 200;

/// The index while it is filled.
#[derive(Default)]
pub(crate) struct Builder {
    index: Index,
    types: HashMap<Ty, Arc<Type>>,
}

impl Builder {
    pub(crate) fn finish(self) -> Index {
        self.index
    }
}

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
