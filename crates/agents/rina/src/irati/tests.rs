//! Messages as Google's protobuf encodes them by IRATI's own `.proto` files (`tests/rina/irati_peer.py`), with the fields that IRATI sets. A whole exchange with
//! such a member, in frames, is in `tests/rina/irati_test.py`.

use std::time::Duration;

use super::enrolment::Neighbour;
use super::flows::Exchange;
use super::messages::{decode, encode};
use super::objects::{self, Directory, EnrollmentInfo, name as names};
use crate::cdap::{self, Message, op};
use crate::credential::NONCE;
use crate::efcp::Qos;
use crate::fixture;
use crate::name::Name;
use crate::neighbour::{Effect, LinkEnd as _, Local, Mac};
use crate::pdu::{Header, RUN, Syntax, kind};
use crate::plain::Exchange as _;
use crate::plain::arp::{Arp, Operation};
use crate::rib::{Key, Rib};

const STATION: Mac = [2, 0, 0, 0, 0, 9];

fn lines() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    let lines = include_str!("recorded.txt").lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let (of, hex) = line.split_once(' ').expect("a name and bytes");
        (of, (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect())
    })
}

fn bytes(of: &str) -> Vec<u8> {
    lines().find(|(name, _)| *name == of).unwrap_or_else(|| panic!("{of} is not recorded")).1
}

fn recorded(of: &str) -> Message {
    decode(&bytes(of)).unwrap_or_else(|| panic!("{of} is not read"))
}

/// A recorded response, to a request of this number.
fn response(of: &str, invoke_id: Option<i32>) -> Vec<u8> {
    encode(&Message { invoke_id, ..recorded(of) })
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn sent(effects: &[Effect]) -> Vec<Message> {
    let all = effects.iter().filter_map(|effect| match effect {
        Effect::Send(to, sdu) => Some((to, decode(sdu).expect("what is sent is read"))),
        _ => None,
    });
    all.inspect(|(to, _)| assert_eq!(**to, STATION)).map(|(_, message)| message).collect()
}

fn only(effects: &[Effect]) -> Message {
    let [message] = &sent(effects)[..] else { panic!("{effects:?}") };
    message.clone()
}

fn ups(effects: &[Effect]) -> Vec<&Effect> {
    effects.iter().filter(|effect| matches!(effect, Effect::Up(_) | Effect::Enrolled(_) | Effect::Down(_))).collect()
}

struct End {
    name: Name,
    address: u16,
    cubes: Vec<Qos>,
    neighbour: Neighbour,
}

impl End {
    fn new(own: &str, address: u16) -> End {
        End { name: name(own), address, cubes: fixture::cubes(64), neighbour: Neighbour::default() }
    }

    fn with(&mut self, work: impl FnOnce(&mut Neighbour, &Local<'_>, &mut Vec<Effect>)) -> Vec<Effect> {
        let local = Local {
            dif: &name("normal.DIF"),
            name: &self.name,
            address: self.address,
            credential: None,
            identity: None,
            encryption: false,
            incarnation: [0; NONCE],
            routing: "shortest",
            qos: &self.cubes,
            keepalive: Duration::from_secs(1),
            dead_after: Duration::from_secs(3),
        };
        let mut out = Vec::new();
        work(&mut self.neighbour, &local, &mut out);
        out
    }

    fn receive(&mut self, sdu: &[u8]) -> Vec<Effect> {
        self.receive_at(sdu, Duration::ZERO)
    }

    fn receive_at(&mut self, sdu: &[u8], now: Duration) -> Vec<Effect> {
        self.with(|neighbour, local, out| {
            let mut admit = |_: &Name, asked, _| Ok(if asked == 0 { 17 } else { asked });
            neighbour.receive(local, STATION, sdu, now, &mut admit, out);
        })
    }

    /// ARP up to M_CONNECT.
    fn connect(&mut self) -> Message {
        let asked = self.with(|neighbour, local, out| neighbour.tick(local, Duration::ZERO, out));
        let [Effect::Arp(_, request)] = &asked[..] else { panic!("{asked:?}") };
        let Arp { sender, target, .. } = Arp::parse(request).unwrap();
        assert_eq!((sender.1.as_str(), target.1.as_str()), (&*format!("{}/1//", self.name), "normal.DIF///"));
        let reply = Arp { operation: Operation::Reply, sender: (STATION, target.1), target: sender };
        only(&self.with(|neighbour, local, out| neighbour.receive_arp(local, &reply.write(), Duration::ZERO, out)))
    }
}

#[test]
fn what_irati_writes_is_read_and_written() {
    let mut count = 0;
    for (of, bytes) in lines().filter(|(of, _)| !of.starts_with('@')) {
        let message = recorded(of);
        // The name of another policy is not kept.
        assert!(encode(&message) == bytes || of == "connect_password", "{of}");
        count += 1;
    }
    assert!(count > 25);
    assert_eq!(decode(&vec![0; 1473]), None);
}

#[test]
fn messages_that_irati_would_not_take_are_none() {
    let connect = recorded("connect");
    let with = |change: &dyn Fn(&mut Message)| {
        let mut message = connect.clone();
        change(&mut message);
        decode(&encode(&message))
    };
    assert_eq!(with(&|_| {}), Some(connect.clone()));
    assert_eq!(with(&|it| it.obj_class = Some("Enrollment".into())), None, "an object in M_CONNECT");
    assert_eq!(with(&|it| it.src_ap_name = None), None, "nobody connects");
    assert_eq!(with(&|it| it.invoke_id = None), None, "no number");
    assert_eq!(with(&|it| it.op_code = op::START), None, "names in M_START");
    let empty = Message { obj_value: None, ..recorded("flow_states") };
    assert_eq!(decode(&encode(&empty)), None, "M_WRITE of nothing");
}

#[test]
fn a_member_of_irati_enrols_this_one() {
    let mut end = End::new("test2.IRATI", 0);
    let connect = end.connect();
    assert_eq!(encode(&Message { invoke_id: Some(1), ..connect.clone() }), bytes("connect"));
    let start = only(&end.receive(&response("connect_r", connect.invoke_id)));
    let info: EnrollmentInfo = start.value().unwrap();
    assert_eq!((start.op_code, info.address, info.token.as_deref()), (op::START, Some(0), Some("")));
    for of in ["start_r", "constants", "cubes", "directory", "neighbors"] {
        let sdu = if of == "start_r" { response(of, start.invoke_id) } else { bytes(of) };
        assert_eq!(end.receive(&sdu), [], "{of}");
    }
    assert_eq!(encode(&only(&end.receive(&bytes("stop")))), bytes("stop_r"));
    let effects = end.receive(&bytes("status"));
    assert_eq!(ups(&effects), [&Effect::Enrolled(17), &Effect::Up(name("test1.IRATI"))]);
    let told = effects.iter().filter(|effect| matches!(effect, Effect::Message(_))).count();
    assert_eq!(told, 2, "the directory and the neighbour");
    // Both say who they are, in the same fields.
    let (answer, theirs) = (only(&effects), recorded("status_r"));
    let who = |message: &Message| {
        let it: objects::Neighbour = message.value().unwrap();
        (it.ap_name, it.ap_instance, it.ae_name, it.ae_instance)
    };
    assert_eq!((who(&answer), answer.invoke_id), (who(&theirs), Some(4)));
    end.address = 16;
    assert_eq!(encode(&only(&end.receive(&bytes("watchdog")))), bytes("watchdog_r"));
    assert_eq!(ups(&end.receive(&bytes("release"))), [&Effect::Down(name("test1.IRATI"))]);
    let counts = end.neighbour.counts;
    assert_eq!((counts.ups, counts.downs, counts.refused, counts.discarded), (1, 1, 0, 0));
}

/// What was not told is read before M_STOP is answered.
#[test]
fn constants_are_asked_for() {
    let mut end = End::new("test2.IRATI", 0);
    let connect = end.connect();
    let start = only(&end.receive(&response("connect_r", connect.invoke_id)));
    end.receive(&response("start_r", start.invoke_id));
    let read = only(&end.receive(&bytes("stop")));
    assert_eq!(encode(&Message { invoke_id: Some(6), ..read.clone() }), bytes("read_constants"));
    let constants = Message { op_code: op::READ_R, invoke_id: read.invoke_id, ..recorded("constants") };
    assert_eq!(encode(&only(&end.receive(&encode(&constants)))), bytes("stop_r"));
}

#[test]
fn a_dif_with_other_widths_is_refused() {
    for (of, fragmentation) in [("constants_wide", false), ("constants", true)] {
        let mut end = End::new("test2.IRATI", 0);
        let connect = end.connect();
        let start = only(&end.receive(&response("connect_r", connect.invoke_id)));
        end.receive(&response("start_r", start.invoke_id));
        let mut constants: objects::Constants = recorded(of).value().unwrap();
        constants.fragmentation = Some(fragmentation);
        end.receive(&encode(&recorded(of).with_value(&constants)));
        assert_eq!((end.neighbour.counts.refused, end.receive(&bytes("stop")).len()), (1, 0), "{of}");
    }
}

#[test]
fn this_one_enrols_a_member_of_irati() {
    for (of, asked) in [("start", 0), ("start_member", 17)] {
        let mut end = End::new("test1.IRATI", 16);
        let request = Arp {
            operation: Operation::Request,
            sender: (STATION, "test2.IRATI/1//".into()),
            target: ([0; 6], "normal.DIF///".into()),
        };
        let effects =
            end.with(|neighbour, local, out| neighbour.receive_arp(local, &request.write(), Duration::ZERO, out));
        let [Effect::Arp(STATION, reply)] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(Arp::parse(reply).unwrap().sender.1, "normal.DIF///");
        assert_eq!(encode(&only(&end.receive(&bytes("connect")))), bytes("connect_r"));
        let messages = sent(&end.receive(&bytes(of)));
        let classes: Vec<&str> = messages.iter().map(|message| message.obj_class.as_deref().unwrap()).collect();
        let [enrollment, neighbours] = [names::ENROLLMENT[0], names::NEIGHBOURS[0]];
        let info: EnrollmentInfo = messages[0].value().unwrap_or_default();
        if asked == 0 {
            let (constants, cubes) = (names::DATA_TRANSFER[0], names::CUBES[0]);
            assert_eq!(classes, [enrollment, constants, cubes, neighbours, enrollment]);
            assert_eq!((info.address, encode(&messages[1])), (Some(17), bytes("constants")));
            assert!(objects::other_cubes(&recorded("cubes"), &end.cubes).is_empty());
            assert_eq!(objects::other_cubes(&messages[2], &end.cubes[..1]), ["2 (reliable)"]);
        } else {
            assert_eq!((classes, info.address), (vec![enrollment, neighbours, enrollment], None));
        }
        let stop = messages.last().unwrap();
        let token = stop.value::<EnrollmentInfo>().unwrap().token.unwrap();
        let status = only(&end.receive(&response("stop_r", stop.invoke_id)));
        assert_eq!(encode(&Message { invoke_id: Some(4), ..status.clone() }), bytes("status"));
        // Another token is not from whom M_STOP went to.
        let mut who: objects::Neighbour = recorded("status_r").value().unwrap();
        assert_ne!(who.ae_instance.as_ref(), Some(&token));
        who.ae_instance = Some(token);
        let answer = Message { invoke_id: status.invoke_id, ..recorded("status_r").with_value(&who) };
        let effects = end.receive(&encode(&answer));
        assert_eq!(ups(&effects), [&Effect::Up(name("test2.IRATI"))]);
        let mut directory = Directory::default();
        let rib = Rib::new(name("test1.IRATI"), 1000);
        let Some(Effect::Message(told)) = effects.last() else { panic!("{effects:?}") };
        let known = directory.read(told, &rib).unwrap();
        assert_eq!((&known[0].key, known[0].value), (&Key::Member(name("test2.IRATI")), 17));
    }
    let mut end = End::new("test1.IRATI", 16);
    let refusal = only(&end.receive(&bytes("connect_password")));
    assert_eq!((refusal.op_code, refusal.result), (op::CONNECT_R, Some(-1)));
}

/// The enrollee's last message is lost: it counts as a neighbour there, and asks for signs of life. The attempt ends nevertheless, and it is told so.
#[test]
fn an_attempt_ends_whatever_the_neighbour_says_meanwhile() {
    let mut end = End::new("test1.IRATI", 16);
    end.receive(&bytes("connect"));
    let messages = sent(&end.receive(&bytes("start")));
    assert_eq!(only(&end.receive(&response("stop_r", messages.last().unwrap().invoke_id))).op_code, op::START);
    for second in 1..7 {
        let now = Duration::from_secs(second);
        assert_eq!(end.receive_at(&bytes("watchdog"), now), []);
        assert_eq!(end.with(|neighbour, local, out| neighbour.tick(local, now, out)), []);
    }
    let now = Duration::from_secs(7);
    assert_eq!(only(&end.with(|neighbour, local, out| neighbour.tick(local, now, out))).op_code, op::RELEASE);
}

#[test]
fn who_has_the_name_of_this_one_does_not_enrol_it() {
    let mut end = End::new("test1.IRATI", 0);
    let connect = end.connect();
    assert_eq!(end.receive(&response("connect_r", connect.invoke_id)), []);
    assert_eq!(end.neighbour.counts.refused, 1);
}

#[test]
fn objects_are_those_of_the_rib() {
    let (mut rib, mut directory) =
        (Rib::new(name("test3.IRATI"), 1000).in_dialect(&objects::PLAIN), Directory::default());
    let now = Duration::from_secs(1);
    let mut take = |rib: &mut Rib, of: &str| {
        let announced = directory.read(&recorded(of), rib).unwrap_or_else(|| panic!("{of} is about nothing"));
        announced.into_iter().for_each(|one| rib.learn(0, one, now));
        directory.resolve(rib).into_iter().for_each(|one| rib.learn(0, one, now));
    };
    let server = name("rina.apps.echotime.server|1");
    let hosts = |rib: &Rib| rib.hosts_of(&name("rina.apps.echotime.server|1")).cloned().collect::<Vec<_>>();
    // The directory says an address, which no name has yet.
    take(&mut rib, "directory");
    assert_eq!(hosts(&rib), []);
    take(&mut rib, "flow_states");
    let (one, two) = (name("test1.IRATI"), name("test2.IRATI"));
    assert_eq!((rib.address(&one), rib.cost(&one, &two), hosts(&rib)), (Some(16), Some(1), vec![one.clone()]));
    assert_eq!(rib.lower_flows().count(), 2);
    take(&mut rib, "flow_state_down");
    assert_eq!(rib.lower_flows().count(), 1);
    take(&mut rib, "flow_states");
    assert_eq!(rib.lower_flows().count(), 1, "an older one says nothing");
    // As they came, they go to other neighbours.
    rib.begin(1);
    let written: Vec<Message> = rib.tick(now).into_iter().map(|(_, message)| message).collect();
    let mut again = Rib::new(name("test9.IRATI"), 1000).in_dialect(&objects::PLAIN);
    let mut other = Directory::default();
    for message in &written {
        let message = decode(&encode(message)).unwrap();
        other.read(&message, &again).unwrap().into_iter().for_each(|one| again.learn(0, one, now));
        other.resolve(&again).into_iter().for_each(|one| again.learn(0, one, now));
    }
    assert_eq!((again.address(&one), again.cost(&one, &two), hosts(&again)), (Some(16), Some(1), vec![one.clone()]));
    assert_eq!(again.lower_flows().count(), 1);
    take(&mut rib, "directory_delete");
    assert_eq!(hosts(&rib), []);
    let gone = rib.tick(now).into_iter().map(|(_, message)| encode(&message)).collect::<Vec<_>>();
    assert_eq!(gone, [bytes("directory_delete")]);
    assert!(rib.hosts_of(&server).next().is_none());
}

fn value(message: &Message) -> cdap::FlowRequest {
    message.value().unwrap()
}

#[test]
fn flows_are_asked_for_by_members_of_irati() {
    let (mut exchange, cubes) = (Exchange::default(), fixture::cubes(64));
    let two = name("test2.IRATI");
    let (addresses, inner) = super::flows::unwrap(&recorded("flow")).unwrap();
    assert_eq!(addresses, [17, 16]);
    let asked = exchange.receive((&two, addresses), &inner, &cubes, &|_| None).unwrap();
    let request = value(&asked);
    assert_eq!(
        (request.src_app.ap_name.as_str(), request.dst_app.ap_name.as_str()),
        ("rina.apps.echotime.client|1", "rina.apps.echotime.server|1")
    );
    assert_eq!(request.connections[0].qosid, Some(2));
    assert!(exchange.receive((&two, addresses), &inner, &cubes, &|_| None).is_none(), "it is asked for once");
    let (_, paced) = super::flows::unwrap(&recorded("flow_paced")).unwrap();
    let mut other = Exchange::default();
    assert!(other.receive((&two, addresses), &paced, &cubes, &|_| None).is_none());
    let refusal = decode(&other.take_refusal().unwrap()).unwrap();
    let (addresses_back, refusal) = super::flows::unwrap(&refusal).unwrap();
    assert_eq!(
        (addresses_back, refusal.op_code, refusal.invoke_id, refusal.result),
        ([16, 17], op::CREATE_R, Some(7), Some(-1))
    );
    // It is accepted, with 9 as port and endpoint here.
    let connection =
        cdap::ConnId { src_cep: Some(9), dst_cep: request.connections[0].src_cep, ..request.connections[0] };
    let accepted = cdap::FlowRequest { connections: vec![connection], ..request.clone() };
    let answer = Message::about(op::CREATE_R, "flow", "").with_value(&accepted);
    let sdu = exchange.send(&two, [16, 17], &answer, &cubes).sdu.unwrap();
    let (addresses, answer) = super::flows::unwrap(&decode(&sdu).unwrap()).unwrap();
    let (_, theirs) = super::flows::unwrap(&recorded("flow_r")).unwrap();
    assert_eq!((addresses, &answer.obj_name, answer.invoke_id), ([16, 17], &theirs.obj_name, theirs.invoke_id));
    // Data: random numbers, the first of which says that a run begins.
    let (header, payload) =
        Syntax::Irati.parse(&bytes("@data")).map(|(header, payload)| (header, payload.to_vec())).unwrap();
    let header = Header { dst_cep: 9, ..header };
    assert_eq!((header.kind, header.src_cep, header.flags), (kind::DATA, 3, RUN));
    let (read, sdu, begins) = exchange.read(header, &payload, Duration::ZERO).unwrap();
    assert_eq!((read.src_cep.into(), &sdu[..], begins), (request.connections[0].src_cep.unwrap(), &b"hello"[..], true));
    let again = exchange.read(header, &payload, Duration::from_millis(300)).unwrap();
    assert!(!again.2, "the same PDU begins nothing");
    assert!(exchange.read(Header { src_cep: 4, ..header }, &payload, Duration::ZERO).is_none(), "another endpoint");
    let ack = crate::efcp::Ack {
        next: header.sequence.wrapping_add(1),
        edge: header.sequence.wrapping_add(51),
        received: 1,
        marked: 0,
        ranges: Vec::new(),
    };
    let control =
        Header { kind: kind::ACK_FLOW, src: 16, dst: 17, qos_id: 2, src_cep: 9, dst_cep: 1, ..Header::default() };
    exchange.write(control, ack.write());
    let (control, sdu) = exchange.write(control, ack.write());
    let mut pdu = Vec::new();
    // Its endpoint is the 7 that is recorded.
    Syntax::Irati.write(&Header { src_cep: 7, ..control }, &sdu, &mut pdu);
    assert_eq!(pdu, bytes("@ack_flow"));
    let (control, payload) = Syntax::Irati.parse(&pdu).unwrap();
    let (read, ack_here, _) =
        exchange.read(Header { src_cep: 3, dst_cep: 9, ..control }, payload, Duration::ZERO).unwrap();
    assert_eq!((read.kind, crate::efcp::Ack::parse(&ack_here).unwrap().next), (kind::ACK_FLOW, ack.next));
}

/// Without retransmission nothing is acknowledged: each PDU says that a run begins, since any of them may be lost. Otherwise the one before which all was
/// acknowledged does, because IRATI takes no other one after some time without data.
#[test]
fn a_run_begins_with_what_nothing_is_under_way_before() {
    let mut exchange = Exchange::default();
    let flags = |exchange: &mut Exchange, sequence| {
        let header = Header { kind: kind::DATA, src_cep: 9, sequence, ..Header::default() };
        exchange.write(header, b"hello".to_vec()).0.flags
    };
    assert_eq!([flags(&mut exchange, 0), flags(&mut exchange, 1)], [RUN; 2]);
    let control = Header { kind: kind::ACK_FLOW, src_cep: 3, dst_cep: 9, ..Header::default() };
    // What came last is number 1.
    let mut payload = [0u8; 32];
    payload[0] = 1;
    assert!(exchange.read(control, &payload, Duration::ZERO).is_some());
    assert_eq!([1, 2, 3].map(|sequence| flags(&mut exchange, sequence)), [0, RUN, 0]);
    // What is sent again after some time begins nothing; another number does.
    let data =
        |sequence| Header { kind: kind::DATA, flags: RUN, src_cep: 3, dst_cep: 9, sequence, ..Header::default() };
    let mut begins = |sequence, second| exchange.read(data(sequence), b"", Duration::from_secs(second)).unwrap().2;
    let come = [(5, 0), (6, 1), (6, 30), (5, 60), (7, 90), (4_000_000_000, 120)];
    assert_eq!(come.map(|(sequence, second)| begins(sequence, second)), [true, false, false, false, true, true]);
}

/// The application gives up before the other end has answered: that is told to the other end, which would keep the flow.
#[test]
fn a_flow_that_nobody_waits_for_is_deleted() {
    let (mut exchange, cubes, two) = (Exchange::default(), fixture::cubes(64), name("test2.IRATI"));
    let object = format!("{}17-9", names::FLOW[1]);
    let answer = |result| {
        let answer = Message::about(op::CREATE_R, names::FLOW[0], object.clone());
        Message { invoke_id: Some(9), result, ..answer }
    };
    assert!(exchange.receive((&two, [16, 17]), &answer(Some(-1)), &cubes, &|_| None).is_none());
    assert_eq!(exchange.take_refusal(), None, "it is refused: there is nothing to delete");
    assert!(exchange.receive((&two, [16, 17]), &answer(None), &cubes, &|_| None).is_none());
    let sdu = decode(&exchange.take_refusal().unwrap()).unwrap();
    let (addresses, delete) = super::flows::unwrap(&sdu).unwrap();
    assert_eq!((addresses, delete.op_code, delete.obj_name), ([17, 16], op::DELETE, Some(object)));
}

#[test]
fn nothing_that_is_received_breaks_anything() {
    let recorded: Vec<Vec<u8>> = lines().map(|(_, bytes)| bytes).collect();
    let mut random = 1u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let (mut end, mut exchange, mut directory) =
        (End::new("test3.IRATI", 16), Exchange::default(), Directory::default());
    let mut rib = Rib::new(name("test3.IRATI"), 1000).in_dialect(&objects::PLAIN);
    let cubes = fixture::cubes(64);
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
        let Some(message) = decode(&sdu) else {
            if let Ok((header, payload)) = Syntax::Irati.parse(&sdu) {
                exchange.read(header, payload, Duration::ZERO);
            }
            continue;
        };
        for announced in directory.read(&message, &rib).into_iter().flatten() {
            rib.learn(0, announced, Duration::ZERO);
        }
        if let Some((addresses, inner)) = super::flows::unwrap(&message) {
            exchange.receive((&name("test2.IRATI"), addresses), &inner, &cubes, &|_| None);
        }
    }
    assert!(rib.iter().count() < 500);
}
