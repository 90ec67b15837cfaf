//! Ingress of Tofino's pipes: what their parsers begin with, and a pass through their ingress controls.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use hopwright_ir::{
    BinaryOp, Block, DROP_PORT, Expr, ExprKind, ExternArg, ExternFn, InstanceType, KeySet, Parser, SelectCase, SlotId,
    State, StateId, StmtKind, Target, Transition, Type,
};
use hopwright_sema::architecture::ParamRole;
use hopwright_source::Span;
use num_traits::ToPrimitive;

use super::prefix::{Prefix, Product};
use super::{PORT, Pipe, Slots, TO_INGRESS, bit, member_of, request};
use crate::two_passes::number;
use crate::value::{binary, compare, mux, not};
use crate::{Lowering, Reported, Result};

/// Bits of `ingress_intrinsic_metadata_t`.
const INTRINSIC: u32 = 64;

impl Lowering<'_> {
    /// One parser of all pipes' parsers.
    pub(super) fn parsers_of(&mut self, slots: &Slots, pipes: &[Pipe], span: Span) -> Result<Parser> {
        let standard = self.standard_metadata();
        let begin = self.nested(|this| {
            let phase = this.slot_expr(slots.phase, span);
            this.emit(StmtKind::Assign(slots.pass, phase), span);
            let received = this.slot_expr(standard.ingress_port, span);
            let kept = this.slot_expr(slots.port, span);
            let first = binary(
                BinaryOp::LogicalAnd,
                this.is(slots.phase, 0, span),
                this.is(slots.again, 0, span),
                Type::Bool,
                span,
            );
            this.emit(StmtKind::Assign(slots.port, mux(first, received, kept, span)), span);
            if let Some((register, slot)) = this.requests.as_ref().and_then(|r| r.port_metadata) {
                let port = this.slot_expr(slots.port, span);
                let args = vec![ExternArg::Out(slot), ExternArg::In(port)];
                this.extern_call(ExternFn::RegisterRead(register), args, span);
            }
            if pipes.iter().any(|pipe| !pipe.numbers.is_empty()) {
                let port = Box::new(this.slot_expr(slots.port, span));
                let pipe = Expr { kind: ExprKind::Slice { arg: port, hi: 8, lo: 7 }, ty: Type::Bits(2), span };
                this.emit(StmtKind::Assign(slots.pipe, pipe), span);
            }
            Ok(())
        })?;
        let no_match = self.program.errors.iter().position(|e| e == "NoMatch").unwrap_or(0);
        let reject = self.nested(|this| {
            let error = Expr::constant(no_match, Type::Bits(16), span);
            this.emit(StmtKind::Verify(Expr::boolean(false, span), error), span);
            Ok(())
        })?;
        let accept = Transition::Goto(Target::Accept);
        let state = |name: String, body, transition| State { name, body, transition, span };
        let states =
            vec![state(self.unique("$pass"), begin, accept.clone()), state(self.unique("$no_match"), reject, accept)];
        let mut product = Product::new(states, Target::State(StateId(1)));

        let ingress = self.ingress_prefixes(slots, span);
        let egress = self.egress_prefixes(slots, span);
        let any = || KeySet::Any;
        let value = |n: usize| KeySet::Value(number(n as u32));
        let clone = KeySet::Value(number(InstanceType::IngressClone as u32));
        let case = |sets, target| SelectCase { sets, target, span };
        // A copy that goes to egress as it was received.
        let copy = case(vec![clone, any(), any(), any()], Target::Accept);
        let mut cases = if slots.single { Vec::new() } else { vec![copy] };
        for pipe in pipes {
            let which = match pipe.numbers.as_slice() {
                [] => vec![any()],
                numbers => numbers.iter().map(|n| value(*n as usize)).collect(),
            };
            let passes = [(0, &pipe.parsers[0], &ingress), (1, &pipe.parsers[1], &egress)];
            for (phase, parser, prefixes) in passes.into_iter().take(if slots.single { 1 } else { 2 }) {
                let skipped = if phase == 1 && !self.reads_prefix(parser) { prefixes[0].width() } else { 0 };
                let starts = product.add(self, parser, prefixes, skipped)?;
                let setup = self.nested(|this| {
                    this.before_parsing(phase == 0, pipe, span);
                    Ok(())
                })?;
                for (number, start) in starts.into_iter().enumerate() {
                    let id = StateId(product.states.len() as u32);
                    let name = self.unique(&format!("{}$start", parser.name));
                    product.states.push(state(name, setup.clone(), Transition::Goto(start)));
                    for pipe in &which {
                        cases.push(case(vec![any(), value(phase), pipe.clone(), value(number)], Target::State(id)));
                    }
                }
            }
        }
        let mut keys = vec![
            self.slot_expr(standard.instance_type, span),
            self.slot_expr(slots.phase, span),
            self.slot_expr(slots.pipe, span),
            self.slot_expr(slots.prefix, span),
        ];
        if pipes.iter().any(|pipe| pipe.ghost.is_some()) {
            let body = self.report_for_ghosts(pipes, span)?;
            let id = StateId(product.states.len() as u32);
            product.states.push(state(self.unique("$ghost"), body, Transition::Goto(Target::Accept)));
            keys.push(self.slot_expr(slots.port, span));
            cases.iter_mut().for_each(|case| case.sets.push(any()));
            let sets = vec![any(), value(0), any(), any(), KeySet::Value(number(DROP_PORT))];
            cases.insert(0, case(sets, Target::State(id)));
        }
        product.states[0].transition = match cases.as_slice() {
            [only] if slots.single => Transition::Goto(only.target),
            _ => Transition::Select { keys, cases },
        };
        let name = pipes[0].parsers[0].name.clone();
        let mut names = HashMap::new();
        for state in &mut product.states {
            let uses: &mut u32 = names.entry(state.name.clone()).or_default();
            *uses += 1;
            if *uses > 1 {
                state.name = format!("{}${uses}", state.name);
            }
        }
        Ok(Parser { name, states: product.states, start: StateId(0), span })
    }

    /// Sets what metadata are at first, and what parsers do not extract.
    fn before_parsing(&mut self, ingress: bool, pipe: &Pipe, span: Span) {
        let standard = self.standard_metadata();
        if ingress {
            let none = Expr::constant(DROP_PORT, PORT, span);
            self.set_member(pipe, ParamRole::IngressForTm, "ucast_egress_port", none, span);
            let time = self.nanoseconds(standard.ingress_global_timestamp, 48, span);
            self.set_member(pipe, ParamRole::IngressFromParser, "global_tstamp", time, span);
        } else {
            let time = self.nanoseconds(standard.ingress_global_timestamp, 48, span);
            self.set_member(pipe, ParamRole::EgressFromParser, "global_tstamp", time, span);
        }
    }

    /// Bits of port metadata.
    pub(super) fn port_metadata_bits(&self) -> u32 {
        if self.is_tofino2() { 192 } else { 64 }
    }

    /// Whether an ingress parser takes port metadata as they are in front of a packet that was received.
    pub(super) fn extracts_port_metadata(&self, parser: &Parser) -> bool {
        let metadata = INTRINSIC..INTRINSIC + self.port_metadata_bits();
        let (mut seen, mut todo) = (HashSet::new(), vec![(parser.start, 0)]);
        while let Some((id, start)) = todo.pop() {
            if start >= metadata.end || !seen.insert((id, start)) {
                continue;
            }
            let state = &parser.states[id.0 as usize];
            let (mut at, mut resubmitted) = (start, None);
            for stmt in &state.body {
                let (taken, part) = match &stmt.kind {
                    StmtKind::Extract { header, varbit_bits: None } => {
                        let header = &self.headers[header.index()];
                        let first = header.fields.iter().find(|field| at == 0 && field.offset_bits == 0);
                        resubmitted = resubmitted.or(first.map(|field| field.slot));
                        (header.fixed_bits, 0..header.fixed_bits)
                    }
                    StmtKind::Lookahead { parts, .. } => {
                        let end = |(slot, offset): &(SlotId, u32)| offset + self.slots[slot.index()].ty.width();
                        let first = parts.iter().map(|part| part.1).min().unwrap_or(0);
                        (0, first..parts.iter().map(end).max().unwrap_or(0))
                    }
                    StmtKind::Advance { bits, .. } => match bits.as_const().and_then(|bits| bits.to_u32()) {
                        Some(bits) => (bits, 0..0),
                        None => return false,
                    },
                    _ => (0, 0..0),
                };
                if at + part.start < metadata.end && at + part.end > metadata.start && !part.is_empty() {
                    return true;
                }
                at = at.saturating_add(taken);
            }
            let mut targets = Vec::new();
            match &state.transition {
                Transition::Goto(target) => targets.push(*target),
                Transition::Select { keys, cases } => {
                    // Headers of resubmissions are in the place of port metadata.
                    let flag = |key: &Expr| matches!(key.kind, ExprKind::Slot(slot) if Some(slot) == resubmitted);
                    let by_flag = matches!(keys.as_slice(), [key] if flag(key));
                    let again = |sets: &[KeySet]| matches!(sets, [KeySet::Value(value)] if *value == number(1));
                    let taken = cases.iter().filter(|case| !by_flag || !again(&case.sets));
                    targets.extend(taken.map(|case| case.target));
                }
            }
            todo.extend(targets.into_iter().filter_map(|target| match target {
                Target::State(next) => Some((next, at)),
                _ => None,
            }));
        }
        false
    }

    /// What is in front of a packet that ingress parses: as received; then for each header of a `Resubmit` object.
    fn ingress_prefixes(&mut self, slots: &Slots, span: Span) -> Vec<Rc<Prefix>> {
        let standard = self.standard_metadata();
        let metadata_bits = self.port_metadata_bits();
        let resubmits = self.requests.as_ref().map(|r| r.resubmits.clone()).unwrap_or_default();
        let port_metadata = self.requests.as_ref().and_then(|r| r.port_metadata);
        let headers = std::iter::once(None).chain(resubmits.into_iter().map(Some));
        headers
            .map(|header| {
                let mut prefix = Prefix::default();
                let zero = |width| Expr::constant(0u32, Type::Bits(width), span);
                prefix.push(Expr::constant(u32::from(header.is_some()), Type::Bits(1), span));
                prefix.push(zero(6));
                prefix.push(self.slot_expr(slots.port, span));
                prefix.push(self.nanoseconds(standard.ingress_global_timestamp, 48, span));
                match (header, port_metadata) {
                    (Some(header), _) => {
                        header.iter().for_each(|slot| prefix.push(self.bits_of_slot(*slot, span)));
                        prefix.fill(INTRINSIC + 64, span);
                    }
                    (None, Some((_, slot))) => prefix.push(self.slot_expr(slot, span)),
                    (None, None) => prefix.fill(INTRINSIC + metadata_bits, span),
                }
                Rc::new(prefix)
            })
            .collect()
    }

    pub(super) fn pipes_ingress(&mut self, slots: &Slots, pipes: &[Pipe], span: Span) -> Result<Block> {
        let standard = self.standard_metadata();
        let mut passes = Vec::new();
        for pipe in pipes {
            passes.push(self.nested(|this| this.ingress_of(slots, pipe, span))?);
        }
        let first = self.by_pipe(slots, pipes, passes, span)?;
        let first = self.or_ghosts(slots, pipes, first, span)?;
        if slots.single {
            return Ok(first);
        }
        let second = self.nested(|this| {
            let port = this.slot_expr(slots.port, span);
            this.emit(StmtKind::Assign(standard.egress_spec, port), span);
            Ok(())
        })?;
        self.nested(|this| {
            let first_pass = this.is(slots.pass, 0, span);
            this.branch(first_pass, first, second, span);
            Ok(())
        })
    }

    /// Ingress of a pipe, and what its deparser and the traffic manager decide.
    fn ingress_of(&mut self, slots: &Slots, pipe: &Pipe, span: Span) -> Result<()> {
        use ParamRole::{IngressForDeparser, IngressForTm, IngressFromParser};
        let standard = self.standard_metadata();
        let Some(requests) = &self.requests else { return Err(Reported) };
        let (mirror, session, resubmit) = (requests.mirror, requests.session, requests.resubmit);
        let (mirrors, resubmits) = (!requests.mirrors.is_empty(), !requests.resubmits.is_empty());
        let groups = ["mcast_grp_a", "mcast_grp_b"].into_iter().any(|name| {
            let slot = member_of(self, &pipe.storage, &pipe.types, IngressForTm, name);
            slot.is_some_and(|slot| self.writes(pipe, slot))
        });
        let body = self.with_errors(pipe, IngressFromParser, &pipe.ingress, true, span)?;
        let decided = self.nested(|this| {
            this.block.extend(body);
            let early = request::early(this, &pipe.ingress_deparser);
            this.block.extend(early);

            this.truncate(pipe, IngressForDeparser, span)?;
            let drop_ctl = this.metadata(pipe, IngressForDeparser, "drop_ctl", span);
            if mirrors {
                this.mirror_if(mirror, session, drop_ctl.clone(), false, span)?;
            }
            let again = this.nested(|this| {
                let which = this.slot_expr(resubmit, span);
                this.emit(StmtKind::Assign(slots.phase, Expr::constant(0u32, Type::Bits(1), span)), span);
                this.emit(StmtKind::Assign(slots.prefix, which), span);
                this.extern_call(ExternFn::Resubmit(TO_INGRESS), Vec::new(), span);
                Ok(())
            })?;
            if resubmits {
                let no = this.is(resubmit, 0, span);
                this.branch(not(no, span), again, Vec::new(), span);
            }

            let dropped = bit(drop_ctl, 0, span);
            let port = this
                .metadata(pipe, IngressForTm, "ucast_egress_port", span)
                .unwrap_or(Expr::constant(DROP_PORT, PORT, span));
            let none = Expr::constant(DROP_PORT, PORT, span);
            this.emit(StmtKind::Assign(standard.egress_spec, mux(dropped.clone(), none, port, span)), span);
            if groups && let Some(a) = this.metadata(pipe, IngressForTm, "mcast_grp_a", span) {
                let zero = Expr::constant(0u32, Type::Bits(16), span);
                let b = this.metadata(pipe, IngressForTm, "mcast_grp_b", span).unwrap_or(zero.clone());
                let group = mux(compare(a.clone(), zero.clone(), span), b, a, span);
                let group = this.group_or_zero(pipe, group, span);
                this.emit(StmtKind::Assign(standard.mcast_grp, mux(dropped, zero, group, span)), span);
            }
            this.decide_cpu_copy(slots, pipe, this.metadata(pipe, IngressForDeparser, "drop_ctl", span), span);
            if groups {
                this.replicate_further(pipe, span)?;
            }
            for (name, slot) in [("qid", slots.queue), ("ingress_cos", slots.class)] {
                if let Some(value) = this.metadata(pipe, IngressForTm, name, span) {
                    let ty = this.slots[slot.index()].ty;
                    let value = this.cast(value, ty, span)?;
                    this.emit(StmtKind::Assign(slot, value), span);
                }
            }
            if let Some(bypass) = this.metadata(pipe, IngressForTm, "bypass_egress", span) {
                this.emit(StmtKind::Assign(slots.bypass, bypass), span);
            }
            Ok(())
        })?;
        self.block.extend(decided);
        Ok(())
    }
}
