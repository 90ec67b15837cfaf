//! Checksums over the payload. It does not enter the pipeline; the sums of all bytes of the packet do, from which those of the bytes that the
//! parser has consumed are taken away.

use hopwright_ir::{Expr, HashAlgorithm, Span};

use super::{Convert, Extra, Path};
use crate::hir::{Binary, Input, SUM_BITS, Value};
use crate::offsets::possible_values;
use crate::refusal::Capability;

/// The most bytes in front of the payload, which are those that enter the pipeline.
const MAX_FRONT: u64 = 128;

/// Bits of a sum of words that is not folded yet.
const TOTAL_BITS: u32 = 36;

impl Convert<'_> {
    /// The Internet checksum of a list and the payload behind it; none if it is refused.
    pub(super) fn payload_checksum(
        &mut self,
        algorithm: HashAlgorithm,
        data: &[Expr],
        span: Span,
        path: &Path,
    ) -> Option<Value> {
        let bits: u32 = data.iter().map(|e| e.ty.width()).sum();
        let cursor = path.slots[self.extra(Extra::Cursor)];
        let fronts = possible_values(&self.b.design)[cursor.index()].clone();
        let fronts = fronts.filter(|fronts| fronts.last().is_none_or(|last| *last <= MAX_FRONT));
        let why = match &fronts {
            _ if algorithm != HashAlgorithm::Csum16 => "it is no Internet checksum",
            _ if !bits.is_multiple_of(8) => "the data in front of the payload are no whole number of bytes",
            None => "it is not known at which few places the payload may begin",
            Some(_) => "",
        };
        let Some(fronts) = fronts.filter(|_| why.is_empty()) else {
            self.refuse(Capability::PayloadChecksum, span, why);
            return None;
        };
        let list = self.list(data, span, path)?;
        let sums = self.b.input(Input::Sums);
        let all = [self.b.slice(sums, 2 * SUM_BITS - 1, SUM_BITS), self.b.slice(sums, SUM_BITS - 1, 0)];
        let front = self.sums_of_front(cursor, &fronts.into_iter().collect::<Vec<_>>());
        let [even, odd] = [0, 1].map(|i| self.b.binary(Binary::Sub, all[i], front[i]));
        // Which of them are in front of the others in a word.
        let first = self.b.slice(cursor, 0, 0);
        let other = self.b.boolean(bits / 8 % 2 == 1);
        let swapped = self.b.binary(Binary::Xor, first, other);
        let (high, low) = (self.b.mux(swapped, odd, even), self.b.mux(swapped, even, odd));
        let zeros = self.b.constant(0u32, 8);
        let high = self.b.concat(vec![high, zeros]);
        let mut total = self.b.resize(high, TOTAL_BITS);
        let mut terms = vec![low];
        let width = self.b.width(list);
        for hi in (0..width).rev().step_by(16).map(|top| top + 1) {
            let word = self.b.slice(list, hi - 1, hi.saturating_sub(16));
            let zeros = self.b.constant(0u32, 16 - self.b.width(word));
            terms.push(self.b.concat(vec![word, zeros]));
        }
        for term in terms {
            let term = self.b.resize(term, TOTAL_BITS);
            total = self.b.binary(Binary::Add, total, term);
        }
        // Carries are added to the low word, until there are none.
        for _ in 0..3 {
            let (high, low) = (self.b.slice(total, TOTAL_BITS - 1, 16), self.b.slice(total, 15, 0));
            let (high, low) = (self.b.resize(high, TOTAL_BITS), self.b.resize(low, TOTAL_BITS));
            total = self.b.binary(Binary::Add, high, low);
        }
        let sum = self.b.slice(total, 15, 0);
        Some(self.b.not(sum))
    }

    /// The sums of the bytes in front of an offset that has one of these values, at even places and at odd ones.
    fn sums_of_front(&mut self, offset: Value, values: &[u64]) -> [Value; 2] {
        let zero = self.b.constant(0u32, SUM_BITS);
        let (mut sums, mut summed) = ([zero; 2], 0);
        let start = self.b.constant(0u32, 16);
        let mut cases = [Vec::new(), Vec::new()];
        for value in values {
            for place in summed..*value as u32 {
                let byte = self.b.window(start, 8 * place, 8);
                let byte = self.b.resize(byte, SUM_BITS);
                let sum = &mut sums[place as usize % 2];
                *sum = self.b.binary(Binary::Add, *sum, byte);
            }
            summed = *value as u32;
            let here = self.b.eq_const(offset, *value);
            cases.iter_mut().zip(sums).for_each(|(cases, sum)| cases.push((here, sum)));
        }
        cases.map(|cases| self.b.one_hot(cases, SUM_BITS))
    }
}
