//! What users of the parser rely on: the grammar, the preprocessor, the diagnostics, and that no input
//! makes it panic.

mod diagnostics;
mod grammar;
mod preprocessor;
mod printed;
mod robustness;
mod sexpr;

use hopwright_syntax::ast::{Decl, DeclKind, Program};
use hopwright_syntax::{Options, SourceMap, parse_text, render};

/// Parses text that must be right.
fn parse_ok(text: &str) -> Program {
    let mut sources = SourceMap::new();
    let (program, diagnostics) = parse_text(&mut sources, "test.p4", text, &Options::default());
    assert!(diagnostics.is_empty(), "{}", render::render(&diagnostics, &sources, false));
    program
}

/// Parses text and shows the diagnostics.
fn diagnose(text: &str) -> String {
    diagnose_with(text, &Options::default())
}

fn diagnose_with(text: &str, options: &Options) -> String {
    let mut sources = SourceMap::new();
    let (_, diagnostics) = parse_text(&mut sources, "test.p4", text, options);
    render::render(&diagnostics, &sources, false)
}

/// The declaration with this name.
fn decl<'a>(program: &'a Program, name: &str) -> &'a Decl {
    program
        .decls
        .iter()
        .find(|d| d.kind.name().is_some_and(|n| n.as_str() == name))
        .unwrap_or_else(|| panic!("no declaration `{name}`"))
}

/// The value of the constant `X` as an S-expression.
fn constant(text: &str) -> String {
    constant_in(&parse_ok(text))
}

fn constant_in(program: &Program) -> String {
    match &decl(program, "X").kind {
        DeclKind::Const(c) => sexpr::expr(&c.value),
        other => panic!("not a constant: {other:?}"),
    }
}
