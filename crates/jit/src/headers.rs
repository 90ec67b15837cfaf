//! Where headers are at run time: a table in the stack frame with the address of each header's bytes and the length of
//! its varbit field, and masks of validity bits. The table costs a store where a header is extracted and nothing where
//! ways of the parser meet.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::{FunctionBuilder, Variable};
use hopwright_ir::{HeaderId, SlotId};

use crate::bytes::Window;
use crate::function::Gen;
use crate::layout::Layout;
use crate::shim;
use crate::wide::limbs;

/// Longer headers are copied by a call.
const INLINE_COPY: u32 = 64;

/// Headers per validity mask: masks of 32 bits fit an instruction.
const PER_MASK: usize = 32;

/// The table's shape.
pub(crate) struct HeaderTable {
    slot: StackSlot,
    /// Byte offset of each header's address, for headers that are not always zeros.
    bases: Vec<Option<i32>>,
    /// Byte offset of the length of its varbit field.
    varbits: Vec<Option<i32>>,
    masks: Vec<Variable>,
    /// Bytes of addresses, bytes of lengths; both whole vectors.
    sizes: (i32, i32),
    images: StackSlot,
}

impl HeaderTable {
    pub fn new(b: &mut FunctionBuilder, layout: &Layout) -> HeaderTable {
        let mut next = 0;
        let mut place = |wanted: bool| {
            wanted.then(|| {
                next += 8;
                next - 8
            })
        };
        let bases: Vec<Option<i32>> = layout.headers.iter().map(|h| place(h.has_base())).collect();
        let addresses = (bases.iter().flatten().count() as i32 * 8 + 15) & !15;
        next = addresses;
        let mut place = |wanted: bool| {
            wanted.then(|| {
                next += 8;
                next - 8
            })
        };
        let varbits: Vec<Option<i32>> =
            layout.headers.iter().map(|h| place(h.from_packet && h.varbit_at.is_some())).collect();
        let lengths = (varbits.iter().flatten().count() as i32 * 8 + 15) & !15;
        let size = (addresses + lengths).max(16) as u32;
        let slot = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4));
        let masks = layout.headers.chunks(PER_MASK).map(|_| b.declare_var(types::I32)).collect();
        let size = layout.images.max(16) as u32;
        let images = b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, size, 4));
        HeaderTable { slot, bases, varbits, masks, sizes: (addresses, lengths), images }
    }
}

impl Gen<'_> {
    /// No header is there.
    pub(crate) fn clear_headers(&mut self) {
        for i in 0..self.headers.masks.len() {
            let none = self.b.ins().iconst(types::I32, 0);
            self.b.def_var(self.headers.masks[i], none);
        }
        let (addresses, lengths) = self.headers.sizes;
        let (zeros, none) = (self.zeros(), self.c64(0));
        for (value, from, to) in [(zeros, 0, addresses), (none, addresses, addresses + lengths)] {
            if from == to {
                continue;
            }
            let pair = self.b.ins().splat(types::I64X2, value);
            for at in (from..to).step_by(16) {
                let table = self.b.ins().stack_addr(types::I64, self.headers.slot, 0);
                self.b.ins().store(self.flags.headers, pair, table, at);
            }
        }
    }

    fn get(&mut self, at: i32) -> Value {
        let table = self.b.ins().stack_addr(types::I64, self.headers.slot, 0);
        self.b.ins().load(types::I64, self.flags.headers, table, at)
    }

    fn put(&mut self, at: i32, value: Value) {
        let table = self.b.ins().stack_addr(types::I64, self.headers.slot, 0);
        self.b.ins().store(self.flags.headers, value, table, at);
    }

    /// A header's bytes are here in the packet, and its varbit field has this many.
    pub(crate) fn place_header(&mut self, header: HeaderId, base: Value, varbit: Option<Value>) {
        if let Some(at) = self.headers.bases[header.index()] {
            self.put(at, base);
            self.writable[header.index()] = true;
        }
        if let Some(at) = self.headers.varbits[header.index()] {
            let v = match varbit {
                Some(v) => v,
                None => self.c64(0),
            };
            self.put(at, v);
        }
    }

    /// Makes a header's image its bytes, all zero.
    fn blank_image(&mut self, header: HeaderId, at: i32, image: i32) {
        let bytes = self.layout.header(header).bytes.next_multiple_of(16) as i32;
        let base = self.b.ins().stack_addr(types::I64, self.headers.images, image);
        let zero = self.c64(0);
        let pair = self.b.ins().splat(types::I64X2, zero);
        for at in (0..bytes).step_by(16) {
            self.b.ins().store(self.flags.packet, pair, base, at);
        }
        self.put(at, base);
        if let Some(at) = self.headers.varbits[header.index()] {
            self.put(at, zero);
        }
    }

    /// If a header is not valid, its bytes are zeros from now on.
    pub(crate) fn zero_unless(&mut self, valid: Value, header: HeaderId) {
        let Some(at) = self.headers.bases[header.index()] else { return };
        if let Some(image) = self.layout.header(header).image {
            let (blank, end) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(valid, end, &[], blank, &[]);
            self.enter(blank);
            self.blank_image(header, at, image);
            self.b.ins().jump(end, &[]);
            self.enter(end);
            return;
        }
        let (old, zeros) = (self.get(at), self.zeros());
        let new = self.b.ins().select(valid, old, zeros);
        self.put(at, new);
        if let Some(at) = self.headers.varbits[header.index()] {
            let (old, none) = (self.get(at), self.c64(0));
            let new = self.b.ins().select(valid, old, none);
            self.put(at, new);
        }
    }

    /// Sees to it that a header's bytes are its own.
    fn make_writable(&mut self, header: HeaderId) {
        let at = self.headers.bases[header.index()];
        let (Some(at), Some(image)) = (at, self.layout.header(header).image) else { return };
        if std::mem::replace(&mut self.writable[header.index()], true) {
            return;
        }
        let (base, zeros) = (self.get(at), self.zeros());
        let shared = self.b.ins().icmp(IntCC::Equal, base, zeros);
        let (blank, end) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(blank);
        self.b.ins().brif(shared, blank, &[], end, &[]);
        self.enter(blank);
        self.blank_image(header, at, image);
        self.b.ins().jump(end, &[]);
        self.enter(end);
    }

    /// Copies all of a header but its validity.
    pub(crate) fn copy_bytes(&mut self, dst: HeaderId, src: HeaderId) {
        let (d, s) = (dst.index(), src.index());
        let (Some(to), Some(from)) = (self.headers.bases[d], self.headers.bases[s]) else { return };
        let source = self.get(from);
        let layout = self.layout.header(dst);
        let base = match layout.image {
            // Nobody writes either: they can be the same bytes.
            None => source,
            Some(image) => {
                let base = self.b.ins().stack_addr(types::I64, self.headers.images, image);
                self.move_header(src, base, source);
                self.writable[d] = true;
                base
            }
        };
        self.put(to, base);
        if let (Some(to), Some(from)) = (self.headers.varbits[d], self.headers.varbits[s]) {
            let v = self.get(from);
            self.put(to, v);
        }
    }

    /// Copies a header's bytes, varbit field and all, between places that do not overlap.
    pub(crate) fn move_header(&mut self, header: HeaderId, to: Value, from: Value) {
        let bytes = self.layout.header(header).bytes;
        if self.headers.varbits[header.index()].is_some() || bytes > INLINE_COPY {
            let length = self.length(header);
            self.call_shim(shim::copy as *const () as usize, &[to, from, length], false);
        } else {
            self.copy_fixed(self.flags.packet, to, self.flags.packet, from, bytes);
        }
    }

    /// Bytes of a header.
    pub(crate) fn length(&mut self, header: HeaderId) -> Value {
        let fixed = self.c64(u64::from(self.layout.header(header).bytes));
        match self.varbit_length(header) {
            Some(v) => self.b.ins().iadd(fixed, v),
            None => fixed,
        }
    }

    /// A header's validity as I8.
    pub(crate) fn is_valid(&mut self, header: HeaderId) -> Value {
        let mask = self.b.use_var(self.headers.masks[header.index() / PER_MASK]);
        let bit = self.b.ins().band_imm_u(mask, 1 << (header.index() % PER_MASK));
        self.b.ins().icmp_imm_u(IntCC::NotEqual, bit, 0)
    }

    /// I8: one of the headers is valid.
    pub(crate) fn any_valid(&mut self, headers: &[HeaderId]) -> Value {
        let mut bits = vec![0u32; self.headers.masks.len()];
        for h in headers {
            bits[h.index() / PER_MASK] |= 1 << (h.index() % PER_MASK);
        }
        let mut any = self.b.ins().iconst(types::I32, 0);
        for (i, &bits) in bits.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let mask = self.b.use_var(self.headers.masks[i]);
            let these = self.b.ins().band_imm_u(mask, i64::from(bits));
            any = self.b.ins().bor(any, these);
        }
        self.b.ins().icmp_imm_u(IntCC::NotEqual, any, 0)
    }

    pub(crate) fn set_validity(&mut self, header: HeaderId, valid: bool) {
        let var = self.headers.masks[header.index() / PER_MASK];
        let mask = self.b.use_var(var);
        let bit = 1u32 << (header.index() % PER_MASK);
        let mask = if valid {
            self.b.ins().bor_imm_u(mask, i64::from(bit))
        } else {
            self.b.ins().band_imm_u(mask, i64::from(!bit))
        };
        self.b.def_var(var, mask);
    }

    /// Sets a header's validity from an I8.
    pub(crate) fn write_validity(&mut self, header: HeaderId, valid: Value) {
        let var = self.headers.masks[header.index() / PER_MASK];
        let at = header.index() % PER_MASK;
        let mask = self.b.use_var(var);
        let others = self.b.ins().band_imm_u(mask, i64::from(!(1u32 << at)));
        let bit = self.b.ins().uextend(types::I32, valid);
        let bit = self.b.ins().ishl_imm_u(bit, at as i64);
        let mask = self.b.ins().bor(others, bit);
        self.b.def_var(var, mask);
    }

    /// The address of a header's bytes.
    pub(crate) fn base(&mut self, header: HeaderId) -> Value {
        match self.headers.bases[header.index()] {
            Some(at) => self.get(at),
            None => self.zeros(),
        }
    }

    /// Length in bytes of a header's varbit field.
    pub(crate) fn varbit_length(&mut self, header: HeaderId) -> Option<Value> {
        self.headers.varbits[header.index()].map(|at| self.get(at))
    }

    /// Address and length in bytes of a header's varbit field.
    pub(crate) fn header_varbit(&mut self, header: HeaderId) -> (Value, Value) {
        let base = self.base(header);
        let at = self.layout.header(header).varbit_at.unwrap_or(0);
        let address = self.b.ins().iadd_imm_s(base, i64::from(at));
        let length = match self.varbit_length(header) {
            Some(v) => v,
            None => self.c64(0),
        };
        (address, length)
    }

    /// Where a field's bits are: the address they are counted from, and what may be read with them.
    fn field_place(&mut self, header: HeaderId, field: usize) -> (Value, Window) {
        let layout = self.layout.header(header);
        let base = self.base(header);
        let mut window = Window { from: 0, to: layout.bytes as i32 };
        let (Some(at), Some(varbit)) = (layout.varbit_at, self.p[header].varbit) else { return (base, window) };
        if field < varbit as usize {
            window.to = at as i32;
            return (base, window);
        }
        window.from = at as i32;
        match self.varbit_length(header) {
            Some(length) => (self.b.ins().iadd(base, length), window),
            None => (base, window),
        }
    }

    /// A field's value.
    pub(crate) fn field(&mut self, header: HeaderId, field: usize) -> Vec<Value> {
        let f = &self.p[header].fields[field];
        if !self.layout.header(header).has_base() {
            let zero = self.c64(0);
            return vec![zero; limbs(f.width)];
        }
        let (base, window) = self.field_place(header, field);
        self.load_bits(self.flags.packet, base, f.offset_bits, f.width, window)
    }

    /// Writes a field.
    pub(crate) fn write_field(&mut self, header: HeaderId, field: usize, value: &[Value]) {
        let f = &self.p[header].fields[field];
        if f.width == 0 {
            return;
        }
        self.make_writable(header);
        let (base, _) = self.field_place(header, field);
        self.store_bits(self.flags.packet, base, f.offset_bits, f.width, value);
    }

    /// The header, byte offset and size of a field that is in its bytes here and can be loaded in one piece.
    pub(crate) fn whole_bytes(&self, slot: SlotId) -> Option<(HeaderId, i32, u32)> {
        let (header, f) = self.field_of(slot)?;
        let field = &self.p[header].fields[f];
        let fits = matches!(field.width, 16 | 32 | 64) && field.offset_bits.is_multiple_of(8);
        let plain = self.layout.header(header).has_base() && self.p[header].varbit.is_none();
        (fits && plain).then_some((header, (field.offset_bits / 8) as i32, field.width / 8))
    }

    /// 2, 4 or 8 bytes of a header as they are in memory.
    pub(crate) fn raw_bytes(&mut self, header: HeaderId, at: i32, bytes: u32) -> Value {
        let base = self.base(header);
        let ty = match bytes {
            2 => types::I16,
            4 => types::I32,
            _ => types::I64,
        };
        self.b.ins().load(ty, self.flags.packet, base, at)
    }

    /// Bits of a header without varbit field, from its bytes.
    pub(crate) fn bits_of_header(&mut self, header: HeaderId, offset: u32, width: u32) -> Vec<Value> {
        let layout = self.layout.header(header);
        if !layout.has_base() {
            let zero = self.c64(0);
            return vec![zero; limbs(width)];
        }
        let base = self.base(header);
        let window = Window { from: 0, to: layout.bytes as i32 };
        self.load_bits(self.flags.packet, base, offset, width, window)
    }
}
