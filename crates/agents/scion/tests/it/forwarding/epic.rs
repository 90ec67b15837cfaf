//! EPIC paths: timestamps and hop validation fields.

use super::*;

/// A frame with an EPIC-HP path, sent this many microseconds ago and proven to the current hop.
fn epic_frame(src: &str, dst: &str, ias: (IsdAs, IsdAs), mut path: ScionPath, age_us: i64) -> Frame {
    let inside = dst == INTERNAL;
    let mac = path.sign(key().bytes(), !inside).unwrap();
    let sent = (i64::from(NOW) * 1_000_000 - age_us) as u64;
    let epic = Epic { counter: 7, ..Epic::sent_at(sent, path.segments[0].info.timestamp) };
    let mut f = raw_frame(src.parse().unwrap(), dst.parse().unwrap(), ias, Path::Epic(epic, path));
    f.scion.prove(&mac);
    f
}

fn epic(f: &mut Frame) -> &mut Epic {
    let Path::Epic(epic, _) = &mut f.scion.path else { panic!() };
    epic
}

#[test]
fn epic_at_the_last_hop() {
    let path = ScionPath::at(
        3,
        vec![segment(info(false, 0x111), &[(0, 9), (0, 9)]), segment(info(true, 0x222), &[(0, 9), (4, 0)])],
    );
    let mut f = epic_frame(PARENT.0, PARENT.1, (FAR, LOCAL), path.clone(), 1_000_000);
    // Only its own field counts.
    epic(&mut f).penultimate_hvf = [0; 4];
    expect_sent(4, &f, INTERNAL_PORT, &sent(f.clone(), INTERNAL, "10.0.0.81:21000", |_| ()));
    for src in [Host::Ip(ip("2001:db8::1")), Host::Raw(1, vec![3; 8]), Host::Raw(1, (0..12).collect())] {
        let mut path = path.clone();
        let mac = path.sign(key().bytes(), true).unwrap();
        f.scion.src = src;
        f.scion.prove(&mac);
        expect_sent(4, &f, INTERNAL_PORT, &sent(f.clone(), INTERNAL, "10.0.0.81:21000", |_| ()));
    }

    // Whatever the proof covers.
    let changes: [fn(&mut Frame); 6] = [
        |f| epic(f).last_hvf[3] ^= 1,
        |f| epic(f).counter ^= 1,
        |f| epic(f).timestamp -= 1,
        |f| f.scion.src_ia.0 ^= 1,
        |f| f.scion.src = Host::Raw(1, (1..13).collect()),
        |f| f.scion.payload.push(0),
    ];
    for change in changes {
        let mut changed = f.clone();
        change(&mut changed);
        expect_reason(4, &changed.pack(), Reason::EpicHvf);
    }
    // It is looked at only when all the rest is right.
    epic(&mut f).last_hvf[0] ^= 1;
    let mut elsewhere = f.clone();
    elsewhere.scion.dst = Host::Service(1);
    expect_reason(4, &elsewhere.pack(), Reason::NoService);
    let Path::Epic(_, path) = &mut f.scion.path else { panic!() };
    path.segments[1].hops[1].mac[5] ^= 1;
    expect_reason(4, &f.pack(), Reason::InvalidHopMac);
}

#[test]
fn epic_timestamps() {
    let path = ScionPath::at(1, vec![segment(info(false, 0x111), &[(0, 9), (0, 2)])]);
    let at = |age_us| epic_frame(CHILD.0, CHILD.1, (FAR, LOCAL), path.clone(), age_us);
    // Two seconds of life, one second for the clocks; a unit is 21 us.
    for good in [-999_979, -500_000, 0, 2_500_000, 2_999_978] {
        let f = at(good);
        expect_sent(2, &f, INTERNAL_PORT, &delivered(&f, "10.0.0.81:21000"));
    }
    expect_reason(2, &at(3_000_042).pack(), Reason::EpicTooOld);
    expect_reason(2, &at(60_000_000).pack(), Reason::EpicTooOld);
    expect_reason(2, &at(-1_000_042).pack(), Reason::EpicFromFuture);
    expect_reason(2, &at(-60_000_000).pack(), Reason::EpicFromFuture);
}

#[test]
fn epic_at_other_hops() {
    let hops = [(0, 9), (4, 2), (1, 0)];
    let leaves = |p: &mut ScionPath| {
        chain(p, 0, 1);
        p.curr_hf = 2;
    };
    // The last but one.
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &hops)]);
    let mut f = epic_frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path, 0);
    epic(&mut f).last_hvf = [0; 4];
    expect_sent(4, &f, 2, &sent(f.clone(), CHILD.1, CHILD.0, leaves));
    epic(&mut f).penultimate_hvf[0] ^= 1;
    expect_reason(4, &f.pack(), Reason::EpicHvf);
    // An earlier one does not care, nor does it look at the clock.
    let longer = [&hops[..], &[(1, 0)]].concat();
    let path = ScionPath::at(1, vec![segment(info(true, 0x111), &longer)]);
    let mut f = epic_frame(PARENT.0, PARENT.1, (FAR, IsdAs(5)), path, 60_000_000);
    epic(&mut f).penultimate_hvf[0] ^= 1;
    expect_sent(4, &f, 2, &sent(f.clone(), CHILD.1, CHILD.0, leaves));
    // Lengths: the path does not fit, and the header is cut off.
    for bytes in [0, 12, 16, 52] {
        let path = Path::Raw(3, vec![0; bytes]);
        let f = raw_frame(CHILD.0.parse().unwrap(), CHILD.1.parse().unwrap(), (FAR, LOCAL), path);
        expect_reason(2, &f.pack(), Reason::Malformed);
    }
}
