//! Headers at run time. A table in the stack frame holds the address of each header's bytes and the length of its
//! varbit field; validity bits are in masks. The table is read only where the data-flow state does not know the answer.
//! It has no members that are never read: emission is repeated once the reads are known.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use hopwright_ir::{HeaderId, SlotId};

use crate::code::libcalls::Libcall;
use crate::emit::Emitter;
use crate::emit::bytes::Window;
use crate::emit::flow_state::At;
use crate::emit::header_table::PER_MASK;
use crate::emit::layout::limbs;

/// Size in bytes beyond which headers are copied by a call.
const INLINE_COPY: u32 = 64;

impl Emitter<'_> {
    /// Makes all headers invalid.
    pub(crate) fn clear_headers(&mut self) {
        for i in 0..self.headers.masks.len() {
            let none = self.b.ins().iconst(types::I32, 0);
            self.b.def_var(self.headers.masks[i], none);
        }
        let (zeros, none) = (self.zeros(), self.c64(0));
        for (i, header) in self.p.headers.iter().enumerate() {
            let header_id = HeaderId(i as u32);
            if !self.layout.headers[i].extracted {
                self.set_base(header_id, zeros);
                self.set_varbit_length(header_id, none);
            }
            self.flow.set(header.valid, 0);
        }
    }

    /// Number of validity masks.
    pub(crate) fn masks(&self) -> usize {
        self.headers.masks.len()
    }

    /// The validity masks as words.
    pub(crate) fn mask_words(&mut self) -> Vec<Value> {
        let mut words = Vec::new();
        for i in 0..self.masks() {
            let mask = self.b.use_var(self.headers.masks[i]);
            words.push(self.b.ins().uextend(types::I64, mask));
        }
        words
    }

    /// Sets the validity masks.
    pub(crate) fn set_masks(&mut self, words: &[Value]) {
        for (i, &word) in words.iter().enumerate() {
            let mask = self.b.ins().ireduce(types::I32, word);
            self.b.def_var(self.headers.masks[i], mask);
        }
        for header in &self.p.headers {
            self.flow.forget(header.valid);
        }
    }

    fn in_table(&mut self, at: i32) -> (Value, i32) {
        (self.b.ins().stack_addr(types::I64, self.headers.slot, 0), at)
    }

    /// A header's address, from the table.
    fn stored_base(&mut self, header: HeaderId) -> Option<Value> {
        let at = self.headers.bases[header.index()]?;
        self.headers.used.bases[header.index()] = true;
        let zeros = self.zeros();
        Some(self.table_word(header, at, zeros))
    }

    /// Returns a word of the table, or `otherwise` if the header was not extracted and the word is undefined.
    fn table_word(&mut self, header: HeaderId, at: i32, otherwise: Value) -> Value {
        let valid = self.known_valid(header).filter(|_| self.layout.header(header).extracted);
        if valid == Some(false) {
            return otherwise;
        }
        let (table, at) = self.in_table(at);
        let word = self.b.ins().load(types::I64, self.flags.headers, table, at);
        if valid == Some(true) || !self.layout.header(header).extracted {
            return word;
        }
        let valid = self.is_valid(header);
        self.b.ins().select(valid, word, otherwise)
    }

    fn set_base(&mut self, header: HeaderId, base: Value) {
        if let Some(at) = self.headers.bases[header.index()].filter(|_| self.headers.wanted.bases[header.index()]) {
            let (table, at) = self.in_table(at);
            self.b.ins().store(self.flags.headers, base, table, at);
        }
    }

    fn set_varbit_length(&mut self, header: HeaderId, length: Value) {
        if let Some(at) = self.headers.varbits[header.index()].filter(|_| self.headers.wanted.varbits[header.index()]) {
            let (table, at) = self.in_table(at);
            self.b.ins().store(self.flags.headers, length, table, at);
        }
    }

    /// Sets the place of a header in the packet, and the length of its varbit field.
    pub(crate) fn place_header(&mut self, header: HeaderId, at: At, varbit: Option<Value>) {
        if self.headers.bases[header.index()].is_some() {
            let base = self.address(at);
            self.set_base(header, base);
            self.flow.writable[header.index()] = true;
            self.flow.place[header.index()] = Some(at);
            self.forget_fields(header);
        }
        let length = match varbit {
            Some(v) => v,
            None => self.c64(0),
        };
        self.set_varbit_length(header, length);
    }

    /// Changes the address of a header's bytes.
    fn rebase(&mut self, header: HeaderId, base: Value) {
        self.set_base(header, base);
        self.flow.place[header.index()] = None;
        self.forget_fields(header);
    }

    /// The address at an offset of the images.
    pub(crate) fn image(&mut self, at: i32) -> Value {
        self.b.ins().stack_addr(types::I64, self.headers.images, at)
    }

    /// Makes a header's image its bytes, and sets the length of its varbit field.
    pub(crate) fn move_to_image(&mut self, header: HeaderId, image: Value, varbit: Value) {
        self.rebase(header, image);
        self.flow.writable[header.index()] = true;
        self.set_varbit_length(header, varbit);
    }

    /// Makes a header's image its bytes, and zeroes it.
    fn blank_image(&mut self, header: HeaderId, image: i32) {
        let bytes = self.layout.header(header).bytes.next_multiple_of(16) as i32;
        let base = self.image(image);
        let zero = self.c64(0);
        let pair = self.b.ins().splat(types::I64X2, zero);
        for at in (0..bytes).step_by(16) {
            self.b.ins().store(self.flags.packet, pair, base, at);
        }
        self.rebase(header, base);
        self.set_varbit_length(header, zero);
    }

    /// Zeroes the bytes of a header that is not valid.
    pub(crate) fn zero_unless_valid(&mut self, header: HeaderId) {
        if self.headers.bases[header.index()].is_none() {
            return;
        }
        let known = self.known_valid(header);
        if let Some(image) = self.layout.header(header).image {
            if known == Some(false) {
                self.blank_image(header, image);
                self.flow.writable[header.index()] = true;
                return;
            }
            let valid = self.is_valid(header);
            let (blank, end) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(valid, end, &[], blank, &[]);
            self.enter(blank);
            self.blank_image(header, image);
            self.b.ins().jump(end, &[]);
            self.enter(end);
            return;
        }
        let valid = self.is_valid(header);
        let (old, zeros) = (self.base(header), self.zeros());
        let new = self.b.ins().select(valid, old, zeros);
        self.rebase(header, new);
        if let Some(old) = self.varbit_length(header) {
            let none = self.c64(0);
            let new = self.b.ins().select(valid, old, none);
            self.set_varbit_length(header, new);
        }
    }

    /// Ensures that a header has bytes of its own.
    fn make_writable(&mut self, header: HeaderId) {
        let has_base = self.headers.bases[header.index()].is_some();
        let Some(image) = self.layout.header(header).image.filter(|_| has_base) else { return };
        if std::mem::replace(&mut self.flow.writable[header.index()], true) {
            return;
        }
        let (base, zeros) = (self.base(header), self.zeros());
        let shared = self.b.ins().icmp(IntCC::Equal, base, zeros);
        let (blank, end) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(blank);
        self.b.ins().brif(shared, blank, &[], end, &[]);
        self.enter(blank);
        self.blank_image(header, image);
        self.b.ins().jump(end, &[]);
        self.enter(end);
    }

    /// Copies all of a header but its validity.
    pub(crate) fn copy_bytes(&mut self, dst: HeaderId, src: HeaderId) {
        let (d, s) = (dst.index(), src.index());
        if self.headers.bases[d].is_none() || self.headers.bases[s].is_none() {
            return;
        }
        let source = self.base(src);
        let layout = self.layout.header(dst);
        let base = match layout.image {
            // Neither header is written, so they can share bytes.
            None => source,
            Some(image) => {
                let base = self.image(image);
                self.move_header(src, base, source);
                self.flow.writable[d] = true;
                base
            }
        };
        self.rebase(dst, base);
        if let Some(v) = self.varbit_length(src) {
            self.set_varbit_length(dst, v);
        }
    }

    /// Copies a header's bytes, including its varbit field, between places that do not overlap.
    pub(crate) fn move_header(&mut self, header: HeaderId, to: Value, from: Value) {
        let bytes = self.layout.header(header).bytes;
        if self.headers.varbits[header.index()].is_some() || bytes > INLINE_COPY {
            let length = self.length(header);
            self.libcall(Libcall::Copy, &[to, from, length], false);
        } else {
            self.copy_fixed(self.flags.packet, to, self.flags.packet, from, bytes);
        }
    }

    /// Size of a header in bytes.
    pub(crate) fn length(&mut self, header: HeaderId) -> Value {
        let fixed = self.c64(u64::from(self.layout.header(header).bytes));
        match self.varbit_length(header) {
            Some(v) => self.b.ins().iadd(fixed, v),
            None => fixed,
        }
    }

    /// A header's validity as I8.
    pub(crate) fn is_valid(&mut self, header: HeaderId) -> Value {
        if let Some(valid) = self.known_valid(header) {
            return self.b.ins().iconst(types::I8, i64::from(valid));
        }
        let mask = self.b.use_var(self.headers.masks[header.index() / PER_MASK]);
        let bit = self.b.ins().band_imm_u(mask, 1 << (header.index() % PER_MASK));
        self.b.ins().icmp_imm_u(IntCC::NotEqual, bit, 0)
    }

    /// Whether one of the headers is valid, as I8.
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
        self.flow.set(self.p[header].valid, u64::from(valid));
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
        self.flow.forget(self.p[header].valid);
    }

    /// The address of a header's bytes.
    pub(crate) fn base(&mut self, header: HeaderId) -> Value {
        let (base, offset) = self.bytes_at(header);
        if offset == 0 { base } else { self.b.ins().iadd_imm_s(base, i64::from(offset)) }
    }

    /// The address of a header's bytes, as base and offset.
    fn bytes_at(&mut self, header: HeaderId) -> (Value, i32) {
        if let Some(at) = self.flow.place[header.index()] {
            return (self.root(at.root), at.offset);
        }
        match self.stored_base(header) {
            Some(base) => (base, 0),
            None => (self.zeros(), 0),
        }
    }

    /// Flags for reading a header's bytes. Bytes that never change may be read at any time, unless values are stored
    /// after headers have moved.
    fn reading(&self, header: HeaderId) -> MemFlagsData {
        let layout = self.layout.header(header);
        let flags = self.flags.packet;
        if layout.written || layout.copied || self.plan.slots.any() {
            flags
        } else {
            flags.with_readonly().with_can_move()
        }
    }

    /// Length in bytes of a header's varbit field.
    pub(crate) fn varbit_length(&mut self, header: HeaderId) -> Option<Value> {
        let at = self.headers.varbits[header.index()]?;
        self.headers.used.varbits[header.index()] = true;
        let none = self.c64(0);
        Some(self.table_word(header, at, none))
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

    /// The place of a field's bits: the base address, the header's offset from it, and the window that may be read.
    fn field_place(&mut self, header: HeaderId, field: usize) -> (Value, i32, Window) {
        let layout = self.layout.header(header);
        let (base, offset) = self.bytes_at(header);
        let mut window = Window { from: offset, to: offset + layout.bytes as i32 };
        let (Some(varbit_at), Some(varbit)) = (layout.varbit_at, self.p[header].varbit) else {
            return (base, offset, window);
        };
        if field < varbit as usize {
            window.to = offset + varbit_at as i32;
            return (base, offset, window);
        }
        window.from = offset + varbit_at as i32;
        match self.varbit_length(header) {
            Some(length) => (self.b.ins().iadd(base, length), offset, window),
            None => (base, offset, window),
        }
    }

    /// A field's value.
    pub(crate) fn field(&mut self, header: HeaderId, field: usize) -> Vec<Value> {
        let f = &self.p[header].fields[field];
        if !self.layout.header(header).has_base() {
            let zero = self.c64(0);
            return vec![zero; limbs(f.width)];
        }
        let (base, at, window) = self.field_place(header, field);
        self.load_bits(self.reading(header), base, at, f.offset_bits, f.width, window)
    }

    /// Writes a field.
    pub(crate) fn write_field(&mut self, header: HeaderId, field: usize, value: &[Value]) {
        let f = &self.p[header].fields[field];
        if f.width == 0 {
            return;
        }
        self.make_writable(header);
        self.store_field(header, field, value);
    }

    /// Stores a field of a header that has its own bytes.
    pub(crate) fn store_field(&mut self, header: HeaderId, field: usize, value: &[Value]) {
        let f = &self.p[header].fields[field];
        let (base, at, _) = self.field_place(header, field);
        self.store_bits(self.flags.packet, base, at, f.offset_bits, f.width, value);
    }

    /// Returns header, byte offset and size of a field, if it is in its header's bytes and can be loaded in one piece.
    pub(crate) fn whole_bytes(&self, slot: SlotId) -> Option<(HeaderId, i32, u32)> {
        let (header, f) = self.field_of(slot)?;
        let field = &self.p[header].fields[f];
        let fits = matches!(field.width, 16 | 32 | 64) && field.offset_bits.is_multiple_of(8);
        let plain = self.layout.header(header).has_base() && self.p[header].varbit.is_none();
        (fits && plain).then_some((header, (field.offset_bits / 8) as i32, field.width / 8))
    }

    /// 2, 4 or 8 bytes of a header as they are in memory.
    pub(crate) fn raw_bytes(&mut self, header: HeaderId, at: i32, bytes: u32) -> Value {
        let (base, offset) = self.bytes_at(header);
        let ty = match bytes {
            2 => types::I16,
            4 => types::I32,
            _ => types::I64,
        };
        let flags = self.reading(header);
        self.b.ins().load(ty, flags, base, offset + at)
    }

    /// As [`Emitter::raw_bytes`], zero-extended: the lowest byte is the first.
    pub(crate) fn raw_number(&mut self, header: HeaderId, at: i32, bytes: u32) -> Value {
        let (base, offset) = self.bytes_at(header);
        let flags = self.reading(header);
        self.load_number(flags, base, offset + at, bytes)
    }

    /// Bits of a header without varbit field, from its bytes.
    pub(crate) fn bits_of_header(&mut self, header: HeaderId, offset: u32, width: u32) -> Vec<Value> {
        let layout = self.layout.header(header);
        if !layout.has_base() {
            let zero = self.c64(0);
            return vec![zero; limbs(width)];
        }
        let (base, at) = self.bytes_at(header);
        let window = Window { from: at, to: at + layout.bytes as i32 };
        self.load_bits(self.reading(header), base, at, offset, width, window)
    }
}
