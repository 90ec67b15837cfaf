//! What control planes write: updates of entities, with the ids of P4Info and numbers of the data plane.
//!
//! Nothing here is checked. Fields and parameters come with their ids, in any order, as protocols send them.

use std::time::Duration;

use bytes::Bytes;
use hopwright_dataplane::{Count, Rates};
use hopwright_ir::MatchValue;
use num_bigint::BigUint;

/// What an update does with its entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Adds what must not be there.
    Insert,
    /// Changes what must be there.
    Modify,
    /// Removes what must be there.
    Delete,
}

/// One update of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// What to do.
    pub operation: Operation,
    /// With what.
    pub entity: Entity,
}

impl Update {
    /// A modification.
    pub fn modify(entity: Entity) -> Update {
        Update { operation: Operation::Modify, entity }
    }
}

/// What can be written. Arrays, direct resources, value sets and settings are always there: they are modified only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entity {
    /// An entry of a table.
    Entry(Entry),
    /// The default entry of a table, which is modified only. Without an action it becomes that of the program.
    Default(DefaultEntry),
    /// The counter of an entry.
    DirectCounter(Key, Count),
    /// The meter of an entry; without rates every packet is green.
    DirectMeter(Key, Option<Rates>),
    /// Cells of a counter.
    Counter(Cells, Count),
    /// Cells of a meter; without rates every packet is green.
    Meter(Cells, Option<Rates>),
    /// Cells of a register.
    Register(Cells, BigUint),
    /// The cell of an entry in a register that has a cell for each entry of the entry's table.
    EntryRegister {
        /// The entry.
        key: Key,
        /// The register.
        register: u32,
        /// The value.
        value: BigUint,
    },
    /// A member of an action profile.
    Member {
        /// The profile.
        profile: u32,
        /// Its number.
        id: u32,
        /// Its action. A modification without one changes nothing.
        action: Option<Call>,
    },
    /// A group of an action selector.
    Group {
        /// The selector.
        profile: u32,
        /// Its number.
        id: u32,
        /// Its members and their weights, from 1.
        members: Vec<(u32, u32)>,
        /// The largest sum of weights, or number of members; 0 is the selector's.
        max_size: u32,
    },
    /// All members of a parser value set; each has a match by field id.
    ValueSet(u32, Vec<Vec<(u32, MatchValue)>>),
    /// A multicast group, numbered from 1 to 65,535. Those from 32,768 on may belong to clone sessions.
    Multicast(u32, MulticastGroup),
    /// A clone session, numbered from 0 to 32,767.
    CloneSession(u32, CloneSession),
    /// A digest that is sent to a control plane.
    Digest(u32, DigestConfig),
    /// A setting of a cell of an extern object; see [`hopwright_dataplane::externs::NativeExtern::control`].
    Setting {
        /// The object.
        object: u32,
        /// The cell.
        cell: Cell,
        /// The setting.
        data: Vec<u8>,
    },
}

impl Entity {
    /// The id of the object that it belongs to: of the table, if it belongs to an entry. Multicast groups and clone sessions have none.
    pub fn object(&self) -> Option<u32> {
        Some(match self {
            Entity::Entry(entry) => entry.key.table,
            Entity::Default(entry) => entry.table,
            Entity::DirectCounter(key, _) | Entity::DirectMeter(key, _) => key.table,
            Entity::Counter(cells, _) | Entity::Meter(cells, _) | Entity::Register(cells, _) => cells.object,
            Entity::EntryRegister { register, .. } => *register,
            Entity::Member { profile, .. } | Entity::Group { profile, .. } => *profile,
            Entity::ValueSet(id, _) | Entity::Digest(id, _) => *id,
            Entity::Setting { object, .. } => *object,
            Entity::Multicast(..) | Entity::CloneSession(..) => return None,
        })
    }
}

/// Which entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key {
    /// The table.
    pub table: u32,
    /// Matches by field id. Fields that are not there match anything.
    pub fields: Vec<(u32, MatchValue)>,
    /// From 1 in tables whose entries have priorities, and 0 in others. The highest one wins.
    pub priority: i32,
}

/// An entry of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Which one.
    pub key: Key,
    /// What packets that match it run. A modification without one keeps it.
    pub action: Option<Action>,
    /// Its direct counter. Without one, it begins at zero, and a modification keeps it.
    pub count: Option<Count>,
    /// The rates of its direct meter. A modification without them resets it.
    pub rates: Option<Rates>,
    /// What is read back.
    pub metadata: Metadata,
    /// After which time without a hit control planes are notified; zero is never.
    pub idle_timeout: Duration,
}

/// A default entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultEntry {
    /// The table.
    pub table: u32,
    /// What packets that match no entry run.
    pub action: Option<Call>,
    /// What is read back.
    pub metadata: Metadata,
}

/// What a control plane stores with an entry, to read it back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// A number (`controller_metadata`).
    pub number: u64,
    /// Bytes (`metadata`).
    pub bytes: Bytes,
}

/// What packets that match an entry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An action.
    Call(Call),
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action selector.
    Group(u32),
    /// One of these actions, each with its weight, from 1: a group of the entry's own.
    Set(Vec<(Call, u32)>),
}

/// An action with arguments by parameter id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The action.
    pub action: u32,
    /// The arguments.
    pub args: Vec<(u32, BigUint)>,
}

/// Cells of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// The counter, meter or register.
    pub object: u32,
    /// The index of one cell; all cells without it.
    pub index: Option<u64>,
}

/// A cell of an extern object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// At an index.
    Index(u64),
    /// At the index of this entry.
    Entry(Key),
}

/// A multicast group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its copies.
    pub copies: Vec<Replica>,
    /// What is read back.
    pub metadata: Bytes,
}

/// A clone session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloneSession {
    /// Its copies. With a multicast group, at most one, whose instance is 0.
    pub copies: Vec<Replica>,
    /// A multicast group whose copies are made, too, whatever they are at that time.
    pub group: Option<u16>,
    /// The most bytes of a copy; 0 is all of the packet.
    pub max_length: u32,
}

/// A copy of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replica {
    /// The port that it is sent to.
    pub port: u32,
    /// What tells it from other copies: the program's egress instance.
    pub instance: u32,
    /// Whether the port was given as a value of the type of ports, which may be translated, and not as a plain number.
    pub port_is_typed: bool,
}

/// When digests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestConfig {
    /// How long digests are collected into a list; zero is not at all.
    pub max_timeout: Duration,
    /// The most digests of a list; 0 is no limit.
    pub max_list: u32,
    /// How long digests that were sent and not acknowledged are not sent again; zero is not at all.
    pub ack_timeout: Duration,
}
