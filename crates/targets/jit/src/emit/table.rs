//! Applies tables: the action of the entry that was found ([`crate::emit::lookup`]) is inlined.

use std::mem::{offset_of, size_of};
use std::rc::Rc;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use hopwright_ir::{ActionId, ExternId, Param, SlotId, Span, StmtKind, Table, TableId, Type};

use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::point::{ActionContext, ParamPlace, Point, PointId, actions_of, sub};
use crate::emit::suspension_plan::EntryPoint;
use hopwright_abi::{ActionEntry, CounterCell, NO_ENTRY_INDEX, index_word, lead_words, meter_word};
use hopwright_abi::{ArgumentPlace, DataLayout};

type Result<T> = std::result::Result<T, Unsupported>;

/// Offset of one of [`lead_words`] from the entry.
pub(crate) fn lead_word(word: usize) -> usize {
    size_of::<ActionEntry>() + 8 * word
}

impl<'a> Emitter<'a> {
    pub(crate) fn apply(
        &mut self,
        id: TableId,
        hit: Option<SlotId>,
        action_run: Option<SlotId>,
        point_id: &PointId,
        then: &Point<'a>,
    ) -> Result<()> {
        let table = &self.p[id];
        let key = self.key(table)?;
        if self.entry == EntryPoint::KeyPrefetch {
            self.emit_key(id, &key, then);
            return Ok(());
        }
        let (entry, offset) = self.find_entry(id, &key);
        // If there are lead words, the entry used below may be a profile member's, with another address.
        let indirect = lead_words(table) > 0;
        let (entry, offset) =
            if indirect { (self.b.ins().iadd_imm_s(entry, i64::from(offset)), 0) } else { (entry, offset) };

        // The counter also serves to detect idle timeouts.
        if table.direct_counter.is_some() || table.idle_timeout {
            self.count_directly(entry, offset);
        }
        let color = self.measure_hit(id, entry, point_id);
        let found = entry;
        let entry = self.choose(id, entry)?;
        let flags = self.flags.entry;
        if let Some(slot) = hit {
            let v = self.b.ins().load(types::I32, flags, entry, offset + offset_of!(ActionEntry, hit) as i32);
            let v = self.b.ins().uextend(types::I64, v);
            self.write(slot, &[v]);
        }
        let run = self.b.ins().load(types::I32, flags, entry, offset + offset_of!(ActionEntry, action) as i32);
        if let Some(slot) = action_run {
            let v = self.b.ins().uextend(types::I64, run);
            self.write(slot, &[v]);
        }
        let variable = self.entry_variable(point_id, entry);
        let found = if found == entry { variable } else { self.entry_variable(&sub(point_id, 0), found) };
        let actions = actions_of(table);
        let before = self.flow.clone();
        for (k, &action) in actions.iter().enumerate() {
            if let Some(slot) = action_run {
                self.flow.set(slot, u64::from(action.0));
            }
            if let Some(slot) = hit
                && table.actions.iter().all(|a| a.action != action || a.default_only)
            {
                self.flow.set(slot, 0);
            }
            let point = self.action_body(id, action, (variable, found, offset, color), &sub(point_id, k + 1), then)?;
            let point = if self.is_failure(table, action) { point.cold() } else { point };
            let to = self.edge(&point);
            self.flow.clone_from(&before);
            // The data plane guarantees that entries have no other actions.
            if k + 1 == actions.len() {
                self.b.ins().jump(to, &[]);
            } else {
                let other = self.b.create_block();
                let this = self.b.ins().icmp_imm_u(IntCC::Equal, run, i64::from(action.0));
                self.b.ins().brif(this, to, &[], other, &[]);
                self.enter(other);
            }
        }
        Ok(())
    }

    /// A variable with an entry. Copies of an action's code must find the entry in the same one.
    fn entry_variable(&mut self, point_id: &PointId, entry: Value) -> Variable {
        let variable = match self.entries.get(point_id) {
            Some(v) => *v,
            None => {
                let v = self.b.declare_var(types::I64);
                self.entries.insert(point_id.clone(), v);
                v
            }
        };
        self.b.def_var(variable, entry);
        variable
    }

    /// Whether an action is a default action that only assigns constants.
    fn is_failure(&self, table: &Table, action: ActionId) -> bool {
        let body = &self.p[action].body;
        let says = |s: &hopwright_ir::Stmt| matches!(&s.kind, StmtKind::Assign(_, v) if v.as_const().is_some());
        let default_only = table.actions.iter().all(|a| a.action != action || a.default_only);
        default_only && action == table.default_action.action && !body.is_empty() && body.iter().all(says)
    }

    fn action_body(
        &mut self,
        table_id: TableId,
        id: ActionId,
        (entry, found, offset, color): (Variable, Variable, i32, Option<Variable>),
        prefix: &PointId,
        then: &Point<'a>,
    ) -> Result<Point<'a>> {
        let table = &self.p[table_id];
        let action = &self.p[id];
        if action.params.iter().any(|param| matches!(param.ty, Type::Varbit(_))) {
            return Err(Unsupported::new(action.span, "a varbit action parameter"));
        }
        let data = offset + lead_word(lead_words(table)) as i32;
        let layout = DataLayout::of(action);
        let place = |(param, place): (&Param, &ArgumentPlace)| ParamPlace {
            at: data + place.at as i32,
            bytes: place.bytes,
            width: param.ty.width(),
        };
        let params: Vec<ParamPlace> = action.params.iter().zip(layout.numbers()).map(place).collect();
        let mut context = (*self.context).clone();
        let found = (found, offset);
        context.action = Some(ActionContext { entry, params: params.into(), color, table: table_id, found });
        Ok(Point::stmts(prefix.clone(), &action.body, then, &Rc::new(context)))
    }

    /// A data parameter of the action that runs.
    pub(crate) fn param(&mut self, index: u32, span: Span) -> Result<Vec<Value>> {
        let Some(action) = self.context.action.clone() else {
            return Err(Unsupported::new(span, "an action parameter linkage of an action"));
        };
        let ParamPlace { at, bytes, width } = action.params[index as usize];
        if width == 0 {
            return Ok(vec![self.c64(0)]);
        }
        let entry = self.b.use_var(action.entry);
        let flags = self.flags.entry;
        let limbs: Vec<Value> = match bytes {
            1 => vec![self.b.ins().uload8(types::I64, flags, entry, at)],
            2 => vec![self.b.ins().uload16(types::I64, flags, entry, at)],
            4 => vec![self.b.ins().uload32(flags, entry, at)],
            _ => (at..at + bytes as i32).step_by(8).map(|at| self.b.ins().load(types::I64, flags, entry, at)).collect(),
        };
        if let ([limb], 1..64) = (&limbs[..], width) {
            self.param_bounds.insert(*limb, (1 << width) - 1);
        }
        Ok(limbs)
    }

    /// Loads a word of the entry that was found in the table whose action runs, at this offset. `None` if `at` says so.
    fn of_found(&mut self, at: impl FnOnce(&Table) -> Option<usize>) -> Option<Value> {
        let ActionContext { table, found: (found, offset), .. } = self.context.action.as_ref()?;
        let (at, found) = (offset + at(&self.p[*table])? as i32, *found);
        let found = self.b.use_var(found);
        Some(self.b.ins().load(types::I64, self.flags.entry, found, at))
    }

    /// Writes the index of the entry whose action runs to a slot.
    pub(crate) fn entry_index(&mut self, to: SlotId) {
        let index = self.of_found(|table| index_word(table).map(lead_word));
        let index = index.unwrap_or_else(|| self.c64(NO_ENTRY_INDEX));
        let v = self.fit(vec![index], 32, to);
        self.write(to, &v);
    }

    /// `direct_meter.execute_bytes`.
    pub(crate) fn execute_directly(&mut self, meter: ExternId, bytes: Value, to: SlotId) {
        let address = self.of_found(|table| (table.direct_meter == Some(meter)).then(|| lead_word(meter_word(table))));
        let color = match address {
            Some(address) => self.measure(meter, address, bytes),
            None => self.c64(0),
        };
        let v = self.fit(vec![color], 64, to);
        self.write(to, &v);
    }

    /// `direct_counter.count_bytes`: corrects what the hit has counted.
    pub(crate) fn recount(&mut self, counter: ExternId, bytes: Value) {
        let at = |table: &Table| (table.direct_counter == Some(counter)).then_some(offset_of!(ActionEntry, counter));
        let Some(cell) = self.of_found(at) else { return };
        let length = self.packet_length();
        let (count, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cell, count, &[], end, &[]);
        self.enter(count);
        let (flags, at) = (self.flags.cells, offset_of!(CounterCell, bytes) as i32);
        let counted = self.b.ins().load(types::I64, flags, cell, at);
        let others = self.b.ins().isub(counted, length);
        let counted = self.b.ins().iadd(others, bytes);
        self.b.ins().store(flags, counted, cell, at);
        self.b.ins().jump(end, &[]);
        self.enter(end);
    }

    /// As in BMv2, every hit counts, whether or not the action calls `count`.
    fn count_directly(&mut self, entry: Value, offset: i32) {
        let at = offset + offset_of!(ActionEntry, counter) as i32;
        let cell = self.b.ins().load(types::I64, self.flags.entry, entry, at);
        self.count_if(cell);
    }

    /// Counts the packet in a cell, unless its address is null.
    pub(crate) fn count_if(&mut self, cell: Value) {
        let (count, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(cell, count, &[], end, &[]);
        self.enter(count);
        self.count(cell);
        self.b.ins().jump(end, &[]);
        self.enter(end);
    }

    /// Counts the packet in a cell.
    pub(crate) fn count(&mut self, cell: Value) {
        let length = self.packet_length();
        self.count_bytes(cell, length);
    }

    /// Counts a packet of this length in a cell.
    pub(crate) fn count_bytes(&mut self, cell: Value, length: Value) {
        let flags = self.flags.cells;
        let (packets, bytes) = (offset_of!(CounterCell, packets) as i32, offset_of!(CounterCell, bytes) as i32);
        let n = self.b.ins().load(types::I64, flags, cell, packets);
        let n = self.b.ins().iadd_imm_s(n, 1);
        self.b.ins().store(flags, n, cell, packets);
        let n = self.b.ins().load(types::I64, flags, cell, bytes);
        let n = self.b.ins().iadd(n, length);
        self.b.ins().store(flags, n, cell, bytes);
    }
}
