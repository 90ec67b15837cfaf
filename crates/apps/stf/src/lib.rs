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
pub mod counterexample;
mod data_plane;
mod engine;
mod error;
#[cfg(feature = "reference")]
mod reference;
pub mod resolve;
mod runner;
pub mod script;

pub use data_plane::{DataPlaneEngine, know_entries};
pub use engine::{Engine, Processed};
pub use error::{EngineError, StfError};
#[cfg(feature = "reference")]
pub use reference::ReferenceEngine;
pub use runner::{Report, configure, outputs, run};
pub use script::{Script, parse};
