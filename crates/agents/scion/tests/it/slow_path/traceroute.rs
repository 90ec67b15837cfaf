//! Traceroute requests, and other packets with a router alert.

use super::*;

#[test]
fn traceroutes() {
    let request = |mut f: Frame, ingress: bool, egress: bool| {
        (f.scion.next_hdr, f.scion.payload) = (SCMP, traceroute());
        let p = path(&mut f);
        let hop = &mut p.segments[usize::from(p.curr_inf)].hops[usize::from(p.curr_hf)];
        (hop.ingress_alert, hop.egress_alert) = (ingress, egress);
        f
    };
    let cleared = |p: &mut ScionPath| {
        let hop = &mut p.segments[0].hops[1];
        (hop.ingress_alert, hop.egress_alert) = (false, false);
    };
    let f = request(transit(), true, false);
    expect(4, &f, Reason::IngressAlert, &traceroute_reply(4), cleared, to_outside);
    let f = request(transit(), false, true);
    expect(4, &f, Reason::EgressAlert, &traceroute_reply(2), cleared, to_outside);
    // Each alert is for one router: the other stays.
    let f = request(transit(), true, true);
    expect(
        4,
        &f,
        Reason::IngressAlert,
        &traceroute_reply(4),
        |p| p.segments[0].hops[1].ingress_alert = false,
        to_outside,
    );
    let f = request(upwards(), false, true);
    let back = |p: &mut ScionPath| {
        reverse(p);
        chain(p, 0, 1);
        p.curr_hf += 1;
    };
    let before = |p: &mut ScionPath| {
        chain(p, 0, 1);
        cleared(p);
    };
    expect(2, &f, Reason::IngressAlert, &traceroute_reply(2), before, back);
    let f = request(upwards(), true, false);
    expect(2, &f, Reason::EgressAlert, &traceroute_reply(4), before, back);
}

#[test]
fn an_alert_without_a_request_comes_back() {
    let mut f = upwards();
    path(&mut f).segments[0].hops[1].egress_alert = true;
    for (next_hdr, payload) in
        [(UDP, udp_payload(1, 2, b"x")), (SCMP, vec![128, 0, 0, 0, 1, 2, 3, 4]), (SCMP, vec![130])]
    {
        (f.scion.next_hdr, f.scion.payload) = (next_hdr, payload);
        let mut wanted = f.clone();
        (wanted.src, wanted.dst, wanted.src_mac, wanted.dst_mac) = (f.dst, f.src, f.dst_mac, f.src_mac);
        (wanted.ttl, wanted.tos) = (64, 0);
        chain(path(&mut wanted), 0, 1);
        path(&mut wanted).segments[0].hops[1].egress_alert = false;
        let (_, outcome) = rich().answered(2, &f.pack(), None);
        assert_eq!(outcome, Outcome::Bounce(wanted.pack()));
    }
}
