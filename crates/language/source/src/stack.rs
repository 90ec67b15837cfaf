//! Stack space for recursion over nested source text.

/// Stack that the compiler's recursion needs at most, with every nesting limit reached and without optimisation, in bytes.
const NEEDED: usize = 48 << 20;
/// Size of a stack that is allocated where the thread has less than [`NEEDED`] left. Untouched pages cost nothing.
const SIZE: usize = 64 << 20;

/// Runs `f` with enough stack for any program that the nesting limits permit, on a new stack if the thread's is too small.
pub fn with_room<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED, SIZE, f)
}
