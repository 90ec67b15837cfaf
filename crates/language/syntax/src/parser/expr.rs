//! Expressions, by precedence climbing.
//!
//! From loosest to tightest: `?:`, `||`, `&&`, `== !=`, `< > <= >=`, `|`, `^`, `&`, `<< >>`,
//! `++ + - |+| |-|`, `* / %`, prefix operators and casts, calls and indices, `.`.

use num_bigint::BigInt;

use super::literal::int_literal;
use super::{Abort, PResult, Parser};
use crate::ast::{Arg, BinaryOp, Expr, ExprKind, IntLit, Keyset, NamedExpr, NodeId, TypeExpr, TypeKind, UnaryOp};
use crate::diagnostic::Diagnostic;
use crate::preprocess::string_body;
use crate::token::{Kw, P, Tok};
use hopwright_source::Span;

/// Calls `f` with each type and expression directly inside.
pub(super) fn for_each_child(kind: &ExprKind, f: &mut impl FnMut(NodeId)) {
    match kind {
        ExprKind::Int(_)
        | ExprKind::Bool(_)
        | ExprKind::String(_)
        | ExprKind::Path(_)
        | ExprKind::This
        | ExprKind::Dots
        | ExprKind::Invalid
        | ExprKind::DontCare
        | ExprKind::Default => {}
        ExprKind::List(items) => items.iter().for_each(|e| f(e.id)),
        ExprKind::Struct { fields, .. } => fields.iter().for_each(|n| f(n.value.id)),
        ExprKind::Index { base, index } => {
            f(base.id);
            f(index.id);
        }
        ExprKind::Slice { base, hi, lo } => {
            f(base.id);
            f(hi.id);
            f(lo.id);
        }
        ExprKind::PlusSlice { base, lo, width } => {
            f(base.id);
            f(lo.id);
            f(width.id);
        }
        ExprKind::Member { base, .. } => f(base.id),
        ExprKind::TypeMember { ty, .. } => f(ty.id),
        ExprKind::Unary { operand, .. } => f(operand.id),
        ExprKind::Binary { left, right, .. } => {
            f(left.id);
            f(right.id);
        }
        ExprKind::Ternary { condition, then, otherwise } => {
            f(condition.id);
            f(then.id);
            f(otherwise.id);
        }
        ExprKind::Cast { ty, operand } => {
            f(ty.id);
            f(operand.id);
        }
        ExprKind::Call { callee, type_args, args } => {
            f(callee.id);
            type_args.iter().for_each(|t| f(t.id));
            args.iter().for_each(|a| f(a.value.id));
        }
        ExprKind::Construct { ty, args } => {
            f(ty.id);
            args.iter().for_each(|a| f(a.value.id));
        }
        ExprKind::Mask { value, mask } => {
            f(value.id);
            f(mask.id);
        }
        ExprKind::Range { lo, hi } => {
            f(lo.id);
            f(hi.id);
        }
    }
}

/// The binary operator of a token and its precedence; larger binds tighter.
fn binary_operator(p: P) -> Option<(BinaryOp, u8)> {
    Some(match p {
        P::OrOr => (BinaryOp::Or, 1),
        P::AndAnd => (BinaryOp::And, 2),
        P::EqEq => (BinaryOp::Eq, 3),
        P::NotEq => (BinaryOp::Ne, 3),
        P::Lt => (BinaryOp::Lt, 4),
        P::Gt => (BinaryOp::Gt, 4),
        P::LtEq => (BinaryOp::Le, 4),
        P::GtEq => (BinaryOp::Ge, 4),
        P::Or => (BinaryOp::BitOr, 5),
        P::Caret => (BinaryOp::BitXor, 6),
        P::And => (BinaryOp::BitAnd, 7),
        P::Shl => (BinaryOp::Shl, 8),
        P::PlusPlus => (BinaryOp::Concat, 9),
        P::Plus => (BinaryOp::Add, 9),
        P::Minus => (BinaryOp::Sub, 9),
        P::AddSat => (BinaryOp::AddSat, 9),
        P::SubSat => (BinaryOp::SubSat, 9),
        P::Star => (BinaryOp::Mul, 10),
        P::Slash => (BinaryOp::Div, 10),
        P::Percent => (BinaryOp::Mod, 10),
        _ => return None,
    })
}

/// Precedence of `>>`, which is two tokens.
const SHIFT: u8 = 8;

impl Parser<'_> {
    /// `expression`
    pub(super) fn expr(&mut self) -> PResult<Expr> {
        self.nested(Self::ternary)
    }

    /// An expression inside its own parentheses or brackets, where `>` is an operator again.
    pub(super) fn free_expr(&mut self) -> PResult<Expr> {
        let outer = std::mem::replace(&mut self.no_gt, false);
        let result = self.expr();
        self.no_gt = outer;
        result
    }

    fn ternary(&mut self) -> PResult<Expr> {
        let condition = self.binary(1)?;
        if self.eat(P::Question).is_none() {
            return Ok(condition);
        }
        self.branches(condition)
    }

    /// `then : otherwise` after `condition ?`
    fn branches(&mut self, condition: Expr) -> PResult<Expr> {
        let then = self.free_expr()?;
        self.expect(P::Colon, "of a conditional expression")?;
        let otherwise = self.expr()?;
        let span = condition.span.to(otherwise.span);
        self.new_expr(
            ExprKind::Ternary { condition: Box::new(condition), then: Box::new(then), otherwise: Box::new(otherwise) },
            span,
        )
    }

    /// Operators of at least this precedence.
    fn binary(&mut self, min: u8) -> PResult<Expr> {
        let mut left = self.unary()?;
        while let Tok::P(p) = self.kind() {
            let shift = p == P::Gt && self.nth_is(1, P::Gt) && !self.nth(1).space;
            let (op, precedence) = if shift {
                (BinaryOp::Shr, SHIFT)
            } else {
                match binary_operator(p) {
                    Some(found) => found,
                    None => break,
                }
            };
            if precedence < min || (p == P::Gt && self.no_gt) {
                break;
            }
            // `a[l + : w]`: the `+` belongs to the slice.
            if p == P::Plus && self.nth_is(1, P::Colon) {
                break;
            }
            let operator = self.bump();
            if shift {
                self.bump();
            }
            if p == P::PlusPlus && matches!(self.kind(), Tok::P(P::Semi | P::RParen)) {
                return Err(self.no_increment(operator));
            }
            let twice = p == P::Minus && self.at(P::Minus) && !self.peek().space;
            if twice && matches!(self.nth(1).kind, Tok::P(P::Semi | P::RParen)) {
                return Err(self.no_decrement(operator));
            }
            // The nesting of tighter operators is bounded; only their operands count.
            self.deeper(1)?;
            let right = self.binary(precedence + 1);
            self.depth -= 1;
            left = self.new_binary(op, left, right?)?;
        }
        Ok(left)
    }

    fn new_binary(&mut self, op: BinaryOp, left: Expr, right: Expr) -> PResult<Expr> {
        let span = left.span.to(right.span);
        let kind = ExprKind::Binary { op, left: Box::new(left), right: Box::new(right) };
        self.new_expr(kind, span)
    }

    /// Reports a `++` that stands where other languages increment.
    pub(super) fn no_increment(&mut self, operator: Span) -> Abort {
        self.report(
            Diagnostic::error("E0115", "P4 has no `++` that increments")
                .at(operator, "`++` concatenates two values")
                .help("write `x = x + 1` or `x += 1`"),
        )
    }

    /// Whether `--` comes next.
    pub(super) fn at_decrement(&self) -> bool {
        self.at(P::Minus) && self.nth_is(1, P::Minus) && !self.nth(1).space
    }

    /// Reports `--`, which decrements in other languages.
    pub(super) fn no_decrement(&mut self, operator: Span) -> Abort {
        self.report(
            Diagnostic::error("E0115", "P4 has no `--` that decrements")
                .at(operator, "")
                .help("write `x = x - 1` or `x -= 1`"),
        )
    }

    fn unary(&mut self) -> PResult<Expr> {
        let op = match self.kind() {
            Tok::P(P::Bang) => UnaryOp::Not,
            Tok::P(P::Tilde) => UnaryOp::Complement,
            Tok::P(P::Minus) => UnaryOp::Negate,
            Tok::P(P::Plus) => UnaryOp::Plus,
            Tok::P(P::LParen) if self.is_cast() => return self.cast(),
            _ => return self.postfix(),
        };
        self.prefix(op)
    }

    fn prefix(&mut self, op: UnaryOp) -> PResult<Expr> {
        let start = self.bump();
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        self.new_expr(ExprKind::Unary { op, operand: Box::new(operand) }, span)
    }

    /// Whether the parenthesis that comes next encloses a type, and an expression follows.
    fn is_cast(&self) -> bool {
        let known = self.is_type_start(1);
        if !known && !matches!(self.nth(1).kind, Tok::Ident | Tok::P(P::Dot)) {
            return false;
        }
        let Some(close) = self.scan_type(1) else {
            return false;
        };
        if !self.nth_is(close, P::RParen) {
            return false;
        }
        // An undeclared name is taken for a type if nothing else fits.
        let name = self.nth(1).text.clone();
        known
            || (self.lookup(&name, false).is_none()
                && match self.nth(close + 1).kind {
                    Tok::Ident | Tok::Int | Tok::Str => true,
                    Tok::Kw(k) => matches!(k, Kw::True | Kw::False | Kw::This),
                    Tok::P(p) => matches!(p, P::Tilde | P::Bang),
                    _ => false,
                })
    }

    fn cast(&mut self) -> PResult<Expr> {
        let start = self.bump();
        let ty = self.ty()?;
        self.expect(P::RParen, "after the type of a cast")?;
        let operand = self.nested(Self::unary)?;
        let span = start.to(operand.span);
        self.new_expr(ExprKind::Cast { ty, operand: Box::new(operand) }, span)
    }

    /// A primary expression with members, indices and calls after it.
    pub(super) fn postfix(&mut self) -> PResult<Expr> {
        let mut expr = self.primary()?;
        loop {
            match self.kind() {
                Tok::P(P::Dot) if matches!(expr.kind, ExprKind::Int(_)) && self.nth(1).kind == Tok::Int => {
                    return Err(self.dotted_number(expr.span));
                }
                Tok::P(P::Dot) => {
                    self.bump();
                    let name = self.ident("a member's name after `.`")?;
                    let span = expr.span.to(name.span);
                    let base = Box::new(expr);
                    expr = self.new_expr(ExprKind::Member { base, name }, span)?;
                }
                Tok::P(P::LBracket) => {
                    self.bump();
                    expr = self.index(expr)?;
                }
                Tok::P(P::LParen) => expr = self.call(expr, Vec::new())?,
                Tok::P(P::Lt) if self.is_type_args(&expr) => {
                    let type_args = self.type_args()?;
                    if !self.at(P::LParen) {
                        return Err(self.expected("`(` after type arguments"));
                    }
                    expr = self.call(expr, type_args)?;
                }
                _ => return Ok(expr),
            }
        }
    }

    /// Reports `10.0.0.1` or `1.5`; `first` is the first number, and a dot and a number come next.
    fn dotted_number(&mut self, first: Span) -> Abort {
        let mut parts = vec![self.tokens[self.pos - 1].text.clone()];
        let mut behind = 0;
        while self.nth_is(behind, P::Dot) && self.nth(behind + 1).kind == Tok::Int {
            parts.push(self.nth(behind + 1).text.clone());
            behind += 2;
        }
        let at = first.to(self.nth(behind - 1).span);
        let bytes: Option<Vec<u8>> = parts.iter().map(|p| p.parse().ok()).collect();
        let diagnostic = match bytes.as_deref() {
            Some([a, b, c, d]) => {
                let number = u32::from_be_bytes([*a, *b, *c, *d]);
                let length =
                    if self.nth_is(behind, P::Slash) { self.nth(behind + 1).text.parse::<u32>().ok() } else { None };
                let help = match length.filter(|l| *l <= 32) {
                    Some(length) => {
                        let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
                        format!("write the prefix as `{:#010x} &&& {mask:#010x}`", number & mask)
                    }
                    None => format!("write `{number:#010x}`"),
                };
                Diagnostic::error("E0102", "P4 has no dotted addresses").at(at, "an address is a number").help(help)
            }
            _ => Diagnostic::error("E0102", format!("`{}` is not a number of P4", parts.join(".")))
                .at(at, "there are only integers"),
        };
        self.report(diagnostic)
    }

    /// Whether the `<` after this expression begins type arguments of a call.
    fn is_type_args(&self, callee: &Expr) -> bool {
        let generic = match &callee.kind {
            ExprKind::Path(path) => self.lookup(&path.name.name, path.leading_dot).is_some_and(|k| k.is_generic),
            ExprKind::Member { .. } | ExprKind::TypeMember { .. } => false,
            _ => return false,
        };
        let Some(angles) = self.scan_angles(0) else {
            return false;
        };
        // `a < b > (c)` compares a bool with `>`, which is never right; with a comma between it may be
        // two arguments of a call around it.
        self.nth_is(angles.end, P::LParen)
            && (generic || !angles.has_comma || self.nth(1).kind == Tok::Kw(Kw::Underscore) || self.is_type_start(1))
    }

    fn call(&mut self, callee: Expr, type_args: Vec<TypeExpr>) -> PResult<Expr> {
        let args = self.args()?;
        let span = self.span_from(callee.span);
        self.new_expr(ExprKind::Call { callee: Box::new(callee), type_args, args }, span)
    }

    /// What follows `base[`.
    fn index(&mut self, base: Expr) -> PResult<Expr> {
        let base = Box::new(base);
        let first = Box::new(self.free_expr()?);
        let kind = if self.eat(P::Colon).is_some() {
            let lo = Box::new(self.free_expr()?);
            ExprKind::Slice { base, hi: first, lo }
        } else if self.at(P::PlusColon) || (self.at(P::Plus) && self.nth_is(1, P::Colon)) {
            if self.eat(P::PlusColon).is_none() {
                self.bump();
                self.bump();
            }
            let width = Box::new(self.free_expr()?);
            ExprKind::PlusSlice { base, lo: first, width }
        } else {
            ExprKind::Index { base, index: first }
        };
        self.expect(P::RBracket, "after an index")?;
        let base_span = match &kind {
            ExprKind::Slice { base, .. } | ExprKind::PlusSlice { base, .. } | ExprKind::Index { base, .. } => base.span,
            _ => self.prev_span(),
        };
        let span = self.span_from(base_span);
        self.new_expr(kind, span)
    }

    /// `( argumentList )`
    pub(super) fn args(&mut self) -> PResult<Vec<Arg>> {
        self.expect(P::LParen, "before arguments")?;
        let outer = std::mem::replace(&mut self.no_gt, false);
        let args = self.comma_list(P::RParen, false, "an argument", Self::arg);
        self.no_gt = outer;
        args
    }

    fn arg(&mut self) -> PResult<Arg> {
        let start = self.peek().span;
        let name = if self.nth_is_name(0) && self.nth_is(1, P::Assign) {
            let name = self.ident("the name of a parameter")?;
            self.bump();
            Some(name)
        } else {
            None
        };
        let value = match self.eat_kw(Kw::Underscore) {
            Some(span) => self.new_expr(ExprKind::DontCare, span)?,
            None => self.expr()?,
        };
        let span = start.to(value.span);
        Ok(Arg { name, value, span })
    }

    /// `name = expression`
    pub(super) fn named_expr(&mut self) -> PResult<NamedExpr> {
        let name = self.ident("a name")?;
        self.expect(P::Assign, "after the name")?;
        let value = self.expr()?;
        let span = name.span.to(value.span);
        Ok(NamedExpr { name, value, span })
    }

    fn primary(&mut self) -> PResult<Expr> {
        match self.kind() {
            Tok::P(P::LBrace) => self.braces(),
            Tok::P(P::LParen) => self.parenthesised(),
            Tok::P(P::Dot) | Tok::Ident => self.name(),
            Tok::Kw(Kw::Error) if self.nth_is(1, P::Dot) => {
                let span = self.bump();
                let ty = self.new_type(TypeKind::Error, span)?;
                self.type_member(ty)
            }
            Tok::Kw(k) if k.is_name() && !(k == Kw::List && self.nth_is(1, P::Lt)) => self.name(),
            _ => self.literal(),
        }
    }

    /// An expression of a single token.
    fn literal(&mut self) -> PResult<Expr> {
        let token = self.peek().clone();
        let span = token.span;
        let kind = match token.kind {
            Tok::Int => match int_literal(&token.text) {
                Ok(value) => ExprKind::Int(value),
                Err(reason) => {
                    self.complain(
                        Diagnostic::error("E0102", format!("`{}` is not a number", token.text)).at(span, reason),
                    );
                    ExprKind::Int(IntLit { value: BigInt::ZERO, width: None, base: 10 })
                }
            },
            Tok::Str => ExprKind::String(string_body(&token.text).into()),
            Tok::Kw(Kw::True) => ExprKind::Bool(true),
            Tok::Kw(Kw::False) => ExprKind::Bool(false),
            Tok::Kw(Kw::This) => ExprKind::This,
            Tok::P(P::Dots) => ExprKind::Dots,
            Tok::P(P::Invalid) => ExprKind::Invalid,
            _ => return Err(self.no_expression()),
        };
        self.bump();
        self.new_expr(kind, span)
    }

    /// Reports that the next token begins no expression.
    fn no_expression(&mut self) -> Abort {
        let token = self.peek().clone();
        match token.kind {
            Tok::Kw(k) if k.starts_type() => self.report(
                Diagnostic::error("E0110", format!("expected an expression, found the type `{}`", k.text()))
                    .at(token.span, "a type cannot be used as a value")
                    .help("a cast is written with parentheses around the type: `(bit<8>) x`"),
            ),
            Tok::Kw(Kw::Underscore | Kw::Default) => self.report(
                Diagnostic::error("E0110", format!("expected an expression, found {}", token.describe()))
                    .at(token.span, "expected an expression")
                    .note(
                        "`_` and `default` stand for \"anything\" in select cases, table entries and \
                     switch labels",
                    ),
            ),
            _ => self.expected("an expression"),
        }
    }

    fn parenthesised(&mut self) -> PResult<Expr> {
        let open = self.bump();
        let mut inner = self.free_expr()?;
        match self.eat(P::RParen) {
            Some(close) => {
                inner.span = open.to(close);
                Ok(inner)
            }
            None => Err(self.missing_paren(open)),
        }
    }

    fn missing_paren(&mut self, open: Span) -> Abort {
        let found = self.peek().clone();
        self.report(
            Diagnostic::error("E0110", format!("expected `)`, found {}", found.describe()))
                .at(found.span, "expected `)`")
                .related(open, "to close this"),
        )
    }

    /// An expression that begins with a name: a value, `Type.member`, or `Type(arguments)`.
    fn name(&mut self) -> PResult<Expr> {
        let path = self.path("an expression")?;
        let known = self.lookup(&path.name.name, path.leading_dot);
        let span = path.span;
        if !known.is_some_and(|k| k.is_type) {
            return self.new_expr(ExprKind::Path(path), span);
        }
        match self.kind() {
            Tok::P(P::Dot) => {
                let ty = self.new_type(TypeKind::Named(path), span)?;
                self.type_member(ty)
            }
            Tok::P(P::LParen) => {
                let ty = self.new_type(TypeKind::Named(path), span)?;
                self.construct(ty)
            }
            Tok::P(P::Lt)
                if self.scan_angles(0).is_some_and(|a| self.nth_is(a.end, P::LParen) || self.nth_is(a.end, P::Dot)) =>
            {
                let ty = self.named_type(path)?;
                if self.at(P::Dot) { self.type_member(ty) } else { self.construct(ty) }
            }
            _ => {
                // A field or parameter may well be called like a type elsewhere; what the name means
                // here is for the next stage to say.
                self.new_expr(ExprKind::Path(path), span)
            }
        }
    }

    fn type_member(&mut self, ty: TypeExpr) -> PResult<Expr> {
        self.expect(P::Dot, "after a type")?;
        let name = self.ident("a member's name after `.`")?;
        let span = ty.span.to(name.span);
        self.new_expr(ExprKind::TypeMember { ty, name }, span)
    }

    fn construct(&mut self, ty: TypeExpr) -> PResult<Expr> {
        let args = self.args()?;
        let span = self.span_from(ty.span);
        self.new_expr(ExprKind::Construct { ty, args }, span)
    }

    /// `{ ... }`: a list or a struct.
    fn braces(&mut self) -> PResult<Expr> {
        let open = self.bump();
        let outer = std::mem::replace(&mut self.no_gt, false);
        let kind = if self.nth_is_name(0) && self.nth_is(1, P::Assign) {
            self.struct_fields()
        } else {
            self.comma_list(P::RBrace, true, "an element", Self::expr).map(ExprKind::List)
        };
        self.no_gt = outer;
        let kind = kind?;
        let span = self.span_from(open);
        self.new_expr(kind, span)
    }

    fn struct_fields(&mut self) -> PResult<ExprKind> {
        let mut fields = Vec::new();
        let mut dots = None;
        loop {
            if let Some(span) = self.eat(P::Dots) {
                dots = Some(span);
                self.eat(P::Comma);
                self.expect(P::RBrace, "after `...`")?;
                break;
            }
            fields.push(self.named_expr()?);
            if self.eat(P::Comma).is_some() {
                if self.eat(P::RBrace).is_some() {
                    break;
                }
            } else if self.eat(P::RBrace).is_some() {
                break;
            } else {
                return Err(self.expected("`,` or `}` after a field's value"));
            }
        }
        Ok(ExprKind::Struct { fields, dots })
    }

    // --- keysets -----------------------------------------------------------------------------

    /// `keysetExpression`; a `:` follows it.
    pub(super) fn keyset(&mut self) -> PResult<Keyset> {
        let start = self.peek().span;
        let is_tuple = self.at(P::LParen) && self.scan_brackets(0).is_some_and(|behind| self.nth_is(behind, P::Colon));
        if !is_tuple {
            let item = self.keyset_item()?;
            return Ok(Keyset { span: start.to(item.span), items: vec![item], is_tuple: false });
        }
        self.bump();
        let items = self.comma_list(P::RParen, false, "a value", Self::keyset_item)?;
        let span = self.span_from(start);
        if items.is_empty() {
            return Err(self.report(
                Diagnostic::error("E0110", "expected a value to match, found `()`").at(span, "this matches nothing"),
            ));
        }
        // `(e)` around one ordinary expression is just that expression.
        let single = items.len() == 1
            && !matches!(
                items[0].kind,
                ExprKind::Mask { .. } | ExprKind::Range { .. } | ExprKind::Default | ExprKind::DontCare
            );
        Ok(Keyset { items, is_tuple: !single, span })
    }

    /// `simpleKeysetExpression`
    fn keyset_item(&mut self) -> PResult<Expr> {
        if let Some(span) = self.eat_kw(Kw::Default) {
            return self.new_expr(ExprKind::Default, span);
        }
        if let Some(span) = self.eat_kw(Kw::Underscore) {
            return self.new_expr(ExprKind::DontCare, span);
        }
        let first = self.expr()?;
        if self.eat(P::AmpAmpAmp).is_some() {
            let mask = self.expr()?;
            let span = first.span.to(mask.span);
            let kind = ExprKind::Mask { value: Box::new(first), mask: Box::new(mask) };
            return self.new_expr(kind, span);
        }
        self.range_after(first)
    }

    /// `.. expression` after the first bound, or nothing.
    pub(super) fn range_after(&mut self, lo: Expr) -> PResult<Expr> {
        if self.eat(P::DotDot).is_none() {
            return Ok(lo);
        }
        let hi = self.expr()?;
        let span = lo.span.to(hi.span);
        let kind = ExprKind::Range { lo: Box::new(lo), hi: Box::new(hi) };
        self.new_expr(kind, span)
    }
}
