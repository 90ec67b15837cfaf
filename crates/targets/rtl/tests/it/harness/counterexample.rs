//! What shows that hardware differs from the interpreter: the smallest test, captures of its packets, and where to look.

use std::fmt::Write;
use std::sync::Arc;

use hopwright_ir::Pipeline;
use hopwright_stf::counterexample::{self, Difference};
use hopwright_stf::{Processed, Script};

use super::{Hardware, interpreter, root};

/// Reduces a test of a program on which `differs` finds a difference, stores it in a folder of this name, and says what it shows.
pub(crate) fn report(
    name: &str,
    program: Result<&str, &str>,
    test: &str,
    differs: &mut dyn FnMut(&Script) -> Option<Difference>,
) -> String {
    counterexample::report(&root().join("target/counterexamples").join(name), program, test, differs)
}

/// The same of the hardware IR.
pub(crate) fn of_evaluator(name: &str, pipeline: &Arc<Pipeline>, program: Result<&str, &str>, test: &str) -> String {
    let mut differs = |script: &Script| {
        let mut hardware = Hardware::new(pipeline).ok()?;
        counterexample::difference(script, &mut interpreter(pipeline), &mut hardware).ok().flatten()
    };
    report(name, program, test, &mut differs)
}

/// What became of a packet.
pub(crate) fn processed(sent: Vec<(u16, Vec<u8>)>) -> Processed {
    Processed { sent, ..Processed::default() }
}

/// Lines of packets.
pub(crate) fn packet_lines<'a>(packets: impl IntoIterator<Item = &'a (u16, Vec<u8>)>) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    packets.into_iter().fold(String::new(), |mut lines, (port, bytes)| {
        let _ = writeln!(lines, "packet {port} {}", hex(bytes));
        lines
    })
}
