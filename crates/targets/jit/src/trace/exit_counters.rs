//! Counts side exits by the place of the guard: a packet that takes one passes a cold block that increments the place's number in
//! [`abi::Runtime::exit_sites`]. Guards that were coalesced count at the first of their places.

use std::collections::HashMap;
use std::mem::offset_of;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{Block, Function, InstBuilder, MemFlagsData, SourceLoc, Value, types};
use hopwright_abi as abi;
use hopwright_ir::{SourceMap, Span};

use crate::clif::cfg::successors;
use crate::trace::batch_splitting::TraceShape;

/// The places of a program at which packets take side exits, with their numbers. A place keeps its number when traces are compiled
/// again.
#[derive(Clone, Debug, Default)]
pub struct ExitSites {
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl ExitSites {
    /// The number of a place. 0 stands for places that are not known, or that came when there were too many.
    fn number(&mut self, sources: &SourceMap, span: Option<Span>) -> usize {
        if self.texts.is_empty() {
            self.texts.push("elsewhere".into());
        }
        let Some(text) = span.and_then(|span| sources.quote(span)) else { return 0 };
        if let Some(number) = self.numbers.get(&text) {
            return *number;
        }
        let number = self.texts.len();
        if number >= abi::MAX_EXIT_SITES {
            return 0;
        }
        self.texts.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    /// The places by number: file, line, and the line's text.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

/// The program's places, by the numbers that instructions carry.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub spans: &'a [Span],
    pub sources: &'a SourceMap,
}

impl Places<'_> {
    pub(crate) fn number(&self, sites: &mut ExitSites, at: SourceLoc) -> usize {
        let span = self.spans.get(at.bits() as usize).copied().filter(|_| !at.is_default());
        sites.number(self.sources, span)
    }
}

/// Runs the pass. `exit` is the block of side exits.
pub(crate) fn run(function: &mut Function, exit: Block, shape: &TraceShape, places: Places<'_>, sites: &mut ExitSites) {
    let Some(runtime) = shape.runtime_word else { return };
    let mut counting: HashMap<usize, Block> = HashMap::new();
    for block in function.layout.blocks().collect::<Vec<_>>() {
        let Some(last) = function.layout.last_inst(block).filter(|_| successors(function, block).contains(&exit))
        else {
            continue;
        };
        let site = places.number(sites, function.srcloc(last));
        let count = *counting.entry(site).or_insert_with(|| {
            let count = function.dfg.make_block();
            function.layout.append_block(count);
            function.layout.set_cold(count);
            let mut at = FuncCursor::new(function).at_bottom(count);
            let frame = at.ins().stack_addr(types::I64, shape.frame, runtime);
            let runtime = at.ins().load(types::I64, shape.flags.batch_words, frame, 0);
            let one = at.ins().iconst(types::I64, 1);
            add(&mut at, shape, runtime, site, one);
            at.ins().jump(exit, &[]);
            count
        });
        let dfg = &mut function.dfg;
        for to in dfg.insts[last].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables) {
            if to.block(&dfg.value_lists) == exit {
                to.set_block(count, &mut dfg.value_lists);
            }
        }
    }
}

/// Adds packets to a place's number.
pub(crate) fn add(at: &mut FuncCursor<'_>, shape: &TraceShape, runtime: Value, site: usize, packets: Value) {
    // This load must not be hoisted out of the loop over packets.
    let here = MemFlagsData::new().with_notrap().with_alias_region(shape.flags.runtime.alias_region());
    let numbers = at.ins().load(types::I64, here, runtime, offset_of!(abi::Runtime, exit_sites) as i32);
    let place = 8 * site as i32;
    let n = at.ins().load(types::I64, shape.flags.cells, numbers, place);
    let n = at.ins().iadd(n, packets);
    at.ins().store(shape.flags.cells, n, numbers, place);
}
