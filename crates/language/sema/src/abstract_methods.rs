//! Abstract methods of extern objects, which the program implements: `T(args) name = { void apply(..) { .. } };`.

use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use hopwright_source::Span;

use crate::analyser::Analyser;
use crate::args::Checked;
use crate::context::{Body, Context, This};
use crate::defs::Sig;
use crate::entity::Entity;
use crate::hir;
use crate::types::{Ty, bind};
use crate::value::Typed;

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
        let this = This { def, args: types.clone(), id };
        let name = id.and_then(|id| Some(self.out.objects.get(id.0 as usize)?.name.clone()));
        let mut methods: Vec<String> = Vec::new();
        let mut good = true;
        // Methods see the objects that are declared before them.
        let scope = self.scopes.len();
        self.scopes.push(Default::default());
        for decl in initialiser.unwrap_or_default() {
            let function = match &decl.kind {
                ast::DeclKind::Function(function) => function,
                ast::DeclKind::Instance(instance) => {
                    let path = name.clone().unwrap_or_default();
                    let path = std::mem::replace(&mut self.context.path, path);
                    self.instance_decl(decl, instance);
                    self.context.path = path;
                    continue;
                }
                _ => {
                    self.unsupported(decl.span, "this in an object's initialiser is");
                    good = false;
                    continue;
                }
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
            if methods.iter().any(|known| known == name) {
                let first = initialiser.unwrap_or_default().iter().filter_map(|d| d.kind.name());
                let first = first.map(|n| (n.as_str(), n.span)).find(|(n, _)| *n == name);
                self.duplicate(name, function.sig.name.span, first.map_or(span, |(_, at)| at));
                good = false;
                continue;
            }
            good &= self.implements(&sig, declared, &expected, &subst);
            let body = self.method_body(decl, function, &sig, &this);
            methods.push(name.to_string());
            if let Some(object) = id.and_then(|id| self.out.objects.get_mut(id.0 as usize)) {
                object.methods.push((name.to_string(), body));
            }
        }
        self.scopes.truncate(scope);
        for method in wanted.iter().filter(|w| !w.is_optional && !methods.iter().any(|name| **name == *w.name)) {
            self.report(
                Diagnostic::error("E0307", format!("the abstract method `{}` is not implemented", method.name))
                    .at(span, "this object needs it")
                    .related(method.span, "declared here"),
            );
            good = false;
        }
        good
    }

    /// A call of a method that the object's initialiser implements, which the program may make, too (P4-16 11.3.1); `None` if the method is
    /// another one. An implementation may have fewer parameters than the declaration: those at the end.
    pub(crate) fn implemented(
        &mut self,
        object: hir::ObjectId,
        sig: &Sig,
        checked: &mut Checked,
        span: Span,
    ) -> Option<hir::FunctionId> {
        let methods = &self.out.objects.get(object.0 as usize)?.methods;
        let found = methods.iter().find(|(name, _)| **name == *sig.name).map(|(_, function)| *function);
        let Some(function) = found.filter(|_| !sig.params.iter().any(|p| p.is_known())) else {
            let this = self.context.this.as_ref().and_then(|this| this.id);
            if sig.is_abstract && this == Some(object) {
                self.report(
                    Diagnostic::error("E0310", format!("`{}` cannot be called here", sig.name))
                        .at(span, "a method calls only those that the initialiser implements before it")
                        .related(sig.span, "declared here")
                        .note("P4 has no recursion: what a packet costs is known beforehand"),
                );
            }
            return None;
        };
        let given = self.out.functions[function.0 as usize].params.len();
        checked.args.truncate(given);
        Some(function)
    }

    /// The object that `this` stands for.
    pub(crate) fn this(&mut self, span: Span) -> Option<This> {
        let this = self.context.this.clone();
        if this.is_none() {
            let label = "only a method that an object's initialiser implements has it";
            self.error("E0310", span, "`this` cannot be used here", label);
        }
        this
    }

    /// `this` where no method of it is called.
    pub(crate) fn this_expr(&mut self, span: Span) -> Typed {
        if self.this(span).is_some() {
            let d = Diagnostic::error("E0202", "`this` is not a value").at(span, "this is an extern object");
            self.report(d.help("to call a method of it, write `this.method(...)`"));
        }
        Typed::error(span)
    }

    /// Compares an implementation with the declaration. It may leave out optional parameters at the end.
    fn implements(&mut self, sig: &Sig, declared: &Sig, expected: &[Ty], subst: &crate::types::Subst) -> bool {
        let enough = declared.params.iter().skip(sig.params.len()).all(|p| p.optional);
        let same = |(i, p): (usize, &crate::defs::ParamSig)| {
            declared.params.get(i).is_some_and(|d| d.direction == p.direction)
                && expected.get(i).is_some_and(|t| *t == p.ty || t.is_err() || p.ty.is_err() || *t == Ty::Void)
        };
        let result = declared.ret.subst(subst);
        if enough && sig.type_params.is_empty() && sig.ret == result && sig.params.iter().enumerate().all(same) {
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
    fn method_body(
        &mut self,
        decl: &'a ast::Decl,
        f: &'a ast::FunctionDecl,
        sig: &Sig,
        this: &This,
    ) -> hir::FunctionId {
        let mut context = Context::new(Body::Function, sig.ret.clone(), self.context.path.clone());
        context.this = Some(this.clone());
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
