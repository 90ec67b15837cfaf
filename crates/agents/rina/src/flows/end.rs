//! What applications are told about flows.

use std::fmt;

use crate::name::Name;

/// How a flow ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By one of the applications. Nothing is missing.
    Closed,
    /// The application there refused the request, or did not answer.
    Refused,
    /// The IPC process there has too many flows, or requests.
    Full,
    /// No such application is there.
    NoApplication,
    /// One of the IPC processes encrypts flows, and the other does not.
    Secrecy,
    /// The IPC process there did not answer the request.
    NoAnswer,
    /// The IPC process there has restarted.
    Restarted,
    /// Nothing was heard from the other end for 20 s.
    Silent,
    /// There was no path to the other end for 15 s.
    Unreachable,
    /// Nothing was acknowledged for 30 s.
    Unacknowledged,
    /// The other end does not know the flow.
    Unknown,
    /// The other end has given up.
    GaveUp,
    /// The other end did not confirm the end.
    Unconfirmed,
    /// SDUs of the other end are missing.
    Missing,
    /// This many SDUs were not delivered to the other application.
    Undelivered(u64),
    /// The application has sent SDUs when the flow had ended.
    Unsent,
}

impl End {
    /// Whether every SDU of a reliable flow was delivered.
    pub fn is_clean(self) -> bool {
        self == End::Closed
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Closed => "closed",
            End::Refused => "refused",
            End::Full => "the other IPC process has too many flows",
            End::NoApplication => "no such application is there",
            End::Secrecy => "one of the IPC processes encrypts flows, and the other does not",
            End::NoAnswer => "no answer",
            End::Restarted => "the other end has restarted",
            End::Silent => "the other end does not answer any more",
            End::Unreachable => "the other end is unreachable",
            End::Unacknowledged => "the other end does not acknowledge any more",
            End::Unknown => "the other end does not know the flow any more",
            End::GaveUp => "the other end has given up",
            End::Unconfirmed => "the other end did not confirm that all has arrived",
            End::Missing => "SDUs of the other end are missing",
            End::Unsent => "the other end closed the flow: SDUs were not sent",
            End::Undelivered(1) => return f.write_str("an SDU was not delivered"),
            End::Undelivered(count) => return write!(f, "{count} SDUs were not delivered"),
        })
    }
}

/// What an application is told about a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowEvent {
    /// The flow that was requested is there.
    Allocated,
    /// An application asks for a flow; [`crate::ipcp::Ipcp::answer`] accepts or refuses it.
    Requested {
        /// The application that was asked for.
        to: Name,
        /// The one that asks.
        from: Name,
    },
    /// The flow is not there, or not any more.
    Ended(End),
}
