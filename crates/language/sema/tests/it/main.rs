//! Integration tests of `hopwright-sema`, in one program.

mod diagnostics;
mod index;
mod marks;
mod robustness;
mod typed_program;
