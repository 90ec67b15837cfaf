//! Compiles `border_router.p4`, so that a router that starts has nothing to compile, and generates the constants that the
//! agent shares with the program.

use std::path::Path;
use std::{env, fs};

use hopwright_jit::Architecture;
use hopwright_syntax::{Program, SourceMap};

#[path = "build/constants.rs"]
mod constants;
// The crate itself exports these.
#[allow(unreachable_pub)]
#[path = "src/control/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "build", "src/control/sources.rs", "p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let compiled = sources::compile(true);
    let report = compiled.report(false);
    let (Some(pipeline), Some(typed)) = (compiled.pipeline, compiled.typed) else {
        eprintln!("{report}");
        panic!("{} has errors", sources::SOURCES[0].0);
    };
    let constants = constants::generate(&parse(), &typed, &pipeline);
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
    fs::write(Path::new(&out).join("border_router.rs"), constants).expect("the output can be written");
}

/// The syntax tree, which has the program's named constants.
fn parse() -> Program {
    let (name, text) = sources::SOURCES[0];
    hopwright_syntax::parse_text(&mut SourceMap::new(), name, text, &sources::options()).0
}
