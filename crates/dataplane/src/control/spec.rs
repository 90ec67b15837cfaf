//! Table entries given by names.

use hopwright_ir::WrittenMatch;
use num_bigint::BigUint;

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
    pub matches: Vec<WrittenMatch>,
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
        self.key(WrittenMatch::Value(value.into()))
    }

    /// The next key starts with the first `prefix_len` bits of a value.
    pub fn lpm(self, value: impl Into<BigUint>, prefix_len: u32) -> EntrySpec {
        self.key(WrittenMatch::Prefix(value.into(), prefix_len))
    }

    /// The next key equals a value where the mask has ones.
    pub fn ternary(self, value: impl Into<BigUint>, mask: impl Into<BigUint>) -> EntrySpec {
        self.key(WrittenMatch::Mask(value.into(), mask.into()))
    }

    /// The next key lies between two bounds, both included.
    pub fn range(self, lo: impl Into<BigUint>, hi: impl Into<BigUint>) -> EntrySpec {
        self.key(WrittenMatch::Range(lo.into(), hi.into()))
    }

    /// The next key may be anything (lpm, ternary, range, optional).
    pub fn any(self) -> EntrySpec {
        self.key(WrittenMatch::Any)
    }

    /// The next key.
    pub fn key(mut self, key: WrittenMatch) -> EntrySpec {
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
