//! Tables: properties, keys, actions and entries.

use super::{PResult, Parser, Region};
use crate::ast::{
    ActionRef, Annotation, Decl, DeclKind, Entry, Ident, KeyElement, TableAction, TableDecl, TableProperty,
    TablePropertyValue,
};
use crate::diagnostic::Diagnostic;
use crate::token::{Kw, P, Tok};

impl Parser<'_> {
    /// `tableDeclaration` after annotations
    pub(super) fn table(&mut self, annotations: Vec<Annotation>) -> PResult<Decl> {
        let start = self.bump();
        let name = self.ident("the name of a table")?;
        self.declare(&name, false, false);
        let (properties, _) = self.braced_in(Region::Table, "after the table's name", Self::table_property)?;
        Ok(Decl { kind: DeclKind::Table(TableDecl { name, properties }), annotations, span: self.span_from(start) })
    }

    fn table_property(&mut self) -> PResult<TableProperty> {
        let annotations = self.annotations()?;
        let start = self.peek().span;
        let is_const = self.eat_kw(Kw::Const).is_some();
        let name = self.ident("a table property")?;
        let value = match name.as_str() {
            "key" if !is_const => {
                self.expect(P::Assign, "after `key`")?;
                let (elements, _) = self.braced_in(Region::TablePart, "after `key =`", Self::key_element)?;
                TablePropertyValue::Key(elements)
            }
            "actions" if !is_const => {
                self.expect(P::Assign, "after `actions`")?;
                let (actions, _) = self.braced_in(Region::TablePart, "after `actions =`", Self::table_action)?;
                TablePropertyValue::Actions(actions)
            }
            "entries" => {
                self.expect(P::Assign, "after `entries`")?;
                let (entries, _) = self.braced_in(Region::TablePart, "after `entries =`", Self::entry)?;
                TablePropertyValue::Entries(entries)
            }
            "key" | "actions" => {
                return Err(self.report(
                    Diagnostic::error("E0110", format!("`{name}` cannot be marked `const`"))
                        .at(start, "remove this")
                        .suggest(start, "const", ""),
                ));
            }
            _ => {
                self.expect(P::Assign, &format!("after the property `{name}`"))?;
                let value = self.expr()?;
                self.expect_semi(&format!("after the property `{name}`"))?;
                TablePropertyValue::Expr(value)
            }
        };
        // `key`, `actions` and `entries` end with their brace; a `;` after it is a common mistake.
        if !matches!(value, TablePropertyValue::Expr(_))
            && let Some(extra) = self.eat(P::Semi)
        {
            self.complain(
                Diagnostic::error("E0111", format!("unexpected `;` after `{name} = {{ ... }}`"))
                    .at(extra, "remove this")
                    .suggest(extra, ";", ""),
            );
        }
        Ok(TableProperty { annotations, is_const, name, value, span: self.span_from(start) })
    }

    fn key_element(&mut self) -> PResult<KeyElement> {
        let start = self.peek().span;
        let expr = self.expr()?;
        self.expect(P::Colon, "and a match kind after a key")?;
        let match_kind = self.match_kind_name()?;
        let annotations = self.annotations()?;
        self.expect_semi("after a key")?;
        Ok(KeyElement { expr, match_kind, annotations, span: self.span_from(start) })
    }

    fn match_kind_name(&mut self) -> PResult<Ident> {
        self.ident("a match kind such as `exact`, `lpm` or `ternary`")
    }

    fn table_action(&mut self) -> PResult<TableAction> {
        let annotations = self.annotations()?;
        let action = self.action_ref()?;
        if let Some(comma) = self.eat(P::Comma) {
            let wrong = Diagnostic::error("E0111", "expected `;` after an action, found `,`").at(comma, "write `;`");
            self.complain(wrong.suggest(comma, ",", ";"));
        } else {
            self.expect_semi("after an action")?;
        }
        Ok(TableAction { annotations, action })
    }

    fn action_ref(&mut self) -> PResult<ActionRef> {
        let path = self.path("an action")?;
        let args = if self.at(P::LParen) { Some(self.args()?) } else { None };
        let span = self.span_from(path.span);
        Ok(ActionRef { path, args, span })
    }

    fn entry(&mut self) -> PResult<Entry> {
        let start = self.peek().span;
        let is_const = self.eat_kw(Kw::Const).is_some();
        let priority = if self.at_kw(Kw::Priority) && self.nth_is(1, P::Assign) {
            self.bump();
            self.bump();
            if !matches!(self.kind(), Tok::Int | Tok::P(P::LParen)) {
                return Err(self.report(
                    Diagnostic::error("E0110", "expected a number after `priority =`")
                        .at(self.peek().span, "expected a number")
                        .help("put parentheses around any other expression"),
                ));
            }
            let value = self.postfix()?;
            self.expect(P::Colon, "after an entry's priority")?;
            Some(value)
        } else {
            None
        };
        let keyset = self.keyset()?;
        self.expect(P::Colon, "after an entry's key")?;
        if self.kind() == Tok::Int && self.nth_is(1, P::Colon) {
            let span = self.span_from(start);
            return Err(self.report(
                Diagnostic::error("E0110", "expected an action, found a number")
                    .at(self.peek().span, "expected an action")
                    .related(span, "the key")
                    .help("an address such as `00:11:22:33:44:55` is written as one number: `0x001122334455`"),
            ));
        }
        let action = self.action_ref()?;
        let annotations = self.annotations()?;
        self.expect_semi("after an entry")?;
        Ok(Entry { is_const, priority, keyset, action, annotations, span: self.span_from(start) })
    }
}
