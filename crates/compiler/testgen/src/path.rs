//! The path of a run: what it decided, under which conditions on the inputs, and how it could have gone on otherwise.

use std::collections::{BTreeMap, BTreeSet};

use hopwright_interp::{Output, Value};
use hopwright_ir::{ActionId, TableId, ValueSetId};

use crate::inputs::{Applied, Inputs};
use crate::term::{Term, Variable};

/// A decision of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Step {
    /// These are true in the run, and must be for others to come as far.
    pub conditions: Vec<Term>,
    /// The run can come as far without them: they keep what an extern computed from changing.
    pub soft: bool,
    /// How it could have gone on.
    pub alternatives: Vec<Alternative>,
    /// Identifies the decision and its outcome.
    pub key: u64,
    /// The decisions, by their number from 1, behind which the values were written that this one reads.
    pub blamed: Vec<usize>,
    /// A size that is taken from the packet, with the place of the statement.
    pub size: Option<(u64, Term)>,
}

/// Another outcome of a decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alternative {
    /// The point of the program that it reaches.
    pub goal: Option<usize>,
    /// A case of its own that is no point: the bounds of a comparison, a packet that ends too early.
    pub case: Option<u64>,
    /// These must be true.
    pub conditions: Vec<Term>,
    /// What else must change.
    pub change: Option<Change>,
    /// Identifies it among the alternatives of its step.
    pub key: u64,
}

/// A change of the inputs that is not a matter of values.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The application of a table finds this.
    Table(TableId, u32, Finds),
    /// A value set has a member with the keys, or has none.
    Member(ValueSetId, bool),
    /// The packet has this number of bytes.
    Length(usize),
}

/// What a table finds; the data of actions is yet to be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finds {
    Nothing,
    Entry(ActionId),
    Default(ActionId),
}

/// A call of an extern whose results the shadow does not compute.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Identifies the statement.
    pub place: u64,
    /// What it computes from.
    pub arguments: Vec<Term>,
    /// What it computed, by the variables that stand for it.
    pub results: Vec<(Variable, Term)>,
    /// The step that keeps arguments and results as they are.
    pub step: usize,
}

/// A run with its path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub inputs: Inputs,
    pub steps: Vec<Step>,
    pub output: Output,
    /// Cases that are no points and were reached.
    pub cases: BTreeSet<u64>,
    /// Cases that it would have reached if it had sent a packet.
    pub unsent: BTreeSet<u64>,
    pub applied: Vec<Applied>,
    pub calls: Vec<Call>,
    /// Members that value sets need.
    pub members: BTreeMap<u32, Vec<Value>>,
    pub sessions: BTreeSet<u32>,
    pub groups: BTreeSet<u16>,
    /// The number of bytes that parsers looked at.
    pub parsed: usize,
    /// Points that no test reaches, and that the run could not be turned to, with the step at which it went elsewhere.
    pub near: Vec<(usize, usize)>,
    /// Externs whose results stand for themselves on this path.
    pub externs: BTreeSet<String>,
}
