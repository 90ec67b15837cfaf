//! The smallest test that shows that two engines treat a packet differently.
//!
//! A test of many lines is reduced: lines that are not needed for some difference are left out (Zeller and Hildebrandt, Simplifying and
//! isolating failure-inducing input, IEEE Transactions on Software Engineering, 2002). What remains is a test again, with what the first
//! engine sends as its expectation, and captures of its packets.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::script::{self, Command, Script};
use crate::{Engine, Processed, StfError, outputs, parse};

/// How often a reduced test is tried. Beyond, what remains is not reduced further.
const MAX_TRIALS: u32 = 1000;

/// A packet of which engines make something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its line in the test.
    pub line: u32,
    /// What became of the packets before it, with both engines.
    pub before: Vec<Processed>,
    /// What should become of it.
    pub wanted: Processed,
    /// What became of it.
    pub found: Processed,
}

/// The packets of a test that a simulation differs on, without the lines that do not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The test.
    pub text: String,
    /// The first difference in it.
    pub difference: Difference,
}

/// The first packet of a test of which the second engine makes something else than the first one: other packets, or digests. Packets without
/// bytes do not count, which hardware does not send.
///
/// # Errors
/// A line cannot be carried out.
pub fn difference(
    script: &Script,
    wanted: &mut dyn Engine,
    found: &mut dyn Engine,
) -> Result<Option<Difference>, StfError> {
    let (mut wanted, mut found) = (outputs(script, wanted)?, outputs(script, found)?);
    let differ = |wanted: &Processed, found: &Processed| sent(wanted) != sent(found) || wanted.digests != found.digests;
    let at = wanted.iter().zip(&found).position(|((_, wanted), (_, found))| differ(wanted, found));
    Ok(at.map(|at| {
        let ((line, found), (_, last)) = (found.swap_remove(at), wanted.swap_remove(at));
        let before = wanted.into_iter().take(at).map(|(_, processed)| processed).collect();
        Difference { line, before, wanted: last, found }
    }))
}

fn sent(processed: &Processed) -> Vec<&(u16, Vec<u8>)> {
    processed.sent.iter().filter(|(_, bytes)| !bytes.is_empty()).collect()
}

/// Reduces a test, of which `differs` finds the first difference if there is one. None if there is none in the whole test.
pub fn reduce(text: &str, differs: &mut dyn FnMut(&Script) -> Option<Difference>) -> Option<Counterexample> {
    let trials = Cell::new(0);
    let mut differs = |lines: &[&str]| {
        trials.set(trials.get() + 1);
        differs(&parse("counterexample", &lines.join("\n")).ok()?)
    };
    let more = || trials.get() < MAX_TRIALS;
    let script = parse("test", text).ok()?;
    // Each command in a line, without comments and what is expected.
    let whole: BTreeMap<u32, String> = script::lines(text).into_iter().collect();
    let needed = script.commands.iter().filter(|(_, command)| !is_expectation(command));
    let needed = needed.filter_map(|(number, command)| {
        let line = whole.get(number)?.split('#').next()?.trim();
        Some((line, is_packet(command)))
    });
    let (mut lines, packets): (Vec<&str>, Vec<bool>) = needed.unzip();
    let mut difference = differs(&lines)?;
    // What comes behind the packet does not matter; most of the packets before it do not either.
    lines.truncate(difference.line as usize);
    let last = lines.len().saturating_sub(1);
    let alone = (0..lines.len()).filter(|at| *at == last || !packets[*at]);
    let alone: Vec<&str> = alone.map(|at| lines[at]).collect();
    if let Some(found) = differs(&alone) {
        (lines, difference) = (alone, found);
    }
    let mut size = lines.len() / 2;
    while size > 0 && more() {
        let (mut at, mut shorter) = (0, false);
        while at < lines.len() && more() {
            let rest = [&lines[..at], &lines[(at + size).min(lines.len())..]].concat();
            match differs(&rest) {
                Some(found) => {
                    (lines, difference) = (rest, found);
                    lines.truncate(difference.line as usize);
                    shorter = true;
                }
                None => at += size,
            }
        }
        if !(shorter && size == 1) {
            size /= 2;
        }
    }
    Some(Counterexample { text: lines.join("\n") + "\n", difference })
}

/// Reduces a test of a program on which `differs` finds a difference, writes it to a folder, and says what it shows and where to look at the
/// design. With the text of the program, that is written, too; otherwise it is the path of its file. For tests of hardware.
pub fn report(
    folder: &Path,
    program: Result<&str, &str>,
    test: &str,
    differs: &mut dyn FnMut(&Script) -> Option<Difference>,
) -> String {
    let Some(found) = reduce(test, differs) else {
        return "the difference does not come again: it depends on what came before the test".into();
    };
    let mut text = found.to_string();
    let captures = match found.write(folder) {
        Ok(captures) => captures,
        Err(error) => return format!("{text}\n{}: {error}", folder.display()),
    };
    let file = match program {
        Ok(source) => {
            let file = folder.join("program.p4");
            if let Err(error) = std::fs::write(&file, source) {
                return format!("{text}\n{}: {error}", file.display());
            }
            file.display().to_string()
        }
        Err(path) => path.to_string(),
    };
    let folder = folder.display();
    text.push_str(&format!(
        "\nThe test is {folder}/test.stf. To look at the operations, and at the signals of the design:\n  hopwright rtl {file} --ir\n  \
         hopwright rtl {file} --entries {folder}/test.stf -o {folder}/design"
    ));
    for (port, capture) in captures {
        text.push_str(&format!(
            "\n  make -C {folder}/design/simulation PCAP={} PORT={port} WAVES=1",
            capture.display()
        ));
    }
    text
}

fn is_packet(command: &Command) -> bool {
    matches!(command, Command::Packet { .. })
}

fn is_expectation(command: &Command) -> bool {
    use Command::{CheckCounter, CheckRegister, Expect, ExpectDigest, NoPacket, NoPacketAt};
    matches!(
        command,
        Expect { .. } | NoPacket | NoPacketAt(_) | CheckCounter { .. } | CheckRegister(..) | ExpectDigest(..)
    )
}

impl Counterexample {
    /// The test with what is expected of its packets: the first engine passes it, and the second one fails, unless it only sends digests where
    /// none should be.
    pub fn test(&self) -> String {
        let Difference { before, wanted, found, .. } = &self.difference;
        let mut text = self.text.clone();
        if wanted.sent.is_empty() {
            text.push_str("no_packet\n");
        }
        // What leaves by ports that the test does not name is lost.
        let ports: BTreeSet<u16> = sent(found).into_iter().map(|(port, _)| *port).collect();
        ports.into_iter().for_each(|port| text.push_str(&format!("no_packet {port}\n")));
        for (port, bytes) in before.iter().chain([wanted]).flat_map(sent) {
            text.push_str(&format!("expect {port} {} $\n", hex(bytes)));
        }
        if wanted.digests != found.digests {
            for digest in before.iter().chain([wanted]).flat_map(|processed| &processed.digests) {
                let values: String = digest.data.iter().map(|value| format!(" {:#x}", value.bits)).collect();
                text.push_str(&format!("expect_digest {}{values}\n", digest.name));
            }
        }
        text
    }

    /// Writes `test.stf`, and the packets of each port as `inPORT.pcap`. Returns the captures by port.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<BTreeMap<u16, PathBuf>> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("test.stf"), self.test())?;
        let mut packets: BTreeMap<u16, Vec<Vec<u8>>> = BTreeMap::new();
        for (_, command) in parse("counterexample", &self.text).map_or(Vec::new(), |script| script.commands) {
            if let Command::Packet { port, bytes } = command {
                packets.entry(port).or_default().push(bytes);
            }
        }
        let mut captures = BTreeMap::new();
        for (port, packets) in packets {
            let path = folder.join(format!("in{port}.pcap"));
            std::fs::write(&path, capture(&packets))?;
            captures.insert(port, path);
        }
        Ok(captures)
    }
}

/// What differs, for people.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { line, wanted, found, .. } = &self.difference;
        writeln!(f, "the packet in line {line} of")?;
        self.text.lines().try_for_each(|line| writeln!(f, "  {line}"))?;
        let (wanted, found) = (sent(wanted), sent(found));
        match (0..wanted.len().max(found.len())).find(|i| wanted.get(*i) != found.get(*i)) {
            None => write!(f, "sends other digests"),
            Some(number) => {
                writeln!(f, "differs first in packet {} of those that leave:", number + 1)?;
                for (what, sent) in [("expected", wanted.get(number)), ("found", found.get(number))] {
                    match sent {
                        Some((port, bytes)) => writeln!(f, "  {what}: port {port}, {}", hex(bytes))?,
                        None => writeln!(f, "  {what}: nothing")?,
                    }
                }
                let different = match (wanted.get(number), found.get(number)) {
                    (Some((_, a)), Some((_, b))) if a.len() != b.len() => format!("{} and {} bytes", a.len(), b.len()),
                    (Some((_, a)), Some((_, b))) if a != b => {
                        let bytes = (0..a.len()).filter(|i| a[*i] != b[*i]).map(|i| i.to_string());
                        format!("bytes {} differ, counted from 0", bytes.collect::<Vec<_>>().join(", "))
                    }
                    (Some(_), Some(_)) => "the ports differ".into(),
                    _ => "one of them sends less".into(),
                };
                write!(f, "  {different}")
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A capture of Ethernet frames.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let word = |file: &mut Vec<u8>, word: u32| file.extend(word.to_le_bytes());
    // Version 2.4, frames of at most 65,535 bytes.
    for number in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1] {
        word(&mut file, number);
    }
    for (number, packet) in packets.iter().enumerate() {
        for field in [0, number as u32, packet.len() as u32, packet.len() as u32] {
            word(&mut file, field);
        }
        file.extend(packet);
    }
    file
}
