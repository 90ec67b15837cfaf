//! `hopwright playground`.

use std::sync::mpsc;

use hopwright_ir::Pipeline;
use hopwright_page::playground::{Block, Listing, Worker, work};

use crate::cli::page::PlaygroundArgs;
use crate::commands::page::warn_of_others;
use crate::failure::Failure;
use hopwright_host::signals;

/// The code that is shown for a program.
const LISTINGS: &[Listing] = &[
    Listing { name: "pipeline IR", make: ir },
    #[cfg(feature = "jit")]
    Listing { name: "machine code", make: machine_code },
    #[cfg(feature = "rtl")]
    Listing { name: "SystemVerilog", make: system_verilog },
];

/// Serves the playground until SIGTERM or SIGINT; or does one of its jobs.
pub(crate) fn run(args: &PlaygroundArgs) -> Result<(), Failure> {
    if args.worker {
        return Ok(work(LISTINGS)?);
    }
    // The same command, even if the file is replaced while it runs.
    let command = ["/proc/self/exe", "playground", "--worker"].map(Into::into).to_vec();
    let worker = Worker::new(command, LISTINGS.iter().map(|listing| listing.name.into()).collect());
    let page = hopwright_page::serve_playground(&args.http, worker);
    let page = page.map_err(|e| Failure::message(format!("cannot serve a page at {}: {e} (see --http)", args.http)))?;
    tracing::info!("playground at {}; stop with Ctrl-C", page.url());
    warn_of_others(page.url(), false);
    let (stop, stopped) = mpsc::channel();
    let stopping = move || {
        // Fails only when the command has ended.
        let _ = stop.send(());
    };
    signals::handle(stopping, None)?;
    // Fails only without the thread that handles signals.
    let _ = stopped.recv();
    Ok(())
}

fn ir(pipeline: &Pipeline) -> Result<Vec<Block>, String> {
    Ok(vec![Block { line: None, text: pipeline.to_string() }])
}

#[cfg(feature = "jit")]
fn machine_code(pipeline: &Pipeline) -> Result<Vec<Block>, String> {
    let code = hopwright_jit::compile(pipeline, &hopwright_jit::Options::default()).map_err(|e| e.message)?;
    let blocks = super::asm::blocks(code.code(), code.lines()).map_err(|failure| failure.reason())?;
    Ok(blocks.into_iter().map(|(span, text)| Block::at(&pipeline.sources, span, text)).collect())
}

/// The module of the pipeline. Its comments name the lines of the program: each begins a block.
#[cfg(feature = "rtl")]
fn system_verilog(pipeline: &Pipeline) -> Result<Vec<Block>, String> {
    let target = hopwright_rtl::Target::by_name(hopwright_offload::DEFAULT_TARGET).ok_or("the target is missing")?;
    let hardware = hopwright_rtl::compile(pipeline, &target).map_err(|refusals| {
        let reason = |refusal: &hopwright_rtl::Refusal| {
            let place = pipeline.sources.location(refusal.span);
            format!("{place}: {}", refusal.message)
        };
        refusals.iter().map(reason).collect::<Vec<_>>().join("\n")
    })?;
    let mut blocks: Vec<Block> = Vec::new();
    for line in hardware.verilog.pipeline.lines() {
        let place = line.rsplit_once("// program.p4:").map(|(_, place)| place.split(':').next().unwrap_or_default());
        let place = place.and_then(|number| number.parse().ok());
        match blocks.last_mut() {
            Some(block) if block.line == place => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            _ => blocks.push(Block { line: place, text: format!("{line}\n") }),
        }
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use hopwright_page::playground::{Request, run};

    use super::*;

    #[test]
    fn listings_lead_to_lines_of_the_program() {
        let program = include_str!("../../../../../examples/l3.p4");
        for listing in LISTINGS {
            let request = Request { program: program.into(), listing: listing.name.into(), ..Request::default() };
            let result = run(&request, LISTINGS);
            let blocks = result["listing"]["blocks"].as_array().unwrap_or_else(|| panic!("{}", result["listing"]));
            let lines: std::collections::BTreeSet<u64> = blocks.iter().filter_map(|b| b["line"].as_u64()).collect();
            assert!(lines.len() > 5 || listing.name == "pipeline IR", "{}: {lines:?}", listing.name);
            assert!(lines.iter().all(|line| *line <= program.lines().count() as u64), "{}: {lines:?}", listing.name);
        }
    }
}
