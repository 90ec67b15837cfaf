//! `hopwright check`.

use std::time::Instant;

use hopwright_dataplane::BuildError;
use hopwright_syntax::{Severity, render};

use crate::cli::{CheckArgs, DiagnosticFormat};
use crate::compile;
use crate::failure::Failure;

/// Reports errors and warnings.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let mut compiled = compile::compile(&args.source, true);
    let front = started.elapsed();
    let most = if args.max_errors == 0 { usize::MAX } else { args.max_errors };
    compiled.diagnostics = compiled.diagnostics.first_errors(most);
    let machine_readable = match args.format {
        DiagnosticFormat::Text => None,
        DiagnosticFormat::Json => Some(render::to_json(&compiled.diagnostics, &compiled.sources)),
        DiagnosticFormat::Sarif => Some(render::to_sarif(&compiled.diagnostics, &compiled.sources)),
    };
    if let Some(value) = machine_readable {
        println!("{value}");
        return compiled.pipeline.map(|_| ()).ok_or(Failure::Reported);
    }
    let warnings = compiled.diagnostics.iter().filter(|d| d.severity == Severity::Warning).count();
    compile::print_all(&compiled);
    let pipeline = compiled.pipeline.ok_or(Failure::Reported)?;
    let mut line = format!(
        "{}: no errors{}: {} parser states, {} headers, {} tables, {} actions",
        args.source.file.display(),
        if warnings > 0 { format!(", {warnings} warnings") } else { String::new() },
        pipeline.parser.states.len(),
        pipeline.headers.len(),
        pipeline.tables.len(),
        pipeline.actions.len()
    );
    if args.jit {
        let started = Instant::now();
        let code = hopwright_jit::compile(&pipeline, &hopwright_jit::Options::default());
        let back = started.elapsed();
        match code {
            Ok(code) => {
                line += &format!("; front end {front:.1?}, machine code {back:.1?}, {} bytes", code.code().len())
            }
            Err(e) => {
                let error = BuildError::Unsupported { span: e.span, message: e.message };
                return Err(compile::refused(&pipeline, &error));
            }
        }
    }
    println!("{line}");
    Ok(())
}
