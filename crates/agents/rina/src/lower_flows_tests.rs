//! Systems in memory whose DIFs lie over each other; links over Ethernet are queues.

use super::*;
use crate::fixture;
use crate::frames::Protection;
use crate::ipcp::{CARRIED_MTU, LINK_MTU, Settings};
use crate::pdu::Syntax;

const STEP: Duration = Duration::from_millis(1);

/// An IPC process of a system: its DIF, and its links: to a device (the name of the system there) or by a DIF below to a member.
struct Member {
    dif: &'static str,
    name: String,
    links: Vec<(Option<&'static str>, String)>,
}

#[derive(Clone, Copy)]
struct Kind {
    syntax: Syntax,
    encryption: bool,
}

struct System {
    name: &'static str,
    ipcps: Vec<Ipcp>,
    links: Vec<RouterLink>,
    /// The system at the other end of each port.
    ports: Vec<String>,
    lower_flows: LowerFlows,
    inbox: Vec<(String, Vec<u8>)>,
    events: Vec<(usize, FlowId, FlowEvent)>,
}

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

impl System {
    fn new(name_of: &'static str, members: &[Member], kind: impl Fn(&str) -> Kind, program: &[&str]) -> System {
        let (mut ipcps, mut links, mut ports) = (Vec::<Ipcp>::new(), Vec::new(), Vec::new());
        for (at, member) in members.iter().enumerate() {
            let Kind { syntax, encryption } = kind(member.dif);
            let mut mtu = LINK_MTU;
            for (link, (below, to)) in member.links.iter().enumerate() {
                let (port, link_kind) = match below {
                    None => {
                        ports.push(to.clone());
                        (ports.len() as u32 - 1, LinkKind::Ethernet)
                    }
                    Some(below) => {
                        let lower = members.iter().position(|other| other.dif == *below).unwrap();
                        let by_program = program.contains(&member.dif);
                        mtu = mtu.min(match by_program {
                            true => CARRIED_MTU,
                            false => ipcps[lower].settings().part().unwrap() - 1,
                        });
                        let (to, qos) = (name(to), "unreliable".into());
                        (u32::MAX, LinkKind::Flow { lower, to, qos, by_program })
                    }
                };
                let protection = Protection::default();
                let (vlan, mac) = (0, [2; 6]);
                links.push(RouterLink { ipcp: at, link, kind: link_kind, port, vlan, mac, protection, mtu: 1500 });
            }
            let settings = Settings {
                dif: name(member.dif),
                // Each DIF has a credential of its own.
                dialect: fixture::dialect(member.dif.as_bytes()[0]),
                syntax,
                encryption,
                mtu,
                qos: fixture::cubes(256),
                ..fixture::settings(&member.name, (name_of == "x").then_some(1), member.links.len())
            };
            ipcps.push(Ipcp::new(settings, 1_000_000));
        }
        let lower_flows = LowerFlows::new(&links, &mut ipcps);
        System { name: name_of, ipcps, links, ports, lower_flows, inbox: Vec::new(), events: Vec::new() }
    }

    /// What the agent does in a round. Returns the PDUs that leave by Ethernet, each with the system that it goes to.
    fn step(&mut self, now: Duration) -> Vec<(String, Vec<u8>)> {
        for (from, pdu) in std::mem::take(&mut self.inbox) {
            let port = self.ports.iter().position(|port| *port == from).unwrap() as u32;
            let link = self.links.iter().find(|link| link.port == port).unwrap();
            self.ipcps[link.ipcp].receive(link.link, [3; 6], &pdu, now);
        }
        self.lower_flows.deliver(&self.links, &mut self.ipcps, now);
        self.lower_flows.tick(&self.links, &mut self.ipcps, now);
        self.ipcps.iter_mut().for_each(|ipcp| ipcp.tick(now));
        for at in 0..self.ipcps.len() {
            while let Some((flow, event)) = self.ipcps[at].next_event() {
                if !self.lower_flows.event(at, flow, &event, &self.links, &mut self.ipcps, now) {
                    self.events.push((at, flow, event));
                }
            }
        }
        let mut sent = Vec::new();
        for at in (0..self.ipcps.len()).rev() {
            self.ipcps[at].transfer(now);
            for transmit in self.ipcps[at].take_transmits() {
                let link = self.links.iter().position(|l| (l.ipcp, l.link) == (at, transmit.link)).unwrap();
                match self.links[link].kind {
                    LinkKind::Flow { lower, .. } => {
                        self.lower_flows.send(link, lower, &transmit, &mut self.ipcps);
                    }
                    _ => {
                        let length = transmit.pdu.len();
                        assert!(length <= LINK_MTU, "a PDU of {length} bytes");
                        sent.push((self.ports[self.links[link].port as usize].clone(), transmit.pdu));
                    }
                }
            }
        }
        sent
    }
}

struct Network {
    systems: Vec<System>,
    now: Duration,
    /// Bytes on Ethernet that were looked for.
    sought: Vec<u8>,
    seen: bool,
}

impl Network {
    /// Three systems in a row. DIF a is over Ethernet, b over a, c over b, d over c; Y relays in all of them. `program`: the DIFs at Y, which
    /// alone has a program, whose links are flows that it can carry.
    fn row(kind: impl Fn(&str) -> Kind + Copy) -> Network {
        let members = |own: &'static str, others: &[&str]| -> Vec<Member> {
            let links = |below: Option<&'static str>, dif: &str| {
                let to =
                    |other: &&str| (below, if below.is_some() { format!("{dif}{other}") } else { other.to_string() });
                others.iter().map(to).collect()
            };
            let member = |(dif, below): (&'static str, Option<&'static str>)| Member {
                dif,
                name: format!("{dif}{own}"),
                links: links(below, dif),
            };
            [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("c"))].into_iter().map(member).collect()
        };
        let system = |own, others: &[&str], program: &[&str]| System::new(own, &members(own, others), kind, program);
        let systems = vec![system("x", &["y"], &[]), system("y", &["x", "z"], &["b"]), system("z", &["y"], &["b"])];
        Network { systems, now: Duration::ZERO, sought: Vec::new(), seen: false }
    }

    fn run(&mut self, time: Duration, mut until: impl FnMut(&mut Network) -> bool) -> bool {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            let mut sent = Vec::new();
            for system in &mut self.systems {
                sent.extend(system.step(self.now).into_iter().map(|(to, pdu)| (system.name, to, pdu)));
            }
            for (from, to, pdu) in sent {
                self.seen |= !self.sought.is_empty() && pdu.windows(self.sought.len()).any(|it| it == self.sought);
                let system = self.systems.iter_mut().find(|system| system.name == to).unwrap();
                system.inbox.push((from.into(), pdu));
            }
            if until(self) {
                return true;
            }
        }
        false
    }

    fn reaches(&self, from: usize, to: usize, dif: usize) -> bool {
        let address = self.systems[to].ipcps[dif].address();
        address != 0 && self.systems[from].ipcps[dif].forwarding().destinations.contains_key(&address)
    }
}

const PLAIN: Kind = Kind { syntax: Syntax::Checksum, encryption: false };

fn carry_a_flow(kind: impl Fn(&str) -> Kind + Copy) -> Network {
    const TOP: usize = 3;
    let mut network = Network::row(kind);
    let whole = |network: &mut Network| (0..=TOP).all(|dif| network.reaches(0, 2, dif) && network.reaches(2, 0, dif));
    let together = network.run(Duration::from_secs(60), whole);
    let up = |ipcp: &Ipcp| (ipcp.address(), (0..2).map(|link| ipcp.neighbour(link).cloned()).collect::<Vec<_>>());
    let state = |system: &System| system.ipcps.iter().map(up).collect::<Vec<_>>();
    let states: Vec<_> = network.systems.iter().map(state).collect();
    assert!(together, "the DIFs do not come together: {states:?}");
    network.systems[2].ipcps[TOP].register(name("server"), network.now).unwrap();
    let mut flow = None;
    let opened = network.run(Duration::from_secs(10), |network| {
        let now = network.now;
        if flow.is_none() {
            let asked = network.systems[0].ipcps[TOP].request_flow(name("client"), name("server"), "reliable", now);
            flow = asked.ok();
        }
        for (dif, id, event) in std::mem::take(&mut network.systems[2].events) {
            assert!(dif == TOP && matches!(event, FlowEvent::Requested { .. }), "{event:?}");
            network.systems[2].ipcps[TOP].answer(id, true, now);
        }
        network.systems[0].events.iter().any(|(_, _, event)| *event == FlowEvent::Allocated)
    });
    assert!(opened, "no flow over four DIFs");
    let (here, mut there) = (flow.unwrap(), None);
    network.sought = vec![0x5a; 64];
    let sdus: Vec<Vec<u8>> = [1, 1400, 1401, 65_536].iter().map(|length| vec![0x5a; *length]).collect();
    let mut received = Vec::new();
    sdus.iter().for_each(|sdu| network.systems[0].ipcps[TOP].write(here, sdu));
    let arrived = network.run(Duration::from_secs(60), |network| {
        let at_z = &mut network.systems[2].ipcps[TOP];
        there = there.or_else(|| at_z.flows().iter().next().map(|(id, _)| id));
        received.extend(there.and_then(|id| at_z.read(id)));
        received.len() == sdus.len()
    });
    assert!(arrived && received == sdus, "{} SDUs came", received.len());
    network
}

/// Each level relays at the system in the middle: the lower two as the program would, the others by hops that are counted.
#[test]
fn four_levels_of_difs_carry_a_flow() {
    let network = carry_a_flow(|_| PLAIN);
    assert!(network.seen, "nobody encrypts");
    let mtus: Vec<usize> = network.systems[1].ipcps.iter().map(|ipcp| ipcp.settings().mtu).collect();
    assert_eq!(mtus, [LINK_MTU, CARRIED_MTU, 1399, 1378]);
    // X has no program, so that Y does not have its own one carry the flow to it.
    let carriers: Vec<Carrier> = network.systems[1].lower_flows.states.values().map(|state| state.carrier).collect();
    assert_eq!(carriers[..2], [Carrier::Agent, Carrier::Program]);
    assert!(carriers[2..].iter().all(|carrier| *carrier == Carrier::Agent));
}

#[test]
fn a_dif_in_between_encrypts_and_has_another_syntax() {
    let network = carry_a_flow(|dif| match dif {
        "b" => Kind { syntax: Syntax::Checksum, encryption: true },
        "c" => Kind { syntax: Syntax::Irati, encryption: false },
        _ => PLAIN,
    });
    assert!(!network.seen, "b hides what c and d say");
}

#[test]
fn a_pdu_does_not_go_in_circles_for_ever() {
    let mut network = carry_a_flow(|_| PLAIN);
    let (now, address) = (network.now, network.systems[2].ipcps[2].address());
    let relay = &mut network.systems[1].ipcps[2];
    let header = crate::pdu::Header { dst: address, src: 1, kind: crate::pdu::kind::DATA, ..Default::default() };
    let mut pdu = Vec::new();
    Syntax::Checksum.write(&header, b"data", &mut pdu);
    let mut relayed = |hops: u8| {
        relay.receive_with(0, STATION, &pdu, hops, now);
        let sent: Vec<u8> = relay.take_transmits().iter().map(|transmit| transmit.hops).collect();
        (sent, relay.counts().looped)
    };
    assert_eq!(relayed(64), (vec![63], 0));
    assert_eq!(relayed(5), (vec![4], 0));
    assert_eq!(relayed(4), (vec![], 1));
    assert_eq!(relayed(0), (vec![], 2));
}

/// Flows outside programs have a byte for the number, which the header's units do not round.
#[test]
fn sixty_members_relay_a_pdu() {
    let mut network = carry_a_flow(|_| PLAIN);
    let (now, address) = (network.now, network.systems[2].ipcps[2].address());
    let relay = &mut network.systems[1].ipcps[2];
    let header = crate::pdu::Header { dst: address, src: 1, kind: crate::pdu::kind::DATA, ..Default::default() };
    let (mut pdu, mut hops, mut rounds) = (Vec::new(), TTL, 0);
    Syntax::Checksum.write(&header, b"data", &mut pdu);
    loop {
        relay.receive_with(0, STATION, &pdu, hops, now);
        let Some(transmit) = relay.take_transmits().pop() else { break };
        rounds += 1;
        assert!(rounds < 100, "it goes in circles");
        (pdu, hops) = (transmit.pdu, transmit.hops);
    }
    assert_eq!((rounds, relay.counts().looped), (60, 1));
}

/// Over links without a place for the number, such as Ethernet, it is in the header. Here each member sends the PDU to the next one of a circle.
#[test]
fn hops_count_on_where_a_pdu_passes_ethernet() {
    for syntax in [Syntax::Checksum, Syntax::Irati] {
        let mut network = carry_a_flow(|dif| if dif == "c" { Kind { syntax, ..PLAIN } } else { PLAIN });
        let (now, address) = (network.now, network.systems[2].ipcps[2].address());
        let relay = &mut network.systems[1].ipcps[2];
        let kind = crate::pdu::kind::DATA;
        let header = crate::pdu::Header { dst: address, src: 1, kind, flags: 3, sequence: 7, ..Default::default() };
        let mut pdu = Vec::new();
        syntax.write(&header, b"data", &mut pdu);
        let mut rounds = 0;
        loop {
            relay.receive(0, STATION, &pdu, now);
            let Some(transmit) = relay.take_transmits().pop() else { break };
            rounds += 1;
            assert!(rounds < 100, "it goes in circles");
            pdu = transmit.pdu;
            let (now, payload) = syntax.parse(&pdu).unwrap();
            assert_eq!((crate::pdu::Header { passed: 0, ..now }, payload), (header, &b"data"[..]));
        }
        assert_eq!((rounds, relay.counts().looped), (15, 1));
    }
}

/// Layer management of the DIF above waits in a queue of limited length. What finds it full is flooded again.
#[test]
fn layer_management_waits_in_a_queue_of_limited_length() {
    let mut network = carry_a_flow(|_| PLAIN);
    let System { ipcps, links, lower_flows, .. } = &mut network.systems[0];
    let at = links.iter().position(RouterLink::is_flow).unwrap();
    let (upper, LinkKind::Flow { lower, .. }) = (links[at].ipcp, links[at].kind.clone()) else { unreachable!() };
    let transmit = Transmit {
        link: links[at].link,
        to: STATION,
        priority: MANAGEMENT_PRIORITY,
        pdu: vec![0; 100],
        hops: TTL,
        arp: false,
    };
    let taken = (0..1000).take_while(|_| lower_flows.send(at, lower, &transmit, ipcps)).count();
    assert!((10..=100).contains(&taken), "{taken} PDUs wait");
    ipcps[upper].register(name("late"), network.now).unwrap();
    ipcps[upper].tick(network.now);
    let flooded = ipcps[upper].take_transmits();
    assert!(!flooded.is_empty() && flooded.iter().all(|transmit| !lower_flows.send(at, lower, transmit, ipcps)));
    let knows = |network: &mut Network| network.systems[2].ipcps[upper].knows(&name("late"));
    assert!(network.run(Duration::from_secs(5), knows), "nobody sends it again");
}
