//! Resolves types as written in the source.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;
use num_traits::ToPrimitive;

use crate::analyser::Analyser;
use crate::entity::Entity;
use crate::infer::Unifier;
use crate::types::{MAX_STACK, MAX_VARBIT, MAX_WIDTH, Ty};
use crate::value::Value;

impl<'a> Analyser<'a> {
    /// Resolves a type. After an error, which it reports, the result is [`Ty::Err`].
    pub(crate) fn ty(&mut self, t: &'a ast::TypeExpr) -> Ty {
        self.ty_with(t, &mut None)
    }

    /// As [`Analyser::ty`], with `_` and missing type arguments inferred by `unifier`.
    pub(crate) fn ty_with(&mut self, t: &'a ast::TypeExpr, unifier: &mut Option<&mut Unifier>) -> Ty {
        let span = t.span;
        let depth_ok = self.deeper(span, |s| s.ty_inner(t, unifier));
        depth_ok.unwrap_or(Ty::Err)
    }

    fn ty_inner(&mut self, t: &'a ast::TypeExpr, unifier: &mut Option<&mut Unifier>) -> Ty {
        match &t.kind {
            ast::TypeKind::Bool => Ty::Bool,
            ast::TypeKind::Error => Ty::Error,
            ast::TypeKind::MatchKind => Ty::MatchKind,
            ast::TypeKind::String => Ty::String,
            ast::TypeKind::Void => Ty::Void,
            ast::TypeKind::Int => Ty::InfInt,
            ast::TypeKind::Bit(None) => Ty::Bits(1),
            ast::TypeKind::Bit(Some(w)) => self.width(w, 0, MAX_WIDTH).map_or(Ty::Err, Ty::Bits),
            ast::TypeKind::SignedInt(w) => self.width(w, 1, MAX_WIDTH).map_or(Ty::Err, Ty::Int),
            ast::TypeKind::Varbit(w) => self.width(w, 0, MAX_VARBIT).map_or(Ty::Err, Ty::Varbit),
            ast::TypeKind::DontCare => match unifier {
                Some(u) => u.var(),
                None if self.open_types.is_some() => {
                    let p = self.defs.new_param(&"_".into());
                    self.open_types.get_or_insert_default().push(p);
                    Ty::Param(p)
                }
                None => {
                    self.error("E0303", t.span, "this type cannot be left open", "a type is needed here");
                    Ty::Err
                }
            },
            ast::TypeKind::Named(path) => {
                let Some(entity) = self.resolve(path) else {
                    return Ty::Err;
                };
                self.entity_type(&entity, path, None, t.span, unifier)
            }
            ast::TypeKind::Specialized { path, args } => {
                let Some(entity) = self.resolve(path) else {
                    return Ty::Err;
                };
                let mut types = Vec::new();
                for a in args {
                    types.push(self.ty_with(a, unifier));
                }
                self.entity_type(&entity, path, Some(types), t.span, unifier)
            }
            ast::TypeKind::Array { element, size } => {
                let n = self.width(size, 1, MAX_STACK);
                let e = self.ty_with(element, unifier);
                let (Some(n), false) = (n, e.is_err()) else {
                    return Ty::Err;
                };
                if self.defs.is_header(&e) || self.defs.is_union(&e) {
                    let stack = Ty::Stack(Rc::new(e), n);
                    if self.check_size(&stack, t.span) { stack } else { Ty::Err }
                } else if matches!(e, Ty::Param(_)) {
                    Ty::Stack(Rc::new(e), n)
                } else if self.defs.is_stack(&e)
                    || !(e.width().is_some()
                        || matches!(e, Ty::Bool | Ty::Varbit(_) | Ty::Error | Ty::Enum(_) | Ty::Newtype(_))
                        || matches!(e, Ty::Struct(..) | Ty::Stack(..)))
                {
                    let shown = self.show(&e);
                    self.error(
                        "E0308",
                        element.span,
                        format!("an array of `{shown}` is not possible"),
                        "not a type of elements",
                    );
                    Ty::Err
                } else {
                    let array = Ty::Stack(Rc::new(e), n);
                    if self.check_size(&array, t.span) { array } else { Ty::Err }
                }
            }
            ast::TypeKind::Tuple(items) => {
                let mut types = Vec::new();
                for i in items {
                    let ty = self.ty_with(i, unifier);
                    if !self.value_type(&ty, i.span, "a tuple") {
                        return Ty::Err;
                    }
                    types.push(ty);
                }
                let tuple = Ty::tuple(types);
                if self.check_size(&tuple, t.span) { tuple } else { Ty::Err }
            }
            ast::TypeKind::List(item) => {
                let ty = self.ty_with(item, unifier);
                if ty.is_err() { Ty::Err } else { Ty::List(Rc::new(ty)) }
            }
        }
    }

    /// Whether `ty` can be a member of a compound type; reports if not.
    fn value_type(&mut self, ty: &Ty, span: Span, of: &str) -> bool {
        let bad = match ty {
            Ty::Err => return false,
            Ty::Void | Ty::Extern(..) | Ty::Block(..) | Ty::Package(..) => true,
            _ => false,
        };
        if bad {
            let shown = self.show(ty);
            self.error("E0308", span, format!("`{shown}` cannot be part of {of}"), "not a type of values");
        }
        !bad
    }

    fn width(&mut self, e: &'a ast::Expr, min: u32, max: u32) -> Option<u32> {
        let typed = self.expr(e, None);
        if typed.is_err() {
            return None;
        }
        match typed.value {
            Some(Value::Int(i)) => match i.to_u32() {
                Some(n) if n >= min && n <= max => Some(n),
                _ => {
                    self.report(
                        Diagnostic::error("E0402", format!("size {i} is out of range"))
                            .at(e.span, format!("must be from {min} to {max}")),
                    );
                    None
                }
            },
            _ => {
                self.error(
                    "E0400",
                    e.span,
                    "a size must be an integer known at compile time",
                    "not a constant integer",
                );
                None
            }
        }
    }

    pub(crate) fn entity_type(
        &mut self,
        entity: &Entity<'a>,
        path: &ast::Path,
        args: Option<Vec<Ty>>,
        span: Span,
        unifier: &mut Option<&mut Unifier>,
    ) -> Ty {
        let (params, declared, name): (usize, Span, Arc<str>) = match entity {
            Entity::Type(ty) => {
                if args.is_some() {
                    let shown = self.show(ty);
                    self.error("E0204", span, format!("`{shown}` has no type parameters"), "type arguments given");
                    return Ty::Err;
                }
                return ty.clone();
            }
            Entity::Struct(d) => {
                let def = &self.defs.structs[*d];
                (def.type_params.len(), def.span, def.name.clone())
            }
            Entity::Extern(d) => {
                let def = &self.defs.externs[*d];
                (def.type_params.len(), def.span, def.name.clone())
            }
            Entity::Block(d) => {
                let def = &self.defs.blocks[*d];
                (def.type_params.len(), def.span, def.name.clone())
            }
            Entity::Package(d) => {
                let def = &self.defs.packages[*d];
                (def.type_params.len(), def.span, def.name.clone())
            }
            other => {
                let what = other.what();
                self.error("E0202", span, format!("`{}` is not a type", path.name), format!("this is {what}"));
                return Ty::Err;
            }
        };
        let args = match args {
            Some(args) => args,
            None => match unifier {
                Some(u) => (0..params).map(|_| u.var()).collect(),
                None => Vec::new(),
            },
        };
        if args.iter().any(Ty::is_err) {
            return Ty::Err;
        }
        if args.len() != params {
            let plural = if params == 1 { "" } else { "s" };
            let text = format!("`{name}` takes {params} type argument{plural}, {} given", args.len());
            let mut d = Diagnostic::error("E0204", text).at(span, "wrong number of type arguments");
            if matches!(&*name, "counter" | "meter" | "direct_meter" | "register") && args.len() == params + 1 {
                d = d.help(format!(
                    "v1model has a type of indices since 2020: leave it out, or write `#define V1MODEL_VERSION 20200408` before \
                     `#include <v1model.p4>` if `{name}` is v1model's"
                ));
            }
            self.report(d.related(declared, "declared here"));
            return Ty::Err;
        }
        if matches!(entity, Entity::Struct(_)) && !args.iter().all(|a| self.value_type(a, span, "a struct")) {
            return Ty::Err;
        }
        let args: Rc<[Ty]> = args.into();
        match entity {
            Entity::Struct(d) => {
                let ty = Ty::Struct(*d, args);
                if ty.has_vars() {
                    return ty;
                }
                if params > 0 && !self.fields_fit(&ty, span) {
                    return Ty::Err;
                }
                if !self.check_size(&ty, span) {
                    return Ty::Err;
                }
                ty
            }
            Entity::Extern(d) => Ty::Extern(*d, args),
            Entity::Block(d) => Ty::Block(*d, args),
            Entity::Package(d) => Ty::Package(*d, args),
            _ => Ty::Err,
        }
    }
}
