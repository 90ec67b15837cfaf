//! The queue of digests from workers to the control plane: bounded, with preallocated buffers. Senders never wait. A
//! digest is lost, and counted as lost, if no buffer is free.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use hopwright_abi::DigestCall;
use hopwright_abi::ExternHandle;
use hopwright_interp::{Digest, Value};
use hopwright_ir::Type;
use num_bigint::BigUint;

use crate::account::allocated;
use crate::native::{self, Callee};
use crate::sync::quiescence::Inside;
use hopwright_abi::from_limbs;

/// The maximum number of digests in the queue.
const WAITING: usize = 4096;

/// What the queue takes for the digests of these calls.
pub(crate) fn footprint(calls: &[DigestCall]) -> u64 {
    let Some(most) = calls.iter().map(DigestCall::words).max() else { return 0 };
    // A place in each of both queues: a sequence number and a buffer.
    let place = 2 * (size_of::<usize>() + size_of::<Box<[u64]>>());
    (allocated(8 * (1 + most)) + place as u64) * WAITING as u64
}

/// The digest queue of one data plane.
pub(crate) struct Digests {
    calls: Box<[DigestCall]>,
    /// The number of limbs of each call's arguments.
    words: Box<[usize]>,
    free: ArrayQueue<Box<[u64]>>,
    /// Filled buffers: the index of the call in the first word, then its arguments.
    waiting: ArrayQueue<Box<[u64]>>,
    /// Digests that the interpreter sent.
    interpreted: ArrayQueue<Digest>,
    lost: AtomicU64,
}

impl Digests {
    /// Creates a queue for the digests of generated code.
    pub(crate) fn compiled(calls: &[DigestCall]) -> Digests {
        Digests::new(calls, 1)
    }

    /// Creates a queue for the digests of the interpreter.
    pub(crate) fn interpreted() -> Digests {
        Digests::new(&[], WAITING)
    }

    fn new(calls: &[DigestCall], interpreted: usize) -> Digests {
        let words: Box<[usize]> = calls.iter().map(DigestCall::words).collect();
        let count = if calls.is_empty() { 1 } else { WAITING };
        let most = words.iter().max().copied().unwrap_or(0);
        let free = ArrayQueue::new(count);
        for _ in 0..count {
            // The queue has room for all buffers.
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

    /// Queues a digest from the interpreter.
    pub(crate) fn push(&self, digest: Digest) {
        if self.interpreted.push(digest).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the handle that generated code uses. It is valid until this value moves or is dropped.
    pub(crate) fn handle(&self) -> ExternHandle {
        native::handle_of(self)
    }

    /// Whether it is for a compiled program with these digests.
    pub(crate) fn is_of(&self, calls: &[DigestCall]) -> bool {
        *self.calls == *calls
    }

    /// Removes and returns the oldest digest.
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
        // Cannot fail: the queue has room for all buffers.
        let _ = self.free.push(words);
        Some(digest)
    }

    /// Returns the number of digests lost since the last call.
    pub(crate) fn take_lost(&self) -> u64 {
        if self.lost.load(Ordering::Relaxed) == 0 { 0 } else { self.lost.swap(0, Ordering::Relaxed) }
    }
}

/// Decodes a varbit: its length in bytes, then the bytes.
fn varbit(words: &[u64]) -> Value {
    let bytes: Vec<u8> = words[1..].iter().flat_map(|w| w.to_ne_bytes()).collect();
    let length = bytes.len().min(words[0] as usize);
    Value { bits: BigUint::from_bytes_be(&bytes[..length]), width: 8 * length as u32 }
}

impl Callee for Digests {
    fn words(&self, which: u32) -> usize {
        self.words.get(which as usize).copied().unwrap_or(0)
    }

    /// Queues a digest: the receiver and all fields.
    fn call(&self, which: u32, args: &mut [u64], _: Inside<'_>) {
        if which as usize >= self.words.len() {
            return;
        }
        let Some(mut words) = self.free.pop() else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        words[0] = u64::from(which);
        words[1..=args.len()].copy_from_slice(args);
        // Cannot fail: the queue has room for all buffers.
        let _ = self.waiting.push(words);
    }
}

impl fmt::Debug for Digests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Digests")
            .field("calls", &self.calls)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}
