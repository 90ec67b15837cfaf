//! CDAP messages as rlite writes and reads them: all fields of `CDAP.proto`, of which it sets most, and rules for which message may have
//! which (`user/libs/cdap.cpp`).

use prost::Message as _;

use crate::cdap::{Message, op};
use crate::plain::{ApName, Wire};

/// The abstract syntax of M_CONNECT and M_CONNECT_R.
const ABSTRACT_SYNTAX: i32 = 73;
/// The version of messages of a connection between neighbours. Others have 0.
const VERSION: i64 = 1;

/// A message of a connection between neighbours, or (`connected` is false) one that is not.
pub(super) fn encode(message: &Message, connected: bool) -> Vec<u8> {
    let [dest, src] = [&message.dest_ap_name, &message.src_ap_name].map(|name| name.as_deref().map(ApName::new));
    let part =
        |name: &Option<ApName>, part: fn(&ApName) -> &Option<String>| name.as_ref().and_then(|it| part(it).clone());
    let wire = Wire {
        abs_syntax: Some(if op::is_connect(message.op_code) { ABSTRACT_SYNTAX } else { 0 }),
        op_code: message.op_code,
        invoke_id: message.invoke_id.filter(|id| *id != 0),
        flags: Some(0),
        obj_class: Some(message.obj_class.clone().unwrap_or_default()),
        obj_name: Some(message.obj_name.clone().unwrap_or_default()),
        obj_value: message.obj_value.clone(),
        result: Some(message.result.unwrap_or_default()),
        dest_ae_inst: part(&dest, |name| &name.ae_instance),
        dest_ae_name: part(&dest, |name| &name.ae_name),
        dest_ap_inst: part(&dest, |name| &name.ap_instance),
        dest_ap_name: dest.map(|name| name.ap_name),
        src_ae_inst: part(&src, |name| &name.ae_instance),
        src_ae_name: part(&src, |name| &name.ae_name),
        src_ap_inst: part(&src, |name| &name.ap_instance),
        src_ap_name: src.map(|name| name.ap_name),
        result_reason: message.result_reason.clone(),
        version: Some(if connected { VERSION } else { 0 }),
        ..Wire::default()
    };
    wire.encode_to_vec()
}

/// Reads a message. None if it is none, or rlite would not take it.
pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
    let (wire, message) = Wire::read(bytes)?;
    let connect = op::is_connect(message.op_code);
    let syntax = wire.abs_syntax.unwrap_or_default();
    let names = message.dest_ap_name.is_some() && message.src_ap_name.is_some();
    let object = message.obj_class.is_some();
    let valid = if connect { syntax != 0 && names && !object } else { syntax == 0 && !names }
        && object == message.obj_name.is_some()
        && (!connect || wire.auth_mech.unwrap_or_default() == 0)
        // Responses have odd numbers.
        && (message.invoke_id.is_some() || message.op_code % 2 == 0 && !connect);
    valid.then_some(message)
}
