//! Any bytes as what neighbours and members send.

use std::time::Duration;

use crate::cdap::Message;
use crate::fixture;
use crate::ipcp::{Ipcp, Settings};
use crate::pdu::{Header, Syntax, kind};

/// What came of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// PDUs that were given.
    pub pdus: u64,
    /// Of these, those that were discarded.
    pub discarded: u64,
    /// Objects of the RIB that were not there before.
    pub objects: u64,
    /// Flows that were there in the end.
    pub flows: u64,
}

fn member(name: &str, address: u16, links: usize) -> Ipcp {
    let (keepalive, dead_after) = (Duration::from_secs(1000), Duration::from_secs(3000));
    Ipcp::new(Settings { keepalive, dead_after, ..fixture::settings(name, Some(address), links) }, 1000)
}

/// An IPC process with a neighbour at its first link, and nobody who has the credential at its second. The bytes are
/// chunks, each with its kind and length in front: PDUs and management SDUs by either link, with and without the neighbour's protection,
/// messages of members, with and without theirs, and data of a flow.
///
/// What it sends is well formed, and memory is bounded by what is configured.
pub fn management(data: &[u8]) -> Outcome {
    let (mut a, mut b) = (member("a", 1, 2), member("b", 2, 1));
    let mut now = Duration::ZERO;
    a.register("app".parse().expect("a name"), now).expect("room");
    for _ in 0..20 {
        now += Duration::from_millis(100);
        a.tick(now);
        b.tick(now);
        for _ in 0..4 {
            for transmit in a.take_transmits().into_iter().filter(|transmit| transmit.link == 0) {
                b.receive(0, [1; 6], &transmit.pdu, now);
            }
            for transmit in b.take_transmits() {
                a.receive(0, [2; 6], &transmit.pdu, now);
            }
        }
    }
    assert!(a.neighbour(0).is_some() && b.neighbour(0).is_some(), "they do not come together");
    let own = a.settings().name.clone();
    let before = (a.rib().iter().count(), discarded(&a));
    let mut heard = Outcome::default();
    let mut rest = data;
    while let Some(([what, high, low], more)) = rest.split_first_chunk() {
        let length = usize::from(u16::from_be_bytes([*high, *low]) % 1400).min(more.len());
        let (bytes, next) = more.split_at(length);
        rest = next;
        now += Duration::from_millis(1);
        heard.pdus += 1;
        let dst_cep = a.flows().iter().next().map_or(1, |(id, _)| id);
        let header = |dst, kind| Header { dst, src: 2, kind, dst_cep, src_cep: 1, ..Header::default() };
        let (link, header, sdu) = match what % 8 {
            0 => {
                a.receive(0, [2; 6], bytes, now);
                continue;
            }
            1 => {
                a.receive(1, [9; 6], bytes, now);
                continue;
            }
            2 => (1, header(0, kind::MANAGEMENT), bytes.to_vec()),
            3 => (0, header(0, kind::MANAGEMENT), bytes.to_vec()),
            4 => match b.neighbours[0].protect_bytes(bytes) {
                Some(sdu) => (0, header(0, kind::MANAGEMENT), sdu),
                None => continue,
            },
            5 => match Message::parse(bytes).ok().and_then(|message| b.protect_for(&own, message)) {
                Some(sdu) => (0, header(1, kind::MANAGEMENT), sdu),
                None => continue,
            },
            6 => {
                let (kind, sequence) = (bytes.first().copied().unwrap_or_default(), u32::from(*low));
                (0, Header { sequence, ..header(1, kind) }, bytes.to_vec())
            }
            _ => (0, header(1, kind::MANAGEMENT), bytes.to_vec()),
        };
        let mut pdu = Vec::new();
        Syntax::Checksum.write(&header, &sdu, &mut pdu);
        a.receive(link, [2; 6], &pdu, now);
        // An application that accepts every flow.
        while let Some((flow, _)) = a.next_event() {
            a.answer(flow, true, now);
        }
    }
    now += Duration::from_secs(1);
    a.tick(now);
    for transmit in a.take_transmits() {
        assert!(Syntax::Checksum.parse(&transmit.pdu).is_ok(), "it sends what is no PDU");
    }
    assert!(a.neighbour(1).is_none(), "somebody without the credential is a neighbour");
    heard.objects = (a.rib().iter().count() as u64).saturating_sub(before.0 as u64);
    heard.discarded = discarded(&a) - before.1;
    heard.flows = a.flows().iter().count() as u64;
    heard
}

fn discarded(ipcp: &Ipcp) -> u64 {
    ipcp.counts().discarded
        + ipcp.counts().unauthenticated
        + ipcp.link_counts(0).discarded
        + ipcp.link_counts(1).discarded
}

/// A chunk of [`management`]'s input.
pub fn chunk(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let mut chunk = vec![kind];
    chunk.extend((bytes.len() as u16).to_be_bytes());
    chunk.extend(bytes);
    chunk
}

/// Messages as members send them, as chunks: a corpus to begin with.
pub fn seeds() -> Vec<(String, Vec<u8>)> {
    use prost::Message as _;

    use crate::cdap::{self, ApName, ConnId, FlowRequest, LowerFlow, NeighborCandidate, object, op};
    let mut seeds = Vec::new();
    let mut add =
        |name: &str, kind: u8, message: Message| seeds.push((name.to_string(), chunk(kind, &message.encode_to_vec())));
    let member = NeighborCandidate {
        ap_name: Some("c".into()),
        address: Some(3),
        seqnum: Some(5),
        age: Some(1),
        incarnation: None,
    };
    add("member", 4, Message::about(op::WRITE, object::NEIGHBOURS, "/mgmt/neighbors/entries/c").with_value(&member));
    let flow = LowerFlow {
        local_node: Some("b".into()),
        remote_node: Some("c".into()),
        cost: Some(1),
        seqnum: Some(9),
        state: Some(true),
        age: None,
    };
    add("lower_flow", 4, Message::about(op::WRITE, object::LOWER_FLOWS, "/mgmt/routing/routing/b/c").with_value(&flow));
    let entry = cdap::DirectoryEntry {
        appl_name: ApName { ap_name: "echo".into() },
        ipcp_name: "b".into(),
        seqnum: Some(4),
        age: None,
        state: Some(true),
    };
    add("directory", 4, Message::about(op::WRITE, object::DIRECTORY, "/mgmt/dft/table/echo/b").with_value(&entry));
    add("keepalive", 4, Message::about(op::READ, object::KEEPALIVE, object::KEEPALIVE_NAME));
    add("start", 4, Message::about(op::START, object::ENROLLMENT, object::ENROLLMENT_NAME));
    let request = FlowRequest {
        src_app: ApName { ap_name: "x".into() },
        dst_app: ApName { ap_name: "app".into() },
        src_port: 1,
        dst_port: None,
        src_ipcp: "b".into(),
        dst_ipcp: "a".into(),
        connections: vec![ConnId { qosid: Some(2), src_cep: Some(1), dst_cep: None }],
        ..FlowRequest::default()
    };
    let create = Message::about(op::CREATE, object::FLOW, "/mgmt/flowalloc/flows/b/1").with_value(&request);
    add("flow_request", 5, create.clone());
    let connect = Message {
        auth_mech: Some(cdap::AUTH_X25519),
        auth_value: Some(cdap::AuthValue { other: Some(vec![1; 48]) }),
        dest_ap_name: Some("net".into()),
        src_ap_name: Some("z".into()),
        ..Message::about(op::CONNECT, object::ENROLLMENT, object::ENROLLMENT_NAME)
    };
    add("connect", 2, connect.with_value(&cdap::EnrollmentInfo { address: Some(0), ..Default::default() }));
    // A flow, data, and an acknowledgement.
    let mut all = chunk(5, &create.encode_to_vec());
    all.extend(chunk(6, &[kind::DATA, 1, 2, 3]));
    all.extend(chunk(6, &[&[kind::ACK_FLOW][..], &[0; 15]].concat()));
    all.extend(chunk(6, &[&[kind::SACK_FLOW][..], &[0; 23]].concat()));
    seeds.push(("flow_with_data".into(), all));
    let mut pdu = Vec::new();
    Syntax::Checksum.write(&Header { kind: kind::MANAGEMENT, ..Header::default() }, &[0x10, 0], &mut pdu);
    seeds.push(("pdus".into(), [chunk(0, &pdu), chunk(1, &pdu), chunk(3, &[1; 40]), chunk(7, &[1; 40])].concat()));
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_understood() {
        let all: Vec<u8> = seeds().into_iter().flat_map(|(_, bytes)| bytes).collect();
        let heard = management(&all);
        assert_eq!((heard.objects, heard.flows), (3, 1), "{heard:?}");
    }

    #[test]
    fn random_bytes_are_survived() {
        let mut random = 1u64;
        for round in 0..300 {
            let mut data = Vec::new();
            for _ in 0..20 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let (name, seed) = &seeds()[(random >> 33) as usize % seeds().len()];
                let mut seed = seed.clone();
                let at = (random >> 40) as usize % seed.len();
                // Damaged, all but some.
                if random >> 60 != 0 && round > 0 && at > 2 {
                    seed[at] ^= (random >> 50) as u8;
                }
                assert!(!name.is_empty());
                data.extend(seed);
            }
            management(&data);
        }
    }
}
