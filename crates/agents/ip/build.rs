//! Generates what the agent has of the program that it drives.

#[path = "src/program/sources.rs"]
mod sources;

fn main() {
    for path in ["build.rs", "src/program/sources.rs", "p4"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let (name, text) = sources::SOURCES[0];
    hopwright_driver::write_bindings("ip", name, text, &hopwright_driver::in_memory(&sources::SOURCES[1..]));
}
