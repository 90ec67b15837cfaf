//! Errors of control-plane requests.

use hopwright_ir::entry::EntryError;
use hopwright_ir::profile::ProfileError;

use crate::offload::DeviceFault;

/// The reason why a control-plane request was refused. A refused request changes nothing.
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
    #[error("`{name}`: the hardware refuses: {reason}")]
    Device { name: String, reason: DeviceFault },
    #[error("the interpreter cannot run this program: {0}")]
    Interpreter(String),
}
