//! A kernel's next-hop objects and routes, and the tables of the fast path, in a namespace of the test's own. Needs root.

use std::process::Command;

use hopwright_host::namespace::Namespace;
use hopwright_ir::MatchValue;
use num_bigint::BigUint;

use super::*;
use crate::config::Config;
use crate::fib::{Fib, exact};
use crate::ports;
use crate::program::{Program, data_plane_with};

/// The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A router whose ports are devices of its own namespace.
struct Router {
    name: Name,
    mirror: Mirror,
    // The TAP devices have carriers while they are open.
    _taps: std::collections::BTreeMap<u32, hopwright_ports::Tap>,
}

/// The namespace's name. The namespace goes with it.
struct Name(String);

impl Drop for Name {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}

/// What the fast path does with packets to a prefix: the devices of the next hops, sorted; none without an entry.
type Path = Option<Vec<String>>;

impl Router {
    /// Ports 2 to 4: TAP devices `s2` to `s4`, with neighbours whose link-layer addresses are known.
    fn new(test: &str) -> Router {
        Router::with_tables(test, 1 << 20)
    }

    /// The same with tables for this many routes.
    fn with_tables(test: &str, routes: u32) -> Router {
        Router::with_program(test, |text| text.replace("size = 1048576", &format!("size = {routes}")))
    }

    /// The same with the program's text changed.
    fn with_program(test: &str, change: impl Fn(&str) -> String) -> Router {
        let name = format!("hopwright-ip-{test}-{}", std::process::id());
        let namespace = Namespace::open_or_create(&name).unwrap();
        let guard = Name(name.clone());
        let ip = |command: &str| run(&name, command);
        ip("link set lo up");
        for n in 2..=4 {
            ip(&format!("link add d{n} type veth peer name p{n}"));
            ip(&format!("link set d{n} up"));
            ip(&format!("link set p{n} up"));
        }
        let host = namespace.run(Netlink::open).unwrap().unwrap();
        let mut inside = namespace.run(Netlink::following_routes).unwrap().unwrap();
        let devices = (2..=4).map(|n| (n, format!("d{n}"))).collect();
        let names = (2..=4).map(|n| (format!("d{n}"), format!("s{n}"))).collect();
        let config = Config { namespace: name.clone(), names };
        let (taps, ports) =
            ports::open(&devices, &config, &namespace, &host, &mut inside, &hopwright_agent::Inheritance::default())
                .unwrap();
        let program = Program::new(&data_plane_with(change).unwrap()).unwrap();
        let counters = Arc::new(Counters::default());
        let fib = SharedFib::new(Fib::new(program, counters.clone()).unwrap());
        namespace.run(|| std::fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")).unwrap().unwrap();
        namespace.run(|| std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")).unwrap().unwrap();
        let sources = Sources::open(namespace).unwrap();
        let (_, requests) = crate::show::channel().unwrap();
        let mut mirror = Mirror::new(host, inside, sources, ports, fib, counters, requests);
        mirror.begin().unwrap();
        for n in 2..=4 {
            ip(&format!("address add 10.0.{n}.1/24 dev s{n}"));
            ip(&format!("address add 2001:db8:{n}::1/64 dev s{n} nodad"));
            ip(&format!("neigh replace 10.0.{n}.2 lladdr 02:00:00:00:0{n}:02 dev s{n} nud permanent"));
            ip(&format!("neigh replace 2001:db8:{n}::2 lladdr 02:00:00:00:0{n}:02 dev s{n} nud permanent"));
        }
        Router { name: guard, mirror, _taps: taps }
    }

    /// The path of packets to a prefix, as the tables have it.
    fn path(&mut self, prefix: &str) -> Path {
        let (address, length) = prefix.split_once('/').unwrap();
        let prefix = Prefix::new(address.parse().unwrap(), length.parse().unwrap());
        let mut fib = self.mirror.fib.lock();
        let program = fib.program();
        let (control, groups) = (program.control.clone(), program.groups);
        let routes = if prefix.address.is_ipv4() { program.ipv4 } else { program.ipv6 }.unwrap();
        let value = match prefix.address {
            IpAddr::V4(ip) => BigUint::from(ip.to_bits()),
            IpAddr::V6(ip) => BigUint::from(ip.to_bits()),
        };
        let entry = control[routes.id].get(&[MatchValue::Lpm { value, prefix_len: prefix.length.into() }], 0)?;
        let number = u16::try_from(&entry.args[0]).unwrap();
        let hops = if entry.action == routes.outcomes.via(0, 0).action {
            vec![number]
        } else {
            assert_eq!(entry.action, routes.outcomes.multipath(0, 0).action, "{prefix:?} ends: {entry:?}");
            assert!(control[groups].get(&[exact(number), MatchValue::Optional(None)], 0).is_some());
            let selector = control.profile(control.pipeline()[groups].implementation.unwrap()).unwrap();
            selector.group(number.into()).unwrap().members.keys().map(|hop| *hop as u16).collect()
        };
        let device = |hop: u16| fib.next_hops().iter().find(|(id, _)| *id == hop).unwrap().1.key.device;
        let devices: Vec<u32> = hops.into_iter().map(device).collect();
        let names = devices.iter().map(|device| self.mirror.inside.devices()[device].name.clone());
        let mut names: Vec<String> = names.collect();
        names.sort();
        Some(names)
    }

    /// Has the kernel do something, and waits until the fast path follows.
    fn check(&mut self, command: &str, expected: &[(&str, &[&str])]) {
        run(&self.name.0, command);
        let expected: Vec<(&str, Path)> = expected
            .iter()
            .map(|(prefix, devices)| (*prefix, devices.iter().map(|d| d.to_string()).collect::<Vec<_>>()))
            .map(|(prefix, devices)| (prefix, Some(devices).filter(|devices| !devices.is_empty())))
            .collect();
        let deadline = Instant::now() + PATIENCE;
        loop {
            self.mirror.step().unwrap();
            let found: Vec<(&str, Path)> =
                expected.iter().map(|(prefix, _)| *prefix).map(|prefix| (prefix, self.path(prefix))).collect();
            if found == expected {
                return;
            }
            assert!(Instant::now() < deadline, "after `{command}`: {found:?}, not {expected:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn run(namespace: &str, command: &str) {
    let done = Command::new("ip").args(["-n", namespace]).args(command.split_whitespace()).output().unwrap();
    assert!(done.status.success(), "ip {command}: {}", String::from_utf8_lossy(&done.stderr));
}

fn skipped() -> bool {
    std::env::var_os("HOPWRIGHT_SKIP_PRIVILEGED_TESTS").is_some()
}

#[test]
fn routes_follow_their_next_hop_objects() {
    if skipped() {
        return;
    }
    let mut router = Router::new("objects");
    for (family, net, via) in [("", "172.16.2.0/24", "10.0"), ("-6 ", "2001:db8:f::/64", "2001:db8")] {
        let gateway = |n: u8| if family.is_empty() { format!("{via}.{n}.2") } else { format!("{via}:{n}::2") };
        let mut check = |command: &str, devices: &[&str]| router.check(command, &[(net, devices)]);
        check(&format!("nexthop add id 21 via {} dev s2", gateway(2)), &[]);
        check(&format!("nexthop add id 31 via {} dev s3", gateway(3)), &[]);
        check("nexthop add id 100 group 21/31", &[]);
        check(&format!("{family}route add {net} nhid 100"), &["s2", "s3"]);
        check("nexthop del id 31", &["s2"]);
        check(&format!("nexthop add id 31 via {} dev s3", gateway(3)), &["s2"]);
        check("nexthop replace id 100 group 21/31", &["s2", "s3"]);
        check(&format!("nexthop replace id 31 via {} dev s4", gateway(4)), &["s2", "s4"]);
        check("nexthop del id 100", &[]);
        check(&format!("{family}route add {net} nhid 31"), &["s4"]);
        check("nexthop del id 31", &[]);
        check(&format!("{family}route add {net} nhid 21"), &["s2"]);
        check("nexthop flush", &[]);
        check(&format!("nexthop add id 7 via {} dev s3", gateway(3)), &[]);
        check("nexthop add id 101 group 7 type resilient buckets 4", &[]);
        check(&format!("{family}route add {net} nhid 101"), &["s3"]);
        check("nexthop del id 101", &[]);
        check(&format!("{family}route add {net} nhid 7"), &["s3"]);
        // A port that loses its carrier takes its objects along.
        check("link set p3 down", &[]);
        check("link set p3 up", &[]);
        check("nexthop flush", &[]);
    }
}

/// What the kernel does besides routing has a name, and is gone from the list when it is gone.
#[test]
fn what_only_the_kernel_does_is_left_to_it() {
    if skipped() {
        return;
    }
    let mut router = Router::new("policy");
    let mut wait = |command: &str, expected: &[&str]| {
        let done = Command::new("ip").args(["netns", "exec", &router.name.0, "sh", "-c", command]).output().unwrap();
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        let deadline = Instant::now() + PATIENCE;
        loop {
            router.mirror.step().unwrap();
            let state = router.mirror.state(false);
            let found: Vec<String> = state.punted.into_iter().map(|punted| punted.why).chain(state.rules).collect();
            if found == expected {
                return;
            }
            assert!(Instant::now() < deadline, "after `{command}`: {found:?}, not {expected:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    wait("true", &[]);
    let conf = "/proc/sys/net/ipv4/conf/s2";
    wait(&format!("ip rule add pref 40000 lookup 9; echo 2 > {conf}/rp_filter"), &["rp_filter of s2 is 2"]);
    wait("ip rule del pref 40000", &[]);
    wait(&format!("echo 0 > {conf}/rp_filter; echo 0 > {conf}/forwarding"), &["net.ipv4.conf.s2.forwarding is 0"]);
    wait(&format!("echo 1 > {conf}/forwarding; ip rule add pref 9 to 10.7.0.0/16 tos 0x10 lookup 100"), &[]);
    wait(
        "ip rule del pref 9; ip rule add pref 9 to 10.7.0.0/16 dport 2000 lookup 100",
        &["rule 9: from all to 10.7.0.0/16 and more"],
    );
    wait("ip rule del pref 9; ip -6 rule add pref 9 prohibit", &["rule 9: from all"]);
    wait("ip -6 rule del pref 9; ip rule add pref 9 fwmark 7 lookup 100; ip rule add pref 40000 lookup 100", &[]);
    wait("ip link add b0 type bridge; ip link set s2 master b0", &["s2 is part of bridge b0"]);
    wait("ip link del b0; ip link add m0 link s3 type macvlan", &["macvlan m0 is on top of s3"]);
    wait("ip link del m0; ip link set s4 down", &["s4 is down"]);
    wait("ip link set s4 up; ip xfrm policy add dst 10.0.0.0/8 dir fwd", &["IPsec policies (ip xfrm policy)"; 2]);
    wait("ip xfrm policy flush; tc qdisc add dev s3 clsact", &["s3 has the queueing discipline clsact"; 2]);
    wait("tc qdisc del dev s3 clsact", &[]);
    // The settings of IPv6 go and come back with it.
    wait("ip link set s2 mtu 1000", &["s2 has no IPv6"]);
    wait("ip link set s2 mtu 1400", &[]);
    wait("echo 1 > /proc/sys/net/ipv6/conf/s2/disable_ipv6", &["net.ipv6.conf.s2.disable_ipv6 is 1"]);
}

/// Whether `hopwright ip show` names all of these reasons, and no others.
fn left(router: &mut Router, command: &str, expected: &[&str]) {
    let done = Command::new("ip").args(["netns", "exec", &router.name.0, "sh", "-ec", command]).output().unwrap();
    assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    let deadline = Instant::now() + PATIENCE;
    loop {
        router.mirror.step().unwrap();
        let found: Vec<String> = router.mirror.state(false).punted.into_iter().map(|punted| punted.why).collect();
        if found == expected {
            return;
        }
        assert!(Instant::now() < deadline, "after `{command}`: {found:?}, not {expected:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// While a table has no room for all routes, the kernel has the packets, because they might take another route.
#[test]
fn routes_without_room_leave_their_packets_to_the_kernel() {
    if skipped() {
        return;
    }
    let mut router = Router::with_tables("full", 64);
    left(&mut router, "true", &[]);
    let many = "for n in $(seq 80); do echo route add 172.16.$n.0/24 via 10.0.2.2; done | ip -batch -";
    left(&mut router, many, &["there are more routes than there is room for"]);
    assert!(router.mirror.counters.refused.load(Relaxed) > 0);
    assert_eq!(router.mirror.counters.punted.load(Relaxed), 1);
    // Those that had no room are there when there is room.
    left(&mut router, "ip route del 172.16.1.0/24", &["there are more routes than there is room for"]);
    left(&mut router, "for n in $(seq 2 40); do ip route del 172.16.$n.0/24; done", &[]);
    for n in 41..=80 {
        router.check("route show", &[(&format!("172.16.{n}.0/24"), &["s2"])]);
    }
}

/// An own address that is not in its table keeps no route out of the tables, and the kernel has the packets that may have it as source.
#[test]
fn own_addresses_without_room_leave_packets_to_the_kernel() {
    if skipped() {
        return;
    }
    let mut router = Router::with_program("own", |text| text.replace("size = 16384", "size = 16"));
    left(&mut router, "true", &[]);
    let many =
        "for n in $(seq 20); do ip address add 10.9.$n.1/32 dev s2; done; ip route add 172.16.1.0/24 via 10.0.2.2";
    left(&mut router, many, &["there are more own addresses than there is room for"]);
    router.check("address show", &[("172.16.1.0/24", &["s2"])]);
    let routes = router.mirror.state(true).routes;
    for n in 1..=20 {
        let prefix = format!("10.9.{n}.1/32");
        assert!(routes.iter().any(|route| route.prefix == prefix && route.does == "punted: LOCAL"), "{prefix}");
    }
    assert_eq!(router.mirror.counters.refused.load(Relaxed), 0);
    left(&mut router, "for n in $(seq 18); do ip address del 10.9.$n.1/32 dev s2; done", &[]);
}

/// The same of a VRF: the packets of others stay.
#[test]
fn a_vrf_without_room_leaves_its_packets_to_the_kernel() {
    let has_vrfs = Command::new("unshare").args(["-n", "ip", "link", "add", "r", "type", "vrf", "table", "9"]).status();
    if skipped() || !has_vrfs.is_ok_and(|status| status.success()) {
        return;
    }
    let mut router = Router::with_tables("full-vrf", 64);
    let setup = "ip link add red type vrf table 10; ip link set red up; ip link set s3 master red";
    left(&mut router, setup, &[]);
    let many = "for n in $(seq 80); do echo route add 172.16.$n.0/24 via 10.0.3.2 dev s3 table 10; done | ip -batch -";
    left(&mut router, many, &["table 10 of its VRF has more routes than there is room for"]);
    let state = router.mirror.state(false);
    assert_eq!(state.punted.iter().map(|punted| punted.port).collect::<Vec<_>>(), [Some(3)]);
    left(&mut router, "for n in $(seq 60); do ip route del 172.16.$n.0/24 table 10; done", &[]);
}

/// The kernel of another namespace gets all frames of an interface that has been moved there.
#[test]
fn an_interface_that_is_moved_leaves_its_frames_to_the_kernel() {
    if skipped() {
        return;
    }
    let mut router = Router::new("moved");
    let other = Name(format!("{}-other", router.name.0));
    Namespace::open_or_create(&other.0).unwrap();
    run(&router.name.0, &format!("link set s3 netns {}", other.0));
    left(&mut router, "true", &["its interface is not in the namespace any more"]);
    let kernel = router.mirror.policy.kernel(Interface { port: 3, vlan: 0 });
    assert!(kernel.frames);
    let fib = router.mirror.fib.lock();
    let (control, ports) = (fib.program().control.clone(), fib.program().ports);
    let entry = control[ports].get(&[MatchValue::Exact(3u8.into())], 0);
    assert!(entry.is_some_and(|entry| entry.args[4] == BigUint::from(1u8)), "the port does not hand over all frames");
}
