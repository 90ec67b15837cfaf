//! A DIF of many members in memory: they enrol, learn of each other and find routes; a link fails, and a member. What that costs is
//! printed. `HOPWRIGHT_RINA_MEMBERS` says how many members there are.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hopwright_rina::ipcp::{Ipcp, Settings};
use hopwright_rina::{Credential, Dialect, Qos, Syntax};

const MEMBERS: usize = 60;
const STEP: Duration = Duration::from_millis(5);
/// Simulated time that a change may take to reach everybody.
const PATIENCE: Duration = Duration::from_secs(120);

struct Network {
    nodes: Vec<Ipcp>,
    /// By node and link: the node and link at the other end.
    ends: Vec<Vec<(usize, usize)>>,
    down: BTreeSet<(usize, usize)>,
    dead: BTreeSet<usize>,
    now: Duration,
    pdus: u64,
    bytes: u64,
}

impl Network {
    /// A ring with a chord at each node, so that nodes have three links.
    fn new(members: usize) -> Network {
        let mut ends = vec![Vec::new(); members];
        let mut join = |one: usize, other: usize| {
            let at = (ends[one].len(), ends[other].len());
            ends[one].push((other, at.1));
            ends[other].push((one, at.0));
        };
        for node in 0..members {
            join(node, (node + 1) % members);
        }
        // The chords have all lengths, so that no two nodes are far from each other.
        let half = members / 2;
        for node in 0..half {
            join(node, half + node * 7 % half);
        }
        let node = |(number, links): (usize, &Vec<(usize, usize)>)| {
            let settings = Settings {
                name: format!("member{number}").parse().unwrap(),
                dif: "net".parse().unwrap(),
                address: (number == 0).then_some(1),
                dialect: Dialect::Hopwright(Credential::new(&[1; 16]).unwrap()),
                syntax: Syntax::Checksum,
                routing: hopwright_rina::routing::POLICIES[0],
                identity: None,
                encryption: false,
                keepalive: Duration::from_secs(1),
                dead_after: Duration::from_secs(3),
                qos: vec![Qos {
                    id: 1,
                    name: "any".into(),
                    reliable: false,
                    window: 64,
                    congestion: hopwright_rina::congestion::POLICIES[0],
                    rate: None,
                    priority: 0,
                }],
                links: vec![1; links.len()],
            };
            Ipcp::new(settings, 1_000_000)
        };
        let nodes = ends.iter().enumerate().map(node).collect();
        let (down, dead) = (BTreeSet::new(), BTreeSet::new());
        Network { nodes, ends, down, dead, now: Duration::ZERO, pdus: 0, bytes: 0 }
    }

    fn step(&mut self) {
        self.now += STEP;
        for node in 0..self.nodes.len() {
            if self.dead.contains(&node) {
                continue;
            }
            self.nodes[node].tick(self.now);
            for transmit in self.nodes[node].take_transmits() {
                self.pdus += 1;
                self.bytes += transmit.pdu.len() as u64;
                let (other, link) = self.ends[node][transmit.link];
                if !self.down.contains(&(node, transmit.link)) && !self.dead.contains(&other) {
                    self.nodes[other].receive(link, [node as u8; 6], &transmit.pdu, self.now);
                }
            }
        }
    }

    /// Whether neighbours are up at all links that are there, and each member reaches all others by these.
    fn has_converged(&self) -> bool {
        let alive = || (0..self.nodes.len()).filter(|node| !self.dead.contains(node));
        let addresses: BTreeSet<u16> = alive().map(|node| self.nodes[node].address()).collect();
        let reaches_all = |node: usize| {
            let forwarding = self.nodes[node].forwarding();
            let works =
                |link: &usize| !self.down.contains(&(node, *link)) && !self.dead.contains(&self.ends[node][*link].0);
            (0..self.ends[node].len()).all(|link| forwarding.neighbours.contains_key(&link) == works(&link))
                && forwarding.destinations.keys().chain([&forwarding.address]).copied().collect::<BTreeSet<_>>()
                    == addresses
                && forwarding.destinations.values().all(|links| links.iter().all(works))
        };
        addresses.len() == alive().count() && !addresses.contains(&0) && alive().all(reaches_all)
    }

    /// Runs until all is well, and says what it took.
    fn converge(&mut self, what: &str) {
        let (begin, pdus, bytes, clock) = (self.now, self.pdus, self.bytes, Instant::now());
        while {
            // Looking is not for free.
            (0..20).for_each(|_| self.step());
            !self.has_converged()
        } {
            assert!(self.now - begin < PATIENCE, "{what}: not within {PATIENCE:?}");
        }
        println!(
            "{what}: {:.1} s simulated, {} PDUs, {} kB, {:.1} s of computing",
            (self.now - begin).as_secs_f64(),
            self.pdus - pdus,
            (self.bytes - bytes) / 1000,
            clock.elapsed().as_secs_f64(),
        );
    }
}

/// Memory of this process, in bytes.
fn memory() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn many_members_converge() {
    let members = std::env::var("HOPWRIGHT_RINA_MEMBERS").map_or(MEMBERS, |number| number.parse().unwrap());
    let before = memory();
    let mut network = Network::new(members);
    println!("{members} members, {} links", network.ends.iter().map(Vec::len).sum::<usize>() / 2);
    network.converge("all enrol and reach all");
    println!("{} kB of memory a member", (memory() - before) / 1000 / members as u64);
    let other = network.ends[0][0];
    network.down.extend([(0, 0), other]);
    network.converge("a link fails without a word");
    network.down.clear();
    network.converge("it returns");
    network.dead.insert(members / 2);
    network.converge("a member dies");
    // When all is known, keep-alives are left: one and its answer in each direction of a link and second.
    let (pdus, seconds) = (network.pdus, 5);
    (0..seconds * 200).for_each(|_| network.step());
    let links: usize = network.ends.iter().map(Vec::len).sum();
    let idle = (network.pdus - pdus) as f64 / f64::from(seconds) / links as f64;
    println!("idle: {idle:.2} PDUs a second in each direction of a link");
    assert!(idle <= 2.5, "{idle} PDUs a second");
}
