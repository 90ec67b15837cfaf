//! What hot paths compute once for a batch: words of the frame that are filled in where the function begins. Does not live
//! here: what the code generator finds out for itself to be the same for all packets.

use std::mem::offset_of;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, Value, types};

use crate::abi::ExternHandle;
use crate::facts::Root;
use crate::function::Gen;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Once {
    /// The state of the extern object whose handle is so many bytes behind the first.
    State(i32),
    /// What the function at this address makes of that state and a number.
    Prepared(i32, usize, u64),
}

impl Gen<'_> {
    /// The word, on a hot path from the frame. Elsewhere the code generator finds out itself what stays the same.
    pub(crate) fn once(&mut self, what: Once) -> Value {
        if let (false, Once::State(handle)) = (self.is_hot(), what) {
            let at = handle + offset_of!(ExternHandle, state) as i32;
            return self.b.ins().load(types::I64, self.flags.runtime, self.externs, at);
        }
        let place = match self.computed.get(&what) {
            Some(place) => *place,
            None => {
                let place = Root::place_of(self.new_words(1));
                self.compute(what, place);
                self.computed.insert(what, place);
                place
            }
        };
        self.load_frame(place)
    }

    /// Computes it before the first packet.
    fn compute(&mut self, what: Once, place: i32) {
        let signature = match what {
            Once::State(_) => None,
            Once::Prepared(..) => {
                let mut s = Signature::new(self.call_conv);
                s.params.extend([AbiParam::new(types::I64); 2]);
                s.returns.push(AbiParam::new(types::I64));
                Some(self.b.import_signature(s))
            }
        };
        let (externs, runtime, frame, stored) = (self.externs, self.flags.runtime, self.frame, self.flags.frame);
        let Some(first) = self.b.func.layout.entry_block() else { return };
        let mut at = FuncCursor::new(self.b.func);
        let Some(last) = at.func.layout.last_inst(first) else { return };
        at.goto_inst(last);
        let (Once::State(handle) | Once::Prepared(handle, ..)) = what;
        let state = at.ins().load(types::I64, runtime, externs, handle + offset_of!(ExternHandle, state) as i32);
        let word = match (what, signature) {
            (Once::Prepared(_, function, number), Some(signature)) => {
                let (callee, number) = (function as i64, number as i64);
                let (callee, number) = (at.ins().iconst(types::I64, callee), at.ins().iconst(types::I64, number));
                let call = at.ins().call_indirect(signature, callee, &[state, number]);
                at.func.dfg.first_result(call)
            }
            _ => state,
        };
        let address = at.ins().stack_addr(types::I64, frame, 0);
        at.ins().store(stored, word, address, place);
    }
}
