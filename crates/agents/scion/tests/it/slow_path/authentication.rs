//! Authenticators of errors and of traceroute replies.

use super::*;

#[test]
fn authenticated() {
    let mut f = transit();
    path(&mut f).segments[0].hops[1].mac[0] ^= 1;
    let (_, Outcome::Reply(_, plain)) = rich().answered(4, &f.pack(), None) else { panic!() };
    let (_, Outcome::Reply(_, signed)) = rich().answered(4, &f.pack(), Some(&ZERO_KEYS)) else { panic!() };
    assert_eq!(signed.len(), plain.len() + 32);
    let path_end = 42 + usize::from(plain[42 + 5]) * 4;
    assert_eq!((signed[42 + 4], &signed[path_end..path_end + 8]), (END_TO_END, &[202, 7, 2, 28, 0, 0, 0, 1][..]));
    assert_eq!(signed[path_end + 32..], plain[path_end..]);
    assert_ne!(signed[path_end + 16..path_end + 32], [0; 16]);
    assert_eq!(checksum_fault(&signed), None);

    // A traceroute reply only if the request was.
    let mut f = transit();
    path(&mut f).segments[0].hops[1].ingress_alert = true;
    (f.scion.next_hdr, f.scion.payload) = (SCMP, traceroute());
    let (_, Outcome::Reply(_, reply)) = rich().answered(4, &f.pack(), Some(&ZERO_KEYS)) else { panic!() };
    assert_eq!(reply[42 + 4], SCMP);
}
