//! Data planes, and one that takes one packet at a time, for packet tests and replay.

use std::rc::Rc;
use std::sync::Arc;

use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{BuildError, EngineKind, FrameSize, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_offload::{OffloadError, SimulatedDesign};
use hopwright_reference::Reference;
use hopwright_rtl::Target;
use hopwright_stf::{DataPlaneEngine, Engine, ReferenceEngine};

use crate::cli::{EngineChoice, Source, TestEngine};
use crate::compile;
use crate::failure::Failure;

/// Builds a data plane for this program. What the engine does not support is reported at its place in the source.
pub(crate) fn data_plane(pipeline: &Arc<Pipeline>, engine: EngineChoice) -> Result<Arc<VirtualDataPlane>, Failure> {
    let kind = match engine {
        EngineChoice::Interp => EngineKind::Interp,
        EngineChoice::Jit => EngineKind::Jit,
        EngineChoice::Rtl => return simulated(pipeline).map_err(|error| compile::not_offloaded(pipeline, &error)),
    };
    VirtualDataPlane::new(pipeline.clone(), kind).map_err(|error| compile::refused(pipeline, &error))
}

/// A data plane whose program runs as simulated hardware.
pub(crate) fn simulated(pipeline: &Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, OffloadError> {
    let target = Target::by_name(hopwright_offload::DEFAULT_TARGET).expect("the default is a target");
    hopwright_offload::simulated(pipeline, &target)
}

/// The same; what is refused is one error.
pub(crate) fn hardware(pipeline: &Arc<Pipeline>) -> Result<Arc<VirtualDataPlane>, BuildError> {
    VirtualDataPlane::offloaded(pipeline.clone(), Box::new(chip(pipeline)?))
}

/// A simulated chip with this program.
pub(crate) fn chip(pipeline: &Arc<Pipeline>) -> Result<SimulatedDesign, BuildError> {
    let target = Target::by_name(hopwright_offload::DEFAULT_TARGET).expect("the default is a target");
    SimulatedDesign::start(pipeline, &target, None).map_err(|error| match error {
        OffloadError::Build(error) => error,
        OffloadError::Refused(refusals) => {
            let reports: Vec<String> = refusals.iter().map(|r| r.report(&pipeline.sources)).collect();
            BuildError::Program(reports.join("\n"))
        }
        other => BuildError::Program(other.to_string()),
    })
}

/// A data plane that takes one packet at a time.
pub(crate) fn one_by_one(vdp: Arc<VirtualDataPlane>) -> Result<DataPlaneEngine, Failure> {
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(|e: PoolError| Failure::message(e))
}

/// Compiles a program for an engine that takes one packet at a time.
pub(crate) fn of_test(source: &Source, engine: TestEngine) -> Result<Box<dyn Engine>, Failure> {
    let engine = match engine {
        TestEngine::Reference => return Ok(Box::new(reference(source)?)),
        TestEngine::Interp => EngineChoice::Interp,
        TestEngine::Jit => EngineChoice::Jit,
        TestEngine::Rtl => EngineChoice::Rtl,
    };
    Ok(Box::new(one_by_one(data_plane(&compile::pipeline(source)?, engine)?)?))
}

/// The typed program, evaluated as the specification says.
fn reference(source: &Source) -> Result<ReferenceEngine, Failure> {
    let mut compiled = compile::compile(source, false);
    let (typed, sources) = (compiled.typed.take(), compiled.sources.clone());
    let pipeline = compile::printed(compiled)?;
    let typed = typed.ok_or(Failure::Reported)?;
    let reference = Reference::new(Rc::new(typed), sources);
    let reference = reference.map_err(|found| compile::refused_by_reference(&pipeline, &found))?;
    Ok(ReferenceEngine::new(pipeline, reference))
}
