//! The state of an analysis, error reporting, and conversion of types to those of the typed program.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::{Diagnostic, Severity};

use crate::context::{Body, Context};
use crate::defs::{Defs, OpenDefault};
use crate::entity::{Entity, Scope};
use crate::hir;
use crate::types::{MAX_LEAVES, Ty, bind};

/// The state of an analysis.
pub(crate) struct Analyser<'a> {
    pub program: &'a ast::Program,
    pub diagnostics: Vec<Diagnostic>,
    seen: HashSet<(&'static str, Option<Span>, String)>,
    pub errors: usize,
    pub defs: Defs<'a>,
    pub globals: Scope<'a>,
    /// Top-level names and their declarations, for diagnostics about names used too early.
    pub later: HashMap<Arc<str>, Span>,
    pub scopes: Vec<Scope<'a>>,
    /// Names declared at the top level at or after this position are not visible.
    pub order: usize,
    pub context: Context,
    /// Whether declarations are checked without being instantiated.
    pub dry: bool,
    pub match_kinds: Vec<(Arc<str>, Span)>,
    pub errors_declared: HashMap<Arc<str>, (usize, Span)>,
    pub depth: u32,
    /// Whether nesting has been reported.
    too_deep: bool,
    pub out: hir::TypedProgram,
    struct_ids: HashMap<(usize, Rc<[Ty]>), hir::StructId>,
    anonymous: HashMap<Ty, hir::StructId>,
    enum_ids: HashMap<usize, hir::EnumId>,
    new_type_ids: HashMap<usize, hir::NewTypeId>,
    leaves: HashMap<Ty, u64>,
    pub specialised: HashMap<(Span, Vec<Ty>, String), hir::FunctionId>,
    /// Type parameters that stand for `_` in the signature being read.
    pub open_types: Option<Vec<u32>>,
    /// Whether `main` has been found.
    pub has_main: bool,
    /// Names of the actions, functions, parsers and controls being checked, the innermost last: they cannot use themselves.
    pub declaring: Vec<Arc<str>>,
    /// All declarations of the parser or control being checked, also later ones.
    pub local_decls: &'a [ast::Decl],
    /// Missing built-in include files that have been reported.
    pub missing_includes: HashSet<&'static str>,
    /// Remaining searches for similar names, each of which takes time in proportion to the number of names.
    pub proposals: u32,
    /// The type that casts to `int` take, within a cast to it.
    pub modular: Option<Ty>,
    /// Default values of parameters that each use evaluates.
    pub open_defaults: Vec<OpenDefault<'a>>,
    /// What `@deprecated` says of top-level declarations other than functions, by name.
    pub deprecated_names: HashMap<Arc<str>, Arc<str>>,
    /// Actions a table may run, by table.
    pub table_actions: HashMap<u32, Vec<hir::FunctionId>>,
    /// Names and types by place, if they are asked for.
    pub index: Option<Box<crate::index::Builder>>,
}

/// Maximum nesting of expressions and statements: the parser's limits together.
const MAX_DEPTH: u32 = 2048;

impl<'a> Analyser<'a> {
    pub(crate) fn new(program: &'a ast::Program, name: &str) -> Analyser<'a> {
        Analyser {
            program,
            diagnostics: Vec::new(),
            seen: HashSet::new(),
            errors: 0,
            defs: Defs::default(),
            globals: Scope::default(),
            later: HashMap::new(),
            scopes: Vec::new(),
            order: 0,
            context: Context::new(Body::None, Ty::Void, String::new()),
            dry: false,
            match_kinds: Vec::new(),
            errors_declared: HashMap::new(),
            depth: 0,
            too_deep: false,
            out: hir::TypedProgram {
                name: name.to_string(),
                structs: Vec::new(),
                enums: Vec::new(),
                new_types: Vec::new(),
                errors: Vec::new(),
                functions: Vec::new(),
                instances: Vec::new(),
                tables: Vec::new(),
                objects: Vec::new(),
                value_sets: Vec::new(),
                vars: Vec::new(),
                hash_blocks: Vec::new(),
                main: hir::Package {
                    architecture: None,
                    type_name: String::new(),
                    ghosts: Vec::new(),
                    pipelines: Vec::new(),
                    pipes: Vec::new(),
                    blocks: Vec::new(),
                    values: Vec::new(),
                    objects: Vec::new(),
                    annotations: Vec::new(),
                    span: Span::none(),
                },
            },
            struct_ids: HashMap::new(),
            anonymous: HashMap::new(),
            enum_ids: HashMap::new(),
            new_type_ids: HashMap::new(),
            leaves: HashMap::new(),
            specialised: HashMap::new(),
            open_types: None,
            has_main: false,
            declaring: Vec::new(),
            local_decls: &[],
            missing_includes: HashSet::new(),
            proposals: 1_000,
            modular: None,
            open_defaults: Vec::new(),
            deprecated_names: HashMap::new(),
            table_actions: HashMap::new(),
            index: None,
        }
    }

    /// Adds a diagnostic, unless an equal one has been added.
    pub(crate) fn report(&mut self, d: Diagnostic) {
        if self.seen.insert((d.code, d.span(), d.message.clone())) {
            if d.severity == Severity::Error {
                self.errors += 1;
            }
            self.diagnostics.push(d);
        }
    }

    /// Counts an error that is the consequence of one reported already.
    pub(crate) fn consequence(&mut self) {
        self.errors += 1;
    }

    /// An error with one label.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Span,
        message: impl Into<String>,
        label: impl Into<String>,
    ) {
        self.report(Diagnostic::error(code, message).at(span, label));
    }

    pub(crate) fn unsupported(&mut self, span: Span, what: &str) {
        self.error("E0500", span, format!("{what} not supported yet"), "used here");
    }

    /// Runs `f` one level deeper, or reports an error and returns `None` when that is too deep.
    pub(crate) fn deeper<R>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        self.deeper_by(1, span, f)
    }

    /// As [`Analyser::deeper`], for code that needs the stack of several levels.
    pub(crate) fn deeper_by<R>(&mut self, levels: u32, span: Span, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth + levels > MAX_DEPTH {
            if !self.too_deep {
                self.too_deep = true;
                let label = format!("more than {} levels", MAX_DEPTH / levels);
                self.error("E0407", span, "the program is nested too deeply", label);
            }
            return None;
        }
        self.depth += levels;
        let r = f(self);
        self.depth -= levels;
        Some(r)
    }

    pub(crate) fn show(&self, ty: &Ty) -> String {
        self.defs.show(ty)
    }

    /// The number of scalars in a type.
    pub(crate) fn leaves(&mut self, ty: &Ty) -> u64 {
        self.defs.leaves(ty, &mut self.leaves)
    }

    /// Reports types with too many fields.
    pub(crate) fn check_size(&mut self, ty: &Ty, span: Span) -> bool {
        let n = self.leaves(ty);
        if n > MAX_LEAVES {
            let shown = self.show(ty);
            self.error(
                "E0402",
                span,
                format!("type `{shown}` is too large"),
                format!("it has more than {MAX_LEAVES} fields"),
            );
            return false;
        }
        true
    }

    /// A new variable.
    pub(crate) fn new_var(&mut self, name: &str, ty: &Ty, span: Span) -> hir::VarId {
        let ty = self.hir_ty(ty);
        self.out.vars.push(hir::Var { name: name.to_string(), ty, span });
        hir::VarId((self.out.vars.len() - 1) as u32)
    }

    /// The concrete type; type parameters and unfinished types (only in code that is checked but not kept, or
    /// after errors) become `void`.
    pub(crate) fn hir_ty(&mut self, ty: &Ty) -> hir::Type {
        match ty {
            Ty::Bool => hir::Type::Bool,
            Ty::Bits(w) => hir::Type::Bits(*w),
            Ty::Int(w) => hir::Type::Int(*w),
            Ty::InfInt => hir::Type::InfInt,
            Ty::Varbit(w) => hir::Type::Varbit(*w),
            Ty::String => hir::Type::String,
            Ty::Error => hir::Type::Error,
            Ty::MatchKind => hir::Type::MatchKind,
            Ty::Void | Ty::Err | Ty::Param(_) | Ty::Var(_) | Ty::InvalidLit | Ty::DotsLit | Ty::ApplyResult(_) => {
                hir::Type::Void
            }
            Ty::Enum(e) => hir::Type::Enum(self.enum_id(*e)),
            Ty::Struct(d, args) => {
                let kind = self.defs.structs[*d].kind;
                let id = self.struct_id(*d, args);
                match kind {
                    ast::StructKind::Struct => hir::Type::Struct(id),
                    ast::StructKind::Header => hir::Type::Header(id),
                    ast::StructKind::HeaderUnion => hir::Type::Union(id),
                }
            }
            Ty::Stack(t, n) => hir::Type::Stack(Rc::new(self.hir_ty(t)), *n),
            Ty::Tuple(items) | Ty::ListLit(items) => hir::Type::Tuple(items.iter().map(|t| self.hir_ty(t)).collect()),
            Ty::StructLit(items) => {
                if let Some(id) = self.anonymous.get(ty) {
                    return hir::Type::Struct(*id);
                }
                let fields = items
                    .iter()
                    .map(|(n, t)| hir::Field {
                        name: n.to_string(),
                        control_plane_name: n.to_string(),
                        ty: self.hir_ty(t),
                        new_type: self.new_type(t),
                        annotations: Vec::new(),
                        span: Span::none(),
                    })
                    .collect();
                let name = format!("anonymous_{}", self.anonymous.len());
                self.out.structs.push(hir::Struct {
                    name: name.clone(),
                    control_plane_name: name,
                    fields,
                    annotations: Vec::new(),
                    span: Span::none(),
                });
                let id = hir::StructId((self.out.structs.len() - 1) as u32);
                self.anonymous.insert(ty.clone(), id);
                hir::Type::Struct(id)
            }
            Ty::List(_) => hir::Type::Tuple(Rc::new([])),
            Ty::Newtype(_) => {
                let t = self.defs.strip_newtype(ty);
                self.hir_ty(&t)
            }
            Ty::Extern(d, _) => hir::Type::Extern(self.defs.externs[*d].name.to_string()),
            Ty::Block(d, _) => hir::Type::Extern(self.defs.blocks[*d].name.to_string()),
            Ty::Package(d, _) => hir::Type::Extern(self.defs.packages[*d].name.to_string()),
        }
    }

    pub(crate) fn enum_id(&mut self, e: usize) -> hir::EnumId {
        if let Some(id) = self.enum_ids.get(&e) {
            return *id;
        }
        let underlying = self.defs.enums[e].underlying.clone();
        let underlying = underlying.map(|t| self.hir_ty(&t));
        let def = &self.defs.enums[e];
        self.out.enums.push(hir::Enum {
            name: def.name.to_string(),
            control_plane_name: self.global_name(&def.name, def.annotations),
            underlying,
            members: def.members.iter().map(|(n, v)| (n.to_string(), v.clone())).collect(),
            span: def.span,
        });
        let id = hir::EnumId((self.out.enums.len() - 1) as u32);
        self.enum_ids.insert(e, id);
        id
    }

    /// The `type` declaration after a type, if it is one.
    pub(crate) fn new_type(&mut self, ty: &Ty) -> Option<hir::NewTypeId> {
        let Ty::Newtype(n) = ty else { return None };
        if let Some(id) = self.new_type_ids.get(n) {
            return Some(*id);
        }
        let below = self.defs.strip_newtype(ty);
        let below = self.hir_ty(&below);
        let def = &self.defs.newtypes[*n];
        let (annotations, span) = (def.annotations, def.span);
        let control_plane_name = self.global_name(&def.name, annotations);
        let annotations = self.annotations(annotations);
        self.out.new_types.push(hir::NewType { control_plane_name, ty: below, annotations, span });
        let id = hir::NewTypeId((self.out.new_types.len() - 1) as u32);
        self.new_type_ids.insert(*n, id);
        Some(id)
    }

    /// Adds headers that only the control plane uses.
    pub(crate) fn controller_headers(&mut self) {
        for d in 0..self.defs.structs.len() {
            let def = &self.defs.structs[d];
            if def.kind == ast::StructKind::Header
                && def.type_params.is_empty()
                && ast::find_annotation(def.annotations, "controller_header").is_some()
            {
                let none: Rc<[Ty]> = Rc::new([]);
                self.struct_id(d, &none);
            }
        }
    }

    fn struct_id(&mut self, d: usize, args: &Rc<[Ty]>) -> hir::StructId {
        let key = (d, args.clone());
        if let Some(id) = self.struct_ids.get(&key) {
            return *id;
        }
        let def = &self.defs.structs[d];
        let (name, annotations, span, field_defs) =
            (def.name.to_string(), def.annotations, def.span, def.fields.clone());
        let subst = bind(&def.type_params, args);
        let control_plane_name = self.global_name(&name, annotations);
        let annotations = self.annotations(annotations);
        let fields = field_defs
            .iter()
            .map(|f| (f, f.ty.subst(&subst)))
            .map(|(f, ty)| hir::Field {
                name: f.name.to_string(),
                control_plane_name: self.global_name(&f.name, f.annotations),
                ty: self.hir_ty(&ty),
                new_type: self.new_type(&ty),
                annotations: self.annotations(f.annotations),
                span: f.span,
            })
            .collect();
        self.out.structs.push(hir::Struct { name, control_plane_name, fields, annotations, span });
        let id = hir::StructId((self.out.structs.len() - 1) as u32);
        self.struct_ids.insert(key, id);
        id
    }

    /// Runs `f` with fresh scopes above the top level as it was at declaration `order`.
    pub(crate) fn in_declaration<R>(&mut self, order: usize, context: Context, f: impl FnOnce(&mut Self) -> R) -> R {
        let scopes = std::mem::take(&mut self.scopes);
        let context = std::mem::replace(&mut self.context, context);
        let order = std::mem::replace(&mut self.order, order);
        let r = self.scoped(f);
        self.scopes = scopes;
        self.context = context;
        self.order = order;
        r
    }

    /// Checks code and discards the result.
    pub(crate) fn dry_run(&mut self, f: impl FnOnce(&mut Self)) {
        let was = std::mem::replace(&mut self.dry, true);
        let lengths = (
            self.out.functions.len(),
            self.out.instances.len(),
            self.out.tables.len(),
            self.out.objects.len(),
            self.out.value_sets.len(),
            self.out.vars.len(),
        );
        f(self);
        self.out.functions.truncate(lengths.0);
        self.out.instances.truncate(lengths.1);
        self.out.tables.truncate(lengths.2);
        self.out.objects.truncate(lengths.3);
        self.out.value_sets.truncate(lengths.4);
        self.out.vars.truncate(lengths.5);
        self.table_actions.retain(|id, _| (*id as usize) < lengths.2);
        self.dry = was;
    }

    /// A control-plane name: the local name under the current path, unless `@name` says otherwise.
    pub(crate) fn qualified(&self, local: &str, annotations: &[ast::Annotation]) -> String {
        let given = self.annotation_text(annotations, "name");
        let local = given.as_deref().unwrap_or(local);
        if let Some(absolute) = local.strip_prefix('.') {
            absolute.to_string()
        } else if self.context.path.is_empty() {
            local.to_string()
        } else {
            format!("{}.{local}", self.context.path)
        }
    }

    /// The control-plane name of an object without a path.
    pub(crate) fn global_name(&self, local: &str, annotations: &[ast::Annotation]) -> String {
        let given = self.annotation_text(annotations, "name");
        let name = given.as_deref().unwrap_or(local);
        name.strip_prefix('.').unwrap_or(name).to_string()
    }

    /// The string that an annotation of this name has as its only argument.
    pub(crate) fn annotation_text(&self, annotations: &[ast::Annotation], name: &str) -> Option<Arc<str>> {
        let annotation = ast::find_annotation(annotations, name)?;
        if let Some(text) = annotation.single_string() {
            return Some(text.clone());
        }
        let (ast::AnnotationBody::Unstructured { exprs: Some(exprs), .. } | ast::AnnotationBody::Exprs(exprs)) =
            &annotation.body
        else {
            return None;
        };
        match exprs.as_slice() {
            [one] => match self.annotation_value(one)? {
                hir::AnnotationArg::String(text) => Some(text.into()),
                _ => None,
            },
            _ => None,
        }
    }

    /// Annotations with their arguments evaluated as far as they have a meaning.
    pub(crate) fn annotations(&mut self, annotations: &'a [ast::Annotation]) -> Vec<hir::Annotation> {
        for a in annotations.iter().filter(|a| a.name.as_str() == "name") {
            if self.annotation_text(std::slice::from_ref(a), "name").is_none() {
                self.error("E0308", a.span, "`@name` takes a string", "not a string that is known here");
            }
        }
        self.distinct_annotations(annotations);
        annotations
            .iter()
            .map(|a| hir::Annotation {
                name: a.name.to_string(),
                args: self.annotation_args(a),
                form: annotation_form(a),
                span: a.span,
            })
            .collect()
    }

    /// Reports annotations that exclude each other (P4-16 20, 20.2.1): two of one name of which one is structured; and keys that
    /// are there twice. Two names are accepted, as by p4c.
    fn distinct_annotations(&mut self, annotations: &'a [ast::Annotation]) {
        use ast::AnnotationBody::{Exprs, KeyValues};
        let structured = |a: &ast::Annotation| matches!(a.body, Exprs(_) | KeyValues(_));
        for (i, a) in annotations.iter().enumerate() {
            let same = |b: &&ast::Annotation| a.name.name == b.name.name && (structured(a) || structured(b));
            if let Some(other) = annotations[..i].iter().find(same) {
                self.report(
                    Diagnostic::error("E0201", format!("`@{}` cannot stand beside `@{}`", a.name, other.name))
                        .at(a.span, "the second")
                        .related(other.span, "the first"),
                );
            }
            let KeyValues(pairs) = &a.body else { continue };
            for (i, pair) in pairs.iter().enumerate() {
                if let Some(first) = pairs[..i].iter().find(|p| p.name.name == pair.name.name) {
                    self.duplicate(pair.name.as_str(), pair.name.span, first.name.span);
                }
            }
        }
    }

    fn annotation_args(&mut self, a: &'a ast::Annotation) -> Vec<hir::AnnotationArg> {
        match &a.body {
            ast::AnnotationBody::None => Vec::new(),
            ast::AnnotationBody::Unstructured { tokens, exprs } => {
                let values = exprs
                    .as_ref()
                    .and_then(|exprs| exprs.iter().map(|e| self.annotation_value(e)).collect::<Option<Vec<_>>>());
                values.unwrap_or_else(|| {
                    tokens
                        .iter()
                        .map(|t| match &t.kind {
                            ast::AnnotationTokenKind::Int(lit) => hir::AnnotationArg::Int(lit.value.clone()),
                            _ => hir::AnnotationArg::String(t.text.to_string()),
                        })
                        .collect()
                })
            }
            ast::AnnotationBody::Exprs(exprs) => exprs.iter().filter_map(|e| self.constant_value(e)).collect(),
            ast::AnnotationBody::KeyValues(pairs) => pairs
                .iter()
                .filter_map(|p| {
                    let value = self.constant_value(&p.value)?;
                    Some(hir::AnnotationArg::KeyValue(p.name.to_string(), Box::new(value)))
                })
                .collect(),
        }
    }

    /// A constant expression in a structured annotation.
    fn constant_value(&mut self, e: &'a ast::Expr) -> Option<hir::AnnotationArg> {
        use crate::value::Value;
        if let Some(value) = self.annotation_value(e) {
            return Some(value);
        }
        let typed = self.expr(e, None);
        if typed.is_err() {
            return None;
        }
        match typed.value {
            Some(Value::Int(i)) => Some(hir::AnnotationArg::Int(i)),
            Some(Value::Bool(b)) => Some(hir::AnnotationArg::Bool(b)),
            Some(Value::Str(s)) => Some(hir::AnnotationArg::String(s.to_string())),
            _ => {
                self.not_constant(e.span);
                None
            }
        }
    }

    /// A literal or the name of a constant; annotations of unknown meaning may hold anything.
    fn annotation_value(&self, e: &ast::Expr) -> Option<hir::AnnotationArg> {
        use crate::value::Value;
        let constant = |value: &Value| match value {
            Value::Int(i) => Some(hir::AnnotationArg::Int(i.clone())),
            Value::Bool(b) => Some(hir::AnnotationArg::Bool(*b)),
            Value::Str(s) => Some(hir::AnnotationArg::String(s.to_string())),
            _ => None,
        };
        match &e.kind {
            ast::ExprKind::Int(lit) => Some(hir::AnnotationArg::Int(lit.value.clone())),
            ast::ExprKind::Bool(b) => Some(hir::AnnotationArg::Bool(*b)),
            ast::ExprKind::String(s) => Some(hir::AnnotationArg::String(s.to_string())),
            ast::ExprKind::Path(path) => match &self.lookup(path.name.as_str(), path.leading_dot)?.entity {
                Entity::Const(value, _) => constant(value),
                _ => None,
            },
            ast::ExprKind::Binary { op: ast::BinaryOp::Concat, left, right } => {
                match (self.annotation_value(left)?, self.annotation_value(right)?) {
                    (hir::AnnotationArg::String(a), hir::AnnotationArg::String(b)) => {
                        Some(hir::AnnotationArg::String(a + &b))
                    }
                    _ => None,
                }
            }
            ast::ExprKind::Unary { op: ast::UnaryOp::Negate, operand } => match self.annotation_value(operand)? {
                hir::AnnotationArg::Int(i) => Some(hir::AnnotationArg::Int(-i)),
                _ => None,
            },
            ast::ExprKind::Member { base, name } => {
                let ast::ExprKind::Path(path) = &base.kind else {
                    return None;
                };
                self.enum_value(path, name)
            }
            ast::ExprKind::TypeMember { ty, name } => {
                let ast::TypeKind::Named(path) = &ty.kind else {
                    return None;
                };
                self.enum_value(path, name)
            }
            _ => None,
        }
    }

    fn enum_value(&self, path: &ast::Path, name: &ast::Ident) -> Option<hir::AnnotationArg> {
        let Entity::Type(Ty::Enum(e)) = self.lookup(path.name.as_str(), path.leading_dot)?.entity else {
            return None;
        };
        let members = &self.defs.enums[e].members;
        let (_, value) = members.iter().find(|(n, _)| **n == *name.name)?;
        Some(hir::AnnotationArg::Int(value.clone()))
    }
}

fn annotation_form(a: &ast::Annotation) -> hir::AnnotationForm {
    let word = |t: &ast::AnnotationToken| match t.kind {
        ast::AnnotationTokenKind::String => format!("\"{}\"", t.text),
        _ => t.text.to_string(),
    };
    match &a.body {
        ast::AnnotationBody::None => hir::AnnotationForm::Free(Vec::new()),
        ast::AnnotationBody::Unstructured { tokens, .. } => {
            hir::AnnotationForm::Free(tokens.iter().map(word).collect())
        }
        ast::AnnotationBody::Exprs(_) => hir::AnnotationForm::List,
        ast::AnnotationBody::KeyValues(_) => hir::AnnotationForm::KeyValues,
    }
}
