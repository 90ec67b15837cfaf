//! Parses SCION paths in packets, and reverses them for answers.

use crate::packet::{Hop, Info, ScionPath, Segment};

/// The length of the path meta header, an info field and a hop field in bytes.
pub(super) const META: usize = 4;
/// See [`META`].
pub(super) const INFO: usize = 8;
/// See [`META`].
pub(super) const HOP: usize = 12;

/// The maximum number of hop fields that CurrHF can count.
const MAX_HOPS: usize = 64;

impl ScionPath {
    /// Parses a path. Returns `None` if there are gaps between segments, too many hops or too few bytes, or if CurrINF
    /// and CurrHF do not match. Extra bytes are ignored.
    pub(super) fn parse(bytes: &[u8]) -> Option<ScionPath> {
        let meta = u32::from_be_bytes(bytes.get(..META)?.try_into().ok()?);
        let lengths = [12, 6, 0].map(|shift| (meta >> shift & 0x3f) as usize);
        let count = lengths.iter().rposition(|l| *l != 0)? + 1;
        let hops: usize = lengths.iter().sum();
        if lengths[..count].contains(&0) || hops > MAX_HOPS {
            return None;
        }
        let (infos, rest) = bytes[META..].split_at_checked(INFO * count)?;
        let mut rest = rest.get(..HOP * hops)?.chunks_exact(HOP);
        let segments = infos.chunks_exact(INFO).zip(lengths).map(|(info, length)| Segment {
            info: Info::parse(info),
            hops: rest.by_ref().take(length).map(Hop::parse).collect(),
        });
        let path = ScionPath {
            curr_inf: (meta >> 30) as u8,
            curr_hf: (meta >> 24 & 0x3f) as u8,
            segments: segments.collect(),
        };
        (path.segment_of(path.curr_hf) == Some(path.curr_inf)).then_some(path)
    }

    /// The number of hop fields in all segments.
    pub(super) fn hop_count(&self) -> usize {
        self.segments.iter().map(|s| s.hops.len()).sum()
    }

    /// The index of the segment that contains a hop.
    fn segment_of(&self, hop: u8) -> Option<u8> {
        let mut end = 0;
        let found = self.segments.iter().position(|s| {
            end += s.hops.len();
            usize::from(hop) < end
        });
        found.map(|s| s as u8)
    }

    /// The current segment's info field.
    pub(super) fn info(&self) -> &Info {
        &self.segments[usize::from(self.curr_inf)].info
    }

    /// The current segment's info field and the current hop field.
    pub(super) fn current(&mut self) -> (&mut Info, &mut Hop) {
        let before: usize = self.segments[..usize::from(self.curr_inf)].iter().map(|s| s.hops.len()).sum();
        let segment = &mut self.segments[usize::from(self.curr_inf)];
        (&mut segment.info, &mut segment.hops[usize::from(self.curr_hf) - before])
    }

    /// Whether the current hop is at a peering link. `None` if the path claims to be a peering path but cannot be one.
    pub(super) fn is_peering(&self) -> Option<bool> {
        if !self.info().peering {
            return Some(false);
        }
        let [first, _] = self.segments.as_slice() else { return None };
        let (hop, length) = (usize::from(self.curr_hf), first.hops.len());
        Some(hop + 1 == length || hop == length)
    }

    /// Whether the next hop belongs to another segment.
    pub(super) fn segment_ends(&self) -> bool {
        self.segment_of(self.curr_hf + 1).is_some_and(|next| next != self.curr_inf)
    }

    /// Advances to the next hop. Returns `None` and changes nothing if there is none.
    pub(super) fn advance(&mut self) -> Option<()> {
        self.curr_inf = self.segment_of(self.curr_hf + 1)?;
        self.curr_hf += 1;
        Some(())
    }

    /// Returns the reversed path, at the same hop.
    pub(super) fn reversed(mut self) -> ScionPath {
        self.curr_inf = self.segments.len() as u8 - 1 - self.curr_inf;
        self.curr_hf = self.hop_count() as u8 - 1 - self.curr_hf;
        self.segments.reverse();
        for segment in &mut self.segments {
            segment.info.cons_dir = !segment.info.cons_dir;
            segment.hops.reverse();
        }
        self
    }

    /// Adds the current hop to the chain of MACs, or removes it (the operation is its own inverse).
    pub(super) fn chain(&mut self) {
        let (info, hop) = self.current();
        info.seg_id ^= hop.chain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Path;

    fn segment(cons_dir: bool, length: u16) -> Segment {
        let info = Info { peering: false, cons_dir, seg_id: 7 * length, timestamp: 99 };
        let hop = |i| Hop { mac: [i as u8, 2, 3, 4, 5, 6], ingress_alert: i == 1, ..Hop::new(i, i + 1) };
        Segment { info, hops: (0..length).map(hop).collect() }
    }

    fn bytes(path: &ScionPath) -> Vec<u8> {
        Path::Scion(path.clone()).pack().1
    }

    #[test]
    fn reads_what_was_packed() {
        for (hop, lengths) in [(0, vec![2]), (4, vec![3, 2]), (63, vec![20, 20, 24])] {
            let path = ScionPath::at(hop, lengths.iter().map(|l| segment(true, *l)).collect());
            let packed = bytes(&path);
            assert_eq!(ScionPath::parse(&packed), Some(path.clone()));
            assert_eq!(ScionPath::parse(&[packed.as_slice(), &[1; 4]].concat()), Some(path));
            assert_eq!(ScionPath::parse(&packed[..packed.len() - 1]), None);
        }
    }

    #[test]
    fn refuses_what_is_none() {
        let good = bytes(&ScionPath::at(1, vec![segment(true, 3), segment(false, 2)]));
        let with_meta = |meta: u32| [&meta.to_be_bytes(), &good[4..]].concat();
        let lengths = |a: u32, b: u32, c: u32| a << 12 | b << 6 | c;
        assert!(ScionPath::parse(&with_meta(1 << 24 | lengths(3, 2, 0))).is_some());
        for meta in [
            0,
            lengths(0, 2, 0),
            lengths(2, 0, 2),
            1 << 30 | lengths(3, 2, 0),
            3 << 24 | lengths(3, 2, 0),
            5 << 24 | lengths(3, 2, 0),
            2 << 30 | 5 << 24 | lengths(3, 2, 0),
        ] {
            assert_eq!(ScionPath::parse(&with_meta(meta)), None, "{meta:x}");
        }
        let long = [&lengths(30, 30, 5).to_be_bytes()[..], &[0; 1000]].concat();
        assert_eq!(ScionPath::parse(&long), None);
        assert_eq!(ScionPath::parse(&[0; 3]), None);
    }

    #[test]
    fn there_and_back() {
        let path = ScionPath::at(1, vec![segment(true, 3), segment(false, 2)]);
        let back = path.clone().reversed();
        assert_eq!((back.curr_inf, back.curr_hf), (1, 3));
        assert_eq!((back.segments[0].hops.len(), back.segments[0].info.cons_dir), (2, true));
        assert_eq!(back.segments[1].hops[1], path.segments[0].hops[1]);
        assert_eq!(back.reversed(), path);
    }

    #[test]
    fn advancing() {
        let mut path = ScionPath::at(1, vec![segment(true, 3), segment(false, 2)]);
        assert!(!path.segment_ends());
        path.advance().unwrap();
        assert!(path.segment_ends());
        path.advance().unwrap();
        assert_eq!((path.curr_inf, path.curr_hf), (1, 3));
        path.advance().unwrap();
        let end = path.clone();
        assert!(path.advance().is_none() && !path.segment_ends());
        assert_eq!(path, end);
    }

    #[test]
    fn peering() {
        let mut path = ScionPath::at(1, vec![segment(true, 2), segment(false, 2)]);
        assert_eq!(path.is_peering(), Some(false));
        path.segments[0].info.peering = true;
        assert_eq!(path.is_peering(), Some(true));
        path.curr_hf = 0;
        assert_eq!(path.is_peering(), Some(false));
        path.segments.pop();
        assert_eq!(path.is_peering(), None);
    }
}
