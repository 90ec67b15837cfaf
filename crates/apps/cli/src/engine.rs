//! Data planes, and one that takes one packet at a time, for packet tests and replay.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_dataplane::externs::ExternTypes;
use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_reference::Reference;
use hopwright_stf::{DataPlaneEngine, Engine, ReferenceEngine};

use crate::cli::program::{EngineChoice, Source, TestEngine};
use crate::compile;
use crate::failure::Failure;
#[cfg(feature = "rtl")]
use crate::hardware;

/// Makes engines in the initial state of a program.
pub(crate) type Maker = Box<dyn FnMut() -> Result<Box<dyn Engine>, Failure>>;

/// Builds a data plane for this program. What the engine does not support is reported at its place in the source.
pub(crate) fn data_plane(pipeline: &Arc<Pipeline>, engine: EngineChoice) -> Result<Arc<VirtualDataPlane>, Failure> {
    let kind = match engine {
        EngineChoice::Interp => EngineKind::Interp,
        #[cfg(feature = "jit")]
        EngineChoice::Jit => EngineKind::Jit,
        #[cfg(feature = "rtl")]
        EngineChoice::Rtl => {
            return hardware::simulated(pipeline).map_err(|error| hardware::not_offloaded(pipeline, &error));
        }
    };
    VirtualDataPlane::new(pipeline.clone(), kind).map_err(|error| compile::refused(pipeline, &error))
}

/// Machine code, or the interpreter for a program that the code generator does not support, or without one.
pub(crate) fn automatic(pipeline: &Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, Failure> {
    let (vdp, why) = VirtualDataPlane::automatic(pipeline.clone(), &ExternTypes::standard())
        .map_err(|error| compile::refused(pipeline, &error))?;
    if let Some(why) = why {
        tracing::warn!("{}: {}; the interpreter runs it, slowly", pipeline.name, why.text(pipeline));
    }
    Ok(vdp)
}

/// A data plane that takes one packet at a time.
pub(crate) fn one_by_one(vdp: Arc<VirtualDataPlane>) -> Result<DataPlaneEngine, Failure> {
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(|e: PoolError| Failure::message(e))
}

/// Compiles a program for an engine that takes one packet at a time.
pub(crate) fn of_test(source: &Source, engine: TestEngine) -> Result<Box<dyn Engine>, Failure> {
    let engine = match engine {
        TestEngine::Reference => return Ok(Box::new(reference(source)?()?)),
        TestEngine::Interp => EngineChoice::Interp,
        #[cfg(feature = "jit")]
        TestEngine::Jit => EngineChoice::Jit,
        #[cfg(feature = "rtl")]
        TestEngine::Rtl => EngineChoice::Rtl,
    };
    Ok(Box::new(one_by_one(data_plane(&compile::pipeline(source)?, engine)?)?))
}

/// What starts evaluations of the typed program as the specification says, one after the other; it is compiled once.
pub(crate) fn reference(source: &Source) -> Result<impl Fn() -> Result<ReferenceEngine, Failure> + use<>, Failure> {
    let mut compiled = compile::compile(source, false);
    let (typed, sources) = (compiled.typed.take(), compiled.sources.clone());
    let pipeline = compile::printed(compiled)?;
    let Some(typed) = typed else {
        return Err(Failure::message("the reference evaluates P4 text, which BMv2's JSON has not: --engine interp"));
    };
    let typed = Rc::new(typed);
    Ok(move || {
        let reference = Reference::new(typed.clone(), sources.clone());
        let reference = reference.map_err(|found| compile::refused_by_reference(&pipeline, &found))?;
        Ok(ReferenceEngine::new(pipeline.clone(), reference))
    })
}
