//! What runs programs.

use std::sync::Arc;

use hopwright_dataplane::packet::PoolError;
use hopwright_dataplane::{EngineKind, VirtualDataPlane};

use crate::{Program, dataplane};

/// What runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// Machine code if this build has the feature `jit` and the code generator supports the program, else the interpreter.
    #[default]
    Auto,
    /// Machine code. It needs the feature `jit`.
    Jit,
    /// The interpreter: the meaning of programs, and much slower.
    Interpreter,
}

/// Why a program does not run.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The engine does not support a part of the program.
    #[error("{place}: {message}")]
    Unsupported {
        /// Where: `l2.p4:31:5`.
        place: String,
        /// What.
        message: String,
    },
    /// The program cannot run on packets: an extern type has no implementation, or a header is not made of whole bytes.
    #[error("{0}")]
    Program(String),
    /// [`Engine::Jit`] was asked for in a build without the feature `jit`.
    #[error("this build has no machine-code engine: it needs the feature `jit` of hopwright")]
    NoMachineCode,
    /// There is no memory for packets.
    #[error(transparent)]
    Memory(#[from] PoolError),
}

debug_is_display!(BuildError);

impl Engine {
    /// Starts a program with empty tables.
    pub(crate) fn start(self, program: &Program) -> Result<Arc<VirtualDataPlane>, BuildError> {
        let start = |kind| VirtualDataPlane::with_externs(program.pipeline.clone(), kind, &program.externs);
        let started = match self {
            Engine::Jit => start(EngineKind::Jit),
            Engine::Interpreter => start(EngineKind::Interp),
            Engine::Auto => VirtualDataPlane::automatic(program.pipeline.clone(), &program.externs).map(|(vdp, _)| vdp),
        };
        started.map_err(|error| match error {
            dataplane::BuildError::Unsupported { span, message } => {
                BuildError::Unsupported { place: program.pipeline.sources.location(span).to_string(), message }
            }
            dataplane::BuildError::NoMachineCode => BuildError::NoMachineCode,
            other => BuildError::Program(other.to_string()),
        })
    }
}
