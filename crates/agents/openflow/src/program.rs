//! The program that the agent drives, as text in this crate.

use hopwright_driver::{Compiled, compile_text, in_memory};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../p4/", $name)))),*]
    };
}

/// The program and its parts, by the names they include each other by.
const SOURCES: &[(&str, &str)] =
    files!["openflow.p4", "openflow/headers.p4", "openflow/parser.p4", "openflow/rewrite.p4"];

/// The program's port to the controllers.
pub(crate) const CPU_PORT: u32 = 510;

/// Compiles `p4/router/openflow.p4`.
pub fn compile() -> Compiled {
    let (name, text) = SOURCES[0];
    compile_text(name, text, &in_memory(&SOURCES[1..]), true)
}
