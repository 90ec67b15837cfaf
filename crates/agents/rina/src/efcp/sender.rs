//! The sender's end of a connection.

use std::collections::VecDeque;
use std::time::Duration;

use super::congestion::{Acknowledged, CongestionWindow};
use super::{Ack, FRAGMENT, Qos, extend};
use crate::pdu::{MORE, REST};

/// PDUs that may wait to be sent, and of these PDUs of layer management of the DIF above. It sends again what had no room: what flooding has under
/// way to one neighbour at a time fits.
const QUEUE: usize = 256;
const FIRST: usize = 64;
/// How many later PDUs must have arrived before one is taken as lost (RFC 6675).
const REORDERING: u64 = 3;
const FIRST_TIMEOUT: Duration = Duration::from_millis(200);
const LEAST_TIMEOUT: Duration = Duration::from_millis(50);
const LONGEST_TIMEOUT: Duration = Duration::from_millis(400);
/// The timer doubles up to this, or to what round trips take. Small, so that a flow goes on soon after its path has changed.
const BACKOFF: Duration = Duration::from_millis(100);
/// Time without progress after which the connection is given up. A receiver that acknowledges without giving credit is waited for.
/// No PDU is sent again later than this: R of delta-t.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// An SDU, or a part of one, with the flags of its PDU.
#[derive(Debug)]
struct Part {
    flags: u8,
    /// It goes before others.
    first: bool,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Sent {
    number: u64,
    part: Part,
    at: Duration,
    again: bool,
    arrived: bool,
    /// It is to be sent again.
    lost: bool,
}

/// What has been sent, what waits, and how much may be under way.
#[derive(Debug)]
pub(crate) struct Sender {
    reliable: bool,
    queue: VecDeque<Part>,
    /// Not acknowledged, in order.
    sent: VecDeque<Sent>,
    next: u64,
    /// The first number beyond the receiver's credit.
    edge: u64,
    /// One PDU beyond the credit may be sent, whose acknowledgement says how much there is.
    probe: bool,
    /// The first PDU has to be acknowledged before the next one is sent.
    alone: bool,
    /// Bytes of an SDU in a PDU, at most.
    part: usize,
    /// SDUs that the application has sent.
    pushed: u64,
    /// The last number beyond which PDUs arrived.
    highest: u64,
    congestion: Box<dyn CongestionWindow>,
    most: f64,
    /// Received and marked PDUs of the last acknowledgement.
    counted: (u32, u32),
    /// No further reduction for losses before this one is acknowledged.
    recovery: u64,
    rtt: Option<(Duration, Duration)>,
    timeout: Duration,
    /// Since when nothing was acknowledged.
    waiting_since: Option<Duration>,
    progress: Duration,
    broken: bool,
    pacer: Option<Pacer>,
    /// PDUs sent again.
    pub retransmitted: u64,
    /// PDUs sent for the first time.
    pub pdus: u64,
    /// Marks that acknowledgements have reported.
    pub marked: u64,
}

impl Sender {
    pub(crate) fn new(qos: &Qos) -> Sender {
        Sender {
            reliable: qos.reliable,
            queue: VecDeque::new(),
            sent: VecDeque::new(),
            next: 0,
            edge: u64::from(qos.window.max(1)),
            probe: false,
            alone: false,
            part: FRAGMENT,
            pushed: 0,
            highest: 0,
            congestion: qos.congestion.begin(f64::from(qos.window.max(2))),
            most: f64::from(qos.window.max(2)),
            counted: (0, 0),
            recovery: 0,
            rtt: None,
            timeout: FIRST_TIMEOUT,
            waiting_since: None,
            progress: Duration::ZERO,
            broken: false,
            pacer: qos.rate.map(Pacer::new),
            retransmitted: 0,
            pdus: 0,
            marked: 0,
        }
    }

    /// Whether there is room for one more SDU.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < QUEUE
    }

    /// Whether there is room for one more SDU that goes before others.
    pub(crate) fn has_room_first(&self) -> bool {
        self.first() < FIRST
    }

    /// Parts that go before others, or belong to an SDU that has begun.
    fn first(&self) -> usize {
        self.queue.iter().take_while(|part| part.first || part.flags & REST != 0).count()
    }

    /// Sets how many bytes of an SDU have room in a PDU, [`FRAGMENT`] at most.
    pub(crate) fn set_part(&mut self, part: usize) {
        self.part = part.min(FRAGMENT);
    }

    /// An SDU to send.
    pub(crate) fn push(&mut self, sdu: &[u8]) {
        self.insert(self.queue.len(), sdu, self.part, false);
    }

    /// A PDU of the DIF above. With `first` it goes before those that wait without, but not into the middle of one. With `whole` it is sent in
    /// one PDU.
    pub(crate) fn push_carried(&mut self, sdu: &[u8], first: bool, whole: bool) {
        let at = if first { self.first() } else { self.queue.len() };
        self.insert(at, sdu, if whole { sdu.len().max(1) } else { self.part }, first);
    }

    fn insert(&mut self, mut at: usize, sdu: &[u8], part: usize, first: bool) {
        self.pushed += 1;
        let (mut rest, mut begun) = (sdu, 0);
        while rest.len() > part {
            let (bytes, more) = rest.split_at(part);
            self.queue.insert(at, Part { flags: begun | MORE, first, bytes: bytes.to_vec() });
            (rest, begun, at) = (more, REST, at + 1);
        }
        self.queue.insert(at, Part { flags: begun, first, bytes: rest.to_vec() });
    }

    /// SDUs that are acknowledged, or sent without retransmission.
    pub(crate) fn delivered(&self) -> u64 {
        let waiting = self.queue.iter().chain(self.sent.iter().filter(|sent| !sent.arrived).map(|sent| &sent.part));
        self.pushed - waiting.filter(|part| part.flags & MORE == 0).count() as u64
    }

    /// Sends nothing but the first PDU until it is acknowledged.
    pub(crate) fn begin_alone(&mut self) {
        self.alone = self.reliable;
    }

    /// PDUs that have been sent.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// SDUs that the application has sent.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Whether everything has been sent and acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.sent.is_empty()
    }

    /// Whether the receiver has been silent for too long.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    /// PDUs that may be under way.
    pub(crate) fn window(&self) -> f64 {
        self.congestion.window()
    }

    /// When [`Sender::poll`] has something to do, if nothing happens before.
    pub(crate) fn due(&self) -> Option<Duration> {
        let timer = self.waiting_since.map(|since| since + self.timeout);
        let sends = || !self.queue.is_empty() && (!self.reliable || self.may_send(self.under_way()));
        let paced = self.pacer.as_ref().filter(|_| sends()).map(|pacer| pacer.due);
        [timer, paced].into_iter().flatten().min()
    }

    /// PDUs that may be on their way.
    fn under_way(&self) -> usize {
        self.sent.iter().filter(|sent| !sent.arrived && !sent.lost).count()
    }

    /// Whether credit and window let another PDU leave.
    fn may_send(&self, under_way: usize) -> bool {
        let first = self.alone && self.next > 0;
        !first && self.next < self.edge + u64::from(self.probe) && (under_way as f64) < self.window().min(self.most)
    }

    /// Whether the receiver takes nothing at present: the first PDU that it has not acknowledged is beyond its credit.
    fn is_shut(&self) -> bool {
        self.sent.front().map_or(self.next, |sent| sent.number) >= self.edge
    }

    /// Sends what may be sent, by number, flags and bytes.
    pub(crate) fn poll(&mut self, now: Duration, send: &mut dyn FnMut(u32, u8, &[u8])) {
        if !self.reliable {
            while self.queue.front().is_some_and(|part| pace(&mut self.pacer, part.bytes.len(), now))
                && let Some(part) = self.queue.pop_front()
            {
                send(self.next as u32, part.flags, &part.bytes);
                self.next += 1;
                self.pdus += 1;
            }
            return;
        }
        if self.waiting_since.is_none() && !self.queue.is_empty() {
            (self.waiting_since, self.progress) = (Some(now), now);
        }
        if let Some(since) = self.waiting_since
            && now.saturating_sub(since) >= self.timeout
        {
            self.time_out(now);
        }
        self.find_lost(now);
        let window = self.window().min(self.most);
        let mut under_way = self.under_way();
        for (i, sent) in self.sent.iter_mut().enumerate().filter(|(_, sent)| sent.lost) {
            // The first one goes at once: nothing is acknowledged before it arrives.
            if i > 0 && under_way as f64 >= window {
                return;
            }
            (sent.at, sent.again, sent.lost) = (now, true, false);
            self.retransmitted += 1;
            under_way += 1;
            send(sent.number as u32, sent.part.flags, &sent.part.bytes);
        }
        while self.may_send(under_way) {
            let pacer = &mut self.pacer;
            let Some(part) = self.queue.pop_front_if(|part| pace(pacer, part.bytes.len(), now)) else { break };
            send(self.next as u32, part.flags, &part.bytes);
            self.sent.push_back(Sent { number: self.next, part, at: now, again: false, arrived: false, lost: false });
            self.next += 1;
            self.pdus += 1;
            under_way += 1;
            self.probe = false;
        }
    }

    /// What others have overtaken is lost.
    fn find_lost(&mut self, now: Duration) {
        let patience = self.rtt.map_or(FIRST_TIMEOUT, |(mean, deviation)| mean + 4 * deviation);
        let mut lost = false;
        for sent in &mut self.sent {
            if sent.number + REORDERING > self.highest {
                break;
            }
            if sent.arrived || sent.lost || sent.again && now.saturating_sub(sent.at) < patience {
                continue;
            }
            sent.lost = true;
            lost = true;
        }
        let first = self.sent.front().map_or(self.next, |sent| sent.number);
        if lost && first >= self.recovery {
            self.recovery = self.next;
            self.congestion.lost();
        }
    }

    /// The timer has run out: everything counts as lost, and is sent again as the window grows (RFC 5681, 3.1).
    fn time_out(&mut self, now: Duration) {
        self.waiting_since = Some(now);
        if now.saturating_sub(self.progress) >= PATIENCE {
            self.broken = true;
        }
        self.timeout = (self.timeout * 2).min(self.estimate().unwrap_or(FIRST_TIMEOUT).max(BACKOFF));
        if self.sent.is_empty() {
            self.probe = true;
            return;
        }
        if self.is_shut() {
            // Not the path's fault: the receiver has no room.
            for sent in &mut self.sent {
                sent.lost = !sent.arrived;
            }
            return;
        }
        self.congestion.timed_out();
        self.recovery = self.next;
        for sent in &mut self.sent {
            sent.lost = !sent.arrived;
        }
    }

    /// Takes an acknowledgement.
    pub(crate) fn acknowledge(&mut self, ack: &Ack, now: Duration) {
        let first = self.sent.front().map_or(self.next, |sent| sent.number);
        let Some(next) = extend(ack.next, first).filter(|next| (first..=self.next).contains(next)) else { return };
        self.edge = self.edge.max(extend(ack.edge, next).unwrap_or_default());
        let mut newly = 0;
        let mut sample = None;
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.number < next) {
            newly += u32::from(!sent.arrived);
            sample = (!sent.again && !sent.arrived).then(|| now.saturating_sub(sent.at)).or(sample);
        }
        self.highest = self.highest.max(next);
        let mut ranges =
            ack.ranges.iter().filter_map(|(begin, end)| Some((extend(*begin, next)?, extend(*end, next)?)));
        let mut range = ranges.next();
        for sent in &mut self.sent {
            while range.is_some_and(|(_, end)| end <= sent.number) {
                range = ranges.next();
            }
            if !sent.arrived && range.is_some_and(|(begin, end)| (begin..end).contains(&sent.number)) {
                (sent.arrived, sent.lost) = (true, false);
                newly += 1;
                self.highest = self.highest.max(sent.number + 1);
            }
        }
        if newly > 0 {
            self.alone = false;
            self.progress = now;
            self.waiting_since = (!self.is_empty()).then_some(now);
            if let Some(sample) = sample {
                self.measure(sample);
            }
            self.timeout = self.estimate().unwrap_or(self.timeout);
        } else if self.is_empty() {
            self.waiting_since = None;
        } else if self.is_shut() {
            self.progress = now;
        }
        self.adapt(ack, next, f64::from(newly), now, sample);
    }

    /// The time after which what is not acknowledged is lost, by the round-trip times so far.
    fn estimate(&self) -> Option<Duration> {
        self.rtt.map(|(mean, deviation)| (mean + 4 * deviation).clamp(LEAST_TIMEOUT, LONGEST_TIMEOUT))
    }

    /// Round-trip times (RFC 6298).
    fn measure(&mut self, sample: Duration) {
        self.rtt = Some(match self.rtt {
            None => (sample, sample / 2),
            Some((mean, deviation)) => ((7 * mean + sample) / 8, (3 * deviation + mean.abs_diff(sample)) / 4),
        });
    }

    /// Tells congestion control what an acknowledgement says.
    fn adapt(&mut self, ack: &Ack, number: u64, newly: f64, now: Duration, round_trip: Option<Duration>) {
        let (received, marked) = (ack.received.wrapping_sub(self.counted.0), ack.marked.wrapping_sub(self.counted.1));
        // An older one that was overtaken, or nonsense.
        let sane = received < 1 << 20 && marked <= received;
        let (received, marked) = if sane { (received, marked) } else { (0, 0) };
        if sane {
            self.counted = (ack.received, ack.marked);
        }
        self.marked += u64::from(marked);
        let next = self.next;
        self.congestion.acknowledged(&Acknowledged { newly, received, marked, number, next, now, round_trip });
    }
}

fn pace(pacer: &mut Option<Pacer>, bytes: usize, now: Duration) -> bool {
    pacer.as_mut().is_none_or(|pacer| pacer.take(bytes, now))
}

/// Keeps a sender to a rate.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Bits a second.
    rate: u64,
    /// When the next SDU may leave.
    due: Duration,
}

impl Pacer {
    /// How much a sender that was late may catch up.
    const BURST: Duration = Duration::from_millis(10);

    pub(crate) fn new(rate: u64) -> Pacer {
        Pacer { rate: rate.max(1), due: Duration::ZERO }
    }

    /// Whether this many bytes may leave, which are counted then.
    fn take(&mut self, bytes: usize, now: Duration) -> bool {
        if now < self.due {
            return false;
        }
        let time = Duration::from_nanos((bytes as u64).saturating_mul(8_000_000_000) / self.rate);
        self.due = self.due.max(now.saturating_sub(Pacer::BURST)) + time;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::qos;
    use super::*;

    #[test]
    fn a_rate_is_kept() {
        let mut sender = Sender::new(&Qos { rate: Some(8_000_000), ..qos(false) });
        let mut bytes = 0;
        for ms in 0..1000 {
            while sender.has_room() {
                sender.push(&[0; 1000]);
            }
            sender.poll(Duration::from_millis(ms), &mut |_, _, sdu| bytes += sdu.len());
        }
        assert!((980_000..1_030_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn a_receiver_without_room_is_probed() {
        let mut sender = Sender::new(&Qos { window: 1, ..qos(true) });
        for _ in 0..3 {
            sender.push(&[1]);
        }
        let mut sent = Vec::new();
        sender.poll(Duration::ZERO, &mut |number, _, _| sent.push(number));
        let ack = Ack { next: 1, edge: 1, received: 1, marked: 0, ranges: vec![] };
        sender.acknowledge(&ack, Duration::from_millis(1));
        sender.poll(Duration::from_millis(2), &mut |number, _, _| sent.push(number));
        assert_eq!(sent, [0]);
        sender.poll(Duration::from_secs(1), &mut |number, _, _| sent.push(number));
        assert_eq!(sent, [0, 1]);
        // For as long as it acknowledges, and not longer.
        for second in 2..200 {
            sender.acknowledge(&ack, Duration::from_secs(second));
            sender.poll(Duration::from_secs(second), &mut |number, _, _| sent.push(number));
            assert!(!sender.broken());
        }
        assert!(sent.len() > 190 && sent[2..].iter().all(|number| *number == 1), "one PDU is the probe");
        let ack = Ack { next: 2, edge: 3, ..ack };
        sender.acknowledge(&ack, Duration::from_secs(200));
        sender.poll(Duration::from_secs(200), &mut |number, _, _| sent.push(number));
        assert_eq!(sent.last(), Some(&2), "credit is used at once");
        for second in 200..240 {
            sender.poll(Duration::from_secs(second), &mut |_, _, _| {});
        }
        assert!(sender.broken());
    }

    #[test]
    fn acknowledgements_of_what_was_never_sent_are_ignored() {
        let mut sender = Sender::new(&qos(true));
        sender.push(&[1]);
        sender.poll(Duration::ZERO, &mut |_, _, _| {});
        sender.acknowledge(&Ack { next: 9, edge: 99, received: 9, marked: 0, ranges: vec![] }, Duration::ZERO);
        assert!(!sender.is_empty());
    }

    #[test]
    fn silence_breaks_a_connection() {
        let mut sender = Sender::new(&qos(true));
        sender.push(&[1]);
        let mut at = Duration::ZERO;
        while !sender.broken() {
            at += Duration::from_millis(100);
            assert!(at < 2 * PATIENCE);
            sender.poll(at, &mut |_, _, _| {});
        }
        assert!(at > PATIENCE);
    }
}
