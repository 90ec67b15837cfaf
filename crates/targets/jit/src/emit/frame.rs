//! Memory of the generated code: the frame, the packet's descriptor, and buffers on the stack.

use std::mem::offset_of;

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, Value, types};
use hopwright_abi as abi;

use super::Emitter;

impl Emitter<'_> {
    /// Writes a 32-bit member of the packet's descriptor.
    pub(crate) fn describe(&mut self, at: usize, value: Value) {
        let v = self.b.ins().ireduce(types::I32, value);
        let descriptor = self.descriptor();
        self.b.ins().store(self.flags.descriptor, v, descriptor, at as i32);
    }

    /// Writes a 64-bit word of the packet's descriptor: two members.
    pub(crate) fn describe_word(&mut self, at: usize, value: Value) {
        let descriptor = self.descriptor();
        self.b.ins().store(self.flags.descriptor, value, descriptor, at as i32);
    }

    /// Loads a word of the frame that is written for each packet.
    /// Loads and stores of the frame's words compute their addresses in different ways. Otherwise Cranelift would
    /// replace loads by the stored values, which would then occupy registers.
    pub(crate) fn load_frame(&mut self, at: i32) -> Value {
        self.load_word(self.flags.packet_word(at), at)
    }

    /// Loads a word of the frame that is written only before the first packet.
    pub(crate) fn load_batch_word(&mut self, at: i32) -> Value {
        self.load_word(self.flags.batch_words, at)
    }

    fn load_word(&mut self, flags: MemFlagsData, at: i32) -> Value {
        let address = self.b.ins().stack_addr(types::I64, self.frame, at);
        self.b.ins().load(types::I64, flags, address, 0)
    }

    /// Stores a word for [`Emitter::load_frame`].
    pub(crate) fn store_frame(&mut self, at: i32, value: Value) {
        let frame = self.b.ins().stack_addr(types::I64, self.frame, 0);
        self.b.ins().store(self.flags.packet_word(at), value, frame, at);
    }

    /// The address of the [`abi::Packet`].
    pub(super) fn descriptor(&mut self) -> Value {
        self.load_frame(0)
    }

    /// A 32-bit member of the packet's descriptor.
    pub(crate) fn described(&mut self, at: usize) -> Value {
        let descriptor = self.descriptor();
        self.b.ins().uload32(self.flags.descriptor, descriptor, at as i32)
    }

    /// First byte of the buffer.
    pub(crate) fn packet_buffer(&mut self) -> Value {
        let descriptor = self.descriptor();
        self.b.ins().load(types::I64, self.flags.descriptor, descriptor, offset_of!(abi::Packet, buffer) as i32)
    }

    /// One past the packet's last byte.
    pub(crate) fn packet_end(&mut self) -> Value {
        if let Some(end) = self.loaded_end() {
            return end;
        }
        let end = self.described(offset_of!(abi::Packet, end));
        let buffer = self.packet_buffer();
        let end = self.b.ins().iadd(buffer, end);
        self.keep_end(end);
        end
    }

    /// The address of a buffer of 8-byte words in the frame, for arguments of the next call.
    pub(crate) fn stack_buffer(&mut self, words: usize) -> Value {
        let slot = self.spare_slot;
        self.grow(slot, words)
    }

    /// As [`Emitter::stack_buffer`], for table keys and extern arguments.
    pub(crate) fn key_buffer(&mut self, words: usize) -> Value {
        let slot = self.key_slot;
        self.grow(slot, words)
    }

    /// Stores a value's limbs at a word of a buffer. Two limbs are stored as one vector, so that a vector load of both
    /// can be forwarded from the store.
    pub(crate) fn store_limbs(&mut self, buffer: Value, word: usize, limbs: &[Value]) {
        let at = 8 * word as i32;
        if let &[low, high] = limbs {
            let pair = self.b.ins().scalar_to_vector(types::I64X2, low);
            let pair = self.b.ins().insertlane(pair, high, 1);
            self.b.ins().store(self.flags.stack, pair, buffer, at);
            return;
        }
        for (i, &limb) in limbs.iter().enumerate() {
            self.b.ins().store(self.flags.stack, limb, buffer, at + 8 * i as i32);
        }
    }

    fn grow(&mut self, slot: StackSlot, words: usize) -> Value {
        let data = &mut self.b.func.sized_stack_slots[slot];
        data.size = data.size.max(8 * words as u32);
        self.b.ins().stack_addr(types::I64, slot, 0)
    }
}
