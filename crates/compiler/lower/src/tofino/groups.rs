//! Multicast groups of packets: group 0, and what a packet of a group is sent to besides.
//!
//! The device replicates a packet once ingress has written `mcast_grp_a` or `mcast_grp_b`, whatever the number. The IR knows by a zero
//! that there is no group, so that group 0 has another number there: [`GROUP_ZERO`].

use hopwright_ir::{BinaryOp, Block, DROP_PORT, Expr, ExternArg, ExternFn, SlotKind, Stmt, StmtKind, Type, walk};
use hopwright_sema::architecture::ParamRole;
use hopwright_source::Span;

use super::request::assigns;
use super::request_types::note_writes;
use super::{Pipe, SlotSet, member_of};
use crate::value::{binary, compare, mux, not};
use crate::{Lowering, Result};

/// The number of group 0: that of a clone session behind those of programs and the CPU's.
const GROUP_ZERO: u32 = 0x8000 + 1025;

impl Lowering<'_> {
    /// Notes in a slot whether ingress of a pipe writes a group, if it may write 0.
    pub(super) fn note_groups(&mut self, pipe: &mut Pipe, span: Span) {
        let group = |name| member_of(self, &pipe.storage, &pipe.types, ParamRole::IngressForTm, name);
        let groups: SlotSet = ["mcast_grp_a", "mcast_grp_b"].into_iter().filter_map(group).collect();
        let states = pipe.parsers[0].states.iter().map(|state| &state.body);
        let actions = self.actions.iter().map(|action| &action.body);
        if !std::iter::once(&pipe.ingress).chain(states).chain(actions).any(|block| may_write_zero(block, &groups)) {
            return;
        }
        let written = self.new_slot("tofino.group_written", Type::Bool, SlotKind::Metadata, span);
        pipe.writes_group = Some(written);
        let states = pipe.parsers[0].states.iter_mut().map(|state| &mut state.body);
        let actions = self.actions.iter_mut().map(|action| &mut action.body);
        for block in std::iter::once(&mut pipe.ingress).chain(states).chain(actions) {
            note_writes(block, &groups, written);
        }
    }

    /// The number of a packet's group in the IR. Group 0 is that of packets that go to no port.
    pub(super) fn group_or_zero(&self, pipe: &Pipe, group: Expr, span: Span) -> Expr {
        let Some(written) = pipe.writes_group else { return group };
        let both = |a, b| binary(BinaryOp::LogicalAnd, a, b, Type::Bool, span);
        let zero = compare(group.clone(), Expr::constant(0u32, Type::Bits(16), span), span);
        let nowhere = self.is(self.standard_metadata().egress_spec, DROP_PORT, span);
        let is_zero = both(both(self.slot_expr(written, span), zero), nowhere);
        mux(is_zero, Expr::constant(GROUP_ZERO, Type::Bits(16), span), group, span)
    }

    /// A packet of a group goes to the second group, too, and to its port or, because of the copy to the CPU, past it.
    pub(super) fn replicate_further(&mut self, pipe: &Pipe, span: Span) -> Result<()> {
        let standard = self.standard_metadata();
        let (short, long) = (Type::Bits(16), Type::Bits(32));
        let group = |this: &Self, name| this.metadata(pipe, ParamRole::IngressForTm, name, span);
        let (Some(first), second) = (group(self, "mcast_grp_a"), group(self, "mcast_grp_b")) else { return Ok(()) };
        let zero = Expr::constant(0u32, short, span);
        // A second group that has taken the place of the first one is not there twice.
        let taken = compare(first, zero.clone(), span);
        let second = second.map_or(zero.clone(), |second| mux(taken, zero.clone(), second, span));
        let nowhere = self.is(standard.egress_spec, DROP_PORT, span);
        let port = mux(nowhere, zero, Expr::constant(1u32, short, span), span);
        let further = binary(BinaryOp::Concat, port, second, long, span);
        let there = not(compare(further.clone(), Expr::constant(0u32, long, span), span), span);
        let replicate = self.nested(|this| {
            this.extern_call(ExternFn::Replicate, vec![ExternArg::In(further)], span);
            Ok(())
        })?;
        let replicate = self.nested(|this| {
            this.branch(there, replicate, Vec::new(), span);
            Ok(())
        })?;
        let in_group = not(self.is(standard.mcast_grp, 0, span), span);
        self.branch(in_group, replicate, Vec::new(), span);
        Ok(())
    }
}

/// Whether a block assigns something to a slot that is not known to be another number than zero.
fn may_write_zero(block: &Block, slots: &SlotSet) -> bool {
    let mut found = false;
    walk::stmts(block, &mut |stmt: &Stmt| {
        let known =
            matches!(&stmt.kind, StmtKind::Assign(_, value) if value.as_const().is_some_and(|v| v.count_ones() > 0));
        found |= assigns(stmt, slots) && !known;
    });
    found
}
