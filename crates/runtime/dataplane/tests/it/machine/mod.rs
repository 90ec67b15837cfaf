//! A virtual data plane with machine code that takes one packet at a time.

use std::sync::Arc;

use hopwright_dataplane::{EngineKind, FrameSize, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_stf::DataPlaneEngine;

pub(crate) fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

pub(crate) fn machine(pipeline: Arc<Pipeline>) -> Result<DataPlaneEngine, String> {
    let vdp = VirtualDataPlane::new(pipeline, EngineKind::Jit).map_err(text)?;
    DataPlaneEngine::new(vdp, FrameSize::JUMBO).map_err(text)
}
