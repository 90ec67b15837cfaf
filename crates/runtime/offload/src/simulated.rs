//! Simulated hardware as the device of a design.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_dataplane::offload::Forwarded;
use hopwright_ir::Pipeline;
use hopwright_rtl::driver::{Access, Registers};
use hopwright_rtl::map::Map;
use hopwright_rtl::simulation::{self, Sent, Simulation, Timing};
use hopwright_rtl::{Hardware, Target};
use num_bigint::BigUint;

use crate::{Design, Device, OffloadError, SimulatedDesign};

/// What a simulated design has done, for those that watch it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Activity {
    /// Packets that have entered.
    pub packets: u64,
    /// Clock cycles.
    pub cycles: u64,
    /// The time that the simulation of packets took.
    pub took: Duration,
    /// What the last batch of packets took.
    pub timing: Timing,
}

/// A running simulation that counts what it does.
#[derive(Debug)]
pub struct Simulated {
    simulation: Simulation,
    clock_mhz: u32,
    activity: Arc<Mutex<Activity>>,
}

/// A program that has been compiled for a simulation, which can be started several times.
#[derive(Debug)]
pub struct CompiledSimulation {
    hardware: Hardware,
    program: PathBuf,
}

impl CompiledSimulation {
    /// Compiles a program for a target. Takes minutes for a large program the first time.
    ///
    /// # Errors
    /// The program is refused, or tools are missing.
    pub fn of(pipeline: &Pipeline, target: &Target) -> Result<CompiledSimulation, OffloadError> {
        CompiledSimulation::compile(pipeline, target, &simulation::cache())
    }

    fn compile(pipeline: &Pipeline, target: &Target, folder: &Path) -> Result<CompiledSimulation, OffloadError> {
        let hardware = hopwright_rtl::compile(pipeline, target).map_err(OffloadError::Refused)?;
        let program = simulation::build(&hardware, folder, None)?;
        Ok(CompiledSimulation { hardware, program })
    }

    /// Starts a simulation of the same program in its initial state.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(&self, pipeline: &Arc<Pipeline>) -> Result<SimulatedDesign, OffloadError> {
        self.start_with(pipeline, None)
    }

    fn start_with(&self, pipeline: &Arc<Pipeline>, seed: Option<u64>) -> Result<SimulatedDesign, OffloadError> {
        let simulation = Simulation::start(&self.program, seed).map_err(OffloadError::Start)?;
        let clock_mhz = self.hardware.target.clock_mhz;
        let device = Simulated { simulation, clock_mhz, activity: Arc::default() };
        Design::attach(pipeline, self.hardware.clone(), device)
    }
}

impl SimulatedDesign {
    /// Compiles a program for a target and starts its simulation. Takes minutes for a large program the first time. A seed makes
    /// initial values, gaps between words and back-pressure random.
    ///
    /// # Errors
    /// The program is refused, or tools are missing.
    pub fn start(
        pipeline: &Arc<Pipeline>,
        target: &Target,
        seed: Option<u64>,
    ) -> Result<SimulatedDesign, OffloadError> {
        SimulatedDesign::start_from(pipeline, target, seed, &simulation::cache())
    }

    /// The same with a folder for compiled simulations.
    ///
    /// # Errors
    /// As above.
    pub fn start_from(
        pipeline: &Arc<Pipeline>,
        target: &Target,
        seed: Option<u64>,
        folder: &Path,
    ) -> Result<SimulatedDesign, OffloadError> {
        CompiledSimulation::compile(pipeline, target, folder)?.start_with(pipeline, seed)
    }

    /// What the design has done and will do.
    pub fn activity(&self) -> Arc<Mutex<Activity>> {
        self.device.activity.clone()
    }
}

fn ended(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the simulation has ended: {error}"))
}

impl Registers for Simulated {
    fn read(&mut self, addresses: &[u32]) -> io::Result<Vec<u32>> {
        self.simulation.read(addresses).map_err(ended)
    }

    fn access(&mut self, accesses: &[Access]) -> io::Result<()> {
        self.simulation.access(accesses).map_err(ended)
    }

    fn cells(&mut self, map: &Map, object: usize, cells: Range<u64>) -> io::Result<Vec<BigUint>> {
        self.simulation.cells(map, object, cells).map_err(ended)
    }

    fn attach(&mut self, map: &Map) -> io::Result<()> {
        self.simulation.attach(map)
    }
}

impl Device for Simulated {
    fn settle(&mut self) -> io::Result<()> {
        // Of packets that have entered, none is under way.
        self.simulation.settle().map(drop).map_err(ended)
    }

    fn run(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> io::Result<Vec<Vec<Forwarded>>> {
        let started = Instant::now();
        for (port, bytes) in packets {
            self.simulation.send(*port as u16, now_us, bytes).map_err(ended)?;
        }
        let sent = self.simulation.settle().map_err(ended)?;
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.packets += sent.len() as u64;
        activity.cycles = self.simulation.cycles();
        activity.took += started.elapsed();
        activity.timing = self.simulation.timing();
        let forwarded = |sent: Sent| Forwarded { port: sent.port.into(), bytes: sent.bytes };
        Ok(sent.into_iter().map(|copies| copies.into_iter().map(forwarded).collect()).collect())
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let Activity { packets, cycles, took, .. } = *self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let clock_mhz = self.clock_mhz;
        tracing::info!(packets, cycles, seconds = took.as_secs_f64(), clock_mhz, "simulated hardware stopped");
    }
}
