//! P4-16 source text to abstract syntax tree: diagnostics, preprocessor, lexer, parser.
//!
//! Names and types of expressions are resolved by semantic analysis.
//!
//! ```
//! use hopwright_syntax::{Options, SourceMap, parse_text};
//!
//! let mut sources = SourceMap::new();
//! let text = "#include <core.p4>\nconst bit<8> TTL = 64;\n";
//! let (program, diagnostics) = parse_text(&mut sources, "example.p4", text, &Options::default());
//! assert!(!diagnostics.has_errors());
//! assert_eq!(program.decls.last().unwrap().kind.name().unwrap().as_str(), "TTL");
//! ```

pub mod ast;
pub mod diagnostic;
mod lexer;
mod parser;
mod preprocess;
pub mod raw;
pub mod render;
mod token;

use std::path::Path;

pub use ast::Program;
pub use diagnostic::{Diagnostic, Diagnostics, Label, Severity, Suggestion};
pub use hopwright_source::{FileId, SourceMap, Span};
pub use preprocess::{Buffers, CommandLineMacro, Options, built_in_files, canonical, include_of};
pub use token::is_reserved;

use hopwright_source::stack;
use preprocess::Preprocessor;

/// Reads, preprocesses and parses the program in file `root`.
///
/// The program holds every declaration that could be read, also when there are errors. A file that cannot
/// be read is an error in the diagnostics.
pub fn parse(sources: &mut SourceMap, root: &Path, options: &Options) -> (Program, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let tokens = Preprocessor::new(sources, options, &mut diagnostics).run_file(root);
    let program = stack::with_room(|| parser::parse_program(tokens, &mut diagnostics));
    (program, diagnostics)
}

/// Reads and preprocesses the program in file `root`, and prints it as C preprocessors do: without comments and directives, macros
/// expanded. With `markers`, lines `# LINE "FILE" FLAG` say where what follows is from; the flag is 1 at the beginning of an include
/// file, and 2 behind it. The text is a program with the same tokens in the same places.
pub fn preprocess(sources: &mut SourceMap, root: &Path, options: &Options, markers: bool) -> (String, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let first = sources.files().count() as u32;
    let tokens = Preprocessor::new(sources, options, &mut diagnostics).run_file(root);
    (preprocess::print(&tokens, sources, FileId(first), markers), diagnostics)
}

/// As [`parse`], for text in memory; `name` is its name in diagnostics.
pub fn parse_text(sources: &mut SourceMap, name: &str, text: &str, options: &Options) -> (Program, Diagnostics) {
    let mut diagnostics = Diagnostics::new();
    let tokens = Preprocessor::new(sources, options, &mut diagnostics).run_text(name, text);
    let program = stack::with_room(|| parser::parse_program(tokens, &mut diagnostics));
    (program, diagnostics)
}
