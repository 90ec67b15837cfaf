//! Integration tests of `hopwright-bmv2`, in one program. Packet tests of files in `tests/bmv2/json` are in `hopwright-dataplane`.

mod mutations;
mod refusals;

use serde_json::Value;

/// The text of a file in `tests/bmv2/json`.
fn text(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/bmv2/json");
    std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap()
}

/// The same as JSON.
fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap()
}
