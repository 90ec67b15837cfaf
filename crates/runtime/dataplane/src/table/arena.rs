//! An arena of pieces of equal size. Freed pieces are reused; the memory returns to the system when the arena is
//! dropped.
//!
//! Pieces are cut from chunks of growing size, so that the pieces of a large table lie in few large pages.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::{ALIGN, LARGE, Pages};

/// Number of pieces in the first chunk.
const FIRST: usize = 16;
/// The maximum size of a chunk in bytes, unless [`FIRST`] pieces need more.
const MOST: usize = 16 * LARGE;

/// An allocator of pieces of one size. Whoever holds a piece also holds an `Arc` of the arena.
#[derive(Debug)]
pub(super) struct Arena {
    /// Size of a piece in bytes, a multiple of [`ALIGN`].
    size: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    chunks: Vec<Pages>,
    /// Total size of the chunks in bytes.
    bytes: usize,
    /// The start of the unused rest of the last chunk; `left` is the number of pieces in it.
    rest: Option<NonNull<u8>>,
    left: usize,
    /// Head of the free list. A free piece begins with the address of the next one.
    free: Option<NonNull<u8>>,
}

// SAFETY: the addresses are of memory the state owns, which no one else uses.
unsafe impl Send for State {}

impl Arena {
    /// Creates an arena for pieces of at least `bytes` bytes.
    pub(super) fn new(bytes: usize) -> Arc<Arena> {
        Arc::new(Arena { size: bytes.max(1).next_multiple_of(ALIGN), state: Mutex::default() })
    }

    /// Size of a piece in bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Allocates a piece, 64-byte aligned, with arbitrary contents.
    pub(super) fn take(&self) -> NonNull<u8> {
        let mut state = self.lock();
        if let Some(piece) = state.free {
            // SAFETY: a free piece begins with the address of the next one, or null.
            state.free = NonNull::new(unsafe { piece.cast::<*mut u8>().read() });
            return piece;
        }
        let State { chunks, bytes, rest, left, .. } = &mut *state;
        let start = match *rest {
            Some(start) if *left > 0 => start,
            _ => {
                let wanted = (*bytes).clamp(FIRST * self.size, MOST.max(FIRST * self.size));
                let wanted = if wanted < LARGE { wanted } else { wanted.next_multiple_of(LARGE) };
                *left = wanted / self.size;
                *bytes += wanted;
                let chunk = Pages::new(wanted);
                let start = chunk.start();
                chunks.push(chunk);
                start
            }
        };
        *left -= 1;
        // SAFETY: at least one piece was left in the chunk, so this address is within the chunk or its end.
        *rest = Some(unsafe { start.add(self.size) });
        start
    }

    /// Frees a piece.
    ///
    /// # Safety
    /// The piece is from [`Arena::take`] of this arena and no longer in use.
    pub(super) unsafe fn give(&self, piece: NonNull<u8>) {
        let mut state = self.lock();
        let next = state.free.map_or(std::ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: the piece is at least as large and as aligned as a pointer, and has no other user.
        unsafe { piece.cast::<*mut u8>().write(next) };
        state.free = Some(piece);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn pieces_are_apart_and_used_again() {
        let arena = Arena::new(100);
        assert_eq!(arena.size(), 128);
        // This takes several chunks, some of them larger than a large page.
        let pieces: Vec<_> = (0..100_000).map(|_| arena.take()).collect();
        for (i, piece) in pieces.iter().enumerate() {
            assert_eq!(piece.addr().get() % 64, 0);
            // SAFETY: the piece belongs to this test and has 128 bytes.
            unsafe { piece.cast::<[u64; 16]>().write([i as u64; 16]) };
        }
        for (i, piece) in pieces.iter().enumerate() {
            // SAFETY: as above.
            assert_eq!(unsafe { piece.cast::<[u64; 16]>().read() }, [i as u64; 16]);
        }
        let before: HashSet<_> = pieces.iter().copied().collect();
        assert_eq!(before.len(), pieces.len());
        for piece in pieces {
            // SAFETY: the piece is from this arena and no longer in use.
            unsafe { arena.give(piece) };
        }
        assert!((0..100_000).all(|_| before.contains(&arena.take())));
        assert!(!before.contains(&arena.take()));
    }
}
