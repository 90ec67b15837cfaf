//! Packets that a failed assertion ends: nothing more happens to them, and they are dropped.

use hopwright_ir::Expr;

use super::{Convert, Extra, Path};
use crate::hir::Value;

impl Convert<'_> {
    /// Ends the packet where the condition of an `assert` or `assume` is false.
    pub(super) fn assertion(&mut self, condition: &Expr, path: Path) -> Option<Path> {
        let holds = self.expr(condition, &path);
        let fails = self.b.not(holds);
        let (failed, on) = (self.b.and(path.pred, fails), self.b.and(path.pred, holds));
        self.b.split(path.pred, vec![failed, on]);
        if self.known(fails) != Some(0) {
            self.fault(Path { pred: failed, slots: path.slots.clone() });
        }
        (self.known(holds) != Some(0)).then_some(Path { pred: on, slots: path.slots })
    }

    /// Ends the packet.
    pub(super) fn fault(&mut self, mut path: Path) {
        path.slots[self.extra(Extra::Fault)] = self.b.boolean(true);
        self.faults.push(path);
    }

    /// Says at the end of a block whether the packet has ended: before it (`failed`), or in it, if it was `reached`.
    pub(super) fn settle_fault(&mut self, failed: Value, reached: Value, end: &mut Path) {
        let at = self.extra(Extra::Fault);
        let here = self.b.and(reached, end.slots[at]);
        end.slots[at] = self.b.or(failed, here);
    }
}
