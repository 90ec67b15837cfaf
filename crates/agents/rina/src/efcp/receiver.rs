//! The receiver's end of a connection.

use std::collections::{BTreeMap, VecDeque};

use super::{Ack, LONGEST_SDU, Qos, RANGES, extend};
use crate::pdu::{CONGESTION, MORE, REST};

/// An SDU that is not complete.
#[derive(Debug)]
struct Partial {
    bytes: Vec<u8>,
    pdus: u64,
    /// The number of the PDU that goes on with it.
    next: u64,
}

/// Order, what is missing, and what the application has not taken yet.
#[derive(Debug)]
pub(crate) struct Receiver {
    reliable: bool,
    window: u64,
    next: u64,
    /// Beyond what is missing.
    early: BTreeMap<u64, (u8, Vec<u8>)>,
    partial: Option<Partial>,
    /// For the application, each with the number of its PDUs; and these together.
    ready: VecDeque<(Vec<u8>, u64)>,
    waiting: u64,
    /// SDUs that were complete.
    complete: u64,
    /// PDUs of the SDU that was taken last.
    last: u64,
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
            partial: None,
            ready: VecDeque::new(),
            waiting: 0,
            complete: 0,
            last: 0,
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
    pub(crate) fn receive(&mut self, number: u32, flags: u8, bytes: &[u8]) {
        let marked = flags & CONGESTION != 0;
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
            if !self.is_first(number) || self.waiting >= self.window {
                self.discarded += 1;
                return;
            }
            return self.assemble(number, flags, bytes.to_vec());
        }
        self.due = true;
        if number < self.next || number >= self.next + self.credit() || self.early.contains_key(&number) {
            self.discarded += 1;
            return;
        }
        self.early.insert(number, (flags, bytes.to_vec()));
        while let Some((flags, bytes)) = self.early.remove(&self.next) {
            self.assemble(self.next, flags, bytes);
            self.next += 1;
        }
    }

    /// Takes the next PDU of the order. One whose SDU has not begun, or gets too long, is dropped.
    fn assemble(&mut self, number: u64, flags: u8, bytes: Vec<u8>) {
        let before = self.partial.take();
        let (bytes, pdus) = match before {
            before if flags & REST == 0 => {
                self.discarded += u64::from(before.is_some());
                (bytes, 1)
            }
            Some(mut before) if before.next == number && before.bytes.len() + bytes.len() <= LONGEST_SDU => {
                before.bytes.extend_from_slice(&bytes);
                (before.bytes, before.pdus + 1)
            }
            _ => {
                self.discarded += 1;
                return;
            }
        };
        if flags & MORE != 0 {
            self.partial = Some(Partial { bytes, pdus, next: number + 1 });
            return;
        }
        self.complete += 1;
        self.waiting += pdus;
        self.ready.push_back((bytes, pdus));
    }

    /// The sender begins its sequence numbers anew.
    pub(crate) fn begin_anew(&mut self, number: u32) {
        (self.next, self.seen, self.partial) = (number.into(), 0, None);
        self.early.clear();
        self.edge = self.next + self.credit();
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

    /// PDUs that there is room for. One SDU that is not complete is beyond that, because it may take more than the window.
    fn credit(&self) -> u64 {
        self.window.saturating_sub(self.waiting)
    }

    /// The next SDU for the application.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let (sdu, pdus) = self.ready.pop_front()?;
        self.taken += 1;
        self.waiting -= pdus;
        self.last = pdus;
        Some(sdu)
    }

    /// Gives back the SDU that was taken last: the application had no room for it.
    pub(crate) fn put_back(&mut self, sdu: Vec<u8>) {
        self.taken -= 1;
        self.waiting += self.last;
        self.ready.push_front((sdu, self.last));
    }

    /// Drops what waits for an application that is gone.
    pub(crate) fn discard_ready(&mut self) {
        self.discarded += self.waiting;
        self.waiting = 0;
        self.ready.clear();
    }

    /// The number that is expected next.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// SDUs that have come.
    pub(crate) fn complete(&self) -> u64 {
        self.complete
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
            receiver.receive(number, u8::from(number == 5), &[number as u8]);
        }
        let ack = receiver.take_ack().unwrap();
        assert_eq!((ack.next, ack.received, ack.marked, ack.ranges), (1, 4, 1, vec![(2, 4), (5, 6)]));
        assert_eq!(receiver.take_ack(), None);
        assert_eq!((receiver.pop(), receiver.pop()), (Some(vec![0]), None));
        receiver.receive(1, 0, &[1]);
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
            receiver.receive(number.wrapping_mul(0x9e37_79b9), 0, &[0; 10]);
            receiver.receive(number, 0, &[0; 10]);
        }
        assert!(receiver.early.len() + receiver.ready.len() <= 64);
        let before = receiver.take_ack().unwrap();
        assert_eq!((before.next, before.edge), (64, 64));
        while receiver.pop().is_some() {}
        assert_eq!(receiver.take_ack().map(|ack| ack.edge), Some(128), "room is told");
        let mut unreliable = Receiver::new(&qos(false));
        for number in 0..10_000 {
            unreliable.receive(number, 0, &[0; 10]);
        }
        assert_eq!(unreliable.ready.len(), 64);
        assert_eq!(unreliable.take_ack(), None);
    }

    #[test]
    fn nothing_comes_twice_without_retransmission() {
        let mut receiver = Receiver::new(&qos(false));
        for number in [0, 2, 0, 1, 1, 2, 200, 199, 200, 3, u32::MAX] {
            receiver.receive(number, 0, &[number as u8]);
        }
        let taken: Vec<u8> = std::iter::from_fn(|| receiver.pop()).flatten().collect();
        assert_eq!(taken, [0, 2, 1, 200, 199]);
        assert_eq!((receiver.taken(), receiver.discarded), (5, 6));
        // Those of an (N-1) flow.
        let mut receiver = Receiver::new(&qos(false));
        receiver.ignore_numbers();
        for number in [0, 1, 0, 1, 200, 2] {
            receiver.receive(number, 0, &[number as u8]);
        }
        assert_eq!(std::iter::from_fn(|| receiver.pop()).count(), 6);
        // Numbers before the first one.
        let mut receiver = Receiver::new(&qos(false));
        receiver.receive(u32::MAX, 0, &[]);
        assert_eq!((receiver.next(), receiver.discarded), (0, 1));
    }

    #[test]
    fn an_sdu_without_retransmission_is_whole_or_lost() {
        let all = [(0, MORE), (1, REST | MORE), (2, REST), (3, 0), (4, MORE), (5, REST)];
        let came = |numbers: &[u32]| {
            let mut receiver = Receiver::new(&qos(false));
            for number in numbers {
                let (number, flags) = all[*number as usize];
                receiver.receive(number, flags, &[number as u8]);
            }
            assert_eq!(
                receiver.partial.is_some(),
                numbers.last().is_some_and(|last| all[*last as usize].1 & MORE != 0)
            );
            std::iter::from_fn(|| receiver.pop()).collect::<Vec<_>>()
        };
        assert_eq!(came(&[0, 1, 2, 3, 4, 5]), [vec![0, 1, 2], vec![3], vec![4, 5]]);
        assert_eq!(came(&[0, 2, 3, 4]), [vec![3]]);
        assert_eq!(came(&[1, 2, 3, 5]), [vec![3]]);
        assert_eq!(came(&[0, 1, 3, 2, 4, 5]), [vec![3], vec![4, 5]]);
    }

    #[test]
    fn a_part_has_no_end_without_limit() {
        for reliable in [false, true] {
            let mut receiver = Receiver::new(&qos(reliable));
            for number in 0..10_000 {
                receiver.receive(number, if number == 0 { MORE } else { MORE | REST }, &[0; 1000]);
                assert!(receiver.partial.as_ref().is_none_or(|partial| partial.bytes.len() <= LONGEST_SDU));
            }
            receiver.receive(10_000, REST, &[0; 1000]);
            assert_eq!((receiver.complete(), receiver.pop()), (0, None));
        }
    }
}
