//! Follows what a kernel said when it was told to change things (`tests/netlink/record.py`), and compares that with what it
//! listed afterwards.

use std::collections::{BTreeMap, HashMap};

use netlink_packet_core::NLM_F_APPEND;
use netlink_packet_route::RouteNetlinkMessage;

use super::message::{decode, frames};
use super::objects::{self, Groups};
use super::*;

const RECORDING: &str = include_str!("../../tests/netlink/kernel.txt");

/// A command, and what the kernel said then.
#[derive(Debug, Default)]
struct Step {
    command: &'static str,
    events: Vec<Vec<u8>>,
    /// What the kernel listed afterwards, by kind.
    lists: BTreeMap<&'static str, Vec<u8>>,
}

/// The steps of the recording; the first one is what there was before.
fn steps() -> Vec<Step> {
    let mut messages: HashMap<&str, Vec<u8>> = HashMap::new();
    let mut steps = vec![Step::default()];
    for line in RECORDING.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let step = steps.last_mut().unwrap();
        let datagram = || rest.split_whitespace().flat_map(|number| messages[number].clone()).collect();
        match word {
            "$" => {
                let lists = step.lists.clone();
                steps.push(Step { command: rest, events: Vec::new(), lists });
            }
            "message" => {
                let (number, hex) = rest.split_once(' ').unwrap();
                let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
                messages.insert(number, (0..hex.len()).step_by(2).map(byte).collect());
            }
            "event" => step.events.push(datagram()),
            list => drop(step.lists.insert(list, datagram())),
        }
    }
    steps
}

impl Step {
    /// Routes and groups as the kernel lists them.
    fn read(&self) -> (Routes, Groups) {
        let (mut routes, mut groups) = (Routes::default(), Groups::default());
        for frame in frames(&self.lists["routes"]) {
            if let Some(RouteNetlinkMessage::NewRoute(route)) = decode(&frame.unwrap()).unwrap() {
                routes.add(&route, NLM_F_APPEND);
            }
        }
        for frame in frames(&self.lists["objects"]) {
            groups.take_up(objects::read(&frame.unwrap()).unwrap());
        }
        (routes, groups)
    }

    /// Devices and neighbours as the kernel lists them.
    fn devices(&self) -> Kernel {
        let mut kernel = Kernel::following_routes();
        for list in ["links", "addresses", "neighbours"] {
            kernel.take_up(&self.lists[list], &mut Changes::default());
        }
        kernel
    }
}

/// The state before the first command.
fn begin(steps: &[Step]) -> Kernel {
    let (routes, groups) = steps[0].read();
    let mut kernel = steps[0].devices();
    kernel.replace_routes(routes, groups);
    kernel.unsettled = false;
    kernel
}

/// Takes up what the kernel said, and reads routes anew where that is needed. Tells whether it was.
fn follow(kernel: &mut Kernel, step: &Step) -> (Changes, bool) {
    let mut changes = Changes::default();
    step.events.iter().for_each(|event| kernel.take_up(event, &mut changes));
    let reloads = changes.lost_routes;
    if reloads {
        let (routes, groups) = step.read();
        changes.routes.extend(kernel.replace_routes(routes, groups));
        kernel.unsettled = false;
    }
    (changes, reloads)
}

/// What happens to packets of a prefix. IPv6 reports next hops in another order than it lists them.
fn forwarding(routes: &Routes, prefix: Prefix) -> Option<Forwarding> {
    let mut found = routes.get(prefix)?.clone();
    found.next_hops.sort_by_key(|hop| (hop.device, hop.gateway));
    Some(found)
}

/// After each command the routes that were followed are those that the kernel lists, and a prefix that is forwarded differently
/// was reported. They are read anew only where the kernel does not report changes.
#[test]
fn routes_that_are_followed_are_those_of_the_kernel() {
    let steps = steps();
    let mut kernel = begin(&steps);
    let mut reloaded = Vec::new();
    for step in &steps[1..] {
        let before: HashMap<Prefix, Forwarding> =
            kernel.routes().unwrap().prefixes().filter_map(|p| Some((p, forwarding(kernel.routes()?, p)?))).collect();
        let (changes, reloads) = follow(&mut kernel, step);
        let (listed, _) = step.read();
        let followed = kernel.routes().unwrap();
        for prefix in followed.prefixes().chain(listed.prefixes()) {
            let now = forwarding(followed, prefix);
            assert_eq!(now, forwarding(&listed, prefix), "{prefix:?} after `{}`", step.command);
            let changed = before.get(&prefix) != now.as_ref();
            assert!(!changed || changes.routes.contains(&prefix), "{prefix:?} after `{}`", step.command);
        }
        assert_eq!(followed.objects(), listed.objects(), "after `{}`", step.command);
        reloaded.extend(reloads.then_some(step.command));
    }
    assert_eq!(kernel.undecoded(), 0);
    // The kernel reports what is done to routes themselves.
    let of_routes = |command: &&&str| command.starts_with("ip route") || command.starts_with("ip -6 route");
    assert_eq!(reloaded.iter().find(of_routes), None);
}

#[test]
fn routes_change_and_go_with_their_objects() {
    let (steps, prefix) = (steps(), Prefix::new([172, 16, 2, 0].into(), 24));
    let mut kernel = begin(&steps);
    let device = |name: &str| kernel.devices.values().find(|device| device.name == name).unwrap().index;
    let [s2, s3, s4] = ["s2", "s3", "s4"].map(device);
    let mut rest = steps[1..].iter();
    for (command, expected) in [
        ("ip route add 172.16.2.0/24 nhid 100", Some(vec![s2, s3])),
        ("ip nexthop del id 31", Some(vec![s2])),
        ("ip nexthop replace id 100 group 21,3/31,7", Some(vec![s2, s3])),
        ("ip route replace 172.16.2.0/24 nhid 31", Some(vec![s3])),
        ("ip route replace 172.16.2.0/24 nhid 100", Some(vec![s2, s3])),
        ("ip nexthop del id 100", None),
        ("ip route add 172.16.2.0/24 nhid 55", Some(vec![s4])),
        ("ip nexthop del id 55", None),
        ("ip route add 172.16.2.0/24 nhid 56", Some(vec![s4])),
        ("ip nexthop flush", None),
    ] {
        rest.find(|step| {
            follow(&mut kernel, step);
            step.command == command
        });
        let route = kernel.routes().unwrap().get(prefix);
        let devices = route.map(|route| route.next_hops.iter().map(|hop| hop.device).collect());
        assert_eq!(devices, expected, "{command}");
    }
}

/// Devices, addresses and neighbours that were followed are those that the kernel lists at the end.
#[test]
fn devices_that_are_followed_are_those_of_the_kernel() {
    let steps = steps();
    let mut kernel = begin(&steps);
    steps[1..].iter().flat_map(|step| &step.events).for_each(|event| kernel.take_up(event, &mut Changes::default()));
    let listed = steps.last().unwrap().devices();
    let sorted = |devices: &BTreeMap<u32, Device>| {
        let mut devices = devices.clone();
        devices.values_mut().for_each(|device| device.addresses.sort());
        devices
    };
    assert_eq!(sorted(&kernel.devices), sorted(&listed.devices));
    assert_eq!(kernel.neighbours, listed.neighbours);
    assert_eq!(listed.devices.len(), 6);
}

/// Messages that are cut off change nothing and are counted, wherever that is.
#[test]
fn truncated_messages_are_counted() {
    let steps = steps();
    let events = steps.iter().flat_map(|step| &step.events).filter(|event| event.len() < 300);
    for event in events {
        for length in 1..event.len() {
            let mut kernel = Kernel::following_routes();
            kernel.take_up(&event[..length], &mut Changes::default());
            let whole = frames(&event[..length]).all(|frame| frame.is_ok());
            assert_eq!(kernel.undecoded(), u64::from(!whole), "{length} bytes of {event:?}");
            // The kernel says that the message is as long as that.
            let mut shorter = event[..length].to_vec();
            if let Some(header) = shorter.first_chunk_mut() {
                *header = (length as u32).to_ne_bytes();
            }
            kernel.take_up(&shorter, &mut Changes::default());
        }
    }
}

/// Attributes that nobody knows yet do not keep a message from being read.
#[test]
fn unknown_attributes_are_no_error() {
    let steps = steps();
    let (mut plain, mut extended) = (begin(&steps), begin(&steps));
    for event in steps[1..].iter().flat_map(|step| &step.events) {
        plain.take_up(event, &mut Changes::default());
        let more = frames(event).map(Result::unwrap).flat_map(|frame| {
            let mut message = frame.bytes.to_vec();
            message.extend([12, 0, 200, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
            let length = (message.len() as u32).to_ne_bytes();
            message[..4].copy_from_slice(&length);
            message
        });
        extended.take_up(&more.collect::<Vec<u8>>(), &mut Changes::default());
    }
    assert_eq!((extended.undecoded(), &extended.devices), (0, &plain.devices));
    assert_eq!(extended.neighbours, plain.neighbours);
    let (plain, extended) = (plain.routes().unwrap(), extended.routes().unwrap());
    assert!(plain.prefixes().chain(extended.prefixes()).all(|prefix| plain.get(prefix) == extended.get(prefix)));
}

/// Rules as the kernel lists them: what a packet has to be, and what happens to it.
#[test]
fn rules_are_those_of_the_kernel() {
    let steps = steps();
    let after = |command: &str| -> Vec<Rule> {
        let step = steps.iter().find(|step| step.command.starts_with(command)).unwrap();
        frames(&step.lists["rules"]).filter_map(|frame| rules::read(&frame.unwrap())).collect()
    };
    let plain = |ipv6, priority, table| Rule {
        ipv6,
        priority,
        from: None,
        to: None,
        input: None,
        tos: 0,
        protocol: None,
        narrower: false,
        inverted: false,
        never_forwarded: false,
        of_vrfs: false,
        suppresses: false,
        action: RuleAction::Lookup(table),
    };
    let defaults = [
        plain(false, 0, 255),
        plain(false, 32766, 254),
        plain(false, 32767, 253),
        plain(true, 0, 255),
        plain(true, 32766, 254),
    ];
    assert_eq!(after("ip rule del priority 77"), defaults);
    let prefix = |address: [u8; 4], length| Some(Prefix::new(address.into(), length));
    let found = after("ip -6 rule add from 2001:db8::/32");
    let expected = [
        Rule {
            to: prefix([10, 7, 0, 0], 16),
            input: Some("s2".into()),
            tos: 16,
            protocol: Some(6),
            ..plain(false, 78, 1000)
        },
        Rule { from: prefix([10, 7, 0, 1], 32), inverted: true, action: RuleAction::Other, ..plain(false, 79, 0) },
        Rule { narrower: true, never_forwarded: true, ..plain(false, 80, 100) },
        Rule { never_forwarded: true, suppresses: true, ..plain(false, 81, 254) },
        Rule { narrower: true, action: RuleAction::Nothing, ..plain(false, 82, 0) },
    ];
    assert_eq!(found[1..6], expected);
    let from = Some(Prefix::new("2001:db8::".parse().unwrap(), 32));
    assert!(found.contains(&Rule { from, action: RuleAction::Other, ..plain(true, 83, 0) }), "{found:?}");
}

/// Rules, settings and queueing disciplines that change are reported as such.
#[test]
fn policy_that_changes_is_reported() {
    for step in &steps()[1..] {
        let policy = ["ip rule add", "ip rule del", "ip -6 rule add", "sysctl", "tc qdisc"]
            .iter()
            .any(|word| step.command.starts_with(word));
        let mut changes = Changes::default();
        let mut kernel = Kernel::following_routes();
        step.events.iter().for_each(|event| kernel.take_up(event, &mut changes));
        assert!(!policy || changes.policy, "{}", step.command);
        assert_eq!(kernel.undecoded(), 0, "{}", step.command);
    }
}
