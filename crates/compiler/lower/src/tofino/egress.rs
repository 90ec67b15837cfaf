//! Egress of Tofino's pipes: a pass through their egress controls, how packets leave, and deparsers.

use std::rc::Rc;

use hopwright_ir::{
    BinaryOp, Block, DROP_PORT, Expr, ExprKind, ExternArg, ExternFn, ExternId, InstanceType, SlotId, StmtKind, Type,
};
use hopwright_sema::architecture::ParamRole;
use hopwright_source::Span;

use super::prefix::Prefix;
use super::{LOOPBACK, PORT, Pipe, Slots, TO_EGRESS, TO_INGRESS, bit, cases_of, member_of, request};
use crate::value::{binary, compare, mux, not, slice};
use crate::{Lowering, Reported, Result};

impl Lowering<'_> {
    /// What is in front of a packet that egress parses: as ingress sent it; then for each header of a `Mirror` object.
    pub(super) fn egress_prefixes(&mut self, slots: &Slots, span: Span) -> Vec<Rc<Prefix>> {
        let standard = self.standard_metadata();
        let mirrors = self.requests.as_ref().map(|r| r.mirrors.clone()).unwrap_or_default();
        let headers = std::iter::once(Vec::new()).chain(mirrors);
        let tofino2 = self.is_tofino2();
        headers
            .map(|header| {
                let mut prefix = Prefix::default();
                let zero = |width| Expr::constant(0u32, Type::Bits(width), span);
                let slot = |slot| self.slot_expr(slot, span);
                let queue_bits = if tofino2 { 7 } else { 5 };
                let time_bits = if tofino2 { 32 } else { 18 };
                let time = self.nanoseconds(standard.ingress_global_timestamp, time_bits, span);
                prefix.push(zero(7));
                prefix.push(slot(slots.port));
                prefix.push(zero(5));
                prefix.push(slot(slots.depth));
                prefix.push(zero(8));
                prefix.push(zero(32 - time_bits));
                prefix.push(time);
                prefix.push(zero(5));
                prefix.push(slot(slots.depth));
                prefix.push(zero(8 + 8 + 32));
                prefix.push(slot(slots.rid));
                prefix.push(zero(8 + 8 - queue_bits));
                prefix.push(slice(slot(slots.queue), queue_bits - 1, span));
                prefix.push(zero(5));
                prefix.push(slot(slots.class));
                prefix.push(zero(8));
                let length = slice(slot(standard.packet_length), 15, span);
                prefix.push(length);
                if tofino2 {
                    prefix.push(zero(8));
                }
                header.iter().for_each(|slot| prefix.push(self.bits_of_slot(*slot, span)));
                Rc::new(prefix)
            })
            .collect()
    }

    pub(super) fn pipes_egress(
        &mut self,
        slots: &Slots,
        pipes: &[Pipe],
        loopback: ExternId,
        span: Span,
    ) -> Result<Block> {
        let standard = self.standard_metadata();
        let Some(requests) = &self.requests else { return Err(Reported) };
        let mirror = requests.mirror;
        let on_the_way = |this: &mut Self| {
            for (slot, from) in [
                (slots.port, standard.egress_port),
                (slots.rid, standard.egress_rid),
                (slots.depth, standard.enq_qdepth),
            ] {
                let value = this.slot_expr(from, span);
                this.emit(StmtKind::Assign(slot, value), span);
            }
            this.emit(StmtKind::Assign(slots.phase, Expr::constant(1u32, Type::Bits(1), span)), span);
            this.extern_call(ExternFn::Recirculate(TO_EGRESS), Vec::new(), span);
        };
        let headers = requests.mirrors.clone();
        let mirrored = self.nested(|this| {
            this.count_header(mirror, &headers, span);
            let which = this.slot_expr(mirror, span);
            this.emit(StmtKind::Assign(slots.prefix, which), span);
            on_the_way(this);
            Ok(())
        })?;
        // A packet, or a copy of a group, on its way to the second pass.
        let normal = self.nested(|this| {
            this.emit(StmtKind::Assign(slots.prefix, Expr::constant(0u32, Type::Bits(8), span)), span);
            on_the_way(this);
            Ok(())
        })?;
        let leaves = self.nested(|this| this.leave(slots, standard.egress_port, loopback, span))?;
        let exclusion = self.exclusion(pipes, span);
        let cpu_copies = pipes.iter().any(|pipe| self.copies_to_cpu(pipe));
        let ends = |this: &mut Self, otherwise: Block| {
            let otherwise = match Lowering::excludes(exclusion) {
                true => this.excluded(slots, pipes, exclusion, otherwise, span)?,
                false => otherwise,
            };
            match cpu_copies {
                true => this.nested(|this| this.copy_to_cpu(slots, otherwise, span)),
                false => Ok(otherwise),
            }
        };
        if slots.single {
            // A copy to the CPU ends like any packet.
            return ends(self, leaves);
        }
        let bypasses = self.is(slots.bypass, 1, span);
        let first = self.nested(|this| {
            if slots.always_bypass {
                this.block.extend(leaves);
            } else {
                this.branch(bypasses, leaves, normal, span);
            }
            Ok(())
        })?;
        let first = ends(self, first)?;
        let mut passes = Vec::new();
        for pipe in pipes {
            passes.push(self.nested(|this| this.egress_of(slots, pipe, loopback, span))?);
        }
        let second = self.by_pipe(slots, pipes, passes, span)?;
        self.nested(|this| {
            let first_pass = this.is(slots.pass, 0, span);
            let whole = this.nested(|this| {
                this.branch(first_pass, first, second, span);
                Ok(())
            })?;
            let is = |this: &Self, which: InstanceType| this.is(standard.instance_type, which as u32, span);
            let by_ingress = is(this, InstanceType::IngressClone);
            let by_egress = is(this, InstanceType::EgressClone);
            let copy = binary(BinaryOp::LogicalOr, by_ingress, by_egress, Type::Bool, span);
            this.branch(copy, mirrored, whole, span);
            Ok(())
        })
    }

    /// A session cuts a copy off behind a number of bytes that includes the header of its `Mirror` object.
    fn count_header(&mut self, mirror: SlotId, headers: &[Vec<SlotId>], span: Span) {
        let bytes = |header: &Vec<SlotId>| {
            header.iter().map(|slot| self.slots[slot.index()].ty.width()).sum::<u32>().div_ceil(8)
        };
        let widths: Vec<u32> = headers.iter().map(bytes).collect();
        if widths.iter().all(|bytes| *bytes == 0) {
            return;
        }
        let constant = |bytes| Expr::constant(bytes, Type::Bits(32), span);
        let counted = widths.iter().zip(1..).fold(constant(0u32), |otherwise, (bytes, number)| {
            mux(self.is(mirror, number, span), constant(*bytes), otherwise, span)
        });
        self.extern_call(ExternFn::CountHeader, vec![ExternArg::In(counted)], span);
    }

    /// Egress of a pipe, and what becomes of the packet then.
    fn egress_of(&mut self, slots: &Slots, pipe: &Pipe, loopback: ExternId, span: Span) -> Result<()> {
        use ParamRole::{EgressForDeparser, EgressFromParser};
        let standard = self.standard_metadata();
        let Some(requests) = &self.requests else { return Err(Reported) };
        let (mirror, session, mirrors) = (requests.mirror, requests.session, !requests.mirrors.is_empty());
        let body = self.with_errors(pipe, EgressFromParser, &pipe.egress, false, span)?;
        self.block.extend(body);
        let early = request::early(self, &pipe.egress_deparser);
        self.block.extend(early);
        self.truncate(pipe, EgressForDeparser, span)?;
        let drop_ctl = self.metadata(pipe, EgressForDeparser, "drop_ctl", span);
        if mirrors {
            self.mirror_if(mirror, session, drop_ctl.clone(), true, span)?;
        }
        let drop = self.nested(|this| {
            let port = Expr::constant(DROP_PORT, PORT, span);
            this.emit(StmtKind::Assign(standard.egress_spec, port), span);
            Ok(())
        })?;
        let leave = self.nested(|this| this.leave(slots, slots.port, loopback, span))?;
        self.branch(bit(drop_ctl, 0, span), drop, leave, span);
        Ok(())
    }

    /// What a deparser of Tofino 2 leaves is cut off behind `mtu_trunc_len` bytes, if the program sets it.
    pub(super) fn truncate(&mut self, pipe: &Pipe, role: ParamRole, span: Span) -> Result<()> {
        let length = member_of(self, &pipe.storage, &pipe.types, role, "mtu_trunc_len");
        let Some(length) = length.filter(|slot| self.writes(pipe, *slot)) else { return Ok(()) };
        let set = not(self.is(length, 0, span), span);
        let length = self.slot_expr(length, span);
        let cut = self.nested(|this| {
            let bytes = this.cast(length, Type::Bits(32), span)?;
            this.extern_call(ExternFn::Truncate, vec![ExternArg::In(bytes)], span);
            Ok(())
        })?;
        self.branch(set, cut, Vec::new(), span);
        Ok(())
    }

    /// A packet leaves at a port, or comes back where the port leads to.
    fn leave(&mut self, slots: &Slots, port: SlotId, loopback: ExternId, span: Span) -> Result<()> {
        let to = self.temp(Type::Bits(16), span);
        self.emit(StmtKind::Assign(to, Expr::constant(0u32, Type::Bits(16), span)), span);
        let out = self.slot_expr(port, span);
        let args = vec![ExternArg::Out(to), ExternArg::In(out.clone())];
        self.extern_call(ExternFn::RegisterRead(loopback), args, span);
        // The recirculation ports of each pipe.
        let (hi, lo, which) = if self.is_tofino2() { (6, 1, 6u32 >> 1) } else { (6, 2, 68 >> 2) };
        let ty = Type::Bits(hi - lo + 1);
        let group = Expr { kind: ExprKind::Slice { arg: Box::new(out.clone()), hi, lo }, ty, span };
        let recirculates = compare(group, Expr::constant(which, ty, span), span);
        let to = self.slot_expr(to, span);
        let unset = compare(to.clone(), Expr::constant(0u32, to.ty, span), span);
        let recirculates = binary(BinaryOp::LogicalAnd, recirculates, unset, Type::Bool, span);
        let wired = binary(BinaryOp::Ge, to.clone(), Expr::constant(LOOPBACK, to.ty, span), Type::Bool, span);
        let entered = mux(wired.clone(), slice(to, 8, span), out, span);
        let back = self.nested(|this| {
            let one = |ty| Expr::constant(1u32, ty, span);
            this.emit(StmtKind::Assign(slots.port, entered), span);
            this.emit(StmtKind::Assign(slots.again, one(Type::Bits(1))), span);
            this.emit(StmtKind::Assign(slots.phase, Expr::constant(0u32, Type::Bits(1), span)), span);
            this.emit(StmtKind::Assign(slots.prefix, Expr::constant(0u32, Type::Bits(8), span)), span);
            this.extern_call(ExternFn::Recirculate(TO_INGRESS), Vec::new(), span);
            Ok(())
        })?;
        let again = binary(BinaryOp::LogicalOr, wired, recirculates, Type::Bool, span);
        self.branch(again, back, Vec::new(), span);
        Ok(())
    }

    pub(super) fn pipes_deparser(&mut self, slots: &Slots, pipes: &[Pipe], span: Span) -> Result<()> {
        let standard = self.standard_metadata();
        let copy = self.is(standard.instance_type, InstanceType::EgressClone as u32, span);
        let to_cpu = self.is(slots.cpu_copy, 1, span);
        let copy = binary(BinaryOp::LogicalAnd, copy, not(to_cpu, span), Type::Bool, span);
        let second = binary(BinaryOp::LogicalOr, copy, self.is(slots.pass, 1, span), Type::Bool, span);
        let as_received = self.is(standard.instance_type, InstanceType::IngressClone as u32, span);
        let ingress = pipes.iter().map(|p| request::late(&p.ingress_deparser)).collect();
        let egress = pipes.iter().map(|p| request::late(&p.egress_deparser)).collect();
        let ingress = self.deparser_by_pipe(slots, pipes, ingress, span)?;
        if slots.single {
            self.block.extend(ingress);
            return Ok(());
        }
        let egress = self.deparser_by_pipe(slots, pipes, egress, span)?;
        let ingress = self.nested(|this| {
            this.branch(not(as_received, span), ingress, Vec::new(), span);
            Ok(())
        })?;
        self.branch(second, egress, ingress, span);
        Ok(())
    }

    fn deparser_by_pipe(&mut self, slots: &Slots, pipes: &[Pipe], mut blocks: Vec<Block>, span: Span) -> Result<Block> {
        if pipes.len() == 1 {
            return Ok(blocks.remove(0));
        }
        self.nested(|this| {
            let value = this.slot_expr(slots.pipe, span);
            let cases = cases_of(pipes, blocks);
            this.emit(StmtKind::Switch { value, cases, default: Vec::new() }, span);
            Ok(())
        })
    }
}
