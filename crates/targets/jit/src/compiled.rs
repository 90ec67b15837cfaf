//! A compiled pipeline: its functions and what a caller must know about them.

use std::ops::Range;
use std::time::Duration;

use hopwright_abi::{Interface, PauseLayout, RunBatch};
use hopwright_ir::{FieldList, SlotId, Span};

use crate::code::memory::Code;
use crate::key_prefetch::KeyPrefetcher;

/// A pipeline as machine code. Owns the code: the functions must not be called after it is dropped.
pub struct CompiledPipeline {
    pub(crate) code: Code,
    pub(crate) suspension: Option<Suspension>,
    pub(crate) key_prefetcher: Option<KeyPrefetcher>,
    /// Zeros that code reads instead of headers without bytes. The code contains the address.
    pub(crate) _zeros: Box<[u64]>,
    pub(crate) interface: Interface,
    pub(crate) parsed_bytes: usize,
    pub(crate) clif: Option<String>,
    pub(crate) disassembly: Option<String>,
    pub(crate) compile_time: Duration,
}

impl CompiledPipeline {
    /// The generic function.
    ///
    /// The caller guarantees that the runtime has
    /// - a handle for every table, extern and value set of the pipeline, and for every function of
    ///   [`CompiledPipeline::interface`];
    /// - a `call` for digests, if the interface has any, and in the handles of named externs;
    /// - as many cells in the handles of counters and registers as the program declares.
    ///
    /// Every entry that a lookup returns must have an action of its table and all parameters of that action.
    pub fn run(&self) -> RunBatch {
        self.code.entry()
    }

    /// The minimum size of [`hopwright_abi::Runtime::context`] in bytes.
    pub fn context_bytes(&self) -> usize {
        self.suspension.as_ref().map_or(0, |s| 8 * s.record.words())
    }

    /// What the traffic manager needs; `None` if the program does not copy or repeat packets.
    pub fn suspension(&self) -> Option<&Suspension> {
        self.suspension.as_ref()
    }

    /// The function that computes keys, if the program looks up packet fields in large tables.
    pub fn key_prefetcher(&self) -> Option<&KeyPrefetcher> {
        self.key_prefetcher.as_ref()
    }

    /// The externs that the code calls by name.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The number of leading bytes of a packet that the parser may extract as headers of fixed size.
    pub fn parsed_bytes(&self) -> usize {
        self.parsed_bytes
    }

    /// The generic function's machine code.
    pub fn code(&self) -> &[u8] {
        self.code.bytes()
    }

    /// Ranges of [`CompiledPipeline::code`], in order, with the statement that each was generated for. Ranges that
    /// belong to no statement are missing.
    pub fn lines(&self) -> &[(Range<u32>, Span)] {
        self.code.lines()
    }

    /// All functions with what they are for.
    pub fn functions(&self) -> Vec<(&'static str, GeneratedCode<'_>)> {
        let mut functions = vec![("generic", GeneratedCode(&self.code))];
        if let Some(Suspension { reentry, parse, egress, .. }) = &self.suspension {
            functions.extend(reentry.iter().map(|code| ("reentry", GeneratedCode(code))));
            functions.extend(parse.iter().map(|code| ("parse", GeneratedCode(code))));
            functions.push(("egress", GeneratedCode(egress)));
        }
        functions.extend(self.key_prefetcher.iter().map(|it| ("key prefetch", GeneratedCode(&it.code))));
        functions
    }

    /// The generic function in Cranelift's intermediate form, if [`crate::Options::keep_text`] was set.
    pub fn clif(&self) -> Option<&str> {
        self.clif.as_deref()
    }

    /// The generic function as assembly, if [`crate::Options::keep_text`] was set.
    pub fn disassembly(&self) -> Option<&str> {
        self.disassembly.as_deref()
    }

    /// Time that compiling took.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }
}

impl std::fmt::Debug for CompiledPipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledPipeline")
            .field("code_bytes", &self.code.bytes().len())
            .field("interface", &self.interface)
            .field("compile_time", &self.compile_time)
            .finish_non_exhaustive()
    }
}

/// A generated function.
#[derive(Clone, Copy)]
pub struct GeneratedCode<'a>(pub(crate) &'a Code);

impl<'a> GeneratedCode<'a> {
    /// The machine code, where it runs.
    pub fn bytes(self) -> &'a [u8] {
        self.0.bytes()
    }

    /// As [`CompiledPipeline::lines`].
    pub fn lines(self) -> &'a [(Range<u32>, Span)] {
        self.0.lines()
    }
}

/// How paused packets are resumed: the request slots, and a function for each entry point. The functions are called
/// like [`CompiledPipeline::run`], with the same runtime, one packet at a time.
///
/// A request slot is zero if there is no request of its kind.
pub struct Suspension {
    pub(crate) reentry: Option<Code>,
    pub(crate) parse: Option<Code>,
    pub(crate) egress: Code,
    /// Upper half: the field list, see [`hopwright_abi::decode_list`]; lower half: the session.
    pub clone_ingress: Option<SlotId>,
    /// As `clone_ingress`.
    pub clone_egress: Option<SlotId>,
    /// See [`hopwright_abi::decode_list`].
    pub resubmit: Option<SlotId>,
    /// See [`hopwright_abi::decode_list`].
    pub recirculate: Option<SlotId>,
    /// Upper half: 1; lower half: the maximum length to send in bytes.
    pub truncate: Option<SlotId>,
    /// Upper half: 1; lower half: where a packet of a group goes besides, see [`hopwright_ir::ExternFn::Replicate`].
    pub replicate: Option<SlotId>,
    /// If set, [`hopwright_abi::Runtime::original`] holds the whole packet as received when ingress ends; otherwise
    /// only the bytes in front of the payload.
    pub whole_original: bool,
    /// The layout of a paused packet's record.
    pub record: PauseLayout,
    /// The slots that copies and repeated packets preserve, by field list.
    pub lists: Vec<FieldList>,
}

impl Suspension {
    /// The function for resubmitted and recirculated packets, which runs the whole pipeline. It reads the ingress port,
    /// the instance type and the slots of all field lists from the record in [`hopwright_abi::Runtime::context`].
    pub fn reentry(&self) -> Option<RunBatch> {
        self.reentry.as_ref().map(Code::entry)
    }

    /// The function for clones of ingress: runs the parser and the checksum verification, then pauses. It reads the
    /// record like [`Suspension::reentry`].
    pub fn parse(&self) -> Option<RunBatch> {
        self.parse.as_ref().map(Code::entry)
    }

    /// The function for egress and everything after it. It reads and changes the record in
    /// [`hopwright_abi::Runtime::context`], which includes the headers. The packet's bytes are the payload; the headers
    /// are written in front of it.
    pub fn egress(&self) -> RunBatch {
        self.egress.entry()
    }
}
