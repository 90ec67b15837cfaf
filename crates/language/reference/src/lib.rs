//! The P4-16 specification as a program: evaluates a typed program before anything is lowered.
//!
//! The other engines share a front end that lowers the typed program to the pipeline IR, and its mistakes are mistakes of all
//! of them. This one shares nothing with it. It is written from the text of P4-16 v1.2.5, whose sections the comments
//! name, and from the documents of the architectures; short and obvious code matters, speed does not. Where the language
//! leaves a choice, it follows `docs/v1model.md`, `docs/psa.md`, `docs/pna.md` and `docs/tofino.md`.
//!
//! [`Reference::new`] takes a program or says what it does not support, [`Reference::process`] takes a packet, and the other
//! methods are the control plane's.

mod bits;
mod blocks;
mod call;
mod checksum;
mod control;
mod entries;
mod externs;
mod machine;
mod meter;
mod number;
mod objects;
mod parser;
mod place;
mod pna;
mod psa;
mod random;
mod state;
mod statement;
mod support;
mod switch;
mod table;
mod tofino;
mod tofino_externs;
mod tofino_hash;
mod tofino_math;
mod tofino_registers;
mod v1model;
mod value;

use std::rc::Rc;
use std::sync::Arc;

use hopwright_sema::hir::TypedProgram;
use hopwright_source::{SourceMap, Span, stack};

pub use control::ControlError;
pub use entries::{ActionCall, Match, Target};
pub use machine::Digest;
pub use meter::Rates;
pub use objects::Count;
pub use state::{Replica, Session};

use state::State;

/// A program and its state.
#[derive(Clone, Debug)]
pub struct Reference {
    program: Rc<TypedProgram>,
    sources: Arc<SourceMap>,
    state: State,
}

/// Something that a program uses and this engine does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: the reference does not support {what}")]
pub struct Unsupported {
    /// What it is.
    pub what: String,
    /// Where it is in the source: file and line.
    pub location: String,
    /// The same as a span.
    pub span: Span,
}

/// What became of a packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Ports and whole packets, in order.
    pub sent: Vec<(u16, Vec<u8>)>,
    /// Messages to the control plane, in order.
    pub digests: Vec<Digest>,
    /// Why the packet or a copy of it was dropped, if that was a fault of the program: place and reason.
    pub fault: Option<String>,
    /// The error with which the packet was parsed first, as an index into the program's errors.
    pub parser_error: usize,
}

impl Reference {
    /// Takes a program in its initial state.
    ///
    /// # Errors
    /// All that is not supported.
    pub fn new(program: Rc<TypedProgram>, sources: Arc<SourceMap>) -> Result<Reference, Vec<Unsupported>> {
        let mut state = State::new(&program);
        let found = support::check(&program, &mut state);
        if !found.is_empty() {
            let unsupported =
                |(what, span): (String, Span)| Unsupported { what, location: sources.location(span).to_string(), span };
            return Err(found.into_iter().map(unsupported).collect());
        }
        Ok(Reference { program, sources, state })
    }

    /// Processes a packet that is received at a port at a time in microseconds.
    pub fn process(&mut self, port: u16, bytes: &[u8], now_us: u64) -> Output {
        // Nested expressions are evaluated by recursion.
        stack::with_room(|| match self.program.architecture().map(|a| a.name) {
            Some("pna") => pna::process(self, port, bytes, now_us),
            Some("psa") => psa::process(self, port, bytes, now_us),
            Some("tna" | "t2na") => tofino::process(self, port, bytes, now_us),
            _ => v1model::process(self, port, bytes, now_us),
        })
    }

    /// What a fault is to the caller: its place and reason.
    fn fault(&self, fault: &machine::Fault) -> String {
        format!("{}: {}", self.sources.location(fault.span), fault.message)
    }
}
