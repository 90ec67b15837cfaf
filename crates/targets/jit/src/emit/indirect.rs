//! Action profiles, selectors and meters: calls of the data plane.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Variable;
use hopwright_ir::{Expr, ExternId, ExternKind, SlotId, Table, TableId};

use crate::Unsupported;
use crate::code::libcalls::{self, Libcall};
use crate::emit::Emitter;
use crate::emit::point::PointId;
use crate::emit::table::lead_word;
use hopwright_abi::{ExternHandle, METER_COLOR, METER_EXECUTE, NO_METER, meter_word};

type Result<T> = std::result::Result<T, Unsupported>;

/// The choice of a profile's member for an entry.
pub(crate) struct Choice {
    choice: Value,
    /// Receives the entry.
    end: Block,
}

impl Emitter<'_> {
    /// Selects the entry of a profile member for an entry of a table with an action profile; the default entry if there
    /// is no member.
    pub(crate) fn choose(&mut self, id: TableId, entry: Value) -> Result<Value> {
        let table = &self.p[id];
        let Some(profile) = table.implementation else { return Ok(entry) };
        let choice = self.begin_choice(entry);
        let before = self.flow.clone();
        let hash = self.selector_hash(table, profile)?;
        let chosen = self.end_choice(id, profile, choice, hash);
        self.flow.meet(&before);
        Ok(chosen)
    }

    /// Begins the code that selects a member, if the entry says so, up to [`Emitter::end_choice`].
    pub(crate) fn begin_choice(&mut self, entry: Value) -> Choice {
        let choice = self.b.ins().load(types::I64, self.flags.entry, entry, lead_word(0) as i32);
        let (pick, end) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(end, types::I64);
        self.b.ins().brif(choice, pick, &[], end, &[entry.into()]);
        self.enter(pick);
        Choice { choice, end }
    }

    /// Selects a member by a hash. Returns its entry, or the entry that is none of a member.
    pub(crate) fn end_choice(&mut self, id: TableId, profile: ExternId, choice: Choice, hash: Value) -> Value {
        let Choice { choice, end } = choice;
        let member = self.call_object(profile, 0, &[choice, hash]);
        let default = self.default_entry(id);
        let member = self.b.ins().select(member, member, default);
        self.b.ins().jump(end, &[member.into()]);
        self.enter(end);
        self.b.block_params(end)[0]
    }

    fn selector_hash(&mut self, table: &Table, profile: ExternId) -> Result<Value> {
        let keys: Vec<Expr> = table.selector_keys().map(|k| k.expr.clone()).collect();
        match self.p[profile].kind {
            ExternKind::ActionSelector { algorithm, .. } if keys.is_empty() => {
                Ok(self.c64(hopwright_ir::hash::hash(algorithm, &[])))
            }
            ExternKind::ActionSelector { algorithm, .. } => {
                let (address, length) = self.pack(&keys)?;
                let which = self.c64(libcalls::algorithm_code(algorithm));
                let hash = self.libcall(Libcall::Hash, &[which, address, length], true);
                Ok(hash.unwrap_or(address))
            }
            _ => Ok(self.c64(0)),
        }
    }

    /// Executes the direct meter of the entry that was found, unless actions do. The variable holds the colour.
    pub(crate) fn measure_hit(&mut self, id: TableId, entry: Value, point_id: &PointId) -> Option<Variable> {
        let table = &self.p[id];
        let object = table.direct_meter.filter(|_| self.p.measures_hits(id))?;
        let meter = self.b.ins().load(types::I64, self.flags.entry, entry, lead_word(meter_word(table)) as i32);
        let bytes = self.packet_length();
        let color = self.measure(object, meter, bytes);
        // As with entries, all copies of the code use the same variable.
        let variable = match self.colors.get(point_id) {
            Some(v) => *v,
            None => {
                let v = self.b.declare_var(types::I64);
                self.colors.insert(point_id.clone(), v);
                v
            }
        };
        self.b.def_var(variable, color);
        Some(variable)
    }

    /// `direct_meter.read`: the colour from the table's application; green outside of the table's actions.
    pub(crate) fn read_direct_meter(&mut self, to: SlotId) {
        let color = match self.context.action.as_ref().and_then(|a| a.color) {
            Some(color) => self.b.use_var(color),
            None => self.c64(0),
        };
        let v = self.fit(vec![color], 64, to);
        self.write(to, &v);
    }

    /// `meter.execute_meter`: an index out of range changes nothing.
    pub(crate) fn execute_meter(&mut self, id: ExternId, index: &Expr, bytes: Value, to: SlotId) -> Result<()> {
        let index = self.value(index)?[0];
        let color = self.measure(id, index, bytes);
        let old = self.read(to);
        let new = self.fit(vec![color], 64, to);
        let beyond = self.b.ins().icmp_imm_u(IntCC::Equal, color, NO_METER as i64);
        let v: Vec<Value> = new.iter().zip(old).map(|(n, o)| self.b.ins().select(beyond, o, *n)).collect();
        self.write(to, &v);
        Ok(())
    }

    pub(crate) fn measure(&mut self, meter: ExternId, which: Value, bytes: Value) -> Value {
        let now = self.now();
        self.call_object(meter, METER_EXECUTE, &[which, now, bytes])
    }

    /// The colour that a meter would give the packet.
    pub(crate) fn color(&mut self, meter: ExternId, which: Value) -> Value {
        let (now, bytes) = (self.now(), self.packet_length());
        self.call_object(meter, METER_COLOR, &[which, now, bytes])
    }

    /// Charges the packet to an entry's meter, unless its address is null.
    pub(crate) fn charge(&mut self, meter: ExternId, address: Value) {
        let (charge, end) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(address, charge, &[], end, &[]);
        self.enter(charge);
        let bytes = self.packet_length();
        self.measure(meter, address, bytes);
        self.b.ins().jump(end, &[]);
        self.enter(end);
    }

    /// Calls a method of an object and returns its first word.
    fn call_object(&mut self, id: ExternId, method: u32, args: &[Value]) -> Value {
        let buffer = self.key_buffer(args.len());
        for (at, v) in args.iter().enumerate() {
            self.store_limbs(buffer, at, &[*v]);
        }
        let at = (id.index() * size_of::<ExternHandle>()) as i32;
        let flags = self.flags.runtime;
        let state = self.b.ins().load(types::I64, flags, self.externs, at + offset_of!(ExternHandle, state) as i32);
        let callee = self.b.ins().load(types::I64, flags, self.externs, at + offset_of!(ExternHandle, call) as i32);
        let method = self.b.ins().iconst(types::I32, i64::from(method));
        self.b.ins().call_indirect(self.signatures.method, callee, &[state, method, buffer]);
        self.b.ins().load(types::I64, self.flags.stack, buffer, 0)
    }
}
