//! What switches have in common: packets that wait for ingress and egress, and their passes.

use std::collections::VecDeque;

use crate::machine::{Fault, Packet};
use crate::{Output, Reference};

/// The maximum number of passes through ingress and egress that one packet and its copies may take.
const MAX_PASSES: u32 = 4_096;

/// A switch, with what packets are in front of ingress and of egress.
pub(crate) struct Switch<'a, I, E> {
    pub(crate) reference: &'a mut Reference,
    pub(crate) now_us: u64,
    pub(crate) ingress: VecDeque<I>,
    pub(crate) egress: VecDeque<E>,
    pub(crate) output: Output,
}

impl<'a, I, E> Switch<'a, I, E> {
    pub(crate) fn new(reference: &'a mut Reference, now_us: u64) -> Self {
        let (ingress, egress) = (VecDeque::new(), VecDeque::new());
        Switch { reference, now_us, ingress, egress, output: Output::default() }
    }

    /// Processes what waits with all copies and repetitions of it; those on their way to egress go first.
    pub(crate) fn process(
        mut self,
        ingress: impl Fn(&mut Self, I, bool) -> Result<(), Fault>,
        egress: impl Fn(&mut Self, E) -> Result<(), Fault>,
    ) -> Output {
        let fault = passes(|first| {
            let done = match self.egress.pop_front() {
                Some(next) => egress(&mut self, next),
                None => {
                    let next = self.ingress.pop_front()?;
                    ingress(&mut self, next, first)
                }
            };
            Some(done.map_err(|fault| self.reference.fault(&fault)))
        });
        self.output.fault = self.output.fault.take().or(fault);
        self.output
    }
}

/// Runs passes of a packet and its copies until none is left, at most [`MAX_PASSES`]. The function runs the next pass, which
/// may be the first, and says what fault it had; `None` if there is none. Returns the first fault.
pub(crate) fn passes(mut next: impl FnMut(bool) -> Option<Result<(), String>>) -> Option<String> {
    let mut first_fault = None;
    for pass in 0..MAX_PASSES {
        match next(pass == 0) {
            Some(Ok(())) => {}
            Some(Err(fault)) => {
                first_fault.get_or_insert(fault);
            }
            None => return first_fault,
        }
    }
    first_fault.or_else(|| Some(format!("more than {MAX_PASSES} passes of a packet and its copies")))
}

/// What the deparser emitted, and behind it what the parser left.
pub(crate) fn deparsed(packet: &Packet) -> Vec<u8> {
    let mut bits = packet.out.clone();
    bits.push_bytes(packet.payload());
    bits.bytes().to_vec()
}
