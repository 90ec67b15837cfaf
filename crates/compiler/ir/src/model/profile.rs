//! Targets of entries in tables with an action profile or selector.

use super::ActionCall;

/// The target of an entry in a table with an action profile or selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryTarget {
    /// A member of the profile, by its number.
    Member(u32),
    /// A group of the selector, by its number; a hash picks one of its members.
    Group(u32),
    /// Actions of the entry itself, of which a hash picks one (P4Runtime's one-shot action set).
    Set(Vec<WeightedAction>),
}

/// An action in a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WeightedAction {
    /// The action.
    pub action: ActionCall,
    /// Its share, from 1.
    pub weight: u32,
}

/// A group of a selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Members by number, each with its share (from 1).
    pub members: std::collections::BTreeMap<u32, u32>,
    /// Maximum of the sum of shares, or of the number of members; 0 is no limit.
    pub max_size: u32,
    /// `max_size` counts members.
    pub counts_members: bool,
}
