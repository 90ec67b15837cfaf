//! The kinds of memory that generated code accesses.
//!
//! Each kind is an alias region of its own. Cranelift assumes that accesses of different regions never overlap, and
//! forbids accesses of one place through two regions. Every load and store has the flags of its kind; [`disagreement`]
//! checks this.

use std::collections::HashMap;

use cranelift_codegen::ir::{
    AliasRegion, AliasRegionData, DataFlowGraph, Function, Inst, InstructionData, MemFlagsData, StackSlot, Value,
    ValueDef,
};

/// The number of regions that the packet's words in the frame are distributed over. A store of one word then
/// invalidates few others in Cranelift's alias analysis.
const WORD_REGIONS: usize = 8;

/// Flags of memory accesses by kind of memory. None of the accesses traps.
#[derive(Clone, Copy)]
pub(crate) struct MemoryKinds {
    /// Header bytes: in packets, in images in the stack frame, and the zeros that stand for absent headers.
    pub packet: MemFlagsData,
    /// [`hopwright_abi::Packet`]s.
    pub descriptor: MemFlagsData,
    /// Words of paused packets ([`hopwright_abi::PauseLayout`]).
    pub record: MemFlagsData,
    /// [`hopwright_abi::Runtime`] and its handles, constant during a batch.
    pub runtime: MemFlagsData,
    /// Tables' entries and lookup structures. They are constant during a batch, but an entry's size depends on its
    /// action: its data must not be read before the action is known.
    pub entry: MemFlagsData,
    /// Entries' data in traces, where the action is known. The same region as `entry`, but loads may be moved.
    pub entry_data: MemFlagsData,
    /// Counters, registers and other words that only this worker writes.
    pub cells: MemFlagsData,
    /// Buffers in the stack frame: keys, arguments of calls, batches of blocks.
    pub stack: MemFlagsData,
    /// The table of headers in the stack frame.
    pub headers: MemFlagsData,
    /// Words of the frame that are written only before the first packet.
    pub batch_words: MemFlagsData,
    packet_words: [MemFlagsData; WORD_REGIONS],
}

impl MemoryKinds {
    /// Declares the regions in a function.
    pub(crate) fn new(function: &mut Function) -> MemoryKinds {
        let mut id = 0;
        let mut region = |name: &'static str| {
            let data = AliasRegionData { user_id: id, description: name.into() };
            id += 1;
            MemFlagsData::new().with_notrap().with_alias_region(Some(function.dfg.alias_regions.insert(data)))
        };
        let entry = region("entry");
        MemoryKinds {
            packet: region("packet"),
            descriptor: region("descriptor"),
            record: region("record"),
            runtime: region("runtime").with_readonly().with_can_move(),
            entry,
            entry_data: entry.with_readonly().with_can_move(),
            cells: region("cells"),
            stack: region("stack"),
            headers: region("headers"),
            batch_words: region("batch words"),
            packet_words: [(); WORD_REGIONS].map(|()| region("packet words")),
        }
    }

    /// The flags of a packet's word of the frame at an offset.
    pub(crate) fn packet_word(&self, at: i32) -> MemFlagsData {
        self.packet_words[at as usize / 8 % WORD_REGIONS]
    }

    /// Whether a region is that of words of the frame.
    pub(crate) fn is_frame(&self, region: Option<AliasRegion>) -> bool {
        let mut words = self.packet_words.iter().chain([&self.batch_words]);
        region.is_some() && words.any(|flags| flags.alias_region() == region)
    }
}

/// The region that an instruction accesses, if it accesses any.
pub(crate) fn region_of(dfg: &DataFlowGraph, inst: Inst) -> Option<AliasRegion> {
    dfg.insts[inst].memflags_data(dfg)?.alias_region()
}

/// The base that an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Base {
    Slot(StackSlot),
    Value(Value),
}

/// Normalises an address and an offset: all addresses of the same byte of a stack slot have the same form.
pub(crate) fn place_of(dfg: &DataFlowGraph, address: Value, offset: i32) -> (Base, i32) {
    let address = dfg.resolve_aliases(address);
    if let ValueDef::Result(inst, 0) = dfg.value_def(address)
        && let InstructionData::StackAddr { stack_slot, offset: at, .. } = dfg.insts[inst]
    {
        return (Base::Slot(stack_slot), i32::from(at) + offset);
    }
    (Base::Value(address), offset)
}

/// Returns a description of a place that is accessed through two regions, or through none, if there is one. For
/// assertions. Places are compared by their address expressions.
pub(crate) fn disagreement(function: &Function) -> Option<String> {
    let dfg = &function.dfg;
    let mut regions: HashMap<(Base, i32), AliasRegion> = HashMap::new();
    for inst in function.layout.blocks().flat_map(|block| function.layout.block_insts(block)) {
        let (address, offset) = match dfg.insts[inst] {
            InstructionData::Load { arg, offset, .. } => (arg, offset),
            InstructionData::Store { args, offset, .. } => (args[1], offset),
            _ => continue,
        };
        let place = place_of(dfg, address, offset.into());
        let Some(region) = region_of(dfg, inst) else {
            return Some(format!("{} has no region", dfg.display_inst(inst)));
        };
        let known = *regions.entry(place).or_insert(region);
        if known != region {
            return Some(format!("{} accesses {known} by way of {region}", dfg.display_inst(inst)));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::cursor::{Cursor, FuncCursor};
    use cranelift_codegen::ir::{InstBuilder, StackSlotData, StackSlotKind, types};

    use super::*;

    #[test]
    fn a_place_accessed_by_way_of_two_regions_is_found() {
        let mut function = Function::new();
        let memory = MemoryKinds::new(&mut function);
        let slot = function.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 64, 3));
        let block = function.dfg.make_block();
        function.layout.append_block(block);
        let mut at = FuncCursor::new(&mut function).at_bottom(block);
        let first = at.ins().stack_addr(types::I64, slot, 0);
        let second = at.ins().stack_addr(types::I64, slot, 8);
        at.ins().store(memory.packet_word(8), first, first, 8);
        at.ins().load(types::I64, memory.packet_word(8), second, 0);
        assert_eq!(disagreement(&function), None);
        let mut at = FuncCursor::new(&mut function).at_bottom(block);
        at.ins().load(types::I64, memory.batch_words, second, 0);
        assert!(disagreement(&function).is_some_and(|text| text.contains("by way of")));
    }
}
