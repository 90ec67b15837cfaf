//! Ghost threads of Tofino 2: controls that run for what the traffic manager reports of its queues.
//!
//! There is no such traffic manager here, so that nothing is reported by itself: `ghost_intrinsic_metadata_t` of packets is zero. A packet that
//! enters at the port [`DROP_PORT`], which no other packet has, is a report: it consists of that header, the ghost thread of its pipe
//! runs, and the packet is dropped.

use hopwright_ir::{Block, DROP_PORT, Expr, StmtKind, Type};
use hopwright_sema::architecture::ParamRole;
use hopwright_source::Span;

use super::{PORT, Pipe, Slots, member_of};
use crate::storage::Place;
use crate::value::{binary, compare};
use crate::{Lowering, Reported, Result};

impl Lowering<'_> {
    /// The parser's statements for a report.
    pub(super) fn report_for_ghosts(&mut self, pipes: &[Pipe], span: Span) -> Result<Block> {
        self.nested(|this| {
            for place in pipes.iter().filter_map(|pipe| pipe.storage.get(&ParamRole::GhostIntrinsic)) {
                let Place::Header(header) = place else { return Err(Reported) };
                let model = &this.headers[header.index()];
                let parts = model.fields.iter().map(|f| (f.slot, f.offset_bits)).collect();
                let total_bits = model.fixed_bits;
                this.emit(StmtKind::SetValid(*header), span);
                this.emit(StmtKind::Lookahead { total_bits, parts }, span);
            }
            Ok(())
        })
    }

    /// Ingress of packets, or the ghost threads of a report.
    pub(super) fn or_ghosts(&mut self, slots: &Slots, pipes: &[Pipe], ingress: Block, span: Span) -> Result<Block> {
        if pipes.iter().all(|pipe| pipe.ghost.is_none()) {
            return Ok(ingress);
        }
        let standard = self.standard_metadata();
        let ghosts = self.nested(|this| {
            for pipe in pipes {
                let Some(ghost) = pipe.ghost.clone() else { continue };
                let id = member_of(this, &pipe.storage, &pipe.types, ParamRole::GhostIntrinsic, "pipe_id");
                let either = |a, b| binary(hopwright_ir::BinaryOp::LogicalOr, a, b, Type::Bool, span);
                let here = pipe.numbers.iter().filter_map(|n| Some(this.is(id?, *n, span))).reduce(either);
                match here {
                    Some(here) => this.branch(here, ghost, Vec::new(), span),
                    None => this.block.extend(ghost),
                }
            }
            Ok(())
        })?;
        let report = self.nested(|this| {
            let error = this.slot_expr(standard.parser_error, span);
            let whole = compare(error, Expr::constant(0u32, Type::Bits(16), span), span);
            this.branch(whole, ghosts, Vec::new(), span);
            let none = Expr::constant(DROP_PORT, PORT, span);
            this.emit(StmtKind::Assign(standard.egress_spec, none), span);
            Ok(())
        })?;
        self.nested(|this| {
            let is = this.is(slots.port, DROP_PORT, span);
            this.branch(is, report, ingress, span);
            Ok(())
        })
    }
}
