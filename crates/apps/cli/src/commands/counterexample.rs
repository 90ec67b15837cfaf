//! `hopwright stf --counterexample`: the smallest test on which an engine and the interpreter differ.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "rtl")]
use hopwright_dataplane::VirtualDataPlane;
use hopwright_ir::Pipeline;
#[cfg(feature = "rtl")]
use hopwright_offload::CompiledSimulation;
use hopwright_stf::Engine;
use hopwright_stf::counterexample::{difference, reduce};

use crate::cli::StfArgs;
use crate::cli::program::{EngineChoice, TestEngine};
use crate::commands::stf;
use crate::compile;
use crate::engine::{Maker, data_plane, one_by_one, reference};
use crate::failure::Failure;
#[cfg(feature = "rtl")]
use crate::hardware;

/// Compares an engine with the interpreter on the packets of tests, and writes what shows the first difference to a folder.
pub(crate) fn find(args: &StfArgs, folder: &Path) -> Result<(), Failure> {
    let pipeline = compile::pipeline(&args.source)?;
    let mut make = maker(args, &pipeline)?;
    for test in &args.tests {
        let failed = RefCell::new(None);
        let mut differs = |script: &hopwright_stf::Script| {
            let mut compare = || -> Result<_, Failure> {
                let mut wanted = one_by_one(data_plane(&pipeline, EngineChoice::Interp)?)?;
                Ok(difference(script, &mut wanted, &mut *make()?)?)
            };
            // Without some lines, others may not be possible; that they are with all lines is seen first.
            compare().unwrap_or_else(|failure| {
                failed.borrow_mut().get_or_insert(failure);
                None
            })
        };
        // Whether all lines can be carried out.
        let whole = differs(&stf::read(test)?);
        if let Some(failure) = failed.borrow_mut().take() {
            return Err(failure);
        }
        let text = std::fs::read_to_string(test)?;
        if whole.is_none() {
            println!("{}: both engines agree", test.display());
            continue;
        }
        let Some(found) = reduce(&text, &mut differs) else {
            let what = "the engines differ, but not if the lines with what is expected are left out";
            return Err(Failure::message(format!("{}: {what}", test.display())));
        };
        let captures = found.write(folder)?;
        println!("{}: {found}\n{}", test.display(), folder.join("test.stf").display());
        captures.values().for_each(|capture| println!("{}", capture.display()));
        return Err(Failure::Reported);
    }
    Ok(())
}

/// How engines are made: the program, and hardware, are compiled once.
fn maker(args: &StfArgs, pipeline: &Arc<Pipeline>) -> Result<Maker, Failure> {
    let pipeline = pipeline.clone();
    let engine = match args.engine.unwrap_or_default() {
        TestEngine::Reference => {
            let start = reference(&args.source)?;
            return Ok(Box::new(move || -> Result<Box<dyn Engine>, Failure> { Ok(Box::new(start()?)) }));
        }
        TestEngine::Interp => EngineChoice::Interp,
        #[cfg(feature = "jit")]
        TestEngine::Jit => EngineChoice::Jit,
        #[cfg(feature = "rtl")]
        TestEngine::Rtl => return simulations(pipeline),
    };
    Ok(Box::new(move || -> Result<Box<dyn Engine>, Failure> {
        Ok(Box::new(one_by_one(data_plane(&pipeline, engine)?)?))
    }))
}

/// What starts simulations of a program, one after the other; it is compiled once.
#[cfg(feature = "rtl")]
fn simulations(pipeline: Arc<Pipeline>) -> Result<Maker, Failure> {
    let compiled = CompiledSimulation::of(&pipeline, &hardware::default_target());
    let compiled = compiled.map_err(|error| hardware::not_offloaded(&pipeline, &error))?;
    Ok(Box::new(move || -> Result<Box<dyn Engine>, Failure> {
        let design = compiled.start(&pipeline).map_err(|error| hardware::not_offloaded(&pipeline, &error))?;
        let vdp = VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design)).map_err(Failure::message)?;
        Ok(Box::new(one_by_one(vdp)?))
    }))
}
