//! Designs behind the data plane's control interface: the driver of a design, which turns changes of tables, keys, counters and
//! registers into accesses to its registers, and simulated hardware that runs its packets.

mod partial;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hopwright_dataplane::offload::{Forwarded, Offload};
use hopwright_dataplane::{BuildError, Count, VirtualDataPlane};
use hopwright_interp::{CloneSession, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, ExternId, ExternKind, MatchValue, Pipeline, TableEntry, TableId, Unit, ValueSetId};
use hopwright_rtl::driver::{self, Change, CopyDriver, TableDriver, ValueSetDriver};
use hopwright_rtl::simulation::{self, Simulation, SimulationError, Timing};
use hopwright_rtl::{Hardware, Refusal, Target};
use num_bigint::BigUint;

pub use partial::{LeftOut, PartialDesign};

/// The target if none is named.
pub const DEFAULT_TARGET: &str = "ecp5-85-512";

/// Why a program does not run as hardware.
#[derive(Debug, thiserror::Error)]
pub enum OffloadError {
    /// What the program needs and hardware does not have.
    #[error("hardware cannot run the program")]
    Refused(Vec<Refusal>),
    /// There is no simulation.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The simulation does not start.
    #[error("cannot start the simulation: {0}")]
    Start(#[source] io::Error),
    /// The data plane cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

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

/// A simulated design with its driver.
#[derive(Debug)]
pub struct SimulatedDesign {
    pipeline: Arc<Pipeline>,
    hardware: Hardware,
    simulation: Simulation,
    tables: Vec<TableDriver>,
    value_sets: Vec<ValueSetDriver>,
    copies: CopyDriver,
    /// Cells of registers that the design does not have, since the program does not use them.
    unused: HashMap<(ExternId, u64), BigUint>,
    activity: Arc<Mutex<Activity>>,
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
        let hardware = hopwright_rtl::compile(pipeline, target).map_err(OffloadError::Refused)?;
        let program = simulation::build(&hardware, folder, None)?;
        let simulation = Simulation::start(&program, seed).map_err(OffloadError::Start)?;
        let map = &hardware.verilog.map;
        let tables = (0..pipeline.tables.len() as u32).map(|table| TableDriver::new(pipeline, map, TableId(table)));
        let tables = tables.collect();
        let value_sets = pipeline.value_sets.iter().map(|set| ValueSetDriver::new(map, set)).collect();
        let copies = CopyDriver::new(map);
        let (unused, activity) = (HashMap::new(), Arc::default());
        let pipeline = pipeline.clone();
        Ok(SimulatedDesign { pipeline, hardware, simulation, tables, value_sets, copies, unused, activity })
    }

    /// What the design has done and will do.
    pub fn activity(&self) -> Arc<Mutex<Activity>> {
        self.activity.clone()
    }

    /// The design.
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    fn change(&mut self, table: TableId, change: &Change<'_>) -> Result<(), String> {
        let map = &self.hardware.verilog.map;
        let accesses = self.tables[table.index()].change(&self.pipeline, map, change);
        self.simulation.access(&accesses.map_err(|full| full.to_string())?).map_err(ended)
    }

    /// The cell of an entry in a table's direct counter or meter.
    fn cell(
        &self,
        table: TableId,
        object: Option<ExternId>,
        matches: &[MatchValue],
        priority: i32,
    ) -> Option<(ExternId, u64)> {
        Some((object?, self.tables[table.index()].number(matches, priority)?.into()))
    }

    /// What a counter counts.
    fn unit(&self, counter: ExternId) -> Unit {
        match self.pipeline[counter].kind {
            ExternKind::Counter { unit, .. } | ExternKind::DirectCounter { unit, .. } => unit,
            _ => Unit::Both,
        }
    }

    /// The number of an object in the register map.
    fn object(&self, id: ExternId) -> Option<usize> {
        let name = &self.pipeline[id].name;
        self.hardware.verilog.map.objects.iter().position(|object| object.name == *name)
    }

    fn read(&mut self, object: ExternId, cells: Range<u64>) -> Result<Vec<BigUint>, String> {
        let map = &self.hardware.verilog.map;
        match self.object(object) {
            Some(number) => self.simulation.cells(map, number, cells).map_err(ended),
            None => Ok(cells.map(|index| self.unused.get(&(object, index)).cloned().unwrap_or_default()).collect()),
        }
    }

    fn write(&mut self, object: ExternId, index: u64, value: &BigUint) -> Result<(), String> {
        let map = &self.hardware.verilog.map;
        match self.object(object) {
            Some(number) => {
                let accesses = driver::write_object(map, number, index as u32, value);
                self.simulation.access(&accesses).map_err(ended)
            }
            None => {
                self.unused.insert((object, index), value.clone());
                Ok(())
            }
        }
    }
}

/// A data plane whose program runs as simulated hardware.
///
/// # Errors
/// The program is refused, or tools are missing.
pub fn simulated(pipeline: &Arc<Pipeline>, target: &Target) -> Result<Arc<VirtualDataPlane>, OffloadError> {
    let design = SimulatedDesign::start(pipeline, target, None)?;
    Ok(VirtualDataPlane::offloaded(pipeline.clone(), Box::new(design))?)
}

fn ended(error: io::Error) -> String {
    format!("the simulation has ended: {error}")
}

impl Offload for SimulatedDesign {
    fn put(&mut self, table: TableId, entry: &TableEntry) -> Result<(), String> {
        self.change(table, &Change::Put(entry))
    }

    fn delete(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), String> {
        self.change(table, &Change::Delete { matches, priority })
    }

    fn clear(&mut self, table: TableId) -> Result<(), String> {
        self.change(table, &Change::Clear)
    }

    fn set_default(&mut self, table: TableId, action: &ActionCall) -> Result<(), String> {
        self.change(table, &Change::Default(action))
    }

    fn set_key(&mut self, object: ExternId, index: u64, key: Option<&[u8; 16]>) -> Result<(), String> {
        let mut unknown = [0; 16];
        getrandom::fill(&mut unknown).map_err(|e| format!("no random numbers: {e}"))?;
        let (map, name) = (&self.hardware.verilog.map, &self.pipeline[object].name);
        let accesses = driver::set_key(map, name, index as u32, key.unwrap_or(&unknown));
        self.simulation.access(&accesses).map_err(ended)
    }

    fn counts(&mut self, counter: ExternId, cells: Range<u64>) -> Result<Vec<Count>, String> {
        let unit = self.unit(counter);
        let count = |cell: BigUint| {
            let (packets, bytes) = driver::counts_of(unit, &cell);
            Count { packets, bytes }
        };
        Ok(self.read(counter, cells)?.into_iter().map(count).collect())
    }

    fn set_count(&mut self, counter: ExternId, index: u64, count: Count) -> Result<(), String> {
        self.write(counter, index, &driver::count_cell(self.unit(counter), count.packets, count.bytes))
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, String> {
        Ok(self.read(register, index..index + 1)?.pop().unwrap_or_default())
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: &BigUint) -> Result<(), String> {
        self.write(register, index, value)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), String> {
        self.write(meter, index, &driver::meter(rates)?)
    }

    fn direct_count(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<Count, String> {
        match self.cell(table, self.pipeline[table].direct_counter, matches, priority) {
            Some((counter, cell)) => Ok(self.counts(counter, cell..cell + 1)?.pop().unwrap_or_default()),
            None => Ok(Count::default()),
        }
    }

    fn set_direct_count(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        count: Count,
    ) -> Result<(), String> {
        match self.cell(table, self.pipeline[table].direct_counter, matches, priority) {
            Some((counter, cell)) => self.set_count(counter, cell, count),
            None => Ok(()),
        }
    }

    fn set_direct_meter(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        rates: Option<Rates>,
    ) -> Result<(), String> {
        match self.cell(table, self.pipeline[table].direct_meter, matches, priority) {
            Some((meter, cell)) => self.set_meter(meter, cell, rates),
            None => Ok(()),
        }
    }

    fn set_members(&mut self, set: ValueSetId, members: &[Vec<MatchValue>]) -> Result<(), String> {
        let map = &self.hardware.verilog.map;
        let accesses = self.value_sets[set.index()].replace(&self.pipeline[set], map, members);
        self.simulation.access(&accesses.map_err(|full| full.to_string())?).map_err(ended)
    }

    fn settle(&mut self) -> Result<(), String> {
        // Of packets that have entered, none is under way.
        self.simulation.settle().map(drop).map_err(ended)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), String> {
        let accesses = self.copies.set_group(&self.hardware.verilog.map, group, replicas);
        self.simulation.access(&accesses.map_err(|full| full.to_string())?).map_err(ended)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String> {
        let accesses = self.copies.set_session(&self.hardware.verilog.map, session, to);
        self.simulation.access(&accesses.map_err(|full| full.to_string())?).map_err(ended)
    }

    fn process(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> Result<Vec<Vec<Forwarded>>, String> {
        // Hardware drops what is longer, and there are no packets without bytes.
        let longest = self.hardware.target.max_packet_bytes as usize;
        let enters = |bytes: &[u8]| !bytes.is_empty() && bytes.len() <= longest;
        let started = Instant::now();
        for (port, bytes) in packets.iter().filter(|(_, bytes)| enters(bytes)) {
            self.simulation.send(*port as u16, now_us, bytes).map_err(ended)?;
        }
        let mut sent = self.simulation.settle().map_err(ended)?.into_iter();
        let mut activity = self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        activity.packets += sent.len() as u64;
        activity.cycles = self.simulation.cycles();
        activity.took += started.elapsed();
        activity.timing = self.simulation.timing();
        drop(activity);
        let forwarded = |sent: simulation::Sent| Forwarded { port: sent.port.into(), bytes: sent.bytes };
        let mut became = |bytes: &[u8]| {
            let copies = if enters(bytes) { sent.next() } else { None };
            copies.unwrap_or_default().into_iter().map(forwarded).collect()
        };
        Ok(packets.iter().map(|(_, bytes)| became(bytes)).collect())
    }
}

impl Drop for SimulatedDesign {
    fn drop(&mut self) {
        let Activity { packets, cycles, took, .. } = *self.activity.lock().unwrap_or_else(PoisonError::into_inner);
        let clock_mhz = self.hardware.target.clock_mhz;
        tracing::info!(packets, cycles, seconds = took.as_secs_f64(), clock_mhz, "simulated hardware stopped");
    }
}
