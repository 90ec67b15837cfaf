//! Data transfer: EFCP connections, as state machines.
//!
//! A connection without retransmission only numbers its PDUs; [`Pacer`](sender::Pacer) keeps it to its rate. One with
//! retransmission is a sliding window over PDUs:
//!
//! - [`sender`]: what waits for acknowledgement, and the retransmission timer (RFC 6298).
//! - [`congestion`]: how many PDUs may be under way.
//! - [`receiver`]: order, what is missing, and the credit that the receiver gives.
//! - [`Ack`]: what an acknowledgement says.
//!
//! SDUs of more than [`FRAGMENT`] bytes take several PDUs with consecutive numbers, whose flags say where an SDU begins and ends
//! ([`crate::pdu::MORE`], [`crate::pdu::REST`]). Without retransmission an SDU is lost with any of its PDUs.
//!
//! An acknowledgement is a control PDU, `ACK_FLOW` or `SACK_FLOW`. Behind the header, in network byte order: the number of
//! the PDU expected next (4 bytes), the first number beyond the credit (4), PDUs received (4), and PDUs received with the
//! congestion flag (4); in `SACK_FLOW` up to [`RANGES`] pairs of 4 bytes, ranges received beyond what is missing.

pub mod congestion;
pub(crate) mod receiver;
pub(crate) mod sender;

/// Longest SDU of an application, in bytes.
pub const LONGEST_SDU: usize = 1 << 16;
/// Bytes of an SDU in a PDU, at most.
pub(crate) const FRAGMENT: usize = 1400;
/// Ranges in an acknowledgement, at most.
pub(crate) const RANGES: usize = 16;

/// A QoS cube of a DIF: what flows of this class get. All members of the DIF have the same cubes.
#[derive(Clone, Debug, PartialEq)]
pub struct Qos {
    /// Its number in PDUs.
    pub id: u16,
    /// Its name.
    pub name: String,
    /// SDUs arrive all, once and in order.
    pub reliable: bool,
    /// PDUs that may be under way, at most.
    pub window: u32,
    /// How many of them may be, depending on losses and marks.
    pub congestion: &'static dyn congestion::CongestionPolicy,
    /// Bits of SDUs a second, at most.
    pub rate: Option<u64>,
    /// The egress queue of routers.
    pub priority: u8,
}

/// What an acknowledgement says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The PDU expected next.
    pub next: u32,
    /// The first PDU beyond the credit.
    pub edge: u32,
    /// PDUs received, and those with the congestion flag; both wrap around.
    pub received: u32,
    pub marked: u32,
    /// Ranges received beyond what is missing, in order, each with the first number beyond it.
    pub ranges: Vec<(u32, u32)>,
}

impl Ack {
    pub(crate) fn write(&self) -> Vec<u8> {
        let fixed = [self.next, self.edge, self.received, self.marked];
        let ranges = self.ranges.iter().take(RANGES).flat_map(|(begin, end)| [*begin, *end]);
        fixed.into_iter().chain(ranges).flat_map(u32::to_be_bytes).collect()
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Ack> {
        let (words, rest) = bytes.as_chunks::<4>();
        let words: Vec<u32> = words.iter().take(4 + 2 * RANGES).map(|word| u32::from_be_bytes(*word)).collect();
        let (&[next, edge, received, marked], ranges) = words.split_first_chunk()?;
        let (pairs, single) = ranges.as_chunks::<2>();
        let whole = rest.is_empty() && single.is_empty();
        whole.then(|| Ack { next, edge, received, marked, ranges: pairs.iter().map(|[a, b]| (*a, *b)).collect() })
    }
}

/// The number of 64 bits that is nearest to one that is known and ends in these 32 bits. None if it is negative.
pub(crate) fn extend(low: u32, near: u64) -> Option<u64> {
    near.checked_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Duration;

    use super::receiver::Receiver;
    use super::sender::Sender;
    use super::*;
    use crate::pdu::CONGESTION;

    #[test]
    fn acknowledgements_are_read_as_written() {
        for ranges in [vec![], vec![(5, 7)], vec![(1, 2); RANGES]] {
            let ack = Ack { next: 1, edge: u32::MAX, received: 3, marked: 4, ranges };
            let bytes = ack.write();
            assert_eq!(Ack::parse(&bytes), Some(ack));
            assert_eq!(Ack::parse(&bytes[1..]), None);
        }
        assert_eq!(Ack::parse(&[0; 20]), None);
    }

    #[test]
    fn numbers_are_extended() {
        assert_eq!(extend(5, 3), Some(5));
        assert_eq!(extend(2, 0xffff_fffe), Some(0x1_0000_0002));
        assert_eq!(extend(0xffff_ffff, 0x1_0000_0001), Some(0xffff_ffff));
        assert_eq!(extend(0xffff_ffff, 3), None);
    }

    pub(super) fn qos(reliable: bool) -> Qos {
        let congestion = congestion::POLICIES[0];
        Qos { id: 1, name: "test".into(), reliable, window: 64, congestion, rate: None, priority: 0 }
    }

    /// A link with a queue: this many PDUs leave each millisecond, this many may wait, and from a threshold on they are marked.
    struct Link {
        queue: VecDeque<(u32, u8, Vec<u8>)>,
        room: usize,
        threshold: usize,
        longest: usize,
        lost: usize,
    }

    fn short(number: usize) -> Vec<u8> {
        (number as u32).to_be_bytes().to_vec()
    }

    /// Sends `total` SDUs over a link; `lose` says which transmissions are lost. Returns the time it took.
    fn transfer(total: usize, link: &mut Link, lose: impl FnMut(usize, Duration) -> bool) -> (Sender, Duration) {
        transfer_of(&qos(true), total, short, link, lose)
    }

    /// The same for SDUs by their number.
    fn transfer_of(
        qos: &Qos,
        total: usize,
        sdu: fn(usize) -> Vec<u8>,
        link: &mut Link,
        mut lose: impl FnMut(usize, Duration) -> bool,
    ) -> (Sender, Duration) {
        let (mut sender, mut receiver) = (Sender::new(qos), Receiver::new(qos));
        let mut acks: VecDeque<(Duration, Ack)> = VecDeque::new();
        let (mut offered, mut delivered, mut sent) = (0, 0, 0);
        let mut now = Duration::ZERO;
        while delivered < total {
            now += Duration::from_millis(1);
            assert!(now < Duration::from_secs(600), "{delivered} of {total} arrived");
            while offered < total && sender.has_room() {
                sender.push(&sdu(offered));
                offered += 1;
            }
            while let Some((_, ack)) = acks.pop_front_if(|(due, _)| *due <= now) {
                sender.acknowledge(&ack, now);
            }
            sender.poll(now, &mut |number, flags, sdu| {
                sent += 1;
                if lose(sent, now) {
                    return;
                }
                if link.queue.len() >= link.room {
                    link.lost += 1;
                    return;
                }
                let marked = if link.queue.len() >= link.threshold { CONGESTION } else { 0 };
                link.queue.push_back((number, flags | marked, sdu.to_vec()));
                link.longest = link.longest.max(link.queue.len());
            });
            for (number, flags, sdu) in link.queue.drain(..link.queue.len().min(10)) {
                receiver.receive(number, flags, &sdu);
            }
            while let Some(taken) = receiver.pop() {
                assert_eq!(taken, sdu(delivered), "in order, each once");
                delivered += 1;
            }
            if let Some(ack) = receiver.take_ack() {
                acks.push_back((now + Duration::from_millis(1), ack));
            }
            assert!(!sender.broken());
        }
        (sender, now)
    }

    fn wide() -> Link {
        Link { queue: VecDeque::new(), room: usize::MAX, threshold: usize::MAX, longest: 0, lost: 0 }
    }

    #[test]
    fn everything_arrives_whatever_is_lost() {
        for share in [0, 2, 3, 10, 50] {
            transfer(2000, &mut wide(), |sent, _| share > 0 && sent % share == 0);
        }
        // A hundred in a row.
        transfer(2000, &mut wide(), |sent, _| (500..600).contains(&sent));
    }

    #[test]
    fn sdus_of_any_length_arrive() {
        fn sdu(number: usize) -> Vec<u8> {
            const LENGTHS: [usize; 8] = [0, 1, FRAGMENT, FRAGMENT + 1, 2 * FRAGMENT, LONGEST_SDU, 0, 7000];
            vec![number as u8; LENGTHS[number % LENGTHS.len()]]
        }
        for share in [0, 2, 7, 50] {
            // The window is less than what the longest SDU takes.
            let (sender, _) = transfer_of(&qos(true), 80, sdu, &mut wide(), |sent, _| share > 0 && sent % share == 0);
            assert_eq!(sender.pushed(), 80);
        }
    }

    /// What goes first keeps its order, and goes into the middle of nothing.
    #[test]
    fn management_of_the_dif_above_goes_first_and_in_order() {
        let qos = qos(false);
        let (mut sender, mut receiver) = (Sender::new(&qos), Receiver::new(&qos));
        let mut now = Duration::ZERO;
        sender.set_part(300);
        for (number, first) in [(1u8, false), (2, false), (3, true), (4, true), (5, false), (6, true)] {
            sender.push_carried(&vec![number; 700], first, number == 4);
        }
        let mut parts = 0;
        while !sender.is_empty() {
            now += Duration::from_millis(1);
            sender.poll(now, &mut |number, flags, bytes| {
                parts += 1;
                receiver.receive(number, flags, bytes);
            });
        }
        let order: Vec<u8> = std::iter::from_fn(|| receiver.pop()).map(|sdu| sdu[sdu.len() - 700]).collect();
        assert_eq!((order, parts), (vec![3, 4, 6, 1, 2, 5], 16));
    }

    /// A sender that is slow keeps no more of it than there is room for, whatever waits besides.
    #[test]
    fn management_of_the_dif_above_waits_in_a_limited_number() {
        let mut sender = Sender::new(&Qos { rate: Some(1000), ..qos(false) });
        let mut fill = |first: bool| {
            let room = |sender: &Sender| if first { sender.has_room_first() } else { sender.has_room() };
            (0..10_000)
                .take_while(|_| room(&sender).then(|| sender.push_carried(&[7; 100], first, true)).is_some())
                .count()
        };
        assert_eq!((fill(false), fill(true), fill(true)), (256, 64, 0));
        let mut sent = 0;
        sender.poll(Duration::from_secs(1), &mut |_, _, _| sent += 1);
        assert_eq!((sent, sender.has_room_first(), sender.has_room()), (1, true, false));
    }

    #[test]
    fn a_whole_window_that_is_lost_costs_a_timeout() {
        let (sender, time) = transfer(20_000, &mut wide(), |sent, _| (500..564).contains(&sent));
        // Ten a millisecond.
        assert!(time < Duration::from_millis(2500), "{time:?}");
        assert!(sender.retransmitted < 150, "{} were sent again", sender.retransmitted);
    }

    #[test]
    fn marks_keep_the_queue_short_and_the_link_busy() {
        let mut link = Link { room: 200, threshold: 20, ..wide() };
        let (_, time) = transfer(20_000, &mut link, |_, _| false);
        assert_eq!(link.lost, 0);
        assert!(link.longest <= 60, "{} PDUs waited", link.longest);
        // Ten a millisecond.
        assert!(time < Duration::from_millis(2200), "{time:?}");
    }

    /// Whatever the policy, a link is kept busy, whether it marks or loses, and losses end.
    #[test]
    fn each_policy_uses_a_link() {
        for congestion in congestion::POLICIES {
            assert_eq!(congestion::policy(congestion.name()), Some(congestion));
            let name = congestion.name();
            let qos = Qos { congestion, ..qos(true) };
            let mut marking = Link { room: 200, threshold: 20, ..wide() };
            let (sender, time) = transfer_of(&qos, 20_000, short, &mut marking, |_, _| false);
            assert_eq!(marking.lost, 0, "{name}");
            assert!(sender.marked > 0 && marking.longest <= 60, "{name}: {} PDUs waited", marking.longest);
            // Ten a millisecond.
            assert!(time < Duration::from_millis(2500), "{name}: {time:?}");
            let mut small = Link { room: 20, ..wide() };
            let (_, time) = transfer_of(&qos, 20_000, short, &mut small, |_, _| false);
            assert!(time < Duration::from_millis(6000), "{name}: {time:?}");
            // A second of silence.
            let silent = |_, now: Duration| (20..1020).contains(&now.as_millis());
            let (_, time) = transfer_of(&qos, 2000, short, &mut wide(), silent);
            assert!(time < Duration::from_secs(3), "{name}: {time:?}");
        }
        assert!(congestion::policy("none").is_none());
    }

    #[test]
    fn a_full_queue_is_survived() {
        let mut link = Link { room: 20, ..wide() };
        let (_, time) = transfer(20_000, &mut link, |_, _| false);
        assert!(time < Duration::from_millis(6000), "{time:?}");
    }
}
