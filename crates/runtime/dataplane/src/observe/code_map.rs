//! Which P4 text machine code was generated for, by address.

use std::ops::Range;

use hopwright_ir::Span;

use crate::jit::GeneratedCode;
use crate::vdp::{Engine, VirtualDataPlane};

/// The functions of a program that run as machine code, and what their parts were generated for. A copy, as of when it was made: traces
/// that are compiled later are not in it.
#[derive(Clone, Debug, Default)]
pub struct CodeMap(Vec<Function>);

#[derive(Clone, Debug)]
struct Function {
    name: &'static str,
    addresses: Range<u64>,
    /// Offsets, in order.
    lines: Vec<(Range<u32>, Span)>,
}

/// What is at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// `traces`, `generic`, `egress`, …
    pub function: &'static str,
    /// What it was generated for; `None` for what belongs to no statement, such as the loop over packets.
    pub span: Option<Span>,
}

impl VirtualDataPlane {
    /// The program's machine code by address. Empty for other engines. Code that was made ahead of time has no spans.
    pub fn code_map(&self) -> CodeMap {
        let Engine::Jit(program) = self.engine() else { return CodeMap::default() };
        let mut functions: Vec<Function> =
            program.functions().into_iter().map(|(name, code)| Function::of(name, code)).collect();
        let mut reader = self.control().domain().reader();
        let guard = reader.enter();
        functions.extend(self.traces().current(&guard).map(|code| Function::of("traces", code.function())));
        CodeMap(functions)
    }
}

impl Function {
    fn of(name: &'static str, code: GeneratedCode<'_>) -> Function {
        let start = code.bytes().as_ptr() as u64;
        Function { name, addresses: start..start + code.bytes().len() as u64, lines: code.lines().to_vec() }
    }
}

impl CodeMap {
    /// What is at an address; `None` outside the program's functions.
    pub fn find(&self, address: u64) -> Option<CodePlace> {
        let Function { name, addresses, lines } = self.0.iter().find(|it| it.addresses.contains(&address))?;
        let offset = (address - addresses.start) as u32;
        let line = lines.get(lines.partition_point(|(range, _)| range.end <= offset));
        let span = line.filter(|(range, span)| range.contains(&offset) && *span != Span::none()).map(|(_, span)| *span);
        Some(CodePlace { function: name, span })
    }
}
