//! Converts between the messages of P4Runtime and the control model. Nothing is checked here but the form of messages.

mod decode;
mod digest;
mod encode;
mod packet;

pub(crate) use decode::{action, check_copies, entity, fields, index, update};
pub(crate) use encode::{Encode, counted, digest_config, rates, set_metadata};
pub(crate) use packet::{packet_in, packet_out};
