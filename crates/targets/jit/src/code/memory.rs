//! Executable memory. This is the only module that turns bytes into a callable function.

use std::ops::Range;

use memmap2::{Mmap, MmapMut};
use wasmtime_internal_jit_icache_coherence::{clear_cache, pipeline_flush_mt};

use hopwright_abi::RunBatch;
use hopwright_ir::Span;

/// Machine code in read-and-execute pages, freed on drop.
pub(crate) struct Code {
    pages: Mmap,
    length: usize,
    lines: Vec<(Range<u32>, Span)>,
}

impl Code {
    /// Copies position-independent machine code into new pages.
    ///
    /// # Errors
    /// The operating system provides no pages, or refuses to make them executable.
    pub(crate) fn new(bytes: &[u8]) -> std::io::Result<Code> {
        let mut pages = MmapMut::map_anon(bytes.len().max(1))?;
        pages[..bytes.len()].copy_from_slice(bytes);
        // Instruction caches of Arm processors do not see what is written, and other threads may have fetched what lay at these
        // addresses before. On x86 both calls do nothing.
        // SAFETY: the range is that of the mapping.
        unsafe { clear_cache(pages.as_ptr().cast(), pages.len()) }.map_err(std::io::Error::other)?;
        let pages = pages.make_exec()?;
        pipeline_flush_mt().map_err(std::io::Error::other)?;
        Ok(Code { pages, length: bytes.len(), lines: Vec::new() })
    }

    /// The same code with its line table: ranges, in order, and what they were generated for.
    pub(crate) fn with_lines(self, lines: Vec<(Range<u32>, Span)>) -> Code {
        Code { lines, ..self }
    }

    /// The line table; empty for code that was made ahead of time.
    pub(crate) fn lines(&self) -> &[(Range<u32>, Span)] {
        &self.lines
    }

    /// The machine code.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.pages[..self.length]
    }

    /// The function at the beginning of the code. Valid while `self` lives.
    pub(crate) fn entry(&self) -> RunBatch {
        // SAFETY: the only code that creates a `Code` puts a function of exactly this signature and the C calling
        // convention at offset 0; the pages are mapped and executable.
        unsafe { std::mem::transmute::<*const u8, RunBatch>(self.pages.as_ptr()) }
    }

    /// What the function makes of some bytes, for tests: it must read no others, and return a number.
    #[cfg(test)]
    pub(crate) fn of_bytes(&self, bytes: &[u8; 32]) -> u64 {
        // SAFETY: such a function only reads the bytes that its first argument points to.
        unsafe { self.entry()(bytes.as_ptr().cast(), std::ptr::null_mut(), 0) as u64 }
    }
}
