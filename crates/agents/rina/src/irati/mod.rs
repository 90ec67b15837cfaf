//! The dialect of IRATI (github.com/IRATI/stack): what a DIF whose other members run IRATI says on the wire.
//!
//! | module | owns |
//! | --- | --- |
//! | `messages` | CDAP messages as bytes |
//! | `objects` | names and values of RIB objects, and directory entries of members that are not known yet |
//! | `enrolment` | enrollment |
//! | `flows` | flow allocation and control PDUs, between IRATI's messages and those of [`crate::flows`] |
//!
//! What rlite's dialect has in common with it is in [`crate::plain`]. Messages to members farther away travel
//! from neighbour to neighbour, each of which looks where they go. There is no authentication (`PSOC_authentication-none`), and nothing is
//! acknowledged.
//!
//! Sources: `librina/src/cdap_v2.cc`, `CDAP.proto`, `rinad/src/common/encoder.cc` and the `.proto` files beside it,
//! `rinad/src/ipcp/plugins/default/enrollment-task-ps.cc`, `routing-ps.cc`, `flow-allocator.cc`, `namespace-manager.cc`, `kernel/dtcp.c`,
//! `kernel/pci.c`, `kernel/ipcps/shim-eth-core.c`.

pub(crate) mod enrolment;
pub(crate) mod flows;
mod messages;
pub(crate) mod objects;

/// A management SDU: of what is wrapped the message inside.
pub(crate) fn read(sdu: &[u8]) -> Option<crate::cdap::Message> {
    let message = messages::decode(sdu)?;
    Some(flows::unwrap(&message).map_or(message, |(_, inner)| inner))
}

#[cfg(test)]
mod tests;
