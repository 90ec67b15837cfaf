//! Declarations inside of parsers and controls: variables, value sets and actions.

use std::rc::Rc;

use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostic;

use crate::analyser::Analyser;
use crate::context::Body;
use crate::entity::{ActionEntity, Entity};
use crate::hir::{self, Direction};
use crate::types::Ty;
use crate::value::Value;

impl<'a> Analyser<'a> {
    /// Local declarations of a parser or control; the result initialises its variables.
    pub(super) fn locals(&mut self, decls: &'a [ast::Decl]) -> Vec<hir::Stmt> {
        let mut out = Vec::new();
        for d in decls {
            match &d.kind {
                ast::DeclKind::Const(_) | ast::DeclKind::Var(_) => out.extend(self.local(d)),
                ast::DeclKind::Instance(i) => self.instance_decl(d, i),
                ast::DeclKind::Action(a) => self.action_decl(d, a),
                ast::DeclKind::Table(t) => self.table(d, t),
                ast::DeclKind::ValueSet(v) => self.value_set(d, v),
                _ => self.unsupported(d.span, "this kind of local declaration is"),
            }
        }
        out
    }

    pub(super) fn value_set(&mut self, d: &'a ast::Decl, v: &'a ast::ValueSetDecl) {
        use num_traits::ToPrimitive;
        let ty = self.ty(&v.ty);
        let size = self.expr(&v.size, None);
        let ok = self.storable(&ty, v.ty.span);
        let size = match &size.value {
            Some(Value::Int(i)) => match i.to_u64() {
                Some(n) => Some(n),
                None => {
                    self.error("E0402", v.size.span, format!("size {i} is out of range"), "must not be negative");
                    None
                }
            },
            Some(Value::Opaque) => Some(0),
            _ if size.is_err() => None,
            _ => {
                self.not_constant(v.size.span);
                None
            }
        };
        let (Some(size), true) = (size, ok) else {
            self.declare(&v.name, Entity::Broken);
            return;
        };
        let hir_ty = self.hir_ty(&ty);
        let annotations = self.annotations(&d.annotations);
        self.out.value_sets.push(hir::ValueSet {
            name: self.qualified(v.name.as_str(), &d.annotations),
            ty: hir_ty,
            size,
            annotations,
            span: d.span,
        });
        let id = hir::ValueSetId((self.out.value_sets.len() - 1) as u32);
        self.declare(&v.name, Entity::ValueSet(id, ty));
    }

    /// Declares an action and checks its body.
    pub(crate) fn action_decl(&mut self, d: &'a ast::Decl, a: &'a ast::ActionDecl) {
        let sig = self.signature(&a.name, &[], &a.params, None, &d.annotations);
        let mut data = None;
        for p in &sig.params {
            self.not_optional(p);
            self.run_time(p);
            if p.direction == Direction::None {
                let inner = self.defs.underlying(&self.defs.strip_newtype(&p.ty));
                // Controls can give structs, headers, arrays, tuples and errors; lowering refuses them in tables.
                let given = matches!(inner, Ty::Struct(..) | Ty::Stack(..) | Ty::Tuple(_) | Ty::Error);
                if inner.width().is_none()
                    && !given
                    && !matches!(inner, Ty::Bool | Ty::Enum(_) | Ty::Err | Ty::Param(_))
                {
                    let shown = self.show(&p.ty);
                    self.error(
                        "E0308",
                        p.span,
                        format!("action data cannot have type `{shown}`"),
                        "only numbers, booleans and enums",
                    );
                }
            }
            match (p.direction, data) {
                (Direction::None, None) => data = Some(p.span),
                (Direction::None, _) | (_, None) => {}
                (_, Some(first)) => self.report(
                    Diagnostic::error("E0317", format!("parameter `{}` stands after action data", p.name))
                        .at(p.span, "parameters with direction come first")
                        .related(first, "this one has no direction"),
                ),
            }
        }
        let annotations = self.annotations(&d.annotations);
        let control_plane_name = self.qualified(a.name.as_str(), &d.annotations);
        let body_was = std::mem::replace(&mut self.context.body, Body::Action);
        let loops_was = std::mem::replace(&mut self.context.loops, 0);
        self.declaring.push(a.name.name.clone());
        let (params, body) = self.scoped(|s| {
            let params = s.params(&sig.params, &[]);
            (params, s.block(&a.body))
        });
        self.declaring.pop();
        self.context.body = body_was;
        self.context.loops = loops_was;
        self.out.functions.push(hir::Function {
            name: a.name.to_string(),
            control_plane_name,
            is_action: true,
            params,
            result: hir::Type::Void,
            body,
            annotations,
            span: d.span,
        });
        let id = hir::FunctionId((self.out.functions.len() - 1) as u32);
        self.declare(&a.name, Entity::Action(Rc::new(ActionEntity { sig, id })));
    }
}
