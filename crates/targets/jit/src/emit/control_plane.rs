//! Calls of the control plane's objects: value sets and digests.

use std::mem::{offset_of, size_of};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use hopwright_ir::{Expr, Type, ValueSetId};

use crate::Unsupported;
use crate::code::libcalls::Libcall;
use crate::emit::Emitter;
use hopwright_abi::{DigestCall, ExternHandle, Runtime, ValueSetHandle};

type Result<T> = std::result::Result<T, Unsupported>;

impl Emitter<'_> {
    /// Whether the keys of a `select` are a member of a value set, as I8.
    pub(crate) fn in_value_set(&mut self, set: ValueSetId, keys: &[Vec<Value>]) -> Value {
        let words = keys.iter().map(Vec::len).sum();
        let buffer = self.key_buffer(words);
        let mut at = 0;
        for key in keys {
            self.store_limbs(buffer, at, key);
            at += key.len();
        }
        let sets = self.pointer(self.runtime, offset_of!(Runtime, value_sets));
        let handle = set.index() * size_of::<ValueSetHandle>();
        let state = self.pointer(sets, handle + offset_of!(ValueSetHandle, state));
        let callee = self.pointer(sets, handle + offset_of!(ValueSetHandle, contains));
        let call = self.b.ins().call_indirect(self.signatures.lookup, callee, &[state, buffer]);
        let found = self.b.inst_results(call)[0];
        self.b.ins().icmp_imm_u(IntCC::NotEqual, found, 0)
    }

    /// Sends a digest.
    pub(crate) fn digest(&mut self, name: &str, receiver: &Expr, data: &[Expr]) -> Result<()> {
        let this = DigestCall::of(name, data);
        let which = self.interface.digests.iter().position(|d| *d == this).unwrap_or(0);
        let mut given = vec![(0, vec![self.value(receiver)?[0]])];
        let (mut varbits, mut at) = (Vec::new(), 1);
        for e in data {
            if matches!(e.ty, Type::Varbit(_)) {
                let (address, length) = self.varbit(e)?;
                given.push((at, vec![length]));
                varbits.push((at + 1, address, length));
            } else {
                given.push((at, self.value(e)?));
            }
            at += DigestCall::words_of(e.ty);
        }
        let buffer = self.key_buffer(at);
        for (at, words) in given {
            for (i, v) in words.into_iter().enumerate() {
                self.store_limbs(buffer, at + i, &[v]);
            }
        }
        for (at, address, length) in varbits {
            let to = self.b.ins().iadd_imm_s(buffer, 8 * at as i64);
            self.libcall(Libcall::Copy, &[to, address, length], false);
        }
        let handle = offset_of!(Runtime, digests);
        let state = self.pointer(self.runtime, handle + offset_of!(ExternHandle, state));
        let callee = self.pointer(self.runtime, handle + offset_of!(ExternHandle, call));
        let which = self.b.ins().iconst(types::I32, which as i64);
        self.b.ins().call_indirect(self.signatures.method, callee, &[state, which, buffer]);
        Ok(())
    }

    /// Loads a pointer that is constant during a batch.
    fn pointer(&mut self, base: Value, at: usize) -> Value {
        self.b.ins().load(types::I64, self.flags.runtime, base, at as i32)
    }
}
