//! Default values of parameters (P4-16 6.8).

use std::rc::Rc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::context::{Body, Context};
use crate::defs::{DefaultValue, OpenDefault};
use crate::entity::Entity;
use crate::hir::Direction;
use crate::infer::Unifier;
use crate::types::{Subst, Ty};
use crate::value::Typed;

impl<'a> Analyser<'a> {
    /// Checks the default value `e` of a parameter of this type and direction.
    pub(crate) fn default_of(&mut self, e: &'a ast::Expr, ty: &Ty, direction: Direction) -> Option<DefaultValue> {
        if matches!(direction, Direction::Out | Direction::InOut) {
            self.error("E0317", e.span, "only parameters that go in have default values", "remove it");
            return None;
        }
        let generic = |ty: &Ty| ty.any(&mut |t| matches!(t, Ty::Param(_)));
        let object = matches!(ty, Ty::Extern(..) | Ty::Block(..) | Ty::Package(..));
        let was = std::mem::replace(&mut self.context.constructing, true);
        let mut typed = Typed::error(e.span);
        // What it makes belongs to its uses.
        self.dry_run(|s| typed = if generic(ty) || object { s.expr(e, None) } else { s.expr_to(e, ty) });
        self.context.constructing = was;
        if typed.is_err() {
            return None;
        }
        if object && !generic(ty) && typed.ty != *ty && !self.blocks_fit(ty, &typed.ty) {
            self.mismatch(&typed.ty, ty, e.span, Vec::new());
            return None;
        }
        if typed.value.is_none() {
            self.not_constant(e.span);
            return None;
        }
        if !object && !generic(&typed.ty) {
            return Some(DefaultValue::Known(Rc::new(typed)));
        }
        if self.context.body != Body::None {
            self.unsupported(e.span, "a default value that makes an object or depends on a type parameter is, here,");
            return None;
        }
        let symbols = self.scopes.iter().flat_map(|s| &s.symbols);
        let type_params = symbols.filter_map(|(name, s)| match s.entity {
            Entity::Type(Ty::Param(id)) => Some((name.clone(), id)),
            _ => None,
        });
        let type_params = type_params.collect();
        self.open_defaults.push(OpenDefault { expr: e, ty: typed.ty, order: self.order, type_params });
        Some(DefaultValue::Open(self.open_defaults.len() - 1))
    }

    /// Infers type arguments from the type of a default value, if possible.
    pub(crate) fn learn_default(&self, at: usize, subst: &Subst, want: &Ty, unifier: &mut Unifier) {
        unifier.unify(&self.defs, want, &self.open_defaults[at].ty.subst(subst));
    }

    /// Evaluates a default value for a call at `span` with these type arguments, as a value of type `want`.
    pub(crate) fn open_default(&mut self, at: usize, subst: &Subst, want: &Ty, span: Span) -> Option<Typed> {
        let OpenDefault { expr, ty, order, type_params } = self.open_defaults[at].clone();
        let unknown = |id: &u32| ty.uses(*id) && subst.get(id).is_none_or(Ty::has_vars);
        if let Some((name, _)) = type_params.iter().filter(|(_, id)| unknown(id)).min_by_key(|(_, id)| *id) {
            self.report(
                Diagnostic::error("E0303", format!("type argument `{name}` cannot be inferred"))
                    .at(span, "not enough is known here")
                    .related(expr.span, "this default value needs it"),
            );
            return None;
        }
        let mut context = Context::new(Body::None, Ty::Void, self.context.path.clone());
        context.constructing = true;
        context.nameless = self.context.nameless.take();
        let typed = self.in_declaration(order, context, |s| {
            for (name, id) in &type_params {
                let ty = subst.get(id).cloned().unwrap_or(Ty::Param(*id));
                s.declare_at(name, expr.span, Entity::Type(ty));
            }
            s.expr(expr, Some(want))
        });
        if typed.is_err() {
            return None;
        }
        let object = matches!(want, Ty::Extern(..) | Ty::Block(..) | Ty::Package(..));
        if !object {
            return Some(self.coerce(typed, want)).filter(|t| !t.is_err());
        }
        if typed.ty != *want && !self.blocks_fit(want, &typed.ty) {
            let (wanted, found) = (self.show(want), self.show(&typed.ty));
            self.report(
                Diagnostic::error("E0300", format!("expected `{wanted}`, found `{found}`"))
                    .at(span, "a default value does not fit here")
                    .related(expr.span, "the default value"),
            );
            return None;
        }
        Some(typed)
    }
}
