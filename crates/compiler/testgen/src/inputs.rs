//! What a run starts with, and the store that answers with it: entries that match anything stand for those that the test will have.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopwright_interp::{CloneSession, Entry, LinearStore, Replica, Store, Value};
use hopwright_ir::meter::Color;
use hopwright_ir::profile::Profile;
use hopwright_ir::{ActionCall, ExternId, MatchValue, TableEntry, TableId, ValueSetId};
use num_bigint::BigUint;

use crate::term::{Term, Variable};

/// The cell of a direct meter, whose number is that of its table.
pub(crate) const DIRECT: u64 = u64::MAX;

/// The input of a run: the packet, and what the control plane has set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inputs {
    pub port: u16,
    pub packet: Vec<u8>,
    /// What a table finds, by table and the number of its application to keys that it has not had before. Without a choice it misses.
    pub choices: BTreeMap<(u32, u32), Choice>,
    /// Value sets that have a member with the keys.
    pub members: BTreeSet<u32>,
    pub registers: BTreeMap<(u32, u64), BigUint>,
    pub colors: BTreeMap<(u32, u64), u8>,
    /// What tables found in the run that these inputs were made from: a packet that should not come to a table any more would be seen if
    /// it did, because the table has the entry that it had for the other one.
    pub former: Vec<Applied>,
}

/// What a table finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// An entry with this action.
    Hit(ActionCall),
    /// No entry; this is the default action.
    Default(ActionCall),
}

impl Choice {
    pub(crate) fn action(&self) -> &ActionCall {
        match self {
            Choice::Hit(action) | Choice::Default(action) => action,
        }
    }
}

/// An application of a table.
#[derive(Clone, Debug)]
pub(crate) struct Applied {
    pub table: TableId,
    pub keys: Vec<Value>,
    /// What the keys were computed from.
    pub terms: Vec<Term>,
    /// The number of the choice that was taken.
    pub nth: u32,
    pub choice: Option<Choice>,
}

impl Inputs {
    /// Takes over what the solver found.
    pub(crate) fn set(&mut self, variable: Variable, value: BigUint) {
        let small = || u64::try_from(&value).unwrap_or(u64::MAX);
        match variable {
            Variable::Byte(at) => {
                if let Some(byte) = self.packet.get_mut(at as usize) {
                    *byte = small() as u8;
                }
            }
            Variable::Port => self.port = small() as u16,
            Variable::Argument(table, nth, parameter) => {
                if let Some(Choice::Hit(action) | Choice::Default(action)) = self.choices.get_mut(&(table, nth))
                    && let Some(argument) = action.args.get_mut(parameter as usize)
                {
                    *argument = value;
                }
            }
            Variable::Register(register, index) => {
                self.registers.insert((register, index), value);
            }
            Variable::Color(meter, index) => {
                self.colors.insert((meter, index), small() as u8);
            }
            Variable::Result(..) | Variable::Unknown(_) => {}
        }
    }
}

/// What the store answers next, and what it was asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The only entry of a table.
    pub entry: Option<(TableId, TableEntry)>,
    /// The default action of a table.
    pub default: Option<(TableId, ActionCall)>,
    pub members: BTreeSet<u32>,
    /// Cells as the run has left them.
    pub registers: BTreeMap<(u32, u64), BigUint>,
    pub colors: BTreeMap<(u32, u64), u8>,
    /// Clone sessions and multicast groups that packets asked for.
    pub sessions: BTreeSet<u32>,
    pub groups: BTreeSet<u16>,
}

/// The state of the set-up program, and the answers on top of it: shared by the store and the observer that prepares them.
#[derive(Clone)]
pub(crate) struct Shared {
    pub base: Arc<LinearStore>,
    answers: Arc<Mutex<Answers>>,
}

impl Shared {
    pub(crate) fn new(base: LinearStore) -> Shared {
        Shared { base: Arc::new(base), answers: Arc::default() }
    }

    pub(crate) fn get(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A store that gives these answers. Packets change only the answers.
pub(crate) struct Oracle(pub Shared);

/// The port of a clone session's copies.
pub(crate) fn session_port(session: u32) -> u16 {
    (64 + session % 64) as u16
}

/// The copies of a multicast group.
pub(crate) fn replicas(group: u16) -> [Replica; 2] {
    let port = 128 + group % 64;
    [Replica { rid: 1, port }, Replica { rid: 2, port: port + 64 }]
}

/// The destinations of a clone session.
pub(crate) fn session(number: u32) -> CloneSession {
    CloneSession { port: Some(session_port(number)), group: None, truncate: None }
}

impl Store for Oracle {
    fn visit_entries(&self, table: TableId, visit: &mut dyn FnMut(Entry<'_>)) {
        let answers = self.0.get();
        if let Some((of, TableEntry { matches, priority, action })) = &answers.entry
            && *of == table
        {
            return visit(Entry { matches, priority: *priority, sequence: 0, action, index: None, target: None });
        }
        drop(answers);
        self.0.base.visit_entries(table, visit);
    }

    fn default_action(&self, table: TableId) -> ActionCall {
        match &self.0.get().default {
            Some((of, action)) if *of == table => action.clone(),
            _ => self.0.base.default_action(table),
        }
    }

    fn count_hit(&mut self, _: TableId, _: &[MatchValue], _: i32, _: u64) {}

    fn recount_hit(&mut self, _: TableId, _: &[MatchValue], _: i32, _: u64) {}

    fn measure_hit(&mut self, table: TableId, _: &[MatchValue], _: i32, _: u64, _: u64) -> Color {
        color(self.0.get().colors.get(&(table.0, DIRECT)))
    }

    fn visit_profile(&self, profile: ExternId, visit: &mut dyn FnMut(&Profile)) {
        self.0.base.visit_profile(profile, visit);
    }

    fn visit_members(&self, set: ValueSetId, visit: &mut dyn FnMut(&[MatchValue])) {
        if self.0.get().members.contains(&set.0) {
            // Members are compared with as many keys as they have parts.
            visit(&[]);
        }
        self.0.base.visit_members(set, visit);
    }

    fn count(&mut self, _: ExternId, _: u64, _: u64) {}

    fn measure(&mut self, meter: ExternId, index: u64, _: u64, _: u64) -> Option<Color> {
        Some(color(self.0.get().colors.get(&(meter.0, index))))
    }

    fn read_register(&self, register: ExternId, index: u64) -> Option<BigUint> {
        let first = self.0.base.read_register(register, index)?;
        Some(self.0.get().registers.get(&(register.0, index)).cloned().unwrap_or(first))
    }

    fn write_register(&mut self, register: ExternId, index: u64, value: BigUint) {
        if self.0.base.read_register(register, index).is_some() {
            self.0.get().registers.insert((register.0, index), value);
        }
    }

    fn clone_session(&self, number: u32) -> Option<CloneSession> {
        if let Some(session) = self.0.base.clone_session(number) {
            return Some(session);
        }
        // Sessions have 15 bits.
        if number >> 15 != 0 {
            return None;
        }
        self.0.get().sessions.insert(number);
        Some(session(number))
    }

    fn multicast_group(&self, group: u16) -> Vec<Replica> {
        let known = self.0.base.multicast_group(group);
        if !known.is_empty() {
            return known;
        }
        self.0.get().groups.insert(group);
        replicas(group).to_vec()
    }
}

fn color(number: Option<&u8>) -> Color {
    match number {
        Some(1) => Color::Yellow,
        Some(2) => Color::Red,
        _ => Color::Green,
    }
}
