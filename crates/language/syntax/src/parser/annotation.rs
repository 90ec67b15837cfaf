//! Annotations: free, structured, and the older `@pragma` lines.

use super::{PResult, Parser, literal};
use crate::ast::{Annotation, AnnotationBody, AnnotationToken, AnnotationTokenKind, Expr, Ident};
use crate::preprocess::string_body;
use crate::token::{P, Tok};

impl Parser<'_> {
    /// `annotation*`
    pub(super) fn annotations(&mut self) -> PResult<Vec<Annotation>> {
        let mut annotations = Vec::new();
        while self.at(P::At) {
            annotations.push(self.annotation()?);
        }
        Ok(annotations)
    }

    fn annotation(&mut self) -> PResult<Annotation> {
        let at = self.bump();
        let mut name = self.annotation_name()?;
        let body = if name.as_str() == "pragma" && !self.at(P::LParen) && !self.at(P::LBracket) {
            // `@pragma name words`, up to the end of the line, is an annotation of that name.
            name = self.annotation_name()?;
            let mut tokens = Vec::new();
            while !self.at_end() && !self.peek().line_start {
                tokens.push(self.annotation_token());
            }
            if tokens.is_empty() { AnnotationBody::None } else { AnnotationBody::Unstructured { tokens, exprs: None } }
        } else if self.at(P::LParen) {
            self.unstructured()?
        } else if self.eat(P::LBracket).is_some() {
            self.structured()?
        } else {
            AnnotationBody::None
        };
        Ok(Annotation { name, body, span: self.span_from(at) })
    }

    /// Any word, reserved or not.
    fn annotation_name(&mut self) -> PResult<Ident> {
        let token = self.peek().clone();
        match token.kind {
            Tok::Ident | Tok::Kw(_) => {
                self.bump();
                Ok(Ident { name: token.text, span: token.span })
            }
            _ => Err(self.expected("the name of an annotation after `@`")),
        }
    }

    fn annotation_token(&mut self) -> AnnotationToken {
        let token = self.peek().clone();
        self.bump();
        let kind = match token.kind {
            Tok::Ident | Tok::Kw(_) => AnnotationTokenKind::Word,
            Tok::Str => AnnotationTokenKind::String,
            Tok::Int => match literal::int_literal(&token.text) {
                Ok(value) => AnnotationTokenKind::Int(value),
                Err(_) => AnnotationTokenKind::Punctuation,
            },
            _ => AnnotationTokenKind::Punctuation,
        };
        let text = match token.kind {
            Tok::Str => string_body(&token.text).into(),
            _ => token.text,
        };
        AnnotationToken { kind, text, span: token.span }
    }

    fn unstructured(&mut self) -> PResult<AnnotationBody> {
        let open = self.bump();
        let start = self.checkpoint();
        let mut tokens = Vec::new();
        let mut depth = 0u32;
        loop {
            match self.kind() {
                Tok::Eof => return Err(self.unclosed(P::RParen, open)),
                Tok::P(P::LParen) => depth += 1,
                Tok::P(P::RParen) if depth == 0 => break,
                Tok::P(P::RParen) => depth -= 1,
                _ => {}
            }
            tokens.push(self.annotation_token());
        }
        let close = self.pos;
        // Read it as expressions too if that works; it need not.
        self.rewind(start);
        let trial = self.checkpoint();
        let outer_no_gt = std::mem::replace(&mut self.no_gt, false);
        let read = self.comma_list(P::RParen, true, "an expression", Self::expr);
        self.no_gt = outer_no_gt;
        let exprs: Option<Vec<Expr>> = match read {
            Ok(exprs) if self.pos == close + 1 => Some(exprs),
            _ => {
                self.rewind(trial);
                None
            }
        };
        self.pos = close;
        self.bump();
        Ok(AnnotationBody::Unstructured { tokens, exprs })
    }

    fn structured(&mut self) -> PResult<AnnotationBody> {
        if self.nth_is_name(0) && self.nth_is(1, P::Assign) {
            let pairs = self.comma_list(P::RBracket, true, "a key and value", Self::named_expr)?;
            Ok(AnnotationBody::KeyValues(pairs))
        } else {
            let exprs = self.comma_list(P::RBracket, true, "an expression", Self::expr)?;
            Ok(AnnotationBody::Exprs(exprs))
        }
    }
}
