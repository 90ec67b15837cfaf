//! The dialect of rlite (github.com/rlite/rlite): what a DIF whose other members run rlite says on the wire.
//!
//! | module | owns |
//! | --- | --- |
//! | `messages` | CDAP messages as bytes |
//! | `objects` | names and values of RIB objects |
//! | `enrolment` | enrollment |
//! | `flows` | flow allocation and control PDUs, between rlite's messages and those of [`crate::flows`] |
//!
//! What IRATI's dialect has in common with it is in [`crate::plain`].
//!
//! The other state machines are those of every DIF. What rlite's protocol lacks they are given by this side: a release is not answered
//! there, and nobody asks whether a flow is still there. There is no authentication, and nothing is acknowledged: members send each
//! other what they know again at intervals.
//!
//! Sources: `user/libs/cdap.cpp`, `CDAP.proto`, `user/uipcps/uipcp-normal*.cpp`, `BaseRIB.proto`, `kernel/normal.c`,
//! `kernel/shim-eth.c`.

pub(crate) mod enrolment;
pub(crate) mod flows;
mod messages;
pub(crate) mod objects;

/// A management SDU: of what is wrapped the message inside.
pub(crate) fn read(sdu: &[u8]) -> Option<crate::cdap::Message> {
    flows::unwrap(sdu).map(|(_, message)| message).or_else(|| messages::decode(sdu))
}

#[cfg(test)]
mod tests;
