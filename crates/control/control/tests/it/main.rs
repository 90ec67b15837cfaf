//! Integration tests of `hopwright-control`, in one program.

mod batches;
mod oracle;
mod updates;
