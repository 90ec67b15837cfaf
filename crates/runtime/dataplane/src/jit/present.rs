//! The code generator of `hopwright-jit`.

use hopwright_abi::ExternAttributes;
use hopwright_ir::Pipeline;

pub use hopwright_jit::trace_ir;
pub use hopwright_jit::{Ahead, TraceCode, TracePass, Unsupported};
pub(crate) use hopwright_jit::{
    CompiledPipeline, ExitSites, GeneratedCode, Path, PathProfiler, PrefetchedTable, Suspension,
};

use crate::build_error::BuildError;

/// Compiles a program.
pub(crate) fn compile(pipeline: &Pipeline) -> Result<CompiledPipeline, BuildError> {
    Ok(hopwright_jit::compile(pipeline, &hopwright_jit::Options::default())?)
}

/// Takes machine code that was made ahead; compiles the program if the code does not suit this machine.
///
/// # Safety
/// That of [`hopwright_jit::load`].
pub(crate) unsafe fn load(pipeline: &Pipeline, code: Ahead) -> Result<CompiledPipeline, BuildError> {
    // SAFETY: the caller's promise.
    match unsafe { hopwright_jit::load(pipeline, code) }? {
        Some(loaded) => Ok(loaded),
        None => compile(pipeline),
    }
}

/// The path profiler of a compiled program.
pub(crate) fn profiler(_: &CompiledPipeline, pipeline: &Pipeline) -> Result<PathProfiler, Unsupported> {
    PathProfiler::new(pipeline)
}

/// The trace IR of paths of a compiled program.
pub(crate) fn trace_ir_of(
    _: &CompiledPipeline,
    pipeline: &Pipeline,
    paths: &[Path],
    attributes: &[ExternAttributes],
) -> trace_ir::TraceIr {
    trace_ir::build::build(pipeline, paths, attributes)
}

impl From<Unsupported> for BuildError {
    fn from(Unsupported { span, message }: Unsupported) -> BuildError {
        BuildError::Unsupported { span, message }
    }
}
