//! `hopwright fit`.

use std::sync::Arc;

use hopwright_fit::{Estimate, Pragmas, Target, estimate, of_pipe, pipes};
use hopwright_ir::Pipeline;

use crate::cli::fit::FitArgs;
use crate::compile;
use crate::failure::Failure;
use crate::progress::Progress;

/// Prints how a program would lie in a chip's stages.
pub(crate) fn run(args: &FitArgs) -> Result<(), Failure> {
    let target = Target::by_name(&args.target).ok_or_else(|| {
        let names: Vec<String> = Target::all().into_iter().map(|t| t.name).collect();
        Failure::message(format!("no target `{}`; there are {}", args.target, names.join(", ")))
    })?;
    let compiled = compile::compile(&args.source, true);
    let pragmas = compiled.typed.as_ref().map(Pragmas::of).unwrap_or_default();
    let pipeline = compile::printed(compiled)?;
    let estimating = Progress::start(|| "estimating".into());
    let programs = programs(&pipeline, args.pipe)?;
    if let Some(path) = &args.svg {
        let [(_, program)] = programs.as_slice() else {
            return Err(Failure::message("the program has several pipelines: `--pipe NUMBER` chooses the one to draw"));
        };
        let svg = estimate(program, &target, &pragmas).to_svg();
        std::fs::write(path, svg).map_err(|e| Failure::message(format!("{}: {e}", path.display())))?;
    }
    let estimates: Vec<Estimate> = programs.iter().map(|(_, program)| estimate(program, &target, &pragmas)).collect();
    drop(estimating);
    if args.json {
        let json = match estimates.as_slice() {
            [only] => serde_json::to_string_pretty(only),
            all => serde_json::to_string_pretty(all),
        };
        println!("{}", json.map_err(Failure::message)?);
    } else {
        for ((numbers, _), estimate) in programs.iter().zip(&estimates) {
            if let [first, others @ ..] = numbers.as_slice() {
                let others: String = others.iter().map(|number| format!(" and {number}")).collect();
                println!("pipe {first}{others}");
            }
            print!("{}", estimate.to_text());
        }
    }
    if estimates.iter().all(Estimate::fits) { Ok(()) } else { Err(Failure::Reported) }
}

/// A program, and the pipes that run it: none for one that is the same in all.
type PipeProgram = (Vec<u32>, Arc<Pipeline>);

/// The programs to estimate.
fn programs(pipeline: &Arc<Pipeline>, wanted: Option<u32>) -> Result<Vec<PipeProgram>, Failure> {
    let one = |numbers: Vec<u32>| {
        let number = numbers.first().copied().unwrap_or_default();
        let program = of_pipe(pipeline, number);
        let none = || Failure::message(format!("the program has no pipeline of its own for pipe {number}"));
        Ok((numbers, Arc::new(program.ok_or_else(none)?)))
    };
    match (wanted, pipes(pipeline)) {
        (Some(number), _) => Ok(vec![one(vec![number])?]),
        (None, several) if several.is_empty() => Ok(vec![(Vec::new(), pipeline.clone())]),
        (None, several) => several.into_iter().map(one).collect(),
    }
}
