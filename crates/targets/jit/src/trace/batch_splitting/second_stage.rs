//! The second stage of a split function: its own copies of blocks, and the values that it needs of the first one.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::dominator_tree::DominatorTree;
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::{Block, Inst, InstBuilder, InstructionData, Opcode, StackSlot, Value, ValueDef, types};

use super::{BEYOND, Connectors, PACKET, RECEIVED, RecordLayout, Second, Splitter, before};
use crate::clif::cfg::successors;
use crate::emit::memory::region_of;

impl Splitter<'_> {
    /// All blocks that are reachable from one before the next packet begins.
    fn reached(&self, from: Block) -> Vec<Block> {
        let ends = [self.shape.next_packet, self.shape.out];
        let mut reached = vec![from];
        let mut at = 0;
        while let Some(&block) = reached.get(at) {
            at += 1;
            for to in successors(&self.f, block) {
                if !ends.contains(&to) && !reached.contains(&to) {
                    reached.push(to);
                }
            }
        }
        reached
    }

    /// The blocks of the second stage. Blocks shared with the first stage are copied.
    pub(super) fn own_second_stage(&mut self) -> Option<Second> {
        let first = BTreeSet::from_iter(self.first.iter().copied());
        let mut second: BTreeSet<Block> = self.cuts.iter().flat_map(|cut| self.reached(cut.to)).collect();
        // Blocks on the first stage's side exits.
        let leaving = BTreeSet::from_iter(self.shape.exit.into_iter().flat_map(|exit| self.reached(exit)));
        let both: Vec<Block> = second.iter().copied().filter(|b| first.contains(b) || leaving.contains(b)).collect();
        let mut copies: BTreeMap<Block, Block> = BTreeMap::new();
        let mut values: HashMap<Value, Value> = HashMap::new();
        for &block in &both {
            let copy = self.f.dfg.make_block();
            self.f.layout.append_block(copy);
            if self.f.layout.is_cold(block) {
                self.f.layout.set_cold(copy);
            }
            copies.insert(block, copy);
            for param in self.f.dfg.block_params(block).to_vec() {
                let ty = self.f.dfg.value_type(param);
                values.insert(param, self.f.dfg.append_block_param(copy, ty));
            }
            for inst in self.f.layout.block_insts(block).collect::<Vec<_>>() {
                if matches!(self.f.dfg.insts[inst], InstructionData::BranchTable { .. }) {
                    return None;
                }
                let new = self.f.dfg.clone_inst(inst);
                self.f.layout.append_inst(new, copy);
                let pairs = self.f.dfg.inst_results(inst).iter().zip(self.f.dfg.inst_results(new));
                values.extend(pairs.map(|(old, new)| (*old, *new)));
            }
            second.remove(&block);
        }
        for copy in copies.values() {
            self.replace(*copy, &values);
            second.insert(*copy);
        }
        for &block in &second {
            self.redirect(block, &|to| copies.get(&to).copied().unwrap_or(to));
        }
        let mut owners: BTreeMap<Block, Vec<usize>> = BTreeMap::new();
        for (i, cut) in self.cuts.iter().enumerate() {
            for block in self.reached(cut.to) {
                owners.entry(block).or_default().push(i);
            }
        }
        let mut found = Second { of_cuts: vec![Vec::new(); self.cuts.len()], of_all: Vec::new(), exit: None };
        for (block, owners) in owners {
            match owners[..] {
                [one] => found.of_cuts[one].push(block),
                _ => found.of_all.push(block),
            }
        }
        found.exit = self.shape.exit.and_then(|exit| copies.get(&exit).copied());
        Some(found)
    }

    /// Replaces values in a block.
    fn replace(&mut self, block: Block, values: &HashMap<Value, Value>) {
        for inst in self.f.layout.block_insts(block).collect::<Vec<_>>() {
            self.f.dfg.map_inst_values(inst, |v| values.get(&v).copied().unwrap_or(v));
        }
    }

    /// Replaces the targets of a block's branches.
    pub(super) fn redirect(&mut self, block: Block, to: &dyn Fn(Block) -> Block) {
        let Some(last) = self.f.layout.last_inst(block) else { return };
        let dfg = &mut self.f.dfg;
        let branches = dfg.insts[last].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
        for branch in branches {
            let target = to(branch.block(&dfg.value_lists));
            branch.set_block(target, &mut dfg.value_lists);
        }
    }

    /// The block that defines a value.
    fn home(&self, v: Value) -> Option<Block> {
        match self.f.dfg.value_def(v) {
            ValueDef::Result(inst, _) => self.f.layout.inst_block(inst),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Union(..) => None,
        }
    }

    /// For each cut, the values of the first stage that the second uses, in order of definition.
    pub(super) fn needs(&self, second: &Second) -> Option<Vec<Vec<Value>>> {
        let place = HashMap::<Block, usize>::from_iter(self.first.iter().enumerate().map(|(i, b)| (*b, i)));
        let step = HashMap::<Inst, usize>::from_iter(self.order.iter().enumerate().map(|(i, inst)| (*inst, i)));
        let used = |blocks: &[Block]| {
            let mut used = BTreeMap::new();
            for &block in blocks {
                for inst in self.f.layout.block_insts(block) {
                    for v in self.f.dfg.inst_values(inst) {
                        let Some(place) = self.home(v).and_then(|home| place.get(&home)) else { continue };
                        let step = match self.f.dfg.value_def(v) {
                            ValueDef::Result(inst, _) => step.get(&inst).map_or(0, |step| step + 1),
                            _ => 0,
                        };
                        used.insert((*place, step, v.as_u32()), v);
                    }
                }
            }
            used.into_values().collect::<Vec<Value>>()
        };
        used(&second.of_all).is_empty().then(|| second.of_cuts.iter().map(|blocks| used(blocks)).collect())
    }

    /// Whether both stages use memory of the stack frame other than packets' words and arguments.
    pub(super) fn shares_memory(&self, second: &Second) -> bool {
        let slots = |blocks: &[Block]| {
            let insts = blocks.iter().flat_map(|b| self.f.layout.block_insts(*b));
            let values = insts.flat_map(|inst| self.f.dfg.inst_values(inst));
            BTreeSet::from_iter(values.filter_map(|v| Some(self.slot_address(v)?.0)))
        };
        // Address computations that cannot be followed.
        let hidden = self.f.layout.blocks().flat_map(|b| self.f.layout.block_insts(b)).any(|inst| {
            let data = &self.f.dfg.insts[inst];
            let op = data.opcode();
            let follows = op.can_load() || op.can_store() || op.is_call() || op == Opcode::Iadd;
            !follows && self.f.dfg.inst_values(inst).any(|v| self.slot_address(v).is_some())
        });
        let (first, second) = (slots(&self.first), slots(&second.blocks()));
        let own = |slot: &&StackSlot| **slot == self.shape.frame || self.shape.arguments.contains(slot);
        hidden || first.intersection(&second).any(|slot| !own(&slot))
    }

    /// Redirects accesses of the packet's words of the frame to its record.
    pub(super) fn address_record(&mut self, block: Block, record: Value) -> Option<()> {
        for inst in self.f.layout.block_insts(block).collect::<Vec<_>>() {
            let frame = |v: &Value| self.slot_address(*v).is_some_and(|(slot, _)| slot == self.shape.frame);
            if !self.f.dfg.inst_values(inst).any(|v| frame(&v)) {
                continue;
            }
            let place = self.frame_place(inst).filter(|place| *place >= 0)?;
            if place == BEYOND || self.shape.batch_words.contains(&place) {
                continue;
            }
            match &mut self.f.dfg.insts[inst] {
                InstructionData::Load { arg, offset, .. } => (*arg, *offset) = (record, Offset32::new(place)),
                InstructionData::Store { args, offset, .. } => (args[1], *offset) = (record, Offset32::new(place)),
                _ => return None,
            }
        }
        Some(())
    }

    /// Size of a value in a record.
    fn bytes(&self, v: Value) -> i32 {
        self.f.dfg.value_type(v).bytes().next_multiple_of(8) as i32
    }

    /// Stores blocks before a cut, and loads them and live values behind it, or recomputes those. Adds the loads of live values,
    /// whose offsets are still to be set, to `saved`.
    pub(super) fn hand_over(
        &mut self,
        number: usize,
        blocks: &[Block],
        need: &[Value],
        record: &RecordLayout,
        around: &Connectors,
        saved: &mut BTreeMap<Value, BTreeMap<usize, Inst>>,
    ) {
        let stack = self.shape.flags.stack;
        let (from, to) = (self.cuts[number].from, self.cuts[number].to);
        let of_blocks = self.cuts[number].blocks.clone();
        let mut known = HashMap::from([(around.first_record, around.second_record)]);
        let first = self.f.layout.first_inst(to);

        let mut store = FuncCursor::new(&mut self.f).at_bottom(from);
        if self.cuts.len() > 1 {
            let number = store.ins().iconst(types::I64, number as i64);
            store.ins().store(stack, number, around.first_record, record.cut);
        }
        store.ins().store(stack, around.first_blocks, around.first_record, record.blocks);
        let place = before(&mut self.f, first, to).ins().load(types::I64, stack, around.second_record, record.blocks);
        for (i, [first_word, second_word, first_result, second_result]) in of_blocks.into_iter().enumerate() {
            for (half, given, result) in [(0, first_word, first_result), (8, second_word, second_result)] {
                let offset = 16 * i as i32 + half;
                FuncCursor::new(&mut self.f).at_bottom(from).ins().store(stack, given, around.first_blocks, offset);
                let result_now = before(&mut self.f, first, to).ins().load(types::I64, stack, place, offset);
                known.insert(result, result_now);
            }
        }
        for &v in need {
            if let Some(again) = self.rebuilt(v, &mut known, first, to) {
                known.insert(v, again);
                continue;
            }
            let ty = self.f.dfg.value_type(v);
            let loaded = before(&mut self.f, first, to).ins().load(ty, stack, around.second_record, 0);
            if let ValueDef::Result(load, _) = self.f.dfg.value_def(loaded) {
                saved.entry(v).or_default().insert(number, load);
            }
            known.insert(v, loaded);
        }
        for &block in blocks {
            self.replace(block, &known);
        }
    }

    /// Places values in records, from an offset on: two values may have the same place unless both are used behind one cut. Returns
    /// the offsets of the values and the size of a record.
    pub(super) fn allocate(
        &mut self,
        saved: &BTreeMap<Value, BTreeMap<usize, Inst>>,
        from: i32,
    ) -> (BTreeMap<Value, i32>, i32) {
        let mut free = vec![from; self.cuts.len()];
        let mut offsets = BTreeMap::new();
        for (&v, loads) in saved {
            let at = loads.keys().map(|cut| free[*cut]).max().unwrap_or(from);
            for (&cut, &load) in loads {
                free[cut] = at + self.bytes(v);
                if let InstructionData::Load { offset, .. } = &mut self.f.dfg.insts[load] {
                    *offset = Offset32::new(at);
                }
            }
            offsets.insert(v, at);
        }
        (offsets, free.into_iter().max().unwrap_or(from))
    }

    /// Stores values in the packet's record as soon as they are known, so that they do not occupy registers up to the cut: behind
    /// their definition, or in the first block that leads only to cuts behind which they are used.
    pub(super) fn save(
        &mut self,
        saved: &BTreeMap<Value, BTreeMap<usize, Inst>>,
        offsets: &BTreeMap<Value, i32>,
        record: Value,
    ) {
        let graph = ControlFlowGraph::with_function(&self.f);
        let dominators = DominatorTree::with_function(&self.f, &graph);
        // The cuts to which each block leads.
        let mut leads_to: HashMap<Block, BTreeSet<usize>> = HashMap::new();
        for (number, cut) in self.cuts.iter().enumerate() {
            let mut work = vec![cut.from];
            while let Some(block) = work.pop() {
                if leads_to.entry(block).or_default().insert(number) && block != self.shape.top {
                    work.extend(graph.pred_iter(block).map(|before| before.block));
                }
            }
        }
        for (&v, loads) in saved {
            let Some(home) = self.home(v) else { continue };
            let mut places = BTreeSet::new();
            for &cut in loads.keys() {
                let mut place = self.cuts[cut].from;
                let mut above = Some(place);
                while let Some(block) = above {
                    if leads_to.get(&block).is_some_and(|cuts| cuts.iter().all(|cut| loads.contains_key(cut))) {
                        place = block;
                    }
                    above = if block == home { None } else { dominators.idom(block) };
                }
                places.insert(place);
            }
            for block in places {
                let behind = match self.f.dfg.value_def(v) {
                    ValueDef::Result(inst, _) if block == home => self.f.layout.next_inst(inst),
                    _ => self.f.layout.first_inst(block),
                };
                let stack = self.shape.flags.stack;
                before(&mut self.f, behind, block).ins().store(stack, v, record, offsets[&v]);
            }
        }
    }

    /// Recomputes a value of the first stage behind a cut.
    fn rebuilt(
        &mut self,
        v: Value,
        known: &mut HashMap<Value, Value>,
        before: Option<Inst>,
        to: Block,
    ) -> Option<Value> {
        let ValueDef::Result(inst, 0) = self.f.dfg.value_def(v) else { return None };
        if !self.is_cheap(inst) {
            return None;
        }
        let mut parts = HashMap::new();
        for part in self.f.dfg.inst_values(inst).collect::<Vec<_>>() {
            let there = match known.get(&part) {
                Some(there) => *there,
                None if self.home(part).is_none_or(|home| !self.first.contains(&home)) => part,
                None if self.is_descriptor(part) => {
                    let again = self.rebuilt(part, known, before, to)?;
                    known.insert(part, again);
                    again
                }
                None => self.constant_again(part, before, to)?,
            };
            parts.insert(part, there);
        }
        let again = self.copy_to(inst, before, to);
        self.f.dfg.map_inst_values(again, |v| parts.get(&v).copied().unwrap_or(v));
        Some(self.f.dfg.first_result(again))
    }

    /// Whether a value is the address of the packet's descriptor, loaded from the record.
    fn is_descriptor(&self, v: Value) -> bool {
        let ValueDef::Result(inst, 0) = self.f.dfg.value_def(v) else { return false };
        let offset = self.f.dfg.insts[inst].load_store_offset();
        region_of(&self.f.dfg, inst) == self.shape.flags.packet_word(PACKET).alias_region() && offset == Some(PACKET)
    }

    fn constant_again(&mut self, v: Value, before: Option<Inst>, to: Block) -> Option<Value> {
        let ValueDef::Result(inst, 0) = self.f.dfg.value_def(v) else { return None };
        if self.f.dfg.insts[inst].opcode() != Opcode::Iconst {
            return None;
        }
        let again = self.copy_to(inst, before, to);
        Some(self.f.dfg.first_result(again))
    }

    fn copy_to(&mut self, inst: Inst, before: Option<Inst>, to: Block) -> Inst {
        let again = self.f.dfg.clone_inst(inst);
        match before {
            Some(before) => self.f.layout.insert_inst(again, before),
            None => self.f.layout.append_inst(again, to),
        }
        again
    }

    /// Whether recomputing a value costs no more than reloading it, and yields the same. Traces write to the packet
    /// only at their end.
    fn is_cheap(&self, inst: Inst) -> bool {
        let flags = &self.shape.flags;
        let data = &self.f.dfg.insts[inst];
        match data.opcode() {
            Opcode::Iconst | Opcode::Uextend | Opcode::Ireduce | Opcode::Iadd | Opcode::Isub => true,
            Opcode::Band | Opcode::Bor | Opcode::Bxor | Opcode::Ushr | Opcode::Ishl => true,
            op if op.can_load() && !op.can_store() && !op.is_call() => {
                let region = region_of(&self.f.dfg, inst);
                if region == flags.descriptor.alias_region() {
                    return data.load_store_offset().is_some_and(|at| RECEIVED.contains(&(at as usize)));
                }
                let constant = [flags.runtime, flags.entry, flags.packet];
                flags.is_frame(region) || region.is_some() && constant.iter().any(|kind| kind.alias_region() == region)
            }
            _ => false,
        }
    }
}
