//! From the command line's program to a pipeline, with its diagnostics printed. Does not live here: the compiler.

use std::io::IsTerminal;
use std::sync::Arc;

use hopwright_dataplane::BuildError;
use hopwright_ir::Pipeline;
use hopwright_ir::compile::{Compiled, compile_file};
use hopwright_syntax::{Diagnostic, Options, render};

use crate::cli::Source;
use crate::failure::Failure;

/// Compiles without printing anything.
pub fn compile(source: &Source, optimise: bool) -> Compiled {
    compile_file(&source.file, &options(source), optimise)
}

/// Compiles and prints what there is to say on standard error.
pub fn pipeline(source: &Source) -> Result<Arc<Pipeline>, Failure> {
    printed(compile(source, true))
}

/// Prints the diagnostics on standard error; fails if there are errors.
pub fn printed(compiled: Compiled) -> Result<Arc<Pipeline>, Failure> {
    print_diagnostics(&compiled);
    compiled.pipeline.map(Arc::new).ok_or(Failure::Reported)
}

/// Prints the diagnostics on standard error.
pub fn print_diagnostics(compiled: &Compiled) {
    let text = render::render(&compiled.diagnostics, &compiled.sources, color());
    if !text.is_empty() {
        eprint!("{text}");
    }
}

/// Prints what an engine cannot do, at its place in the program.
pub fn refused(pipeline: &Pipeline, error: &BuildError) -> Failure {
    let diagnostic = match error {
        BuildError::Program(message) => return Failure::message(message),
        BuildError::Unsupported { span, message } => {
            Diagnostic::error("E0600", message.clone()).at(*span, "").help("the interpreter may: --engine interp")
        }
    };
    eprint!("{}", render::render_one(&diagnostic, &pipeline.sources, color()));
    Failure::Reported
}

/// Whether to colour standard error.
fn color() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

fn options(source: &Source) -> Options {
    let mut options = Options { include_paths: source.include.clone(), ..Options::default() };
    for definition in &source.define {
        options.define(definition);
    }
    for name in &source.undefine {
        options.undefine(name);
    }
    options
}
