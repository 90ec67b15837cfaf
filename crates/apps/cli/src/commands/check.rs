//! `hopwright check`.

use std::time::Instant;

use hopwright_syntax::{Severity, render};

use crate::cli::{CheckArgs, DiagnosticFormat};
use crate::compile;
use crate::failure::Failure;

/// Reports errors and warnings.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let mut compiled = compile::compile_portable(&args.source, &args.portable)?;
    #[cfg_attr(not(feature = "jit"), allow(unused_variables))]
    let front = started.elapsed();
    #[cfg(feature = "p4runtime")]
    super::p4info::refuse_uncontrollable(&mut compiled);
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
    #[cfg_attr(not(feature = "jit"), allow(unused_mut))]
    let mut line = format!(
        "{}: no errors{}: {}, {}, {}, {}",
        args.source.file.display(),
        match warnings {
            0 => String::new(),
            1 => ", 1 warning".into(),
            _ => format!(", {warnings} warnings"),
        },
        counted(pipeline.parser.states.len(), "parser state"),
        counted(pipeline.headers.len(), "header"),
        counted(pipeline.tables.len(), "table"),
        counted(pipeline.actions.len(), "action")
    );
    #[cfg(feature = "jit")]
    if args.jit {
        line += &format!("; front end {front:.1?}, {}", super::asm::machine_code(&pipeline)?);
    }
    println!("{line}");
    Ok(())
}

/// A number of things: `1 table`, `2 tables`.
fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
