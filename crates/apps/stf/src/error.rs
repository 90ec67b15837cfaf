//! What goes wrong in a test.

use std::fmt;

use hopwright_dataplane::externs::NoSuchKey;
use hopwright_interp as interp;
#[cfg(feature = "reference")]
use hopwright_reference as reference;

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
    /// There is no such key.
    #[error(transparent)]
    Key(#[from] NoSuchKey),
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
    /// An extern object refuses a setting, or what runs the program does not answer.
    #[error("{0}")]
    Other(String),
}

/// The message of a line that is not carried out.
impl From<EngineError> for String {
    fn from(error: EngineError) -> String {
        error.to_string()
    }
}
