//! Networks of IPC processes in memory, whose links are queues and whose time is counted.

use prost::Message as _;

use super::*;
use crate::cdap::object;
use crate::credential::Credential;
use crate::fixture;
use crate::flows::End;
use crate::plain::arp;
use crate::rib::MOST_NAMES;

#[path = "flows/encryption_tests.rs"]
mod encryption;
#[path = "rlite/dif_tests.rs"]
mod rlite_dif;

const STEP: Duration = Duration::from_millis(5);

struct Network {
    nodes: Vec<Ipcp>,
    /// Both ends of each link: node and link there.
    links: Vec<[(usize, usize); 2]>,
    down: BTreeSet<usize>,
    dead: BTreeSet<usize>,
    now: Duration,
    pdus: usize,
    /// PDUs on links, 1,000 at most.
    overheard: Vec<Vec<u8>>,
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn settings(own: &str, address: Option<u16>, credential: u8, links: usize) -> Settings {
    let (dialect, qos) = (fixture::dialect(credential), fixture::cubes(256));
    Settings { dialect, qos, ..fixture::settings(own, address, links) }
}

impl Network {
    /// Nodes with these names and addresses (0: none), and links between them.
    fn new(nodes: &[(&str, u16)], ends: &[(usize, usize)]) -> Network {
        let mut count = vec![0; nodes.len()];
        let mut end = |node: usize| {
            count[node] += 1;
            (node, count[node] - 1)
        };
        let links = ends.iter().map(|(a, b)| [end(*a), end(*b)]).collect();
        let node = |((own, address), links): (&(&str, u16), &usize)| {
            Ipcp::new(settings(own, (*address != 0).then_some(*address), 1, *links), 1_000_000)
        };
        let nodes = nodes.iter().zip(&count).map(node).collect();
        Network {
            nodes,
            links,
            down: BTreeSet::new(),
            dead: BTreeSet::new(),
            now: Duration::ZERO,
            pdus: 0,
            overheard: Vec::new(),
        }
    }

    /// Two spines (0 and 1), leaves, and a host at each leaf.
    fn leaf_spine(leaves: usize) -> Network {
        let mut nodes = vec![("spine1".to_string(), 1), ("spine2".to_string(), 0)];
        nodes.extend((1..=leaves).map(|leaf| (format!("leaf{leaf}"), 0)));
        nodes.extend((1..=leaves).map(|host| (format!("host{host}"), 0)));
        let mut ends = Vec::new();
        for leaf in 0..leaves {
            ends.extend([(0, 2 + leaf), (1, 2 + leaf), (2 + leaf, 2 + leaves + leaf)]);
        }
        let nodes: Vec<(&str, u16)> = nodes.iter().map(|(own, address)| (own.as_str(), *address)).collect();
        Network::new(&nodes, &ends)
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            for node in 0..self.nodes.len() {
                if !self.dead.contains(&node) {
                    self.nodes[node].tick(self.now);
                }
            }
            self.deliver();
        }
    }

    /// Moves PDUs as routers do: those to other addresses are relayed by the forwarding of the node they come to.
    fn deliver(&mut self) {
        for _ in 0..20 {
            let mut any = false;
            for node in 0..self.nodes.len() {
                for transmit in self.nodes[node].take_transmits() {
                    any = true;
                    match transmit.arp {
                        true => self.resolve(node, transmit.link, transmit.pdu),
                        false => self.relay(node, transmit.link, &transmit.pdu, 0),
                    }
                }
                if !self.dead.contains(&node) {
                    self.nodes[node].transfer(self.now);
                }
            }
            if !any {
                return;
            }
        }
    }

    /// The node and link at the other end of a link, if it is up.
    fn other_end(&self, from: usize, link: usize) -> Option<(usize, usize)> {
        let at = self.links.iter().position(|ends| ends.contains(&(from, link))).unwrap();
        let [one, other] = self.links[at];
        let (node, link) = if one == (from, link) { other } else { one };
        let down = self.down.contains(&at) || self.dead.contains(&node) || self.dead.contains(&from);
        (!down).then_some((node, link))
    }

    fn resolve(&mut self, from: usize, link: usize, mut packet: Vec<u8>) {
        if let Some((node, link)) = self.other_end(from, link) {
            arp::set_station(&mut packet, [node as u8; 6]);
            self.nodes[node].receive_arp(link, &packet, self.now);
        }
    }

    fn relay(&mut self, from: usize, link: usize, pdu: &[u8], hops: usize) {
        self.pdus += 1;
        if self.overheard.len() < 1000 {
            self.overheard.push(pdu.to_vec());
        }
        let Some((node, link)) = self.other_end(from, link).filter(|_| hops <= 16) else { return };
        let (header, _) = self.nodes[node].settings().syntax.parse(pdu).unwrap();
        let forwarding = self.nodes[node].forwarding();
        if header.dst == 0 || header.dst == forwarding.address {
            return self.nodes[node].receive(link, [node as u8; 6], pdu, self.now);
        }
        if forwarding.neighbours.contains_key(&link)
            && let Some(next) = forwarding.destinations.get(&header.dst).and_then(|links| links.first().copied())
        {
            self.relay(node, next, pdu, hops + 1);
        }
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        self.nodes[from].forwarding().destinations.contains_key(&self.nodes[to].address())
    }

    fn is_connected(&self) -> bool {
        let alive = || (0..self.nodes.len()).filter(|node| !self.dead.contains(node));
        alive().all(|from| alive().all(|to| from == to || self.reaches(from, to)))
    }

    /// Allocates a flow between applications at two nodes.
    fn flow(&mut self, from: usize, to: usize, cube: &str) -> (FlowId, FlowId) {
        self.nodes[to].register(name("server"), self.now).unwrap();
        self.run(Duration::from_millis(500));
        let id = self.nodes[from].request_flow(name("client"), name("server"), cube, self.now).unwrap();
        let mut other = None;
        for _ in 0..200 {
            self.run(STEP);
            if let Some((id, FlowEvent::Requested { .. })) = self.nodes[to].next_event() {
                self.nodes[to].answer(id, true, self.now);
                other = Some(id);
            }
            if let Some((allocated, FlowEvent::Allocated)) = self.nodes[from].next_event() {
                assert_eq!(allocated, id);
                return (id, other.unwrap());
            }
        }
        panic!("no flow");
    }
}

#[test]
fn a_leaf_spine_configures_itself() {
    let mut network = Network::leaf_spine(4);
    network.run(Duration::from_secs(5));
    assert!(network.is_connected());
    let addresses: BTreeSet<u16> = network.nodes.iter().map(Ipcp::address).collect();
    assert_eq!(addresses.len(), network.nodes.len(), "each has its own address");
    // Two spines, two paths.
    let to = network.nodes[9].address();
    assert_eq!(network.nodes[2].forwarding().destinations[&to].len(), 2);
    // When all is known, only keep-alives are left: two and their answers a link and interval.
    let before = network.pdus;
    network.run(Duration::from_secs(2));
    assert!(network.pdus - before <= 12 * 4 * 11, "{} PDUs", network.pdus - before);
}

#[test]
fn a_spine_dies_and_returns() {
    let mut network = Network::leaf_spine(4);
    network.run(Duration::from_secs(5));
    // The first, which had the only configured address.
    network.dead.insert(0);
    network.run(Duration::from_millis(700));
    let to = network.nodes[9].address();
    assert_eq!(network.nodes[2].forwarding().destinations[&to].len(), 1);
    assert!(network.is_connected());
    network.nodes[0] = Ipcp::new(settings("spine1", Some(1), 1, 4), 1_000_000);
    network.dead.clear();
    network.run(Duration::from_secs(3));
    assert!(network.is_connected());
    assert_eq!(network.nodes[2].forwarding().destinations[&to].len(), 2);
}

#[test]
fn flows_carry_data_and_survive_a_spine() {
    let mut network = Network::leaf_spine(2);
    network.run(Duration::from_secs(4));
    let (id, other) = network.flow(4, 5, "reliable");
    let (mut sent, mut received) = (0u32, 0u32);
    for step in 0..1000 {
        if step == 200 {
            network.dead.insert(0);
        }
        while sent < 20_000 && network.nodes[4].has_room(id) {
            network.nodes[4].write(id, &sent.to_be_bytes());
            sent += 1;
        }
        network.run(STEP);
        while let Some(sdu) = network.nodes[5].read(other) {
            assert_eq!(sdu, received.to_be_bytes());
            received += 1;
        }
    }
    assert_eq!(received, 20_000);
    network.nodes[4].end_flow(id, network.now);
    network.run(Duration::from_secs(1));
    assert_eq!(network.nodes[5].next_event(), Some((other, FlowEvent::Ended(End::Closed))));
    assert_eq!(network.nodes[5].flows().iter().count() + network.nodes[4].flows().iter().count(), 0);
}

#[test]
fn flows_are_refused_with_a_reason() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    let ask = |network: &mut Network, cube| {
        let now = network.now;
        network.nodes[1].request_flow(name("client"), name("server"), cube, now)
    };
    assert!(ask(&mut network, "reliable").unwrap_err().to_string().contains("not enrolled"));
    network.run(Duration::from_secs(2));
    assert!(ask(&mut network, "reliable").unwrap_err().to_string().contains("no application server"));
    assert!(ask(&mut network, "golden").unwrap_err().to_string().contains("it has unreliable, reliable"));
    network.nodes[0].register(name("server"), network.now).unwrap();
    network.run(Duration::from_secs(1));
    let id = ask(&mut network, "reliable").unwrap();
    network.run(Duration::from_millis(100));
    let Some((asked, FlowEvent::Requested { to, from })) = network.nodes[0].next_event() else { panic!("no request") };
    assert_eq!((to, from), (name("server"), name("client")));
    network.nodes[0].answer(asked, false, network.now);
    network.run(Duration::from_millis(100));
    assert_eq!(network.nodes[1].next_event(), Some((id, FlowEvent::Ended(End::Refused))));
    // An application that does not answer.
    let id = ask(&mut network, "reliable").unwrap();
    network.run(Duration::from_secs(8));
    assert_eq!(network.nodes[1].next_event(), Some((id, FlowEvent::Ended(End::Refused))));
}

#[test]
fn applications_of_one_system_have_flows() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    network.nodes[1].register(name("server"), network.now).unwrap();
    network.run(Duration::from_secs(1));
    for cube in ["reliable", "unreliable"] {
        let before = network.pdus;
        let (id, other) = network.flow(0, 0, cube);
        let long = vec![7; LONGEST_SDU];
        for (node, from, to) in [(0, id, other), (0, other, id)] {
            let sdus: Vec<Vec<u8>> = (0..100).map(|number| vec![number; usize::from(number)]).collect();
            for sdu in sdus.iter().chain([&long, &vec![]]) {
                network.nodes[node].write(from, sdu);
            }
            network.nodes[node].transfer(network.now);
            let come: Vec<Vec<u8>> = std::iter::from_fn(|| network.nodes[node].read(to)).collect();
            assert!(come.iter().eq(sdus.iter().chain([&long, &vec![]])), "{cube}: {} SDUs", come.len());
        }
        network.nodes[0].close_flow(id, network.now);
        network.nodes[0].transfer(network.now);
        let mut ends: Vec<_> = std::iter::from_fn(|| network.nodes[0].next_event()).collect();
        ends.sort_by_key(|(flow, _)| *flow != id);
        assert_eq!(ends, [id, other].map(|flow| (flow, FlowEvent::Ended(End::Closed))));
        assert_eq!(open_flows(&network, 0), 0);
        assert!(network.pdus - before < 60, "nothing of it leaves: {} PDUs", network.pdus - before);
    }
    // Of two applications with the name the nearer one is asked; and one that refuses says so.
    let id = network.nodes[0].request_flow(name("client"), name("server"), "reliable", network.now).unwrap();
    let Some((other, FlowEvent::Requested { .. })) = network.nodes[0].next_event() else { panic!("no request") };
    network.nodes[0].answer(other, false, network.now);
    assert_eq!(network.nodes[0].next_event(), Some((id, FlowEvent::Ended(End::Refused))));
}

#[test]
fn a_system_that_stops_says_so() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    let (_, other) = network.flow(1, 0, "reliable");
    network.nodes[1].stop(network.now);
    network.run(STEP);
    assert_eq!(network.nodes[0].next_event(), Some((other, FlowEvent::Ended(End::GaveUp))));
    assert_eq!((open_flows(&network, 0), open_flows(&network, 1)), (0, 0));
}

#[test]
fn a_cut_link_is_noticed() {
    let mut network = Network::new(&[("a", 1), ("b", 0), ("c", 0)], &[(0, 1), (1, 2), (2, 0)]);
    network.run(Duration::from_secs(3));
    assert!(network.is_connected());
    network.down.insert(0);
    network.run(Duration::from_secs(1));
    assert!(network.is_connected(), "by the other way");
    network.down.insert(1);
    network.run(Duration::from_secs(1));
    assert!(!network.reaches(0, 1));
}

#[test]
fn parts_with_equal_addresses_come_together() {
    // Two members whose names lead to the same address enrol in parts that do not know each other.
    let mut network = Network::new(&[("m1", 1), ("m2", 2), ("a", 0), ("b", 0)], &[(0, 2), (1, 3), (0, 1)]);
    network.down.insert(2);
    network.run(Duration::from_secs(3));
    let taken = network.nodes[2].address();
    network.nodes[3].set_address(taken, network.now);
    network.run(Duration::from_secs(1));
    network.down.clear();
    network.run(Duration::from_secs(4));
    assert_eq!(network.nodes[2].address(), taken);
    assert_ne!(network.nodes[3].address(), taken);
    assert!(network.is_connected());
}

/// Without the credential nothing but answers to M_CONNECT can be had, and nothing grows.
#[test]
fn an_outsider_gets_nowhere() {
    let mut network = Network::new(&[("a", 1), ("b", 0), ("evil", 0)], &[(0, 1), (0, 2)]);
    network.nodes[2] = Ipcp::new(settings("evil", Some(66), 9, 1), 1);
    network.run(Duration::from_secs(5));
    assert!(network.reaches(1, 0) && !network.reaches(0, 2) && !network.reaches(2, 0));
    assert!(network.nodes[0].link_counts(1).refused > 0);
    let objects = network.nodes[0].rib().iter().count();
    // It sends what members send.
    let mut inside = settings("evil", Some(66), 1, 1);
    inside.links = vec![1];
    let flow = crate::cdap::FlowRequest { src_ipcp: "b".into(), dst_ipcp: "a".into(), ..Default::default() };
    for number in 0..1000u32 {
        for (dst, class, op_code) in [(0, object::NEIGHBOURS, op::WRITE), (1, object::FLOW, op::CREATE)] {
            let message = Message::about(op_code, class, format!("/{number}")).with_value(&flow);
            let header = Header { dst, src: 66, kind: kind::MANAGEMENT, ..Header::default() };
            let mut pdu = Vec::new();
            Syntax::Checksum.write(&header, &message.encode_to_vec(), &mut pdu);
            let now = network.now;
            network.nodes[0].receive(1, [9; 6], &pdu, now);
        }
        let connect = Message {
            auth_mech: Some(crate::cdap::AUTH_X25519),
            auth_value: Some(crate::cdap::AuthValue { other: Some(vec![number as u8; 48]) }),
            dest_ap_name: Some("net".into()),
            src_ap_name: Some(format!("evil{number}")),
            ..Message::about(op::CONNECT, object::ENROLLMENT, object::ENROLLMENT_NAME)
        }
        .with_value(&crate::cdap::EnrollmentInfo { address: Some(66), ..Default::default() });
        let mut pdu = Vec::new();
        Syntax::Checksum.write(
            &Header { kind: kind::MANAGEMENT, ..Header::default() },
            &connect.encode_to_vec(),
            &mut pdu,
        );
        let now = network.now;
        network.nodes[0].receive(1, [9; 6], &pdu, now);
    }
    assert!(network.nodes[0].take_transmits().len() <= 10, "answers to M_CONNECT are limited");
    assert_eq!(network.nodes[0].rib().iter().count(), objects);
    assert_eq!(network.nodes[0].flows().iter().count(), 0);
    assert_eq!(network.nodes[0].next_event(), None);
    network.run(Duration::from_secs(1));
    assert!(network.reaches(1, 0));
}

/// Somebody on a link between members, without the credential, forges management of members and sends again what it saw.
#[test]
fn management_between_members_is_authenticated() {
    let mut network = Network::new(&[("a", 1), ("b", 0), ("c", 0)], &[(0, 1), (1, 2)]);
    network.run(Duration::from_secs(3));
    let (id, other) = network.flow(0, 2, "reliable");
    let flows = |network: &Network| network.nodes[2].flows().iter().count();
    let request = |op_code, src_cep: FlowId| {
        let app = |text: &str| crate::cdap::ApName { ap_name: text.into() };
        let (src_cep, dst_cep) = (Some(src_cep.into()), Some(other.into()));
        let value = crate::cdap::FlowRequest {
            src_app: app("client"),
            dst_app: app("server"),
            src_ipcp: "a".into(),
            dst_ipcp: "c".into(),
            connections: vec![crate::cdap::ConnId {
                qosid: Some(2),
                src_cep,
                dst_cep: dst_cep.filter(|_| op_code != op::CREATE),
            }],
            ..Default::default()
        };
        let message = Message::about(op_code, object::FLOW, "/mgmt/flowalloc/flows/a/1").with_value(&value);
        Message { src_ap_name: Some("a".into()), ..message }
    };
    let receive = |network: &mut Network, sdu: &[u8]| {
        let (dst, src) = (network.nodes[2].address(), network.nodes[0].address());
        let mut pdu = Vec::new();
        Syntax::Checksum.write(&Header { dst, src, kind: kind::MANAGEMENT, ..Header::default() }, sdu, &mut pdu);
        let now = network.now;
        network.nodes[2].receive(0, [1; 6], &pdu, now);
    };
    // Without protection, and with that of another credential.
    let (dif, a, c) = (name("net"), name("a"), name("c"));
    let incarnation = |network: &Network, member| network.nodes[1].rib().incarnation(member).unwrap();
    let lives = (incarnation(&network, &a), incarnation(&network, &c));
    let wrong = Credential::new(&[9; 16]).unwrap();
    let mut protection = credential::Protection::between_members(&wrong, &dif, (&a, &lives.0), (&c, &lives.1));
    for op_code in [op::CREATE, op::CREATE_R, op::DELETE] {
        let message = request(op_code, id).encode_to_vec();
        receive(&mut network, &message);
        receive(&mut network, &protection.protect(&message));
    }
    assert_eq!((flows(&network), network.nodes[2].counts().unauthenticated), (1, 6));
    // A request that it saw: it makes no second flow, and none after the server has restarted.
    let seen = network.nodes[0].protect_for(&c, request(op::CREATE, id.wrapping_add(1))).unwrap();
    receive(&mut network, &seen);
    assert_eq!(flows(&network), 2, "the request itself");
    let second = network.nodes[2].flows().iter().map(|(id, _)| id).find(|id| *id != other).unwrap();
    let now = network.now;
    network.nodes[2].answer(second, false, now);
    receive(&mut network, &seen);
    assert_eq!(flows(&network), 1);
    network.nodes[2] = Ipcp::new(settings("c", None, 1, 1), 1_000_000);
    network.run(Duration::from_secs(3));
    assert!(network.reaches(0, 2));
    let now = network.now;
    network.nodes[2].register(name("server"), now).unwrap();
    receive(&mut network, &seen);
    assert_eq!(flows(&network), 0);
    network.flow(0, 2, "reliable");
}

/// Restarts a node: its flows are gone, and its links begin anew.
fn restart(network: &mut Network, node: usize, own: &str, address: Option<u16>) {
    let links = network.nodes[node].settings().links.len();
    let epoch = 1_000_000 + network.now.as_secs() as u32;
    network.nodes[node] = Ipcp::new(settings(own, address, 1, links), epoch);
}

fn open_flows(network: &Network, node: usize) -> usize {
    network.nodes[node].flows().iter().count()
}

#[test]
fn a_flow_ends_when_the_other_end_restarts() {
    let mut network = Network::new(&[("a", 1), ("b", 0), ("c", 0)], &[(0, 1), (0, 2)]);
    network.run(Duration::from_secs(2));
    let (_, at_server) = network.flow(1, 2, "reliable");
    // Killed and started again, sooner than anybody notices.
    restart(&mut network, 1, "b", None);
    network.run(Duration::from_secs(2));
    assert!(network.reaches(2, 1));
    assert_eq!(network.nodes[2].next_event(), Some((at_server, FlowEvent::Ended(End::Restarted))));
    assert_eq!(open_flows(&network, 2), 0);
    // The server restarts.
    let (at_client, _) = network.flow(1, 2, "reliable");
    restart(&mut network, 2, "c", None);
    network.run(Duration::from_secs(2));
    assert_eq!(network.nodes[1].next_event(), Some((at_client, FlowEvent::Ended(End::Restarted))));
}

#[test]
fn flows_survive_another_credential() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    let (id, other) = network.flow(1, 0, "reliable");
    for (node, own, address) in [(0, "a", Some(1)), (1, "b", None)] {
        let now = network.now;
        network.nodes[node].reconfigure(settings(own, address, 7, 1), now);
    }
    network.run(Duration::from_secs(3));
    network.nodes[1].write(id, b"hello");
    network.run(Duration::from_millis(100));
    assert_eq!(network.nodes[0].read(other), Some(b"hello".to_vec()));
}

#[test]
fn a_flow_without_its_other_end_ends_by_itself() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    for cube in ["reliable", "unreliable"] {
        let (id, other) = network.flow(1, 0, cube);
        network.run(Duration::from_secs(60));
        assert_eq!((open_flows(&network, 0), open_flows(&network, 1)), (1, 1), "silence alone ends nothing");
        // The other end loses its state without a word.
        let now = network.now;
        network.nodes[0].flows.finish_silently(other, now);
        network.run(Duration::from_secs(5));
        assert_eq!(network.nodes[1].next_event(), Some((id, FlowEvent::Ended(End::Unknown))));
    }
}

#[test]
fn a_slow_reader_gets_everything_after_the_sender_has_closed() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    let (id, other) = network.flow(1, 0, "reliable");
    let (mut sent, mut received) = (0u32, 0u32);
    while sent < 700 {
        while sent < 700 && network.nodes[1].has_room(id) {
            network.nodes[1].write(id, &sent.to_be_bytes());
            sent += 1;
        }
        network.run(STEP);
        // Takes nothing but what makes room for the last ones.
        while sent < 700 && received < 200 && network.nodes[0].read(other).is_some() {
            received += 1;
        }
    }
    let now = network.now;
    network.nodes[1].close_flow(id, now);
    network.run(Duration::from_secs(60));
    assert_eq!((network.nodes[1].next_event(), network.nodes[0].next_event()), (None, None), "it waits");
    while received < 700 {
        let sdu = network.nodes[0].read(other);
        if let Some(sdu) = sdu {
            assert_eq!(sdu, received.to_be_bytes());
            received += 1;
        } else {
            network.run(STEP);
        }
    }
    network.run(Duration::from_secs(1));
    assert_eq!(network.nodes[1].next_event(), Some((id, FlowEvent::Ended(End::Closed))));
    assert_eq!(network.nodes[0].next_event(), Some((other, FlowEvent::Ended(End::Closed))));
}

/// An application that reads nothing more, but has sent something that is not taken yet: what comes for it takes no room, and keeps no flow.
#[test]
fn nobody_waits_for_an_application_that_is_gone() {
    const COUNT: u32 = 2000;
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    let (id, other) = network.flow(1, 0, "reliable");
    network.nodes[0].abandon(other);
    let (mut sent, patience) = (0, network.now + Duration::from_secs(60));
    while sent < COUNT {
        assert!(network.now < patience, "only {sent} SDUs find room");
        while sent < COUNT && network.nodes[1].has_room(id) {
            network.nodes[1].write(id, &sent.to_be_bytes());
            sent += 1;
        }
        network.run(STEP);
    }
    network.nodes[0].write(other, b"last");
    network.run(Duration::from_secs(1));
    assert_eq!(network.nodes[1].read(id), Some(b"last".to_vec()));
    let now = network.now;
    network.nodes[1].close_flow(id, now);
    network.run(Duration::from_secs(1));
    let ended = network.nodes[1].next_event();
    assert!(matches!(ended, Some((_, FlowEvent::Ended(End::Undelivered(_))))), "{ended:?}");
    assert!(matches!(network.nodes[0].next_event(), Some((_, FlowEvent::Ended(_)))));
    // The other end is gone before.
    let (id, other) = network.flow(1, 0, "reliable");
    network.nodes[1].write(id, b"unread");
    network.run(Duration::from_secs(1));
    let now = network.now;
    network.nodes[1].close_flow(id, now);
    network.run(Duration::from_secs(1));
    assert_eq!(network.nodes[0].next_event(), None, "it waits for the reader");
    network.nodes[0].abandon(other);
    network.run(Duration::from_secs(1));
    assert!(matches!(network.nodes[0].next_event(), Some((ended, FlowEvent::Ended(_))) if ended == other));
}

#[test]
fn a_link_that_is_down_after_the_end_costs_nothing_or_is_told() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    for (down, end) in [(7, End::Closed), (40, End::Unreachable)] {
        let (id, other) = network.flow(1, 0, "reliable");
        network.down.insert(0);
        for number in 0..100u32 {
            network.nodes[1].write(id, &number.to_be_bytes());
        }
        let now = network.now;
        network.nodes[1].close_flow(id, now);
        network.run(Duration::from_secs(down));
        network.down.clear();
        network.run(Duration::from_secs(3));
        let come = std::iter::from_fn(|| network.nodes[0].read(other)).count();
        assert_eq!(come, if end == End::Closed { 100 } else { 0 });
        network.run(Duration::from_secs(1));
        assert_eq!(network.nodes[1].next_event(), Some((id, FlowEvent::Ended(end))));
        let event = network.nodes[0].next_event();
        assert_eq!(event, Some((other, FlowEvent::Ended(end))));
        network.nodes[0].unregister(&name("server"), network.now);
    }
}

#[test]
fn an_allocation_needs_no_tick() {
    let mut network = Network::leaf_spine(2);
    network.run(Duration::from_secs(4));
    let now = network.now;
    network.nodes[5].register(name("server"), now).unwrap();
    assert_eq!(network.nodes[5].due(), Some(Duration::ZERO), "neighbours are told at once");
    network.run(Duration::from_secs(1));
    let now = network.now;
    let id = network.nodes[4].request_flow(name("client"), name("server"), "reliable", now).unwrap();
    network.deliver();
    let Some((other, FlowEvent::Requested { .. })) = network.nodes[5].next_event() else { panic!("no request") };
    network.nodes[5].answer(other, true, now);
    network.deliver();
    assert_eq!(network.nodes[4].next_event(), Some((id, FlowEvent::Allocated)));
    network.nodes[4].close_flow(id, now);
    network.deliver();
    assert_eq!(network.nodes[4].next_event(), Some((id, FlowEvent::Ended(End::Closed))));
    assert_eq!(network.nodes[5].next_event(), Some((other, FlowEvent::Ended(End::Closed))));
}

#[test]
fn limits_are_answered() {
    let mut network = Network::new(&[("a", 1), ("b", 0)], &[(0, 1)]);
    network.run(Duration::from_secs(2));
    let now = network.now;
    let mut count = 0;
    let error = loop {
        match network.nodes[0].register(name(&format!("app{count}")), now) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert!(count == MOST_NAMES && error.to_string().contains("no room"), "{count}: {error}");
    network.run(Duration::from_secs(3));
    let ask = |network: &mut Network| {
        let now = network.now;
        network.nodes[1].request_flow(name("client"), name("app7"), "reliable", now)
    };
    let mut refused = 0;
    for _ in 0..100 {
        ask(&mut network).unwrap();
        network.run(STEP);
        while let Some((_, event)) = network.nodes[1].next_event() {
            assert_eq!(event, FlowEvent::Ended(End::Full));
            refused += 1;
        }
    }
    network.run(STEP);
    refused += std::iter::from_fn(|| network.nodes[1].next_event()).count();
    assert_eq!(refused, 100 - 64, "requests that no application has answered are limited");
}

/// A configuration that was copied: two systems have the same name.
#[test]
fn a_name_is_used_once() {
    for address in [0, 9] {
        let mut network =
            Network::new(&[("a", 1), ("b", 0), ("twin", 0), ("twin", address)], &[(0, 1), (0, 2), (1, 3)]);
        network.down.insert(2);
        network.run(Duration::from_secs(3));
        assert!(network.reaches(0, 2));
        network.down.clear();
        network.run(Duration::from_secs(3));
        assert!(network.reaches(1, 2) && network.nodes[1].neighbour(1).is_none(), "the second one is refused");
        let before = network.pdus;
        network.run(Duration::from_secs(10));
        let each = (network.pdus - before) / 10;
        assert!(each < 60, "{each} PDUs a second");
        // The first one goes: the second one may come.
        network.dead.insert(2);
        network.run(Duration::from_secs(4));
        assert!(network.reaches(0, 3));
    }
}

#[test]
fn parts_with_equal_names_come_together() {
    let mut network = Network::new(&[("m1", 1), ("m2", 2), ("twin", 0), ("twin", 0)], &[(0, 2), (1, 3), (0, 1)]);
    network.down.insert(2);
    network.run(Duration::from_secs(3));
    assert!(network.reaches(0, 2) && network.reaches(1, 3));
    network.down.clear();
    network.run(Duration::from_secs(6));
    let left: u64 = [2, 3].map(|node| network.nodes[node].counts().name_conflicts).iter().sum();
    assert_eq!(left, 1, "one of them leaves, once");
    let before = network.pdus;
    network.run(Duration::from_secs(10));
    let each = (network.pdus - before) / 10;
    assert!(each < 60, "{each} PDUs a second");
}
