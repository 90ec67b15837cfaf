//! CDAP messages as `CDAP.proto` of others has them.

use prost::Message as _;

use super::ApName;
use crate::cdap::{Message, ObjectValue};

/// Longest message, in bytes: what a PDU on Ethernet has room for.
const LONGEST: usize = 1472;

/// `CDAPMessage`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Wire {
    #[prost(int32, optional, tag = "1")]
    pub abs_syntax: Option<i32>,
    #[prost(int32, required, tag = "2")]
    pub op_code: i32,
    #[prost(int32, optional, tag = "3")]
    pub invoke_id: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub flags: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub obj_class: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub obj_name: Option<String>,
    #[prost(message, optional, boxed, tag = "8")]
    pub obj_value: Option<Box<ObjectValue>>,
    #[prost(int32, optional, tag = "9")]
    pub result: Option<i32>,
    #[prost(int32, optional, tag = "10")]
    pub scope: Option<i32>,
    #[prost(int32, optional, tag = "17")]
    pub auth_mech: Option<i32>,
    /// What it is depends on the dialect.
    #[prost(bytes = "vec", optional, tag = "18")]
    pub auth_value: Option<Vec<u8>>,
    #[prost(string, optional, tag = "19")]
    pub dest_ae_inst: Option<String>,
    #[prost(string, optional, tag = "20")]
    pub dest_ae_name: Option<String>,
    #[prost(string, optional, tag = "21")]
    pub dest_ap_inst: Option<String>,
    #[prost(string, optional, tag = "22")]
    pub dest_ap_name: Option<String>,
    #[prost(string, optional, tag = "23")]
    pub src_ae_inst: Option<String>,
    #[prost(string, optional, tag = "24")]
    pub src_ae_name: Option<String>,
    #[prost(string, optional, tag = "25")]
    pub src_ap_inst: Option<String>,
    #[prost(string, optional, tag = "26")]
    pub src_ap_name: Option<String>,
    #[prost(string, optional, tag = "27")]
    pub result_reason: Option<String>,
    #[prost(int64, optional, tag = "28")]
    pub version: Option<i64>,
}

impl Wire {
    /// Reads a message, and what it is here. None if it is none.
    pub(crate) fn read(bytes: &[u8]) -> Option<(Wire, Message)> {
        if bytes.len() > LONGEST {
            return None;
        }
        let wire = Wire::decode(bytes).ok()?;
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let name = ApName::text_of;
        let it = wire.clone();
        let message = Message {
            op_code: it.op_code,
            invoke_id: it.invoke_id.filter(|id| *id != 0),
            obj_class: some(&it.obj_class),
            obj_name: some(&it.obj_name),
            obj_value: it.obj_value,
            result: it.result.filter(|result| *result != 0),
            dest_ap_name: name(it.dest_ap_name, it.dest_ap_inst, it.dest_ae_name, it.dest_ae_inst),
            src_ap_name: name(it.src_ap_name, it.src_ap_inst, it.src_ae_name, it.src_ae_inst),
            result_reason: some(&it.result_reason),
            version: it.version,
            ..Message::default()
        };
        Some((wire, message))
    }
}
