//! Why a request or one of its updates fails, as gRPC and P4Runtime report it (P4Runtime section 12).

use hopwright_control::{Error, ErrorKind};
use hopwright_dataplane::ControlError;
use prost::Message;
use tonic::{Code, Status};

use crate::proto::{rpc, v1};

/// The most bytes of an answer's trailers: gRPC's C library always accepts 8 KiB, and ends the stream at 16.
const MAX_TRAILERS: usize = 7 << 10;
/// The type of an update's error in the details of P4Runtime's statuses.
pub(crate) const ERROR_TYPE: &str = "type.googleapis.com/p4.v1.Error";
/// The most bytes of human-readable text in them.
const MAX_MESSAGE: usize = 512;

/// A canonical code and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// gRPC's canonical code.
    pub code: Code,
    /// The human-readable message.
    pub message: String,
}

/// The result of most functions of this crate.
pub(crate) type Result<T> = std::result::Result<T, Failure>;

macro_rules! constructors {
    ($($name:ident => $code:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($code), "`.")]
            pub(crate) fn $name(message: impl Into<String>) -> Failure {
                Failure { code: Code::$code, message: message.into() }
            }
        )*
    };
}

constructors! {
    invalid => InvalidArgument;
    not_found => NotFound;
    denied => PermissionDenied;
    precondition => FailedPrecondition;
    unimplemented => Unimplemented;
    exhausted => ResourceExhausted;
    unavailable => Unavailable;
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

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = match error.kind {
            ErrorKind::InvalidArgument => Code::InvalidArgument,
            ErrorKind::OutOfRange => Code::OutOfRange,
            ErrorKind::NotFound => Code::NotFound,
            ErrorKind::AlreadyExists => Code::AlreadyExists,
            ErrorKind::PermissionDenied => Code::PermissionDenied,
            ErrorKind::FailedPrecondition => Code::FailedPrecondition,
            ErrorKind::ResourceExhausted => Code::ResourceExhausted,
            ErrorKind::Unimplemented => Code::Unimplemented,
            ErrorKind::Aborted => Code::Aborted,
        };
        Failure { code, message: error.message }
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Failure {
        Error::from(error).into()
    }
}

/// The status of a request of which some parts, such as `updates`, failed: one error for each part, in order, including those that succeeded,
/// as long as there is room; the first failures carry their messages. `error_type` is the type URL of errors, whose messages have the
/// fields of P4Runtime's.
pub fn batch(results: &[std::result::Result<(), Failure>], what: &str, error_type: &str) -> Status {
    let failed = results.iter().filter(|r| r.is_err()).count();
    let first = results.iter().enumerate().find_map(|(at, r)| Some((at, r.as_ref().err()?)));
    let message = first.map_or_else(String::new, |(at, failure)| {
        let (all, why) = (results.len(), cut(&failure.message));
        format!("{failed} of {all} {what} failed; the first is number {at}: {why}")
    });
    // The message is sent twice: percent-encoded, which may triple its length, and in the details, in Base64.
    let room = (MAX_TRAILERS - 3 * message.len().min(MAX_TRAILERS / 4)) * 3 / 4 - message.len();
    let any = |error: v1::Error| prost_types::Any { type_url: error_type.into(), value: error.encode_to_vec() };
    let code = |result| any(error(result, false));
    let codes: usize = results.iter().map(|r| size(&code(r))).sum();
    let mut for_messages = room.saturating_sub(codes).max(room / 2);
    let mut left = room;
    let mut details = Vec::new();
    for result in results {
        let (short, full) = (code(result), any(error(result, true)));
        let more = size(&full) - size(&short);
        let detail = match for_messages.checked_sub(more) {
            Some(rest) => {
                for_messages = rest;
                full
            }
            None => {
                for_messages = 0;
                short
            }
        };
        match left.checked_sub(size(&detail)) {
            Some(rest) => left = rest,
            None => break,
        }
        details.push(detail);
    }
    let status = rpc::Status { code: Code::Unknown as i32, message: message.clone(), details };
    Status::with_details(Code::Unknown, message, status.encode_to_vec().into())
}

fn error(result: &Result<()>, message: bool) -> v1::Error {
    match result {
        Ok(()) => v1::Error::default(),
        Err(failure) if message => v1::Error { message: cut(&failure.message), ..failure.detail() },
        Err(failure) => v1::Error { message: String::new(), ..failure.detail() },
    }
}

/// Bytes in a status: with tag and length.
fn size(error: &prost_types::Any) -> usize {
    error.encoded_len() + 3
}

fn cut(message: &str) -> String {
    match message.len() <= MAX_MESSAGE {
        true => message.to_string(),
        false => format!("{}…", &message[..message.floor_char_boundary(MAX_MESSAGE)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of an answer's trailers on the wire.
    fn trailers(status: &Status) -> usize {
        let encoded: usize = status.message().bytes().map(|b| if b.is_ascii_alphanumeric() { 1 } else { 3 }).sum();
        encoded + status.details().len().div_ceil(3) * 4
    }

    fn errors(status: &Status) -> Vec<v1::Error> {
        let details = rpc::Status::decode(status.details()).unwrap().details;
        details.iter().map(|d| v1::Error::decode(d.value.as_slice()).unwrap()).collect()
    }

    #[test]
    fn an_answer_to_a_batch_fits_what_clients_take() {
        let long = || Err(not_found("`ipv4_lpm` has no such entry ".repeat(100)));
        let short = || Err(denied("it is const"));
        for results in [
            vec![short(); 3],
            vec![short(); 100_000],
            vec![long(); 3],
            vec![long(); 100_000],
            [vec![Ok(()); 5000], vec![long(); 5000]].concat(),
        ] {
            let status = batch(&results, "updates", ERROR_TYPE);
            assert!(trailers(&status) < 8 << 10, "{}", trailers(&status));
            let failed = results.iter().filter(|r| r.is_err()).count();
            assert!(status.message().starts_with(&format!("{failed} of {} updates failed", results.len())));
            let errors = errors(&status);
            assert!(errors.len() == results.len() || errors.len() > 40, "{}", errors.len());
            if let Err(first) = &results[0] {
                assert!(
                    first.message.starts_with(errors[0].message.trim_end_matches('…')) && errors[0].message.len() > 8
                );
            }
            for (error, result) in errors.iter().zip(&results) {
                let code = result.as_ref().err().map_or(0, |f| f.code as i32);
                assert_eq!(error.canonical_code, code);
            }
        }
    }
}
