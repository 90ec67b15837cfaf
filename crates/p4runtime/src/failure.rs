//! Why a request or one of its updates fails, as gRPC and P4Runtime say it (P4Runtime section 12).

use hopwright_dataplane::ControlError;
use prost::Message;
use tonic::{Code, Status};

use crate::bytes::NotANumber;
use crate::proto::{rpc, v1};

/// Most bytes of details in an answer: they travel in a trailer, and clients bound those.
const MAX_DETAILS: usize = 24 << 10;

/// A canonical code and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// gRPC's canonical code.
    pub code: Code,
    /// For people.
    pub message: String,
}

/// What most functions here return.
pub type Result<T> = std::result::Result<T, Failure>;

macro_rules! constructors {
    ($($name:ident => $code:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($code), "`.")]
            pub fn $name(message: impl Into<String>) -> Failure {
                Failure { code: Code::$code, message: message.into() }
            }
        )*
    };
}

constructors! {
    invalid => InvalidArgument;
    not_found => NotFound;
    exists => AlreadyExists;
    denied => PermissionDenied;
    precondition => FailedPrecondition;
    out_of_range => OutOfRange;
    unimplemented => Unimplemented;
    exhausted => ResourceExhausted;
    aborted => Aborted;
}

impl Failure {
    /// As the status of a whole call.
    pub fn status(self) -> Status {
        Status::new(self.code, self.message)
    }

    /// As the details of one update.
    pub fn detail(&self) -> v1::Error {
        v1::Error { canonical_code: self.code as i32, message: self.message.clone(), ..Default::default() }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Failure {
        use hopwright_ir::entry::EntryError;
        use hopwright_ir::profile::ProfileError;
        let code = match &error {
            ControlError::UnknownTable(_)
            | ControlError::UnknownAction(_)
            | ControlError::UnknownExtern(_)
            | ControlError::UnknownValueSet(_)
            | ControlError::NotFound(_) => Code::NotFound,
            ControlError::Duplicate(_) => Code::AlreadyExists,
            ControlError::Full { .. } | ControlError::FullValueSet { .. } => Code::ResourceExhausted,
            ControlError::ConstEntries(_) | ControlError::ConstDefault(_) => Code::PermissionDenied,
            ControlError::Index { .. } | ControlError::ValueWidth { .. } => Code::OutOfRange,
            ControlError::Entry { reason, .. } | ControlError::Member { reason, .. } => match reason {
                EntryError::TooWide { .. } | EntryError::ArgumentTooWide { .. } => Code::OutOfRange,
                EntryError::Action { .. } => Code::PermissionDenied,
                _ => Code::InvalidArgument,
            },
            ControlError::Profile { reason, .. } => match reason {
                ProfileError::MemberExists(_) | ProfileError::GroupExists(_) => Code::AlreadyExists,
                ProfileError::NoMember(_) | ProfileError::NoGroup(_) => Code::NotFound,
                ProfileError::MemberInUse(_) | ProfileError::GroupInUse(_) => Code::FailedPrecondition,
                ProfileError::Full { .. } | ProfileError::GroupFull { .. } => Code::ResourceExhausted,
                ProfileError::Action(EntryError::ArgumentTooWide { .. }) => Code::OutOfRange,
                ProfileError::Action(EntryError::Action { .. }) => Code::PermissionDenied,
                ProfileError::Weight
                | ProfileError::MaxSize
                | ProfileError::NoSelector
                | ProfileError::NoProfile
                | ProfileError::Action(_) => Code::InvalidArgument,
            },
            ControlError::WrongExtern { .. }
            | ControlError::NoDirectCounter(_)
            | ControlError::NoDirectMeter(_)
            | ControlError::Interpreter(_) => Code::InvalidArgument,
        };
        Failure { code, message: error.to_string() }
    }
}

/// A number that is none, in the field of this name.
pub fn bad_number(name: &str, width: u32, error: NotANumber) -> Failure {
    match error {
        NotANumber::Empty => out_of_range(format!("`{name}`: an empty byte string is no value")),
        NotANumber::TooWide => out_of_range(format!("`{name}`: the value does not fit {width} bits")),
    }
}

/// The status of a write of which some updates failed: one error for each update, in order, those that went well
/// included.
pub fn batch(results: &[Result<()>]) -> Status {
    let failed = results.iter().filter(|r| r.is_err()).count();
    let first = results.iter().enumerate().find_map(|(at, r)| Some((at, r.as_ref().err()?)));
    let message = match first {
        Some((at, failure)) => {
            format!("{failed} of {} updates failed; the first is number {at}: {}", results.len(), failure.message)
        }
        None => String::new(),
    };
    let mut details = details(results, true);
    if size(&details) > MAX_DETAILS {
        details = self::details(results, false);
    }
    let mut room = MAX_DETAILS;
    details.retain(|d| {
        let fits = room >= d.encoded_len();
        room = if fits { room - d.encoded_len() } else { 0 };
        fits
    });
    let status = rpc::Status { code: Code::Unknown as i32, message: message.clone(), details };
    Status::with_details(Code::Unknown, message, status.encode_to_vec().into())
}

fn size(details: &[prost_types::Any]) -> usize {
    details.iter().map(Message::encoded_len).sum()
}

fn details(results: &[Result<()>], messages: bool) -> Vec<prost_types::Any> {
    results
        .iter()
        .map(|result| {
            let mut error = result.as_ref().err().map(Failure::detail).unwrap_or_default();
            if !messages {
                error.message.clear();
            }
            prost_types::Any { type_url: "type.googleapis.com/p4.v1.Error".into(), value: error.encode_to_vec() }
        })
        .collect()
}
