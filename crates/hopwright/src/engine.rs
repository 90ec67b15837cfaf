//! Data planes, and one that takes one packet at a time, for packet tests and replay.

use std::sync::Arc;

use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_stf::DataPlaneEngine;

use crate::cli::EngineChoice;
use crate::compile;
use crate::failure::Failure;

/// Builds a data plane for this program. What the engine does not support is reported at its place in the source.
pub(crate) fn data_plane(pipeline: &Arc<Pipeline>, engine: EngineChoice) -> Result<Arc<VirtualDataPlane>, Failure> {
    let kind = match engine {
        EngineChoice::Interp => EngineKind::Interp,
        EngineChoice::Jit => EngineKind::Jit,
    };
    VirtualDataPlane::new(pipeline.clone(), kind).map_err(|error| compile::refused(pipeline, &error))
}

/// A data plane that takes one packet at a time.
pub(crate) fn one_by_one(vdp: Arc<VirtualDataPlane>) -> Result<DataPlaneEngine, Failure> {
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(|e: PoolError| Failure::message(e))
}
