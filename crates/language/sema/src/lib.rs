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

/// As [`analyse`], and fills an index of names and types, also for a program with errors.
pub fn analyse_indexed(program: &ast::Program, name: &str) -> (Analysis, index::Index) {
    let mut analyser = analyser::Analyser::new(program, name);
    analyser.index = Some(Box::default());
    finish(analyser)
}

fn finish(mut analyser: analyser::Analyser<'_>) -> (Analysis, index::Index) {
    stack::with_room(|| analyser.program());
    let mut diagnostics = Diagnostics::new();
    for d in analyser.diagnostics {
        diagnostics.push(d);
    }
    let index = analyser.index.map(|b| b.finish()).unwrap_or_default();
    (Analysis { program: (!diagnostics.has_errors()).then_some(analyser.out), diagnostics }, index)
}
