//! `hopwright ir`.

use crate::cli::IrArgs;
use crate::compile;
use crate::failure::Failure;

/// Prints the pipeline.
pub(crate) fn run(args: &IrArgs) -> Result<(), Failure> {
    let pipeline = compile::printed(compile::compile(&args.source, !args.no_passes))?;
    print!("{pipeline}");
    Ok(())
}
