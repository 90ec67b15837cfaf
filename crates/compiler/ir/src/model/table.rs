//! Tables, actions, value sets, and entries as the control plane sees them.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::{ActionId, Block, Expr, ExternId, MatchKind, MatchValue, P4Id, Precedence, Span, Type};

/// A match-action table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// Control-plane name: `MyIngress.ipv4_lpm` or `@name`.
    pub name: String,
    /// Its P4Runtime id; `None` if no control plane knows it.
    pub id: Option<P4Id>,
    /// Keys in order. A table without keys always runs its default action.
    pub keys: Vec<Key>,
    /// Actions entries may name.
    pub actions: Vec<TableAction>,
    /// Run on a miss, with its arguments.
    pub default_action: ActionCall,
    /// The control plane may not change the default action.
    pub const_default_action: bool,
    /// Entries of the program, in source order; priorities are set so that the higher wins.
    pub entries: Vec<TableEntry>,
    /// The control plane may not change the entries.
    pub const_entries: bool,
    /// Expected entries (`size`), 1024 if the program says nothing.
    pub size: u64,
    /// `implementation`: action profile or selector.
    pub implementation: Option<ExternId>,
    /// Direct counter.
    pub direct_counter: Option<ExternId>,
    /// Direct meter.
    pub direct_meter: Option<ExternId>,
    /// Objects with a cell for each entry, at the entry's index ([`super::ExternFn::EntryIndex`]).
    pub entry_cells: Vec<ExternId>,
    /// `support_timeout`.
    pub idle_timeout: bool,
    /// Its declaration.
    pub span: Span,
}

impl Table {
    /// True if entries carry a priority, because a key's kind wants one.
    pub fn has_priority(&self) -> bool {
        self.keys.iter().any(|k| k.kind.info().precedence == Precedence::Priority)
    }

    /// The keys that feed the hash of the table's selector, in order.
    pub fn selector_keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|k| !k.kind.is_matched())
    }

    /// The keys that are matched, in order.
    pub fn match_keys(&self) -> impl Iterator<Item = &Key> {
        self.keys.iter().filter(|k| k.kind.is_matched())
    }
}

/// One key of a table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Control-plane name: `hdr.ipv4.dst_addr` or `@name`.
    pub name: String,
    /// The value looked up.
    pub expr: Expr,
    /// How it is matched.
    pub kind: MatchKind,
}

/// An action as a table refers to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableAction {
    /// The action.
    pub action: ActionId,
    /// `@tableonly`: not as default action.
    pub table_only: bool,
    /// `@defaultonly`: not in entries.
    pub default_only: bool,
}

/// An action with its data.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ActionCall {
    /// The action.
    pub action: ActionId,
    /// One value per data parameter: its bits.
    pub args: Vec<BigUint>,
}

/// An action that tables run: data parameters and a body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Action {
    /// Control-plane name.
    pub name: String,
    /// Its P4Runtime id; `None` if no control plane knows it.
    pub id: Option<P4Id>,
    /// Data parameters, read as [`super::ExprKind::Param`].
    pub params: Vec<Param>,
    /// Body.
    pub body: Block,
    /// Its declaration.
    pub span: Span,
}

/// A data parameter of an action.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Param {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: Type,
}

/// A parser value set.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueSet {
    /// Control-plane name.
    pub name: String,
    /// Its P4Runtime id; `None` if no control plane knows it.
    pub id: Option<P4Id>,
    /// Types of its members' parts.
    pub types: Vec<Type>,
    /// Most members.
    pub size: u64,
    /// Its declaration.
    pub span: Span,
}

/// A table entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// One per key.
    pub matches: Vec<MatchValue>,
    /// The higher wins; of equals the one inserted first. Zero where the table has no priorities.
    pub priority: i32,
    /// What to run.
    pub action: ActionCall,
}
