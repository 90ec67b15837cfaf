//! Names and values of RIB objects (`BaseRIB.proto`). Values that members send each other are lists, which are created and deleted by
//! the name of their table.

use crate::cdap::{LowerFlow, Message, object, op};
use crate::name::Name;
use crate::plain::ApName;
use crate::rib::{Announced, Key, Object, Plain};

/// Names of objects that only this dialect has.
pub(super) mod name {
    pub(crate) const STATUS: &str = "operational_status";
    pub(crate) const STATUS_NAME: &str = "/mgmt/operational_status";
    pub(crate) const LOWER_FLOW: &str = "lowerflow";
    pub(crate) const LOWER_FLOW_NAME: &str = "/mgmt/lowerflow";
    pub(crate) const DATA: &str = "a_data";
    pub(crate) const DATA_NAME: &str = "/a_data";
    pub(crate) const POLICY: &str = "policy";
    pub(crate) const ADDRESSES: &str = "aa_entries";
    pub(crate) const ADDRESS_REQUEST: &str = "aareq";
    /// Policies that a member has, by the name of their component: without others of the DIF it could not take part.
    pub(crate) const POLICIES: [(&str, &str); 3] = [
        ("/mgmt/dft/policy", "fully-replicated"),
        ("/mgmt/routing/policy", "link-state"),
        ("/mgmt/addralloc/policy", "distributed"),
    ];
}

/// Members tell each other their own objects again at intervals, and renew nothing but lower flows everywhere.
pub(crate) const PLAIN: Plain = Plain {
    write: |key, object, age, _| Some(write(key, object, age)),
    refreshes: |_| true,
    forgets: |_| true,
    lasts: |key| !matches!(key, Key::LowerFlow(..)),
};

/// `DataTransferConstants`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Constants {
    #[prost(uint32, optional, tag = "1")]
    pub max_pdu_size: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub address_width: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    pub port_id_width: Option<u32>,
    #[prost(uint32, optional, tag = "4")]
    pub cep_id_width: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub qos_id_width: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub seq_num_width: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    pub length_width: Option<u32>,
    #[prost(uint64, optional, tag = "8")]
    pub seq_rollover_thresh: Option<u64>,
    #[prost(uint32, optional, tag = "9")]
    pub max_pdu_lifetime: Option<u32>,
    #[prost(bool, optional, tag = "10")]
    pub concatenation_enabled: Option<bool>,
    #[prost(bool, optional, tag = "11")]
    pub fragmentation_enabled: Option<bool>,
    #[prost(bool, optional, tag = "12")]
    pub integrity_enabled: Option<bool>,
    #[prost(uint32, optional, tag = "13")]
    pub max_rtx_time: Option<u32>,
    #[prost(uint32, optional, tag = "14")]
    pub max_ack_delay: Option<u32>,
    #[prost(uint32, optional, tag = "17")]
    pub ctrl_seq_num_width: Option<u32>,
}

impl Constants {
    /// rlite's, with its default widths. Times are in milliseconds.
    pub(super) fn of_rlite() -> Constants {
        Constants {
            max_pdu_size: Some(65_536),
            address_width: Some(4),
            port_id_width: Some(2),
            cep_id_width: Some(2),
            qos_id_width: Some(2),
            seq_num_width: Some(4),
            length_width: Some(2),
            // 1 << 31, which is negative where rlite writes it.
            seq_rollover_thresh: Some(0xffff_ffff_8000_0000),
            max_pdu_lifetime: Some(4000),
            concatenation_enabled: Some(false),
            fragmentation_enabled: Some(false),
            integrity_enabled: Some(false),
            max_rtx_time: Some(1000),
            max_ack_delay: Some(200),
            ctrl_seq_num_width: Some(4),
        }
    }

    /// Whether PDUs have the same widths.
    pub(super) fn same_widths(&self, other: &Constants) -> bool {
        let widths = |it: &Constants| {
            let control = it.ctrl_seq_num_width;
            [it.address_width, it.cep_id_width, it.qos_id_width, it.seq_num_width, it.length_width, control]
        };
        widths(self) == widths(other)
    }
}

/// `EnrollmentInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct EnrollmentInfo {
    #[prost(uint64, optional, tag = "1")]
    pub address: Option<u64>,
    #[prost(string, repeated, tag = "2")]
    pub lower_difs: Vec<String>,
    #[prost(bool, optional, tag = "3")]
    pub start_early: Option<bool>,
    #[prost(message, optional, tag = "4")]
    pub constants: Option<Constants>,
}

/// `NeighborCandidate`.
#[derive(Clone, PartialEq, prost::Message)]
struct Candidate {
    #[prost(string, optional, tag = "1")]
    ap_name: Option<String>,
    #[prost(string, optional, tag = "2")]
    ap_instance: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    address: Option<u64>,
    #[prost(string, repeated, tag = "4")]
    lower_difs: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Candidates {
    #[prost(message, repeated, tag = "1")]
    candidates: Vec<Candidate>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LowerFlows {
    #[prost(message, repeated, tag = "1")]
    flows: Vec<LowerFlow>,
}

/// `DFTEntry`.
#[derive(Clone, PartialEq, prost::Message)]
struct Entry {
    #[prost(message, required, tag = "1")]
    appl_name: ApName,
    #[prost(string, required, tag = "2")]
    ipcp_name: String,
    #[prost(uint64, optional, tag = "3")]
    seqnum: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Slice {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<Entry>,
}

/// The message about an object.
pub(crate) fn write(key: &Key, object: &Object, age: u32) -> Message {
    let message =
        |class, table: &str| Message::about(if object.present { op::CREATE } else { op::DELETE }, class, table);
    match key {
        Key::Member(name) => {
            let ApName { ap_name, ap_instance, .. } = ApName::new(name.as_str());
            let candidate = Candidate {
                ap_name: Some(ap_name),
                ap_instance,
                address: Some(object.value.into()),
                lower_difs: Vec::new(),
            };
            let list = Candidates { candidates: vec![candidate] };
            message(object::NEIGHBOURS, object::NEIGHBOURS_NAME).with_value(&list)
        }
        Key::LowerFlow(local, remote) => {
            let flow = LowerFlow {
                local_node: Some(local.to_string()),
                remote_node: Some(remote.to_string()),
                cost: Some(object.value),
                seqnum: Some(object.seq),
                state: Some(object.present),
                age: Some(age),
            };
            message(object::LOWER_FLOWS, object::LOWER_FLOWS_NAME).with_value(&LowerFlows { flows: vec![flow] })
        }
        Key::Application(name, at) => {
            let entry = Entry {
                appl_name: ApName::new(name.as_str()),
                ipcp_name: at.to_string(),
                seqnum: Some(object.seq.into()),
            };
            message(object::DIRECTORY, object::DIRECTORY_NAME).with_value(&Slice { entries: vec![entry] })
        }
    }
}

/// What a message announces about objects. None if it is about none; objects with names that cannot be here are left out.
pub(crate) fn read(message: &Message) -> Option<Vec<Announced>> {
    let present = match message.op_code {
        op::CREATE => true,
        op::DELETE => false,
        _ => return None,
    };
    let name = |text: Option<String>| text?.parse::<Name>().ok();
    let candidate = |it: Candidate| {
        let address = u16::try_from(it.address?).ok()?;
        let name = ApName { ap_name: it.ap_name?, ap_instance: it.ap_instance, ae_name: None, ae_instance: None };
        let key = Key::Member(name.name()?);
        Some(Announced { key, seq: None, present: present && address != 0, value: address.into(), age: 0 })
    };
    let lower_flow = |it: LowerFlow| {
        let key = Key::LowerFlow(name(it.local_node)?, name(it.remote_node)?);
        let (present, value) = (present && it.state.unwrap_or(true), it.cost?.clamp(1, 0xffff));
        Some(Announced { key, seq: it.seqnum.filter(|_| present), present, value, age: it.age.unwrap_or_default() })
    };
    let entry = |it: Entry| {
        let key = Key::Application(it.appl_name.name()?, it.ipcp_name.parse().ok()?);
        // Whatever the number, what is deleted is no more.
        let seq = it.seqnum.and_then(|seq| u32::try_from(seq).ok()).filter(|_| present);
        Some(Announced { key, seq, present, value: 0, age: 0 })
    };
    Some(match message.obj_class.as_deref()? {
        object::NEIGHBOURS => {
            message.value::<Candidates>().ok()?.candidates.into_iter().filter_map(candidate).collect()
        }
        object::LOWER_FLOWS => message.value::<LowerFlows>().ok()?.flows.into_iter().filter_map(lower_flow).collect(),
        object::DIRECTORY => message.value::<Slice>().ok()?.entries.into_iter().filter_map(entry).collect(),
        // Addresses that members have given: those of members are known.
        name::ADDRESSES | name::ADDRESS_REQUEST => Vec::new(),
        _ => return None,
    })
}
