//! CDAP messages as rlite writes and reads them: all fields of `CDAP.proto`, of which it sets most, and rules for which message may have
//! which (`user/libs/cdap.cpp`).

use prost::Message as _;

use crate::cdap::{Message, ObjectValue, op};
use crate::plain::ApName;

/// Longest message, in bytes: what a PDU on Ethernet has room for.
const LONGEST: usize = 1472;
/// The abstract syntax of M_CONNECT and M_CONNECT_R.
const ABSTRACT_SYNTAX: i32 = 73;
/// The version of messages of a connection between neighbours. Others have 0.
const VERSION: i64 = 1;

/// `CDAPMessage`.
#[derive(Clone, PartialEq, prost::Message)]
struct Wire {
    #[prost(int32, optional, tag = "1")]
    abs_syntax: Option<i32>,
    #[prost(int32, required, tag = "2")]
    op_code: i32,
    #[prost(int32, optional, tag = "3")]
    invoke_id: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    flags: Option<i32>,
    #[prost(string, optional, tag = "5")]
    obj_class: Option<String>,
    #[prost(string, optional, tag = "6")]
    obj_name: Option<String>,
    #[prost(message, optional, boxed, tag = "8")]
    obj_value: Option<Box<ObjectValue>>,
    #[prost(int32, optional, tag = "9")]
    result: Option<i32>,
    #[prost(int32, optional, tag = "17")]
    auth_mech: Option<i32>,
    #[prost(string, optional, tag = "19")]
    dest_ae_inst: Option<String>,
    #[prost(string, optional, tag = "20")]
    dest_ae_name: Option<String>,
    #[prost(string, optional, tag = "21")]
    dest_ap_inst: Option<String>,
    #[prost(string, optional, tag = "22")]
    dest_ap_name: Option<String>,
    #[prost(string, optional, tag = "23")]
    src_ae_inst: Option<String>,
    #[prost(string, optional, tag = "24")]
    src_ae_name: Option<String>,
    #[prost(string, optional, tag = "25")]
    src_ap_inst: Option<String>,
    #[prost(string, optional, tag = "26")]
    src_ap_name: Option<String>,
    #[prost(string, optional, tag = "27")]
    result_reason: Option<String>,
    #[prost(int64, optional, tag = "28")]
    version: Option<i64>,
}

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
        auth_mech: None,
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
    };
    wire.encode_to_vec()
}

/// Reads a message. None if it is none, or rlite would not take it.
pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
    if bytes.len() > LONGEST {
        return None;
    }
    let wire = Wire::decode(bytes).ok()?;
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let name = ApName::text_of;
    let message = Message {
        op_code: wire.op_code,
        invoke_id: wire.invoke_id.filter(|id| *id != 0),
        obj_class: some(wire.obj_class),
        obj_name: some(wire.obj_name),
        obj_value: wire.obj_value,
        result: wire.result.filter(|result| *result != 0),
        dest_ap_name: name(wire.dest_ap_name, wire.dest_ap_inst, wire.dest_ae_name, wire.dest_ae_inst),
        src_ap_name: name(wire.src_ap_name, wire.src_ap_inst, wire.src_ae_name, wire.src_ae_inst),
        result_reason: some(wire.result_reason),
        version: wire.version,
        ..Message::default()
    };
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
