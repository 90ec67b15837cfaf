//! Inference of type arguments: unification of parameter types with argument types within one call.

use std::collections::HashMap;
use std::rc::Rc;

use crate::defs::Defs;
use crate::types::{Subst, Ty, bind};
use crate::value::{Items, Typed};

/// The substitution of the type variables of one call.
#[derive(Default)]
pub(crate) struct Unifier {
    bound: Vec<Option<Ty>>,
    /// Variables, and their types if only literals say anything about them.
    defaults: Vec<(u32, Ty)>,
}

impl Unifier {
    /// A fresh variable.
    pub(crate) fn var(&mut self) -> Ty {
        self.bound.push(None);
        Ty::Var((self.bound.len() - 1) as u32)
    }

    /// A fresh variable, with its type if only literals say anything about it.
    pub(crate) fn var_or(&mut self, default: Ty) -> Ty {
        let var = self.var();
        if let Ty::Var(number) = var {
            self.defaults.push((number, default));
        }
        var
    }

    /// Gives variables that have no type yet their defaults.
    pub(crate) fn apply_defaults(&mut self) {
        for (var, default) in std::mem::take(&mut self.defaults) {
            self.bound[var as usize].get_or_insert(default);
        }
    }

    /// Fresh variables for type parameters.
    pub(crate) fn fresh(&mut self, params: &[u32]) -> Subst {
        params.iter().map(|p| (*p, self.var())).collect()
    }

    /// The type with known variables substituted.
    pub(crate) fn resolve(&self, ty: &Ty) -> Ty {
        ty.map(&|t| match t {
            Ty::Var(v) => self.bound.get(*v as usize).and_then(|b| b.as_ref()).map(|b| self.resolve(b)),
            _ => None,
        })
    }

    fn bind_var(&mut self, var: u32, ty: &Ty) -> bool {
        let ty = self.resolve(ty);
        if ty == Ty::Var(var) {
            return true;
        }
        // A type that contains itself has no finite size.
        if ty.any(&mut |t| *t == Ty::Var(var)) {
            return false;
        }
        self.bound[var as usize] = Some(ty);
        true
    }

    /// Unifies two types, if possible.
    pub(crate) fn unify(&mut self, defs: &Defs, a: &Ty, b: &Ty) -> bool {
        let (a, b) = (self.resolve(a), self.resolve(b));
        match (&a, &b) {
            (Ty::Err, _) | (_, Ty::Err) => true,
            (Ty::Var(v), t) | (t, Ty::Var(v)) => self.bind_var(*v, t),
            (Ty::Struct(d, x), Ty::Struct(e, y)) | (Ty::Extern(d, x), Ty::Extern(e, y)) => {
                d == e && self.unify_all(defs, x, y)
            }
            (Ty::Package(d, x), Ty::Package(e, y)) => d == e && self.unify_all(defs, x, y),
            (Ty::Block(d, x), Ty::Block(e, y)) if d == e => self.unify_all(defs, x, y),
            (Ty::Block(d, x), Ty::Block(e, y)) => self.unify_blocks(defs, (*d, x), (*e, y)),
            (Ty::Tuple(x), Ty::Tuple(y)) => self.unify_all(defs, x, y),
            (Ty::List(x), Ty::List(y)) => self.unify(defs, x, y),
            (Ty::Stack(x, n), Ty::Stack(y, m)) => n == m && self.unify(defs, x, y),
            (a, b) => a == b,
        }
    }

    fn unify_all(&mut self, defs: &Defs, a: &[Ty], b: &[Ty]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| self.unify(defs, x, y))
    }

    /// A parser or control fits a parser or control type with the same parameters. It may leave out those that the type
    /// declares optional or with a default value.
    fn unify_blocks(&mut self, defs: &Defs, a: (usize, &[Ty]), b: (usize, &[Ty])) -> bool {
        let (mut a, mut b) = (a, b);
        if defs.blocks[a.0].apply.params.len() < defs.blocks[b.0].apply.params.len() {
            std::mem::swap(&mut a, &mut b);
        }
        let (da, db) = (&defs.blocks[a.0], &defs.blocks[b.0]);
        if da.is_parser != db.is_parser {
            return false;
        }
        let (sa, sb) = (bind(&da.type_params, a.1), bind(&db.type_params, b.1));
        let mut given = db.apply.params.iter().peekable();
        for p in &da.apply.params {
            let fits = given
                .peek()
                .is_some_and(|q| p.direction == q.direction && self.unify(defs, &p.ty.subst(&sa), &q.ty.subst(&sb)));
            if fits {
                given.next();
            } else if !p.optional && p.default.is_none() {
                return false;
            }
        }
        given.next().is_none()
    }

    /// Unifies a parameter's type with an argument's. Literals determine only variables that nothing else does.
    pub(crate) fn learn(&mut self, defs: &Defs, param: &Ty, arg: &Typed) -> bool {
        let param = self.resolve(param);
        if !param.has_vars() {
            return true; // conversion decides
        }
        if let Some(items) = arg.items.clone() {
            match (&param, &*items) {
                (Ty::Struct(d, args), Items::List(list, _)) => {
                    let fields = defs.fields(*d, args);
                    return fields.iter().zip(list).all(|((_, t), item)| self.learn(defs, t, item));
                }
                (Ty::Struct(d, args), Items::Struct(list, _)) => {
                    let fields = defs.fields(*d, args);
                    return list.iter().all(|(name, _, item)| {
                        fields.iter().find(|(n, _)| n == name).is_none_or(|(_, t)| self.learn(defs, t, item))
                    });
                }
                (Ty::Tuple(types), Items::List(list, _)) if types.len() == list.len() => {
                    return types.iter().zip(list).all(|(t, item)| self.learn(defs, t, item));
                }
                (Ty::List(t), Items::List(list, _)) => {
                    return list.iter().all(|item| self.learn(defs, t, item));
                }
                (Ty::Stack(t, _), Items::List(list, _)) => {
                    return list.iter().all(|item| self.learn(defs, t, item));
                }
                _ => {}
            }
        }
        let ty = natural(&arg.ty);
        self.unify(defs, &param, &ty)
    }
}

/// The default type of a literal: a list is a tuple.
pub(crate) fn natural(ty: &Ty) -> Ty {
    match ty {
        Ty::ListLit(items) => Ty::Tuple(items.iter().map(natural).collect::<Rc<[Ty]>>()),
        Ty::StructLit(items) => Ty::StructLit(items.iter().map(|(n, t)| (n.clone(), natural(t))).collect()),
        other => other.clone(),
    }
}

/// Substitution from parameters to the solved types.
pub(crate) fn solved(unifier: &Unifier, subst: &Subst) -> Subst {
    subst.iter().map(|(p, t)| (*p, unifier.resolve(t))).collect::<HashMap<_, _>>()
}
