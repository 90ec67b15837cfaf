//! The trace IR: a small intermediate representation of learned paths, between the pipeline IR and machine code.
//!
//! A set of learned paths is a *tree* ([`TraceIr`]). A node is a straight run of *guards*; a packet that fails one takes a side
//! exit to the generic function. A node ends with a branch that several learned paths answer differently, with a side exit, or with
//! a *leaf*. Only leaves have effects, which is why a side exit needs no state: nothing has happened yet.
//!
//! Values ([`values`]) are hash-consed and float: a value belongs to no node, and means the same wherever it is used. Each has a
//! type, a range, and an invariance class. Two invariants make it safe to compute a value at any use ([`verify`]):
//! - bytes of the packet are read only behind a guard that the packet contains them;
//! - an entry's arguments are read only where the entry's action is known.
//!
//! [`build`] makes the tree from the pipeline IR and learned paths by partial evaluation, [`text`] prints and parses it, and
//! [`eval`] runs a packet through it, with answers of tables and externs from an [`eval::Environment`], such as a
//! [`recording`] of the reference interpreter. [`passes`] improve it.

pub mod build;
pub(crate) mod codegen;
pub mod eval;
pub mod passes;
pub mod recording;
pub mod text;
pub mod values;
pub mod verify;

use hopwright_ir::Span;

pub use values::{Name, Place};
use values::{ValueId, Values};

/// A place in the program, with what is decided there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The place and the condition, for people.
    pub text: Name,
    /// The place; none in trees that were read from text.
    pub span: Span,
}

impl Site {
    /// The same place, with more text.
    pub(crate) fn about(self, what: &str) -> Site {
        Site { text: format!("{}{what}", self.text).into(), ..self }
    }
}

impl From<&str> for Site {
    fn from(text: &str) -> Site {
        Site { text: text.into(), span: Span::none() }
    }
}

impl From<&Site> for Site {
    fn from(site: &Site) -> Site {
        site.clone()
    }
}

/// Index into [`TraceIr::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A tree of traces.
#[derive(Clone, Debug)]
pub struct TraceIr {
    /// The program's name.
    pub name: Name,
    /// All values.
    pub values: Values,
    /// All nodes; the first is the root. Each other node is the target of one branch.
    pub nodes: Vec<Node>,
}

/// A straight run of guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The guards, in order.
    pub guards: Vec<Guard>,
    /// What follows.
    pub end: End,
}

/// A condition that packets on the trace satisfy. Others take a side exit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// A `bool`.
    pub condition: ValueId,
    /// The outcome on the trace.
    pub holds: bool,
    /// Where the program decides it.
    pub site: Site,
}

/// The end of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Different traces have different outcomes.
    Branch {
        /// A `bool`.
        condition: ValueId,
        /// The node if it holds.
        yes: NodeId,
        /// The node if not.
        no: NodeId,
        /// Where the program decides it.
        site: Site,
    },
    /// A trace ends.
    Leaf(Leaf),
    /// A side exit.
    Exit {
        /// Where, and why.
        site: Site,
    },
}

/// The end of a trace: what has been deferred until here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Effects other than the packet's, in order.
    pub effects: Vec<Effect>,
    /// What happens to the packet.
    pub verdict: Verdict,
}

/// A deferred effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Counts the packet in a cell of a counter; nothing if there is no such cell.
    Count {
        /// The counter.
        counter: Name,
        /// The cell.
        index: ValueId,
    },
    /// Counts the packet in an entry's direct counter, unless it is a default entry.
    CountHit(ValueId),
    /// Gives the packet a priority for its port's queue.
    Priority(ValueId),
    /// Charges the packet to a meter. A default entry has none.
    Measure {
        /// The meter.
        meter: Name,
        /// The entry, for a direct meter, or the cell.
        of: ValueId,
    },
    /// Writes a cell of a register; nothing if there is no such cell.
    Write {
        /// The register.
        register: Name,
        /// The cell.
        index: ValueId,
        /// The new value.
        value: ValueId,
    },
}

/// What happens to the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Forward {
        /// The port, `bit<9>`.
        port: ValueId,
        /// The values that precede the payload, the first byte first; together whole bytes.
        headers: Vec<ValueId>,
        /// Where the payload starts.
        payload: Place,
    },
    /// It is dropped.
    Drop,
}

impl TraceIr {
    /// An empty tree.
    pub fn new(name: &str) -> TraceIr {
        TraceIr { name: name.into(), values: Values::default(), nodes: Vec::new() }
    }

    /// Adds a node that ends with a side exit.
    pub fn add_node(&mut self, site: &str) -> NodeId {
        self.nodes.push(Node { guards: Vec::new(), end: End::Exit { site: site.into() } });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// The node that a branch to each node comes from, by node.
    pub fn parents(&self) -> Vec<Option<NodeId>> {
        let mut parents = vec![None; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            for to in node.end.targets() {
                if let Some(parent) = parents.get_mut(to.index()) {
                    *parent = Some(NodeId(i as u32));
                }
            }
        }
        parents
    }

    /// Why packets leave at a side exit: the place in the program, and the outcome that they do not have.
    pub fn reason(&self, exit: eval::Exit) -> String {
        let Some(node) = self.nodes.get(exit.node.index()) else { return String::new() };
        match (node.guards.get(exit.guard), &node.end) {
            (Some(guard), _) => format!("{} is {}", guard.site.text, !guard.holds),
            (None, End::Exit { site }) => site.text.to_string(),
            (None, _) => String::new(),
        }
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|node| matches!(node.end, End::Leaf(_))).count()
    }
}

impl std::ops::Index<NodeId> for TraceIr {
    type Output = Node;
    fn index(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}

impl std::ops::IndexMut<NodeId> for TraceIr {
    fn index_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }
}

impl End {
    /// The targets of a branch.
    pub fn targets(&self) -> impl Iterator<Item = NodeId> {
        let targets = match self {
            End::Branch { yes, no, .. } => [Some(*yes), Some(*no)],
            _ => [None, None],
        };
        targets.into_iter().flatten()
    }

    /// The values that the end uses itself.
    pub fn values(&self) -> Vec<ValueId> {
        match self {
            End::Branch { condition, .. } => vec![*condition],
            End::Leaf(leaf) => leaf.values(),
            End::Exit { .. } => Vec::new(),
        }
    }
}

impl Leaf {
    fn values(&self) -> Vec<ValueId> {
        let mut values = Vec::new();
        for effect in &self.effects {
            match effect {
                Effect::Count { index, .. } => values.push(*index),
                Effect::CountHit(value) | Effect::Priority(value) | Effect::Measure { of: value, .. } => {
                    values.push(*value)
                }
                Effect::Write { index, value, .. } => values.extend([*index, *value]),
            }
        }
        if let Verdict::Forward { port, headers, payload } = &self.verdict {
            values.push(*port);
            values.extend(headers);
            values.extend(payload.base);
        }
        values
    }
}
