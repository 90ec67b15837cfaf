//! Hashes that a control plane configures: each bit of the result is the parity of some bits of the data, and a constant.
//!
//! CRCs of data of a fixed width are of this form, whatever the polynomial, the order of the data's fields and the bits that are left out.
//! The control plane writes the form as a whole.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::native_extern::{NativeCall, NativeExtern, Restore};
use crate::native::{self, Callee};
use crate::sync::quiescence::Inside;

/// The bits of a result.
const RESULT_BITS: usize = 64;
/// The most words of data.
const MAX_WORDS: usize = 16;
/// The widths of a call's arguments, from the last ones: words of data, and the result.
const WIDTHS: [u32; MAX_WORDS + 1] = [64; MAX_WORDS + 1];

/// The form of a hash.
struct Form {
    /// Words of data of a call.
    words: usize,
    /// For each bit of the result, from the lowest: which bits of the data count, the lowest word first.
    masks: Box<[AtomicU64]>,
    constant: AtomicU64,
}

impl Form {
    fn result(&self, data: &[u64]) -> u64 {
        let bit = |masks: &[AtomicU64]| {
            let parity =
                masks.iter().zip(data).fold(0, |sum, (mask, word)| sum ^ (mask.load(Ordering::Relaxed) & word));
            u64::from(parity.count_ones() & 1)
        };
        let bits = self.masks.chunks(self.words).enumerate();
        bits.fold(self.constant.load(Ordering::Relaxed), |result, (at, masks)| result ^ bit(masks) << at)
    }

    /// The constant and the masks.
    fn held(&self) -> Vec<u64> {
        let all = std::iter::once(&self.constant).chain(&self.masks);
        all.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    fn set(&self, words: &[u64]) {
        let all = std::iter::once(&self.constant).chain(&self.masks);
        all.zip(words).for_each(|(to, word)| to.store(*word, Ordering::Relaxed));
    }
}

/// A hash that a control plane configures. A packet may meet a part of a new form.
pub(super) struct LinearHash(Arc<Form>);

impl fmt::Debug for LinearHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LinearHash").field("words", &self.0.words).finish_non_exhaustive()
    }
}

impl LinearHash {
    /// Of data of this many words.
    pub(super) fn new(args: &[BigUint]) -> Result<LinearHash, String> {
        let words = match args {
            [words] => words.to_usize().filter(|words| (1..=MAX_WORDS).contains(words)),
            _ => None,
        };
        let words = words.ok_or_else(|| format!("1 to {MAX_WORDS} words of data are expected"))?;
        let masks = (0..words * RESULT_BITS).map(|_| AtomicU64::new(0)).collect();
        Ok(LinearHash(Arc::new(Form { words, masks, constant: AtomicU64::new(0) })))
    }
}

impl NativeExtern for LinearHash {
    fn methods(&self) -> &'static [&'static str] {
        &["get"]
    }

    fn native(&self) -> NativeCall {
        native::call_of(self)
    }

    /// The words of data, the lowest first; the result.
    fn arguments(&self, _: u32) -> &'static [u32] {
        &WIDTHS[..=self.0.words]
    }

    fn repeatable(&self) -> bool {
        true
    }

    /// `cell/0`: the form.
    fn save(&self, setting: &str) -> Option<Restore> {
        let (form, held) = (self.0.clone(), self.0.held());
        (setting == "cell/0").then(|| Box::new(move || form.set(&held)) as Restore)
    }

    /// `cell/0` is the form: the constant, and for each bit of the result from the lowest the words of its mask, the lowest first. Each
    /// word has eight bytes, the lowest first. `check` only says whether data are such a form.
    fn control(&self, setting: &str, data: &[u8]) -> Result<(), String> {
        if !matches!(setting, "cell/0" | "check") {
            return Err(format!("no setting `{setting}`"));
        }
        let (words, rest) = data.as_chunks::<8>();
        if words.len() != 1 + self.0.masks.len() || !rest.is_empty() {
            return Err(format!("a form has {} words of eight bytes", 1 + self.0.masks.len()));
        }
        if setting == "cell/0" {
            self.0.set(&words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>());
        }
        Ok(())
    }
}

impl Callee for LinearHash {
    fn words(&self, _: u32) -> usize {
        self.0.words + 1
    }

    fn call(&self, _: u32, args: &mut [u64], _: Inside<'_>) {
        let Some((result, data)) = args.split_last_mut() else { return };
        *result = self.0.result(data);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_is_a_parity() {
        let hash = LinearHash::new(&[2u32.into()]).unwrap();
        let mut form = vec![0u64; 129];
        form[0] = 0b10;
        // Bit 0: the lowest bits of both words; bit 1: bits 4 and 5 of the second word; bit 63: bit 7 of the first.
        (form[1], form[2], form[4], form[127]) = (1, 1, 0x30, 0x80);
        let bytes: Vec<u8> = form.iter().flat_map(|word| word.to_le_bytes()).collect();
        hash.control("check", &bytes).unwrap();
        assert_eq!(hash.0.result(&[1, 0x10]), 0);
        hash.control("cell/0", &bytes).unwrap();
        for (data, expected) in [
            ([0, 0], 0b10),
            ([1, 0], 0b11),
            ([1, 1], 0b10),
            ([0, 0x10], 0),
            ([0, 0x30], 0b10),
            ([0x80, 0], 1 << 63 | 0b10),
        ] {
            assert_eq!(hash.0.result(&data), expected, "{data:?}");
        }
        let restore = hash.save("cell/0").unwrap();
        hash.control("cell/0", &vec![0; bytes.len()]).unwrap();
        assert_eq!(hash.0.result(&[1, 0]), 0);
        restore();
        assert_eq!(hash.0.result(&[1, 0]), 0b11);
    }

    #[test]
    fn other_forms_are_refused() {
        let hash = LinearHash::new(&[1u32.into()]).unwrap();
        assert!(hash.control("cell/0", &[0; 8 * 64]).is_err() && hash.control("cell/0", &[0; 8 * 65 + 1]).is_err());
        assert!(hash.control("cell/1", &[0; 8 * 65]).is_err() && hash.save("cell/1").is_none());
        assert!(
            LinearHash::new(&[0u32.into()]).is_err()
                && LinearHash::new(&[17u32.into()]).is_err()
                && LinearHash::new(&[]).is_err()
        );
    }
}
