//! Generates what the agent has of the programs that it drives.

use sources::{HARDWARE, Kind, SEPARATE_MANAGEMENT};

// The crate itself exports these.
#[allow(dead_code, unreachable_pub)]
#[path = "src/program/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "src/program/sources.rs", "p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for (module, kind, defines) in [
        ("interior", Kind::Interior, &[SEPARATE_MANAGEMENT][..]),
        ("hardware", Kind::Interior, &HARDWARE),
        ("border", Kind::Border, &[SEPARATE_MANAGEMENT]),
    ] {
        let (name, text) = kind.sources()[0];
        hopwright_driver::write_bindings(module, name, text, &kind.options(defines.iter().copied()));
    }
}
