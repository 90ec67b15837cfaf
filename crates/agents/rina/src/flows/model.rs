//! Flows of two IPC processes under random schedules, in simulated time: messages are lost, doubled, delayed and reordered, the link
//! goes down, applications read slowly, close and die, and IPC processes restart.
//!
//! Whatever happens, nothing is lost without an error, nothing is delivered twice, every application that waits for the end of a flow
//! is told, and nothing is left behind. A schedule follows from its number. `HOPWRIGHT_RINA_SCHEDULES` says how many there are,
//! `HOPWRIGHT_RINA_SCHEDULE` which one alone is run.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::efcp::FRAGMENT;

/// Schedules if the environment does not say how many.
const SCHEDULES: u64 = 10_000;
/// Time in which everything has to be over when the network works again.
const REST: Duration = Duration::from_secs(300);

struct Random(u64);

impl Random {
    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    fn percent(&mut self, share: u64) -> bool {
        self.below(100) < share
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    fn time(&mut self, most: Duration) -> Duration {
        Duration::from_micros(self.below(most.as_micros() as u64 + 1))
    }
}

/// What arrives at an end.
enum Item {
    Message {
        lives: [Life; 2],
        message: Message,
    },
    Pdu(Header, Vec<u8>),
    /// The RIB has another life of the peer.
    Life(Life),
    Reachable(bool),
}

/// An application's end of a flow. Directions and ends: 0 is the requester.
#[derive(Clone, Copy, Debug, Default)]
struct Application {
    allocated: bool,
    sent: u32,
    received: u32,
    /// It reads by itself as soon as something comes.
    eager: bool,
    closed: bool,
    /// It or its IPC process died.
    gone: bool,
    end: Option<End>,
}

struct Record {
    reliable: bool,
    /// Which IPC process the requester is at.
    requester: usize,
    ends: [Application; 2],
    /// Of a flow without retransmission: what each end received.
    seen: [BTreeSet<u32>; 2],
}

struct Node {
    flows: Flows,
    name: Name,
    life: Life,
    peer: Life,
    reachable: bool,
    /// Which record's end a flow is.
    ends: BTreeMap<FlowId, (usize, usize)>,
    unanswered: Vec<FlowId>,
}

struct Model {
    encrypts: bool,
    random: Random,
    now: Duration,
    nodes: [Node; 2],
    records: Vec<Record>,
    queue: BTreeMap<(Duration, u64), (usize, Item)>,
    number: u64,
    up: bool,
    loss: u64,
    doubled: u64,
    delay: Duration,
}

fn cube(id: u16) -> Qos {
    let window = if id == 2 { 4 } else { 16 };
    Qos {
        id,
        name: "cube".into(),
        reliable: id > 1,
        window,
        congestion: crate::efcp::congestion::POLICIES[0],
        rate: None,
        priority: 0,
    }
}

/// The SDU of a flow's end with this number; some take several PDUs, or more than a window.
fn sdu(record: usize, end: usize, number: u32) -> Vec<u8> {
    let head = [record as u32, end as u32, number].map(u32::to_be_bytes).concat();
    let rest = match number % 16 {
        7 => FRAGMENT - 12,
        9 => 2 * FRAGMENT,
        12 if record % 4 == 1 => 20 * FRAGMENT,
        _ => 0,
    };
    [head, vec![number as u8; rest]].concat()
}

fn flows(own: Name, last: u16, encrypts: bool) -> Flows {
    let mut flows = Flows::new(own, last);
    if encrypts {
        flows.encrypt();
    }
    flows
}

impl Model {
    fn new(seed: u64) -> Model {
        let mut random = Random(seed);
        // Of three schedules one has flows that are encrypted.
        let encrypts = seed.is_multiple_of(3);
        let mut node = |name: &str| Node {
            flows: flows(name.parse().unwrap(), random.next() as u16, encrypts),
            name: name.parse().unwrap(),
            life: [1; 8],
            peer: [1; 8],
            reachable: true,
            ends: BTreeMap::new(),
            unanswered: Vec::new(),
        };
        let nodes = [node("a"), node("b")];
        Model {
            loss: random.pick(&[0, 0, 5, 30, 60]),
            doubled: random.pick(&[0, 0, 20]),
            delay: Duration::from_millis(random.pick(&[1, 20, 300, 2000])),
            encrypts,
            random,
            now: Duration::ZERO,
            nodes,
            records: Vec::new(),
            queue: BTreeMap::new(),
            number: 0,
            up: true,
        }
    }

    fn post(&mut self, after: Duration, to: usize, item: Item) {
        self.number += 1;
        self.queue.insert((self.now + after, self.number), (to, item));
    }

    /// Moves what a node sends, and takes its events.
    fn settle(&mut self, at: usize) {
        loop {
            let node = &mut self.nodes[at];
            for id in node.flows.flows.keys().copied().collect::<Vec<_>>() {
                node.flows.poll(id, self.now);
            }
            let lives = [node.life, node.peer];
            for outgoing in node.flows.take_outgoing() {
                let copies = 1 + u64::from(self.random.percent(self.doubled));
                for _ in 0..copies {
                    if !self.up || self.random.percent(self.loss) {
                        continue;
                    }
                    let item = match &outgoing {
                        Outgoing::Management(_, message) => Item::Message { lives, message: message.clone() },
                        Outgoing::Data(_, header, sdu, _) => Item::Pdu(*header, sdu.clone()),
                    };
                    let after = Duration::from_micros(50) + self.random.time(self.delay);
                    self.post(after, 1 - at, item);
                }
            }
            while let Some((id, event)) = self.nodes[at].flows.next_event() {
                self.event(at, id, event);
            }
            let mut read = false;
            for (id, (record, end)) in self.nodes[at].ends.clone() {
                if self.records[record].ends[end].eager {
                    read |= self.read(at, id, usize::MAX);
                }
            }
            if !read && self.nodes[at].flows.out.is_empty() {
                return;
            }
        }
    }

    fn event(&mut self, at: usize, id: FlowId, event: FlowEvent) {
        match event {
            FlowEvent::Requested { from, .. } => {
                let record: usize = from.as_str()[1..].parse().unwrap();
                let known = &self.records[record];
                assert!(!known.ends[1].allocated && known.requester != at, "an application is asked twice");
                self.nodes[at].ends.insert(id, (record, 1));
                self.nodes[at].unanswered.push(id);
                if self.random.percent(70) {
                    self.answer(at, id, true);
                }
            }
            FlowEvent::Allocated => {
                let (record, end) = self.nodes[at].ends[&id];
                let application = &mut self.records[record].ends[end];
                assert!(!application.allocated && application.end.is_none());
                application.allocated = true;
            }
            FlowEvent::Ended(how) => {
                let Some((record, end)) = self.nodes[at].ends.remove(&id) else { return };
                let application = &mut self.records[record].ends[end];
                assert_eq!(application.end, None, "it is told twice");
                application.end = Some(how);
            }
        }
    }

    fn answer(&mut self, at: usize, id: FlowId, accept: bool) {
        self.nodes[at].unanswered.retain(|other| *other != id);
        let Some((record, _)) = self.nodes[at].ends.get(&id).copied() else { return };
        if !self.nodes[at].flows.get(id).is_some_and(Flow::is_unanswered) {
            self.nodes[at].ends.remove(&id);
            return;
        }
        if accept {
            let eager = self.random.percent(60);
            self.records[record].ends[1] = Application { allocated: true, eager, ..Application::default() };
        } else {
            self.nodes[at].ends.remove(&id);
        }
        self.nodes[at].flows.answer(id, accept, self.now);
    }

    fn request(&mut self, at: usize) {
        let qos = cube(self.random.pick(&[1, 2, 2, 3]));
        let record = self.records.len();
        let names = [format!("c{record}").parse().unwrap(), "server".parse().unwrap(), self.nodes[1 - at].name.clone()];
        let node = &mut self.nodes[at];
        let id = node.flows.request(names, node.peer, &qos, self.now).expect("room for a flow");
        node.ends.insert(id, (record, 0));
        let eager = self.random.percent(60);
        let requester = Application { eager, ..Application::default() };
        let ends = [requester, Application::default()];
        self.records.push(Record { reliable: qos.reliable, requester: at, ends, seen: Default::default() });
    }

    fn write(&mut self, at: usize, id: FlowId, count: u64) {
        let Some((record, end)) = self.nodes[at].ends.get(&id).copied() else { return };
        let application = &mut self.records[record].ends[end];
        for _ in 0..count {
            let flow = self.nodes[at].flows.get(id);
            if application.closed || !flow.is_some_and(|flow| flow.is_open() && flow.sender.has_room()) {
                return;
            }
            let sdu = sdu(record, end, application.sent);
            application.sent += 1;
            self.nodes[at].flows.write(id, &sdu);
        }
    }

    /// Returns whether something was read.
    fn read(&mut self, at: usize, id: FlowId, most: usize) -> bool {
        let Some((record, end)) = self.nodes[at].ends.get(&id).copied() else { return false };
        let mut count = 0;
        while count < most
            && let Some(sdu) = self.nodes[at].flows.read(id)
        {
            count += 1;
            let it = &mut self.records[record];
            let number = u32::from_be_bytes(*sdu[8..].first_chunk().unwrap());
            assert!(sdu == self::sdu(record, 1 - end, number), "an SDU of another flow, or not a whole one");
            if it.reliable {
                assert_eq!(number, it.ends[end].received, "in order, each once");
            }
            assert!(it.seen[end].insert(number), "an SDU comes twice");
            it.ends[end].received += 1;
        }
        count > 0
    }

    fn close(&mut self, at: usize, id: FlowId, gone: bool) {
        let Some((record, end)) = self.nodes[at].ends.get(&id).copied() else { return };
        let application = &mut self.records[record].ends[end];
        if end == 1 && !application.allocated {
            return;
        }
        application.closed = true;
        if gone {
            application.gone = true;
            self.nodes[at].ends.remove(&id);
        }
        self.nodes[at].flows.end(id, gone, self.now);
    }

    fn restart(&mut self, at: usize) {
        let last =
            if at == 0 && self.random.percent(50) { self.nodes[0].flows.last } else { self.random.next() as u16 };
        let node = &mut self.nodes[at];
        for (record, end) in std::mem::take(&mut node.ends).into_values() {
            self.records[record].ends[end].gone = true;
        }
        node.unanswered.clear();
        node.flows = flows(node.name.clone(), last, self.encrypts);
        node.life[0] += 1;
        let life = node.life;
        let after = self.random.time(Duration::from_millis(700));
        self.post(after, 1 - at, Item::Life(life));
    }

    fn arrive(&mut self, at: usize, item: Item) {
        let node = &mut self.nodes[at];
        match item {
            // Keys are those of the two lives.
            Item::Message { lives, message } if lives == [node.peer, node.life] => {
                let peer = (&self.nodes[1 - at].name.clone(), &lives[0]);
                let listens = |name: &Name| name.as_str() == "server";
                let node = &mut self.nodes[at];
                assert!(node.flows.receive(peer, &message, |id| Some(cube(id)), listens, self.now).is_some());
            }
            Item::Message { .. } => {}
            Item::Pdu(header, sdu) => drop(node.flows.receive_pdu(&header, &sdu, self.now)),
            Item::Life(life) => node.peer = life,
            Item::Reachable(reachable) => node.reachable = reachable,
        }
        self.tick(at);
    }

    fn tick(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        let peer = Peer { reachable: node.reachable, life: Some(node.peer) };
        node.flows.tick(self.now, |_| peer);
        self.settle(at);
    }

    /// Goes on to a time.
    fn run(&mut self, until: Duration) {
        loop {
            let due = self.nodes.iter().filter_map(|node| node.flows.due()).min();
            let arrives = self.queue.first_key_value().map(|((at, _), _)| *at);
            let Some(next) = [due, arrives].into_iter().flatten().min().filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            if let Some(entry) = self.queue.first_entry()
                && entry.key().0 <= self.now
            {
                let (to, item) = entry.remove();
                self.arrive(to, item);
                continue;
            }
            let before = self.nodes.each_ref().map(|node| node.flows.due());
            for at in 0..2 {
                if self.nodes[at].flows.due().is_some_and(|due| due <= self.now) {
                    self.tick(at);
                }
            }
            let after = self.nodes.each_ref().map(|node| node.flows.due());
            assert!(before != after || after.iter().flatten().all(|due| *due > self.now), "what is due is not done");
        }
        self.now = until;
    }

    fn act(&mut self) {
        let at = self.random.below(2) as usize;
        let ids: Vec<FlowId> = self.nodes[at].ends.keys().copied().collect();
        let id = if ids.is_empty() { 0 } else { self.random.pick(&ids) };
        match self.random.below(100) {
            0..=14 if self.records.len() < 5 => self.request(at),
            0..=44 => {
                let count = self.random.pick(&[1, 3, 30]);
                self.write(at, id, count);
            }
            45..=69 => drop(self.read(at, id, 3)),
            70..=74 => {
                if let Some((record, end)) = self.nodes[at].ends.get(&id).copied() {
                    self.records[record].ends[end].eager ^= true;
                }
            }
            75..=82 => self.close(at, id, false),
            83..=86 => self.close(at, id, true),
            87..=88 => self.restart(at),
            89..=91 => {
                self.up = !self.up;
                for end in 0..2 {
                    let after = Duration::from_millis(600);
                    self.post(after, end, Item::Reachable(self.up));
                }
            }
            _ => {
                if let Some(id) = self.nodes[at].unanswered.first().copied() {
                    let accept = self.random.percent(70);
                    self.answer(at, id, accept);
                }
            }
        }
        self.settle(0);
        self.settle(1);
    }

    /// The network works, applications read and then close: everything comes to its end.
    fn finish(&mut self) {
        (self.loss, self.up) = (0, true);
        for at in 0..2 {
            self.post(Duration::from_millis(600), at, Item::Reachable(true));
            for (record, end) in self.nodes[at].ends.values() {
                self.records[*record].ends[*end].eager = true;
            }
            self.settle(at);
        }
        self.run(self.now + Duration::from_secs(10));
        let closer = self.random.below(2) as usize;
        for at in [closer, 1 - closer] {
            for id in self.nodes[at].ends.keys().copied().collect::<Vec<_>>() {
                self.close(at, id, false);
            }
            self.settle(at);
            let pause = self.random.time(Duration::from_millis(500));
            self.run(self.now + pause);
        }
        self.run(self.now + REST);
        for node in &mut self.nodes {
            assert!(node.flows.flows.is_empty(), "flows are left: {:?}", node.flows.flows);
            node.flows.past.forget(self.now);
            assert!(node.flows.past.is_empty(), "endpoints are left");
        }
    }

    fn check(&self) {
        for (number, record) in self.records.iter().enumerate() {
            for (end, one) in record.ends.iter().enumerate() {
                let (other, what) = (&record.ends[1 - end], || format!("flow {number}, end {end}: {:?}", record.ends));
                let waits = if end == 0 { !one.gone } else { one.allocated && !one.gone };
                assert!(!waits || one.end.is_some(), "it is never told: {}", what());
                if one.end != Some(End::Closed) || !record.reliable {
                    continue;
                }
                assert!(other.gone || one.sent == other.received, "sent and lost: {}", what());
                assert!(one.closed || other.sent == one.received, "it misses something: {}", what());
            }
        }
    }
}

/// Runs a schedule; returns how the flows ended.
fn run(seed: u64) -> Vec<Option<End>> {
    let mut model = Model::new(seed);
    model.request(0);
    model.settle(0);
    let pause = Duration::from_millis(model.random.pick(&[5, 50, 400, 3000]));
    for _ in 0..model.random.pick(&[10, 20, 40]) {
        model.act();
        let time = model.random.time(pause);
        model.run(model.now + time);
    }
    model.finish();
    model.check();
    model.records.iter().flat_map(|record| record.ends.map(|end| end.end)).collect()
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn nothing_is_lost_without_an_error_and_nothing_leaks() {
    if let Some(seed) = from_environment("HOPWRIGHT_RINA_SCHEDULE") {
        println!("{:?}", run(seed));
        return;
    }
    let count = from_environment("HOPWRIGHT_RINA_SCHEDULES").unwrap_or(SCHEDULES);
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let part = |worker: u64| {
        let mut ends: BTreeMap<String, u64> = BTreeMap::new();
        for seed in (worker..count).step_by(workers as usize) {
            let result = std::panic::catch_unwind(|| run(seed));
            let result = result.unwrap_or_else(|_| panic!("HOPWRIGHT_RINA_SCHEDULE={seed} fails"));
            for end in result {
                let name = match end {
                    Some(End::Undelivered(_)) => "undelivered".into(),
                    Some(end) => format!("{end:?}").to_lowercase(),
                    None => "nobody waits".into(),
                };
                *ends.entry(name).or_default() += 1;
            }
        }
        ends
    };
    let mut all: BTreeMap<String, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || part(worker))).collect();
        for thread in threads {
            for (name, number) in thread.join().expect("a schedule fails") {
                *all.entry(name).or_default() += number;
            }
        }
    });
    println!("{count} schedules: {all:?}");
    // The schedules are varied enough: all ends that there are at two IPC processes happen.
    if count >= SCHEDULES {
        for name in ["closed", "refused", "noanswer", "restarted", "unreachable", "unknown", "gaveup", "undelivered"] {
            assert!(all.contains_key(name), "no flow ended as {name}: {all:?}");
        }
    }
}
