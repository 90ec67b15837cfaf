//! P4-16 source text to abstract syntax tree: source map, diagnostics, preprocessor, lexer, parser.
//!
//! Nothing here knows what a name means or which type an expression has; that is the next crate's work.

pub mod ast;
pub mod diagnostic;
pub mod span;
