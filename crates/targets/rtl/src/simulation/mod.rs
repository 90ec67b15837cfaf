//! Simulated hardware: a design, compiled by verilator and a C++ compiler, that runs as a process of its own.
//!
//! Programs are kept in a cache, by what they were made of.

pub mod board;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use num_bigint::BigUint;

use crate::design::Hardware;
use crate::driver::{self, Access, Registers};
use crate::engines;
use crate::map::{Map, STATUS};
use crate::target::Target;

/// What drives a design in the simulation.
const MAIN: &str = include_str!("main.cpp");

/// What it shares with the testbench of a design.
const HARNESS: &str = include_str!("harness.h");

/// Captures.
const PCAP: &str = include_str!("pcap.h");

/// Why a design is not simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// A program that is needed is not installed.
    #[error(
        "the simulation of hardware needs `{0}`, which is not installed; on Debian: apt-get install verilator g++ make"
    )]
    Missing(&'static str),
    /// Verilator or the C++ compiler has refused the design; what it said.
    #[error("verilator failed:\n{0}")]
    Build(String),
    /// A file cannot be written, or a process not started.
    #[error("{}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
}

/// A folder of the user's cache.
pub fn cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|f| !f.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("hopwright/rtl")
}

/// Compiles a design to a program below a folder; returns the program. Takes minutes for a large design the first time. With a
/// file of waivers, warnings that it does not waive are errors.
///
/// # Errors
/// A tool is missing or fails.
pub fn build(hardware: &Hardware, folder: &Path, waivers: Option<&Path>) -> Result<PathBuf, SimulationError> {
    let verilog = &hardware.verilog;
    // Comments name places in the program. A program without its text is simulated by the same process.
    let without_comment = |line: &str| match line.split_once("//") {
        Some((code, comment)) if !comment.contains("verilator") => format!("{code}\n"),
        _ => format!("{line}\n"),
    };
    let pipeline: String = verilog.pipeline.lines().map(without_comment).collect();
    let mut files = vec![
        (format!("{}.sv", verilog.name), verilog.top.as_str()),
        (format!("{}_pipeline.sv", verilog.name), pipeline.as_str()),
        ("main.cpp".to_string(), MAIN),
        ("harness.h".to_string(), HARNESS),
    ];
    files.extend(engines::with_parts(&verilog.engines).into_iter().map(|(name, text)| (format!("{name}.sv"), text)));
    let macros = [format!("MAX_BYTES={}", hardware.target.max_packet_bytes)];
    let mut arguments: Vec<String> =
        ["--x-assign", "unique", "--x-initial", "unique", "--prefix", "Vdut"].map(str::to_string).into();
    match waivers {
        Some(file) => arguments.extend(["-Wall".into(), "-Wno-WIDTHCONCAT".into(), file.display().to_string()]),
        None => arguments.push("-Wno-fatal".into()),
    }
    compile(&verilog.name, &files, &arguments, &macros, folder)
}

/// A testbench of a design, by names: what simulates its packets, and a makefile. The top module is in a file that may have another name.
pub(crate) fn testbench(file: &str, top: &str, target: &Target) -> [(String, String); 4] {
    let makefile = include_str!("Makefile.in")
        .replace("@TOP@", top)
        .replace("@MAX@", &target.max_packet_bytes.to_string())
        .replace("@MHZ@", &target.clock_mhz.to_string())
        .replace("@FILE@", file);
    [
        ("Makefile", makefile),
        ("simulation.cpp", include_str!("testbench.cpp").into()),
        ("harness.h", HARNESS.into()),
        ("pcap.h", PCAP.into()),
    ]
    .map(|(name, text)| (format!("simulation/{name}"), text))
}

/// The header for captures, of boards.
pub(crate) fn captures() -> (String, String) {
    ("pcap.h".into(), PCAP.into())
}

/// Compiles sources with a top module and a `main.cpp` to a program below a folder, unless that has been done.
fn compile(
    top: &str,
    files: &[(String, &str)],
    arguments: &[String],
    macros: &[String],
    folder: &Path,
) -> Result<PathBuf, SimulationError> {
    let mut hasher = DefaultHasher::new();
    (files, arguments, macros).hash(&mut hasher);
    let folder = folder.join(format!("{top}-{:016x}", hasher.finish()));
    let program = folder.join("simulation");
    if program.exists() {
        return Ok(program);
    }
    for name in ["verilator", "g++", "make"] {
        let found = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if found.is_err() {
            return Err(SimulationError::Missing(name));
        }
    }
    // Another thread or process may do the same at the same time.
    static BUILDS: AtomicU32 = AtomicU32::new(0);
    let work = folder.join(format!("build-{}-{}", std::process::id(), BUILDS.fetch_add(1, Ordering::Relaxed)));
    let failed = |path: &Path| {
        let path = path.to_path_buf();
        move |error| SimulationError::Io(path, error)
    };
    std::fs::create_dir_all(&work).map_err(failed(&work))?;
    for (name, text) in files {
        let path = work.join(name);
        std::fs::write(&path, text).map_err(failed(&path))?;
    }
    let output = Command::new("verilator")
        .args([
            "--cc",
            "--exe",
            "--build",
            "-sv",
            "-O3",
            "-o",
            "simulation",
            "--output-split",
            "40000",
            "-CFLAGS",
            "-O1",
        ])
        .args(arguments)
        .args(macros.iter().flat_map(|text| ["-CFLAGS".to_string(), format!("-D{text}")]))
        .args(["-j", "2", "-Mdir", "build", "--top-module", top, "-y", ".", &format!("{top}.sv"), "main.cpp"])
        .current_dir(&work)
        .output()
        .map_err(failed(&work))?;
    if !output.status.success() {
        let message = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
        let _ = std::fs::remove_dir_all(&work);
        return Err(SimulationError::Build(message));
    }
    std::fs::rename(work.join("build/simulation"), &program).map_err(failed(&program))?;
    let _ = std::fs::remove_dir_all(&work);
    Ok(program)
}

/// A packet that left a design.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The egress port.
    pub port: u16,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// What packets took, in clock cycles. With random gaps and back-pressure it means little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// From the first word that entered to the last one.
    pub entering: u64,
    /// From the first word that left to the last one.
    pub leaving: u64,
    /// Cycles in which a word had to wait at the entrance.
    pub waiting: u64,
    /// Packets that were dropped at the entrance.
    pub dropped: u64,
    /// From the last word of a packet that entered to its first word that left, the shortest; 0 if no packet left.
    pub shortest: u64,
    /// The longest of these.
    pub longest: u64,
}

impl Timing {
    /// Cycles that each of these packets took, on the side that took longer: the rate at which packets can follow each other.
    pub fn cycles_per_packet(&self, packets: usize) -> f64 {
        self.entering.max(self.leaving) as f64 / packets.max(1) as f64
    }
}

/// A running simulation. It ends when this is dropped.
#[derive(Debug)]
pub struct Simulation {
    process: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    cycles: u64,
    timing: Timing,
}

impl Simulation {
    /// Starts a program that [`build`] has made. A seed makes initial values, gaps between words and back-pressure random.
    ///
    /// # Errors
    /// The program does not start.
    pub fn start(program: &Path, seed: Option<u64>) -> io::Result<Simulation> {
        let mut process = Command::new(program)
            .args(seed.map(|seed| seed.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let (input, output) = (Some(BufWriter::new(input)), BufReader::new(output));
        Ok(Simulation { process, input, output, cycles: 0, timing: Timing::default() })
    }

    /// The clock cycles that have passed when all packets were last through.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// What the packets took that were last through. They entered back to back.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn number<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.output.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Lets a packet in by a port, at a time in microseconds. Packets enter in order. One that has no bytes, or more than the target's
    /// longest packet, ends the simulation.
    ///
    /// # Errors
    /// The process is gone.
    pub fn send(&mut self, port: u16, now_us: u64, packet: &[u8]) -> io::Result<()> {
        self.put(b"p")?;
        self.put(&port.to_le_bytes())?;
        self.put(&now_us.to_le_bytes())?;
        self.put(&(packet.len() as u32).to_le_bytes())?;
        self.put(packet)
    }

    /// Waits until all packets are through; returns the copies that were sent of each that was let in since the last call.
    ///
    /// # Errors
    /// The process is gone.
    pub fn settle(&mut self) -> io::Result<Vec<Vec<Sent>>> {
        self.put(b"s")?;
        self.flush()?;
        let (mut packets, mut copies) = (Vec::new(), Vec::new());
        loop {
            match self.number::<1>()? {
                [0] => packets.push(std::mem::take(&mut copies)),
                [1] => {
                    let port = u16::from_le_bytes(self.number()?);
                    let mut bytes = vec![0; u32::from_le_bytes(self.number()?) as usize];
                    self.output.read_exact(&mut bytes)?;
                    copies.push(Sent { port, bytes });
                }
                _ => break,
            }
        }
        self.cycles = u64::from_le_bytes(self.number()?);
        let mut field = || self.number().map(u64::from_le_bytes);
        self.timing = Timing {
            entering: field()?,
            leaving: field()?,
            waiting: field()?,
            dropped: field()?,
            shortest: field()?,
            longest: field()?,
        };
        Ok(packets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.input.as_mut().map_or(Ok(()), |input| input.flush())
    }
}

impl Registers for Simulation {
    fn read(&mut self, addresses: &[u32]) -> io::Result<Vec<u32>> {
        for address in addresses {
            self.put(b"b")?;
            self.put(&address.to_le_bytes())?;
        }
        self.flush()?;
        addresses.iter().map(|_| self.number().map(u32::from_le_bytes)).collect()
    }

    fn access(&mut self, accesses: &[Access]) -> io::Result<()> {
        for access in accesses {
            match access {
                Access::Write { address, data } => {
                    self.put(b"w")?;
                    self.put(&address.to_le_bytes())?;
                    self.put(&data.to_le_bytes())?;
                }
                Access::Wait { address } => {
                    self.put(b"i")?;
                    self.put(&address.to_le_bytes())?;
                }
            }
        }
        Ok(())
    }

    // Of packets that have entered, none is under way then.
    fn cells(&mut self, map: &Map, object: usize, cells: Range<u64>) -> io::Result<Vec<BigUint>> {
        let words = map.objects[object].bits.div_ceil(32);
        let (address, first) = driver::read_object(object, cells.start as u32);
        self.put(b"r")?;
        for number in [address, first, (cells.end - cells.start) as u32, words] {
            self.put(&number.to_le_bytes())?;
        }
        self.flush()?;
        let mut values = Vec::new();
        for _ in cells {
            let words: io::Result<Vec<u32>> = (0..words).map(|_| self.number().map(u32::from_le_bytes)).collect();
            values.push(BigUint::from_slice(&words?));
        }
        Ok(values)
    }

    fn attach(&mut self, map: &Map) -> io::Result<()> {
        // Memories start with zeros.
        let fresh = self.read(&[STATUS])?[0] & 1 != 0;
        driver::identify(self, map, "the simulation")?;
        if fresh { Ok(()) } else { self.access(&driver::clear(map)) }
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // The end of its input ends the process.
        self.input = None;
        let _ = self.process.wait();
    }
}
