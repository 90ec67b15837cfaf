//! What happens while notifications are lost, in a namespace of the test's own. Needs root.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::*;
use crate::namespace::Namespace;

/// The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// Routes that are added at once: more notifications than the smallest buffer has room for.
const MANY: u32 = 4000;

/// Carries out commands of `ip` in the namespace of this thread.
fn ip(commands: &str) {
    let mut child = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(commands.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{commands}");
}

fn network(number: u32) -> Prefix {
    Prefix::new(IpAddr::V4((0x6400_0000 | number << 8).into()), 24)
}

#[test]
fn everything_is_read_anew_when_notifications_are_lost() {
    if std::env::var_os("HOPWRIGHT_SKIP_PRIVILEGED_TESTS").is_some() {
        return;
    }
    let name = format!("hopwright-overrun-{}", std::process::id());
    let namespace = Namespace::open_or_create(&name).unwrap();
    let done = namespace.run(|| std::panic::catch_unwind(follow));
    let _ = Command::new("ip").args(["netns", "delete", &name]).status();
    done.unwrap().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn follow() {
    ip("link add s2 type veth peer name p2\nlink set p2 up\nlink set s2 up\naddress add 10.0.2.1/24 dev s2\n\
        nexthop add id 21 via 10.0.2.2 dev s2\nroute add 172.16.1.0/24 nhid 21\n");
    let mut netlink = Netlink::following_routes().unwrap();
    // The kernel makes it as small as it may be.
    netlink.events.set_rx_buf_sz(1).unwrap();
    let object = Prefix::new([172, 16, 1, 0].into(), 24);
    assert!(netlink.routes().unwrap().get(object).is_some());
    // What is lost concerns everything that is followed.
    let add = |n| format!("route add {}/24 via 10.0.2.2\n", network(n).address);
    ip(&(0..MANY).map(add).collect::<String>());
    ip("link add s3 type veth peer name p3\naddress add 10.0.3.1/24 dev s3\nlink set s3 mtu 1400\nlink set s3 up\n\
        neighbour add 10.0.2.2 lladdr 02:00:00:00:02:02 dev s2 nud permanent\nnexthop delete id 21\n");
    let mut changes = Changes::default();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let more = netlink.update().unwrap();
        let settled = more == Changes::default() && !netlink.stale;
        changes.everything |= more.everything;
        changes.routes.extend(more.routes);
        changes.neighbours.extend(more.neighbours);
        if more.lost_routes {
            changes.routes.extend(netlink.reload_routes().unwrap());
        }
        let there = netlink.routes().unwrap();
        if settled && (0..MANY).all(|n| there.get(network(n)).is_some()) && there.get(object).is_none() {
            break;
        }
        assert!(Instant::now() < deadline, "{} routes after {} overruns", there.len(), netlink.overruns());
    }
    assert!(netlink.overruns() > 0, "the buffer was large enough");
    assert!(changes.everything && (0..MANY).all(|n| changes.routes.contains(&network(n))));
    assert!(changes.routes.contains(&object));
    let fresh = Netlink::following_routes().unwrap();
    let named = |netlink: &Netlink, name: &str| netlink.devices().values().find(|d| d.name == name).unwrap().clone();
    assert_eq!(named(&netlink, "s3").addresses, named(&fresh, "s3").addresses);
    assert_eq!((named(&netlink, "s3").mtu, netlink.devices().len()), (1400, fresh.devices().len()));
    let s2 = named(&netlink, "s2").index;
    let known = Neighbour::Known { mac: [2, 0, 0, 0, 2, 2], fresh: true };
    assert_eq!(netlink.neighbour(s2, [10, 0, 2, 2].into()), Some(known));
    assert!(changes.neighbours.contains(&(s2, [10, 0, 2, 2].into())));
    assert_eq!(netlink.undecoded() + fresh.undecoded(), 0);
}
