//! Types, type parameters and type arguments, and the look ahead that tells types from expressions.

use super::{MAX_SCAN, PResult, Parser};
use crate::ast::{ExprKind, Ident, NodeId, Path, TypeExpr, TypeKind};
use crate::diagnostic::Diagnostic;
use crate::token::{Kw, P, Tok};

/// Calls `f` with each type and expression directly inside.
pub(super) fn for_each_child(kind: &TypeKind, f: &mut impl FnMut(NodeId)) {
    match kind {
        TypeKind::Bit(width) => {
            if let Some(width) = width {
                f(width.id);
            }
        }
        TypeKind::SignedInt(width) | TypeKind::Varbit(width) => f(width.id),
        TypeKind::Specialized { args, .. } | TypeKind::Tuple(args) => {
            args.iter().for_each(|a| f(a.id));
        }
        TypeKind::Array { element, size } => {
            f(element.id);
            f(size.id);
        }
        TypeKind::List(element) => f(element.id),
        TypeKind::Bool
        | TypeKind::Error
        | TypeKind::MatchKind
        | TypeKind::String
        | TypeKind::Void
        | TypeKind::DontCare
        | TypeKind::Int
        | TypeKind::Named(_) => {}
    }
}

impl Parser<'_> {
    /// `typeRef`
    pub(super) fn ty(&mut self) -> PResult<TypeExpr> {
        self.nested(|p| {
            let ty = p.unsized_type()?;
            p.array_suffix(ty)
        })
    }

    /// `typeOrVoid`
    pub(super) fn type_or_void(&mut self) -> PResult<TypeExpr> {
        match self.eat_kw(Kw::Void) {
            Some(span) => self.new_type(TypeKind::Void, span),
            None => self.ty(),
        }
    }

    /// `[size]*` after a type.
    pub(super) fn array_suffix(&mut self, mut ty: TypeExpr) -> PResult<TypeExpr> {
        while self.eat(P::LBracket).is_some() {
            let size = self.free_expr()?;
            let close = self.expect(P::RBracket, "after the size of a stack")?;
            let span = ty.span.to(close);
            ty = self.new_type(TypeKind::Array { element: Box::new(ty), size: Box::new(size) }, span)?;
        }
        Ok(ty)
    }

    /// A type without `[size]` after it.
    pub(super) fn unsized_type(&mut self) -> PResult<TypeExpr> {
        let token = self.peek().clone();
        let start = token.span;
        let simple = match token.kind {
            Tok::Kw(Kw::Bool) => Some(TypeKind::Bool),
            Tok::Kw(Kw::Error) => Some(TypeKind::Error),
            Tok::Kw(Kw::MatchKind) => Some(TypeKind::MatchKind),
            Tok::Kw(Kw::String) => Some(TypeKind::String),
            _ => None,
        };
        if let Some(kind) = simple {
            self.bump();
            return self.new_type(kind, start);
        }
        match token.kind {
            Tok::Kw(k @ (Kw::Bit | Kw::Int | Kw::Varbit)) => {
                self.bump();
                if k != Kw::Varbit && !self.at(P::Lt) {
                    let kind = if k == Kw::Bit { TypeKind::Bit(None) } else { TypeKind::Int };
                    return self.new_type(kind, start);
                }
                self.expect(P::Lt, &format!("after `{}`", k.text()))?;
                let width = Box::new(self.width()?);
                self.expect(P::Gt, "after the width")?;
                let kind = match k {
                    Kw::Bit => TypeKind::Bit(Some(width)),
                    Kw::Int => TypeKind::SignedInt(width),
                    _ => TypeKind::Varbit(width),
                };
                let span = self.span_from(start);
                self.new_type(kind, span)
            }
            Tok::Kw(Kw::Tuple) => {
                self.bump();
                if !self.at(P::Lt) {
                    return Err(self.expected("`<` after `tuple`"));
                }
                let args = self.type_args()?;
                let span = self.span_from(start);
                self.new_type(TypeKind::Tuple(args), span)
            }
            Tok::Kw(Kw::List) => {
                self.bump();
                self.expect(P::Lt, "after `list`")?;
                let element = self.type_arg()?;
                self.expect(P::Gt, "after the type of a list's elements")?;
                let span = self.span_from(start);
                self.new_type(TypeKind::List(Box::new(element)), span)
            }
            Tok::Ident | Tok::P(P::Dot) => {
                let path = self.path("a type")?;
                self.named_type(path)
            }
            Tok::Kw(Kw::Void) => {
                self.bump();
                Err(self.report(
                    Diagnostic::error("E0114", "`void` cannot be used here")
                        .at(start, "")
                        .note("`void` is only the return type of functions and methods"),
                ))
            }
            _ => Err(self.expected("a type")),
        }
    }

    /// A type that begins with this name.
    pub(super) fn named_type(&mut self, path: Path) -> PResult<TypeExpr> {
        let start = path.span;
        if self.at(P::Lt) {
            let args = self.type_args()?;
            let span = self.span_from(start);
            self.new_type(TypeKind::Specialized { path, args }, span)
        } else {
            self.new_type(TypeKind::Named(path), start)
        }
    }

    /// `name` or `.name`
    pub(super) fn path(&mut self, what: &str) -> PResult<Path> {
        let dot = self.eat(P::Dot);
        let name = self.ident(what)?;
        let span = dot.map_or(name.span, |d| d.to(name.span));
        Ok(Path { leading_dot: dot.is_some(), name, span })
    }

    /// The expression in `bit<...>`: a `>` that is not in parentheses ends it. The specification wants parentheses around what is no number
    /// (P4-16 7.1.6.2); p4c does not, and names are too common for a warning.
    fn width(&mut self) -> PResult<crate::ast::Expr> {
        let parenthesised = self.at(P::LParen);
        let outer = std::mem::replace(&mut self.no_gt, true);
        let width = self.expr();
        self.no_gt = outer;
        let width = width?;
        if !parenthesised && !matches!(width.kind, ExprKind::Int(_) | ExprKind::Path(_)) {
            self.diags.push(
                Diagnostic::warning("W0036", "a width that is an expression stands in parentheses")
                    .at(width.span, "not all compilers accept this")
                    .help("write `bit<(...)>`"),
            );
        }
        Ok(width)
    }

    /// `< typeArgumentList >`
    pub(super) fn type_args(&mut self) -> PResult<Vec<TypeExpr>> {
        self.expect(P::Lt, "before type arguments")?;
        self.comma_list(P::Gt, false, "a type argument", Self::type_arg)
    }

    /// `typeArg`
    fn type_arg(&mut self) -> PResult<TypeExpr> {
        let span = self.peek().span;
        match self.kind() {
            Tok::Kw(Kw::Void) => {
                self.bump();
                self.new_type(TypeKind::Void, span)
            }
            Tok::Kw(Kw::Underscore) => {
                self.bump();
                self.new_type(TypeKind::DontCare, span)
            }
            _ => self.ty(),
        }
    }

    /// `optTypeParameters`
    pub(super) fn type_params(&mut self) -> PResult<Vec<Ident>> {
        if self.eat(P::Lt).is_none() {
            return Ok(Vec::new());
        }
        self.comma_list(P::Gt, false, "a type parameter", |p| p.ident("the name of a type parameter"))
    }

    // --- look ahead --------------------------------------------------------------------------

    /// If the tokens from `n` ahead on look like a type, the distance of the token after it.
    pub(super) fn scan_type(&self, n: usize) -> Option<usize> {
        let mut i = match self.nth(n).kind {
            Tok::Kw(k) if k.starts_type() => n + 1,
            Tok::Ident => n + 1,
            Tok::P(P::Dot) if self.nth_is_name(n + 1) => n + 2,
            _ => return None,
        };
        if self.nth_is(i, P::Lt) {
            i = self.scan_angles(i)?.end;
        }
        while self.nth_is(i, P::LBracket) {
            i = self.scan_brackets(i)?;
        }
        Some(i)
    }

    /// If a `<` that far ahead is closed by a `>` with nothing between that cannot be in a type.
    pub(super) fn scan_angles(&self, open: usize) -> Option<Angles> {
        let mut angles = 0u32;
        let mut brackets = 0u32;
        let mut has_comma = false;
        for n in open..open + MAX_SCAN {
            match self.nth(n).kind {
                Tok::P(P::Lt) if brackets == 0 => angles += 1,
                Tok::P(P::Gt) if brackets == 0 => {
                    angles -= 1;
                    if angles == 0 {
                        return Some(Angles { end: n + 1, has_comma });
                    }
                }
                Tok::P(P::LParen | P::LBracket) => brackets += 1,
                Tok::P(P::RParen | P::RBracket) => brackets = brackets.checked_sub(1)?,
                Tok::P(P::Comma) => has_comma |= brackets == 0,
                Tok::P(P::AndAnd | P::OrOr | P::EqEq | P::NotEq) if brackets == 0 => return None,
                Tok::P(P::Semi | P::LBrace | P::RBrace | P::Assign | P::GtEq | P::ShrAssign) | Tok::Eof => {
                    return None;
                }
                _ => {}
            }
        }
        None
    }

    /// The distance of the token after the parenthesis or bracket that closes the one at `open`.
    pub(super) fn scan_brackets(&self, open: usize) -> Option<usize> {
        let mut depth = 0u32;
        for n in open..open + MAX_SCAN {
            match self.nth(n).kind {
                Tok::P(P::LParen | P::LBracket | P::LBrace) => depth += 1,
                Tok::P(P::RParen | P::RBracket | P::RBrace) => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(n + 1);
                    }
                }
                Tok::P(P::Semi) | Tok::Eof => return None,
                _ => {}
            }
        }
        None
    }

    /// Whether the token `n` ahead surely begins a type: a type's reserved word or a declared type.
    pub(super) fn is_type_start(&self, n: usize) -> bool {
        match self.nth(n).kind {
            Tok::Kw(Kw::Error | Kw::MatchKind) => !self.nth_is(n + 1, P::Dot),
            Tok::Kw(Kw::List) => self.nth_is(n + 1, P::Lt),
            Tok::Kw(k) => k.starts_type(),
            Tok::Ident => self.lookup(&self.nth(n).text, false).is_some_and(|k| k.is_type),
            Tok::P(P::Dot) => self.lookup(&self.nth(n + 1).text, true).is_some_and(|k| k.is_type),
            _ => false,
        }
    }
}

/// What [`Parser::scan_angles`] found.
pub(super) struct Angles {
    /// Distance of the token after the `>`.
    pub(super) end: usize,
    /// Whether there is a comma outside inner parentheses.
    pub(super) has_comma: bool,
}
