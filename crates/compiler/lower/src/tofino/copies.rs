//! Copies that the traffic manager makes or leaves out: the copy to the CPU, and multicast copies that exclusion ids exclude.
//!
//! The copy to the CPU is a clone of the packet as ingress deparsed it. It is made where the first pass ends and goes to the session
//! [`CPU_SESSION`], which the control plane leads to the CPU's port.
//!
//! Multicast copies are excluded by two registers of the control plane. `level1_exclusion` has by replication id the exclusion id of a
//! node, with a bit above it if there is one: the node receives no packet with this id. `level2_exclusion` has a bit by exclusion id
//! and port: the port receives no packet with this id whose `rid` is the node's replication id, or that in `global_rid`, with a bit above it.

use hopwright_ir::InstanceType;
use hopwright_ir::{BinaryOp, DROP_PORT, Expr, ExternArg, ExternFn, ExternId, SlotId, StmtKind, Type};
use hopwright_sema::architecture::ParamRole;
use hopwright_source::Span;

use super::{COPIED_TO_CPU, PORT, Pipe, Slots, bit, member_of};
use crate::value::{binary, compare, not};
use crate::{Lowering, Result};

/// The clone session of copies to the CPU. Mirror sessions of programs have ten bits.
const CPU_SESSION: u32 = 1024;
/// The bit of a cell of `level1_exclusion` that says that there is an exclusion id.
const EXCLUDES: u32 = 1 << 16;

/// The registers of exclusion ids, where programs use such ids.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exclusion {
    level1: Option<ExternId>,
    /// With the register of the replication id that is that of all nodes.
    level2: Option<(ExternId, ExternId)>,
}

impl Lowering<'_> {
    /// The slot of a member of the traffic manager's metadata, if ingress of a pipe ever writes it.
    fn written_for_tm(&self, pipe: &Pipe, name: &str) -> Option<SlotId> {
        let slot = member_of(self, &pipe.storage, &pipe.types, ParamRole::IngressForTm, name)?;
        self.writes(pipe, slot).then_some(slot)
    }

    /// Whether a pipe's packets may be copied to the CPU.
    pub(super) fn copies_to_cpu(&self, pipe: &Pipe) -> bool {
        self.written_for_tm(pipe, "copy_to_cpu").is_some()
    }

    /// Decides whether a packet that ingress has finished is copied to the CPU, and lets one that goes nowhere else be sent, so that there
    /// is something to copy.
    pub(super) fn decide_cpu_copy(&mut self, slots: &Slots, pipe: &Pipe, drop_ctl: Option<Expr>, span: Span) {
        let Some(wanted) = self.written_for_tm(pipe, "copy_to_cpu") else { return };
        let standard = self.standard_metadata();
        let both = |a, b| binary(BinaryOp::LogicalAnd, a, b, Type::Bool, span);
        let wanted = both(self.is(wanted, 1, span), not(bit(drop_ctl, 1, span), span));
        let alone = self.is(standard.egress_spec, DROP_PORT, span);
        let one =
            |this: &mut Self, slot| this.emit(StmtKind::Assign(slot, Expr::constant(1u32, Type::Bits(1), span)), span);
        let then = self.nested(|this| {
            one(this, slots.cpu_copy);
            let send = this.nested(|this| {
                one(this, slots.cpu_only);
                this.emit(StmtKind::Assign(standard.egress_spec, Expr::constant(0u32, PORT, span)), span);
                Ok(())
            })?;
            this.branch(alone, send, Vec::new(), span);
            Ok(())
        });
        if let Ok(then) = then {
            self.branch(wanted, then, Vec::new(), span);
        }
    }

    /// At the end of the first pass: makes the copy. What goes nowhere else ends here.
    pub(super) fn copy_to_cpu(&mut self, slots: &Slots, otherwise: hopwright_ir::Block, span: Span) -> Result<()> {
        let standard = self.standard_metadata();
        let copy = self.nested(|this| {
            let session = Expr::constant(CPU_SESSION, Type::Bits(32), span);
            let function = ExternFn::Clone { egress: true, field_list: Some(COPIED_TO_CPU) };
            this.extern_call(function, vec![ExternArg::In(session)], span);
            Ok(())
        })?;
        // Not for each copy of a group, and not for the copy itself.
        let is = |this: &Self, which: InstanceType| this.is(standard.instance_type, which as u32, span);
        let (multicast, own) = (is(self, InstanceType::Replication), is(self, InstanceType::EgressClone));
        let other = binary(BinaryOp::LogicalOr, multicast.clone(), own, Type::Bool, span);
        let wanted = self.is(slots.cpu_copy, 1, span);
        let wanted = binary(BinaryOp::LogicalAnd, wanted, not(other, span), Type::Bool, span);
        self.branch(wanted, copy, Vec::new(), span);
        let only =
            binary(BinaryOp::LogicalAnd, self.is(slots.cpu_only, 1, span), not(multicast, span), Type::Bool, span);
        let drop = self.dropped(span)?;
        self.branch(only, drop, otherwise, span);
        Ok(())
    }

    /// Drops a packet in egress.
    fn dropped(&mut self, span: Span) -> Result<hopwright_ir::Block> {
        let spec = self.standard_metadata().egress_spec;
        self.nested(|this| {
            this.emit(StmtKind::Assign(spec, Expr::constant(DROP_PORT, PORT, span)), span);
            Ok(())
        })
    }

    /// Adds the registers of exclusion ids that programs use.
    pub(super) fn exclusion(&mut self, pipes: &[Pipe], span: Span) -> Exclusion {
        let uses = |this: &Self, name| pipes.iter().any(|pipe| this.written_for_tm(pipe, name).is_some());
        let (first, second) = (uses(self, "level1_exclusion_id"), uses(self, "level2_exclusion_id"));
        Exclusion {
            level1: first.then(|| self.concurrent_register("level1_exclusion", 1 << 16, Type::Bits(17), span)),
            level2: second.then(|| {
                let excluded = self.concurrent_register("level2_exclusion", 1 << 18, Type::Bits(1), span);
                (excluded, self.concurrent_register("global_rid", 1, Type::Bits(17), span))
            }),
        }
    }

    /// Where a copy of a group is sent: drops it if an exclusion id says so.
    pub(super) fn excluded(
        &mut self,
        slots: &Slots,
        pipes: &[Pipe],
        exclusion: Exclusion,
        otherwise: hopwright_ir::Block,
        span: Span,
    ) -> Result<hopwright_ir::Block> {
        let standard = self.standard_metadata();
        let either = |a, b| binary(BinaryOp::LogicalOr, a, b, Type::Bool, span);
        let both = |a, b| binary(BinaryOp::LogicalAnd, a, b, Type::Bool, span);
        self.nested(|this| {
            let mut excluded = Expr::boolean(false, span);
            for pipe in pipes {
                let mut here = Expr::boolean(false, span);
                let id = this.written_for_tm(pipe, "level1_exclusion_id");
                if let (Some(register), Some(id)) = (exclusion.level1, id) {
                    let node = this.temp(Type::Bits(17), span);
                    let index = this.slot_expr(standard.egress_rid, span);
                    let index = this.cast(index, Type::Bits(32), span)?;
                    let args = vec![ExternArg::Out(node), ExternArg::In(index)];
                    this.extern_call(ExternFn::RegisterRead(register), args, span);
                    let id = this.slot_expr(id, span);
                    let id = this.cast(id, Type::Bits(17), span)?;
                    let valid = Expr::constant(EXCLUDES, Type::Bits(17), span);
                    let wanted = binary(BinaryOp::Or, id, valid, Type::Bits(17), span);
                    here = either(here, compare(this.slot_expr(node, span), wanted, span));
                }
                let id = this.written_for_tm(pipe, "level2_exclusion_id");
                if let (Some((register, global)), Some(id)) = (exclusion.level2, id) {
                    let pruned = this.temp(Type::Bits(1), span);
                    let (id, port) = (this.slot_expr(id, span), this.slot_expr(standard.egress_port, span));
                    let index = binary(BinaryOp::Concat, id, port, Type::Bits(18), span);
                    let index = this.cast(index, Type::Bits(32), span)?;
                    let args = vec![ExternArg::Out(pruned), ExternArg::In(index)];
                    this.extern_call(ExternFn::RegisterRead(register), args, span);
                    let mut prunes = this.is(pruned, 1, span);
                    if let Some(rid) = member_of(this, &pipe.storage, &pipe.types, ParamRole::IngressForTm, "rid") {
                        let rid = this.slot_expr(rid, span);
                        let same = compare(rid.clone(), this.slot_expr(standard.egress_rid, span), span);
                        let everywhere = this.is_global_rid(global, rid, span)?;
                        prunes = both(either(same, everywhere), prunes);
                    }
                    here = either(here, prunes);
                }
                let in_pipe = pipe.numbers.iter().map(|n| this.is(slots.pipe, *n, span)).reduce(either);
                if let Some(in_pipe) = in_pipe {
                    here = both(in_pipe, here);
                }
                excluded = either(excluded, here);
            }
            let multicast = this.is(standard.instance_type, InstanceType::Replication as u32, span);
            let drop = this.dropped(span)?;
            this.branch(both(multicast, excluded), drop, otherwise, span);
            Ok(())
        })
    }

    /// Whether a packet's replication id is the one that counts for all nodes.
    fn is_global_rid(&mut self, register: ExternId, rid: Expr, span: Span) -> Result<Expr> {
        let (ty, global) = (Type::Bits(17), self.temp(Type::Bits(17), span));
        let first = Expr::constant(0u32, Type::Bits(32), span);
        self.extern_call(ExternFn::RegisterRead(register), vec![ExternArg::Out(global), ExternArg::In(first)], span);
        let rid = self.cast(rid, ty, span)?;
        let wanted = binary(BinaryOp::Or, rid, Expr::constant(EXCLUDES, ty, span), ty, span);
        Ok(compare(self.slot_expr(global, span), wanted, span))
    }

    /// Whether a program excludes copies.
    pub(super) fn excludes(exclusion: Exclusion) -> bool {
        exclusion.level1.is_some() || exclusion.level2.is_some()
    }
}
