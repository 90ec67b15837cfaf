//! `@noWarn("unused")`: suppresses warnings about the declaration or block that carries it.

use hopwright_source::Span;
use hopwright_syntax::ast::{self, Annotation, AnnotationBody, AnnotationTokenKind, Decl, DeclKind, StmtKind};
use hopwright_syntax::diagnostic::{Diagnostic, Diagnostics, Severity};

use crate::means;

/// A range of text, and a warning that is suppressed in it.
struct Quiet {
    span: Span,
    /// A warning's name or code; `None` for all warnings.
    what: Option<String>,
}

/// Removes the warnings that the program's `@noWarn` annotations suppress.
///
/// `@noWarn("unused")` stands before a declaration, parameter, field, state, table property or block. It takes a warning's
/// code or one of its names ([`crate::NAMES`]), or several with commas between; without any it means all warnings.
pub fn quiet(program: &ast::Program, diagnostics: Diagnostics) -> Diagnostics {
    if diagnostics.iter().all(|d| d.severity != Severity::Warning) {
        return diagnostics;
    }
    let mut ranges = Ranges(Vec::new());
    program.decls.iter().for_each(|d| ranges.decl(d));
    let mut out = Diagnostics::new();
    for d in diagnostics {
        if !ranges.cover(&d) {
            out.push(d);
        }
    }
    out
}

struct Ranges(Vec<Quiet>);

impl Ranges {
    fn cover(&self, d: &Diagnostic) -> bool {
        let Some(at) = d.span().filter(|_| d.severity == Severity::Warning) else { return false };
        self.0.iter().any(|q| {
            q.span.file == at.file
                && q.span.start <= at.start
                && at.end <= q.span.end
                && q.what.as_deref().is_none_or(|what| means(what, d.code))
        })
    }

    fn note(&mut self, annotations: &[Annotation], span: Span) {
        for a in annotations.iter().filter(|a| a.name.as_str() == "noWarn") {
            let texts: Vec<&str> = match &a.body {
                AnnotationBody::Unstructured { tokens, .. } => tokens
                    .iter()
                    .filter(|t| matches!(t.kind, AnnotationTokenKind::String | AnnotationTokenKind::Word))
                    .map(|t| &*t.text)
                    .collect(),
                AnnotationBody::Exprs(exprs) => exprs
                    .iter()
                    .filter_map(|e| match &e.kind {
                        ast::ExprKind::String(s) => Some(&**s),
                        _ => None,
                    })
                    .collect(),
                AnnotationBody::None | AnnotationBody::KeyValues(_) => Vec::new(),
            };
            if texts.is_empty() {
                self.0.push(Quiet { span, what: None });
            }
            for text in texts {
                self.0.push(Quiet { span, what: Some(text.to_string()) });
            }
        }
    }

    fn decl(&mut self, d: &Decl) {
        self.note(&d.annotations, d.span);
        match &d.kind {
            DeclKind::Control(c) => {
                self.params(&c.sig.params);
                c.locals.iter().for_each(|d| self.decl(d));
                self.block(&c.apply);
            }
            DeclKind::Parser(p) => {
                self.params(&p.sig.params);
                p.locals.iter().for_each(|d| self.decl(d));
                for s in &p.states {
                    self.note(&s.annotations, s.span);
                    s.stmts.iter().for_each(|s| self.stmt(s));
                }
            }
            DeclKind::Action(a) => {
                self.params(&a.params);
                self.block(&a.body);
            }
            DeclKind::Function(f) => {
                self.params(&f.sig.params);
                self.block(&f.body);
            }
            DeclKind::Table(t) => {
                for p in &t.properties {
                    self.note(&p.annotations, p.span);
                    match &p.value {
                        ast::TablePropertyValue::Key(keys) => {
                            keys.iter().for_each(|k| self.note(&k.annotations, k.span));
                        }
                        ast::TablePropertyValue::Actions(actions) => {
                            actions.iter().for_each(|a| self.note(&a.annotations, a.action.span));
                        }
                        _ => {}
                    }
                }
            }
            DeclKind::Struct(s) => s.fields.iter().for_each(|f| self.note(&f.annotations, f.span)),
            _ => {}
        }
    }

    fn params(&mut self, params: &[ast::Param]) {
        params.iter().for_each(|p| self.note(&p.annotations, p.span));
    }

    fn block(&mut self, b: &ast::Block) {
        self.note(&b.annotations, b.span);
        b.stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, s: &ast::Stmt) {
        match &s.kind {
            StmtKind::Decl(d) => self.decl(d),
            StmtKind::Block(b) => self.block(b),
            StmtKind::If { then, otherwise, .. } => {
                self.stmt(then);
                otherwise.iter().for_each(|o| self.stmt(o));
            }
            StmtKind::Switch { cases, .. } => cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b)),
            StmtKind::For { annotations, init, update, body, .. } => {
                self.note(annotations, s.span);
                init.iter().chain(update).for_each(|s| self.stmt(s));
                self.stmt(body);
            }
            StmtKind::ForIn { annotations, body, .. } => {
                self.note(annotations, s.span);
                self.stmt(body);
            }
            _ => {}
        }
    }
}
