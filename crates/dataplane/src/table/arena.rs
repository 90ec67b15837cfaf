//! An arena of pieces of one size: freed pieces are reused, and all memory goes back to the system together.
//!
//! Pieces are cut from ever larger chunks, so that those of a large table lie in few large pages.

use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::{ALIGN, LARGE, Pages};

/// Pieces of the first chunk.
const FIRST: usize = 16;
/// Most bytes of a chunk.
const MOST: usize = 16 * LARGE;

/// Pieces of one size. What holds a piece holds the arena.
#[derive(Debug)]
pub(super) struct Arena {
    /// Bytes of a piece, a multiple of [`ALIGN`].
    size: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    chunks: Vec<Pages>,
    /// Bytes of all chunks.
    bytes: usize,
    /// What was not yet cut from the last one: where it begins, and how many pieces there are.
    rest: Option<NonNull<u8>>,
    left: usize,
    /// The piece that was given back last; it begins with the address of the one before.
    free: Option<NonNull<u8>>,
}

// SAFETY: the addresses are of memory the state owns, which no one else uses.
unsafe impl Send for State {}

impl Arena {
    /// For pieces of at least so many bytes.
    pub(super) fn new(bytes: usize) -> Arc<Arena> {
        Arc::new(Arena { size: bytes.max(1).next_multiple_of(ALIGN), state: Mutex::default() })
    }

    /// Bytes of a piece.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// A piece, at a multiple of 64, with anything in it.
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
        // SAFETY: the piece was left in the chunk, so what is behind it is within, or its end.
        *rest = Some(unsafe { start.add(self.size) });
        start
    }

    /// Takes a piece back.
    ///
    /// # Safety
    /// It is from [`Arena::take`] of this arena, and no longer used.
    pub(super) unsafe fn give(&self, piece: NonNull<u8>) {
        let mut state = self.lock();
        let next = state.free.map_or(std::ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: the piece is at least a line, aligned to it, and has no other user.
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
        // Several chunks, of which some are large.
        let pieces: Vec<_> = (0..100_000).map(|_| arena.take()).collect();
        for (i, piece) in pieces.iter().enumerate() {
            assert_eq!(piece.addr().get() % 64, 0);
            // SAFETY: it is this test's, of so many bytes.
            unsafe { piece.cast::<[u64; 16]>().write([i as u64; 16]) };
        }
        for (i, piece) in pieces.iter().enumerate() {
            // SAFETY: as above.
            assert_eq!(unsafe { piece.cast::<[u64; 16]>().read() }, [i as u64; 16]);
        }
        let before: HashSet<_> = pieces.iter().copied().collect();
        assert_eq!(before.len(), pieces.len());
        for piece in pieces {
            // SAFETY: it is from this arena and no longer used.
            unsafe { arena.give(piece) };
        }
        assert!((0..100_000).all(|_| before.contains(&arena.take())));
        assert!(!before.contains(&arena.take()));
    }
}
