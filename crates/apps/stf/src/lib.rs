//! Simple Test Framework files: table entries, packets in, packets expected.
//!
//! [`parse`] reads the syntax, [`resolve`] resolves names against a pipeline, and [`run`] runs a test on an [`Engine`]: the
//! reference interpreter, a data plane ([`DataPlaneEngine`]), or with the feature `reference` the typed program (`ReferenceEngine`).
//!
//! ```text
//! add ipv4_lpm hdr.ipv4.dst_addr:0x0a000000/8 forward(port:2)
//! packet 1 ffffffffffff 000000000001 0800 45...
//! expect 2 ffffffffffff **           0800 45... $
//! ```

mod compare;
mod data_plane;
mod engine;
#[cfg(feature = "reference")]
mod reference;
pub mod resolve;
mod runner;
pub mod script;

pub use data_plane::DataPlaneEngine;
pub use engine::{Engine, Processed};
#[cfg(feature = "reference")]
pub use reference::ReferenceEngine;
pub use runner::{Report, configure, run};
pub use script::{Script, parse};

/// Something wrong at a line of a test file.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct StfError {
    /// The file's name as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// As people read it: `main` prints its error in this way.
impl std::fmt::Debug for StfError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
