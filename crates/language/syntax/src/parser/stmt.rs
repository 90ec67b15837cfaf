//! Statements and local declarations of variables and constants.

use super::{LEVEL, PResult, Parser, Region, StmtContext};
use crate::ast::{Annotation, BinaryOp, Block, Decl, DeclKind, Expr, ExprKind, Stmt, StmtKind, SwitchCase, VarDecl};
use crate::diagnostic::Diagnostic;
use crate::token::{Kw, P, Tok};
use hopwright_source::Span;

/// The operator of a compound assignment.
fn compound_operator(p: P) -> Option<BinaryOp> {
    Some(match p {
        P::PlusAssign => BinaryOp::Add,
        P::MinusAssign => BinaryOp::Sub,
        P::AddSatAssign => BinaryOp::AddSat,
        P::SubSatAssign => BinaryOp::SubSat,
        P::MulAssign => BinaryOp::Mul,
        P::DivAssign => BinaryOp::Div,
        P::ModAssign => BinaryOp::Mod,
        P::AndAssign => BinaryOp::BitAnd,
        P::OrAssign => BinaryOp::BitOr,
        P::XorAssign => BinaryOp::BitXor,
        P::ShlAssign => BinaryOp::Shl,
        P::ShrAssign => BinaryOp::Shr,
        _ => return None,
    })
}

impl Parser<'_> {
    /// `blockStatement`
    pub(super) fn block(&mut self, after: &str) -> PResult<Block> {
        let annotations = self.annotations()?;
        self.block_body(annotations, after)
    }

    fn block_body(&mut self, annotations: Vec<Annotation>, after: &str) -> PResult<Block> {
        let (stmts, span) = self.scoped(|p| p.braced_in(Region::Statements, after, Self::stmt))?;
        Ok(Block { annotations, stmts, span })
    }

    /// `statementOrDeclaration`
    pub(super) fn stmt(&mut self) -> PResult<Stmt> {
        self.nested(Self::stmt_inner)
    }

    fn stmt_inner(&mut self) -> PResult<Stmt> {
        match self.kind() {
            Tok::Kw(Kw::If) => self.if_stmt(),
            _ => self.other_stmt(),
        }
    }

    fn other_stmt(&mut self) -> PResult<Stmt> {
        let annotations = self.annotations()?;
        let start = self.peek().span;
        let kind = match self.kind() {
            Tok::P(P::LBrace) => StmtKind::Block(self.block_body(annotations, "")?),
            Tok::Kw(Kw::For) => {
                self.only_in_bodies("for");
                return self.for_stmt(annotations);
            }
            Tok::Kw(Kw::Const) => StmtKind::Decl(Box::new(self.const_decl(annotations)?)),
            _ if self.is_var_decl() => {
                let decl = self.var_decl(annotations)?;
                self.expect_semi("after a variable declaration")?;
                StmtKind::Decl(Box::new(decl))
            }
            _ => {
                self.refuse_annotations(&annotations);
                return self.plain_stmt(start);
            }
        };
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    fn refuse_annotations(&mut self, annotations: &[Annotation]) {
        if let (Some(first), Some(last)) = (annotations.first(), annotations.last()) {
            self.complain(
                Diagnostic::error("E0116", "annotations cannot stand before this statement")
                    .at(first.span.to(last.span), "")
                    .note("only blocks, `for` loops and declarations can be annotated")
                    .help("put braces around the statement"),
            );
        }
    }

    /// The grammar of parser states has fewer statements than that of other bodies.
    fn only_in_bodies(&mut self, what: &str) {
        if self.stmt_context == StmtContext::ParserState {
            let at = self.peek().span;
            self.complain(
                Diagnostic::error("E0117", format!("`{what}` cannot be used in a parser state"))
                    .at(at, "not permitted here")
                    .note("parsers branch and loop by their transitions"),
            );
        }
    }

    fn plain_stmt(&mut self, start: Span) -> PResult<Stmt> {
        let kind = match self.kind() {
            Tok::P(P::Semi) => {
                self.bump();
                StmtKind::Empty
            }
            Tok::Kw(Kw::If) => return self.if_stmt(),
            Tok::Kw(Kw::Switch) => {
                self.only_in_bodies("switch");
                self.switch()?
            }
            Tok::Kw(Kw::Return) => {
                self.only_in_bodies("return");
                self.bump();
                let value = if self.at(P::Semi) || self.at(P::RBrace) { None } else { Some(self.expr()?) };
                self.expect_semi("after `return`")?;
                StmtKind::Return(value)
            }
            Tok::Kw(k @ (Kw::Exit | Kw::Break | Kw::Continue)) => {
                self.only_in_bodies(k.text());
                self.bump();
                self.expect_semi(&format!("after `{}`", k.text()))?;
                match k {
                    Kw::Exit => StmtKind::Exit,
                    Kw::Break => StmtKind::Break,
                    _ => StmtKind::Continue,
                }
            }
            Tok::Ident if &*self.peek().text == "while" && self.nth_is(1, P::LParen) => {
                return Err(self.report(
                    Diagnostic::error("E0115", "P4 has no `while` loop")
                        .at(start, "")
                        .help("write a `for` loop: `for (; condition; ) { ... }`"),
                ));
            }
            Tok::Ident if self.at_elif() => {
                self.no_elif();
                return Err(super::Abort);
            }
            Tok::Kw(Kw::Transition) => {
                let at = self.bump();
                self.complain(
                    Diagnostic::error("E0118", "a transition stands at the end of a state, not in another statement")
                        .at(at, "")
                        .help(
                            "choose the next state with `transition select (condition) { true: one; false: other; }`",
                        ),
                );
                self.transition()?;
                StmtKind::Empty
            }
            Tok::Kw(Kw::Else) => {
                return Err(
                    self.report(Diagnostic::error("E0110", "`else` without `if`").at(start, "no `if` before it"))
                );
            }
            _ => {
                let stmt = self.assignment_or_call()?;
                self.expect_semi(match stmt.kind {
                    StmtKind::Assign { .. } => "after an assignment",
                    _ => "after a call",
                })?;
                return Ok(Stmt { span: self.span_from(start), ..stmt });
            }
        };
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    /// `assignmentOrMethodCallStatementWithoutSemicolon`, and calls of types' `apply`.
    fn assignment_or_call(&mut self) -> PResult<Stmt> {
        let start = self.peek().span;
        if self.at(P::PlusPlus) {
            return Err(self.no_increment(start));
        }
        if self.at_decrement() {
            return Err(self.no_decrement(start));
        }
        if !matches!(self.kind(), Tok::Ident | Tok::Kw(_) | Tok::P(P::Dot | P::LParen)) {
            return Err(self.expected("a statement"));
        }
        let expr = self.postfix()?;
        if let Tok::P(p) = self.kind() {
            let op = compound_operator(p);
            if op.is_some() || p == P::Assign {
                self.bump();
                let value = self.expr()?;
                return Ok(Stmt { kind: StmtKind::Assign { target: expr, op, value }, span: self.span_from(start) });
            }
            if matches!(p, P::PlusPlus) {
                let at = self.peek().span;
                return Err(self.no_increment(at));
            }
            if self.at_decrement() {
                let at = self.peek().span;
                return Err(self.no_decrement(at));
            }
        }
        let span = expr.span;
        let Expr { kind, id, .. } = expr;
        match kind {
            ExprKind::Call { callee, type_args, args } => {
                let kind = match callee.kind {
                    ExprKind::TypeMember { ty, name } if name.as_str() == "apply" && type_args.is_empty() => {
                        StmtKind::DirectApply { ty, args }
                    }
                    kind => StmtKind::Call(Expr {
                        kind: ExprKind::Call { callee: Box::new(Expr { kind, ..*callee }), type_args, args },
                        span,
                        id,
                    }),
                };
                Ok(Stmt { kind, span })
            }
            ExprKind::Construct { .. } if self.nth_is_name(0) => Err(self.report(
                Diagnostic::error("E0118", "an instance cannot be declared inside a block")
                    .at(span, "")
                    .help("declare it before the `apply` block or the first state"),
            )),
            ExprKind::Path(path) if matches!(self.kind(), Tok::P(P::Semi) | Tok::Eof) => Err(self.report(
                Diagnostic::error("E0110", format!("`{}` alone is not a statement", path.name))
                    .at(span, "expected an assignment or a call")
                    .help(format!("to call it, write `{0}()`; a table is applied by `{0}.apply()`", path.name))
                    .suggest(path.name.span, path.name.as_str(), format!("{}()", path.name)),
            )),
            ExprKind::Path(_) | ExprKind::Member { .. } | ExprKind::Index { .. } => {
                Err(self.expected("`=` or `(` to make a statement"))
            }
            _ => Err(self.report(
                Diagnostic::error("E0110", "an expression alone is not a statement")
                    .at(span, "expected an assignment or a call"),
            )),
        }
    }

    // --- declarations ------------------------------------------------------------------------

    /// Whether a type and a name come next.
    fn is_var_decl(&self) -> bool {
        self.scan_type(0).is_some_and(|n| self.nth_is_name(n))
    }

    /// `variableDeclarationWithoutSemicolon` after annotations
    pub(super) fn var_decl(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.peek().span;
        let ty = self.ty()?;
        self.var_decl_after_type(annotations, start, ty)
    }

    /// The same after the type.
    pub(super) fn var_decl_after_type(
        &mut self,
        annotations: Vec<Annotation>,
        start: Span,
        ty: crate::ast::TypeExpr,
    ) -> PResult<Decl> {
        let name = self.ident("the name of a variable")?;
        let ty = self.array_suffix(ty)?;
        let init = match self.eat(P::Assign) {
            Some(_) => Some(self.expr()?),
            None => None,
        };
        self.declare(&name, false, false);
        Ok(Decl { kind: DeclKind::Var(VarDecl { ty, name, init }), annotations, span: self.span_from(start) })
    }

    // --- control flow ------------------------------------------------------------------------

    fn condition(&mut self, of: &str) -> PResult<Expr> {
        self.expect(P::LParen, &format!("after `{of}`"))?;
        let condition = self.free_expr()?;
        if self.at(P::Assign) {
            let at = self.peek().span;
            return Err(self.report(
                Diagnostic::error("E0110", "expected `)`, found `=`")
                    .at(at, "this assigns")
                    .help("to compare, write `==`")
                    .suggest(at, "=", "=="),
            ));
        }
        if let Some((word, operator)) = [("and", "&&"), ("or", "||"), ("is", "=="), ("not", "!")]
            .iter()
            .find(|(word, _)| *word == &*self.peek().text)
        {
            let at = self.peek().span;
            return Err(self.report(
                Diagnostic::error("E0115", format!("P4 has no operator `{word}`"))
                    .at(at, "")
                    .help(format!("write `{operator}`"))
                    .suggest(at, *word, *operator),
            ));
        }
        self.expect(P::RParen, "after the condition")?;
        Ok(condition)
    }

    /// `conditionalStatement`; a chain of `else if` is read in a loop.
    fn if_stmt(&mut self) -> PResult<Stmt> {
        let depth = self.depth;
        let result = self.if_chain();
        self.depth = depth;
        result
    }

    fn if_chain(&mut self) -> PResult<Stmt> {
        let mut links = Vec::new();
        let mut otherwise = None;
        loop {
            self.deeper(LEVEL)?;
            let start = self.peek().span;
            if self.at_elif() {
                self.bump();
            } else {
                self.expect_kw(Kw::If, "")?;
            }
            let condition = self.condition("if")?;
            let then = self.branch_stmt()?;
            links.push((start, condition, then, self.prev_span()));
            if self.at_elif() {
                self.no_elif();
                continue;
            }
            if self.eat_kw(Kw::Else).is_none() {
                break;
            }
            if !self.at_kw(Kw::If) {
                otherwise = Some(Box::new(self.branch_stmt()?));
                break;
            }
        }
        let end = self.prev_span();
        let mut chain: Option<Stmt> = None;
        for (start, condition, then, _) in links.into_iter().rev() {
            let tail = chain.take().map(Box::new).or(otherwise.take());
            chain = Some(Stmt {
                kind: StmtKind::If { condition, then: Box::new(then), otherwise: tail },
                span: start.to(end),
            });
        }
        chain.ok_or(super::Abort)
    }

    /// Whether another language's `else if` comes next.
    fn at_elif(&self) -> bool {
        self.kind() == Tok::Ident
            && matches!(&*self.peek().text, "elif" | "elsif" | "elseif")
            && self.nth_is(1, P::LParen)
    }

    fn no_elif(&mut self) {
        let (word, at) = (self.peek().text.clone(), self.peek().span);
        self.complain(
            Diagnostic::error("E0115", format!("P4 has no `{word}`"))
                .at(at, "")
                .help("write `else if (...) { ... }`")
                .suggest(at, &*word, "else if"),
        );
    }

    /// The statement of an `if` or loop; a declaration is not permitted there.
    fn branch_stmt(&mut self) -> PResult<Stmt> {
        let stmt = self.scoped(Self::stmt)?;
        if let StmtKind::Decl(_) = stmt.kind {
            self.complain(
                Diagnostic::error("E0118", "a declaration cannot be the branch of a statement")
                    .at(stmt.span, "nobody could use it")
                    .help("put braces around it"),
            );
        }
        Ok(stmt)
    }

    fn switch(&mut self) -> PResult<StmtKind> {
        self.bump();
        let subject = self.condition("switch")?;
        let (cases, _) = self.braced("after the switch expression", Self::switch_case)?;
        Ok(StmtKind::Switch { subject, cases })
    }

    fn switch_case(&mut self) -> PResult<SwitchCase> {
        let start = self.peek().span;
        if self.kind() == Tok::Ident && &*self.peek().text == "case" && !self.nth_is(1, P::Colon) {
            return Err(self.report(
                Diagnostic::error("E0115", "P4 has no `case`")
                    .at(start, "")
                    .help("write the label alone: `label: { ... }`"),
            ));
        }
        let label = match self.eat_kw(Kw::Default) {
            Some(span) => self.new_expr(ExprKind::Default, span)?,
            None if self.at(P::LBrace) => return Err(self.expected("a switch label")),
            None => self.expr()?,
        };
        self.expect(P::Colon, "after a switch label")?;
        let body = if self.at(P::LBrace) || self.at(P::At) { Some(self.block("")?) } else { None };
        Ok(SwitchCase { label, body, span: self.span_from(start) })
    }

    fn for_stmt(&mut self, annotations: Vec<Annotation>) -> PResult<Stmt> {
        let start = self.bump();
        let kind = self.scoped(|p| p.for_parts(annotations))?;
        Ok(Stmt { kind, span: self.span_from(start) })
    }

    fn for_parts(&mut self, annotations: Vec<Annotation>) -> PResult<StmtKind> {
        self.expect(P::LParen, "after `for`")?;
        let mut init = Vec::new();
        if !self.at(P::Semi) {
            loop {
                let inner = self.annotations()?;
                let at = self.peek().span;
                if self.is_var_decl() {
                    let decl = self.var_decl(inner)?;
                    if init.is_empty() && self.eat_kw(Kw::In).is_some() {
                        return self.for_in(annotations, decl);
                    }
                    init.push(Stmt { kind: StmtKind::Decl(Box::new(decl)), span: self.span_from(at) });
                } else {
                    self.refuse_annotations(&inner);
                    init.push(self.assignment_or_call()?);
                }
                if self.eat(P::Comma).is_none() {
                    break;
                }
            }
        }
        self.expect(P::Semi, "after the start of a `for` loop")?;
        let condition = self.free_expr()?;
        self.expect(P::Semi, "after the condition of a `for` loop")?;
        let mut update = Vec::new();
        if !self.at(P::RParen) {
            loop {
                update.push(self.assignment_or_call()?);
                if self.eat(P::Comma).is_none() {
                    break;
                }
            }
        }
        self.expect(P::RParen, "after the step of a `for` loop")?;
        let body = Box::new(self.branch_stmt()?);
        Ok(StmtKind::For { annotations, init, condition, update, body })
    }

    /// `collection) statement` after `for (T name in`
    fn for_in(&mut self, annotations: Vec<Annotation>, var: Decl) -> PResult<StmtKind> {
        if let DeclKind::Var(VarDecl { init: Some(init), .. }) = &var.kind {
            self.complain(
                Diagnostic::error("E0118", "a loop variable cannot have an initialiser")
                    .at(init.span, "")
                    .note("the loop gives it its values"),
            );
        }
        let first = self.free_expr()?;
        let collection = self.range_after(first)?;
        self.expect(P::RParen, "after the collection of a `for` loop")?;
        let body = Box::new(self.branch_stmt()?);
        Ok(StmtKind::ForIn { annotations, var: Box::new(var), collection, body })
    }
}
