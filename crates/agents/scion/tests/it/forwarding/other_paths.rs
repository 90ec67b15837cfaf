//! Paths of one hop, BFD, and path types that are not supported.

use super::*;

fn one_hop(f: Frame, path: Path) -> Frame {
    Frame { scion: Scion { path, ..f.scion }, ..f }
}

#[test]
fn one_hop_out() {
    let info = info(true, 0x111);
    let first = Hop::new(0, 2).signed(key().bytes(), info.seg_id, info.timestamp);
    let base = frame("10.0.0.113:30041", INTERNAL, (LOCAL, IsdAs(0x0001_ff00_0000_0102)), ScionPath::at(0, vec![]));
    let f = one_hop(base, Path::OneHop(info, first, Hop::default()));
    let mut out = f.clone();
    out.scion.path = Path::OneHop(Info { seg_id: info.seg_id ^ first.chain(), ..info }, first, Hop::default());
    expect_sent(INTERNAL_PORT, &f, 2, &sent(out, CHILD.1, CHILD.0, |_| {}));

    let with = |path| one_hop(f.clone(), path).pack();
    let (none, hop) = (Hop::default(), Hop { mac: [1; 6], ..first });
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(info, hop, none)), Reason::OneHopMac);
    let against = Info { cons_dir: false, ..info };
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(against, first, none)), Reason::OneHopDirection);
    let elsewhere = Hop { egress: 3, ..first };
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(info, elsewhere, none)), Reason::OneHopDestination);
    let sibling = Hop { egress: 12, ..first };
    expect_reason(INTERNAL_PORT, &with(Path::OneHop(info, sibling, none)), Reason::OneHopInterface);
    let mut stranger = f.clone();
    stranger.scion.src_ia = FAR;
    expect_reason(INTERNAL_PORT, &stranger.pack(), Reason::OneHopSource);
}

#[test]
fn one_hop_in() {
    let info = info(true, 0x111);
    let first = Hop { exp_time: 17, mac: [3; 6], ..Hop::new(0, 9) };
    let old = Hop { ingress_alert: true, mac: [0xee; 6], ..Hop::new(5, 6) };
    let base = frame(CHILD.0, CHILD.1, (IsdAs(0x0001_ff00_0000_0102), LOCAL), ScionPath::at(0, vec![]));
    let f = one_hop(base, Path::OneHop(info, first, old));
    let mut second = Hop { exp_time: 17, ..Hop::new(2, 0) };
    let mac = full_mac(key().bytes(), info.seg_id, info.timestamp, &second);
    second.mac.copy_from_slice(&mac[..6]);
    let mut out = f.clone();
    out.scion.path = Path::OneHop(info, first, second);
    expect_sent(2, &f, INTERNAL_PORT, &sent(out, INTERNAL, "10.0.0.81:21000", |_| {}));

    let mut stranger = f.clone();
    stranger.scion.src_ia = FAR;
    expect_reason(2, &stranger.pack(), Reason::OneHopSource);
    let mut transit = f.clone();
    transit.scion.dst_ia = FAR;
    expect_reason(2, &transit.pack(), Reason::OneHopDestination);
    let mut nobody = f.clone();
    nobody.scion.dst = Host::Service(1);
    expect_reason(2, &nobody.pack(), Reason::OneHopUndeliverable);
}

/// One packet of a link in half a millisecond, whatever the others do; from routers only.
#[test]
fn bfd() {
    let f = |from: (&str, &str), path: &Path| {
        let mut f = raw_frame(from.0.parse().unwrap(), from.1.parse().unwrap(), (LOCAL, LOCAL), path.clone());
        (f.scion.next_hdr, f.scion.payload) = (packet::BFD, vec![0x20; 24]);
        f.pack()
    };
    let one_hop = Path::OneHop(info(true, 0), Hop::new(0, 9), Hop::default());
    let (sibling, host) = (("10.0.0.2:30042", INTERNAL), ("10.0.0.97:30041", INTERNAL));
    let links = [(2, f(CHILD, &one_hop)), (4, f(PARENT, &one_hop)), (INTERNAL_PORT, f(sibling, &Path::Empty))];
    let from_host = f(host, &Path::Empty);
    let start = u64::from(NOW) * 1_000_000;
    for router in rich().iter_mut() {
        let mut at = |now_us: u64, port: u16, bytes: &[u8]| {
            router.now_us = now_us;
            match router.process(port, bytes) {
                Fate::Punted(header, _) => Reason::from_number(header.reason).unwrap(),
                Fate::Dropped(reason) => reason,
                Fate::Sent(..) => Reason::None,
            }
        };
        // Nobody is shut out by a clock that is set back.
        for start in [start + 1_000_000, start] {
            for (later, wanted) in
                [(0, Reason::Bfd), (0, Reason::BfdTooOften), (499, Reason::BfdTooOften), (500, Reason::Bfd)]
            {
                for (port, bytes) in &links {
                    assert_eq!(at(start + later, *port, bytes), wanted, "{later}");
                }
                assert_eq!(at(start + later, INTERNAL_PORT, &from_host), Reason::BfdFromHost);
            }
        }
        router.now_us = start;
    }
}

#[test]
fn other_path_types() {
    let mut f = inbound();
    f.scion.path = Path::Empty;
    expect_reason(2, &f.pack(), Reason::UnsupportedPathType);
    f.scion.path = Path::Raw(9, vec![0; 52]);
    expect_reason(2, &f.pack(), Reason::UnsupportedPathType);
}
