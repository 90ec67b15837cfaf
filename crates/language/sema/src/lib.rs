//! Semantic analysis: syntax tree to typed program. Names, types, inference, constants, instantiation.
//!
//! [`analyse`] is the entry point, [`hir`] the typed program, [`architecture`] the descriptions of architectures, [`index`] what editors
//! ask for.

mod abstract_methods;
mod analyser;
pub mod architecture;
mod args;
mod call;
mod coerce;
mod consteval;
mod context;
mod decl;
mod defaults;
mod defs;
mod entity;
mod entry_priorities;
mod expr;
pub mod hir;
pub mod index;
mod infer;
mod instantiate;
mod match_kinds;
mod ops;
mod packages;
pub mod reached;
mod run_time_bits;
mod scope;
mod states;
mod stmt;
mod table;
mod together;
mod types;
mod typexpr;
mod value;

pub use hopwright_source::nearest;
use hopwright_source::stack;
use hopwright_syntax::ast;
use hopwright_syntax::diagnostic::Diagnostics;

/// The result of an analysis.
#[derive(Debug)]
pub struct Analysis {
    /// The typed program; `None` if there were errors.
    pub program: Option<hir::TypedProgram>,
    /// Errors and warnings in the order they were found.
    pub diagnostics: Diagnostics,
}

/// Checks a parsed program and builds the typed program.
///
/// `name` is the file stem. The architecture's declarations are whatever the program includes; what its package means is
/// described in [`architecture`].
/// Codes: `E02xx` names, `E03xx` types and calls, `E04xx` constants and instances, `E05xx` "not supported yet",
/// `W0xxx` warnings.
pub fn analyse(program: &ast::Program, name: &str) -> Analysis {
    finish(analyser::Analyser::new(program, name)).0
}

/// One of several programs of a device with pipes, such as a Tofino.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The program.
    pub program: &'a ast::Program,
    /// Its name, which is in front of the names of its objects.
    pub name: &'a str,
    /// The names of its pipelines, each with the pipes that it is in.
    pub pipes: &'a [(String, Vec<usize>)],
}

/// Checks several programs, each of which has pipes of its own, and builds one typed program of them: that of a package which has the
/// pipelines of all.
pub fn analyse_together(name: &str, parts: &[Part<'_>]) -> Analysis {
    let nothing = ast::Program::default();
    let mut analyser = analyser::Analyser::new(parts.first().map_or(&nothing, |part| part.program), name);
    stack::with_room(|| analyser.programs(parts));
    result(analyser).0
}

/// As [`analyse`], and fills an index of names and types, also for a program with errors.
pub fn analyse_indexed(program: &ast::Program, name: &str) -> (Analysis, index::Index) {
    let mut analyser = analyser::Analyser::new(program, name);
    analyser.index = Some(Box::default());
    finish(analyser)
}

fn finish(mut analyser: analyser::Analyser<'_>) -> (Analysis, index::Index) {
    stack::with_room(|| analyser.program());
    result(analyser)
}

fn result(analyser: analyser::Analyser<'_>) -> (Analysis, index::Index) {
    let mut diagnostics = Diagnostics::new();
    for d in analyser.diagnostics {
        diagnostics.push(d);
    }
    let index = analyser.index.map(|b| b.finish()).unwrap_or_default();
    (Analysis { program: (!diagnostics.has_errors()).then_some(analyser.out), diagnostics }, index)
}
