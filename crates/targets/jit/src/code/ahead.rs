//! Ahead-of-time compilation: machine code that other processes can load. It refers to external symbols by number and
//! lists the processor features it needs.

use cranelift_codegen::isa::TargetIsa;
use hopwright_ir::Pipeline;
use serde::{Deserialize, Serialize};

use crate::code::relocatable::{Functions, Relocatable};
use crate::code::target::{Architecture, TargetMachine};
use crate::compiler::Compiler;
use crate::{CompiledPipeline, Unsupported};

/// The code of a pipeline, for [`load`]. Serialisable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ahead {
    architecture: String,
    /// Names of the processor features that the code needs.
    features: Vec<String>,
    functions: Functions<Relocatable>,
}

/// Compiles a verified pipeline for recent machines of an architecture. The result is valid only for this pipeline
/// and this version of the compiler, so both belong in the same binary.
///
/// # Errors
/// As [`compile`](crate::compile), and if the architecture is not [available](Architecture::is_available).
pub fn compile_ahead(pipeline: &Pipeline, target: Architecture) -> Result<Ahead, Unsupported> {
    let compiler = Compiler::new(pipeline, TargetMachine::Portable(target))?;
    let functions = compiler.functions(None)?.map(|generated| Ok(generated.code))?;
    let isa = &*compiler.isa;
    Ok(Ahead { architecture: architecture(isa), features: features(isa), functions })
}

/// Loads code compiled ahead of time. `None` if this machine lacks a feature that the code needs.
///
/// # Errors
/// As [`compile`](crate::compile).
///
/// # Safety
/// The code must come from [`compile_ahead`] of this version of the compiler, with this pipeline.
pub unsafe fn load(pipeline: &Pipeline, ahead: Ahead) -> Result<Option<CompiledPipeline>, Unsupported> {
    let compiler = Compiler::new(pipeline, TargetMachine::Host)?;
    let there = features(&*compiler.isa);
    if ahead.architecture != architecture(&*compiler.isa) || !ahead.features.iter().all(|f| there.contains(f)) {
        return Ok(None);
    }
    let zeros = compiler.zeros.as_ptr() as u64;
    let failed = |message| Unsupported { span: pipeline.ingress.span, message };
    let functions = ahead.functions.map(|code| code.link(zeros).map_err(failed))?;
    Ok(Some(compiler.finish(functions)))
}

fn architecture(isa: &dyn TargetIsa) -> String {
    isa.triple().architecture.to_string()
}

fn features(isa: &dyn TargetIsa) -> Vec<String> {
    let flags = isa.isa_flags();
    flags.iter().filter(|flag| flag.as_bool() == Some(true)).map(|flag| flag.name.to_string()).collect()
}
