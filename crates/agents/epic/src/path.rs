//! Paths as hosts get them: segments that ASes have constructed hop by hop, with whole hop authenticators.

use crate::cipher::Cipher;
use crate::key::Key;
use crate::packet::{Hop, Info, IsdAs, Segment};

/// What an AS adds to a segment under construction.
#[derive(Clone, Copy, Debug)]
pub struct BeaconHop<'a> {
    /// The AS.
    pub ia: IsdAs,
    /// Its key for hop authenticators.
    pub key: &'a Key,
    /// The interface by which construction enters, 0 at the first AS.
    pub ingress: u16,
    /// The interface by which it leaves, 0 at the last AS.
    pub egress: u16,
}

/// A hop that an AS has authorised.
#[derive(Clone, Debug)]
pub struct AuthorisedHop {
    /// The AS.
    pub ia: IsdAs,
    /// The hop field of level 0.
    pub hop: Hop,
    /// The whole hop authenticator, which only those know that may use the path at level 1 and above.
    pub sigma: Key,
}

/// A segment, with hops in the order in which packets take them.
#[derive(Clone, Debug)]
pub struct PathSegment {
    /// As the source sends it.
    pub info: Info,
    /// The hops.
    pub hops: Vec<AuthorisedHop>,
}

/// A path of one to three segments.
#[derive(Clone, Debug)]
pub struct Path {
    /// Whose tags these are.
    pub cipher: Cipher,
    /// The segments, in the order in which packets take them.
    pub segments: Vec<PathSegment>,
}

impl PathSegment {
    /// Constructs a segment: each AS authorises its hop and chains it to those before. The segment is for packets in direction
    /// of construction.
    pub fn construct(cipher: Cipher, timestamp: u32, seg_id: u16, exp_time: u8, hops: &[BeaconHop<'_>]) -> PathSegment {
        let info = Info { cons_dir: true, seg_id, timestamp };
        let mut chain = seg_id;
        let hops = hops.iter().map(|beacon| {
            let mut hop = Hop { exp_time, cons_ingress: beacon.ingress, cons_egress: beacon.egress, ..Hop::default() };
            let sigma = cipher.sigma(beacon.key, chain, timestamp, &hop);
            let shown = cipher.shorten(sigma);
            hop.chain = [shown[0], shown[1]];
            hop.hvf = [shown[2], shown[3], shown[4], shown[5]];
            chain ^= u16::from_be_bytes(hop.chain);
            AuthorisedHop { ia: beacon.ia, hop, sigma: sigma.into() }
        });
        let hops = hops.collect();
        PathSegment { info, hops }
    }

    /// The same for packets in the other direction.
    #[must_use]
    pub fn reversed(mut self) -> PathSegment {
        self.info.cons_dir = !self.info.cons_dir;
        // The last AS's chain: all hops before it.
        let others = self.hops.len().saturating_sub(1);
        self.info.seg_id =
            self.hops[..others].iter().fold(self.info.seg_id, |id, h| id ^ u16::from_be_bytes(h.hop.chain));
        self.hops.reverse();
        self
    }
}

impl Path {
    /// The hops of all segments in order.
    pub fn hops(&self) -> impl Iterator<Item = &AuthorisedHop> {
        self.segments.iter().flat_map(|s| &s.hops)
    }

    /// The segments of a level 0 packet.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let segment = |s: &PathSegment| Segment { info: s.info, hops: s.hops.iter().map(|h| h.hop).collect() };
        self.segments.iter().map(segment).collect()
    }
}
