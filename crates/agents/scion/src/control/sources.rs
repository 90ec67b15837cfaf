//! The text of `border_router.p4`, and how to compile it. Part of the crate and of its build script.

use hopwright_driver::{Compiled, Options, compile_text, in_memory};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../p4/scion/", $name)))),*]
    };
}

/// The program and its parts, by the names they include each other by.
pub const SOURCES: &[(&str, &str)] = files![
    "border_router.p4",
    "bfd.p4",
    "checksum.p4",
    "counters.p4",
    "delivery.p4",
    "epic.p4",
    "features.p4",
    "headers.p4",
    "hummingbird.p4",
    "ingress.p4",
    "links.p4",
    "mac.p4",
    "one_hop.p4",
    "parser.p4",
    "path.p4",
    "reasons.p4",
    "underlay.p4",
];

/// Compiles the program that is built into this crate.
pub fn compile(optimise: bool) -> Compiled {
    let (name, text) = SOURCES[0];
    compile_text(name, text, &options(), optimise)
}

/// How it is compiled.
pub(super) fn options() -> Options {
    in_memory(&SOURCES[1..])
}
