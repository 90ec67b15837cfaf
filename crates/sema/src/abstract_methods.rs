//! Abstract methods of extern objects, which the program implements: `T(args) name = { void apply(..) { .. } };`.

use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use hopwright_source::Span;

use crate::analyser::{Analyser, Body, Context};
use crate::hir;
use crate::scope::Entity;
use crate::types::{Sig, Ty, bind};

impl<'a> Analyser<'a> {
    /// Checks an object's initialiser. Returns false if the object cannot be used.
    pub(crate) fn abstract_methods(
        &mut self,
        made: &Entity<'a>,
        initialiser: Option<&'a [ast::Decl]>,
        span: Span,
    ) -> bool {
        let &Entity::Object(def, ref types, id) = made else {
            if initialiser.is_some() {
                self.error("E0406", span, "only an extern object has abstract methods", "remove its initialiser");
            }
            return initialiser.is_none();
        };
        let subst = bind(&self.defs.externs[def].type_params, types);
        let wanted: Vec<_> = self.defs.externs[def].methods.iter().filter(|m| m.is_abstract).cloned().collect();
        let mut methods = Vec::new();
        let mut good = true;
        for decl in initialiser.unwrap_or_default() {
            let ast::DeclKind::Function(function) = &decl.kind else {
                self.unsupported(decl.span, "an object in an object's initialiser is");
                good = false;
                continue;
            };
            let name = function.sig.name.as_str();
            let Some(declared) = wanted.iter().find(|m| *m.name == *name) else {
                let (of, at) = (self.defs.externs[def].name.clone(), self.defs.externs[def].span);
                self.report(
                    Diagnostic::error("E0307", format!("`{of}` has no abstract method `{name}`"))
                        .at(function.sig.name.span, "nothing calls it")
                        .related(at, "declared here"),
                );
                good = false;
                continue;
            };
            let sig = self.signature(
                &function.sig.name,
                &function.sig.type_params,
                &function.sig.params,
                Some(&function.sig.ret),
                &decl.annotations,
            );
            let expected: Vec<Ty> = declared.params.iter().map(|p| p.ty.subst(&subst)).collect();
            good &= self.implements(&sig, declared, &expected);
            methods.push((name.to_string(), self.method_body(decl, function, &sig)));
        }
        for method in wanted.iter().filter(|w| !w.is_optional && !methods.iter().any(|(name, _)| **name == *w.name)) {
            self.report(
                Diagnostic::error("E0307", format!("the abstract method `{}` is not implemented", method.name))
                    .at(span, "this object needs it")
                    .related(method.span, "declared here"),
            );
            good = false;
        }
        if let Some(object) = id.and_then(|id| self.out.objects.get_mut(id.0 as usize)) {
            object.methods = methods;
        }
        good
    }

    /// Compares an implementation with the declaration. It may leave out optional parameters at the end.
    fn implements(&mut self, sig: &Sig, declared: &Sig, expected: &[Ty]) -> bool {
        let enough = declared.params.iter().skip(sig.params.len()).all(|p| p.optional);
        let same = |(i, p): (usize, &crate::types::ParamSig)| {
            declared.params.get(i).is_some_and(|d| d.direction == p.direction)
                && expected.get(i).is_some_and(|t| *t == p.ty || t.is_err() || p.ty.is_err() || *t == Ty::Void)
        };
        if enough && sig.type_params.is_empty() && sig.ret == declared.ret && sig.params.iter().enumerate().all(same) {
            return true;
        }
        self.report(
            Diagnostic::error("E0307", format!("`{}` differs from the method that it implements", sig.name))
                .at(sig.span, "other parameters or another result")
                .related(declared.span, "declared here"),
        );
        false
    }

    /// Checks the body, which sees what is declared around the object.
    fn method_body(&mut self, decl: &'a ast::Decl, f: &'a ast::FunctionDecl, sig: &Sig) -> hir::FunctionId {
        let context = Context::new(Body::Function, sig.ret.clone(), self.context.path.clone());
        let around = std::mem::replace(&mut self.context, context);
        self.declaring.push(f.sig.name.name.clone());
        let (params, body) = self.scoped(|s| {
            let params = s.params(&sig.params, &[]);
            (params, s.block(&f.body))
        });
        self.declaring.pop();
        self.context = around;
        let annotations = self.annotations(&decl.annotations);
        let control_plane_name = self.qualified(f.sig.name.as_str(), &decl.annotations);
        let result = self.hir_ty(&sig.ret);
        self.out.functions.push(hir::Function {
            name: f.sig.name.to_string(),
            control_plane_name,
            is_action: false,
            params,
            result,
            body,
            annotations,
            span: decl.span,
        });
        hir::FunctionId((self.out.functions.len() - 1) as u32)
    }
}
