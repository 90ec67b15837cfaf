//! The declarations of a program: their names, kinds, places, and where they are visible.

use std::collections::HashMap;
use std::sync::Arc;

use hopwright_source::Span;
use hopwright_syntax::ast::{
    self, Block, Decl, DeclKind, Ident, Param, ParserDecl, Program, StateDecl, Stmt, StmtKind, StructKind,
};

/// What a declaration declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Const,
    Variable,
    Parameter,
    TypeParameter,
    Instance,
    Error,
    Match,
    Function,
    ExternFunction,
    Extern,
    Constructor,
    Method,
    Action,
    Struct,
    Header,
    Union,
    Field,
    Enum,
    EnumMember,
    Typedef,
    Parser,
    Control,
    Package,
    ValueSet,
    Table,
    State,
}

impl Kind {
    /// As people call it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Const => "constant",
            Kind::Variable => "variable",
            Kind::Parameter => "parameter",
            Kind::TypeParameter => "type parameter",
            Kind::Instance => "instance",
            Kind::Error => "error",
            Kind::Match => "match kind",
            Kind::Function => "function",
            Kind::ExternFunction => "extern function",
            Kind::Extern => "extern",
            Kind::Constructor => "constructor",
            Kind::Method => "method",
            Kind::Action => "action",
            Kind::Struct => "struct",
            Kind::Header => "header",
            Kind::Union => "header union",
            Kind::Field => "field",
            Kind::Enum => "enum",
            Kind::EnumMember => "enum member",
            Kind::Typedef => "type",
            Kind::Parser => "parser",
            Kind::Control => "control",
            Kind::Package => "package",
            Kind::ValueSet => "value set",
            Kind::Table => "table",
            Kind::State => "parser state",
        }
    }

    /// Whether it names a type.
    pub(crate) fn is_type(self) -> bool {
        use Kind::*;
        matches!(self, Struct | Header | Union | Enum | Typedef | Extern | Parser | Control | Package | TypeParameter)
    }
}

/// The syntax of a declaration.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node<'a> {
    Decl(&'a Decl),
    State(&'a StateDecl),
    Field(&'a ast::Field),
    Method(&'a ast::MethodDecl),
    Param(&'a Param),
    /// A name alone: an enum's member, an error, a match kind, a type parameter.
    Name,
}

/// A declaration.
#[derive(Clone, Debug)]
pub(crate) struct Symbol<'a> {
    pub name: &'a Arc<str>,
    pub kind: Kind,
    /// The name.
    pub at: Span,
    /// The whole declaration, without annotations.
    pub span: Span,
    /// The declaration it is in.
    pub parent: Option<usize>,
    /// The text in which it is visible by its name alone; `None` for the rest of the program, and for members.
    pub scope: Option<Span>,
    pub node: Node<'a>,
}

/// All declarations of a program, those outside before those inside.
#[derive(Debug, Default)]
pub(crate) struct Symbols<'a> {
    pub all: Vec<Symbol<'a>>,
    by_place: HashMap<Span, usize>,
    members: HashMap<(usize, &'a str), usize>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn of(program: &'a Program) -> Symbols<'a> {
        let mut symbols = Symbols::default();
        for decl in &program.decls {
            symbols.decl(decl, None, None);
        }
        symbols
    }

    /// The declaration whose name is there.
    pub(crate) fn at(&self, place: Span) -> Option<usize> {
        self.by_place.get(&place).copied()
    }

    /// A declaration within another one.
    pub(crate) fn member(&self, of: usize, name: &str) -> Option<usize> {
        self.members.get(&(of, name)).copied()
    }

    /// What is declared directly within a declaration.
    pub(crate) fn children(&self, of: usize) -> impl Iterator<Item = (usize, &Symbol<'a>)> {
        self.all.iter().enumerate().filter(move |(_, s)| s.parent == Some(of))
    }

    /// Whether a name alone may refer to a symbol at this place.
    pub(crate) fn is_visible(&self, symbol: &Symbol<'a>, at: Span) -> bool {
        let member =
            matches!(symbol.kind, Kind::Field | Kind::EnumMember | Kind::Method | Kind::Constructor | Kind::Error);
        if member || symbol.kind == Kind::State || symbol.kind == Kind::Match {
            return false;
        }
        let later = symbol.at.file == at.file && symbol.at.start >= at.start;
        let inside = symbol.scope.is_none_or(|s| s.file == at.file && s.start <= at.start && at.start <= s.end);
        inside && !later
    }

    /// What a name alone refers to at a place: the innermost declaration.
    pub(crate) fn lookup(&self, name: &str, at: Span) -> Option<usize> {
        let size = |s: &Symbol<'a>| s.scope.map_or(u32::MAX, |s| s.end - s.start);
        let visible = self.all.iter().enumerate().filter(|(_, s)| &**s.name == name && self.is_visible(s, at));
        visible.min_by_key(|(_, s)| size(s)).map(|(i, _)| i)
    }

    /// The innermost declaration of some kind around a place.
    pub(crate) fn around(&self, at: Span, kinds: &[Kind]) -> Option<usize> {
        let inside = |s: &Symbol<'a>| s.span.file == at.file && s.span.start <= at.start && at.start <= s.span.end;
        let all = self.all.iter().enumerate().filter(|(_, s)| kinds.contains(&s.kind) && inside(s));
        all.min_by_key(|(_, s)| s.span.end - s.span.start).map(|(i, _)| i)
    }

    fn add(&mut self, symbol: Symbol<'a>) -> usize {
        let index = self.all.len();
        self.by_place.entry(symbol.at).or_insert(index);
        if let Some(parent) = symbol.parent {
            self.members.entry((parent, &**symbol.name)).or_insert(index);
        }
        self.all.push(symbol);
        index
    }

    fn name(&mut self, name: &'a Ident, kind: Kind, parent: Option<usize>, scope: Option<Span>) {
        let (at, span) = (name.span, name.span);
        self.add(Symbol { name: &name.name, kind, at, span, parent, scope, node: Node::Name });
    }

    fn params(&mut self, params: &'a [Param], parent: usize, scope: Span) {
        for p in params {
            let (name, at) = (&p.name.name, p.name.span);
            let (kind, node) = (Kind::Parameter, Node::Param(p));
            self.add(Symbol { name, kind, at, span: p.span, parent: Some(parent), scope: Some(scope), node });
        }
    }

    fn type_params(&mut self, params: &'a [Ident], parent: usize, scope: Span) {
        for p in params {
            self.name(p, Kind::TypeParameter, Some(parent), Some(scope));
        }
    }

    fn decl(&mut self, decl: &'a Decl, parent: Option<usize>, scope: Option<Span>) {
        let Some(name) = decl.kind.name() else {
            let (names, kind) = match &decl.kind {
                DeclKind::Error(names) => (names, Kind::Error),
                DeclKind::MatchKind(names) => (names, Kind::Match),
                _ => return,
            };
            names.iter().for_each(|n| self.name(n, kind, parent, None));
            return;
        };
        let node = Node::Decl(decl);
        let kind = kind_of(decl);
        let this = self.add(Symbol { name: &name.name, kind, at: name.span, span: decl.span, parent, scope, node });
        self.inside(decl, this);
    }

    /// What a declaration contains.
    fn inside(&mut self, decl: &'a Decl, this: usize) {
        let span = decl.span;
        match &decl.kind {
            DeclKind::Instance(i) => i.init.iter().flatten().for_each(|d| self.decl(d, Some(this), Some(span))),
            DeclKind::Function(f) => {
                self.type_params(&f.sig.type_params, this, span);
                self.params(&f.sig.params, this, span);
                self.block(&f.body, this);
            }
            DeclKind::ExternFunction(sig) => {
                self.type_params(&sig.type_params, this, span);
                self.params(&sig.params, this, span);
            }
            DeclKind::ExternObject(e) => {
                self.type_params(&e.type_params, this, span);
                e.methods.iter().for_each(|m| self.method(m, this));
            }
            DeclKind::Action(a) => {
                self.params(&a.params, this, span);
                self.block(&a.body, this);
            }
            DeclKind::Struct(s) => {
                self.type_params(&s.type_params, this, span);
                for f in &s.fields {
                    let (kind, node, parent) = (Kind::Field, Node::Field(f), Some(this));
                    let at = f.name.span;
                    self.add(Symbol { name: &f.name.name, kind, at, span: f.span, parent, scope: None, node });
                }
            }
            DeclKind::Enum(e) => e.members.iter().for_each(|m| self.name(&m.name, Kind::EnumMember, Some(this), None)),
            DeclKind::Typedef(t) => {
                if let ast::TypedefTarget::Decl(d) = &t.target {
                    self.decl(d, None, None);
                }
            }
            DeclKind::ParserType(sig) | DeclKind::ControlType(sig) | DeclKind::Package(sig) => {
                self.type_params(&sig.type_params, this, span);
                self.params(&sig.params, this, span);
            }
            DeclKind::Parser(p) => self.parser(p, this, span),
            DeclKind::Control(c) => {
                self.type_params(&c.sig.type_params, this, span);
                self.params(&c.sig.params, this, span);
                self.params(&c.constructor_params, this, span);
                c.locals.iter().for_each(|d| self.decl(d, Some(this), Some(span)));
                self.block(&c.apply, this);
            }
            _ => {}
        }
    }

    fn parser(&mut self, p: &'a ParserDecl, this: usize, span: Span) {
        self.type_params(&p.sig.type_params, this, span);
        self.params(&p.sig.params, this, span);
        self.params(&p.constructor_params, this, span);
        p.locals.iter().for_each(|d| self.decl(d, Some(this), Some(span)));
        for s in &p.states {
            let (name, at, parent, node) = (&s.name.name, s.name.span, Some(this), Node::State(s));
            let state = self.add(Symbol { name, kind: Kind::State, at, span: s.span, parent, scope: Some(span), node });
            self.stmts(&s.stmts, state, s.span);
        }
    }

    fn method(&mut self, m: &'a ast::MethodDecl, parent: usize) {
        let kind = if m.is_constructor { Kind::Constructor } else { Kind::Method };
        let (name, at, node) = (&m.sig.name.name, m.sig.name.span, Node::Method(m));
        let this = self.add(Symbol { name, kind, at, span: m.span, parent: Some(parent), scope: None, node });
        self.type_params(&m.sig.type_params, this, m.span);
        self.params(&m.sig.params, this, m.span);
    }

    fn block(&mut self, block: &'a Block, parent: usize) {
        self.stmts(&block.stmts, parent, block.span);
    }

    fn stmts(&mut self, stmts: &'a [Stmt], parent: usize, scope: Span) {
        stmts.iter().for_each(|s| self.stmt(s, parent, scope));
    }

    fn stmt(&mut self, stmt: &'a Stmt, parent: usize, scope: Span) {
        // A chain of `else if` is long where nesting is not deep.
        let mut next = Some(stmt);
        while let Some(stmt) = next.take() {
            match &stmt.kind {
                StmtKind::Decl(d) => self.decl(d, Some(parent), Some(scope)),
                StmtKind::If { then, otherwise, .. } => {
                    self.stmt(then, parent, then.span);
                    next = otherwise.as_deref();
                }
                StmtKind::Block(b) => self.block(b, parent),
                StmtKind::Switch { cases, .. } => {
                    cases.iter().filter_map(|c| c.body.as_ref()).for_each(|b| self.block(b, parent));
                }
                StmtKind::For { init, body, .. } => {
                    self.stmts(init, parent, stmt.span);
                    self.stmt(body, parent, stmt.span);
                }
                StmtKind::ForIn { var, body, .. } => {
                    self.decl(var, Some(parent), Some(stmt.span));
                    self.stmt(body, parent, stmt.span);
                }
                _ => {}
            }
        }
    }
}

fn kind_of(decl: &Decl) -> Kind {
    match &decl.kind {
        DeclKind::Const(_) => Kind::Const,
        DeclKind::Var(_) => Kind::Variable,
        DeclKind::Instance(_) => Kind::Instance,
        DeclKind::Error(_) => Kind::Error,
        DeclKind::MatchKind(_) => Kind::Match,
        DeclKind::Function(_) => Kind::Function,
        DeclKind::ExternFunction(_) => Kind::ExternFunction,
        DeclKind::ExternObject(_) => Kind::Extern,
        DeclKind::Action(_) => Kind::Action,
        DeclKind::Struct(s) => match s.kind {
            StructKind::Struct => Kind::Struct,
            StructKind::Header => Kind::Header,
            StructKind::HeaderUnion => Kind::Union,
        },
        DeclKind::Enum(_) => Kind::Enum,
        DeclKind::Typedef(_) => Kind::Typedef,
        DeclKind::ParserType(_) | DeclKind::Parser(_) => Kind::Parser,
        DeclKind::ControlType(_) | DeclKind::Control(_) => Kind::Control,
        DeclKind::Package(_) => Kind::Package,
        DeclKind::ValueSet(_) => Kind::ValueSet,
        DeclKind::Table(_) => Kind::Table,
    }
}
