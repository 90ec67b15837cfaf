//! What shows that hardware differs from the interpreter: the smallest test, captures of its packets, and where to look.

use std::fmt::Write;
use std::sync::Arc;

use hopwright_ir::Pipeline;
use hopwright_stf::counterexample::{self, Difference};
use hopwright_stf::{Processed, Script};

use super::{Hardware, interpreter, root};

/// Reduces a test of a program on which `differs` finds a difference, stores it in a folder of this name, and says what it shows. With the
/// text of the program, that is stored, too; otherwise it is the path of its file.
pub(crate) fn report(
    name: &str,
    program: Result<&str, &str>,
    test: &str,
    differs: &mut dyn FnMut(&Script) -> Option<Difference>,
) -> String {
    let Some(found) = counterexample::reduce(test, differs) else {
        return "the difference does not come again: it depends on what came before the test".into();
    };
    let folder = root().join("target/counterexamples").join(name);
    let mut text = found.to_string();
    let captures = match found.write(&folder) {
        Ok(captures) => captures,
        Err(error) => return format!("{text}\n{}: {error}", folder.display()),
    };
    let file = match program {
        Ok(text) => {
            let file = folder.join("program.p4");
            let _ = std::fs::write(&file, text);
            file.display().to_string()
        }
        Err(path) => path.to_string(),
    };
    let folder = folder.display();
    let _ = write!(
        text,
        "\nThe test is {folder}/test.stf. To look at the operations, and at the signals of the design:\n  hopwright rtl {file} --ir\n  \
         hopwright rtl {file} --entries {folder}/test.stf -o {folder}/design"
    );
    for (port, capture) in captures {
        let _ = write!(text, "\n  make -C {folder}/design/simulation PCAP={} PORT={port} WAVES=1", capture.display());
    }
    text
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
