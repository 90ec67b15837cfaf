//! Packets that get no answer.

use super::*;

#[test]
fn errors_are_not_answered() {
    for (scmp_type, answered) in [(1, false), (4, false), (127, false), (128, true), (200, true)] {
        let mut f = transit();
        path(&mut f).segments[0].hops[1].mac[0] ^= 1;
        (f.scion.next_hdr, f.scion.payload) = (SCMP, vec![scmp_type, 0, 0, 0]);
        f.scion.extensions = vec![(HOP_BY_HOP, vec![0, 0, 1, 0]), (END_TO_END, vec![0, 0, 1, 0])];
        let (_, outcome) = rich().answered(4, &f.pack(), None);
        assert_eq!(matches!(outcome, Outcome::Reply(..)), answered, "{scmp_type}: {outcome:?}");
        if !answered {
            assert_eq!(outcome, Outcome::Drop(Silence::ScmpError));
        }
        f.scion.payload.truncate(3);
        assert_eq!(rich().answered(4, &f.pack(), None).1, Outcome::Drop(Silence::Malformed));
    }
}

#[test]
fn multicast_and_nobody_get_no_answer() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    let header = rich().punted(4, &f.pack());
    let links = rich_links(false);
    let outcome = |change: &dyn Fn(&mut Frame)| {
        let mut f = f.clone();
        change(&mut f);
        answer(&f.pack(), &header, &Router { links: &links, keys: None, secret_value: None }, NOW_US)
    };
    assert!(matches!(outcome(&|_| {}), Outcome::Reply(..)));
    let silent = Outcome::Drop(Silence::BadSource);
    assert_eq!(outcome(&|f| f.src_mac[0] |= 1), silent);
    assert_eq!(outcome(&|f| f.dst_mac = [0xff; 6]), silent);
    for address in [
        "224.0.0.1:1",
        "255.255.255.255:1",
        "0.0.0.0:1",
        "0.1.2.3:1",
        "127.0.0.1:1",
        "240.0.0.1:1",
        "192.0.2.1:0",
        // The router itself, inside and outside.
        INTERNAL,
        CHILD.1,
    ] {
        assert_eq!(outcome(&|f| f.src = address.parse().unwrap()), silent, "{address}");
    }
    for address in ["[::]:1", "[ff02::1]:1", "[::ffff:10.0.0.9]:1", "[::1]:1", "[2001:db8::1]:0"] {
        let both = |f: &mut Frame| (f.src, f.dst) = (address.parse().unwrap(), CHILD6.1.parse().unwrap());
        assert_eq!(outcome(&both), silent, "{address}");
    }
    // A process of this machine may use a loopback address.
    let mut local = f.clone();
    local.src = "127.0.0.1:1".parse().unwrap();
    let header = PacketIn { port: program::LOCAL_PORT as u16, ..header };
    let reply = answer(&local.pack(), &header, &Router { links: &links, keys: None, secret_value: None }, NOW_US);
    assert!(matches!(reply, Outcome::Reply(..)), "{reply:?}");
}

/// Nobody may be made to answer by a packet that was damaged on the way, or whose sender never saw it.
#[test]
fn wrong_udp_checksums_get_no_answer() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    let mut bytes = f.pack();
    assert!(matches!(rich().answered(4, &bytes, None).1, Outcome::Reply(..)));
    for at in [26, 34, 40, bytes.len() - 1] {
        let header = rich().punted(4, &f.pack());
        bytes[at] ^= 1;
        let links = rich_links(false);
        let outcome = answer(&bytes, &header, &Router { links: &links, keys: None, secret_value: None }, NOW_US);
        assert_eq!(outcome, Outcome::Drop(Silence::BadChecksum), "{at}");
        bytes[at] ^= 1;
    }
    // None at all is allowed over IPv4.
    bytes[40..42].fill(0);
    assert!(matches!(rich().answered(4, &bytes, None).1, Outcome::Reply(..)));
}

/// Answers to hosts need a route.
#[test]
fn where_no_route_leads() {
    let mut f = frame(HOST, (LOCAL, IsdAs(5)), ScionPath::at(0, vec![segment(info(true, 0x111), &[(0, 2), (1, 0)])]));
    path(&mut f).segments[0].hops[0].mac[0] ^= 1;
    let header = rich().punted(INTERNAL_PORT, &f.pack());
    let links = rich_links(false);
    let mut slow_path = SlowPath::new(Default::default());
    let mut handle = |route| {
        let mut asked = None;
        let has_route = |to: IpAddr, from: IpAddr| {
            asked = Some((to, from));
            route
        };
        let outcome = slow_path.handle(&f.pack(), &header, &links, (Instant::now(), NOW_US), has_route);
        assert_eq!(asked, Some((ip("10.0.0.97"), ip("10.0.0.1"))));
        outcome
    };
    assert!(matches!(handle(true), Outcome::Reply(..)));
    assert_eq!(handle(false), Outcome::Drop(Silence::NoReturnPath));
    let counts = slow_path.counts();
    assert_eq!((counts.sent.values().sum::<u64>(), counts.silent[&Silence::NoReturnPath]), (1, 1));
}
