//! Errors of control-plane requests.

use hopwright_ir::entry::EntryError;
use hopwright_ir::profile::ProfileError;

use crate::account::MemoryExceeded;
use crate::offload::DeviceFault;

/// The reason why a control-plane request was refused. A refused request changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// No table has this name or the end of one, or several have.
    #[error("the program has no table `{0}`, or several end in that name")]
    UnknownTable(String),
    /// No action has this name or the end of one, or several have.
    #[error("the program has no action `{0}`, or several end in that name")]
    UnknownAction(String),
    /// No extern object has this name or the end of one, or several have.
    #[error("the program has no extern object `{0}`, or several end in that name")]
    UnknownExtern(String),
    /// An extern object is of another type than the request needs.
    #[error("`{name}` is {is}, not {wanted}")]
    WrongExtern {
        /// The object's name.
        name: String,
        /// What it is, with an article.
        is: String,
        /// What the request needs, with an article.
        wanted: &'static str,
    },
    /// A key, the priority, the action or a parameter of an entry does not fit the table.
    #[error("table `{table}`: {reason}")]
    Entry {
        /// The table's name.
        table: String,
        /// What does not fit.
        reason: EntryError,
    },
    /// The table, named here, has an entry with these keys and this priority already.
    #[error("table `{0}` already has an entry with these keys and priority")]
    Duplicate(String),
    /// The table, named here, has no entry with these keys and this priority.
    #[error("table `{0}` has no entry with these keys and priority")]
    NotFound(String),
    /// The table has as many entries as the program lets it have.
    #[error("table `{table}` is full: its size is {size}")]
    Full {
        /// The table's name.
        table: String,
        /// The number of entries that it has room for.
        size: u64,
    },
    /// The program gives the table, named here, its entries; nobody changes them.
    #[error("the entries of table `{0}` are constant")]
    ConstEntries(String),
    /// The program gives the table, named here, its default action; nobody changes it.
    #[error("the default action of table `{0}` is constant")]
    ConstDefault(String),
    /// The table, named here, does not count its entries.
    #[error("table `{0}` has no direct counter")]
    NoDirectCounter(String),
    /// The table, named here, has no meter for its entries, or the entry has none.
    #[error("table `{0}` has no direct meter")]
    NoDirectMeter(String),
    /// An action profile or selector refuses a member or group.
    #[error("`{name}`: {reason}")]
    Profile {
        /// The profile's or selector's name.
        name: String,
        /// Why it refuses.
        reason: ProfileError,
    },
    /// A counter, meter or register has no cell of this index.
    #[error("`{name}` has {size} cells; there is no index {index}")]
    Index {
        /// The object's name.
        name: String,
        /// The index.
        index: u64,
        /// The number of its cells: indexes are less.
        size: u64,
    },
    /// A value has more bits than the object's cells.
    #[error("the value does not fit the {width} bits of `{name}`")]
    ValueWidth {
        /// The object's name.
        name: String,
        /// The width of a cell in bits.
        width: u32,
    },
    /// No value set of the parsers has this name or number.
    #[error("the program has no value set {0}")]
    UnknownValueSet(String),
    /// The value set has as many members as the program lets it have.
    #[error("value set `{name}` has room for {size} members")]
    FullValueSet {
        /// The value set's name.
        name: String,
        /// The number of members that it has room for.
        size: u64,
    },
    /// A member does not fit the fields of a value set.
    #[error("value set `{name}`: {reason}")]
    Member {
        /// The value set's name.
        name: String,
        /// What does not fit.
        reason: EntryError,
    },
    /// A device that runs the program has no room for the change, or does not answer.
    #[error("`{name}`: the hardware refuses: {reason}")]
    Device {
        /// The table or object.
        name: String,
        /// What the device says.
        reason: DeviceFault,
    },
    /// The tenant's memory does not suffice for the change.
    #[error("`{name}`: {reason}")]
    Memory {
        /// The table or object.
        name: String,
        /// What it takes, and what the tenant may have.
        reason: MemoryExceeded,
    },
    /// The interpreter, which a request needs, does not run the program, for this reason.
    #[error("the interpreter cannot run this program: {0}")]
    Interpreter(String),
}
