//! `hopwright check`.

use std::time::Instant;

use hopwright_dataplane::BuildError;
use hopwright_driver::Compiled;
use hopwright_p4runtime::p4info::{self, P4InfoError};
use hopwright_syntax::{Diagnostic, Severity, render};

use crate::cli::{CheckArgs, DiagnosticFormat};
use crate::compile;
use crate::failure::Failure;

/// Adds an error if there is no P4Info of the program, so that control planes refuse it.
fn refuse_uncontrollable(compiled: &mut Compiled) {
    let (Some(typed), Some(pipeline)) = (&compiled.typed, &compiled.pipeline) else { return };
    let error = |reason: &dyn std::fmt::Display| {
        Diagnostic::error("E0602", format!("no control plane can use this program: {reason}"))
    };
    let shared = typed.shared_names();
    let mut errors: Vec<Diagnostic> = shared
        .iter()
        .map(|shared| {
            let what = format!("two {}s are called `{}`", shared.kind, shared.name);
            let error = error(&what).at(shared.second, "this one");
            if shared.first == shared.second { error } else { error.related(shared.first, "and this one") }
        })
        .collect();
    match p4info::of(typed, pipeline) {
        Err(reason) if !matches!(reason, P4InfoError::DuplicateName { .. }) || errors.is_empty() => {
            errors.push(error(&reason))
        }
        _ => {}
    }
    if !errors.is_empty() {
        errors.into_iter().for_each(|error| compiled.diagnostics.push(error));
        compiled.pipeline = None;
    }
}

/// Reports errors and warnings.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let started = Instant::now();
    let mut compiled = compile::compile(&args.source, true);
    let front = started.elapsed();
    refuse_uncontrollable(&mut compiled);
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
