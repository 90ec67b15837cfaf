//! `hopwright p4info`: what a program offers to a controller.

use std::io::Write;

use hopwright_p4runtime::p4info;

use crate::cli::{P4infoArgs, P4infoFormat};
use crate::compile;
use crate::failure::Failure;

/// Prints or writes the P4Info.
pub fn run(args: &P4infoArgs) -> Result<(), Failure> {
    let compiled = compile::compile(&args.source, false);
    compile::print_diagnostics(&compiled);
    let (Some(typed), Some(pipeline)) = (&compiled.typed, &compiled.pipeline) else { return Err(Failure::Reported) };
    let info = p4info::of(typed, pipeline)?;
    let bytes = match args.format {
        P4infoFormat::Text => p4info::to_text(&info)?.into_bytes(),
        P4infoFormat::Json => p4info::to_json(&info)?.into_bytes(),
        P4infoFormat::Binary => p4info::to_binary(&info),
    };
    match &args.output {
        Some(path) => std::fs::write(path, bytes).map_err(|e| Failure::message(format!("{}: {e}", path.display()))),
        None => Ok(std::io::stdout().write_all(&bytes)?),
    }
}
