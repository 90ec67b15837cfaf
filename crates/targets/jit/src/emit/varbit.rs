//! Varbits are represented by address and length in bytes. A header's varbit is part of the header's bytes. Any other
//! varbit has a buffer in the frame, because the value it was assigned from may change.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::{Expr, ExprKind, HeaderId, SlotId, Type};

use crate::Unsupported;
use crate::code::libcalls::Libcall;
use crate::emit::Emitter;
use crate::emit::layout::Place;

type Result<T> = std::result::Result<T, Unsupported>;

impl Emitter<'_> {
    /// Address and length in bytes of a varbit's value.
    pub(crate) fn varbit(&mut self, e: &Expr) -> Result<(Value, Value)> {
        match &e.kind {
            ExprKind::Slot(slot) => Ok(match self.layout.places[slot.index()] {
                Place::HeaderVarbit(h) => self.header_varbit(h),
                _ => self.read_varbit(*slot),
            }),
            ExprKind::Mux(cond, a, b) => {
                let c = self.cond(cond)?;
                let ((pa, la), (pb, lb)) = (self.varbit(a)?, self.varbit(b)?);
                Ok((self.b.ins().select(c, pa, pb), self.b.ins().select(c, la, lb)))
            }
            _ => Err(Unsupported::new(e.span, "a varbit expression that is not a variable")),
        }
    }

    /// Assigns to a varbit.
    pub(crate) fn assign_varbit(&mut self, slot: SlotId, value: &Expr) -> Result<()> {
        let (address, length) = self.varbit(value)?;
        match self.layout.places[slot.index()] {
            Place::HeaderVarbit(header) => self.replace_header_varbit(header, address, length),
            _ => {
                let Some(buffer) = self.layout.varbits[slot.index()] else { return Ok(()) };
                let buffer = self.image(buffer);
                self.libcall(Libcall::Copy, &[buffer, address, length], false);
                self.write_varbit(slot, buffer, length);
            }
        }
        Ok(())
    }

    /// Replaces a header's varbit field. The header's bytes then move to its image.
    fn replace_header_varbit(&mut self, header: HeaderId, new: Value, length: Value) {
        let layout = self.layout.header(header);
        let (Some(image), Some(at)) = (layout.image, layout.varbit_at) else { return };
        let to = self.image(image);
        let from = self.base(header);
        let old = match self.varbit_length(header) {
            Some(v) => v,
            None => self.c64(0),
        };
        let (head, tail) = (self.c64(u64::from(at)), self.c64(u64::from(layout.bytes - at)));
        let args = [to, from, head, old, tail, new, length];
        self.libcall(Libcall::ReplaceVarbit, &args, false);
        self.move_to_image(header, to, length);
    }

    /// Packs a list that contains varbits into bytes in the frame; returns address and length.
    pub(crate) fn pack_bits(&mut self, data: &[Expr]) -> Result<(Value, Value)> {
        let most: u32 = data.iter().map(|e| e.ty.width()).sum();
        let buffer = self.key_buffer(most.div_ceil(64) as usize + 1);
        let mut bits = self.c64(0);
        let is_varbit = |e: &Expr| matches!(e.ty, Type::Varbit(_));
        for group in data.chunk_by(|a, b| !is_varbit(a) && !is_varbit(b)) {
            let (from, count) = match group {
                [e] if is_varbit(e) => {
                    let (address, length) = self.varbit(e)?;
                    (address, self.b.ins().ishl_imm_u(length, 3))
                }
                _ => {
                    let (address, _) = self.pack(group)?;
                    (address, self.c64(u64::from(group.iter().map(|e| e.ty.width()).sum::<u32>())))
                }
            };
            let args = [buffer, bits, from, count];
            bits = self.libcall(Libcall::AppendBits, &args, true).unwrap_or(bits);
        }
        let bits = self.b.ins().iadd_imm_s(bits, 7);
        Ok((buffer, self.b.ins().ushr_imm_u(bits, 3)))
    }

    /// Saves a varbit that is not a header field in a record, length first.
    pub(crate) fn keep_varbit(&mut self, slot: SlotId, record: Value, word: usize) {
        let (address, length) = self.read_varbit(slot);
        self.b.ins().store(self.flags.descriptor, length, record, 8 * word as i32);
        let to = self.b.ins().iadd_imm_s(record, 8 * (word as i64 + 1));
        self.libcall(Libcall::Copy, &[to, address, length], false);
    }

    /// Restores a varbit; its bytes stay in the record.
    pub(crate) fn restore_varbit(&mut self, slot: SlotId, record: Value, word: usize) {
        let length = self.b.ins().load(types::I64, self.flags.descriptor, record, 8 * word as i32);
        let address = self.b.ins().iadd_imm_s(record, 8 * (word as i64 + 1));
        self.write_varbit(slot, address, length);
    }
}
