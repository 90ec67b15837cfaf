//! `hopwright preprocess`.

use std::path::Path;

use hopwright_driver::Compiled;
use hopwright_syntax::SourceMap;

use crate::cli::PreprocessArgs;
use crate::cli::program::Source;
use crate::compile;
use crate::failure::Failure;

/// Preprocesses a program.
pub(crate) fn run(args: &PreprocessArgs) -> Result<(), Failure> {
    print(&args.source, !args.no_line_markers, args.output.as_deref())
}

/// Writes a preprocessed program to a file, or to standard output. What is wrong goes to standard error.
pub(crate) fn print(source: &Source, markers: bool, file: Option<&Path>) -> Result<(), Failure> {
    let mut sources = SourceMap::new();
    let (text, diagnostics) =
        hopwright_syntax::preprocess(&mut sources, &source.file, &compile::options(source), markers);
    let failed = diagnostics.has_errors();
    compile::print_diagnostics(&Compiled {
        pipeline: None,
        typed: None,
        hashes: Vec::new(),
        diagnostics,
        sources: sources.into(),
    });
    match file {
        Some(file) => {
            hopwright_host::files::replace(file, text.as_bytes())
                .map_err(|error| Failure::message(format!("{}: {error}", file.display())))?;
        }
        None => print!("{text}"),
    }
    if failed { Err(Failure::Reported) } else { Ok(()) }
}
