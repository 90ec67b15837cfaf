//! Slots as variables of the generated code: reading, writing, and what they begin with.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_abi as abi;
use hopwright_ir::{HeaderId, SlotId, Type};

use super::{Emitter, Linkage, MAX_STEPS, Result};
use crate::emit::flow_state::{At, SuffixState};
use crate::emit::layout::Place;

impl Emitter<'_> {
    /// A slot's value; a `bool` as 0 or 1.
    pub(crate) fn read(&mut self, slot: SlotId) -> Vec<Value> {
        if self.p[slot].ty == Type::Bool {
            let v = self.read_bool(slot);
            return vec![self.b.ins().uextend(types::I64, v)];
        }
        if let Some(known) = self.flow.value(slot) {
            return vec![self.c64(known)];
        }
        if let Some((h, f)) = self.field_of(slot) {
            return self.field(h, f);
        }
        (0..self.slots[slot.index()].len()).map(|i| self.b.use_var(self.slots[slot.index()][i])).collect()
    }

    /// A `bool` slot's value as I8.
    pub(crate) fn read_bool(&mut self, slot: SlotId) -> Value {
        if let Some(known) = self.flow.value(slot) {
            return self.b.ins().iconst(types::I8, known as i64);
        }
        if let Some((h, f)) = self.field_of(slot) {
            let v = self.field(h, f);
            return self.b.ins().ireduce(types::I8, v[0]);
        }
        if let Place::Valid(h) = self.layout.places[slot.index()] {
            return self.is_valid(h);
        }
        let var = self.slots[slot.index()][0];
        self.b.use_var(var)
    }

    /// Address and length in bytes of a varbit that is no header field.
    pub(crate) fn read_varbit(&mut self, slot: SlotId) -> (Value, Value) {
        let (address, length) = (self.slots[slot.index()][0], self.slots[slot.index()][1]);
        (self.b.use_var(address), self.b.use_var(length))
    }

    /// Sets the address and length of a varbit that is no header field.
    pub(crate) fn write_varbit(&mut self, slot: SlotId, address: Value, length: Value) {
        let vars = self.slots[slot.index()].clone();
        self.b.def_var(vars[0], address);
        self.b.def_var(vars[1], length);
    }

    /// Sets a slot that is no varbit; a `bool` from 0 or 1.
    pub(crate) fn write(&mut self, slot: SlotId, value: &[Value]) {
        if self.p[slot].ty == Type::Bool {
            let v = self.b.ins().ireduce(types::I8, value[0]);
            self.write_bool(slot, v);
            return;
        }
        self.flow.forget(slot);
        if let Some((h, f)) = self.field_of(slot) {
            return self.write_field(h, f, value);
        }
        debug_assert_eq!(value.len(), self.slots[slot.index()].len(), "{}", self.p[slot].name);
        for (i, &v) in value.iter().enumerate() {
            let var = self.slots[slot.index()][i];
            self.b.def_var(var, v);
        }
    }

    /// Sets a `bool` slot from an I8.
    pub(crate) fn write_bool(&mut self, slot: SlotId, value: Value) {
        if let Place::Valid(h) = self.layout.places[slot.index()] {
            return self.write_validity(h, value);
        }
        self.flow.forget(slot);
        if let Some((h, f)) = self.field_of(slot) {
            let v = self.b.ins().uextend(types::I64, value);
            return self.write_field(h, f, &[v]);
        }
        let var = self.slots[slot.index()][0];
        self.b.def_var(var, value);
    }

    /// The header and index of a field.
    pub(crate) fn field_of(&self, slot: SlotId) -> Option<(HeaderId, usize)> {
        match self.layout.places[slot.index()] {
            Place::Field(h, f) => Some((h, f as usize)),
            _ => None,
        }
    }

    pub(super) fn preset(&mut self, slot: SlotId, value: Value) {
        let width = self.p[slot].ty.width();
        let v = self.mask(value, width);
        self.write(slot, &[v]);
    }

    pub(super) fn write_zero(&mut self, slot: SlotId) {
        let ty = self.p[slot].ty;
        for var in self.slots[slot.index()].clone() {
            let zero = if ty == Type::Bool { self.b.ins().iconst(types::I8, 0) } else { self.c64(0) };
            self.b.def_var(var, zero);
        }
        if ty.width() <= 64 {
            self.flow.set(slot, 0);
        }
    }

    /// Initialises the slots of a packet.
    pub(super) fn clear(&mut self) -> Result<()> {
        for i in 0..self.p.slots.len() {
            if self.layout.places[i] == Place::Scalar {
                self.write_zero(SlotId(i as u32));
            } else if self.layout.places[i] == Place::Varbit {
                let zeros = self.zeros();
                let none = self.c64(0);
                let vars = self.slots[i].clone();
                self.b.def_var(vars[0], zeros);
                self.b.def_var(vars[1], none);
            }
        }
        self.clear_headers();
        if let Some(steps) = self.steps {
            let most = self.c64(MAX_STEPS);
            self.b.def_var(steps, most);
        }
        let start = self.begin_at_start();
        self.set_cursor(At::START);
        self.b.def_var(self.suffix_start, start);
        self.flow.begun = SuffixState::NotBegun;
        let standard = self.p.standard;
        let port = self.described(offset_of!(abi::Packet, ingress_port));
        self.preset(standard.ingress_port, port);
        let length = self.packet_length();
        self.preset(standard.packet_length, length);
        let now = self.now();
        self.preset(standard.ingress_global_timestamp, now);
        Ok(())
    }

    pub(crate) fn zeros(&mut self) -> Value {
        match self.linkage {
            Linkage::Addresses { zeros } => self.c64(zeros),
            Linkage::Symbols => self.symbol(0),
        }
    }
}
