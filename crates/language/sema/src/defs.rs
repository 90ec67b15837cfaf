//! Declarations of nominal types, and the signatures of what can be called.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use num_bigint::BigInt;

use crate::hir;
use crate::types::{Ty, bind};
use crate::value::Typed;

/// A declared struct, header or header union.
pub(crate) struct StructDef<'a> {
    pub kind: ast::StructKind,
    pub name: Arc<str>,
    pub type_params: Vec<u32>,
    pub fields: Rc<Vec<FieldDef<'a>>>,
    pub annotations: &'a [ast::Annotation],
    pub span: Span,
}

pub(crate) struct FieldDef<'a> {
    pub name: Arc<str>,
    pub ty: Ty,
    pub annotations: &'a [ast::Annotation],
    pub span: Span,
}

pub(crate) struct EnumDef<'a> {
    pub name: Arc<str>,
    pub annotations: &'a [ast::Annotation],
    pub underlying: Option<Ty>,
    pub members: Vec<(Arc<str>, BigInt)>,
    pub span: Span,
}

pub(crate) struct NewtypeDef<'a> {
    pub name: Arc<str>,
    pub target: Ty,
    pub annotations: &'a [ast::Annotation],
    pub span: Span,
}

pub(crate) struct ExternDef {
    pub name: Arc<str>,
    pub type_params: Vec<u32>,
    pub constructors: Vec<Rc<Sig>>,
    pub methods: Vec<Rc<Sig>>,
    pub span: Span,
}

/// The body behind a parser or control.
#[derive(Clone, Copy)]
pub(crate) enum BlockDecl<'a> {
    Parser(&'a ast::ParserDecl),
    Control(&'a ast::ControlDecl),
}

pub(crate) struct BlockDef<'a> {
    pub name: Arc<str>,
    pub is_parser: bool,
    pub type_params: Vec<u32>,
    /// Apply parameters.
    pub apply: Rc<Sig>,
    /// Constructor parameters.
    pub constructor: Rc<Sig>,
    /// `None` for a type declaration.
    pub decl: Option<BlockDecl<'a>>,
    /// Position among the program's top-level declarations; the body sees only earlier ones.
    pub order: usize,
    pub annotations: &'a [ast::Annotation],
    pub span: Span,
}

pub(crate) struct PackageDef {
    pub name: Arc<str>,
    pub type_params: Vec<u32>,
    pub constructor: Rc<Sig>,
    /// The architecture in `@pkginfo(arch="..")`.
    pub architecture: Option<String>,
    pub span: Span,
}

/// Parameters and result of a callee.
#[derive(Debug)]
pub(crate) struct Sig {
    pub name: Arc<str>,
    pub type_params: Vec<u32>,
    pub type_param_names: Vec<Arc<str>>,
    /// Type parameters that stand for `_`.
    pub open_types: Vec<u32>,
    pub params: Vec<ParamSig>,
    pub ret: Ty,
    pub is_abstract: bool,
    /// An abstract method that objects may leave out.
    pub is_optional: bool,
    pub deprecated: Option<Arc<str>>,
    /// `@noSideEffects` or `@pure`: a call changes nothing but its out arguments and result.
    pub no_side_effects: bool,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub(crate) struct ParamSig {
    pub name: Arc<str>,
    /// `@name`.
    pub renamed: Option<Arc<str>>,
    pub annotations: Rc<[hir::Annotation]>,
    pub direction: hir::Direction,
    pub ty: Ty,
    pub default: Option<DefaultValue>,
    pub optional: bool,
    pub span: Span,
}

impl ParamSig {
    /// Its name, or what `@name` says.
    pub(crate) fn control_plane_name(&self) -> &str {
        self.renamed.as_ref().unwrap_or(&self.name)
    }

    /// Whether its argument exists only at compile time.
    pub(crate) fn is_known(&self) -> bool {
        self.direction == hir::Direction::None && self.ty.is_immaterial()
    }
}

/// The nominal types.
#[derive(Default)]
pub(crate) struct Defs<'a> {
    pub structs: Vec<StructDef<'a>>,
    pub enums: Vec<EnumDef<'a>>,
    pub newtypes: Vec<NewtypeDef<'a>>,
    pub externs: Vec<ExternDef>,
    pub blocks: Vec<BlockDef<'a>>,
    pub packages: Vec<PackageDef>,
    pub type_params: Vec<Arc<str>>,
}

/// The default value of a parameter.
#[derive(Clone, Debug)]
pub(crate) enum DefaultValue {
    /// The same for all uses.
    Known(Rc<Typed>),
    /// It makes an instance or depends on type parameters, so that each use evaluates it: an index into
    /// [`Analyser::open_defaults`](crate::analyser::Analyser::open_defaults).
    Open(usize),
}

/// A default value that each use evaluates.
#[derive(Clone)]
pub(crate) struct OpenDefault<'a> {
    pub expr: &'a ast::Expr,
    /// Its type, which may depend on the type parameters.
    pub ty: Ty,
    /// The position of the declaration among those of the top level.
    pub order: usize,
    pub type_params: Vec<(Arc<str>, u32)>,
}

/// Maximum length of a type's name in messages, in bytes.
const MAX_SHOWN: usize = 200;

impl<'a> Defs<'a> {
    /// A new type parameter.
    pub(crate) fn new_param(&mut self, name: &Arc<str>) -> u32 {
        self.type_params.push(name.clone());
        (self.type_params.len() - 1) as u32
    }

    /// Fields of a struct-like type with the type arguments in place.
    pub(crate) fn fields(&self, def: usize, args: &[Ty]) -> Vec<(Arc<str>, Ty)> {
        let d = &self.structs[def];
        let subst = bind(&d.type_params, args);
        d.fields.iter().map(|f| (f.name.clone(), f.ty.subst(&subst))).collect()
    }

    /// The field called `name`, by position and type.
    pub(crate) fn field(&self, def: usize, args: &[Ty], name: &str) -> Option<(usize, Ty)> {
        let d = &self.structs[def];
        let i = d.fields.iter().position(|f| &*f.name == name)?;
        Some((i, d.fields[i].ty.subst(&bind(&d.type_params, args))))
    }

    pub(crate) fn struct_kind(&self, ty: &Ty) -> Option<ast::StructKind> {
        match ty {
            Ty::Struct(d, _) => Some(self.structs[*d].kind),
            _ => None,
        }
    }

    pub(crate) fn is_header(&self, ty: &Ty) -> bool {
        self.struct_kind(ty) == Some(ast::StructKind::Header)
    }

    pub(crate) fn is_union(&self, ty: &Ty) -> bool {
        self.struct_kind(ty) == Some(ast::StructKind::HeaderUnion)
    }

    /// The type under `type` declarations.
    pub(crate) fn strip_newtype(&self, ty: &Ty) -> Ty {
        let mut t = ty.clone();
        while let Ty::Newtype(n) = t {
            t = self.newtypes[n].target.clone();
        }
        t
    }

    /// A serialisable enum's underlying type; any other type itself.
    pub(crate) fn underlying(&self, ty: &Ty) -> Ty {
        match ty {
            Ty::Enum(e) => self.enums[*e].underlying.clone().unwrap_or(ty.clone()),
            _ => ty.clone(),
        }
    }

    /// The type as in source text, truncated if it is very long.
    pub(crate) fn show(&self, ty: &Ty) -> String {
        let mut out = String::new();
        self.show_in(ty, &mut out);
        if out.len() > MAX_SHOWN {
            out.truncate(out.floor_char_boundary(MAX_SHOWN));
            out.push('…');
        }
        out
    }

    fn show_in(&self, ty: &Ty, out: &mut String) {
        // The rest would be truncated.
        if out.len() > MAX_SHOWN {
            return;
        }
        match ty {
            Ty::Err => out.push_str("<error>"),
            Ty::Bool => out.push_str("bool"),
            Ty::Bits(w) => *out += &format!("bit<{w}>"),
            Ty::Int(w) => *out += &format!("int<{w}>"),
            Ty::InfInt => out.push_str("int"),
            Ty::Varbit(w) => *out += &format!("varbit<{w}>"),
            Ty::String => out.push_str("string"),
            Ty::Error => out.push_str("error"),
            Ty::MatchKind => out.push_str("match_kind"),
            Ty::Void => out.push_str("void"),
            Ty::Enum(d) => out.push_str(&self.enums[*d].name),
            Ty::Struct(d, items) => self.show_generic(&self.structs[*d].name, items, out),
            Ty::Stack(t, n) => {
                self.show_in(t, out);
                *out += &format!("[{n}]");
            }
            Ty::Tuple(items) => {
                out.push_str("tuple<");
                self.show_list(items, out);
                out.push('>');
            }
            Ty::List(t) => {
                out.push_str("list<");
                self.show_in(t, out);
                out.push('>');
            }
            Ty::Newtype(d) => out.push_str(&self.newtypes[*d].name),
            Ty::Extern(d, items) => self.show_generic(&self.externs[*d].name, items, out),
            Ty::Block(d, items) => self.show_generic(&self.blocks[*d].name, items, out),
            Ty::Package(d, items) => self.show_generic(&self.packages[*d].name, items, out),
            Ty::Param(p) => out.push_str(&self.type_params[*p as usize]),
            Ty::Var(_) => out.push('_'),
            Ty::ListLit(items) => {
                out.push_str("{ ");
                self.show_list(items, out);
                out.push_str(" }");
            }
            Ty::StructLit(items) => {
                out.push_str("{ ");
                for (i, (name, t)) in items.iter().enumerate() {
                    *out += &format!("{}{name} = ", if i > 0 { ", " } else { "" });
                    self.show_in(t, out);
                }
                out.push_str(" }");
            }
            Ty::InvalidLit => out.push_str("{#}"),
            Ty::DotsLit => out.push_str("..."),
            Ty::ApplyResult(_) => out.push_str("apply_result"),
        }
    }

    fn show_list(&self, items: &[Ty], out: &mut String) {
        for (i, t) in items.iter().enumerate() {
            if out.len() > MAX_SHOWN {
                return;
            }
            if i > 0 {
                out.push_str(", ");
            }
            self.show_in(t, out);
        }
    }

    fn show_generic(&self, name: &str, items: &[Ty], out: &mut String) {
        out.push_str(name);
        if !items.is_empty() {
            out.push('<');
            self.show_list(items, out);
            out.push('>');
        }
    }

    /// Size in bits for types with a fixed size; `None` for others.
    pub(crate) fn bit_size(&self, ty: &Ty, largest: bool) -> Option<u64> {
        Some(match ty {
            Ty::Bool => 1,
            Ty::Bits(w) | Ty::Int(w) => u64::from(*w),
            Ty::Varbit(w) => {
                if largest {
                    u64::from(*w)
                } else {
                    0
                }
            }
            Ty::Enum(e) => self.bit_size(self.enums[*e].underlying.as_ref()?, largest)?,
            Ty::Newtype(_) => self.bit_size(&self.strip_newtype(ty), largest)?,
            Ty::Tuple(items) => {
                let mut sum = 0u64;
                for t in items.iter() {
                    sum = sum.saturating_add(self.bit_size(t, largest)?);
                }
                sum
            }
            Ty::Stack(t, n) => self.bit_size(t, largest)?.saturating_mul(u64::from(*n)),
            Ty::Struct(d, items) => {
                let sizes = self
                    .fields(*d, items)
                    .iter()
                    .map(|(_, t)| self.bit_size(t, largest))
                    .collect::<Option<Vec<_>>>()?;
                if self.is_union(ty) {
                    let bound = if largest { sizes.iter().max() } else { sizes.iter().min() };
                    bound.copied().unwrap_or(0)
                } else {
                    sizes.iter().fold(0u64, |a, b| a.saturating_add(*b))
                }
            }
            _ => return None,
        })
    }

    /// Whether it is a header stack; other arrays have neither `next` nor methods.
    pub(crate) fn is_stack(&self, ty: &Ty) -> bool {
        matches!(ty, Ty::Stack(t, _) if self.is_header(t) || self.is_union(t))
    }

    /// Whether a varbit is in it.
    pub(crate) fn count_varbits(&self, ty: &Ty) -> usize {
        match ty {
            Ty::Varbit(_) => 1,
            Ty::Struct(d, items) => self.fields(*d, items).iter().map(|(_, t)| self.count_varbits(t)).sum(),
            Ty::Tuple(items) => items.iter().map(|t| self.count_varbits(t)).sum(),
            Ty::Stack(t, _) => self.count_varbits(t),
            _ => 0,
        }
    }

    /// The number of scalars in it.
    pub(crate) fn leaves(&self, ty: &Ty, memo: &mut HashMap<Ty, u64>) -> u64 {
        match ty {
            Ty::Struct(d, items) => {
                if let Some(n) = memo.get(ty) {
                    return *n;
                }
                let n = self.fields(*d, items).iter().fold(1u64, |a, (_, t)| a.saturating_add(self.leaves(t, memo)));
                memo.insert(ty.clone(), n);
                n
            }
            Ty::Tuple(items) => items.iter().fold(1u64, |a, t| a.saturating_add(self.leaves(t, memo))),
            Ty::Stack(t, n) => self.leaves(t, memo).saturating_mul(u64::from(*n)),
            Ty::Newtype(_) => self.leaves(&self.strip_newtype(ty), memo),
            _ => 1,
        }
    }
}
