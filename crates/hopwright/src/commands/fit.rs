//! `hopwright fit`.

use hopwright_fit::{Target, estimate, of_pipe};

use crate::cli::FitArgs;
use crate::compile;
use crate::failure::Failure;

/// Prints how a program would lie in a chip's stages.
pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    let target = Target::by_name(&args.target).ok_or_else(|| {
        let names: Vec<String> = Target::all().into_iter().map(|t| t.name).collect();
        Failure::message(format!("no target `{}`; there are {}", args.target, names.join(", ")))
    })?;
    let mut pipeline = compile::pipeline(&args.source)?;
    if let Some(pipe) = args.pipe {
        let one = of_pipe(&pipeline, pipe);
        pipeline = one
            .ok_or_else(|| Failure::message(format!("the program has no pipeline of its own for pipe {pipe}")))?
            .into();
    }
    let estimate = estimate(&pipeline, &target);
    if let Some(path) = &args.svg {
        std::fs::write(path, estimate.to_svg()).map_err(|e| Failure::message(format!("{}: {e}", path.display())))?;
    }
    if args.json {
        let json = serde_json::to_string_pretty(&estimate).map_err(Failure::message)?;
        println!("{json}");
    } else {
        print!("{}", estimate.to_text());
    }
    if estimate.fits() { Ok(()) } else { Err(Failure::Reported) }
}
