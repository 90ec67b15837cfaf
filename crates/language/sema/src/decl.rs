//! Top-level declarations, and signatures of everything that has parameters.

mod types;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::architecture;
use crate::context::{Body, Context};
use crate::defs::{BlockDecl, BlockDef, ExternDef, PackageDef, ParamSig, Sig};
use crate::entity::{Entity, FunctionEntity, Symbol};
use crate::hir::{self, Direction};
use crate::stmt::always_leaves;
use crate::types::{Ty, bind};
use crate::value::Value;

/// The error that `core.p4` declares first.
const NO_ERROR: &str = "NoError";

impl<'a> Analyser<'a> {
    /// Checks the whole program.
    pub(crate) fn program(&mut self) {
        let program = self.program;
        for d in &program.decls {
            if let Some(name) = d.kind.name() {
                self.later.entry(name.name.clone()).or_insert(name.span);
            }
        }
        // `NoError` is the first wherever it is declared, because it is the initial value.
        let errors = |d: &ast::Decl| matches!(&d.kind, ast::DeclKind::Error(names) if names.iter().any(|n| n.as_str() == NO_ERROR));
        if self.out.errors.is_empty() && program.decls.iter().any(errors) {
            self.out.errors.push(NO_ERROR.to_string());
        }
        for (i, d) in program.decls.iter().enumerate() {
            self.order = i + 1;
            self.top_level(d);
        }
        self.controller_headers();
        if self.errors == 0 {
            self.control_plane_names();
        }
        if !self.has_main && self.errors == 0 {
            let end = program.decls.last().map_or(Span::none(), |d| d.span);
            self.report(
                Diagnostic::error("E0404", "the program has no `main`")
                    .at(end.after(), "the program ends here")
                    .help(format!("instantiate the architecture's package, such as `{}`", architecture::ALL[0].main())),
            );
        }
    }

    /// Warns about tables, actions, objects and value sets that share a name with another of their kind, because control
    /// planes identify them by name.
    fn control_plane_names(&mut self) {
        for shared in self.out.shared_names() {
            let hir::SharedName { kind, name, first, second } = shared;
            let mut d = Diagnostic::warning("W0030", format!("two {kind}s are called `{name}` by the control plane"))
                .at(second, "this one")
                .note("no P4Info can be made of this program");
            if first != second {
                d = d.related(first, "and this one");
            }
            self.report(d.help("give one of them, or the instance it belongs to, another `@name`"));
        }
    }

    fn top_level(&mut self, d: &'a ast::Decl) {
        self.declare_top_level(d);
        // Calls of functions look at the one that they call.
        let function = matches!(d.kind, ast::DeclKind::Function(_) | ast::DeclKind::ExternFunction(_));
        if let Some(why) = self.deprecation(&d.annotations).filter(|_| !function)
            && let Some(name) = d.kind.name()
        {
            self.deprecated_names.insert(name.name.clone(), why);
        }
    }

    fn declare_top_level(&mut self, d: &'a ast::Decl) {
        match &d.kind {
            ast::DeclKind::Const(c) => self.const_decl(c),
            ast::DeclKind::Instance(i) => self.instance_decl(d, i),
            ast::DeclKind::Error(names) => names.iter().for_each(|n| self.error_name(n)),
            ast::DeclKind::MatchKind(names) => {
                for n in names {
                    match self.match_kinds.iter().find(|(o, _)| *o == n.name) {
                        Some((_, first)) => self.duplicate(n.as_str(), n.span, *first),
                        None => self.match_kinds.push((n.name.clone(), n.span)),
                    }
                }
            }
            ast::DeclKind::Function(f) => self.function_decl(d, f),
            ast::DeclKind::ExternFunction(sig) => {
                let s = self.signature(&sig.name, &sig.type_params, &sig.params, Some(&sig.ret), &d.annotations);
                s.params.iter().for_each(|p| self.run_time(p));
                self.returns_value(&s);
                self.declare_function(&sig.name, s, None, None);
            }
            ast::DeclKind::ExternObject(e) => self.extern_decl(e),
            ast::DeclKind::Action(a) => {
                let order = self.order;
                let context = Context::new(Body::Action, Ty::Void, String::new());
                // The action is declared at the top level, not in the scope its body is checked in.
                let was = std::mem::replace(&mut self.context, context);
                self.action_decl(d, a);
                self.context = was;
                self.order = order;
            }
            ast::DeclKind::Struct(s) => {
                self.struct_decl(d, s);
            }
            ast::DeclKind::Enum(e) => {
                self.enum_decl(e, &d.annotations);
            }
            ast::DeclKind::Typedef(t) => self.typedef(d, t),
            ast::DeclKind::ParserType(sig) => self.block_decl(d, sig, &[], None, true),
            ast::DeclKind::ControlType(sig) => self.block_decl(d, sig, &[], None, false),
            ast::DeclKind::Parser(p) => {
                let decl = Some(BlockDecl::Parser(p));
                self.block_decl(d, &p.sig, &p.constructor_params, decl, true);
            }
            ast::DeclKind::Control(c) => {
                let decl = Some(BlockDecl::Control(c));
                self.block_decl(d, &c.sig, &c.constructor_params, decl, false);
            }
            ast::DeclKind::Package(sig) => self.package_decl(d, sig),
            ast::DeclKind::Var(v) => {
                self.error(
                    "E0310",
                    d.span,
                    format!("`{}` cannot be a variable of the whole program", v.name),
                    "variables live in parsers, controls, actions and functions",
                );
            }
            ast::DeclKind::ValueSet(_) | ast::DeclKind::Table(_) => {
                self.error(
                    "E0310",
                    d.span,
                    "this cannot be declared at the top level",
                    "not inside a parser or control",
                );
            }
        }
    }

    fn error_name(&mut self, n: &ast::Ident) {
        if let Some((_, first)) = self.errors_declared.get(&n.name) {
            return self.duplicate(n.as_str(), n.span, *first);
        }
        // `NoError` is there already, and what another program of the device has declared.
        let known = self.out.errors.iter().position(|error| error == n.as_str());
        let at = known.unwrap_or(self.out.errors.len());
        if known.is_none() {
            self.out.errors.push(n.to_string());
        }
        self.errors_declared.insert(n.name.clone(), (at, n.span));
    }

    fn package_decl(&mut self, d: &'a ast::Decl, sig: &'a ast::PipelineSig) {
        let constructor = self.signature(&sig.name, &sig.type_params, &sig.params, None, &[]);
        for p in &constructor.params {
            self.undirected(p, "a package");
        }
        let architecture = self.annotations(&d.annotations).iter().find_map(hir::Annotation::architecture);
        self.defs.packages.push(PackageDef {
            name: sig.name.name.clone(),
            type_params: constructor.type_params.clone(),
            constructor,
            architecture,
            span: sig.name.span,
        });
        let id = self.defs.packages.len() - 1;
        self.declare(&sig.name, Entity::Package(id));
    }

    fn undirected(&mut self, p: &ParamSig, what: &str) {
        if p.direction != Direction::None {
            self.error(
                "E0317",
                p.span,
                format!("constructor parameter `{}` has a direction", p.name),
                format!("parameters of the constructor of {what} have none"),
            );
        }
    }

    pub(crate) fn not_optional(&mut self, p: &ParamSig) {
        if p.optional {
            self.error(
                "E0317",
                p.span,
                format!("parameter `{}` cannot be optional", p.name),
                "only parameters of what is implemented elsewhere can",
            );
        }
    }

    /// Refuses parsers, controls and packages as parameters of what runs (P4-16 7.2.12).
    pub(crate) fn run_time(&mut self, p: &ParamSig) {
        if matches!(p.ty, Ty::Block(..) | Ty::Package(..)) {
            let shown = self.show(&p.ty);
            self.error(
                "E0308",
                p.span,
                format!("a parameter cannot have the type `{shown}` here"),
                "only constructors take parsers, controls and packages",
            );
        }
    }

    /// Refuses extern functions that return extern objects, parsers, controls or packages (P4-16 appendix F).
    fn returns_value(&mut self, sig: &Sig) {
        if matches!(sig.ret, Ty::Block(..) | Ty::Package(..) | Ty::Extern(..)) {
            let shown = self.show(&sig.ret);
            self.error("E0308", sig.span, format!("a function cannot return a `{shown}`"), "not a value");
        }
    }

    /// What `@deprecated` says (P4-16 20.3.7).
    fn deprecation(&mut self, annotations: &'a [ast::Annotation]) -> Option<Arc<str>> {
        let a = ast::find_annotation(annotations, "deprecated")?;
        let text = self.annotation_text(annotations, "deprecated");
        if !matches!(a.body, ast::AnnotationBody::None) && text.is_none() {
            self.error("E0308", a.span, "`@deprecated` takes a string", "not a string that is known here");
        }
        Some(text.unwrap_or_else(|| "".into()))
    }

    /// Declares type parameters in the innermost scope.
    fn type_params(&mut self, names: &'a [ast::Ident]) -> (Vec<u32>, Vec<Arc<str>>) {
        let mut ids = Vec::new();
        let mut texts = Vec::new();
        for n in names {
            let id = self.defs.new_param(&n.name);
            self.declare(n, Entity::Type(Ty::Param(id)));
            ids.push(id);
            texts.push(n.name.clone());
        }
        (ids, texts)
    }

    /// Parameters and result as declared. `ret` is `None` where there is no result.
    pub(crate) fn signature(
        &mut self,
        name: &'a ast::Ident,
        type_params: &'a [ast::Ident],
        params: &'a [ast::Param],
        ret: Option<&'a ast::TypeExpr>,
        annotations: &'a [ast::Annotation],
    ) -> Rc<Sig> {
        let deprecated = self.deprecation(annotations);
        let (type_params, type_param_names, params, ret, open_types) = self.scoped(|s| {
            let (ids, names) = s.type_params(type_params);
            let ret = ret.map_or(Ty::Void, |r| s.ty(r));
            let was = s.open_types.replace(Vec::new());
            let params = s.param_sigs(params);
            let open = std::mem::replace(&mut s.open_types, was).unwrap_or_default();
            (ids, names, params, ret, open)
        });
        Rc::new(Sig {
            name: name.name.clone(),
            type_params,
            type_param_names,
            open_types,
            params,
            ret,
            is_abstract: false,
            is_optional: ast::find_annotation(annotations, "optional").is_some(),
            deprecated,
            no_side_effects: ["noSideEffects", "pure"].iter().any(|a| ast::find_annotation(annotations, a).is_some()),
            span: name.span,
        })
    }

    fn param_sigs(&mut self, params: &'a [ast::Param]) -> Vec<ParamSig> {
        let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
        let mut out = Vec::new();
        for p in params {
            if let Some(first) = seen.get(&p.name.name) {
                let first = *first;
                self.duplicate(p.name.as_str(), p.name.span, first);
            }
            seen.insert(p.name.name.clone(), p.name.span);
            let ty = self.ty(&p.ty);
            let direction = match p.direction {
                ast::Direction::None => Direction::None,
                ast::Direction::In => Direction::In,
                ast::Direction::Out => Direction::Out,
                ast::Direction::InOut => Direction::InOut,
            };
            let object = matches!(ty, Ty::Extern(..) | Ty::Block(..) | Ty::Package(..));
            if object && direction != Direction::None {
                let shown = self.show(&ty);
                self.error("E0317", p.span, format!("a parameter of type `{shown}` has no direction"), "remove it");
            }
            if ty == Ty::String && direction != Direction::None {
                self.error("E0317", p.span, "a parameter of type `string` has no direction", "remove it");
            }
            let immaterial = ty.is_immaterial();
            if immaterial && matches!(direction, Direction::Out | Direction::InOut) {
                let shown = self.show(&ty);
                self.error(
                    "E0317",
                    p.span,
                    format!("a result cannot have type `{shown}`"),
                    "exists only at compile time",
                );
            }
            if ty == Ty::Void {
                self.error("E0308", p.ty.span, "a parameter cannot be `void`", "not a type of values");
            }
            let default = p.default.as_ref().and_then(|e| self.default_of(e, &ty, direction));
            let optional = ast::find_annotation(&p.annotations, "optional").is_some();
            if let Some(default) = p.default.as_ref().filter(|_| optional) {
                let message = format!("the optional parameter `{}` cannot have a default value", p.name);
                self.error("E0317", default.span, message, "what is implemented elsewhere decides");
            }
            out.push(ParamSig {
                name: p.name.name.clone(),
                renamed: self.annotation_text(&p.annotations, "name"),
                annotations: self.annotations(&p.annotations).into(),
                direction,
                ty: if ty == Ty::Void { Ty::Err } else { ty },
                default,
                optional,
                span: p.name.span,
            });
        }
        out
    }

    fn declare_function(
        &mut self,
        name: &ast::Ident,
        sig: Rc<Sig>,
        decl: Option<&'a ast::Decl>,
        id: Option<hir::FunctionId>,
    ) {
        let entity = FunctionEntity { sig: sig.clone(), decl, id, order: self.order };
        if let Some(symbol) = self.globals.symbols.get_mut(&name.name)
            && let Entity::Functions(all) = &mut symbol.entity
        {
            let same = |o: &Sig| {
                o.params.len() == sig.params.len() && o.params.iter().zip(&sig.params).all(|(a, b)| a.name == b.name)
            };
            if let Some(first) = all.iter().find(|f| same(&f.sig)) {
                let first = first.sig.span;
                self.duplicate(name.as_str(), name.span, first);
                return;
            }
            Rc::make_mut(all).push(entity);
            return;
        }
        self.declare(name, Entity::Functions(Rc::new(vec![entity])));
    }

    fn function_decl(&mut self, d: &'a ast::Decl, f: &'a ast::FunctionDecl) {
        let sig = self.signature(&f.sig.name, &f.sig.type_params, &f.sig.params, Some(&f.sig.ret), &d.annotations);
        for p in &sig.params {
            self.not_optional(p);
            self.run_time(p);
        }
        let order = self.order;
        let id = if sig.type_params.is_empty() && !sig.params.iter().any(ParamSig::is_known) {
            Some(self.function_body(d, f, &sig, &[], &[], order))
        } else {
            let open: Vec<Ty> = sig.type_params.iter().map(|p| Ty::Param(*p)).collect();
            self.dry_run(|s| {
                s.function_body(d, f, &sig, &open, &[], order);
            });
            None
        };
        self.declare_function(&f.sig.name, sig, Some(d), id);
    }

    /// A function with these type arguments and values of the parameters that exist only at compile time.
    pub(crate) fn specialise(
        &mut self,
        f: &FunctionEntity<'a>,
        types: &[Ty],
        known: &[Value],
    ) -> Option<hir::FunctionId> {
        let d = f.decl?;
        let ast::DeclKind::Function(decl) = &d.kind else {
            return None;
        };
        if self.dry {
            return Some(hir::FunctionId(u32::MAX));
        }
        let key = (d.span, types.to_vec(), format!("{known:?}"));
        if let Some(id) = self.specialised.get(&key) {
            return Some(*id);
        }
        let id = self.function_body(d, decl, &f.sig, types, known, f.order);
        self.specialised.insert(key, id);
        Some(id)
    }

    fn function_body(
        &mut self,
        d: &'a ast::Decl,
        f: &'a ast::FunctionDecl,
        sig: &Rc<Sig>,
        types: &[Ty],
        known: &[Value],
        order: usize,
    ) -> hir::FunctionId {
        let subst = bind(&sig.type_params, types);
        let ret = sig.ret.subst(&subst);
        let params: Vec<ParamSig> =
            sig.params.iter().map(|p| ParamSig { ty: p.ty.subst(&subst), ..p.clone() }).collect();
        let context = Context::new(Body::Function, ret.clone(), String::new());
        let errors = self.errors;
        self.declaring.push(f.sig.name.name.clone());
        let (hir_params, body) = self.in_declaration(order, context, |s| {
            for (n, t) in f.sig.type_params.iter().zip(types) {
                s.declare(n, Entity::Type(t.clone()));
            }
            let params = s.params(&params, known);
            (params, s.block(&f.body))
        });
        self.declaring.pop();
        if !matches!(ret, Ty::Void | Ty::Err) && self.errors == errors && !always_leaves(&body) {
            let name = &f.sig.name;
            self.error(
                "E0309",
                name.span,
                format!("`{name}` may end without returning a value"),
                "not every path has a `return`",
            );
        }
        let result = self.hir_ty(&ret);
        let annotations = self.annotations(&d.annotations);
        self.out.functions.push(hir::Function {
            name: f.sig.name.to_string(),
            control_plane_name: self.qualified(f.sig.name.as_str(), &d.annotations),
            is_action: false,
            params: hir_params,
            result,
            body,
            annotations,
            span: d.span,
        });
        hir::FunctionId((self.out.functions.len() - 1) as u32)
    }

    fn extern_decl(&mut self, e: &'a ast::ExternObjectDecl) {
        let mut constructors = Vec::new();
        let mut methods: Vec<Rc<Sig>> = Vec::new();
        let type_params = self.scoped(|s| {
            let (ids, _) = s.type_params(&e.type_params);
            for m in &e.methods {
                let ret = (!m.is_constructor).then_some(&m.sig.ret);
                let sig = s.signature(&m.sig.name, &m.sig.type_params, &m.sig.params, ret, &m.annotations);
                let sig = if m.is_abstract {
                    match Rc::try_unwrap(sig) {
                        Ok(sig) => Rc::new(Sig { is_abstract: true, ..sig }),
                        Err(sig) => sig,
                    }
                } else {
                    sig
                };
                if m.is_constructor {
                    for p in &sig.params {
                        s.undirected(p, "an extern object");
                        if matches!(p.ty, Ty::Block(..) | Ty::Package(..)) {
                            s.unsupported(p.span, "a parser or control as argument of an extern object is");
                        }
                    }
                    if m.sig.name.name != e.name.name {
                        let at = m.sig.name.span;
                        s.error("E0201", at, format!("a constructor of `{}` has its name", e.name), "different name");
                    }
                    constructors.push(sig);
                } else if m.sig.name.name == e.name.name {
                    let at = m.sig.name.span;
                    s.error("E0201", at, "a constructor has no result type", "this has the name of the extern");
                } else {
                    let same = methods.iter().find(|o| {
                        o.name == sig.name
                            && o.params.len() == sig.params.len()
                            && o.params.iter().zip(&sig.params).all(|(a, b)| a.name == b.name)
                    });
                    if let Some(o) = same {
                        let first = o.span;
                        s.duplicate(m.sig.name.as_str(), m.sig.name.span, first);
                        continue;
                    }
                    methods.push(sig);
                }
            }
            ids
        });
        self.defs.externs.push(ExternDef {
            name: e.name.name.clone(),
            type_params,
            constructors,
            methods,
            span: e.name.span,
        });
        let id = self.defs.externs.len() - 1;
        self.declare(&e.name, Entity::Extern(id));
    }

    fn block_decl(
        &mut self,
        d: &'a ast::Decl,
        sig: &'a ast::PipelineSig,
        constructor_params: &'a [ast::Param],
        decl: Option<BlockDecl<'a>>,
        is_parser: bool,
    ) {
        let (type_params, apply, constructor) = self.scoped(|s| {
            let (ids, names) = s.type_params(&sig.type_params);
            let apply = s.signature(&sig.name, &[], &sig.params, None, &[]);
            let constructor = s.signature(&sig.name, &[], constructor_params, None, &[]);
            let named = |sig: Rc<Sig>| match Rc::try_unwrap(sig) {
                Ok(sig) => Rc::new(Sig { type_params: ids.clone(), type_param_names: names.clone(), ..sig }),
                Err(sig) => sig,
            };
            let (apply, constructor) = (named(apply), named(constructor));
            (ids, apply, constructor)
        });
        for p in &constructor.params {
            self.undirected(p, "a parser or control");
            self.not_optional(p);
        }
        for p in &apply.params {
            self.run_time(p);
        }
        for p in &constructor.params {
            let fits = match &p.ty {
                Ty::Block(b, _) => self.defs.blocks[*b].is_parser == is_parser,
                ty => !matches!(ty, Ty::Package(..)),
            };
            if !fits {
                let (shown, kind) = (self.show(&p.ty), if is_parser { "parser" } else { "control" });
                let message = format!("the constructor of a {kind} cannot take a `{shown}`");
                self.error("E0308", p.span, message, format!("only extern objects and {kind}s"));
            }
        }
        self.defs.blocks.push(BlockDef {
            name: sig.name.name.clone(),
            is_parser,
            type_params,
            apply,
            constructor,
            decl,
            order: self.order,
            annotations: &d.annotations,
            span: sig.name.span,
        });
        let id = self.defs.blocks.len() - 1;
        if decl.is_some() {
            let path = sig.name.to_string();
            self.dry_run(|s| {
                let open: Rc<[Ty]> = s.defs.blocks[id].type_params.iter().map(|p| Ty::Param(*p)).collect();
                s.elaborate(id, &open, path, None, &[], sig.name.span);
            });
        }
        let symbol_free = !self.globals.symbols.contains_key(&sig.name.name);
        if symbol_free {
            self.globals.symbols.insert(
                sig.name.name.clone(),
                Symbol { entity: Entity::Block(id), span: sig.name.span, order: self.order },
            );
        } else {
            self.declare(&sig.name, Entity::Block(id));
        }
    }
}
