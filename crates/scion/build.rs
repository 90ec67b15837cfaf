//! Compiles `border_router.p4`, so that a router that starts has nothing to compile.

use std::path::Path;
use std::{env, fs};

#[path = "src/control/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "src/control/sources.rs", "../../p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let compiled = sources::compile(true);
    let Some(pipeline) = compiled.pipeline else {
        eprintln!("{}", compiled.report(false));
        panic!("{} has errors", sources::SOURCES[0].0);
    };
    // Code is made for the architecture that this script runs on. Others compile it when they start.
    let here = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|target| target == env::consts::ARCH);
    let code = here.then(|| hopwright_jit::compile_ahead(&pipeline).expect("the program runs"));
    let bytes = postcard::to_stdvec(&(pipeline, code)).expect("plain data");
    let to = env::var_os("OUT_DIR").expect("cargo tells");
    fs::write(Path::new(&to).join("border_router.bin"), bytes).expect("the output can be written");
}
