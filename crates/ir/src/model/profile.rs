//! What entries of a table with an action profile or selector lead to.

use super::ActionCall;

/// What an entry of a table with an action profile or selector leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EntryTarget {
    /// A member of the profile, by its number.
    Member(u32),
    /// A group of the selector, by its number; a hash picks one of its members.
    Group(u32),
    /// Actions of the entry's own, of which a hash picks one (P4Runtime calls it a one-shot set).
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
    /// Most shares together, or most members; 0 is no limit.
    pub max_size: u32,
    /// `max_size` counts members.
    pub counts_members: bool,
}
