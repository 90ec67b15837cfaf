//! Recursive-descent parser: tokens to syntax tree.
//!
//! This module has what all productions need: the token cursor, name scopes, limits, errors and recovery. Productions are in
//! `decl` (declarations), `annotation`, `table`, `types`, `stmt` (statements) and `expr` (expressions).
//!
//! The grammar of P4 depends on which names are types. As in every P4 parser, scopes record what a name was declared as; where
//! that is not enough, or the name is unknown, a bounded look-ahead decides.
//!
//! A production that fails has reported an error and returns [`Abort`]. Lists of declarations, statements and table parts catch
//! it and skip to a synchronisation point, so that one run finds several errors.

mod annotation;
mod decl;
mod expr;
mod literal;
mod stmt;
mod table;
mod types;

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Decl, Expr, ExprKind, Ident, NodeId, Program, TypeExpr, TypeKind};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::token::{Kw, P, Tok, Token};
use hopwright_source::Span;

/// Deepest nesting of anything, in units: a level of recursion and a link of an `else if` chain count [`LEVEL`],
/// an operator's right side counts 1. What nests so deep is parsed [with room on the stack](hopwright_source::stack::with_room).
const MAX_DEPTH: u32 = 2048;
/// What one level of recursion counts.
const LEVEL: u32 = 2;
/// Highest expression tree, so that later stages can walk it recursively.
const MAX_HEIGHT: u16 = 1024;
/// Errors after which the parser gives up.
const MAX_ERRORS: usize = 50;
/// Farthest look ahead when deciding what `<` is.
const MAX_SCAN: usize = 512;

/// A production failed; the error has been reported.
#[derive(Debug)]
struct Abort;

type PResult<T> = Result<T, Abort>;

/// What a name was declared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameKind {
    is_type: bool,
    /// It takes type arguments.
    is_generic: bool,
}

/// The context of statements, which decides what is permitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StmtContext {
    ParserState,
    Body,
}

/// What stands in braces; each kind has things that can stand only outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    /// Of actions, functions, `apply`, `if` and the like.
    Statements,
    /// Of a parser state.
    State,
    /// Fields, or the members of a parser or control.
    Members,
    /// Properties of a table.
    Table,
    /// Keys, actions or entries of a table.
    TablePart,
    /// Anything else, where nothing is looked for.
    Other,
}

struct Parser<'a> {
    tokens: Vec<Token>,
    pos: usize,
    diags: &'a mut Diagnostics,
    scopes: Vec<HashMap<Arc<str>, NameKind>>,
    /// Height of each expression and type, by [`NodeId`].
    heights: Vec<u16>,
    depth: u32,
    /// Inside `<...>`: `>` ends it and is no operator.
    no_gt: bool,
    stmt_context: StmtContext,
    errors: usize,
    /// Token of the last error: one place, one error.
    last_error: Option<usize>,
}

/// State to go back to after a trial.
struct Checkpoint {
    pos: usize,
    diags: usize,
    heights: usize,
    errors: usize,
    last_error: Option<usize>,
    depth: u32,
}

/// Parses a program; the last token is [`Tok::Eof`].
pub(crate) fn parse_program(tokens: Vec<Token>, diags: &mut Diagnostics) -> Program {
    let mut parser = Parser {
        tokens,
        pos: 0,
        diags,
        scopes: vec![HashMap::new()],
        heights: Vec::new(),
        depth: 0,
        no_gt: false,
        stmt_context: StmtContext::Body,
        errors: 0,
        last_error: None,
    };
    let mut decls: Vec<Decl> = Vec::new();
    while !parser.at_end() {
        if parser.eat(P::Semi).is_some() {
            continue;
        }
        let start = parser.pos;
        match parser.top_level_decl() {
            Ok(decl) => decls.extend(decl),
            Err(Abort) => {
                parser.scopes.truncate(1);
                parser.sync_top_level();
            }
        }
        if parser.pos == start {
            parser.pos += 1;
        }
    }
    Program { decls, node_count: parser.heights.len() as u32 }
}

impl Parser<'_> {
    // --- cursor ------------------------------------------------------------------------------

    fn nth(&self, n: usize) -> &Token {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.pos + n).min(last)]
    }

    fn peek(&self) -> &Token {
        self.nth(0)
    }

    fn kind(&self) -> Tok {
        self.peek().kind
    }

    fn nth_is(&self, n: usize, p: P) -> bool {
        self.nth(n).kind == Tok::P(p)
    }

    fn at(&self, p: P) -> bool {
        self.kind() == Tok::P(p)
    }

    fn at_kw(&self, k: Kw) -> bool {
        self.kind() == Tok::Kw(k)
    }

    fn at_end(&self) -> bool {
        self.kind() == Tok::Eof
    }

    fn bump(&mut self) -> Span {
        let span = self.peek().span;
        if self.pos + 1 < self.tokens.len() {
            self.pos += 1;
        }
        span
    }

    fn eat(&mut self, p: P) -> Option<Span> {
        self.at(p).then(|| self.bump())
    }

    fn eat_kw(&mut self, k: Kw) -> Option<Span> {
        self.at_kw(k).then(|| self.bump())
    }

    /// The span of the token read last.
    fn prev_span(&self) -> Span {
        match self.pos.checked_sub(1) {
            Some(i) => self.tokens[i].span,
            None => self.peek().span,
        }
    }

    /// From `start` to the token read last.
    fn span_from(&self, start: Span) -> Span {
        start.to(self.prev_span())
    }

    fn expect(&mut self, p: P, after: &str) -> PResult<Span> {
        match self.eat(p) {
            Some(span) => Ok(span),
            None => Err(self.expected(&format!("`{}` {after}", p.text()))),
        }
    }

    fn expect_kw(&mut self, k: Kw, after: &str) -> PResult<Span> {
        match self.eat_kw(k) {
            Some(span) => Ok(span),
            None => Err(self.expected(&format!("`{}` {after}", k.text()))),
        }
    }

    /// A `;`. If it is missing at the end of a line, reports that and continues as if it were there.
    fn expect_semi(&mut self, after: &str) -> PResult<Span> {
        if let Some(span) = self.eat(P::Semi) {
            return Ok(span);
        }
        let next = self.peek().clone();
        let forgotten = next.line_start || next.kind == Tok::Eof || self.at(P::RBrace);
        let place = self.prev_span().after();
        let mut diagnostic = Diagnostic::error("E0111", format!("expected `;` {after}, found {}", next.describe()));
        diagnostic = if forgotten {
            diagnostic.at(place, "add `;` here").related(next.span, "unexpected").suggest(place, "", ";")
        } else {
            diagnostic.at(next.span, "expected `;`")
        };
        let abort = self.report(diagnostic);
        if forgotten && self.errors < MAX_ERRORS {
            // The next token is not to blame; let it have its own errors.
            self.last_error = None;
            Ok(place)
        } else {
            Err(abort)
        }
    }

    /// Whether the token `n` ahead may be a name (grammar: `name`).
    fn nth_is_name(&self, n: usize) -> bool {
        match self.nth(n).kind {
            Tok::Ident => true,
            Tok::Kw(k) => k.is_name(),
            _ => false,
        }
    }

    fn ident(&mut self, what: &str) -> PResult<Ident> {
        if self.nth_is_name(0) {
            let token = self.peek();
            let ident = Ident { name: token.text.clone(), span: token.span };
            self.bump();
            return Ok(ident);
        }
        let token = self.peek().clone();
        let mut diagnostic = Diagnostic::error("E0110", format!("expected {what}, found {}", token.describe()))
            .at(token.span, format!("expected {what}"));
        if let Tok::Kw(k) = token.kind {
            diagnostic =
                diagnostic.help(format!("`{}` is a reserved word of P4 and cannot be used as a name", k.text()));
        }
        Err(self.report(diagnostic))
    }

    // --- errors ------------------------------------------------------------------------------

    /// Reports an error unless one was reported at this token already; gives up after too many.
    fn report(&mut self, diagnostic: Diagnostic) -> Abort {
        if self.last_error == Some(self.pos) {
            return Abort;
        }
        self.last_error = Some(self.pos);
        if self.errors >= MAX_ERRORS {
            return Abort;
        }
        let token = self.peek();
        let diagnostic = match &token.from_macro {
            Some(name) => diagnostic.note(format!("{} is in the expansion of macro `{name}`", token.describe())),
            None => diagnostic,
        };
        self.diags.push(diagnostic);
        self.errors += 1;
        if self.errors == MAX_ERRORS {
            self.diags.push(Diagnostic::error("E0119", format!("gave up after {MAX_ERRORS} syntax errors")));
            self.pos = self.tokens.len() - 1;
        }
        Abort
    }

    /// Reports an error at the next token.
    fn expected(&mut self, what: &str) -> Abort {
        let token = self.peek().clone();
        let mut diagnostic = Diagnostic::error("E0110", format!("expected {what}, found {}", token.describe()))
            .at(token.span, format!("expected {what}"));
        if token.kind == Tok::Unknown {
            diagnostic = diagnostic.note("this character has no meaning in P4");
        }
        self.report(diagnostic)
    }

    /// Reports an error at another position and continues. Unlike [`Self::report`] never silent.
    fn complain(&mut self, diagnostic: Diagnostic) {
        if self.errors < MAX_ERRORS {
            self.errors += 1;
            self.diags.push(diagnostic);
        }
    }

    // --- limits ------------------------------------------------------------------------------

    /// Runs a production one level deeper.
    fn nested<T>(&mut self, production: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        self.deeper(LEVEL)?;
        let result = production(self);
        self.depth -= LEVEL;
        result
    }

    fn deeper(&mut self, by: u32) -> PResult<()> {
        if self.depth + by > MAX_DEPTH {
            let at = self.peek().span;
            return Err(self.give_up(
                Diagnostic::error("E0112", "the program is nested too deeply")
                    .at(at, "deeper than the compiler follows")
                    .note(format!("the limit is {} levels of parentheses, braces and the like", MAX_DEPTH / LEVEL)),
            ));
        }
        self.depth += by;
        Ok(())
    }

    /// Reports an error after which parsing cannot continue, and skips to the end.
    fn give_up(&mut self, diagnostic: Diagnostic) -> Abort {
        self.complain(diagnostic);
        self.errors = MAX_ERRORS;
        self.pos = self.tokens.len() - 1;
        Abort
    }

    fn height(&self, id: NodeId) -> u16 {
        self.heights.get(id.0 as usize).copied().unwrap_or(0)
    }

    fn new_id(&mut self, children: u16, span: Span) -> PResult<NodeId> {
        let height = children + 1;
        if height > MAX_HEIGHT {
            return Err(self.give_up(
                Diagnostic::error("E0112", "the expression is too complex")
                    .at(span, format!("more than {MAX_HEIGHT} operators deep"))
                    .help("compute parts of it in variables"),
            ));
        }
        let id = NodeId(self.heights.len() as u32);
        self.heights.push(height);
        Ok(id)
    }

    fn new_expr(&mut self, kind: ExprKind, span: Span) -> PResult<Expr> {
        let mut children = 0;
        expr::for_each_child(&kind, &mut |id| children = children.max(self.height(id)));
        let id = self.new_id(children, span)?;
        Ok(Expr { kind, span, id })
    }

    fn new_type(&mut self, kind: TypeKind, span: Span) -> PResult<TypeExpr> {
        let mut children = 0;
        types::for_each_child(&kind, &mut |id| children = children.max(self.height(id)));
        let id = self.new_id(children, span)?;
        Ok(TypeExpr { kind, span, id })
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            pos: self.pos,
            diags: self.diags.len(),
            heights: self.heights.len(),
            errors: self.errors,
            last_error: self.last_error,
            depth: self.depth,
        }
    }

    fn rewind(&mut self, to: Checkpoint) {
        self.pos = to.pos;
        self.diags.truncate(to.diags);
        self.heights.truncate(to.heights);
        self.errors = to.errors;
        self.last_error = to.last_error;
        self.depth = to.depth;
    }

    // --- names -------------------------------------------------------------------------------

    fn declare(&mut self, name: &Ident, is_type: bool, is_generic: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.name.clone(), NameKind { is_type, is_generic });
        }
    }

    fn declare_type_params(&mut self, params: &[Ident]) {
        for param in params {
            self.declare(param, true, false);
        }
    }

    fn lookup(&self, name: &str, top_level: bool) -> Option<NameKind> {
        let scopes = if top_level { &self.scopes[..1] } else { &self.scopes[..] };
        scopes.iter().rev().find_map(|s| s.get(name)).copied()
    }

    /// Runs a production in a scope of its own.
    fn scoped<T>(&mut self, production: impl FnOnce(&mut Self) -> PResult<T>) -> PResult<T> {
        let depth = self.scopes.len();
        self.scopes.push(HashMap::new());
        let result = production(self);
        self.scopes.truncate(depth);
        result
    }

    // --- recovery ----------------------------------------------------------------------------

    /// After an error in a statement, field or the like that began at token `start`: goes after its
    /// `;` or the end of its braces, or before the `}` that ends the surrounding braces.
    fn sync_statement(&mut self, start: usize) {
        // Braces of expressions that the error left open.
        let mut open = 0usize;
        for token in &self.tokens[start..self.pos] {
            match token.kind {
                Tok::P(P::LBrace) => open += 1,
                Tok::P(P::RBrace) => open = open.saturating_sub(1),
                _ => {}
            }
        }
        let mut braces = open;
        loop {
            match self.kind() {
                Tok::Eof => return,
                Tok::P(P::Semi) if braces <= open => {
                    self.bump();
                    return;
                }
                Tok::P(P::LBrace) => braces += 1,
                Tok::P(P::RBrace) if braces == 0 => return,
                Tok::P(P::RBrace) => {
                    braces -= 1;
                    if braces == 0 {
                        self.bump();
                        if self.at_kw(Kw::Else) {
                            continue;
                        }
                        self.eat(P::Semi);
                        return;
                    }
                }
                // Do not stop where the error is.
                _ if braces <= open
                    && self.peek().line_start
                    && self.starts_statement()
                    && self.last_error != Some(self.pos) =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn starts_statement(&self) -> bool {
        match self.kind() {
            Tok::Kw(k) => matches!(
                k,
                Kw::If
                    | Kw::Switch
                    | Kw::For
                    | Kw::Return
                    | Kw::Exit
                    | Kw::Break
                    | Kw::Continue
                    | Kw::Const
                    | Kw::State
                    | Kw::Table
                    | Kw::Action
                    | Kw::Transition
                    | Kw::Apply
            ),
            _ => false,
        }
    }

    /// After an error in a top-level declaration: goes to what looks like the beginning of the next.
    fn sync_top_level(&mut self) {
        let mut braces = 0u32;
        loop {
            match self.kind() {
                Tok::Eof => return,
                Tok::P(P::LBrace) => braces += 1,
                Tok::P(P::RBrace) => {
                    braces = braces.saturating_sub(1);
                    if braces == 0 && !self.nth(1).line_start && !self.nth_is(1, P::Semi) {
                        // `} foo` on one line: most likely not the end yet.
                    } else if braces == 0 {
                        self.bump();
                        if self.starts_top_level() || self.at_end() {
                            return;
                        }
                        continue;
                    }
                }
                Tok::P(P::Semi) if braces == 0 => {
                    self.bump();
                    if self.starts_top_level() || self.at_end() {
                        return;
                    }
                    continue;
                }
                _ if self.peek().line_start
                    && self.starts_top_level()
                    && self.last_error != Some(self.pos)
                    && (braces == 0 || self.starts_surely_top_level()) =>
                {
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Whether this can begin a top-level declaration after an error.
    fn starts_top_level(&self) -> bool {
        match self.kind() {
            Tok::P(P::At) => true,
            Tok::Ident => self.nth_is(1, P::LParen) || self.nth_is(1, P::Lt) || self.nth_is_name(1),
            Tok::Kw(k) => {
                k.starts_type()
                    || matches!(
                        k,
                        Kw::Action
                            | Kw::Const
                            | Kw::Control
                            | Kw::Enum
                            | Kw::Extern
                            | Kw::Header
                            | Kw::HeaderUnion
                            | Kw::Package
                            | Kw::Parser
                            | Kw::Struct
                            | Kw::Type
                            | Kw::Typedef
                    )
            }
            _ => false,
        }
    }

    /// Whether this cannot stand inside braces.
    fn starts_surely_top_level(&self) -> bool {
        match self.kind() {
            Tok::Kw(k) => matches!(
                k,
                Kw::Control
                    | Kw::Enum
                    | Kw::Extern
                    | Kw::Header
                    | Kw::HeaderUnion
                    | Kw::Package
                    | Kw::Parser
                    | Kw::Struct
                    | Kw::Typedef
            ),
            _ => false,
        }
    }

    /// `{ item item ... }`: after an error in one item, parsing continues with the next.
    fn braced<T>(&mut self, after: &str, item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<(Vec<T>, Span)> {
        self.braced_in(Region::Other, after, item)
    }

    /// The same where the region tells what cannot stand in it: there the `}` was forgotten.
    fn braced_in<T>(
        &mut self,
        region: Region,
        after: &str,
        mut item: impl FnMut(&mut Self) -> PResult<T>,
    ) -> PResult<(Vec<T>, Span)> {
        let open = self.expect(P::LBrace, after)?;
        let mut items = Vec::new();
        loop {
            if self.eat(P::RBrace).is_some() {
                return Ok((items, self.span_from(open)));
            }
            if self.at_end() {
                return Err(self.unclosed(P::RBrace, open));
            }
            if let Some(what) = self.stands_outside(region) {
                let at = self.peek().span;
                self.report(
                    Diagnostic::error("E0113", "missing `}`")
                        .at(at, format!("{what} cannot stand here"))
                        .related(open, "this is not closed before it"),
                );
                if self.errors >= MAX_ERRORS {
                    return Err(Abort);
                }
                return Ok((items, self.span_from(open)));
            }
            let start = self.pos;
            match item(self) {
                Ok(item) => items.push(item),
                Err(Abort) => {
                    self.sync_statement(start);
                    if self.pos == start {
                        self.bump();
                    }
                }
            }
        }
    }

    /// What comes next, if it is something that cannot stand in braces of this kind, but around them.
    fn stands_outside(&self, region: Region) -> Option<String> {
        let named = |k: Kw| self.kind() == Tok::Kw(k) && self.nth_is_name(1);
        let property = || {
            let at = usize::from(self.at_kw(Kw::Const));
            let known = ["key", "actions", "entries", "default_action", "size", "implementation", "counters", "meters"];
            self.nth_is(at + 1, P::Assign) && known.contains(&&*self.nth(at).text)
        };
        let top_level = || {
            let keyword = [Kw::Control, Kw::Parser, Kw::Header, Kw::HeaderUnion, Kw::Struct, Kw::Package, Kw::Typedef]
                .into_iter()
                .find(|k| named(*k));
            let main = || {
                // `V1Switch(...) main;`
                let close = matches!(self.kind(), Tok::Ident) && self.peek().line_start && self.nth_is(1, P::LParen);
                let behind = if close { self.scan_brackets(1) } else { None };
                behind.is_some_and(|n| &*self.nth(n).text == "main" && self.nth_is(n + 1, P::Semi))
            };
            keyword.map(|k| format!("`{}`", k.text())).or_else(|| main().then(|| "the package".to_string()))
        };
        let word = |k: Kw| Some(format!("`{}`", k.text()));
        match region {
            Region::Statements | Region::Table if named(Kw::Action) => word(Kw::Action),
            Region::Statements | Region::Table if named(Kw::Table) => word(Kw::Table),
            Region::Statements | Region::State if named(Kw::State) => word(Kw::State),
            Region::Statements | Region::Table if self.at_kw(Kw::Apply) && self.nth_is(1, P::LBrace) => word(Kw::Apply),
            Region::TablePart if property() => Some(format!("the property `{}`", self.peek().text)),
            Region::TablePart if self.at_kw(Kw::Apply) && self.nth_is(1, P::LBrace) => word(Kw::Apply),
            Region::TablePart if named(Kw::Action) => word(Kw::Action),
            Region::TablePart if named(Kw::Table) => word(Kw::Table),
            Region::Other => None,
            _ => top_level(),
        }
    }

    /// Reports that the file ended before a brace or parenthesis was closed.
    fn unclosed(&mut self, close: P, open: Span) -> Abort {
        let at = self.peek().span;
        self.report(
            Diagnostic::error("E0113", format!("missing `{}`", close.text()))
                .at(at, "the file ends here")
                .related(open, "this is never closed"),
        )
    }

    /// `item, item, ...` up to `close`, which is read too; a comma may stand before it if `trailing`.
    fn comma_list<T>(
        &mut self,
        close: P,
        trailing: bool,
        what: &str,
        mut item: impl FnMut(&mut Self) -> PResult<T>,
    ) -> PResult<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close).is_some() {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if let Some(comma) = self.eat(P::Comma) {
                if !self.at(close) {
                    continue;
                }
                if !trailing {
                    self.complain(
                        Diagnostic::error("E0110", format!("expected {what} after `,`, found `{}`", close.text()))
                            .at(comma, "nothing follows this comma")
                            .help("remove the comma")
                            .suggest(comma, ",", ""),
                    );
                }
                self.bump();
                return Ok(items);
            } else if self.eat(close).is_some() {
                return Ok(items);
            } else {
                return Err(self.expected(&format!("`,` or `{}` after {what}", close.text())));
            }
        }
    }
}
