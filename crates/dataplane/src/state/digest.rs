//! Digests on their way from workers to the control plane: a bounded queue of preallocated buffers. A sender never waits; a
//! digest that finds no buffer is lost and counted.

use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use hopwright_abi::DigestCall;
use hopwright_abi::ExternHandle;
use hopwright_ir::Type;
use hopwright_ir::interp::{Digest, Value};
use num_bigint::BigUint;

use hopwright_abi::from_limbs;

/// Digests that may wait.
const WAITING: usize = 4096;

/// The digests of one data plane.
pub(crate) struct Digests {
    calls: Box<[DigestCall]>,
    /// Limbs of each call's arguments.
    words: Box<[usize]>,
    free: ArrayQueue<Box<[u64]>>,
    /// The number of the call in the first word, then its arguments.
    waiting: ArrayQueue<Box<[u64]>>,
    /// Digests sent by the interpreter.
    interpreted: ArrayQueue<Digest>,
    lost: AtomicU64,
}

impl Digests {
    /// Room for the calls of generated code.
    pub(crate) fn compiled(calls: &[DigestCall]) -> Digests {
        Digests::new(calls, 1)
    }

    /// Room for what the interpreter sends.
    pub(crate) fn interpreted() -> Digests {
        Digests::new(&[], WAITING)
    }

    fn new(calls: &[DigestCall], interpreted: usize) -> Digests {
        let words: Box<[usize]> = calls.iter().map(DigestCall::words).collect();
        let count = if calls.is_empty() { 1 } else { WAITING };
        let most = words.iter().max().copied().unwrap_or(0);
        let free = ArrayQueue::new(count);
        for _ in 0..count {
            // As many as there is room for.
            let _ = free.push(vec![0; 1 + most].into());
        }
        Digests {
            calls: calls.into(),
            words,
            free,
            waiting: ArrayQueue::new(count),
            interpreted: ArrayQueue::new(interpreted),
            lost: AtomicU64::new(0),
        }
    }

    /// Sends a digest of the interpreter.
    pub(crate) fn push(&self, digest: Digest) {
        if self.interpreted.push(digest).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What generated code gets; it is valid as long as this stays where it is.
    pub(crate) fn handle(&self) -> ExternHandle {
        ExternHandle { state: std::ptr::from_ref(self).cast_mut().cast(), size: 0, call: Some(send) }
    }

    /// Takes the oldest waiting digest.
    pub(crate) fn next(&self) -> Option<Digest> {
        if let Some(digest) = self.interpreted.pop() {
            return Some(digest);
        }
        let words = self.waiting.pop()?;
        let call = self.calls.get(words[0] as usize)?;
        let mut at = 2;
        let data = call.fields.iter().map(|&ty| {
            let field = &words[at..at + DigestCall::words_of(ty)];
            at += field.len();
            match ty {
                Type::Varbit(_) => varbit(field),
                _ => Value { bits: from_limbs(field), width: ty.width() },
            }
        });
        let digest = Digest { name: call.name.clone(), receiver: words[1] as u32, data: data.collect() };
        // It was one of them.
        let _ = self.free.push(words);
        Some(digest)
    }

    /// Takes the number of lost digests.
    pub(crate) fn take_lost(&self) -> u64 {
        if self.lost.load(Ordering::Relaxed) == 0 { 0 } else { self.lost.swap(0, Ordering::Relaxed) }
    }
}

/// A varbit from its length in bytes and the bytes.
fn varbit(words: &[u64]) -> Value {
    let bytes: Vec<u8> = words[1..].iter().flat_map(|w| w.to_ne_bytes()).collect();
    let length = bytes.len().min(words[0] as usize);
    Value { bits: BigUint::from_bytes_be(&bytes[..length]), width: 8 * length as u32 }
}

unsafe extern "C" fn send(state: *mut c_void, which: u32, args: *mut u64) {
    // SAFETY: the state of a handle made by `Digests::handle`, valid as long as the program.
    let digests = unsafe { &*state.cast_const().cast::<Digests>() };
    let Some(&count) = digests.words.get(which as usize) else { return };
    let Some(mut words) = digests.free.pop() else {
        digests.lost.fetch_add(1, Ordering::Relaxed);
        return;
    };
    words[0] = u64::from(which);
    // SAFETY: generated code passes the limbs of the receiver and all fields.
    words[1..=count].copy_from_slice(unsafe { std::slice::from_raw_parts(args, count) });
    // There are no more buffers than places.
    let _ = digests.waiting.push(words);
}

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digests")
            .field("calls", &self.calls)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}
