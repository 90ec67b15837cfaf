//! Why an update is refused.

use hopwright_dataplane::ControlError;
use hopwright_ir::entry::EntryError;
use hopwright_ir::profile::ProfileError;

use crate::bytes::NotANumber;

/// The kind of an error. The names are those of gRPC's canonical codes, by which protocols report them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The update is malformed or violates a rule of the program.
    InvalidArgument,
    /// A number does not fit, or an index is too large.
    OutOfRange,
    /// There is no such object or entry.
    NotFound,
    /// There is one already.
    AlreadyExists,
    /// The program does not let control planes change this.
    PermissionDenied,
    /// Something refers to what would be removed.
    FailedPrecondition,
    /// There is no room.
    ResourceExhausted,
    /// It is not supported.
    Unimplemented,
    /// Another update of the batch was refused.
    Aborted,
}

/// Why an update is refused. What is refused changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// The object, the field and what was expected.
    pub message: String,
}

/// The result of most functions of this crate.
pub type Result<T> = std::result::Result<T, Error>;

macro_rules! constructors {
    ($($name:ident => $kind:ident;)*) => {
        $(
            #[doc = concat!("An error of the kind `", stringify!($kind), "`.")]
            pub(crate) fn $name(message: impl Into<String>) -> Error {
                Error { kind: ErrorKind::$kind, message: message.into() }
            }
        )*
    };
}

constructors! {
    invalid => InvalidArgument;
    out_of_range => OutOfRange;
    not_found => NotFound;
    exists => AlreadyExists;
    denied => PermissionDenied;
    precondition => FailedPrecondition;
    exhausted => ResourceExhausted;
    aborted => Aborted;
}

/// A byte string that is no number of this width, in the field of this name.
pub fn bad_number(name: &str, width: u32, error: NotANumber) -> Error {
    match error {
        NotANumber::Empty => out_of_range(format!("`{name}`: an empty byte string is no value")),
        NotANumber::TooWide => out_of_range(format!("`{name}`: the value does not fit {width} bits")),
    }
}

impl From<ControlError> for Error {
    fn from(error: ControlError) -> Error {
        let kind = match &error {
            ControlError::UnknownTable(_)
            | ControlError::UnknownAction(_)
            | ControlError::UnknownExtern(_)
            | ControlError::UnknownValueSet(_)
            | ControlError::NotFound(_) => ErrorKind::NotFound,
            ControlError::Duplicate(_) => ErrorKind::AlreadyExists,
            ControlError::Full { .. } | ControlError::FullValueSet { .. } | ControlError::Memory { .. } => {
                ErrorKind::ResourceExhausted
            }
            ControlError::ConstEntries(_) | ControlError::ConstDefault(_) => ErrorKind::PermissionDenied,
            ControlError::Index { .. } | ControlError::ValueWidth { .. } => ErrorKind::OutOfRange,
            ControlError::Entry { reason, .. } | ControlError::Member { reason, .. } => match reason {
                EntryError::TooWide { .. } | EntryError::ArgumentTooWide { .. } => ErrorKind::OutOfRange,
                EntryError::Action { .. } => ErrorKind::PermissionDenied,
                _ => ErrorKind::InvalidArgument,
            },
            ControlError::Profile { reason, .. } => match reason {
                ProfileError::MemberExists(_) | ProfileError::GroupExists(_) => ErrorKind::AlreadyExists,
                ProfileError::NoMember(_) | ProfileError::NoGroup(_) => ErrorKind::NotFound,
                ProfileError::MemberInUse(_) | ProfileError::GroupInUse(_) => ErrorKind::FailedPrecondition,
                ProfileError::Full { .. } | ProfileError::GroupFull { .. } => ErrorKind::ResourceExhausted,
                ProfileError::Action(EntryError::ArgumentTooWide { .. }) => ErrorKind::OutOfRange,
                ProfileError::Action(EntryError::Action { .. }) | ProfileError::OtherTable { .. } => {
                    ErrorKind::PermissionDenied
                }
                ProfileError::Weight
                | ProfileError::MaxSize
                | ProfileError::NoSelector
                | ProfileError::NoProfile
                | ProfileError::Action(_) => ErrorKind::InvalidArgument,
            },
            ControlError::WrongExtern { .. }
            | ControlError::NoDirectCounter(_)
            | ControlError::NoDirectMeter(_)
            | ControlError::Interpreter(_) => ErrorKind::InvalidArgument,
            ControlError::Device { .. } => ErrorKind::ResourceExhausted,
        };
        Error { kind, message: error.to_string() }
    }
}
