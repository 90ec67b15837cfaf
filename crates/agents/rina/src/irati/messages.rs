//! CDAP messages as IRATI writes and reads them: it sets most fields of its `CDAP.proto`, and has rules for which message may have which
//! (`librina/src/cdap_v2.cc`).

use prost::Message as _;

use crate::cdap::{Message, ObjectValue, op};
use crate::plain::ApName;

/// Longest message, in bytes: what a PDU on Ethernet has room for.
const LONGEST: usize = 1472;
/// The abstract syntax of M_CONNECT and M_CONNECT_R, and the version of the RIB.
const ABSTRACT_SYNTAX: i32 = 0x73;
const VERSION: i64 = 1;
/// The policy of authentication that proves nothing, and its version.
const NO_AUTHENTICATION: &str = "PSOC_authentication-none";
const POLICY_VERSION: &str = "1";
/// What another policy is in a [`Message`].
pub(super) const OTHER_AUTHENTICATION: i32 = 1;

/// `authPolicy_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct AuthPolicy {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, repeated, tag = "2")]
    versions: Vec<String>,
    #[prost(bytes = "vec", optional, tag = "3")]
    options: Option<Vec<u8>>,
}

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
    #[prost(int32, optional, tag = "10")]
    scope: Option<i32>,
    #[prost(message, optional, tag = "18")]
    auth_policy: Option<AuthPolicy>,
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

/// The bytes of a message. Names have parts that `|` separates.
pub(super) fn encode(message: &Message) -> Vec<u8> {
    let connect = op::is_connect(message.op_code);
    let name = |name: &Option<String>| name.as_deref().map_or_else(ApName::default, ApName::new);
    let (dest, src) = (name(&message.dest_ap_name), name(&message.src_ap_name));
    let some = |text: Option<String>| Some(text.unwrap_or_default());
    let auth_policy = match message.op_code {
        op::CONNECT => {
            let versions = vec![POLICY_VERSION.into()];
            AuthPolicy { name: Some(NO_AUTHENTICATION.into()), versions, options: None }
        }
        _ => AuthPolicy { name: Some(String::new()), ..AuthPolicy::default() },
    };
    let wire = Wire {
        abs_syntax: Some(if connect { ABSTRACT_SYNTAX } else { 0 }),
        op_code: message.op_code,
        invoke_id: Some(message.invoke_id.unwrap_or_default()),
        flags: None,
        obj_class: some(message.obj_class.clone()),
        obj_name: some(message.obj_name.clone()),
        obj_value: message.obj_value.clone(),
        result: Some(message.result.unwrap_or_default()),
        scope: Some(0),
        auth_policy: Some(auth_policy),
        dest_ae_inst: some(dest.ae_instance),
        dest_ae_name: some(dest.ae_name),
        dest_ap_inst: some(dest.ap_instance),
        dest_ap_name: Some(dest.ap_name),
        src_ae_inst: some(src.ae_instance),
        src_ae_name: some(src.ae_name),
        src_ap_inst: some(src.ap_instance),
        src_ap_name: Some(src.ap_name),
        result_reason: some(message.result_reason.clone()),
        version: Some(if connect { VERSION } else { 0 }),
    };
    wire.encode_to_vec()
}

/// Reads a message. None if it is none, or IRATI would not take it.
pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
    if bytes.len() > LONGEST {
        return None;
    }
    let wire = Wire::decode(bytes).ok()?;
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let name = ApName::text_of;
    let policy = wire.auth_policy.unwrap_or_default().name.unwrap_or_default();
    let message = Message {
        op_code: wire.op_code,
        invoke_id: wire.invoke_id.filter(|id| *id != 0),
        obj_class: some(wire.obj_class),
        obj_name: some(wire.obj_name),
        obj_value: wire.obj_value,
        result: wire.result.filter(|result| *result != 0),
        auth_mech: (!policy.is_empty() && policy != NO_AUTHENTICATION).then_some(OTHER_AUTHENTICATION),
        dest_ap_name: name(wire.dest_ap_name, wire.dest_ap_inst, wire.dest_ae_name, wire.dest_ae_inst),
        src_ap_name: name(wire.src_ap_name, wire.src_ap_inst, wire.src_ae_name, wire.src_ae_inst),
        result_reason: some(wire.result_reason),
        version: wire.version.filter(|version| *version != 0),
        ..Message::default()
    };
    let connect = op::is_connect(message.op_code);
    let named = message.dest_ap_name.is_some() || message.src_ap_name.is_some();
    let both = message.dest_ap_name.is_some() && message.src_ap_name.is_some();
    let has_object = message.obj_class.is_some() || message.obj_name.is_some() || message.obj_value.is_some();
    let valid = (0..=op::STOP_R).contains(&message.op_code)
        && (wire.abs_syntax.unwrap_or_default() != 0) == connect
        && if connect { !has_object && message.version.is_some() } else { !named }
        && (message.op_code != op::CONNECT || both)
        && (message.obj_name.is_none() || message.obj_class.is_some())
        && (message.op_code != op::WRITE || message.obj_value.is_some())
        // Responses have odd numbers.
        && (message.invoke_id.is_some() || message.op_code % 2 == 0 && message.op_code != op::CONNECT);
    valid.then_some(message)
}
