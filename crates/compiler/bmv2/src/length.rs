//! `packet_length` in egress: simple_switch adds the headers that `add_header` has added by then, and subtracts those that
//! `remove_header` has removed. A field of variable length does not count.

use hopwright_ir::{BinaryOp, HeaderId, SlotKind, Span, Stmt, StmtKind, Type, UnaryOp};

use crate::number::{binary, unary};
use crate::{Reader, constant};

const LENGTH: &str = "packet_length";

impl Reader<'_> {
    /// Keeps account of the length if an action, a key or a condition names it.
    pub(crate) fn note_length(&mut self) {
        let json = self.json;
        let mut primitives = json.actions.iter().flat_map(|action| &action.primitives);
        let in_actions = primitives.any(|call| call.parameters.iter().any(|value| value.to_string().contains(LENGTH)));
        let in_pipelines = json.pipelines.iter().any(|pipeline| {
            pipeline.tables.iter().flat_map(|table| &table.key).any(|key| key.target.to_string().contains(LENGTH))
                || pipeline.conditionals.iter().any(|node| node.expression.to_string().contains(LENGTH))
        });
        if in_actions || in_pipelines {
            self.length_change = Some(self.new_slot("$length_change", Type::Bits(32), SlotKind::Metadata));
        }
    }

    /// Counts a header that is about to become valid (`Add`) or invalid (`Sub`), if it is not so already.
    pub(crate) fn change_length(&mut self, header: HeaderId, op: BinaryOp) {
        let Some(slot) = self.length_change else { return };
        let valid = self.slot_expr(self.p[header].valid);
        let cond = if op == BinaryOp::Add { unary(UnaryOp::Not, valid) } else { valid };
        let bytes = constant(self.p[header].fixed_bits / 8, 32);
        let value = binary(op, self.slot_expr(slot), bytes, Type::Bits(32));
        let then = vec![Stmt { kind: StmtKind::Assign(slot, value), span: Span::none() }];
        self.emit(StmtKind::If { cond, then, otherwise: Vec::new() });
    }

    /// At the beginning of egress.
    pub(crate) fn set_length(&mut self) {
        let Some(slot) = self.length_change else { return };
        let length = self.p.standard.packet_length;
        let value = binary(BinaryOp::Add, self.slot_expr(length), self.slot_expr(slot), Type::Bits(32));
        self.emit(StmtKind::Assign(length, value));
    }
}
