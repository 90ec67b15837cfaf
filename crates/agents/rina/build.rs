//! Generates what the agent has of the programs that it drives.

use std::path::Path;
use std::{env, fs};

use sources::{HARDWARE, Kind, SEPARATE_MANAGEMENT};

// The crate itself exports these.
#[allow(dead_code, unreachable_pub)]
#[path = "src/program/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "src/program/sources.rs", "p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    for (module, kind, defines) in [
        ("interior", Kind::Interior, &[SEPARATE_MANAGEMENT][..]),
        ("hardware", Kind::Interior, &HARDWARE),
        ("border", Kind::Border, &[SEPARATE_MANAGEMENT]),
    ] {
        let (name, text) = kind.sources()[0];
        let bindings = hopwright_driver::bindings(name, text, &kind.options(defines.iter().copied()));
        fs::write(Path::new(&out).join(module).with_extension("rs"), bindings).expect("the output can be written");
    }
}
