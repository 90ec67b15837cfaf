//! CDAP messages as IRATI writes and reads them: it sets most fields of its `CDAP.proto`, and has rules for which message may have which
//! (`librina/src/cdap_v2.cc`).

use prost::Message as _;

use crate::cdap::{Message, op};
use crate::plain::{ApName, Wire};

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
        obj_class: some(message.obj_class.clone()),
        obj_name: some(message.obj_name.clone()),
        obj_value: message.obj_value.clone(),
        result: Some(message.result.unwrap_or_default()),
        scope: Some(0),
        auth_value: Some(auth_policy.encode_to_vec()),
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
        ..Wire::default()
    };
    wire.encode_to_vec()
}

/// Reads a message. None if it is none, or IRATI would not take it.
pub(super) fn decode(bytes: &[u8]) -> Option<Message> {
    let (wire, message) = Wire::read(bytes)?;
    let policy = AuthPolicy::decode(&*wire.auth_value.unwrap_or_default()).ok()?.name.unwrap_or_default();
    let message = Message {
        auth_mech: (!policy.is_empty() && policy != NO_AUTHENTICATION).then_some(OTHER_AUTHENTICATION),
        version: message.version.filter(|version| *version != 0),
        ..message
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
