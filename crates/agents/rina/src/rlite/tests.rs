//! Messages as rlite's own code serialises them: its `libcdap`, `CDAP.proto` and `BaseRIB.proto` of 2023, compiled as they are. Where its
//! IPC processes fill in values, these are its defaults.

use std::time::Duration;

use super::enrolment::Neighbour;
use super::messages::{decode, encode};
use super::*;
use crate::cdap::{Message, object, op};
use crate::credential::NONCE;
use crate::efcp::Qos;
use crate::flows::FlowId;
use crate::name::Name;
use crate::neighbour::{Effect, LinkEnd as _, Local, Mac};
use crate::pdu::{Header, Syntax, kind};
use crate::plain::{ApName, Exchange as _, FlowObject as _, arp};
use crate::rib::{Announced, Key, Rib};

fn bytes(of: &str) -> Vec<u8> {
    let line = include_str!("recorded.txt").lines().find_map(|line| line.strip_prefix(&format!("{of} ")));
    let hex = line.unwrap_or_else(|| panic!("{of} is not recorded"));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

/// A recorded message, with another number.
fn recorded(of: &str, invoke_id: Option<i32>) -> Vec<u8> {
    let message = decode(&bytes(of)).unwrap();
    let invoke_id = invoke_id.or(message.invoke_id);
    encode(&Message { invoke_id, ..message }, true)
}

/// What one end of a link sends, with the number 7.
fn sent(effects: &[Effect]) -> Vec<Vec<u8>> {
    let all = effects.iter().filter_map(|effects| match effects {
        Effect::Send(_, sdu) => Some(encode(&Message { invoke_id: Some(7), ..decode(sdu).unwrap() }, true)),
        _ => None,
    });
    all.collect()
}

fn invoke_id(effects: &[Effect]) -> Option<i32> {
    let last = effects.iter().rev().find_map(|effects| match effects {
        Effect::Send(_, sdu) => Some(sdu),
        _ => None,
    });
    decode(last?)?.invoke_id
}

const STATION: Mac = [2, 0, 0, 0, 0, 9];

struct End {
    name: Name,
    address: u16,
    neighbour: Neighbour,
}

impl End {
    fn new(own: &str, address: u16) -> End {
        End { name: name(own), address, neighbour: Neighbour::default() }
    }

    fn with(&mut self, work: impl FnOnce(&mut Neighbour, &Local<'_>, &mut Vec<Effect>)) -> Vec<Effect> {
        let local = Local {
            dif: &name("n.DIF"),
            name: &self.name,
            address: self.address,
            credential: None,
            identity: None,
            encryption: false,
            incarnation: [0; NONCE],
            routing: "shortest",
            qos: &[],
            keepalive: Duration::from_secs(1),
            dead_after: Duration::from_secs(3),
        };
        let mut out = Vec::new();
        work(&mut self.neighbour, &local, &mut out);
        out
    }

    fn receive(&mut self, sdu: &[u8]) -> Vec<Effect> {
        self.with(|neighbour, local, out| {
            neighbour.receive(local, STATION, sdu, Duration::ZERO, &mut |_, _, _| Ok(17), out);
        })
    }

    fn tick(&mut self, now: Duration) -> Vec<Effect> {
        self.with(|neighbour, local, out| neighbour.tick(local, now, out))
    }

    /// ARP up to the reply.
    fn resolve(&mut self) -> Vec<Effect> {
        let asked = self.tick(Duration::ZERO);
        let [Effect::Arp(_, request)] = &asked[..] else { panic!("{asked:?}") };
        let arp::Arp { sender, target, .. } = arp::Arp::parse(request).unwrap();
        let reply = arp::Arp { operation: arp::Operation::Reply, sender: (STATION, target.1), target: sender };
        self.with(|neighbour, local, out| neighbour.receive_arp(local, &reply.write(), Duration::ZERO, out))
    }
}

#[test]
fn what_rlite_writes_is_read_and_written() {
    let mut count = 0;
    for line in include_str!("recorded.txt").lines().filter(|line| !line.starts_with(['#', '@'])) {
        let (of, _) = line.split_once(' ').unwrap();
        let message = decode(&bytes(of)).unwrap_or_else(|| panic!("{of} is not read"));
        let connected = message.version == Some(1);
        assert_eq!(encode(&message, connected), bytes(of), "{of}");
        for cut in 0..bytes(of).len() {
            decode(&bytes(of)[..cut]);
        }
        count += 1;
    }
    assert_eq!(count, 25);
    for invalid in [
        // An object in M_CONNECT; an answer without a number; names where there are none.
        Message {
            obj_class: Some("enrollment".into()),
            obj_name: Some("/".into()),
            ..decode(&bytes("connect")).unwrap()
        },
        Message { invoke_id: None, ..decode(&bytes("start_r")).unwrap() },
        Message { src_ap_name: Some("a".into()), dest_ap_name: Some("b".into()), ..decode(&bytes("start")).unwrap() },
    ] {
        assert_eq!(decode(&encode(&invalid, true)), None, "{invalid:?}");
    }
}

/// PDUs and ARP packets of members that run rlite, as they came by a link: each is read, and what is written from it is the same.
#[test]
fn frames_of_members_that_run_rlite() {
    let mut count = 0;
    for line in include_str!("live.txt").lines().filter(|line| !line.starts_with('#')) {
        let (of, hex) = line.split_once(' ').unwrap();
        let frame: Vec<u8> =
            hex.as_bytes().chunks(2).map(|at| u8::from_str_radix(str::from_utf8(at).unwrap(), 16).unwrap()).collect();
        count += 1;
        if of.starts_with("arp") {
            assert_eq!(arp::Arp::parse(&frame).unwrap_or_else(|| panic!("{of}")).write(), frame, "{of}");
            continue;
        }
        let (header, payload) = Syntax::Rlite.parse(&frame).unwrap_or_else(|_| panic!("{of}"));
        let mut written = Vec::new();
        Syntax::Rlite.write(&header, payload, &mut written);
        // Any version.
        assert_eq!(written[1..], frame[1..], "{of}");
        match header.kind {
            kind::MANAGEMENT => {
                let message = decode(payload).unwrap_or_else(|| panic!("{of}"));
                assert_eq!(encode(&message, message.version == Some(1)), payload, "{of}");
                if message.is_about("a_data") {
                    let (address, message) = flows::unwrap(payload).unwrap_or_else(|| panic!("{of}"));
                    assert_eq!(flows::FlowRequest::wrap([header.src, header.dst], &message), payload, "{of}");
                    assert_eq!(address, header.src, "{of}");
                }
                if let Some(all) = objects::read(&message) {
                    assert!(all.len() == usize::from(!of.starts_with("aa")), "{of}: {all:?}");
                }
            }
            _ => assert!(flows::Exchange::default().read(header, payload, Duration::ZERO).is_some(), "{of}"),
        }
    }
    assert_eq!(count, 30);
}

#[test]
fn a_new_member_enrols_with_rlite() {
    let mut end = End::new("n.2", 0);
    let effects = end.resolve();
    let connect = decode(&bytes("connect")).unwrap();
    assert_eq!(sent(&effects), [encode(&Message { dest_ap_name: Some("n.DIF".into()), ..connect }, true)]);
    let effects = end.receive(&recorded("connect_r", invoke_id(&effects)));
    // rlite has named the DIF that its link is in; nobody is here.
    let start = decode(&sent(&effects)[0]).unwrap();
    assert_eq!(start.value::<objects::EnrollmentInfo>().unwrap().address, Some(0));
    assert!(start.is_about("enrollment") && start.obj_name.as_deref() == Some("/mgmt/enrollment"));
    let effects = end.receive(&recorded("start_r", invoke_id(&effects)));
    assert!(effects.is_empty());
    for of in ["policy/mgmt/dft", "policy/mgmt/routing", "policy/mgmt/addralloc", "param"] {
        assert!(end.receive(&bytes(of)).is_empty());
    }
    let effects = end.receive(&bytes("stop"));
    assert_eq!(sent(&effects), [bytes("stop_r")]);
    assert_eq!(effects[1..], [Effect::Enrolled(17), Effect::Up(name("n.1"))]);
    assert!(end.receive(&bytes("status")).is_empty());
    // The RIB follows, and keep-alives.
    assert!(matches!(&end.receive(&bytes("neighbours"))[..], [Effect::Message(_)]));
    assert_eq!(sent(&end.receive(&bytes("keepalive"))), [bytes("keepalive_r")]);
    let effects = end.tick(Duration::from_secs(2));
    assert_eq!(sent(&effects), [bytes("keepalive")]);
    assert_eq!(end.receive(&bytes("release")), [Effect::Down(name("n.1"))]);
}

#[test]
fn rlite_enrols_with_a_member() {
    let mut end = End::new("n.1", 16);
    let request = arp::Arp {
        operation: arp::Operation::Request,
        sender: (STATION, "n.2".into()),
        target: ([0; 6], "n.DIF".into()),
    };
    let effects = end.with(|neighbour, local, out| neighbour.receive_arp(local, &request.write(), Duration::ZERO, out));
    let [Effect::Arp(STATION, reply)] = &effects[..] else { panic!("{effects:?}") };
    let reply = arp::Arp::parse(reply).unwrap();
    assert_eq!(
        (reply.operation, reply.sender.1, reply.target),
        (arp::Operation::Reply, "n.DIF".to_string(), (STATION, "n.2".to_string()))
    );
    assert_eq!(sent(&end.receive(&bytes("connect"))), [bytes("connect_r")]);
    let effects = end.receive(&bytes("start"));
    let wanted = ["start_r", "policy/mgmt/dft", "policy/mgmt/routing", "policy/mgmt/addralloc", "stop"];
    // rlite sends back the lower DIFs that it was sent.
    let start_r = decode(&sent(&effects)[0]).unwrap();
    let info: objects::EnrollmentInfo = start_r.value().unwrap();
    assert_eq!(info.lower_difs, ["ether"]);
    let info = objects::EnrollmentInfo { lower_difs: Vec::new(), ..info };
    let mut come = sent(&effects);
    come[0] = encode(&start_r.with_value(&info), true);
    assert_eq!(come, wanted.map(bytes));
    let effects = end.receive(&recorded("stop_r", invoke_id(&effects)));
    assert_eq!(sent(&effects), [bytes("status")]);
    assert_eq!(effects[1..], [Effect::Up(name("n.2"))]);
}

#[test]
fn one_more_lower_flow() {
    let mut end = End::new("n.2", 18);
    let effects = end.resolve();
    let effects = end.receive(&recorded("connect_r", invoke_id(&effects)));
    assert_eq!(sent(&effects), [bytes("lowerflow")]);
    let effects = end.receive(&recorded("lowerflow_r", invoke_id(&effects)));
    assert_eq!(effects, [Effect::Up(name("n.1"))]);
    // The same from the other end, which begins anew here.
    let effects = end.receive(&encode(
        &Message {
            src_ap_name: Some("n.1".into()),
            dest_ap_name: Some("n.2".into()),
            ..decode(&bytes("connect")).unwrap()
        },
        true,
    ));
    assert_eq!(decode(&sent(&effects)[0]).unwrap().src_ap_name.as_deref(), Some("n.2"));
    let effects = end.receive(&bytes("lowerflow"));
    assert_eq!(sent(&effects), [bytes("lowerflow_r")]);
    assert_eq!(effects[1..], [Effect::Down(name("n.1")), Effect::Up(name("n.1"))]);
}

#[test]
fn other_widths_and_policies_are_refused() {
    for (of, wrong) in [("start_r", "PDUs have other widths"), ("policy/mgmt/routing", "link-state")] {
        let mut end = End::new("n.2", 0);
        let effects = end.resolve();
        let effects = end.receive(&recorded("connect_r", invoke_id(&effects)));
        let start_r = decode(&recorded("start_r", invoke_id(&effects))).unwrap();
        let mut info: objects::EnrollmentInfo = start_r.value().unwrap();
        if of == "start_r" {
            info.constants.as_mut().unwrap().address_width = Some(2);
        }
        end.receive(&encode(&start_r.with_value(&info), true));
        let mut policy = decode(&bytes("policy/mgmt/routing")).unwrap();
        policy.obj_value.as_mut().unwrap().text = Some("static".into());
        end.receive(&encode(&policy, true));
        assert!(end.receive(&bytes("stop")).is_empty(), "{wrong}");
        assert!(end.neighbour.up().is_none() && end.neighbour.counts.refused == 1);
    }
}

#[test]
fn what_is_lost_is_tried_again() {
    let mut end = End::new("n.2", 0);
    end.resolve();
    let (mut asked, mut messages) = (0, Vec::new());
    for second in 0..30 {
        let effects = end.tick(Duration::from_secs(second));
        asked += effects.iter().filter(|effects| matches!(effects, Effect::Arp(..))).count();
        messages.extend(sent(&effects));
    }
    assert!(asked > 10, "{asked}");
    assert_eq!(messages, [bytes("release")], "the neighbour may have known this end before");
    // A neighbour that is silent is down.
    let mut end = End::new("n.2", 18);
    let effects = end.resolve();
    let effects = end.receive(&recorded("connect_r", invoke_id(&effects)));
    end.receive(&recorded("lowerflow_r", invoke_id(&effects)));
    assert!(end.tick(Duration::from_secs(3)).contains(&Effect::Down(name("n.1"))));
}

/// The answer to M_STOP is lost: the neighbour counts as enrolled there, and asks for signs of life. The attempt ends nevertheless, and it is told so.
#[test]
fn an_attempt_ends_whatever_the_neighbour_says_meanwhile() {
    let mut end = End::new("n.1", 16);
    end.receive(&bytes("connect"));
    assert_eq!(sent(&end.receive(&bytes("start"))).len(), 5);
    for second in 1..7 {
        let now = Duration::from_secs(second);
        let effects = end.with(|neighbour, local, out| {
            neighbour.receive(local, STATION, &bytes("keepalive"), now, &mut |_, _, _| Ok(17), out);
        });
        assert_eq!((effects, end.tick(now)), (Vec::new(), Vec::new()));
    }
    let released = sent(&end.tick(Duration::from_secs(7)));
    assert_eq!(released.iter().map(|sdu| decode(sdu).unwrap().op_code).collect::<Vec<_>>(), [op::RELEASE]);
}

#[test]
fn objects_are_those_of_rlite() {
    let mut rib = Rib::new(name("n.3"), 1000).in_dialect(&objects::PLAIN);
    let now = Duration::from_secs(5);
    let hear = |rib: &mut Rib, of: &str| {
        let all = objects::read(&decode(&bytes(of)).unwrap()).unwrap();
        all.into_iter().for_each(|announced| rib.learn(0, announced, now));
    };
    for of in ["neighbours", "lower_flows", "directory", "directory"] {
        hear(&mut rib, of);
    }
    assert_eq!((rib.address(&name("n.1")), rib.address(&name("n.2"))), (Some(17), Some(18)));
    assert_eq!(rib.hosts_of(&name("rinaperf")).collect::<Vec<_>>(), [&name("n.1")]);
    let flows: Vec<_> = rib.iter().filter(|(key, _)| matches!(key, Key::LowerFlow(..))).collect();
    assert_eq!(flows.iter().map(|(_, object)| (object.seq, object.value)).collect::<Vec<_>>(), [(5, 1), (6, 1)]);
    // What it says to others is what they would have announced, an object in a message.
    rib.begin(1);
    let mut sent: Vec<String> = Vec::new();
    for (link, message) in rib.tick(now) {
        assert_eq!(link, 1);
        sent.push(
            encode(&Message { invoke_id: Some(7), ..message }, true).iter().map(|byte| format!("{byte:02x}")).collect(),
        );
    }
    assert_eq!(sent.len(), 5);
    let directory: String = bytes("directory").iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(sent.contains(&directory));
    hear(&mut rib, "directory_delete");
    assert_eq!(rib.hosts_of(&name("rinaperf")).count(), 0);
    let (_, message) = rib.tick(now).remove(0);
    assert_eq!(message.op_code, op::DELETE);
    // Its own go again at intervals: nothing is acknowledged.
    rib.set(Key::Application(name("app"), name("n.3")), true, 0, now);
    assert_eq!(rib.tick(now).len(), 1);
    assert_eq!(rib.tick(now + Duration::from_secs(1)).len(), 0);
    assert_eq!(rib.tick(now + Duration::from_secs(20)).len(), 1);
}

#[test]
fn pdus_are_those_of_rlite() {
    let (header, payload) =
        Syntax::Rlite.parse(&[bytes("@pci"), vec![7, 8]].concat()).map(|(h, p)| (h, p.to_vec())).unwrap();
    assert_eq!((header.dst, header.src, header.sequence, payload), (17, 18, 0x0102_0304, vec![7, 8]));
    let control = bytes("@ctrl");
    let (header, payload) = Syntax::Rlite.parse(&control).unwrap();
    let mut exchange = flows::Exchange::default();
    let (ack_header, ack, _) = exchange.read(header, payload, Duration::ZERO).unwrap();
    assert_eq!(ack_header.kind, kind::ACK_FLOW);
    let parsed = crate::efcp::Ack::parse(&ack).unwrap();
    assert_eq!((parsed.next, parsed.edge), (3, 516));
    // And back, but for numbers that rlite sends and does not read.
    exchange.write(header_of(6), ack.clone());
    let (header, payload) = exchange.write(header_of(6), ack);
    assert_eq!((header.kind, header.sequence), (0xcc, 1), "control PDUs are numbered");
    let mut wanted = control[28..].to_vec();
    wanted[..4].fill(0);
    wanted[16..].fill(0);
    assert_eq!(payload, wanted);
}

fn header_of(src_cep: FlowId) -> Header {
    Header { src_cep, dst_cep: 5, kind: kind::ACK_FLOW, ..Header::default() }
}

fn cubes() -> Vec<Qos> {
    let cube = |id, name: &str, reliable| Qos {
        id,
        name: name.into(),
        reliable,
        window: 513,
        congestion: crate::efcp::congestion::POLICIES[0],
        rate: None,
        priority: 0,
    };
    vec![cube(1, "unreliable", false), cube(0, "reliable", true)]
}

#[test]
fn flow_requests_are_those_of_rlite() {
    use crate::flows::Flows;
    for (cube, of) in [(1, "reliable"), (0, "best_effort")] {
        let mut cube = cubes()[cube].clone();
        cube.id = 0;
        // This end asks.
        let mut flows = Flows::new(name("n.2"), 5u16.wrapping_sub(40_503));
        let mut exchange = flows::Exchange::default();
        let names = [name("rinaperf-client"), name("rinaperf"), name("n.1")];
        let id = flows.request(names, [0; 8], &cube, Duration::ZERO).unwrap();
        assert_eq!(id, 5);
        let outgoing = flows.take_outgoing().remove(0);
        let crate::flows::Outgoing::Management(to, message) = outgoing else { panic!("no message") };
        let outcome = exchange.send(&to, [18, 17], &message, &[cube.clone()]);
        // rlite's ports and endpoints are different numbers.
        let ours = flows::unwrap(&outcome.sdu.unwrap()).unwrap();
        let theirs = flows::unwrap(&bytes(&format!("{of}_create"))).unwrap();
        assert_eq!(ours.0, theirs.0);
        assert_eq!(flows::comparable(&ours.1, 5, 5), flows::comparable(&theirs.1, 5, 5), "{of}");
        assert_eq!(
            exchange.send(&to, [18, 17], &message, &[cube.clone()]),
            crate::plain::Outcome::default(),
            "it is sent once"
        );
        // rlite answers.
        let (_, answer) = flows::unwrap(&bytes(&format!("{of}_create_r"))).unwrap();
        let answer = Message { invoke_id: Some(5), ..answer };
        let native = exchange.receive((&to, [0; 2]), &answer, &[cube.clone()], &|id| flows.get(id)).unwrap();
        let qos = |_| Some(cube.clone());
        flows.receive((&to, &[0; 8]), &native, qos, |_| false, Duration::ZERO).unwrap();
        assert!(flows.get(5).unwrap().is_open());
        // rlite's endpoint is 6. It has another number here, and may be 0.
        let there = flows.get(5).unwrap().remote_cep();
        let (header, _) =
            exchange.write(Header { src_cep: 5, dst_cep: there, kind: kind::DATA, ..Header::default() }, Vec::new());
        assert_eq!(header.dst_cep, 6);
        let data = Header { src_cep: 6, dst_cep: 5, kind: kind::DATA, ..Header::default() };
        let (header, ..) = exchange.read(data, &[], Duration::ZERO).unwrap();
        assert_eq!(header.src_cep, there);
        assert_eq!(exchange.read(Header { src_cep: there + 6, ..data }, &[], Duration::ZERO), None, "another flow's");
        // And it is released by rlite's port.
        flows.end(5, false, Duration::ZERO);
        flows.take_outgoing();
        flows.poll(5, Duration::ZERO);
        let mut released = Vec::new();
        flows.tick(Duration::from_secs(1), |_| crate::flows::Peer { reachable: true, life: Some([0; 8]) });
        for outgoing in flows.take_outgoing() {
            let crate::flows::Outgoing::Management(to, message) = outgoing else { continue };
            let outcome = exchange.send(&to, [18, 17], &message, &[cube.clone()]);
            released.extend(outcome.sdu);
            let answer = outcome.answer.unwrap();
            flows.receive((&to, &[0; 8]), &answer, qos, |_| false, Duration::ZERO).unwrap();
        }
        assert_eq!(flows.iter().count(), 0);
        let (_, delete) = flows::unwrap(&released[0]).unwrap();
        let (_, theirs) = flows::unwrap(&bytes("delete")).unwrap();
        assert_eq!(
            (delete.op_code, delete.obj_name, delete.obj_class),
            (theirs.op_code, theirs.obj_name, theirs.obj_class)
        );
    }
    assert_eq!(object::FLOW_NAME, "/mgmt/flowalloc/flows");
}

#[test]
fn rlite_asks_for_flows() {
    use crate::flows::{Flows, Outgoing};
    for (of, reliable) in [("reliable", true), ("best_effort", false)] {
        let mut flows = Flows::new(name("n.1"), 6u16.wrapping_sub(40_503));
        let mut exchange = flows::Exchange::default();
        let (address, request) = flows::unwrap(&bytes(&format!("{of}_create"))).unwrap();
        assert_eq!(address, 18);
        let from = name("n.2");
        assert_eq!(
            exchange.receive((&name("other"), [0; 2]), &request, &cubes(), &|_| None),
            None,
            "not by another member"
        );
        let native = exchange.receive((&from, [0; 2]), &request, &cubes(), &|_| None).unwrap();
        assert_eq!(exchange.receive((&from, [0; 2]), &request, &cubes(), &|_| None), None, "it is sent again");
        let cube = |id| cubes().into_iter().find(|cube| cube.id == id);
        flows.receive((&from, &[0; 8]), &native, cube, |app| *app == name("rinaperf"), Duration::ZERO).unwrap();
        flows.answer(6, true, Duration::ZERO);
        assert_eq!(flows.get(6).unwrap().qos.reliable, reliable);
        let Outgoing::Management(to, message) = flows.take_outgoing().remove(0) else { panic!("no message") };
        let response = exchange.send(&to, [17, 18], &message, &cubes()).sdu.unwrap();
        let (ours, theirs) =
            (flows::unwrap(&response).unwrap(), flows::unwrap(&bytes(&format!("{of}_create_r"))).unwrap());
        assert_eq!((ours.0, ours.1.invoke_id), (theirs.0, theirs.1.invoke_id));
        // The port is the endpoint here.
        assert_eq!(flows::comparable(&ours.1, 9, 9), flows::comparable(&theirs.1, 9, 9), "{of}");
        // A member that begins anew asks with the same numbers.
        assert!(exchange.receive((&from, [0; 2]), &request, &cubes(), &|_| None).is_some());
        // rlite ends it, by this end's port.
        let (_, delete) = flows::unwrap(&bytes("delete")).unwrap();
        let delete = Message { obj_name: Some("/mgmt/flowalloc/flows/6".into()), ..delete };
        let native = exchange.receive((&from, [0; 2]), &delete, &cubes(), &|id| flows.get(id)).unwrap();
        flows.receive((&from, &[0; 8]), &native, cube, |_| false, Duration::ZERO).unwrap();
        // Without retransmission PDUs may come behind it.
        assert_eq!(flows.iter().count(), usize::from(!reliable));
        flows.poll(6, Duration::from_secs(1));
        assert_eq!(flows.iter().count(), 0);
        assert_eq!(flows.failed, 0);
    }
}

/// Bytes that somebody else writes: messages with a byte changed, cut or put together.
#[test]
fn nothing_that_is_received_breaks_anything() {
    let recorded: Vec<Vec<u8>> = include_str!("recorded.txt")
        .lines()
        .filter_map(|line| line.split_once(' ').filter(|_| !line.starts_with('#')))
        .map(|(of, _)| bytes(of))
        .collect();
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let (mut end, mut rib) = (End::new("n.1", 16), Rib::new(name("n.1"), 1000).in_dialect(&objects::PLAIN));
    let mut exchange = flows::Exchange::default();
    for _ in 0..30_000 {
        let mut sdu = recorded[next(recorded.len())].clone();
        for _ in 0..next(3) {
            let at = next(sdu.len());
            sdu[at] = next(256) as u8;
        }
        if next(8) == 0 {
            sdu.truncate(next(sdu.len()));
        }
        end.receive(&sdu);
        end.with(|neighbour, local, out| neighbour.receive_arp(local, &sdu, Duration::ZERO, out));
        for announced in decode(&sdu).and_then(|message| objects::read(&message)).into_iter().flatten() {
            rib.learn(0, announced, Duration::ZERO);
        }
        if let Some((_, message)) = flows::unwrap(&sdu) {
            exchange.receive((&name("n.2"), [0; 2]), &message, &cubes(), &|_| None);
        }
        if let Ok((header, payload)) = Syntax::Rlite.parse(&sdu) {
            exchange.read(header, payload, Duration::ZERO);
        }
    }
    assert!(rib.iter().count() < 500);
}

/// rlite ignores the state and numbers of lower flows that are deleted, and creates them with the first number again.
#[test]
fn lower_flows_are_deleted_and_come_again() {
    let mut rib = Rib::new(name("n.3"), 1000).in_dialect(&objects::PLAIN);
    rib.begin(1);
    let now = Duration::from_secs(5);
    let hear = |rib: &mut Rib, message: Message| {
        objects::read(&message).unwrap().into_iter().for_each(|announced| rib.learn(0, announced, now));
        rib.tick(now).into_iter().map(|(_, message)| message.op_code).collect::<Vec<_>>()
    };
    let created = decode(&bytes("lower_flows")).unwrap();
    assert_eq!(hear(&mut rib, created.clone()), [op::CREATE; 2]);
    assert_eq!(hear(&mut rib, Message { op_code: op::DELETE, ..created.clone() }), [op::DELETE; 2]);
    assert_eq!(rib.cost(&name("n.1"), &name("n.2")), None);
    assert_eq!(hear(&mut rib, created), [op::CREATE; 2]);
    let of = |key: Key| rib.iter().find(|(other, _)| **other == key).map(|(_, object)| object.seq);
    assert_eq!(of(Key::LowerFlow(name("n.1"), name("n.2"))), Some(5), "with the number of its origin");
}

/// Somebody who missed the deletion of a lower flow creates it again, with an older number: its origin deletes it again. What is deleted
/// with another cost is deleted already.
#[test]
fn lower_flows_that_come_back_are_deleted_again() {
    let mut rib = Rib::new(name("n.1"), 1000).in_dialect(&objects::PLAIN);
    rib.begin(0);
    let now = Duration::from_secs(5);
    let key = Key::LowerFlow(name("n.1"), name("n.2"));
    rib.set(key.clone(), true, 3, now);
    rib.set(key.clone(), false, 3, now);
    let written = |rib: &mut Rib| rib.tick(now).into_iter().map(|(_, message)| message.op_code).collect::<Vec<_>>();
    assert_eq!(written(&mut rib), [op::DELETE]);
    let announced = |present, seq, value| Announced { key: key.clone(), seq, present, value, age: 0 };
    rib.learn(0, announced(true, Some(1000), 3), now);
    assert_eq!(written(&mut rib), [op::DELETE]);
    rib.learn(0, announced(false, None, 1), now);
    assert!(written(&mut rib).is_empty());
    assert_eq!(rib.cost(&name("n.1"), &name("n.2")), None);
}

/// Names are sent in parts.
#[test]
fn names_of_applications_have_parts() {
    for text in ["rinaperf-data|server", "a", "a|b|c|d", "a||b", "a|||d", "|b", "a|b|c|d|", "a|b|c||d"] {
        let parts = ApName::new(text);
        assert_eq!(parts.name(), Some(name(text)));
        assert_eq!(parts.ap_name, text.split('|').next().unwrap());
    }
    let (dest_ap_name, src_ap_name) = (Some("dif|1".into()), Some("n.2|7".into()));
    let connect = Message { dest_ap_name, src_ap_name, ..decode(&bytes("connect")).unwrap() };
    assert_eq!(decode(&encode(&connect, true)), Some(connect));
}
