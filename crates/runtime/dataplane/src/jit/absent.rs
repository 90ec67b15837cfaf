//! What stands in for the code generator in a build without it: [`compile`] refuses every program, and the other types have no
//! values. `hopwright-jit` describes them.

// No value is ever made.
#![allow(dead_code, missing_docs)]

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use hopwright_abi::{ExternAttributes, Interface, PauseLayout, RunBatch};
use hopwright_ir::{FieldList, Pipeline, SlotId, Span, TableId};

use crate::build_error::BuildError;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Never {}

#[derive(Clone, Debug)]
pub struct Ahead(Never);

#[derive(Debug)]
pub(crate) struct CompiledPipeline(Never);

#[derive(Clone, Copy)]
pub(crate) struct GeneratedCode<'a>(&'a Never);

#[derive(Debug)]
pub(crate) struct KeyPrefetcher {
    never: Never,
    pub tables: Vec<PrefetchedTable>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefetchedTable {
    never: Never,
    pub table: TableId,
    pub key_words: usize,
    pub uses: usize,
}

pub(crate) struct Suspension {
    never: Never,
    pub clone_ingress: Option<SlotId>,
    pub clone_egress: Option<SlotId>,
    pub resubmit: Option<SlotId>,
    pub recirculate: Option<SlotId>,
    pub truncate: Option<SlotId>,
    pub replicate: Option<SlotId>,
    pub whole_original: bool,
    pub record: PauseLayout,
    pub lists: Vec<FieldList>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path(Never);

#[derive(Debug)]
pub(crate) struct PathProfiler(Never);

#[derive(Debug)]
pub struct TraceCode(Never);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracePass(Never);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported(Never);

/// There are no traces, and no exits from them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExitSites(());

pub mod trace_ir {
    #[derive(Debug)]
    pub struct TraceIr(pub(super) super::Never);
}

pub(crate) fn compile(_: &Pipeline) -> Result<CompiledPipeline, BuildError> {
    Err(BuildError::NoMachineCode)
}

pub(crate) unsafe fn load(_: &Pipeline, code: Ahead) -> Result<CompiledPipeline, BuildError> {
    match code.0 {}
}

pub(crate) fn profiler(compiled: &CompiledPipeline, _: &Pipeline) -> Result<PathProfiler, Unsupported> {
    match compiled.0 {}
}

pub(crate) fn trace_ir_of(
    compiled: &CompiledPipeline,
    _: &Pipeline,
    _: &[Path],
    _: &[ExternAttributes],
) -> trace_ir::TraceIr {
    match compiled.0 {}
}

impl CompiledPipeline {
    pub(crate) fn run(&self) -> RunBatch {
        match self.0 {}
    }

    pub(crate) fn functions(&self) -> Vec<(&'static str, GeneratedCode<'_>)> {
        match self.0 {}
    }

    pub(crate) fn context_bytes(&self) -> usize {
        match self.0 {}
    }

    pub(crate) fn suspension(&self) -> Option<&Suspension> {
        match self.0 {}
    }

    pub(crate) fn key_prefetcher(&self) -> Option<&KeyPrefetcher> {
        match self.0 {}
    }

    pub(crate) fn interface(&self) -> &Interface {
        match self.0 {}
    }

    pub(crate) fn parsed_bytes(&self) -> usize {
        match self.0 {}
    }
}

impl<'a> GeneratedCode<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match *self.0 {}
    }

    pub(crate) fn lines(self) -> &'a [(Range<u32>, Span)] {
        match *self.0 {}
    }
}

impl KeyPrefetcher {
    pub(crate) fn run(&self) -> RunBatch {
        match self.never {}
    }
}

impl Suspension {
    pub(crate) fn reentry(&self) -> Option<RunBatch> {
        match self.never {}
    }

    pub(crate) fn parse(&self) -> Option<RunBatch> {
        match self.never {}
    }

    pub(crate) fn egress(&self) -> RunBatch {
        match self.never {}
    }
}

impl PathProfiler {
    pub(crate) fn run(&self) -> RunBatch {
        match self.0 {}
    }

    pub(crate) fn path(&self, _: &[u32]) -> Path {
        match self.0 {}
    }

    pub(crate) fn tree(&self, _: &Pipeline, _: &[(Path, usize)], _: &[Path]) -> String {
        match self.0 {}
    }
}

impl TraceCode {
    pub(crate) fn new(
        _: &Pipeline,
        compiled: &CompiledPipeline,
        _: &[Path],
        _: &[ExternAttributes],
        _: &[TracePass],
        _: &mut ExitSites,
    ) -> Result<Option<TraceCode>, Unsupported> {
        match compiled.0 {}
    }

    pub(crate) fn paths(&self) -> &[Path] {
        match self.0 {}
    }

    pub(crate) fn run(&self) -> RunBatch {
        match self.0 {}
    }

    pub(crate) fn code(&self) -> &[u8] {
        match self.0 {}
    }

    pub(crate) fn function(&self) -> GeneratedCode<'_> {
        match self.0 {}
    }

    pub(crate) fn compile_time(&self) -> Duration {
        match self.0 {}
    }
}

impl ExitSites {
    pub(crate) fn texts(&self) -> &[String] {
        &[]
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {}
    }
}

impl std::error::Error for Unsupported {}
