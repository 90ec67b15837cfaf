//! Tables, actions, value sets, and entries as the control plane sees them.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

use super::{ActionId, Block, Expr, ExternId, P4Id, Span, Type};

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
    /// `support_timeout`.
    pub idle_timeout: bool,
    /// Its declaration.
    pub span: Span,
}

impl Table {
    /// True if entries carry a priority: some key is ternary, range or optional.
    pub fn has_priority(&self) -> bool {
        self.keys.iter().any(|k| matches!(k.kind, MatchKind::Ternary | MatchKind::Range | MatchKind::Optional))
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

/// Match kinds of v1model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum MatchKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
    Selector,
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

/// How an entry matches one key. Values are bits of the key's type, below 2^W.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MatchValue {
    /// Equal.
    Exact(BigUint),
    /// The first `prefix_len` bits are equal; bits beyond are zero.
    Lpm {
        /// Prefix.
        value: BigUint,
        /// 0 to W.
        prefix_len: u32,
    },
    /// Equal where the mask has ones; bits where it has zeros are zero in the value.
    Ternary {
        /// Value.
        value: BigUint,
        /// Mask.
        mask: BigUint,
    },
    /// `lo <= key <= hi`, unsigned.
    Range {
        /// Lowest.
        lo: BigUint,
        /// Highest.
        hi: BigUint,
    },
    /// Equal, or anything.
    Optional(Option<BigUint>),
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
