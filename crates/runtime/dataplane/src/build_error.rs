//! Why a program cannot run.

use hopwright_ir::{Pipeline, Span};

/// Why a program cannot run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Part of the program that this data plane or its engine does not support, or that makes no sense.
    #[error("{0}")]
    Program(String),
    /// A place in the program that the engine cannot run.
    #[error("{message}")]
    Unsupported {
        /// Where.
        span: Span,
        /// What.
        message: String,
    },
    /// Machine code is wanted of a build without the code generator.
    #[error("this build has no machine-code engine: it was built without the feature `jit`")]
    NoMachineCode,
}

impl BuildError {
    /// The error with its place in the program.
    pub fn text(&self, pipeline: &Pipeline) -> String {
        match self {
            BuildError::Unsupported { span, message } => format!("{}: {message}", pipeline.sources.location(*span)),
            other => other.to_string(),
        }
    }
}
