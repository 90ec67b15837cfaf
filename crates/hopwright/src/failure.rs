//! Why a command failed, and its exit status.

use std::fmt;

/// A failed command.
#[derive(Debug)]
pub enum Failure {
    /// Everything there is to say was printed.
    Reported,
    /// To be printed.
    Error(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Error(error.into())
    }
}

impl Failure {
    /// A message.
    pub fn message(text: impl fmt::Display) -> Failure {
        Failure::Error(anyhow::anyhow!("{text}"))
    }
}
