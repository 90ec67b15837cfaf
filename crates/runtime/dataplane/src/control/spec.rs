//! Table entries specified by names.

use hopwright_ir::WrittenMatch;
use num_bigint::BigUint;

/// A table entry specified by names, with keys and arguments in declaration order:
///
/// ```
/// use hopwright_dataplane::EntrySpec;
/// let entry = EntrySpec::new("ipv4_lpm", "forward").lpm(0x0a00_0000u32, 8).arg(3u32).arg(0x0200_0000_0001u64);
/// ```
///
/// A name is a control-plane name, or a suffix of one that starts after a dot and is unique (`ipv4_lpm` for
/// `MyIngress.ipv4_lpm`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySpec {
    /// Name of the table.
    pub table: String,
    /// One match per key.
    pub matches: Vec<WrittenMatch>,
    /// The highest priority wins. Only for tables with ternary, range or optional keys; 0 for others.
    pub priority: i32,
    /// Name of the action.
    pub action: String,
    /// One value per action parameter that the control plane sets.
    pub args: Vec<BigUint>,
}

impl EntrySpec {
    /// Creates an entry of `table` that runs `action`, without keys and arguments yet.
    pub fn new(table: impl Into<String>, action: impl Into<String>) -> EntrySpec {
        EntrySpec { table: table.into(), matches: Vec::new(), priority: 0, action: action.into(), args: Vec::new() }
    }

    /// Appends a key that equals a value.
    pub fn exact(self, value: impl Into<BigUint>) -> EntrySpec {
        self.key(WrittenMatch::Value(value.into()))
    }

    /// Appends a key that starts with the first `prefix_len` bits of a value.
    pub fn lpm(self, value: impl Into<BigUint>, prefix_len: u32) -> EntrySpec {
        self.key(WrittenMatch::Prefix(value.into(), prefix_len))
    }

    /// Appends a key that equals a value where the mask has ones.
    pub fn ternary(self, value: impl Into<BigUint>, mask: impl Into<BigUint>) -> EntrySpec {
        self.key(WrittenMatch::Mask(value.into(), mask.into()))
    }

    /// Appends a key between two inclusive bounds.
    pub fn range(self, lo: impl Into<BigUint>, hi: impl Into<BigUint>) -> EntrySpec {
        self.key(WrittenMatch::Range(lo.into(), hi.into()))
    }

    /// Appends a key that matches anything (lpm, ternary, range and optional keys only).
    pub fn any(self) -> EntrySpec {
        self.key(WrittenMatch::Any)
    }

    /// Appends a key.
    pub fn key(mut self, key: WrittenMatch) -> EntrySpec {
        self.matches.push(key);
        self
    }

    /// Appends an argument of the action.
    pub fn arg(mut self, value: impl Into<BigUint>) -> EntrySpec {
        self.args.push(value.into());
        self
    }

    /// Sets the priority.
    pub fn priority(mut self, priority: i32) -> EntrySpec {
        self.priority = priority;
        self
    }
}
