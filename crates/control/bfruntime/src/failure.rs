//! Why requests fail: the codes are gRPC's.

use hopwright_p4runtime::Failure;
use tonic::Code;

pub(crate) type Result<T> = std::result::Result<T, Failure>;

/// The type of an update's error in the details of a status.
pub(crate) const ERROR_TYPE: &str = "type.googleapis.com/bfrt_proto.Error";

macro_rules! constructors {
    ($($name:ident => $code:ident;)*) => {
        $(pub(crate) fn $name(message: impl Into<String>) -> Failure {
            Failure { code: Code::$code, message: message.into() }
        })*
    };
}

constructors! {
    invalid => InvalidArgument;
    not_found => NotFound;
    exists => AlreadyExists;
    out_of_range => OutOfRange;
    unimplemented => Unimplemented;
    aborted => Aborted;
    exhausted => ResourceExhausted;
}
