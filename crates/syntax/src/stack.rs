//! Room on the stack: text nests deeper than a thread's usual stack has room for functions that call themselves.

/// What the compiler's recursion may need at most, with every bound on nesting reached and without optimisation, in bytes.
const NEEDED: usize = 48 << 20;
/// Size of a stack that is made where the thread's has less. Pages that are not touched cost nothing.
const SIZE: usize = 64 << 20;

/// Runs `f` with room for any program that the bounds on nesting permit.
pub fn with_room<R>(f: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(NEEDED, SIZE, f)
}
