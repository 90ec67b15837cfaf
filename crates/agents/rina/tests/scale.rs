//! DIFs of many members in memory, on a virtual clock: they enrol, learn of each other and find routes; a link fails and returns, a
//! member dies and returns, an application registers. What that costs is printed.
//!
//! `HOPWRIGHT_RINA_MEMBERS` says how many members there are, and `HOPWRIGHT_RINA_TOPOLOGY` which network (`ring`, `leaf-spine` or `random`).
//! [`sizes`] runs all networks in all sizes, each in a process of its own. [`churn`] has members die and restart, links fail and return, and flows come
//! and go, for as many simulated minutes as `HOPWRIGHT_RINA_MINUTES` says.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::process::Command;
use std::time::Duration;

use hopwright_rina::ipcp::{Ipcp, Settings};
use hopwright_rina::routing::{self, RoutingPolicy};
use hopwright_rina::{Credential, Dialect, End, FlowEvent, FlowId, Name, Qos, Syntax};

const MEMBERS: usize = 60;
const TOPOLOGIES: [&str; 3] = ["ring", "leaf-spine", "random"];
const SIZES: [usize; 4] = [10, 60, 200, 1000];
/// What a PDU takes from one member to another, and the time in which what a member receives is handled at once.
const STEP: Duration = Duration::from_millis(1);
/// Time between two looks at whether all is well.
const LOOK: Duration = Duration::from_millis(10);
/// Simulated time that a change may take to reach everybody.
const PATIENCE: Duration = Duration::from_secs(120);

/// The link that a PDU comes by, the station that sent it, and the PDU.
type Arrival = (usize, [u8; 6], Vec<u8>);

struct Network {
    nodes: Vec<Ipcp>,
    /// By node and link: the node and link at the other end.
    ends: Vec<Vec<(usize, usize)>>,
    down: BTreeSet<(usize, usize)>,
    dead: BTreeSet<usize>,
    now: Duration,
    /// What arrives at each node in the next step.
    inboxes: Vec<Vec<Arrival>>,
    /// Nodes that something arrives at.
    receivers: BTreeSet<usize>,
    /// When nodes have something to do.
    timers: BinaryHeap<Reverse<(Duration, usize)>>,
    dues: Vec<Duration>,
    pdus: u64,
    bytes: u64,
    /// The node that was not well last.
    suspect: usize,
}

/// The pairs of nodes that links join.
fn links(topology: &str, members: usize) -> Vec<(usize, usize)> {
    match topology {
        // With a chord at each node, so that nodes have three links. The chords have all lengths, so that no two nodes are far from each other.
        "ring" => {
            let half = members / 2;
            let ring = (0..members).map(|node| (node, (node + 1) % members));
            ring.chain((0..half).map(|node| (node, half + node * 7 % half))).collect()
        }
        // The first nodes are spines.
        "leaf-spine" => {
            let spines = if members < 60 { 2 } else { 4 };
            (spines..members).flat_map(|leaf| (0..spines).map(move |spine| (spine, leaf))).collect()
        }
        // Each node has a link to one before it, so that all are connected, and there are as many others.
        "random" => {
            let mut state = 1u64;
            let mut below = |count: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % count
            };
            let tree: Vec<_> = (1..members).map(|node| (below(node), node)).collect();
            let others = (0..members).map(|node| (node, below(members))).filter(|(one, other)| one != other);
            let others: Vec<_> = others.collect();
            let mut seen = BTreeSet::new();
            let all = tree.into_iter().chain(others).map(|(one, other)| (one.min(other), one.max(other)));
            all.filter(|link| seen.insert(*link)).collect()
        }
        other => panic!("no topology {other}: expected {}", TOPOLOGIES.join(", ")),
    }
}

fn cube(id: u16, name: &str, reliable: bool) -> Qos {
    let congestion = hopwright_rina::congestion::POLICIES[0];
    Qos { id, name: name.into(), reliable, window: 64, congestion, rate: None, priority: 0 }
}

/// The policy that `HOPWRIGHT_RINA_ROUTING` names, or the usual one.
fn routing() -> &'static dyn RoutingPolicy {
    let named = std::env::var("HOPWRIGHT_RINA_ROUTING").ok();
    named.map_or(routing::POLICIES[0], |name| routing::policy(&name).expect("a policy of this name"))
}

fn member(number: usize, links: usize) -> Ipcp {
    let settings = Settings {
        name: format!("member{number}").parse().unwrap(),
        dif: "net".parse().unwrap(),
        address: (number == 0).then_some(1),
        dialect: Dialect::Hopwright(Credential::new(&[1; 16]).unwrap()),
        syntax: Syntax::Checksum,
        routing: routing(),
        identity: None,
        encryption: false,
        mtu: hopwright_rina::ipcp::LINK_MTU,
        keepalive: Duration::from_secs(1),
        dead_after: Duration::from_secs(3),
        qos: vec![cube(1, "any", false), cube(2, "reliable", true)],
        links: vec![1; links],
    };
    Ipcp::new(settings, 1_000_000)
}

impl Network {
    fn new(topology: &str, members: usize) -> Network {
        let mut ends = vec![Vec::new(); members];
        for (one, other) in links(topology, members) {
            let at = (ends[one].len(), ends[other].len());
            ends[one].push((other, at.1));
            ends[other].push((one, at.0));
        }
        let nodes = ends.iter().enumerate().map(|(number, links)| member(number, links.len())).collect();
        Network {
            nodes,
            ends,
            down: BTreeSet::new(),
            dead: BTreeSet::new(),
            now: Duration::ZERO,
            inboxes: vec![Vec::new(); members],
            receivers: BTreeSet::new(),
            timers: (0..members).map(|node| Reverse((Duration::ZERO, node))).collect(),
            dues: vec![Duration::ZERO; members],
            pdus: 0,
            bytes: 0,
            suspect: 0,
        }
    }

    fn step(&mut self) {
        self.now += STEP;
        let mut busy = std::mem::take(&mut self.receivers);
        while let Some(Reverse((due, node))) = self.timers.peek().copied()
            && due <= self.now
        {
            self.timers.pop();
            if self.dues[node] == due {
                busy.insert(node);
            }
        }
        let mut sent = Vec::new();
        for node in busy {
            let received = std::mem::take(&mut self.inboxes[node]);
            if self.dead.contains(&node) {
                continue;
            }
            let ipcp = &mut self.nodes[node];
            for (link, from, pdu) in received {
                ipcp.receive(link, from, &pdu, self.now);
            }
            ipcp.tick(self.now);
            sent.extend(ipcp.take_transmits().into_iter().map(|transmit| (node, transmit)));
            self.set_timer(node);
        }
        for (node, transmit) in sent {
            self.pdus += 1;
            self.bytes += transmit.pdu.len() as u64;
            let (other, link) = self.ends[node][transmit.link];
            if !self.down.contains(&(node, transmit.link)) {
                let from = [2, 0, 0, 0, (node >> 8) as u8, node as u8];
                self.inboxes[other].push((link, from, transmit.pdu));
                self.receivers.insert(other);
            }
        }
    }

    fn set_timer(&mut self, node: usize) {
        let due = self.nodes[node].due().unwrap_or(Duration::MAX).max(self.now + STEP);
        if due != self.dues[node] {
            self.dues[node] = due;
            self.timers.push(Reverse((due, node)));
        }
    }

    /// Something was done to a node from outside.
    fn wake(&mut self, node: usize) {
        self.receivers.insert(node);
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.step();
        }
    }

    /// Whether neighbours are up at all links that are there, and each member reaches all others by these.
    fn has_converged(&mut self) -> bool {
        let alive = || (0..self.nodes.len()).filter(|node| !self.dead.contains(node));
        let addresses: BTreeSet<u16> = alive().map(|node| self.nodes[node].address()).collect();
        let reaches_all = |node: usize| {
            let forwarding = self.nodes[node].forwarding();
            let works =
                |link: &usize| !self.down.contains(&(node, *link)) && !self.dead.contains(&self.ends[node][*link].0);
            let others = forwarding.destinations.keys();
            (0..self.ends[node].len()).all(|link| forwarding.neighbours.contains_key(&link) == works(&link))
                && forwarding.destinations.len() + 1 == addresses.len()
                && others.chain([&forwarding.address]).all(|address| addresses.contains(address))
                && forwarding.destinations.values().all(|links| links.iter().all(works))
        };
        if addresses.len() != alive().count() || addresses.contains(&0) {
            return false;
        }
        let suspects = [self.suspect].into_iter().filter(|node| !self.dead.contains(node));
        match suspects.chain(alive()).find(|node| !reaches_all(*node)) {
            Some(node) => {
                self.suspect = node;
                false
            }
            None => true,
        }
    }

    /// Runs until something is so, and says what it took.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Network) -> bool) {
        let (begin, pdus, bytes, clock) = (self.now, self.pdus, self.bytes, computing());
        while {
            self.run(LOOK);
            !is_so(self)
        } {
            assert!(self.now - begin < PATIENCE, "{what}: not within {PATIENCE:?}");
        }
        println!(
            "{what}: {:.2} s simulated, {} PDUs, {} kB, {:.1} s of computing",
            (self.now - begin).as_secs_f64(),
            self.pdus - pdus,
            (self.bytes - bytes) / 1000,
            computing() - clock,
        );
    }

    fn converge(&mut self, what: &str) {
        self.until(what, Network::has_converged);
    }
}

/// Seconds of computing of this process.
fn computing() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Of user and kernel, in ticks of 10 ms, behind the name in parentheses.
    let behind = stat.rsplit(')').next().unwrap();
    behind.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap() / 100.0).sum()
}

/// A network in which everything changes.
struct Churn {
    network: Network,
    random: u64,
    /// Flows of applications, by node.
    flows: BTreeSet<(usize, FlowId)>,
    counts: BTreeMap<&'static str, u64>,
}

impl Churn {
    fn below(&mut self, count: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % count
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn application(node: usize) -> Name {
        format!("app{node}").parse().unwrap()
    }

    /// One change, of a kind that is drawn.
    fn change(&mut self) {
        let node = self.below(self.network.nodes.len());
        let (dead, now) = (self.network.dead.contains(&node), self.network.now);
        match self.below(20) {
            0 if !dead && self.network.dead.len() < 5 => {
                self.network.dead.insert(node);
                self.flows.retain(|(at, _)| *at != node);
                self.count("members died");
            }
            1 | 2 => {
                if let Some(node) = self.network.dead.pop_first() {
                    self.network.nodes[node] = member(node, self.network.ends[node].len());
                    self.network.nodes[node].register(Churn::application(node), now).unwrap();
                    self.network.wake(node);
                    self.count("members restarted");
                }
            }
            3 if self.network.down.len() < 10 => {
                let link = self.below(self.network.ends[node].len());
                let other = self.network.ends[node][link];
                self.network.down.extend([(node, link), other]);
                self.count("links failed");
            }
            4 | 5 => {
                if let Some(end) = self.network.down.pop_first() {
                    let other = self.network.ends[end.0][end.1];
                    self.network.down.remove(&other);
                    self.count("links returned");
                }
            }
            6..12 if !dead => {
                let to = Churn::application(self.below(self.network.nodes.len()));
                let cube = if self.below(2) == 0 { "any" } else { "reliable" };
                let asked = self.network.nodes[node].request_flow(Churn::application(node), to, cube, now);
                self.count(if asked.is_ok() { "flows asked for" } else { "flows to nobody" });
                self.network.wake(node);
            }
            12..18 if !self.flows.is_empty() => {
                let at = self.below(self.flows.len());
                if let Some((node, flow)) = self.flows.iter().nth(at).copied() {
                    self.network.nodes[node].close_flow(flow, now);
                    self.network.wake(node);
                }
            }
            _ => {}
        }
    }

    /// Applications accept, write, and read.
    fn applications(&mut self) {
        let now = self.network.now;
        let alive = (0..self.network.nodes.len()).filter(|node| !self.network.dead.contains(node));
        for node in alive.collect::<Vec<_>>() {
            let ipcp = &mut self.network.nodes[node];
            while let Some((flow, event)) = ipcp.next_event() {
                match event {
                    FlowEvent::Requested { .. } => {
                        ipcp.answer(flow, true, now);
                        self.flows.insert((node, flow));
                    }
                    FlowEvent::Allocated => drop(self.flows.insert((node, flow))),
                    FlowEvent::Ended(end) => {
                        self.flows.remove(&(node, flow));
                        let what = if end == End::Closed { "flows ended" } else { "flows ended with an error" };
                        *self.counts.entry(what).or_default() += 1;
                    }
                }
            }
            for (_, flow) in self.flows.range((node, 0)..=(node, FlowId::MAX)) {
                while ipcp.read(*flow).is_some() {
                    *self.counts.entry("SDUs received").or_default() += 1;
                }
                if ipcp.has_room(*flow) {
                    ipcp.write(*flow, &[7; 3000]);
                }
            }
            ipcp.transfer(now);
            self.network.wake(node);
        }
    }

    fn run(&mut self, time: Duration, changes: bool) {
        let end = self.network.now + time;
        while self.network.now < end {
            self.network.run(Duration::from_millis(250));
            if changes {
                self.change();
            }
            self.applications();
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn churn() {
    let minutes = std::env::var("HOPWRIGHT_RINA_MINUTES").map_or(120, |number| number.parse::<u64>().unwrap());
    let mut network = Network::new("random", MEMBERS);
    network.converge("all enrol and reach all");
    for node in 0..MEMBERS {
        network.nodes[node].register(Churn::application(node), network.now).unwrap();
        network.wake(node);
    }
    let mut churn = Churn { network, random: 7, flows: BTreeSet::new(), counts: BTreeMap::new() };
    let (clock, mut settled) = (computing(), 0);
    for minute in 1..=minutes {
        churn.run(Duration::from_secs(60), true);
        if minute * 4 <= minutes.max(4) {
            settled = settled.max(memory());
        }
        if minute % 10 == 0 || minute == minutes {
            let (memory, flows, took) = (memory() / 1000, churn.flows.len(), computing() - clock);
            println!(
                "minute {minute}: {memory} kB, {flows} ends of flows, {took:.0} s of computing, {:?}",
                churn.counts
            );
        }
    }
    // All returns, and all flows end.
    let network = &mut churn.network;
    network.down.clear();
    for node in std::mem::take(&mut network.dead) {
        network.nodes[node] = member(node, network.ends[node].len());
        network.wake(node);
    }
    network.converge("everything returns");
    for (node, flow) in churn.flows.clone() {
        churn.network.nodes[node].end_flow(flow, churn.network.now);
        churn.network.wake(node);
    }
    churn.run(Duration::from_secs(60), false);
    assert!(churn.flows.is_empty(), "{} flows are left", churn.flows.len());
    println!("{} kB in the first quarter at most, {} kB in the end", settled / 1000, memory() / 1000);
    assert!(memory() < settled + settled / 4, "memory grows");
}

/// Memory of this process, in bytes.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

fn simulate(topology: &str, members: usize) {
    let before = memory();
    let mut network = Network::new(topology, members);
    let links: usize = network.ends.iter().map(Vec::len).sum();
    println!("{topology}: {members} members, {} links", links / 2);
    network.converge("all enrol and reach all");
    let ends = (0..members).flat_map(|node| (0..network.ends[node].len()).map(move |link| (node, link)));
    let downs = ends.filter(|(node, link)| network.nodes[*node].link_counts(*link).downs > 0).count();
    assert_eq!(downs, 0, "of neighbours that enrol with each other at once one session remains");
    println!("{} kB of memory a member", memory().saturating_sub(before) / 1000 / members as u64);
    let other = network.ends[0][0];
    network.down.extend([(0, 0), other]);
    network.converge("a link fails without a word");
    network.down.clear();
    network.converge("it returns");
    let node = members / 2;
    network.dead.insert(node);
    network.converge("a member dies");
    network.dead.clear();
    network.nodes[node] = member(node, network.ends[node].len());
    network.wake(node);
    network.converge("it returns without its memory");
    let application = "application".parse::<hopwright_rina::Name>().unwrap();
    network.nodes[0].register(application.clone(), network.now).unwrap();
    network.wake(0);
    // Whether it is known everywhere shows when flows to it are asked for.
    let mut unaware: BTreeSet<usize> = (0..members).collect();
    network.until("an application registers", |network| {
        let now = network.now;
        unaware.retain(|node| {
            let flow = network.nodes[*node].request_flow("me".parse().unwrap(), application.clone(), "any", now);
            flow.is_err()
        });
        (0..members).for_each(|node| network.wake(node));
        unaware.is_empty()
    });
    // Flows that nobody has relayed come to their end.
    network.run(Duration::from_secs(20));
    // When all is known, keep-alives are left: one and its answer in each direction of a link and second.
    let (pdus, seconds) = (network.pdus, 5);
    network.run(Duration::from_secs(seconds));
    let idle = (network.pdus - pdus) as f64 / seconds as f64 / links as f64;
    println!("idle: {idle:.2} PDUs a second in each direction of a link");
    assert!(idle <= 2.5, "{idle} PDUs a second");
}

#[test]
fn many_members_converge() {
    let members = std::env::var("HOPWRIGHT_RINA_MEMBERS").map_or(MEMBERS, |number| number.parse().unwrap());
    match std::env::var("HOPWRIGHT_RINA_TOPOLOGY") {
        Ok(topology) => simulate(&topology, members),
        Err(_) => TOPOLOGIES.iter().for_each(|topology| simulate(topology, members)),
    }
}

#[test]
#[ignore = "takes minutes and gigabytes"]
fn sizes() {
    for topology in TOPOLOGIES {
        for members in SIZES {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "many_members_converge", "--nocapture"]);
            command.env("HOPWRIGHT_RINA_TOPOLOGY", topology).env("HOPWRIGHT_RINA_MEMBERS", members.to_string());
            assert!(command.status().unwrap().success(), "{topology}, {members} members");
        }
    }
}
