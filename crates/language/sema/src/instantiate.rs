//! Instantiation of extern objects, parsers, controls and the package from constructor calls.

mod locals;

use std::rc::Rc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::args::ArgRule;
use crate::context::{Body, Context};
use crate::defs::{BlockDecl, ParamSig, Sig};
use crate::entity::{Entity, InstanceEntity, OpenInstance};
use crate::hir::{self, Direction};
use crate::infer::Unifier;
use crate::packages::bound;
use crate::types::Ty;
use crate::value::{Place, Typed, Value};

/// Maximum number of parser and control instances.
const MAX_INSTANCES: usize = 4096;

/// Nesting levels (see [`Analyser::deeper_by`]) of an instance within an instance.
const INSTANCE_DEPTH: u32 = 50;

/// Name, annotations and source position of a new instance.
#[derive(Clone, Copy)]
pub(crate) struct Named<'n, 'a> {
    pub name: &'n str,
    pub annotations: &'a [ast::Annotation],
    /// The type as the source has it, for what it leaves open.
    pub ty: Option<&'a ast::TypeExpr>,
    /// The object's initialiser, whose methods say what the type leaves open.
    pub init: Option<&'a [ast::Decl]>,
    pub span: Span,
}

impl<'a> Analyser<'a> {
    /// `T(args) name;`: declares the instance.
    pub(crate) fn instance_decl(&mut self, decl: &'a ast::Decl, i: &'a ast::InstanceDecl) {
        let mut unifier = Unifier::default();
        let ty = self.ty_with(&i.ty, &mut Some(&mut unifier));
        let (name, annotations) = (i.name.as_str(), &decl.annotations);
        let named = Named { name, annotations, ty: Some(&i.ty), init: i.init.as_deref(), span: decl.span };
        let mut entity = self.construct(&ty, unifier, &i.args, named);
        if let Some(made) = &entity
            && !self.abstract_methods(made, i.init.as_deref(), decl.span)
        {
            entity = None;
        }
        if i.name.as_str() == "main" && self.scopes.is_empty() && !matches!(ty, Ty::Package(..) | Ty::Err) {
            self.error("E0404", i.name.span, "`main` must be an instance of a package", "something else");
        }
        self.declare(&i.name, entity.unwrap_or(Entity::Broken));
    }

    /// `T(args)` as an argument.
    pub(crate) fn construct_nameless(
        &mut self,
        ty: &'a ast::TypeExpr,
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Typed {
        let mut unifier = Unifier::default();
        let ty = self.ty_with(ty, &mut Some(&mut unifier));
        self.construct_value(&ty, unifier, args, hint, span).unwrap_or_else(|| Typed::error(span))
    }

    /// `T(args)` as a call expression.
    pub(crate) fn construct_path(
        &mut self,
        path: &'a ast::Path,
        type_args: &'a [ast::TypeExpr],
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Typed> {
        let mut unifier = Unifier::default();
        let entity = self.resolve(path)?;
        let mut types = Vec::new();
        for t in type_args {
            types.push(self.ty_with(t, &mut Some(&mut unifier)));
        }
        if types.iter().any(Ty::is_err) {
            return None;
        }
        let given = (!types.is_empty()).then_some(types);
        let ty = self.entity_type(&entity, path, given, span, &mut Some(&mut unifier));
        self.construct_value(&ty, unifier, args, hint, span)
    }

    /// Whether an expression makes an extern object, in code that may have instances.
    pub(crate) fn makes_object(&self, e: &ast::Expr) -> bool {
        let path = match &e.kind {
            ast::ExprKind::Call { callee, .. } => match &callee.kind {
                ast::ExprKind::Path(path) => path,
                _ => return false,
            },
            ast::ExprKind::Construct { ty, .. } => match &ty.kind {
                ast::TypeKind::Named(path) | ast::TypeKind::Specialized { path, .. } => path,
                _ => return false,
            },
            _ => return false,
        };
        let named = self.lookup(path.name.as_str(), path.leading_dot).map(|s| &s.entity);
        matches!(named, Some(Entity::Extern(_) | Entity::Type(Ty::Extern(..))))
            && matches!(self.context.body, Body::Parser | Body::Control | Body::Action)
    }

    /// `T(args)` before a method: the object is made once for each place in the text, and is called as its type.
    pub(crate) fn new_receiver(&mut self, e: &'a ast::Expr) -> Typed {
        let was = std::mem::replace(&mut self.context.constructing, true);
        let made = self.expr(e, None);
        self.context.constructing = was;
        if let Some(Value::Object(id)) = made.value {
            let objects = &mut self.out.objects;
            let name = objects[id.0 as usize].name.clone();
            let taken = |name: &str| objects.iter().filter(|o| o.name == name).count();
            if taken(&name) > 1
                && let Some(free) = (1..).map(|n| format!("{name}_{n}")).find(|name| taken(name) == 0)
            {
                objects[id.0 as usize].name = free;
            }
        }
        made
    }

    fn construct_value(
        &mut self,
        ty: &Ty,
        mut unifier: Unifier,
        args: &'a [ast::Arg],
        hint: Option<&Ty>,
        span: Span,
    ) -> Option<Typed> {
        if ty.is_err() {
            return None;
        }
        if let Some(hint) = hint
            && ty.has_vars()
        {
            // Only a hint: the conversion after the call decides.
            unifier.unify(&self.defs, ty, hint);
        }
        if !self.context.constructing {
            let shown = self.show(ty);
            self.error(
                "E0406",
                span,
                format!("`{shown}` cannot be instantiated here"),
                "instances are declared, or are arguments of constructors",
            );
            return None;
        }
        let name = match (self.context.nameless.take(), ty) {
            (Some(name), _) => name,
            (None, Ty::Block(b, _)) => self.defs.blocks[*b].name.to_string(),
            (None, Ty::Extern(e, _)) => self.defs.externs[*e].name.to_string(),
            _ => self.show(ty),
        };
        let named = Named { name: &name, annotations: &[], ty: None, init: None, span };
        let entity = self.construct(ty, unifier, args, named)?;
        Some(match entity {
            Entity::Object(e, args, id) => {
                let value = id.map_or(Value::Opaque, Value::Object);
                self.constant(value, &Ty::Extern(e, args), span)
            }
            Entity::Instance(i) => {
                let value = i.id.map_or(Value::Opaque, Value::Instance);
                self.constant(value, &Ty::Block(i.block, i.args), span)
            }
            Entity::Const(value, ty) => self.constant(value, &ty, span),
            _ => return None,
        })
    }

    /// Checks constructor arguments and creates the instance.
    fn construct(
        &mut self,
        ty: &Ty,
        mut unifier: Unifier,
        args: &'a [ast::Arg],
        named: Named<'_, 'a>,
    ) -> Option<Entity<'a>> {
        let span = named.span;
        match ty {
            Ty::Err => None,
            Ty::Extern(e, targs) => self.construct_extern(*e, targs, &mut unifier, args, named),
            Ty::Block(_, _) if self.context.body == Body::None && !self.context.constructing => {
                self.error(
                    "E0406",
                    span,
                    "parsers and controls are not instantiated at the top level",
                    "instantiate it where it is applied, or as an argument of the package",
                );
                None
            }
            Ty::Block(b, targs) => self.construct_block(*b, targs, &mut unifier, args, named),
            Ty::Package(p, targs) => self.construct_package(*p, targs, &mut unifier, args, named),
            other => {
                let shown = self.show(other);
                self.error(
                    "E0406",
                    span,
                    format!("`{shown}` cannot be instantiated"),
                    "not an extern type, parser, control or package",
                );
                None
            }
        }
    }

    fn construct_extern(
        &mut self,
        e: usize,
        targs: &[Ty],
        unifier: &mut Unifier,
        args: &'a [ast::Arg],
        named: Named<'_, 'a>,
    ) -> Option<Entity<'a>> {
        let span = named.span;
        let def = &self.defs.externs[e];
        let (name, constructors, declared, params) =
            (def.name.clone(), def.constructors.clone(), def.span, def.type_params.clone());
        if constructors.is_empty() {
            self.report(
                Diagnostic::error("E0406", format!("`{name}` cannot be instantiated"))
                    .at(span, "it has no constructor")
                    .related(declared, "declared here"),
            );
            return None;
        }
        let sig = self.overload(&name, &constructors, Rc::clone, args, span)?;
        let mut subst = crate::types::bind(&params, targs);
        self.types_of_methods(e, named.init.unwrap_or_default(), &mut subst);
        let path = self.qualified(named.name, named.annotations);
        let checked = self.constructor_args(&sig, args, subst, unifier, Some(path.clone()), span)?;
        let open = self.left_open(e, &sig, &params, named.ty, &checked);
        let closed: Vec<u32> = params.iter().copied().filter(|p| !open.contains(p)).collect();
        let mut known = self.inferred(&name, &sig, &closed, &checked, span)?.into_iter();
        let of = |p| if open.contains(p) { Ty::Void } else { known.next().unwrap_or(Ty::Err) };
        let types: Vec<Ty> = params.iter().map(of).collect();
        let annotations = self.annotations(named.annotations);
        let type_args = types.iter().map(|t| self.hir_ty(t)).collect();
        let new_types = types.iter().map(|t| self.new_type(t)).collect();
        let object = hir::Object {
            name: path,
            type_name: name.to_string(),
            type_args,
            new_types,
            args: checked.args.into_iter().flatten().map(|t| t.hir).collect(),
            methods: Vec::new(),
            annotations,
            span,
        };
        self.out.objects.push(object);
        let id = hir::ObjectId((self.out.objects.len() - 1) as u32);
        Some(Entity::Object(e, types.into(), Some(id)))
    }

    fn construct_block(
        &mut self,
        b: usize,
        targs: &[Ty],
        unifier: &mut Unifier,
        args: &'a [ast::Arg],
        named: Named<'_, 'a>,
    ) -> Option<Entity<'a>> {
        let span = named.span;
        let def = &self.defs.blocks[b];
        let (sig, declared, has_body, name) = (def.constructor.clone(), def.span, def.decl.is_some(), def.name.clone());
        let place = match (def.is_parser, self.context.body) {
            (true, Body::Control) => Some("a parser cannot be instantiated in a control"),
            (false, Body::Parser) => Some("a control cannot be instantiated in a parser"),
            _ => None,
        };
        if let Some(message) = place {
            self.error("E0406", span, message, "it could never be applied here");
            return None;
        }
        if !has_body {
            self.report(
                Diagnostic::error("E0406", format!("`{name}` cannot be instantiated"))
                    .at(span, "it is only a type")
                    .related(declared, "declared here without a body"),
            );
            return None;
        }
        let apply = def.apply.clone();
        let subst = crate::types::bind(&sig.type_params, targs);
        let path = self.qualified(named.name, named.annotations);
        let checked = self.constructor_args(&sig, args, subst, unifier, Some(path.clone()), span)?;
        // What no parameter has can stay open.
        let open = |p: &u32| {
            let unknown = checked.subst.get(p).is_none_or(Ty::has_vars);
            unknown && ![&sig, &apply].iter().any(|s| s.params.iter().any(|q| q.ty.uses(*p)))
        };
        let closed: Vec<u32> = sig.type_params.iter().copied().filter(|p| !open(p)).collect();
        let mut known = self.inferred(&name, &sig, &closed, &checked, span)?.into_iter();
        let of = |p| if open(p) { Ty::Void } else { known.next().unwrap_or(Ty::Err) };
        let targs: Rc<[Ty]> = sig.type_params.iter().map(of).collect();
        let (mut id, mut open) = (None, None);
        if self.dry || self.errors > 0 {
        } else if self.defs.blocks[b].apply.params.iter().any(ParamSig::is_known) {
            open = Some(Rc::new(OpenInstance { path, args: checked.args, span, made: Default::default() }));
        } else {
            id = Some(self.elaborate(b, &targs, path, Some(checked.args), &[], span)?);
        }
        Some(Entity::Instance(InstanceEntity { block: b, args: targs, id, open }))
    }

    fn construct_package(
        &mut self,
        p: usize,
        targs: &[Ty],
        unifier: &mut Unifier,
        args: &'a [ast::Arg],
        named: Named<'_, 'a>,
    ) -> Option<Entity<'a>> {
        let span = named.span;
        let def = &self.defs.packages[p];
        let (sig, name, params) = (def.constructor.clone(), def.name.clone(), def.type_params.clone());
        let architecture = def.architecture.clone();
        if self.context.body != Body::None {
            self.error("E0406", span, "packages are instantiated at the top level", "not possible here");
            return None;
        }
        let is_main = named.name == "main" && !self.context.constructing;
        let subst = crate::types::bind(&params, targs);
        let before = self.made_so_far();
        let checked = self.constructor_args(&sig, args, subst, unifier, None, span)?;
        let types = params.iter().map(|p| checked.subst.get(p).cloned());
        let ty = &Ty::Package(p, types.map(|t| t.unwrap_or(Ty::Err)).collect());
        let own_name = if self.context.constructing { "" } else { named.name };
        let bound = bound(own_name, &sig, &checked.args, self.made_since(&before));
        if !is_main {
            return Some(Entity::Const(Value::Package(Rc::new(bound)), ty.clone()));
        }
        let annotations = self.annotations(named.annotations);
        self.main_package(&sig, &checked.args, bound, annotations, (name.to_string(), architecture), span);
        self.has_main = true;
        Some(Entity::Const(Value::Opaque, ty.clone()))
    }

    /// Gives type parameters that the source leaves open the types that the parameters of the object's own methods have.
    fn types_of_methods(&mut self, def: usize, init: &'a [ast::Decl], subst: &mut crate::types::Subst) {
        for decl in init {
            let ast::DeclKind::Function(function) = &decl.kind else { continue };
            let methods = &self.defs.externs[def].methods;
            let declared = methods.iter().find(|m| m.is_abstract && *m.name == *function.sig.name.as_str());
            let Some(declared) = declared.cloned() else { continue };
            for (param, own) in declared.params.iter().zip(&function.sig.params) {
                if let Ty::Param(id) = param.ty
                    && subst.get(&id).is_some_and(Ty::has_vars)
                    && param.direction != Direction::Out
                {
                    let ty = self.ty(&own.ty);
                    subst.insert(id, ty);
                }
            }
        }
    }

    /// The type parameters of an extern object that stay open, which is `void`: those that are written `_` and that only inputs of methods
    /// have, such as a register's index, and those that are written `void` and that only results of methods and optional parameters have.
    fn left_open(
        &self,
        def: usize,
        constructor: &Sig,
        params: &[u32],
        ty: Option<&ast::TypeExpr>,
        checked: &crate::args::Checked,
    ) -> Vec<u32> {
        let Some(ast::TypeKind::Specialized { args, .. }) = ty.map(|ty| &ty.kind) else { return Vec::new() };
        let methods = &self.defs.externs[def].methods;
        let is_open = |(p, arg): &(&u32, &ast::TypeExpr)| {
            let uses = |t: &Ty| t.uses(**p);
            if constructor.params.iter().any(|q| uses(&q.ty)) {
                return false;
            }
            let mut used = methods.iter().flat_map(|m| &m.params).filter(|q| uses(&q.ty));
            let mut results = methods.iter().filter(|m| uses(&m.ret));
            match arg.kind {
                ast::TypeKind::DontCare => {
                    let unknown = checked.subst.get(*p).is_none_or(Ty::has_vars);
                    unknown && results.next().is_none() && used.all(|q| q.direction == Direction::In)
                }
                // As a result, or what nobody gives.
                ast::TypeKind::Void => used.all(|q| q.optional) && results.all(|m| m.ret == Ty::Param(**p)),
                _ => false,
            }
        };
        params.iter().zip(args).filter(is_open).map(|(p, _)| *p).collect()
    }

    /// Checks constructor arguments. Nameless instances among them are called as their parameters, below the instance `of` that gets them
    /// (P4-16 18.3.1.5), or as their types.
    fn constructor_args(
        &mut self,
        sig: &Rc<Sig>,
        args: &'a [ast::Arg],
        subst: crate::types::Subst,
        unifier: &mut Unifier,
        of: Option<String>,
        span: Span,
    ) -> Option<crate::args::Checked> {
        let context = &mut self.context;
        let named = std::mem::replace(&mut context.named_by_parameters, of.is_some());
        let path = of.map(|of| std::mem::replace(&mut context.path, of));
        let constructing = std::mem::replace(&mut context.constructing, true);
        let checked = self.check_args(sig, args, subst, unifier, ArgRule::Constant, None, span);
        self.context.constructing = constructing;
        self.context.named_by_parameters = named;
        if let Some(path) = path {
            self.context.path = path;
        }
        checked
    }

    /// An instance without arguments, for `Type.apply(...)`.
    pub(crate) fn instantiate_plain(
        &mut self,
        block: usize,
        types: Rc<[Ty]>,
        name: &str,
        span: Span,
    ) -> Option<InstanceEntity> {
        let ty = Ty::Block(block, types);
        let named = Named { name, annotations: &[], ty: None, init: None, span };
        match self.construct(&ty, Unifier::default(), &[], named)? {
            Entity::Instance(i) => Some(i),
            _ => None,
        }
    }

    /// Checks the body of a parser or control with these constructor arguments (`None`: not known) and values of parameters
    /// that exist only at compile time, and creates the instance.
    pub(crate) fn elaborate(
        &mut self,
        block: usize,
        types: &Rc<[Ty]>,
        path: String,
        args: Option<Vec<Option<Typed>>>,
        known: &[Value],
        span: Span,
    ) -> Option<hir::InstanceId> {
        if self.out.instances.len() >= MAX_INSTANCES {
            self.error(
                "E0407",
                span,
                "too many parsers and controls are instantiated",
                format!("more than {MAX_INSTANCES}"),
            );
            return None;
        }
        let def = &self.defs.blocks[block];
        let (apply, constructor, order, decl, annotations, name, declared) = (
            def.apply.clone(),
            def.constructor.clone(),
            def.order,
            def.decl?,
            def.annotations,
            def.name.clone(),
            def.span,
        );
        let body = match decl {
            BlockDecl::Parser(_) => Body::Parser,
            BlockDecl::Control(_) => Body::Control,
        };
        let context = Context::new(body, Ty::Void, path.clone());
        let subst = crate::types::bind(&apply.type_params, types);
        let params: Vec<ParamSig> =
            apply.params.iter().map(|p| ParamSig { ty: p.ty.subst(&subst), ..p.clone() }).collect();
        self.declaring.push(name.clone());
        let instance = self.deeper_by(INSTANCE_DEPTH, span, |s| {
            s.in_declaration(order, context, |s| {
                for (n, t) in apply.type_param_names.iter().zip(types.iter()) {
                    s.declare_at(n, declared, Entity::Type(t.clone()));
                }
                s.constructor_params(&constructor, args);
                let params = s.params(&params, known);
                let annotations = s.annotations(annotations);
                let later = match decl {
                    BlockDecl::Parser(p) => p.locals.as_slice(),
                    BlockDecl::Control(c) => c.locals.as_slice(),
                };
                let around = std::mem::replace(&mut s.local_decls, later);
                let (locals, body) = s.scoped(|s| match decl {
                    BlockDecl::Parser(p) => {
                        let locals = s.locals(&p.locals);
                        (locals, hir::InstanceBody::Parser(s.states(p)))
                    }
                    BlockDecl::Control(c) => {
                        let locals = s.locals(&c.locals);
                        (locals, hir::InstanceBody::Control(s.block(&c.apply)))
                    }
                });
                s.local_decls = around;
                hir::Instance {
                    name: path,
                    type_name: name.to_string(),
                    params,
                    locals,
                    body,
                    annotations,
                    span: declared,
                }
            })
        });
        self.declaring.pop();
        self.out.instances.push(instance?);
        Some(hir::InstanceId((self.out.instances.len() - 1) as u32))
    }

    fn constructor_params(&mut self, sig: &Sig, args: Option<Vec<Option<Typed>>>) {
        for (i, p) in sig.params.iter().enumerate() {
            let value = match &args {
                None => Value::Opaque,
                Some(args) => match args.get(i).and_then(|a| a.as_ref()?.value.clone()) {
                    Some(v) => v,
                    None => Value::Opaque,
                },
            };
            let ty = match &args {
                // The argument's type is more specific than the parameter's.
                Some(args) => args.get(i).and_then(|a| Some(a.as_ref()?.ty.clone())).unwrap_or(p.ty.clone()),
                None => p.ty.clone(),
            };
            let entity = match (&ty, value) {
                (Ty::Block(b, args), Value::Instance(id)) => {
                    Entity::Instance(InstanceEntity { block: *b, args: args.clone(), id: Some(id), open: None })
                }
                (Ty::Block(b, args), _) => {
                    Entity::Instance(InstanceEntity { block: *b, args: args.clone(), id: None, open: None })
                }
                (Ty::Extern(e, args), Value::Object(id)) => Entity::Object(*e, args.clone(), Some(id)),
                (Ty::Extern(e, args), _) => Entity::Object(*e, args.clone(), None),
                (Ty::Err, _) => Entity::Broken,
                (_, v) => Entity::Const(v, ty.clone()),
            };
            self.declare_at(&p.name, p.span, entity);
        }
    }

    /// Declares parameters as variables, and those that exist only at compile time as constants with the values `known`, in
    /// order; without any these are not known yet.
    pub(crate) fn params(&mut self, params: &[ParamSig], known: &[Value]) -> Vec<hir::Param> {
        let mut known = known.iter();
        params
            .iter()
            .filter_map(|p| {
                if p.is_known() {
                    let value = known.next().cloned().unwrap_or(Value::Opaque);
                    self.declare_at(&p.name, p.span, Entity::Const(value, p.ty.clone()));
                    return None;
                }
                if p.ty.is_immaterial() {
                    let shown = self.show(&p.ty);
                    let message = format!("a parameter of type `{shown}` has no direction");
                    self.error("E0317", p.span, message, "its value is known at compile time");
                }
                let var = self.new_var(&p.name, &p.ty, p.span);
                let place = match p.direction {
                    _ if matches!(p.ty, Ty::Extern(..)) => Place::None,
                    Direction::Out | Direction::InOut => Place::Writable,
                    Direction::In => Place::ReadOnly("it belongs to an `in` parameter", Some(p.span)),
                    Direction::None => Place::ReadOnly("it belongs to a parameter without direction", Some(p.span)),
                };
                let entity = if p.ty.is_err() { Entity::Broken } else { Entity::Var(var, p.ty.clone(), place) };
                self.declare_at(&p.name, p.span, entity);
                Some(hir::Param {
                    var,
                    direction: p.direction,
                    control_plane_name: p.control_plane_name().to_string(),
                    new_type: self.new_type(&p.ty),
                    annotations: p.annotations.to_vec(),
                })
            })
            .collect()
    }
}
