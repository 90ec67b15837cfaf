//! Names and values of RIB objects, as the `.proto` files of `rinad/src/common/encoders` have them.
//!
//! Members have a name and an instance, of which the objects of routing have the name alone: here it is the name without instance. A member's address
//! is in its flow state objects, and what the directory has of an application is the address of its member.

use std::collections::BTreeMap;

use crate::cdap::{Message, op};
use crate::efcp::Qos;
use crate::name::Name;
use crate::plain::ApName;
use crate::rib::{Announced, Key, Object, Plain, Rib};

/// Directory entries that are kept until their member is known.
const MOST_WAITING: usize = 4096;

/// Classes and names of objects.
pub(super) mod name {
    pub(crate) const ENROLLMENT: [&str; 2] = ["Enrollment", "/difm/enr"];
    pub(crate) const NEIGHBOURS: [&str; 2] = ["Neighbors", "/difm/enr/neighs"];
    pub(crate) const WATCHDOG: [&str; 2] = ["watchdog_timer", "/difm/enr/wd"];
    pub(crate) const STATUS: [&str; 2] = ["OperationalStatus", "/difm/ops"];
    pub(crate) const DATA_TRANSFER: [&str; 2] = ["DataTransfer", "/dt"];
    pub(crate) const CUBES: [&str; 2] = ["QoSCubes", "/ra/qoscubes"];
    pub(crate) const DIRECTORY: [&str; 2] = ["DirectoryForwardingTable", "/difm/nsm/dft"];
    pub(crate) const ENTRY: [&str; 2] = ["DirectoryForwardingTableEntry", "/difm/nsm/dft/key="];
    pub(crate) const FLOW_STATES: [&str; 2] = ["FlowStateObjects", "/ra/fsos"];
    pub(crate) const FLOW: [&str; 2] = ["Flow", "/fa/flows/key="];
    pub(crate) const DATA: [&str; 2] = ["a_data", "a_data"];
    /// The application entity of IPC processes, and their instance.
    pub(crate) const MANAGEMENT: &str = "Management";
    pub(crate) const INSTANCE: &str = "1";
}

/// Members send lower flows again at intervals, which others ignore. They would pass directory entries on again, and they renew nothing.
pub(crate) const PLAIN: Plain = Plain {
    write,
    refreshes: |key| matches!(key, Key::LowerFlow(..)),
    forgets: |key| !matches!(key, Key::LowerFlow(..)),
    lasts: |_| true,
};

/// A message about an object.
pub(super) fn about(op_code: i32, [class, name]: [&str; 2]) -> Message {
    Message::about(op_code, class, name)
}

/// `enrollmentInformation_t`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EnrollmentInfo {
    #[prost(uint64, optional, tag = "1")]
    pub address: Option<u64>,
    #[prost(string, repeated, tag = "2")]
    pub supporting_difs: Vec<String>,
    #[prost(bool, optional, tag = "3")]
    pub start_early: Option<bool>,
    #[prost(string, optional, tag = "4")]
    pub token: Option<String>,
}

impl EnrollmentInfo {
    pub(super) fn new(address: u16, token: String) -> EnrollmentInfo {
        EnrollmentInfo {
            address: Some(address.into()),
            supporting_difs: Vec::new(),
            start_early: Some(false),
            token: Some(token),
        }
    }
}

/// `neighbor_t`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Neighbour {
    #[prost(string, optional, tag = "1")]
    pub ap_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub ap_instance: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub ae_name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub ae_instance: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub address: Option<u64>,
    #[prost(string, repeated, tag = "6")]
    pub supporting_difs: Vec<String>,
}

impl Neighbour {
    /// A member, with its entity if it says who it is, by a token.
    pub(super) fn new(name: &Name, address: u16, token: Option<String>) -> Neighbour {
        Neighbour {
            ap_name: Some(name.to_string()),
            ap_instance: Some(name::INSTANCE.into()),
            ae_name: Some(if token.is_some() { name::MANAGEMENT.into() } else { String::new() }),
            ae_instance: Some(token.unwrap_or_default()),
            address: Some(address.into()),
            supporting_difs: Vec::new(),
        }
    }
}

/// `int_t`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Int {
    #[prost(uint32, required, tag = "1")]
    pub value: u32,
}

/// `neighbors_t`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Neighbours {
    #[prost(message, repeated, tag = "1")]
    pub neighbours: Vec<Neighbour>,
}

/// `dataTransferConstants_t`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(super) struct Constants {
    #[prost(uint32, optional, tag = "1")]
    pub max_pdu_size: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub address_length: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    pub port_id_length: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub cep_id_length: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub qos_id_length: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub sequence_number_length: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    pub length_length: Option<u32>,
    #[prost(uint64, optional, tag = "8")]
    pub seq_rollover_threshold: Option<u64>,
    #[prost(uint32, optional, tag = "9")]
    pub max_pdu_lifetime: Option<u32>,
    #[prost(bool, optional, tag = "10")]
    pub concatenation: Option<bool>,
    #[prost(bool, optional, tag = "11")]
    pub fragmentation: Option<bool>,
    #[prost(bool, optional, tag = "12")]
    pub integrity: Option<bool>,
    #[prost(uint32, optional, tag = "13")]
    pub max_time_to_keep_retransmitting: Option<u32>,
    #[prost(uint32, optional, tag = "14")]
    pub max_time_to_ack: Option<u32>,
    #[prost(uint32, optional, tag = "15")]
    pub rate_length: Option<u32>,
    #[prost(uint32, optional, tag = "16")]
    pub frame_length: Option<u32>,
    #[prost(uint32, optional, tag = "17")]
    pub ctrl_sequence_number_length: Option<u32>,
}

impl Constants {
    /// Those of IRATI's `default.dif`. Times are in milliseconds.
    pub(super) fn default_widths() -> Constants {
        Constants {
            max_pdu_size: Some(1470),
            address_length: Some(2),
            port_id_length: Some(2),
            cep_id_length: Some(2),
            qos_id_length: Some(2),
            sequence_number_length: Some(4),
            length_length: Some(2),
            seq_rollover_threshold: Some(0),
            max_pdu_lifetime: Some(60_000),
            concatenation: Some(false),
            fragmentation: Some(false),
            integrity: Some(false),
            max_time_to_keep_retransmitting: Some(0),
            max_time_to_ack: Some(0),
            rate_length: Some(4),
            frame_length: Some(4),
            ctrl_sequence_number_length: Some(4),
        }
    }

    /// Why a member here cannot have these.
    pub(super) fn refuse(&self) -> Option<&'static str> {
        let widths = |it: &Constants| {
            let control = [it.rate_length, it.frame_length, it.ctrl_sequence_number_length];
            let data =
                [it.address_length, it.cep_id_length, it.qos_id_length, it.sequence_number_length, it.length_length];
            (data, control)
        };
        if widths(self) != widths(&Constants::default_widths()) {
            return Some("its addresses or PDUs have other widths");
        }
        self.fragmentation.unwrap_or_default().then_some("the DIF has fragmentation")
    }
}

/// `policyDescriptor_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct Policy {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    implementation: Option<String>,
    #[prost(string, optional, tag = "3")]
    version: Option<String>,
}

fn default_policy() -> Option<Policy> {
    Some(Policy { name: Some("default".into()), implementation: Some("default".into()), version: Some("0".into()) })
}

/// `dtpConfig_t`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Dtp {
    #[prost(bool, optional, tag = "1")]
    dtcp_present: Option<bool>,
    #[prost(uint32, optional, tag = "7")]
    initial_a_timer: Option<u32>,
    #[prost(message, optional, tag = "8")]
    policy_set: Option<Policy>,
}

/// `dtcpWindowBasedFlowControlConfig_t`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Window {
    #[prost(uint64, optional, tag = "1")]
    max_closed_window_queue: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    initial_credit: Option<u64>,
}

/// `dtcpFlowControlConfig_t`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct FlowControl {
    #[prost(bool, optional, tag = "1")]
    window_based: Option<bool>,
    #[prost(message, optional, tag = "2")]
    window: Option<Window>,
    #[prost(bool, optional, tag = "3")]
    rate_based: Option<bool>,
}

/// `dtcpRtxControlConfig_t`.
#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Retransmission {
    #[prost(uint32, optional, tag = "1")]
    max_time_to_retry: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    data_rxmsn_max: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    initial_rtx_time: Option<u32>,
}

/// `dtcpConfig_t`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Dtcp {
    #[prost(bool, optional, tag = "1")]
    pub flow_control: Option<bool>,
    #[prost(message, optional, tag = "2")]
    flow_control_config: Option<FlowControl>,
    #[prost(bool, optional, tag = "3")]
    pub retransmission: Option<bool>,
    #[prost(message, optional, tag = "4")]
    retransmission_config: Option<Retransmission>,
    #[prost(message, optional, tag = "7")]
    policy_set: Option<Policy>,
}

/// The policies of a cube. Times are in milliseconds.
pub(super) fn policies(cube: &Qos) -> (Dtp, Dtcp) {
    let reliable = cube.reliable;
    let dtp = Dtp {
        dtcp_present: Some(reliable),
        initial_a_timer: Some(if reliable { 300 } else { 0 }),
        policy_set: default_policy(),
    };
    // The window's last number may be sent, too.
    let credit = u64::from(cube.window.max(2)) - 1;
    let window = Window { max_closed_window_queue: Some(credit), initial_credit: Some(credit) };
    let retransmission =
        Retransmission { max_time_to_retry: Some(0), data_rxmsn_max: Some(5), initial_rtx_time: Some(1000) };
    let dtcp = Dtcp {
        flow_control: Some(reliable),
        flow_control_config: reliable.then_some(FlowControl {
            window_based: Some(true),
            window: Some(window),
            rate_based: Some(false),
        }),
        retransmission: Some(reliable),
        retransmission_config: reliable.then_some(retransmission),
        policy_set: default_policy(),
    };
    (dtp, dtcp)
}

/// `qosCube_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct Cube {
    #[prost(uint32, required, tag = "1")]
    id: u32,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(bool, optional, tag = "8")]
    partial_delivery: Option<bool>,
    #[prost(bool, optional, tag = "9")]
    order: Option<bool>,
    #[prost(uint32, optional, tag = "10")]
    max_gap: Option<u32>,
    #[prost(message, optional, tag = "13")]
    dtp: Option<Dtp>,
    #[prost(message, optional, tag = "14")]
    dtcp: Option<Dtcp>,
}

/// `qosCubes_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct Cubes {
    #[prost(message, repeated, tag = "1")]
    cubes: Vec<Cube>,
}

/// The cubes of a DIF, as a message.
pub(super) fn cubes(op_code: i32, cubes: &[Qos]) -> Message {
    let cube = |cube: &Qos| {
        let (dtp, dtcp) = policies(cube);
        Cube {
            id: cube.id.into(),
            name: Some(cube.name.clone()),
            partial_delivery: Some(false),
            order: Some(cube.reliable),
            max_gap: Some(if cube.reliable { 0 } else { u32::MAX }),
            dtp: Some(dtp),
            dtcp: Some(dtcp),
        }
    };
    about(op_code, name::CUBES).with_value(&Cubes { cubes: cubes.iter().map(cube).collect() })
}

/// The cubes of a message that are here otherwise: their ids and names.
pub(super) fn other_cubes(message: &Message, here: &[Qos]) -> Vec<String> {
    let Ok(Cubes { cubes }) = message.value() else { return Vec::new() };
    let reliable = |cube: &Cube| cube.dtcp.as_ref().and_then(|dtcp| dtcp.retransmission).unwrap_or_default();
    let same = |cube: &Cube| here.iter().any(|own| u32::from(own.id) == cube.id && own.reliable == reliable(cube));
    let others = cubes.iter().filter(|cube| !same(cube));
    others.map(|cube| format!("{} ({})", cube.id, cube.name.as_deref().unwrap_or_default().escape_default())).collect()
}

/// Members as a message.
pub(super) fn neighbours(op_code: i32, members: &[(&Name, u16)]) -> Message {
    let neighbours = members.iter().map(|(name, address)| Neighbour::new(name, *address, None)).collect();
    about(op_code, name::NEIGHBOURS).with_value(&Neighbours { neighbours })
}

/// `directoryForwardingTableEntry_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct Entry {
    #[prost(message, required, tag = "1")]
    application: ApName,
    #[prost(uint64, required, tag = "2")]
    address: u64,
    #[prost(uint64, optional, tag = "3")]
    seqnum: Option<u64>,
}

/// `directoryForwardingTableEntrySet_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct Entries {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<Entry>,
}

/// `flowStateObject_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct FlowState {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    addresses: Vec<u64>,
    #[prost(string, optional, tag = "3")]
    neighbour: Option<String>,
    #[prost(uint64, repeated, packed = "false", tag = "4")]
    neighbour_addresses: Vec<u64>,
    #[prost(uint32, optional, tag = "5")]
    cost: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    sequence_number: Option<u32>,
    #[prost(bool, optional, tag = "7")]
    state: Option<bool>,
    /// Seconds.
    #[prost(uint32, optional, tag = "8")]
    age: Option<u32>,
}

/// `flowStateObjectGroup_t`.
#[derive(Clone, PartialEq, prost::Message)]
struct FlowStates {
    #[prost(message, repeated, tag = "1")]
    objects: Vec<FlowState>,
}

/// An application's key in the directory.
fn key(application: &Name) -> String {
    let ApName { ap_name, ap_instance, ae_name, ae_instance } = ApName::new(application.as_str());
    [Some(ap_name), ap_instance, ae_name, ae_instance].map(Option::unwrap_or_default).join("-")
}

/// The message about an object. None if the dialect has none: a member's address is told with its lower flows.
fn write(key_: &Key, object: &Object, age: u32, address: &dyn Fn(&Name) -> u16) -> Option<Message> {
    match key_ {
        Key::Member(_) => None,
        Key::LowerFlow(local, remote) => {
            let addresses =
                |name: &Name| Some(address(name).into()).filter(|address| *address != 0).into_iter().collect();
            let state = FlowState {
                name: Some(local.to_string()),
                addresses: addresses(local),
                neighbour: Some(remote.to_string()),
                neighbour_addresses: addresses(remote),
                cost: Some(object.value),
                sequence_number: Some(object.seq),
                state: Some(object.present),
                age: Some(age),
            };
            Some(about(op::WRITE, name::FLOW_STATES).with_value(&FlowStates { objects: vec![state] }))
        }
        Key::Application(application, at) if object.present => {
            let entry = Entry {
                application: ApName::new(application.as_str()),
                address: address(at).into(),
                seqnum: Some(object.seq.into()),
            };
            Some(about(op::CREATE, name::DIRECTORY).with_value(&Entries { entries: vec![entry] }))
        }
        Key::Application(application, _) => {
            let [class, prefix] = name::ENTRY;
            Some(Message::about(op::DELETE, class, format!("{prefix}{}", key(application))))
        }
    }
}

/// Directory entries of members whose names are not known yet: an address belongs to a name only when one of the member's flow state objects has come.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    waiting: Vec<Entry>,
}

impl Directory {
    /// What a message announces about objects. None if it is about none.
    pub(crate) fn read(&mut self, message: &Message, rib: &Rib) -> Option<Vec<Announced>> {
        match (message.obj_class.as_deref()?, message.op_code) {
            (class, op::CREATE | op::WRITE) if class == name::NEIGHBOURS[0] => {
                let Neighbours { neighbours } = message.value().ok()?;
                Some(neighbours.into_iter().filter_map(|it| member(it.ap_name?.parse().ok()?, it.address?)).collect())
            }
            (class, op::WRITE) if class == name::FLOW_STATES[0] => {
                let FlowStates { objects } = message.value().ok()?;
                Some(objects.into_iter().filter_map(flow_state).flatten().collect())
            }
            (class, op::CREATE) if class == name::DIRECTORY[0] => {
                let Entries { entries } = message.value().ok()?;
                let keep = MOST_WAITING.saturating_sub(self.waiting.len());
                self.waiting.extend(entries.into_iter().take(keep));
                Some(self.resolve(rib))
            }
            (class, op::DELETE) if class == name::ENTRY[0] => {
                let gone = message.obj_name.as_deref()?.strip_prefix(name::ENTRY[1])?;
                self.waiting.retain(|entry| entry.application.name().is_none_or(|it| key(&it) != gone));
                let applications = rib.iter().filter_map(|(known, _)| match known {
                    Key::Application(application, _) if key(application) == gone => Some(known.clone()),
                    _ => None,
                });
                let announced = |key| Announced { key, seq: None, present: false, value: 0, age: 0 };
                Some(applications.map(announced).collect())
            }
            _ => None,
        }
    }

    /// The entries whose members are known by now.
    pub(crate) fn resolve(&mut self, rib: &Rib) -> Vec<Announced> {
        // One look at the RIB for all: there may be many entries and many members. Of several members with an address it is the first one.
        let mut members: BTreeMap<u32, &Name> = BTreeMap::new();
        for (key, object) in rib.iter() {
            if let Key::Member(name) = key {
                members.entry(object.value).or_insert(name);
            }
        }
        let mut known = Vec::new();
        self.waiting.retain(|entry| {
            let address = u16::try_from(entry.address).unwrap_or_default();
            if address == 0 {
                return false;
            }
            let Some(at) = members.get(&u32::from(address)) else { return true };
            if let Some(application) = entry.application.name() {
                let key = Key::Application(application, (*at).clone());
                let seq = entry.seqnum.and_then(|seq| u32::try_from(seq).ok());
                known.push(Announced { key, seq, present: true, value: 0, age: 0 });
            }
            false
        });
        known
    }

    /// Whether entries wait.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

fn member(name: Name, address: u64) -> Option<Announced> {
    let address = u16::try_from(address).ok().filter(|address| *address != 0)?;
    Some(Announced { key: Key::Member(name), seq: None, present: true, value: address.into(), age: 0 })
}

/// A member's lower flow, and its address.
fn flow_state(it: FlowState) -> Option<Vec<Announced>> {
    let (name, neighbour): (Name, Name) = (it.name?.parse().ok()?, it.neighbour?.parse().ok()?);
    let present = it.state.unwrap_or_default();
    let address = it.addresses.last().copied().filter(|_| present);
    let flow = Announced {
        key: Key::LowerFlow(name.clone(), neighbour),
        seq: it.sequence_number,
        present,
        value: it.cost.unwrap_or(1).clamp(1, 0xffff),
        // One that is no more has an age beyond the greatest one.
        age: if present { it.age.unwrap_or_default() } else { 0 },
    };
    Some(address.and_then(|address| member(name, address)).into_iter().chain([flow]).collect())
}
