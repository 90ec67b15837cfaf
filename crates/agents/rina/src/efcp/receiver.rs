//! The receiver's end of a connection.

use std::collections::{BTreeMap, VecDeque};

use super::{Ack, Qos, RANGES, extend};

/// Order, what is missing, and what the application has not taken yet.
#[derive(Debug)]
pub(crate) struct Receiver {
    reliable: bool,
    window: u64,
    next: u64,
    /// Beyond what is missing.
    early: BTreeMap<u64, Vec<u8>>,
    /// For the application.
    ready: VecDeque<Vec<u8>>,
    /// SDUs that the application has taken.
    taken: u64,
    /// Without retransmission: which of the 64 numbers below `next` have come; the lowest bit is the last.
    seen: u64,
    /// Numbers are those of one sender.
    numbered: bool,
    received: u32,
    marked: u32,
    /// Whether an acknowledgement is due, and the credit of the last one.
    due: bool,
    edge: u64,
    /// PDUs received.
    pub pdus: u64,
    /// Those that came with the congestion flag.
    pub marks: u64,
    /// Those that had been received before, or there was no credit for.
    pub discarded: u64,
}

impl Receiver {
    pub(crate) fn new(qos: &Qos) -> Receiver {
        Receiver {
            reliable: qos.reliable,
            window: qos.window.max(1).into(),
            next: 0,
            early: BTreeMap::new(),
            ready: VecDeque::new(),
            taken: 0,
            seen: 0,
            numbered: true,
            received: 0,
            marked: 0,
            due: false,
            edge: qos.window.max(1).into(),
            pdus: 0,
            marks: 0,
            discarded: 0,
        }
    }

    /// Takes a data PDU.
    pub(crate) fn receive(&mut self, number: u32, sdu: &[u8], marked: bool) {
        self.pdus += 1;
        self.marks += u64::from(marked);
        self.received = self.received.wrapping_add(1);
        self.marked = self.marked.wrapping_add(marked.into());
        let Some(number) = extend(number, self.next) else {
            self.discarded += 1;
            return;
        };
        if !self.reliable {
            // In the order in which they come, each once.
            if !self.is_first(number) || self.ready.len() as u64 >= self.window {
                self.discarded += 1;
                return;
            }
            self.ready.push_back(sdu.to_vec());
            return;
        }
        self.due = true;
        if number < self.next || number >= self.next + self.credit() || self.early.contains_key(&number) {
            self.discarded += 1;
            return;
        }
        self.early.insert(number, sdu.to_vec());
        while let Some(sdu) = self.early.remove(&self.next) {
            self.next += 1;
            self.ready.push_back(sdu);
        }
    }

    /// PDUs of an (N-1) flow without retransmission come from the IPC process and from the program, which number them apart: equal numbers
    /// are different PDUs.
    pub(crate) fn ignore_numbers(&mut self) {
        self.numbered = false;
    }

    /// Whether this number comes for the first time. Those that are too old to tell count as seen.
    fn is_first(&mut self, number: u64) -> bool {
        if number >= self.next {
            let step = number + 1 - self.next;
            self.seen = if step < 64 { self.seen << step | 1 } else { 1 };
            self.next = number + 1;
            return true;
        }
        if !self.numbered {
            return true;
        }
        let bit = 1u64.checked_shl(u32::try_from(self.next - 1 - number).unwrap_or(64)).unwrap_or(0);
        let first = bit != 0 && self.seen & bit == 0;
        self.seen |= bit;
        first
    }

    fn credit(&self) -> u64 {
        self.window.saturating_sub(self.ready.len() as u64)
    }

    /// The next SDU for the application.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let sdu = self.ready.pop_front()?;
        self.taken += 1;
        Some(sdu)
    }

    /// Gives back an SDU that the application had no room for.
    pub(crate) fn put_back(&mut self, sdu: Vec<u8>) {
        self.taken -= 1;
        self.ready.push_front(sdu);
    }

    /// Drops what waits for an application that is gone.
    pub(crate) fn discard_ready(&mut self) {
        self.discarded += self.ready.len() as u64;
        self.ready.clear();
    }

    /// The number that is expected next: how many SDUs have come, if none is missing.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// SDUs that the application has taken.
    pub(crate) fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether SDUs wait for the application.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The acknowledgement that is due: of what has come, or because the application has made room.
    pub(crate) fn take_ack(&mut self) -> Option<Ack> {
        let edge = self.next + self.credit();
        let room = self.reliable && edge >= self.edge + self.window / 2;
        if !self.due && !room {
            return None;
        }
        self.due = false;
        self.edge = edge;
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in self.early.keys().copied() {
            let count = ranges.len();
            match ranges.last_mut() {
                Some((_, end)) if *end == number => *end += 1,
                _ if count == RANGES => break,
                _ => ranges.push((number, number + 1)),
            }
        }
        Some(Ack {
            next: self.next as u32,
            edge: edge as u32,
            received: self.received,
            marked: self.marked,
            ranges: ranges.into_iter().map(|(begin, end)| (begin as u32, end as u32)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::qos;
    use super::*;

    #[test]
    fn what_is_early_waits_and_is_reported() {
        let mut receiver = Receiver::new(&qos(true));
        for number in [0, 2, 3, 5] {
            receiver.receive(number, &[number as u8], number == 5);
        }
        let ack = receiver.take_ack().unwrap();
        assert_eq!((ack.next, ack.received, ack.marked, ack.ranges), (1, 4, 1, vec![(2, 4), (5, 6)]));
        assert_eq!(receiver.take_ack(), None);
        assert_eq!((receiver.pop(), receiver.pop()), (Some(vec![0]), None));
        receiver.receive(1, &[1], false);
        assert_eq!([receiver.pop(), receiver.pop(), receiver.pop()].concat_sdus(), [1, 2, 3]);
    }

    trait Concat {
        fn concat_sdus(self) -> Vec<u8>;
    }

    impl Concat for [Option<Vec<u8>>; 3] {
        fn concat_sdus(self) -> Vec<u8> {
            self.into_iter().flatten().flatten().collect()
        }
    }

    #[test]
    fn memory_is_bounded_by_the_window() {
        let mut receiver = Receiver::new(&qos(true));
        for number in 0..10_000u32 {
            receiver.receive(number.wrapping_mul(0x9e37_79b9), &[0; 10], false);
            receiver.receive(number, &[0; 10], false);
        }
        assert!(receiver.early.len() + receiver.ready.len() <= 64);
        let before = receiver.take_ack().unwrap();
        assert_eq!((before.next, before.edge), (64, 64));
        while receiver.pop().is_some() {}
        assert_eq!(receiver.take_ack().map(|ack| ack.edge), Some(128), "room is told");
        let mut unreliable = Receiver::new(&qos(false));
        for number in 0..10_000 {
            unreliable.receive(number, &[0; 10], false);
        }
        assert_eq!(unreliable.ready.len(), 64);
        assert_eq!(unreliable.take_ack(), None);
    }

    #[test]
    fn nothing_comes_twice_without_retransmission() {
        let mut receiver = Receiver::new(&qos(false));
        for number in [0, 2, 0, 1, 1, 2, 200, 199, 200, 3, u32::MAX] {
            receiver.receive(number, &[number as u8], false);
        }
        let taken: Vec<u8> = std::iter::from_fn(|| receiver.pop()).flatten().collect();
        assert_eq!(taken, [0, 2, 1, 200, 199]);
        assert_eq!((receiver.taken(), receiver.discarded), (5, 6));
        // Those of an (N-1) flow.
        let mut receiver = Receiver::new(&qos(false));
        receiver.ignore_numbers();
        for number in [0, 1, 0, 1, 200, 2] {
            receiver.receive(number, &[number as u8], false);
        }
        assert_eq!(std::iter::from_fn(|| receiver.pop()).count(), 6);
        // Numbers before the first one.
        let mut receiver = Receiver::new(&qos(false));
        receiver.receive(u32::MAX, &[], false);
        assert_eq!((receiver.next(), receiver.discarded), (0, 1));
    }
}
