//! Compiles `border_router.p4`, so that a router that starts has nothing to compile, and generates the constants that the
//! agent shares with the program.

use std::path::Path;
use std::{env, fs};

use hopwright_jit::Architecture;

// The crate itself exports these.
#[allow(unreachable_pub)]
#[path = "src/control/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "src/control/sources.rs", "p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let compiled = sources::compile(true);
    let report = compiled.report(false);
    let (name, text) = sources::SOURCES[0];
    let Some(pipeline) = compiled.pipeline else { panic!("{name} has errors\n{report}") };
    hopwright_driver::write_bindings("border_router", name, text, &sources::options());
    let architecture = Architecture::named(&env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it"));
    let code = architecture
        .filter(|architecture| architecture.is_available())
        .map(|architecture| hopwright_jit::compile_ahead(&pipeline, architecture).expect("the program runs"));
    if code.is_none() && architecture == Some(Architecture::Aarch64) {
        println!(
            "cargo::warning=routers compile their program when they start, without the feature hopwright-scion/cross-arm64"
        );
    }
    let bytes = postcard::to_stdvec(&(pipeline, code)).expect("plain data");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("border_router.bin"), bytes).expect("the output can be written");
}
