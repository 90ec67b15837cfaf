//! Functions for any type.

use crate::overlap::Kind;
use crate::{Generator, Place, Ty};

impl Generator {
    pub(crate) fn generic_functions(&mut self) {
        if !self.config.generics {
            return;
        }
        self.line("void swap<T>(inout T x, inout T y) { T kept = x; x = y; y = kept; }");
        self.line("T choose<T>(in bool first, in T x, in T y) { if (first) { return x; } return y; }");
        self.line("T store<T>(out T to, in T value) { to = value; T again = to; return again; }");
        self.line("A first<A, B>(inout A x, inout B y) { A kept = x; B other = y; x = kept; y = other; return kept; }");
    }

    /// Calls one of the functions for a type that has variables here.
    pub(crate) fn generic_call(&mut self) -> bool {
        if !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        let kind = match self.random.below(6) {
            0 if !self.records.is_empty() => Kind::Record,
            1 | 2 if !self.visible.is_empty() => Kind::Header(self.random.pick(&self.visible).clone()),
            3 => Kind::Stack,
            4 => Kind::Unions,
            _ => match self.target(|_| true) {
                Some((_, ty)) => Kind::Scalar(ty),
                None => return false,
            },
        };
        let places = self.places(&kind);
        if places.is_empty() {
            return false;
        }
        let mut pick = || self.random.pick(&places).clone();
        let (a, b, c) = (pick(), pick(), pick());
        let types = if self.random.one_in(2) { format!("<{}>", kind.type_name(self)) } else { String::new() };
        match self.random.below(4) {
            0 => self.line(format!("swap{types}({a}, {b});")),
            1 => {
                let cond = self.expr(Ty::Bool, 2);
                self.line(format!("{a} = choose{types}({cond}, {b}, {c});"));
            }
            2 => self.line(format!("{a} = store{types}({b}, {c});")),
            _ => {
                let Some((other, _)) = self.target(|_| true) else { return false };
                self.line(format!("{a} = first({b}, {other});"));
            }
        }
        true
    }
}
