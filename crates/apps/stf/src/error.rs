//! What goes wrong in a test.

use std::fmt;

use hopwright_dataplane::externs::KeyError;
use hopwright_interp::{self as interp, ExternError};
#[cfg(feature = "reference")]
use hopwright_reference as reference;

use crate::resolve::ResolveError;

/// Something wrong at a line of a test file.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct StfError {
    /// The file's name as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
}

/// As people read it: `main` prints its error in this way.
impl fmt::Debug for StfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Why an engine does not do what it is asked to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The interpreter's state refuses it.
    #[error(transparent)]
    Interp(#[from] interp::ControlError),
    /// The data plane refuses it.
    #[error(transparent)]
    DataPlane(#[from] hopwright_dataplane::ControlError),
    /// A key is not changed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The reference refuses it.
    #[cfg(feature = "reference")]
    #[error(transparent)]
    Reference(#[from] reference::ControlError),
    /// There is no entry with these matches and this priority.
    #[error("the entry is gone")]
    NoEntry,
    /// No table of a program has an action.
    #[error("`{table}` has no such action")]
    NoAction {
        /// The table, or the action profile of all tables.
        table: String,
    },
    /// An engine lacks something that others have.
    #[error("`{name}` has no {what} here")]
    Lacks {
        /// The object or table.
        name: String,
        /// What it does not have.
        what: &'static str,
    },
    /// Only the interpreter reports what it does.
    #[error("only the interpreter can be observed")]
    Unobservable,
    /// No buffer has room for a packet.
    #[error("a packet of {0} bytes does not fit a frame")]
    TooLong(usize),
    /// An extern object refuses a setting.
    #[error(transparent)]
    Extern(#[from] ExternError),
}

/// The message of a line that is not carried out.
impl From<EngineError> for String {
    fn from(error: EngineError) -> String {
        error.to_string()
    }
}

/// Why a line is not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// The engine refuses it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It does not fit the program.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A key is too long.
    #[error("a key has 128 bits")]
    LongKey,
    /// A queue's number or its length is too large.
    #[error("a queue has 11 bits, and its length 18")]
    Queue,
    /// No line above gives an entry this name.
    #[error("no entry was named `{0}`")]
    NoEntry(String),
    /// An object is not of the entry's table.
    #[error("`{object}` {does_not} the entry's table")]
    OtherTable {
        /// The object.
        object: String,
        /// What it would do if it were.
        does_not: &'static str,
    },
    /// There is nothing with this number.
    #[error("no {what} {number}")]
    NoSuch {
        /// What there is not.
        what: &'static str,
        /// The number.
        number: usize,
    },
    /// A multicast group is made twice.
    #[error("group {0} exists already")]
    GroupTwice(u16),
}
