//! Compiles pipeline IR to machine code with Cranelift.
//!
//! [`compile`] generates one function of a whole pipeline, which runs parser, ingress, egress and deparser for each
//! packet of a batch:
//! - header fields are read and written in the packet; headers that were not extracted have bytes of their own in the stack
//!   frame; metadata and locals are SSA values;
//! - the deparser moves only headers that are not in place, and never the payload;
//! - lookups with short keys are inline; other lookups and named externs are calls through [`hopwright_abi::Runtime`].
//!
//! Besides this *generic function* there are
//! - functions that resume packets that the traffic manager has copied or that repeat processing ([`Suspension`]);
//! - a function that gathers the keys of a batch's lookups, for prefetching ([`KeyPrefetcher`]);
//! - a path profiler ([`PathProfiler`]), and *traces* made from its profile: straight-line code for the most frequent paths
//!   ([`TraceCode`]), which takes a side exit to the generic function when a packet leaves these paths.
//!
//! [`trace_ir`] is a representation of learned paths for people and for passes.
//!
//! The reference interpreter in `hopwright-ir` defines the meaning; all functions agree with it.

mod clif;
mod code;
mod compiled;
mod compiler;
mod emit;
mod key_prefetch;
mod trace;
pub mod trace_ir;

use hopwright_ir::Span;

pub use code::ahead::{Ahead, compile_ahead, load};
pub use code::target::Architecture;
pub use compiled::{CompiledPipeline, GeneratedCode, Suspension};
pub use compiler::compile;
pub use key_prefetch::{KeyPrefetcher, PrefetchedTable};
pub use trace::code::{PathProfiler, TraceCode};
pub use trace::exit_counters::ExitSites;
pub use trace::mode::Path;
pub use trace::passes::TracePass;

/// A part of a program that the code generator does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unsupported {
    /// The place in the source.
    pub span: Span,
    /// What is unsupported, as a noun phrase or a sentence.
    pub message: String,
}

impl Unsupported {
    pub(crate) fn new(span: Span, what: impl AsRef<str>) -> Unsupported {
        Unsupported { span, message: format!("{} is not supported yet by the machine-code engine", what.as_ref()) }
    }
}

/// Options of [`compile`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep the texts for [`CompiledPipeline::clif`] and [`CompiledPipeline::disassembly`].
    pub keep_text: bool,
}
