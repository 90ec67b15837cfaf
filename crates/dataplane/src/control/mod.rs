//! What the control plane says and hears: table entries written by name, errors.
//!
//! Does not live here: carrying it out ([`crate::VirtualDataPlane`], [`crate::table`]).

pub mod difference;
mod indirect;

use hopwright_ir::entry::EntryError;
use hopwright_ir::profile::ProfileError;
use num_bigint::BigUint;

/// How an entry written by hand matches one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchSpec {
    /// Equal.
    Exact(BigUint),
    /// The first so many bits are equal; the others are ignored.
    Lpm(BigUint, u32),
    /// Equal where the mask has ones.
    Ternary(BigUint, BigUint),
    /// Between two bounds, both included.
    Range(BigUint, BigUint),
    /// Anything: for every kind but exact.
    Any,
}

/// A table entry by names, keys and arguments in order of their declaration:
///
/// ```
/// use hopwright_dataplane::EntrySpec;
/// let entry = EntrySpec::new("ipv4_lpm", "forward").lpm(0x0a00_0000u32, 8).arg(3u32).arg(0x0200_0000_0001u64);
/// ```
///
/// Names are control-plane names or a suffix after a dot that only one has (`ipv4_lpm` for `MyIngress.ipv4_lpm`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySpec {
    /// Table.
    pub table: String,
    /// One per key.
    pub matches: Vec<MatchSpec>,
    /// Higher wins; only for tables with ternary, range or optional keys.
    pub priority: i32,
    /// Action.
    pub action: String,
    /// One per data parameter of the action.
    pub args: Vec<BigUint>,
}

impl EntrySpec {
    /// An entry of `table` that runs `action`.
    pub fn new(table: impl Into<String>, action: impl Into<String>) -> EntrySpec {
        EntrySpec { table: table.into(), matches: Vec::new(), priority: 0, action: action.into(), args: Vec::new() }
    }

    /// The next key equals a value.
    pub fn exact(self, value: impl Into<BigUint>) -> EntrySpec {
        self.key(MatchSpec::Exact(value.into()))
    }

    /// The next key starts with the first `prefix_len` bits of a value.
    pub fn lpm(self, value: impl Into<BigUint>, prefix_len: u32) -> EntrySpec {
        self.key(MatchSpec::Lpm(value.into(), prefix_len))
    }

    /// The next key equals a value where the mask has ones.
    pub fn ternary(self, value: impl Into<BigUint>, mask: impl Into<BigUint>) -> EntrySpec {
        self.key(MatchSpec::Ternary(value.into(), mask.into()))
    }

    /// The next key lies between two bounds, both included.
    pub fn range(self, lo: impl Into<BigUint>, hi: impl Into<BigUint>) -> EntrySpec {
        self.key(MatchSpec::Range(lo.into(), hi.into()))
    }

    /// The next key may be anything (lpm, ternary, range, optional).
    pub fn any(self) -> EntrySpec {
        self.key(MatchSpec::Any)
    }

    /// The next key.
    pub fn key(mut self, key: MatchSpec) -> EntrySpec {
        self.matches.push(key);
        self
    }

    /// The action's next argument.
    pub fn arg(mut self, value: impl Into<BigUint>) -> EntrySpec {
        self.args.push(value.into());
        self
    }

    /// The entry's priority.
    pub fn priority(mut self, priority: i32) -> EntrySpec {
        self.priority = priority;
        self
    }
}

/// Why the control plane's wish is not granted. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)]
pub enum ControlError {
    #[error("the program has no table `{0}`, or several end in that name")]
    UnknownTable(String),
    #[error("the program has no action `{0}`, or several end in that name")]
    UnknownAction(String),
    #[error("the program has no extern object `{0}`, or several end in that name")]
    UnknownExtern(String),
    #[error("`{name}` is {is}, not {wanted}")]
    WrongExtern { name: String, is: String, wanted: &'static str },
    #[error("table `{table}`: {reason}")]
    Entry { table: String, reason: EntryError },
    #[error("table `{0}` already has an entry with these keys and priority")]
    Duplicate(String),
    #[error("table `{0}` has no entry with these keys and priority")]
    NotFound(String),
    #[error("table `{table}` is full: its size is {size}")]
    Full { table: String, size: u64 },
    #[error("the entries of table `{0}` are constant")]
    ConstEntries(String),
    #[error("the default action of table `{0}` is constant")]
    ConstDefault(String),
    #[error("table `{0}` has no direct counter")]
    NoDirectCounter(String),
    #[error("table `{0}` has no direct meter")]
    NoDirectMeter(String),
    #[error("`{name}`: {reason}")]
    Profile { name: String, reason: ProfileError },
    #[error("`{name}` has {size} cells; there is no index {index}")]
    Index { name: String, index: u64, size: u64 },
    #[error("the value does not fit the {width} bits of `{name}`")]
    ValueWidth { name: String, width: u32 },
    #[error("the program has no value set {0}")]
    UnknownValueSet(String),
    #[error("value set `{name}` has room for {size} members")]
    FullValueSet { name: String, size: u64 },
    #[error("value set `{name}`: {reason}")]
    Member { name: String, reason: EntryError },
    #[error("the interpreter refused: {0}")]
    Interpreter(String),
}
