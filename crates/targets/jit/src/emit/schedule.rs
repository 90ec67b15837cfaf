//! The schedule: the order in which code is emitted, and the number of copies of it.
//!
//! A *point* is a place in the program where paths meet. Code that continues at a point adds an *edge* to it, with the
//! data-flow state on that path. Points are emitted in program order, so that all their edges exist, except those that
//! close loops. If edges have different states whose difference decides later tests, the code is copied for them, up to
//! [`VARIANTS`] times per point. A condition is thus tested once, and its outcome stays known. Paths that few packets
//! take share copies.

use std::rc::Rc;

use cranelift_codegen::ir::{Block, InstBuilder};
use hopwright_ir::{BinaryOp, Expr, ExprKind, Stmt, StmtKind, UnaryOp};

use crate::Unsupported;
use crate::emit::Emitter;
use crate::emit::edges::Edge;
use crate::emit::flow_state::FlowState;
use crate::emit::point::{Point, PointId, PointKind, PointPlace, stage, sub};
use crate::trace::mode::Mode;

type Result<T> = std::result::Result<T, Unsupported>;

/// The maximum number of copies of a point's code for frequent paths.
const VARIANTS: usize = 3;

/// The maximum number of edges of a point that are compared with each other.
const COMPARED: usize = 32;

/// The number of blocks beyond which no copies are made.
const BLOCKS: usize = 6_000;

/// The id of the next statement.
fn next(point_id: &PointId) -> PointId {
    let mut point_id = point_id.clone();
    if let Some(last) = point_id.last_mut() {
        *last += 1;
    }
    point_id
}

/// What is at the beginning of a loop.
fn loop_place(body: &[Stmt]) -> PointPlace {
    PointPlace { what: "loop".into(), span: body.first().map(|s| s.span) }
}

/// Whether a body only assigns constants and leaves, as code that handles faulty packets does.
fn gives_up(body: &[Stmt]) -> bool {
    let constant = |s: &Stmt| matches!(&s.kind, StmtKind::Assign(_, v) if v.as_const().is_some());
    match body.split_last() {
        Some((last, rest)) => {
            matches!(last.kind, StmtKind::Leave(_) | StmtKind::Exit) && !rest.is_empty() && rest.iter().all(constant)
        }
        None => false,
    }
}

impl<'a> Emitter<'a> {
    /// Emits everything reachable from a point, starting in the current block.
    pub(crate) fn generate(&mut self, start: &Point<'a>) -> Result<()> {
        self.go(start);
        self.generate_rest()
    }

    /// Emits all pending points.
    pub(crate) fn generate_rest(&mut self) -> Result<()> {
        while let Some((point_id, (point, edges))) = self.schedule.pending.pop_first() {
            if let Some(&block) = self.schedule.once.get(&point_id) {
                self.lead(&point_id, edges, block);
                continue;
            }
            if self.only_once(&point) {
                let block = self.b.create_block();
                self.schedule.once.insert(point_id.clone(), block);
                self.schedule.open.push(block);
                self.lead(&point_id, edges, block);
                self.b.switch_to_block(block);
                self.flow = FlowState::none(self.p.headers.len());
                self.exec(&point)?;
                continue;
            }
            for group in self.groups(&point, edges) {
                let cold = group.iter().all(|e| e.flow.cold);
                let mut flow = group[0].flow.clone();
                group[1..].iter().for_each(|e| flow.meet(&e.flow));
                let one = group.len() == 1;
                let block = if one {
                    group[0].block
                } else {
                    let block = self.b.create_block();
                    self.lead(&point_id, group, block);
                    block
                };
                if cold {
                    self.b.set_cold_block(block);
                }
                self.enter(block);
                if one {
                    self.profile_point(&point_id);
                }
                self.flow = flow;
                self.exec(&point)?;
            }
        }
        for block in std::mem::take(&mut self.schedule.open) {
            self.b.seal_block(block);
        }
        Ok(())
    }

    /// Directs edges to one block.
    fn lead(&mut self, point_id: &PointId, edges: Vec<Edge>, block: Block) {
        for edge in edges {
            if edge.flow.cold {
                self.b.set_cold_block(edge.block);
            }
            self.enter(edge.block);
            self.profile_point(point_id);
            self.b.ins().jump(block, &[]);
        }
    }

    /// Groups of edges that share a copy.
    fn groups(&self, point: &Point<'a>, edges: Vec<Edge>) -> Vec<Vec<Edge>> {
        let point_id = &point.0.point_id;
        let most = match (point_id[0], self.schedule.blocks) {
            (stage::REBUILD | stage::DROPPED, _) | (_, BLOCKS..) => 1,
            _ => VARIANTS,
        };
        let (cold, hot): (Vec<Edge>, Vec<Edge>) = edges.into_iter().partition(|e| e.flow.cold);
        let mut groups: Vec<(FlowState, Vec<Edge>)> = Vec::new();
        for (i, edge) in hot.into_iter().enumerate() {
            // Further edges are distributed without comparison.
            match groups.get_mut(i % COMPARED) {
                Some((flow, edges)) => {
                    flow.meet(&edge.flow);
                    edges.push(edge);
                }
                None => groups.push((edge.flow.clone(), vec![edge])),
            }
        }
        loop {
            let mut least: Option<(usize, usize, usize)> = None;
            for i in 0..groups.len() {
                for j in i + 1..groups.len() {
                    let loss = self.tests.loss(&groups[i].0, &groups[j].0, point_id);
                    if least.is_none_or(|(l, ..)| loss < l) {
                        least = Some((loss, i, j));
                    }
                }
            }
            // Differences that no test depends on do not justify a copy.
            let Some((_, i, j)) = least.filter(|&(loss, ..)| loss == 0 || groups.len() > most) else { break };
            let (flow, edges) = groups.remove(j);
            groups[i].0.meet(&flow);
            groups[i].1.extend(edges);
        }
        let mut groups: Vec<Vec<Edge>> = groups.into_iter().map(|(_, edges)| edges).collect();
        if !cold.is_empty() {
            if most == 1 && !groups.is_empty() {
                groups[0].extend(cold);
            } else {
                groups.push(cold);
            }
        }
        groups
    }

    /// Returns a block that continues at a point with the current state.
    pub(crate) fn edge(&mut self, point: &Point<'a>) -> Block {
        let mut flow = self.flow.clone();
        flow.cold |= point.0.cold;
        self.tests.trim(&mut flow, &point.0.point_id);
        let edges =
            &mut self.schedule.pending.entry(point.0.point_id.clone()).or_insert_with(|| (point.clone(), vec![])).1;
        if let Some(edge) = edges.iter().find(|e| e.flow == flow) {
            return edge.block;
        }
        let block = self.b.create_block();
        self.schedule.blocks += 1;
        edges.push(Edge { block, flow });
        block
    }

    /// Continues at a point.
    pub(crate) fn go(&mut self, point: &Point<'a>) {
        let block = self.edge(point);
        self.b.ins().jump(block, &[]);
    }

    /// Whether back edges may lead to a point.
    fn only_once(&self, point: &Point<'a>) -> bool {
        match point.0.what {
            PointKind::Loop(_) => true,
            PointKind::State(_) => self.layout.parser_cycles,
            _ => false,
        }
    }

    fn exec(&mut self, point: &Point<'a>) -> Result<()> {
        self.context = point.0.context.clone();
        let point_id = &point.0.point_id;
        self.describe_point(point);
        match &point.0.what {
            PointKind::Stmts(body, then) => self.stmts(body, point_id, then),
            PointKind::Test { cond, yes, no } => self.test(cond, point_id, yes, no),
            PointKind::Loop(body) => {
                self.step();
                self.stmts(body, &sub(&sub(point_id, 1), 0), point)
            }
            PointKind::State(s) => self.state(*s, point_id),
            PointKind::Transition(s) => self.transition(*s),
            PointKind::Fail(error) => {
                let error = self.value(error)?[0];
                self.fail_with(error)
            }
            PointKind::Stage => self.stage(point_id[0]),
        }
    }

    /// In a path profiler, notes what is at a point.
    fn describe_point(&mut self, point: &Point<'a>) {
        let Mode::Profile(points) = &mut self.mode else { return };
        let states = &self.p.parser.states;
        points.describe(&point.0.point_id, || {
            let (what, span) = match &point.0.what {
                PointKind::Stmts(body, _) => ("", body[0].span),
                PointKind::Test { cond, .. } => ("condition", cond.span),
                PointKind::Loop(body) => return loop_place(body),
                PointKind::State(s) => ("state", states[*s].span),
                PointKind::Transition(s) => ("transition of", states[*s].span),
                PointKind::Fail(error) => ("parser error", error.span),
                PointKind::Stage => return PointPlace::of_stage(point.0.point_id[0]),
            };
            PointPlace { what: what.into(), span: Some(span) }
        });
    }

    /// Emits statements, then continues at a point. The id is that of the first statement.
    pub(crate) fn stmts(&mut self, body: &'a [Stmt], point_id: &PointId, then: &Point<'a>) -> Result<()> {
        let mut point_id = point_id.clone();
        for (i, stmt) in body.iter().enumerate() {
            self.at(stmt.span);
            let context = self.context.clone();
            let rest = |point_id: &PointId| match &body[i + 1..] {
                [] => then.clone(),
                rest => Point::new(next(point_id), PointKind::Stmts(rest, then.clone()), &context),
            };
            match &stmt.kind {
                StmtKind::If { cond, then, otherwise } => {
                    let rest = rest(&point_id);
                    let arm = |k, body: &'a [Stmt]| {
                        let point = Point::stmts(sub(&point_id, k), body, &rest, &context);
                        if gives_up(body) { point.cold() } else { point }
                    };
                    return self.test(cond, &sub(&point_id, 0), &arm(1, then), &arm(2, otherwise));
                }
                StmtKind::Switch { value, cases, default } => {
                    return self.switch(value, cases, default, &point_id, &rest(&point_id));
                }
                StmtKind::Scope { label, body } => {
                    let mut inner = (*context).clone();
                    let rest = rest(&point_id);
                    inner.scopes.push((*label, rest.clone()));
                    self.context = Rc::new(inner);
                    return self.stmts(body, &sub(&sub(&point_id, 1), 0), &rest);
                }
                StmtKind::Leave(label) => {
                    let Some((_, end)) = context.scopes.iter().rev().find(|s| s.0 == *label) else {
                        return Err(Unsupported::new(stmt.span, "leaving a scope that is not context"));
                    };
                    self.go(end);
                    return Ok(());
                }
                StmtKind::Loop { body, .. } => {
                    self.go(&Point::new(point_id.clone(), PointKind::Loop(body), &context));
                    return Ok(());
                }
                StmtKind::Apply { table, hit, action_run } => {
                    return self.apply(*table, *hit, *action_run, &point_id, &rest(&point_id));
                }
                StmtKind::Exit => {
                    let Some(exit) = &context.exit else {
                        return Err(Unsupported::new(stmt.span, "`exit` in a parser"));
                    };
                    self.go(exit);
                    return Ok(());
                }
                StmtKind::Verify(cond, error) => {
                    if context.parsed.is_none() {
                        return Err(Unsupported::new(stmt.span, "a parser statement linkage of a parser"));
                    }
                    let fail = Point::new(sub(&point_id, 1), PointKind::Fail(error), &context).cold();
                    return self.test(cond, &sub(&point_id, 0), &rest(&point_id), &fail);
                }
                _ => self.statement(stmt)?,
            }
            point_id = next(&point_id);
        }
        self.go(then);
        Ok(())
    }

    /// Branches on a condition. Tests its parts one by one.
    fn test(&mut self, cond: &'a Expr, point_id: &PointId, yes: &Point<'a>, no: &Point<'a>) -> Result<()> {
        if let Some(truth) = self.known(cond) {
            self.go(if truth != 0 { yes } else { no });
            return Ok(());
        }
        let second = |cond, yes: &Point<'a>, no: &Point<'a>| {
            Point::new(sub(point_id, 1), PointKind::Test { cond, yes: yes.clone(), no: no.clone() }, &self.context)
        };
        match &cond.kind {
            ExprKind::Unary(UnaryOp::Not, a) => self.test(a, point_id, no, yes),
            ExprKind::Binary(BinaryOp::LogicalAnd, a, b) => {
                let second = second(b, yes, no);
                self.test(a, &sub(point_id, 0), &second, no)
            }
            ExprKind::Binary(BinaryOp::LogicalOr, a, b) => {
                let second = second(b, yes, no);
                self.test(a, &sub(point_id, 0), yes, &second)
            }
            _ => {
                let c = self.cond(cond)?;
                if let Some(truth) = self.always(c) {
                    self.go(if truth { yes } else { no });
                    return Ok(());
                }
                let before = self.flow.clone();
                self.assume(cond, true);
                let yes = self.edge(yes);
                self.flow.clone_from(&before);
                self.assume(cond, false);
                let no = self.edge(no);
                self.flow = before;
                self.b.ins().brif(c, yes, &[], no, &[]);
                Ok(())
            }
        }
    }
}
