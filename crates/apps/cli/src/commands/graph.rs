//! `hopwright graph`.

use std::path::Path;

use hopwright_graphs::graphs;

use crate::cli::{GraphArgs, GraphFormat};
use crate::compile;
use crate::failure::Failure;

/// Writes a program's graphs.
pub(crate) fn run(args: &GraphArgs) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    std::fs::create_dir_all(&args.output).map_err(|e| Failure::message(format!("{}: {e}", args.output.display())))?;
    for graph in graphs(&pipeline) {
        let stem = format!("{}.{}", pipeline.name, graph.name);
        if args.format != GraphFormat::Dot {
            write(&args.output.join(format!("{stem}.svg")), &graph.to_svg())?;
        }
        if args.format != GraphFormat::Svg {
            write(&args.output.join(format!("{stem}.dot")), &graph.to_dot())?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::message(format!("{}: {e}", path.display())))?;
    println!("{}", path.display());
    Ok(())
}
