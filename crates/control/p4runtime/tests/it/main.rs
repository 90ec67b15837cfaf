//! Integration tests of `hopwright-p4runtime`, in one program.

mod access;
mod bmv2_json;
mod client;
mod controller;
mod hashes;
mod idle;
mod ids;
mod p4info;
mod sai;
mod tofino;
