//! `hopwright p4info` and `hopwright bundle`: the files that a controller needs for a program.

use std::path::Path;

use hopwright_driver::Compiled;
use hopwright_p4runtime::p4info;
use hopwright_p4runtime::p4info::P4InfoError;
use hopwright_syntax::Diagnostic;

use crate::cli::p4runtime::{BundleArgs, P4infoArgs, P4infoFormat};
use crate::compile;
use crate::failure::Failure;
use crate::output;

/// Prints or writes the P4Info.
pub(crate) fn run(args: &P4infoArgs) -> Result<(), Failure> {
    let compiled = compile::compile(&args.source, false);
    compile::print_diagnostics(&compiled);
    let (Some(info), Some(pipeline)) = (p4info::of_compiled(&compiled), &compiled.pipeline) else {
        return Err(Failure::Reported);
    };
    let info = info?;
    let bytes = match args.format {
        P4infoFormat::Text => p4info::to_text(&info)?.into_bytes(),
        P4infoFormat::Json => p4info::to_json(&info)?.into_bytes(),
        P4infoFormat::Binary => p4info::to_binary(&info),
        #[cfg(feature = "bfruntime")]
        P4infoFormat::BfRt => format!("{:#}\n", hopwright_bfruntime::info(&pipeline.name, &info)).into_bytes(),
    };
    write(args.output.as_deref(), &bytes)
}

/// Prints or writes the program as one file.
pub(crate) fn bundle(args: &BundleArgs) -> Result<(), Failure> {
    let compiled = compile::compile(&args.source, false);
    compile::print_diagnostics(&compiled);
    if compiled.pipeline.is_none() {
        return Err(Failure::Reported);
    }
    write(args.output.as_deref(), &compile::device_config(&compiled, &args.source)?)
}

fn write(output: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    match output {
        Some(path) => std::fs::write(path, bytes).map_err(|e| Failure::message(format!("{}: {e}", path.display()))),
        None => {
            output::write_bytes(bytes);
            Ok(())
        }
    }
}

/// Adds an error if there is no P4Info of the program, so that control planes refuse it.
pub(crate) fn refuse_uncontrollable(compiled: &mut Compiled) {
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
