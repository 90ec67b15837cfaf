//! Batch-invariant code motion: values that are the same for all packets of a batch are computed in the prologue and
//! kept in words of the frame. This is only for values that Cranelift does not hoist by itself.

use std::mem::offset_of;

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{InstBuilder, Value, types};

use crate::emit::Emitter;
use crate::emit::flow_state::Root;
use crate::trace::mode::BatchInvariant;
use hopwright_abi::ExternHandle;

impl Emitter<'_> {
    /// Returns the value. In traces it is loaded from the frame; in the generic function Cranelift hoists its
    /// computation.
    pub(crate) fn batch_invariant(&mut self, what: BatchInvariant) -> Value {
        if let (false, BatchInvariant::State(handle)) = (self.is_trace(), what) {
            let at = handle + offset_of!(ExternHandle, state) as i32;
            return self.b.ins().load(types::I64, self.flags.runtime, self.externs, at);
        }
        let place = match self.invariants.get(&what) {
            Some(place) => *place,
            None => {
                let place = Root::place_of(self.new_words(1));
                self.compute(what, place);
                self.invariants.insert(what, place);
                place
            }
        };
        self.load_batch_word(place)
    }

    /// Computes it in the prologue.
    fn compute(&mut self, what: BatchInvariant, place: i32) {
        let (externs, flags, frame, prepare) = (self.externs, self.flags, self.frame, self.signatures.lookup);
        let (runtime, all) = (self.runtime, self.generic_function());
        let Some(first) = self.b.func.layout.entry_block() else { return };
        let mut at = FuncCursor::new(self.b.func);
        let Some(last) = at.func.layout.last_inst(first) else { return };
        at.goto_inst(last);
        let state = |at: &mut FuncCursor<'_>, handle: i32| {
            at.ins().load(types::I64, flags.runtime, externs, handle + offset_of!(ExternHandle, state) as i32)
        };
        let word = match what {
            BatchInvariant::State(handle) => state(&mut at, handle),
            BatchInvariant::Prepared(handle, function, number) => {
                let state = state(&mut at, handle);
                let callee = at.ins().iconst(types::I64, function as i64);
                let number = at.ins().iconst(types::I64, number as i64);
                let call = at.ins().call_indirect(prepare, callee, &[state, number]);
                at.func.dfg.first_result(call)
            }
            BatchInvariant::GenericFunction => at.ins().iconst(types::I64, all),
            BatchInvariant::Runtime => runtime,
        };
        let address = at.ins().stack_addr(types::I64, frame, 0);
        at.ins().store(flags.batch_words, word, address, place);
    }
}
