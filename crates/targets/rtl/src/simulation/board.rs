//! Simulated boards: frames enter and leave by GMII, and the driver reaches the registers by Etherbone, as on a board.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{Sent, SimulationError};
use crate::board::Board;
use crate::design::Hardware;

/// Compiles a board with a design to a program below a folder; returns the program.
///
/// # Errors
/// A tool is missing or fails.
pub fn build(board: &Board, hardware: &Hardware, folder: &Path) -> Result<PathBuf, SimulationError> {
    let files = board.files(hardware, &hardware.verilog.name);
    let mut files: Vec<(String, &str)> = files
        .iter()
        .filter(|(name, _)| !name.contains('/'))
        .map(|(name, text)| (name.clone(), text.as_str()))
        .collect();
    files.push(("main.cpp".into(), include_str!("../../boards/sim.cpp")));
    let arguments = ["-Wno-fatal", "--prefix", "Vboard"].map(str::to_string);
    super::compile(&format!("{}_board", hardware.verilog.name), &files, &arguments, &board.simulation_macros(), folder)
}

/// A running simulation of a board. It ends when this is dropped.
#[derive(Debug)]
pub struct BoardSimulation {
    process: Child,
    input: Option<BufWriter<ChildStdin>>,
    output: BufReader<ChildStdout>,
    control: SocketAddr,
}

impl BoardSimulation {
    /// Starts a program that [`build`] has made. Etherbone is answered on this UDP port of the loopback device, or on any.
    ///
    /// # Errors
    /// The program does not start.
    pub fn start(program: &Path, control: Option<u16>) -> io::Result<BoardSimulation> {
        let mut process = Command::new(program)
            .args(["--control", &control.unwrap_or(0).to_string(), "--frames"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(io::Error::other("the process has no pipes"));
        };
        let (input, mut output) = (Some(BufWriter::new(input)), BufReader::new(output));
        let mut line = String::new();
        output.read_line(&mut line)?;
        let port = line.strip_prefix("control ").and_then(|port| port.trim().parse().ok());
        let port: u16 = port.ok_or_else(|| io::Error::other("the simulation does not say its port"))?;
        Ok(BoardSimulation { process, input, output, control: ([127, 0, 0, 1], port).into() })
    }

    /// Where Etherbone is answered.
    pub fn control(&self) -> SocketAddr {
        self.control
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Sends a frame to a port, without check sequence; short ones are padded. Frames of a port are sent back to back.
    ///
    /// # Errors
    /// The process is gone.
    pub fn send(&mut self, port: u16, frame: &[u8]) -> io::Result<()> {
        self.enter(b"p", port, frame)
    }

    /// Sends bytes to a port as its line has them: preamble, delimiter, frame and check sequence, or something else.
    ///
    /// # Errors
    /// The process is gone.
    pub fn send_line(&mut self, port: u16, bytes: &[u8]) -> io::Result<()> {
        self.enter(b"r", port, bytes)
    }

    fn enter(&mut self, command: &[u8], port: u16, bytes: &[u8]) -> io::Result<()> {
        self.put(command)?;
        self.put(&port.to_le_bytes())?;
        self.put(&(bytes.len() as u32).to_le_bytes())?;
        self.put(bytes)
    }

    /// Waits until nothing happens any more; returns the frames that have left since the last call, those of each port in order.
    ///
    /// # Errors
    /// The process is gone: what has left was not in order, or it has been ended.
    pub fn settle(&mut self) -> io::Result<Vec<Sent>> {
        self.put(b"s")?;
        if let Some(input) = &mut self.input {
            input.flush()?;
        }
        let mut frames = Vec::new();
        loop {
            let mut head = [0; 7];
            self.output.read_exact(&mut head[..1])?;
            if head[0] == 0 {
                return Ok(frames);
            }
            self.output.read_exact(&mut head[1..])?;
            let mut bytes = vec![0; u32::from_le_bytes([head[3], head[4], head[5], head[6]]) as usize];
            self.output.read_exact(&mut bytes)?;
            frames.push(Sent { port: u16::from_le_bytes([head[1], head[2]]), bytes });
        }
    }
}

impl Drop for BoardSimulation {
    fn drop(&mut self) {
        // The end of its input ends the process.
        self.input = None;
        let _ = self.process.wait();
    }
}
