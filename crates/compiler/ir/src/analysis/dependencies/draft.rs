//! Operations as they are drafted, and what is known of them while a control is walked.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::OperationKind;
use super::access::accesses;
use super::flow::{DefId, Entry, Flow, Masks, Segment, Source, Value};
use crate::analysis::effects::SlotSet;
use crate::{ActionId, ExternId, Pipeline, SlotId, Span};

/// A value that an operation writes, or that several write on different paths.
#[derive(Clone, Debug)]
pub(super) struct Def {
    pub(super) slot: Option<SlotId>,
    /// None for what a variable is at the beginning.
    pub(super) producers: Vec<usize>,
    /// It says which outcome a table had.
    pub(super) outcome: bool,
}

/// An operation, live or not.
#[derive(Clone, Debug)]
pub(super) struct Draft<'p> {
    pub(super) kind: OperationKind<'p>,
    pub(super) matched: Value,
    pub(super) operands: Value,
    pub(super) writes: Vec<SlotId>,
    pub(super) bits: u32,
    pub(super) depth: u32,
    pub(super) guards: Vec<(usize, u64)>,
    pub(super) masks: Masks,
    pub(super) objects: Vec<ExternId>,
    pub(super) span: Span,
    /// Operations of one statement do not overwrite each other.
    pub(super) statement: u32,
    /// It has an effect besides what it writes.
    pub(super) effect: bool,
    /// Variables that a table writes only if a branch on its outcome goes one of these ways.
    pub(super) written_in: HashMap<SlotId, (usize, u64)>,
    /// Variables that are other names for what it writes.
    pub(super) aliases: HashMap<SlotId, SlotId>,
    /// Variables of which it writes these bits only: the lowest, and one beyond the highest.
    pub(super) written_bits: HashMap<SlotId, (u32, u32)>,
}

impl Draft<'_> {
    /// The ways of a branch in which it writes a variable, if it does not in others.
    pub(super) fn only_in(&self, mut slot: SlotId) -> Option<(usize, u64)> {
        loop {
            match (self.written_in.get(&slot), self.aliases.get(&slot)) {
                (Some(found), _) => return Some(*found),
                (None, Some(other)) if *other != slot => slot = *other,
                _ => return None,
            }
        }
    }

    /// Whether it and another one write different bits of a variable.
    pub(super) fn writes_beside(&self, other: &Draft<'_>, slot: SlotId) -> bool {
        match (self.written_bits.get(&slot), other.written_bits.get(&slot)) {
            (Some(a), Some(b)) => a.1 <= b.0 || b.1 <= a.0,
            _ => false,
        }
    }
}

pub(super) struct BranchDraft {
    pub(super) condition: Value,
    pub(super) arms: usize,
    /// The branch's own guards.
    pub(super) guards: BTreeMap<usize, u64>,
    /// It depends on nothing that is computed or matched: it costs nothing.
    pub(super) free: bool,
    pub(super) span: Span,
}

pub(super) struct Builder<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) given: SlotSet,
    pub(super) has_given: bool,
    pub(super) operations: Vec<Draft<'p>>,
    pub(super) defs: Vec<Def>,
    pub(super) branches: Vec<BranchDraft>,
    pub(super) places: Places,
    /// What truth values that are computed from conditions match on.
    pub(super) conditions: HashMap<DefId, Value>,
    /// Tables by the operations that apply them.
    pub(super) applied: HashMap<usize, Applied>,
    /// Copies that are other names for variables.
    pub(super) renamed: BTreeSet<(SlotId, SlotId)>,
    /// Where objects are accessed: what has the same place in the text is part of the access.
    pub(super) accesses: HashSet<Span>,
    /// Blocks whose expressions are hashes.
    hashed: Vec<Span>,
    /// Enclosing scopes with what leaves them.
    pub(super) scopes: Vec<(u32, Option<Flow>)>,
    pub(super) exits: Option<Flow>,
    pub(super) statement: u32,
}

/// Which operations write the same place: the values of a variable that meet.
#[derive(Default)]
pub(super) struct Places {
    parents: HashMap<(usize, SlotId), (usize, SlotId)>,
}

impl Places {
    pub(super) fn find(&mut self, of: (usize, SlotId)) -> (usize, SlotId) {
        let mut root = of;
        while let Some(parent) = self.parents.get(&root) {
            root = *parent;
        }
        if root != of {
            self.parents.insert(of, root);
        }
        root
    }

    pub(super) fn join(&mut self, slot: SlotId, operations: &[usize]) {
        for pair in operations.windows(2) {
            let (a, b) = (self.find((pair[0], slot)), self.find((pair[1], slot)));
            if a != b {
                self.parents.insert(a.max(b), a.min(b));
            }
        }
    }
}

/// A table that was applied.
pub(super) struct Applied {
    /// The variables that its actions write, with what they were before and what they are since.
    pub(super) variables: Vec<(SlotId, Entry, Rc<Value>)>,
    /// Its actions with what they write.
    pub(super) actions: Vec<(ActionId, BTreeSet<SlotId>)>,
    /// Those that run if an entry is found, and if none is.
    pub(super) hit: BTreeSet<ActionId>,
    pub(super) miss: BTreeSet<ActionId>,
}

impl<'p> Builder<'p> {
    pub(super) fn new(pipeline: &'p Pipeline, given: &SlotSet, hashed: &[Span]) -> Builder<'p> {
        let has_given = *given != SlotSet::empty(pipeline);
        let defs = (0..pipeline.slots.len() as u32)
            .map(|slot| Def { slot: Some(SlotId(slot)), producers: Vec::new(), outcome: false })
            .collect();
        let mut given = given.clone();
        // How much a packet has grown is nothing that stages compute.
        let growth = pipeline.slots.iter().position(|slot| slot.name == "$length_change");
        growth.into_iter().for_each(|slot| given.insert(SlotId(slot as u32)));
        Builder {
            pipeline,
            given,
            has_given,
            operations: Vec::new(),
            defs,
            branches: Vec::new(),
            places: Places::default(),
            conditions: HashMap::new(),
            applied: HashMap::new(),
            renamed: BTreeSet::new(),
            accesses: accesses(pipeline),
            hashed: hashed.to_vec(),
            scopes: Vec::new(),
            exits: None,
            statement: 0,
        }
    }

    pub(super) fn whole(&self, def: DefId, width: u32) -> Value {
        vec![Segment { source: Source::Def(def, 0), width }]
    }

    pub(super) fn def(&mut self, slot: Option<SlotId>, producers: Vec<usize>) -> DefId {
        self.defs.push(Def { slot, producers, outcome: false });
        DefId(self.defs.len() - 1)
    }

    /// The guards of a point.
    pub(super) fn guards(&self, masks: &Masks) -> BTreeMap<usize, u64> {
        let mut guards = BTreeMap::new();
        for (branch, arms) in masks.deciding(|b| Masks::all(self.branches[b].arms)) {
            let draft = &self.branches[branch];
            guards.extend(draft.guards.iter().filter(|g| !guards.contains_key(g.0)).collect::<Vec<_>>());
            if !draft.free {
                guards.insert(branch, arms);
            }
        }
        guards
    }

    /// Drafts an operation.
    pub(super) fn operation(&mut self, flow: &Flow, kind: OperationKind<'p>, span: Span) -> usize {
        self.operations.push(Draft {
            kind,
            matched: Value::new(),
            operands: Value::new(),
            writes: Vec::new(),
            bits: 0,
            depth: 1,
            guards: self.guards(&flow.masks).into_iter().collect(),
            masks: flow.masks.clone(),
            objects: Vec::new(),
            span,
            statement: self.statement,
            effect: false,
            written_in: HashMap::new(),
            aliases: HashMap::new(),
            written_bits: HashMap::new(),
        });
        self.operations.len() - 1
    }

    /// Whether a place is in a block whose expressions are hashes.
    pub(super) fn is_hashed(&self, place: Span) -> bool {
        self.hashed.iter().any(|block| block.file == place.file && block.start <= place.start && place.end <= block.end)
    }

    /// Whether a variable costs nothing.
    pub(super) fn is_given(&self, slot: SlotId) -> bool {
        self.given.contains(slot)
    }
}
