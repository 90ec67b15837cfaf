//! Applying tables: keys onto the stack, one call, the action's body in place.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::{ActionId, SlotId, Span, TableId, Type};

use crate::Unsupported;
use crate::abi::{ActionEntry, CounterCell, TableHandle};
use crate::function::{ActionContext, Gen};
use crate::stmt::Flow;

type Result<T> = std::result::Result<T, Unsupported>;

impl Gen<'_> {
    pub(crate) fn apply(
        &mut self,
        id: TableId,
        hit: Option<SlotId>,
        action_run: Option<SlotId>,
        span: Span,
    ) -> Result<Flow> {
        let table = &self.p[id];
        if table.implementation.is_some() {
            return Err(Unsupported::new(span, "a table with an action profile or selector"));
        }
        let mut key = Vec::new();
        let mut words = 0;
        for k in &table.keys {
            let count = k.expr.ty.width().div_ceil(64) as usize;
            let v = self.value(&k.expr)?;
            key.push((words, v[..count].to_vec()));
            words += count;
        }
        let buffer = self.key_buffer(words);
        for (at, v) in &key {
            self.store_limbs(buffer, *at, v);
        }
        let at = (id.index() * size_of::<TableHandle>()) as i32;
        let flags = self.flags.runtime;
        let lookup = self.b.ins().load(types::I64, flags, self.tables, at + offset_of!(TableHandle, lookup) as i32);
        let state = self.b.ins().load(types::I64, flags, self.tables, at + offset_of!(TableHandle, state) as i32);
        let call = self.b.ins().call_indirect(self.signatures.lookup, lookup, &[state, buffer]);
        let entry = self.b.inst_results(call)[0];

        // Idle timeouts are seen from whether the count grows.
        if table.direct_counter.is_some() || table.idle_timeout {
            self.count_directly(entry);
        }
        let flags = self.flags.entry;
        if let Some(slot) = hit {
            let v = self.b.ins().load(types::I32, flags, entry, offset_of!(ActionEntry, hit) as i32);
            let v = self.b.ins().uextend(types::I64, v);
            self.write(slot, &[v]);
        }
        let mut actions: Vec<ActionId> = table.actions.iter().map(|a| a.action).collect();
        if !actions.contains(&table.default_action.action) {
            actions.push(table.default_action.action);
        }
        actions.sort();
        actions.dedup();
        let run = self.b.ins().load(types::I32, flags, entry, offset_of!(ActionEntry, action) as i32);
        if let Some(slot) = action_run {
            let v = self.b.ins().uextend(types::I64, run);
            self.write(slot, &[v]);
        }
        let end = self.b.create_block();
        let before = self.writable.clone();
        let mut reached = false;
        let last = actions.len() - 1;
        for (i, &action) in actions.iter().enumerate() {
            // What is none of the table's actions is none of its entries: the data plane sees to that.
            let next = (i != last).then(|| {
                let (here, next) = (self.b.create_block(), self.b.create_block());
                let this = self.b.ins().icmp_imm_u(IntCC::Equal, run, i64::from(action.0));
                self.b.ins().brif(this, here, &[], next, &[]);
                self.enter(here);
                next
            });
            if self.action_body(action, entry)? == Flow::Next {
                self.b.ins().jump(end, &[]);
                reached = true;
            }
            if let Some(next) = next {
                self.enter(next);
                self.writable.clone_from(&before);
            }
        }
        Ok(self.finish(end, before, reached))
    }

    fn action_body(&mut self, id: ActionId, entry: Value) -> Result<Flow> {
        let action = &self.p[id];
        let mut at = size_of::<ActionEntry>() as i32;
        let mut params = Vec::new();
        for param in &action.params {
            if let Type::Varbit(_) = param.ty {
                return Err(Unsupported::new(action.span, "a varbit action parameter"));
            }
            let width = param.ty.width();
            params.push((at, width));
            at += 8 * width.div_ceil(64) as i32;
        }
        let outer = self.action.replace(ActionContext { entry, params });
        let flow = self.block(&action.body);
        self.action = outer;
        flow
    }

    /// As BMv2, every hit counts, whether or not the action says so.
    fn count_directly(&mut self, entry: Value) {
        let cell = self.b.ins().load(types::I64, self.flags.entry, entry, offset_of!(ActionEntry, counter) as i32);
        let (count, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cell, count, &[], end, &[]);
        self.enter(count);
        self.count(cell);
        self.b.ins().jump(end, &[]);
        self.enter(end);
    }

    /// One packet more in a counter cell.
    pub(crate) fn count(&mut self, cell: Value) {
        let flags = self.flags.cells;
        let (packets, bytes) = (offset_of!(CounterCell, packets) as i32, offset_of!(CounterCell, bytes) as i32);
        let n = self.b.ins().load(types::I64, flags, cell, packets);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.ins().store(flags, n, cell, packets);
        let length = self.packet_length();
        let n = self.b.ins().load(types::I64, flags, cell, bytes);
        let n = self.b.ins().iadd(n, length);
        self.b.ins().store(flags, n, cell, bytes);
    }
}
