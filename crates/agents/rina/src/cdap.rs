//! CDAP messages and the values of RIB objects, as Protocol Buffers.
//!
//! Fields have the numbers of `CDAP.proto` of IRATI and rlite, and those of object values the numbers of rlite's `BaseRIB.proto`. Fields of
//! values that rlite lacks have numbers above 100. Which message has which fields is this implementation's own choice: rlite's is
//! in [`crate::rlite`].

use prost::Message as _;

/// Longest encoded message, in bytes.
pub(crate) const LONGEST: usize = 1300;

/// Operations (`opCode_t`).
pub(crate) mod op {
    pub(crate) const CONNECT: i32 = 0;
    pub(crate) const CONNECT_R: i32 = 1;
    pub(crate) const RELEASE: i32 = 2;
    pub(crate) const CREATE: i32 = 4;
    pub(crate) const CREATE_R: i32 = 5;
    pub(crate) const DELETE: i32 = 6;
    pub(crate) const DELETE_R: i32 = 7;
    pub(crate) const READ: i32 = 8;
    pub(crate) const READ_R: i32 = 9;
    pub(crate) const WRITE: i32 = 12;
    pub(crate) const WRITE_R: i32 = 13;
    pub(crate) const START: i32 = 14;
    pub(crate) const START_R: i32 = 15;
    pub(crate) const STOP: i32 = 16;
    pub(crate) const STOP_R: i32 = 17;

    /// Whether an operation opens a connection between neighbours.
    pub(crate) fn is_connect(op_code: i32) -> bool {
        matches!(op_code, CONNECT | CONNECT_R)
    }
}

/// The name of an operation.
pub(crate) fn operation_name(op_code: i32) -> Option<&'static str> {
    const NAMES: [&str; 18] = [
        "M_CONNECT",
        "M_CONNECT_R",
        "M_RELEASE",
        "M_RELEASE_R",
        "M_CREATE",
        "M_CREATE_R",
        "M_DELETE",
        "M_DELETE_R",
        "M_READ",
        "M_READ_R",
        "M_CANCELREAD",
        "M_CANCELREAD_R",
        "M_WRITE",
        "M_WRITE_R",
        "M_START",
        "M_START_R",
        "M_STOP",
        "M_STOP_R",
    ];
    NAMES.get(usize::try_from(op_code).ok()?).copied()
}

/// The fields of `CDAPMessage`: number, name, and whether one is a number, a string or bytes.
pub(crate) const FIELDS: &[(u32, &str, &str)] = &[
    (1, "abs_syntax", "number"),
    (2, "op_code", "number"),
    (3, "invoke_id", "number"),
    (4, "flags", "number"),
    (5, "obj_class", "string"),
    (6, "obj_name", "string"),
    (7, "obj_inst", "number"),
    (8, "obj_value", "bytes"),
    (9, "result", "number"),
    (10, "scope", "number"),
    (11, "filter", "bytes"),
    (17, "auth_mech", "number"),
    (18, "auth_value", "bytes"),
    (19, "dest_ae_inst", "string"),
    (20, "dest_ae_name", "string"),
    (21, "dest_ap_inst", "string"),
    (22, "dest_ap_name", "string"),
    (23, "src_ae_inst", "string"),
    (24, "src_ae_name", "string"),
    (25, "src_ap_inst", "string"),
    (26, "src_ap_name", "string"),
    (27, "result_reason", "string"),
    (28, "version", "number"),
];

/// Classes of objects, and names of those there is one of.
pub(crate) mod object {
    pub(crate) const ENROLLMENT: &str = "enrollment";
    pub(crate) const ENROLLMENT_NAME: &str = "/mgmt/enrollment";
    pub(crate) const KEEPALIVE: &str = "keepalive";
    pub(crate) const KEEPALIVE_NAME: &str = "/mgmt/keepalive";
    pub(crate) const NEIGHBOURS: &str = "neigh_entries";
    pub(crate) const NEIGHBOURS_NAME: &str = "/mgmt/neighbors/entries";
    pub(crate) const LOWER_FLOWS: &str = "lfdb_entries";
    pub(crate) const LOWER_FLOWS_NAME: &str = "/mgmt/routing/routing";
    pub(crate) const DIRECTORY: &str = "dft_entries";
    pub(crate) const DIRECTORY_NAME: &str = "/mgmt/dft/table";
    /// All of the above, as neighbours tell each other of them.
    pub(crate) const RIB: &str = "rib";
    pub(crate) const RIB_NAME: &str = "/mgmt/rib";
    pub(crate) const FLOW: &str = "flow";
    pub(crate) const FLOW_NAME: &str = "/mgmt/flowalloc/flows";
}

/// Authentication by challenge and response with HMAC-SHA-256, of the range for private use. Without key agreement it is not accepted any more.
pub(crate) const AUTH_HMAC: i32 = 100;
/// The same with key agreement by X25519.
pub(crate) const AUTH_X25519: i32 = 101;

/// `CDAPMessage`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Message {
    #[prost(int32, optional, tag = "1")]
    pub abs_syntax: Option<i32>,
    #[prost(int32, required, tag = "2")]
    pub op_code: i32,
    #[prost(int32, optional, tag = "3")]
    pub invoke_id: Option<i32>,
    #[prost(string, optional, tag = "5")]
    pub obj_class: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub obj_name: Option<String>,
    #[prost(message, optional, boxed, tag = "8")]
    pub obj_value: Option<Box<ObjectValue>>,
    #[prost(int32, optional, tag = "9")]
    pub result: Option<i32>,
    #[prost(int32, optional, tag = "17")]
    pub auth_mech: Option<i32>,
    #[prost(message, optional, tag = "18")]
    pub auth_value: Option<AuthValue>,
    #[prost(string, optional, tag = "22")]
    pub dest_ap_name: Option<String>,
    #[prost(string, optional, tag = "26")]
    pub src_ap_name: Option<String>,
    #[prost(string, optional, tag = "27")]
    pub result_reason: Option<String>,
    #[prost(int64, optional, tag = "28")]
    pub version: Option<i64>,
}

/// `objVal_t`, without the kinds of value that no object has.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ObjectValue {
    #[prost(string, optional, tag = "5")]
    pub text: Option<String>,
    #[prost(bytes = "vec", optional, tag = "6")]
    pub bytes: Option<Vec<u8>>,
}

/// `authValue_t`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct AuthValue {
    #[prost(bytes = "vec", optional, tag = "3")]
    pub other: Option<Vec<u8>>,
}

/// `EnrollmentInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct EnrollmentInfo {
    /// 0: none yet.
    #[prost(uint64, optional, tag = "1")]
    pub address: Option<u64>,
    /// The sender's incarnation, as in `NeighborCandidate`.
    #[prost(bytes = "vec", optional, tag = "101")]
    pub incarnation: Option<Vec<u8>>,
    /// The sender's certificate in DER form, and a signature with its key.
    #[prost(bytes = "vec", optional, tag = "102")]
    pub certificate: Option<Vec<u8>>,
    #[prost(bytes = "vec", optional, tag = "103")]
    pub signature: Option<Vec<u8>>,
    /// The sender encrypts layer management.
    #[prost(bool, optional, tag = "104")]
    pub encryption: Option<bool>,
    /// The sender's routing policy.
    #[prost(string, optional, tag = "105")]
    pub routing: Option<String>,
}

/// `NeighborCandidate`: an IPC process and its address.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NeighborCandidate {
    #[prost(string, optional, tag = "1")]
    pub ap_name: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub address: Option<u64>,
    #[prost(uint32, optional, tag = "101")]
    pub seqnum: Option<u32>,
    #[prost(uint32, optional, tag = "102")]
    pub age: Option<u32>,
    /// A nonce of 16 bytes, drawn when the IPC process began.
    #[prost(bytes = "vec", optional, tag = "103")]
    pub incarnation: Option<Vec<u8>>,
}

/// `LowerFlow`: a flow state object.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct LowerFlow {
    #[prost(string, optional, tag = "1")]
    pub local_node: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub remote_node: Option<String>,
    #[prost(uint32, optional, tag = "3")]
    pub cost: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub seqnum: Option<u32>,
    #[prost(bool, optional, tag = "5")]
    pub state: Option<bool>,
    /// Seconds.
    #[prost(uint32, optional, tag = "6")]
    pub age: Option<u32>,
}

/// `APName`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ApName {
    #[prost(string, required, tag = "1")]
    pub ap_name: String,
}

/// `DFTEntry`: which IPC process an application is at.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DirectoryEntry {
    #[prost(message, required, tag = "1")]
    pub appl_name: ApName,
    #[prost(string, required, tag = "2")]
    pub ipcp_name: String,
    #[prost(uint64, optional, tag = "3")]
    pub seqnum: Option<u64>,
    #[prost(uint32, optional, tag = "101")]
    pub age: Option<u32>,
    #[prost(bool, optional, tag = "102")]
    pub state: Option<bool>,
}

/// What neighbours tell each other about the objects of the RIB.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RibExchange {
    /// M_WRITE messages, one for each object.
    #[prost(bytes = "vec", repeated, tag = "1")]
    pub objects: Vec<Vec<u8>>,
    /// Objects that are here: of each a hash of its name (8 bytes), its sequence number (4) and a hash of its content (4).
    #[prost(bytes = "vec", optional, tag = "2")]
    pub offers: Option<Vec<u8>>,
    /// The same of objects that have come, or were offered and are here, too.
    #[prost(bytes = "vec", optional, tag = "3")]
    pub have: Option<Vec<u8>>,
    /// Objects that are lacking: of each the hash of its name.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub wants: Option<Vec<u8>>,
}

/// `ConnId`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct ConnId {
    #[prost(uint32, optional, tag = "1")]
    pub qosid: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub src_cep: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    pub dst_cep: Option<u32>,
}

/// `FlowRequest`.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct FlowRequest {
    #[prost(message, required, tag = "1")]
    pub src_app: ApName,
    #[prost(message, required, tag = "2")]
    pub dst_app: ApName,
    #[prost(uint64, required, tag = "3")]
    pub src_port: u64,
    #[prost(uint64, optional, tag = "4")]
    pub dst_port: Option<u64>,
    #[prost(string, required, tag = "5")]
    pub src_ipcp: String,
    #[prost(string, required, tag = "6")]
    pub dst_ipcp: String,
    #[prost(message, repeated, tag = "7")]
    pub connections: Vec<ConnId>,
    /// In M_DELETE and M_DELETE_R: SDUs that this end's application has sent.
    #[prost(uint64, optional, tag = "101")]
    pub sent: Option<u64>,
    /// In these: SDUs of the other end that the application here has, or will read.
    #[prost(uint64, optional, tag = "102")]
    pub delivered: Option<u64>,
    /// In M_DELETE: data PDUs that this end has sent.
    #[prost(uint64, optional, tag = "103")]
    pub pdus: Option<u64>,
    /// In M_CREATE and M_CREATE_R of a flow with secrecy: this end's public key.
    #[prost(bytes = "vec", optional, tag = "104")]
    pub public_key: Option<Vec<u8>>,
}

impl FlowRequest {
    /// What the other end would say of the same connection.
    pub(crate) fn mirrored(&self) -> FlowRequest {
        let swapped = |it: &ConnId| ConnId { src_cep: it.dst_cep, dst_cep: it.src_cep, ..*it };
        let connections = self.connections.first().map(swapped).into_iter().collect();
        FlowRequest { connections, sent: self.delivered, delivered: self.sent, ..self.clone() }
    }
}

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a CDAP message")]
pub(crate) struct Malformed;

impl Message {
    /// A message about an object.
    pub(crate) fn about(op_code: i32, class: &str, name: impl Into<String>) -> Message {
        Message { op_code, obj_class: Some(class.into()), obj_name: Some(name.into()), ..Message::default() }
    }

    /// The same with a value.
    pub(crate) fn with_value(mut self, value: &impl prost::Message) -> Message {
        self.obj_value = Some(Box::new(ObjectValue { text: None, bytes: Some(value.encode_to_vec()) }));
        self
    }

    /// Reads a message. What it takes in memory is proportional to its bytes.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
        if bytes.len() > LONGEST {
            return Err(Malformed);
        }
        Message::decode(bytes).map_err(|_| Malformed)
    }

    /// The value, as a message of this type.
    pub(crate) fn value<T: prost::Message + Default>(&self) -> Result<T, Malformed> {
        let bytes = self.obj_value.as_ref().and_then(|value| value.bytes.as_deref()).ok_or(Malformed)?;
        T::decode(bytes).map_err(|_| Malformed)
    }

    /// Why it refuses something, for the log: of another end's text, the beginning.
    pub(crate) fn reason(&self) -> String {
        self.result_reason.as_deref().unwrap_or_default().escape_default().take(80).collect()
    }

    /// Whether it is about an object of this class.
    pub(crate) fn is_about(&self, class: &str) -> bool {
        self.obj_class.as_deref() == Some(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as protoc writes them for `CDAP.proto`.
    #[test]
    fn the_wire_format_is_that_of_the_proto_file() {
        let message = Message {
            invoke_id: Some(7),
            version: Some(3),
            ..Message::about(op::READ, object::KEEPALIVE, object::KEEPALIVE_NAME)
        };
        let mut wanted = vec![0x10, 8, 0x18, 7, 0x2a, 9];
        wanted.extend(b"keepalive");
        wanted.extend([0x32, 15]);
        wanted.extend(b"/mgmt/keepalive");
        wanted.extend([0xe0, 1, 3]);
        assert_eq!(message.encode_to_vec(), wanted);
        assert_eq!(Message::parse(&wanted), Ok(message));
    }

    #[test]
    fn long_and_broken_messages_are_refused() {
        assert_eq!(Message::parse(&[0; LONGEST + 1]), Err(Malformed));
        assert_eq!(Message::parse(&[0x10]), Err(Malformed));
        assert_eq!(Message::default().value::<LowerFlow>(), Err(Malformed));
    }
}
