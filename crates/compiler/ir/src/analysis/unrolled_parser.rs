//! The parser without cycles: states are repeated for each position in header stacks at which a packet can be in them.
//!
//! A cycle that extracts the next element of a stack ends with the stack, so there are finitely many repetitions, and in
//! each of them the element is known. Any other cycle goes on until the packet ends; it is reported with its state, or repeated as often as
//! a bound says.

use std::collections::BTreeMap;

use num_traits::ToPrimitive;

use crate::analysis::effects::Effects;
use crate::walk;
use crate::{Pipeline, SlotId, Span, StackId, StateId, Stmt, StmtKind, Target, Transition};

/// The maximum number of repetitions of all states together.
pub const MAX_NODES: usize = 2048;

/// What is known of the next index of each stack: its value, or `None`.
pub type NextIndices = Vec<Option<u32>>;

/// A parser without cycles.
#[derive(Clone, Debug)]
pub struct UnrolledParser {
    /// Every node comes after its predecessors. The first one is the start.
    pub nodes: Vec<Node>,
}

/// A state, at one position in the header stacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The state.
    pub state: StateId,
    /// The next indices where the state begins.
    pub next: NextIndices,
    /// The targets of the state's transition: one, or one for each case of a select. Empty if the body always fails.
    pub targets: Vec<UnrolledTarget>,
}

/// A node, or an end of parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnrolledTarget {
    /// Index into [`UnrolledParser::nodes`].
    Node(usize),
    /// End of parsing.
    Accept,
    /// End of parsing, as [`Target::Reject`].
    Reject,
    /// The packet comes back to a state more often than the bound says.
    Beyond,
}

/// Why a parser cannot be unrolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnrollError {
    /// The state can follow itself without a stack that ends the repetition.
    Unbounded(StateId, Span),
    /// More than [`MAX_NODES`] repetitions.
    TooLarge(Span),
}

impl UnrolledParser {
    /// Unrolls a pipeline's parser.
    ///
    /// # Errors
    /// A cycle without a bound, or too many repetitions.
    pub fn of(pipeline: &Pipeline) -> Result<UnrolledParser, UnrollError> {
        UnrolledParser::unroll(pipeline, None)
    }

    /// Unrolls a pipeline's parser. On its way a packet comes back to states at most this often without a position in a header stack that
    /// differs; then its target is [`UnrolledTarget::Beyond`].
    ///
    /// # Errors
    /// Too many repetitions.
    pub fn bounded(pipeline: &Pipeline, rounds: u32) -> Result<UnrolledParser, UnrollError> {
        UnrolledParser::unroll(pipeline, Some(rounds))
    }

    fn unroll(pipeline: &Pipeline, rounds: Option<u32>) -> Result<UnrolledParser, UnrollError> {
        let (effects, places) = (Effects::of(pipeline), BTreeMap::new());
        let mut unroller = Unroller { pipeline, effects, rounds, places, nodes: Vec::new() };
        let start = vec![Some(0); pipeline.stacks.len()];
        unroller.visit(pipeline.parser.start, start, 0)?;
        Ok(unroller.sorted())
    }
}

struct Unroller<'p> {
    pipeline: &'p Pipeline,
    effects: Effects,
    /// How often a packet may come back to states.
    rounds: Option<u32>,
    /// Nodes by state, next indices and how often the packet has come back to a state; `None` while their successors are visited.
    places: BTreeMap<(StateId, NextIndices, u32), Option<usize>>,
    /// In postorder.
    nodes: Vec<Node>,
}

impl Unroller<'_> {
    fn visit(&mut self, id: StateId, next: NextIndices, round: u32) -> Result<UnrolledTarget, UnrollError> {
        let pipeline = self.pipeline;
        let state = &pipeline.parser.states[id.0 as usize];
        match (self.places.get(&(id, next.clone(), round)), self.rounds) {
            (Some(Some(node)), _) => return Ok(UnrolledTarget::Node(*node)),
            (Some(None), None) => return Err(UnrollError::Unbounded(id, state.span)),
            (Some(None), Some(rounds)) if round >= rounds => return Ok(UnrolledTarget::Beyond),
            (Some(None), Some(_)) => return self.visit(id, next, round + 1),
            (None, _) => {}
        }
        if self.places.len() >= MAX_NODES {
            return Err(UnrollError::TooLarge(pipeline.parser.span));
        }
        self.places.insert((id, next.clone(), round), None);
        let mut after = next.clone();
        let targets: Vec<Target> = match &state.transition {
            _ if !state.body.iter().all(|stmt| self.step(stmt, &mut after)) => Vec::new(),
            Transition::Goto(target) => vec![*target],
            Transition::Select { cases, .. } => cases.iter().map(|c| c.target).collect(),
        };
        let mut unrolled = Vec::with_capacity(targets.len());
        for target in targets {
            unrolled.push(match target {
                Target::State(id) => self.visit(id, after.clone(), round)?,
                Target::Accept => UnrolledTarget::Accept,
                Target::Reject => UnrolledTarget::Reject,
            });
        }
        let node = self.nodes.len();
        self.nodes.push(Node { state: id, next: next.clone(), targets: unrolled });
        self.places.insert((id, next, round), Some(node));
        Ok(UnrolledTarget::Node(node))
    }

    /// Updates the next indices for a statement of a state's body. Returns false if the statement always fails.
    fn step(&self, stmt: &Stmt, next: &mut NextIndices) -> bool {
        let size = |stack: StackId| self.pipeline[stack].elements.len() as u32;
        match &stmt.kind {
            StmtKind::ExtractNext { stack, .. } => {
                let index = &mut next[stack.index()];
                if index.is_some_and(|i| i >= size(*stack)) {
                    return false;
                }
                *index = index.map(|i| i + 1);
            }
            StmtKind::PushFront(stack, count) => {
                let index = &mut next[stack.index()];
                *index = index.map(|i| i.saturating_add(*count).min(size(*stack)));
            }
            StmtKind::PopFront(stack, count) => {
                let index = &mut next[stack.index()];
                *index = index.map(|i| i.saturating_sub(*count));
            }
            StmtKind::Assign(slot, value) => {
                if let Some(stack) = self.stack_of(*slot) {
                    next[stack] = value.as_const().and_then(|v| v.to_u32());
                }
            }
            _ => {
                let mut forget = |stmt: &Stmt| {
                    self.effects.writes(self.pipeline, stmt, &mut |slot| {
                        if let Some(stack) = self.stack_of(slot) {
                            next[stack] = None;
                        }
                    });
                };
                forget(stmt);
                walk::blocks(stmt).into_iter().for_each(|inner| walk::stmts(inner, &mut forget));
            }
        }
        true
    }

    fn stack_of(&self, slot: SlotId) -> Option<usize> {
        match self.pipeline[slot].kind {
            crate::SlotKind::NextIndex(stack) => Some(stack.index()),
            _ => None,
        }
    }

    /// Reverses the order, so that nodes come after their predecessors.
    fn sorted(self) -> UnrolledParser {
        let last = self.nodes.len() - 1;
        let mut nodes = self.nodes;
        nodes.reverse();
        for target in nodes.iter_mut().flat_map(|n| &mut n.targets) {
            if let UnrolledTarget::Node(node) = target {
                *node = last - *node;
            }
        }
        UnrolledParser { nodes }
    }
}
