//! What the emitter knows at a point, and the addresses that it keeps in the frame.

use cranelift_codegen::ir::{InstBuilder, Value};
use hopwright_ir::{BinaryOp, Expr, ExprKind, HeaderId, SlotId, Type, UnaryOp};
use num_traits::ToPrimitive;

use crate::emit::Emitter;
use crate::emit::flow_state::{At, Root};
use crate::trace::mode::Mode;

impl Emitter<'_> {
    /// The known value of an expression.
    pub(crate) fn known(&self, e: &Expr) -> Option<u64> {
        let width = e.ty.width();
        if width > 64 || matches!(e.ty, Type::Varbit(_)) {
            return None;
        }
        let cut = |v: u64| if width == 64 { v } else { v & ((1 << width) - 1) };
        let is_bits = |e: &Expr| matches!(e.ty, Type::Bool | Type::Bits(_)) && e.ty.width() <= 64;
        match &e.kind {
            ExprKind::Const(v) => v.to_u64(),
            ExprKind::Slot(slot) => self.flow.value(*slot),
            ExprKind::Cast(a) if is_bits(a) && is_bits(e) => self.known(a).map(cut),
            ExprKind::Slice { arg, lo, .. } if is_bits(arg) => self.known(arg).map(|v| cut(v >> lo)),
            ExprKind::Unary(UnaryOp::Not, a) => self.known(a).map(|v| v ^ 1),
            ExprKind::Unary(UnaryOp::BitNot, a) => self.known(a).map(|v| cut(!v)),
            ExprKind::Mux(c, a, b) => self.known(if self.known(c)? == 1 { a } else { b }),
            ExprKind::Binary(op, a, b) if is_bits(a) && is_bits(b) => {
                let (x, y) = (self.known(a), self.known(b));
                match (op, x, y) {
                    (BinaryOp::LogicalAnd | BinaryOp::And, Some(0), _) => Some(0),
                    (BinaryOp::LogicalAnd | BinaryOp::And, _, Some(0)) => Some(0),
                    (BinaryOp::LogicalAnd | BinaryOp::And, Some(x), Some(y)) => Some(x & y),
                    (BinaryOp::LogicalOr, Some(1), _) | (BinaryOp::LogicalOr, _, Some(1)) => Some(1),
                    (BinaryOp::LogicalOr | BinaryOp::Or, Some(x), Some(y)) => Some(x | y),
                    (BinaryOp::Xor, Some(x), Some(y)) => Some(x ^ y),
                    (BinaryOp::Add, Some(x), Some(y)) => Some(cut(x.wrapping_add(y))),
                    (BinaryOp::Sub, Some(x), Some(y)) => Some(cut(x.wrapping_sub(y))),
                    (BinaryOp::Eq, Some(x), Some(y)) => Some(u64::from(x == y)),
                    (BinaryOp::Ne, Some(x), Some(y)) => Some(u64::from(x != y)),
                    (BinaryOp::Lt, Some(x), Some(y)) => Some(u64::from(x < y)),
                    (BinaryOp::Le, Some(x), Some(y)) => Some(u64::from(x <= y)),
                    (BinaryOp::Gt, Some(x), Some(y)) => Some(u64::from(x > y)),
                    (BinaryOp::Ge, Some(x), Some(y)) => Some(u64::from(x >= y)),
                    (BinaryOp::Concat, Some(x), Some(y)) if b.ty.width() < 64 => Some(x << b.ty.width() | y),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Records the outcome of a condition.
    pub(crate) fn assume(&mut self, cond: &Expr, truth: bool) {
        match &cond.kind {
            ExprKind::Slot(slot) => self.flow.set(*slot, u64::from(truth)),
            ExprKind::Cast(a) if a.ty == Type::Bits(1) || a.ty == Type::Bool => {
                if let ExprKind::Slot(slot) = a.kind {
                    self.flow.set(slot, u64::from(truth));
                }
            }
            ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                let equal = (*op == BinaryOp::Eq) == truth;
                for (slot, constant) in [(a, b), (b, a)] {
                    let (ExprKind::Slot(slot), Some(v)) = (&slot.kind, constant.as_const()) else { continue };
                    self.assume_value(*slot, constant.ty, v.to_u64(), equal);
                }
            }
            _ => {}
        }
    }

    /// Records that a slot has a value, or does not have it.
    pub(crate) fn assume_value(&mut self, slot: SlotId, ty: Type, value: Option<u64>, equal: bool) {
        match value {
            // Known values are one word; a wider slot's value cannot be recorded.
            Some(v) if equal && ty.width() <= 64 => self.flow.set(slot, v),
            Some(v) if ty.width() == 1 => self.flow.set(slot, v ^ 1),
            _ => {}
        }
    }

    /// Forgets the values of a header's fields.
    pub(crate) fn forget_fields(&mut self, header: HeaderId) {
        for field in &self.p[header].fields {
            self.flow.forget(field.slot);
        }
    }

    /// The address of a root.
    pub(crate) fn root(&mut self, root: Root) -> Value {
        match &self.mode {
            Mode::Trace(build) => build.roots[root.0 as usize],
            _ => self.load_frame(root.place()),
        }
    }

    /// Makes an address a root.
    pub(crate) fn new_root(&mut self, address: Value) -> At {
        let root = Root(self.new_words(1));
        self.store_frame(root.place(), address);
        self.keep_root(root);
        At { root, offset: 0 }
    }

    /// Allocates words in the frame and returns the number of the first.
    pub(crate) fn new_words(&mut self, words: u32) -> u32 {
        let first = self.roots;
        self.roots += words;
        let needed = Root::place_of(self.roots) as u32;
        let data = &mut self.b.func.sized_stack_slots[self.frame];
        data.size = data.size.max(needed);
        first
    }

    /// In traces, a root is loaded only once. The load hides the root's computation from Cranelift, which would
    /// otherwise fold it into addresses and keep its operands alive.
    pub(crate) fn keep_root(&mut self, root: Root) {
        if self.is_trace() {
            let address = self.load_frame(root.place());
            if let Mode::Trace(build) = &mut self.mode {
                build.roots.resize(root.0 as usize + 1, address);
                build.roots[root.0 as usize] = address;
            }
        }
    }

    /// The value of an address.
    pub(crate) fn address(&mut self, at: At) -> Value {
        let root = self.root(at.root);
        match at.offset {
            0 => root,
            offset => self.b.ins().iadd_imm_s(root, i64::from(offset)),
        }
    }

    /// The parser's cursor. If it is not known, it becomes a root.
    pub(crate) fn cursor_at(&mut self) -> At {
        if let Some(at) = self.flow.cursor {
            return at;
        }
        let v = self.b.use_var(self.cursor);
        let at = self.new_root(v);
        self.flow.cursor = Some(at);
        at
    }

    /// Sets the parser's cursor.
    pub(crate) fn set_cursor(&mut self, at: At) {
        let v = self.address(at);
        self.b.def_var(self.cursor, v);
        self.flow.cursor = Some(at);
    }

    /// Whether a header is known to be valid or invalid.
    pub(crate) fn known_valid(&self, header: HeaderId) -> Option<bool> {
        self.flow.value(self.p[header].valid).map(|v| v != 0)
    }
}
