//! Integration tests of `hopwright-dataplane`, in one program.

#[path = "../../../../compiler/ir/tests/it/builder/mod.rs"]
mod builder;
mod ciphers;
mod generated;
mod growth;
mod hashes;
mod in_line;
mod indirect;
mod key_prefetch;
mod machine;
#[path = "../../../../language/sema/tests/it/marks.rs"]
mod marks;
mod meters;
mod not_run;
mod packet_tests;
mod samples;
mod shared_traces;
mod switch;
mod tables;
mod tenants;
mod undone;
