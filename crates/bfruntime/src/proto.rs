//! The messages and the service, generated from `proto/`.

#![allow(missing_docs, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/bfrt_proto.rs"));
