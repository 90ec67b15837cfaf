//! Generates what the crate has of the router's program, with each cipher.

#[path = "src/router/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "src/router/sources.rs", "p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let (name, text) = sources::SOURCES[0];
    hopwright_driver::write_bindings("with_aes", name, text, &sources::options(false));
    hopwright_driver::write_bindings("with_sem", name, text, &sources::options(true));
}
