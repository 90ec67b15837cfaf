//! Designs behind the data plane's control interface: the driver of a design, which turns changes of tables, keys, counters and
//! registers into accesses to its registers, and simulated hardware that runs its packets.

mod board;
mod partial;
mod simulated;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use hopwright_dataplane::offload::{Forwarded, Offload};
use hopwright_dataplane::{BuildError, Count, VirtualDataPlane};
use hopwright_interp::{CloneSession, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, ExternId, ExternKind, MatchValue, Pipeline, TableEntry, TableId, Unit, ValueSetId};
use hopwright_rtl::driver::{self, Change, CopyDriver, Registers, TableDriver, ValueSetDriver};
use hopwright_rtl::simulation::SimulationError;
use hopwright_rtl::{Etherbone, Hardware, Refusal, Target};
use num_bigint::BigUint;

pub use partial::{LeftOut, PartialDesign};
pub use simulated::{Activity, Simulated};

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
    /// The simulation does not start, or there is no connection to the board.
    #[error("cannot start the hardware: {0}")]
    Start(#[source] io::Error),
    /// The driver cannot begin.
    #[error("cannot drive the hardware: {0}")]
    Attach(#[source] io::Error),
    /// The data plane cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// What runs a design: its registers, and the path of its packets.
pub trait Device: Registers {
    /// Waits until all accesses have been made.
    ///
    /// # Errors
    /// It does not answer.
    fn settle(&mut self) -> io::Result<()>;

    /// Runs packets, as [`Offload::process`] does. None has more bytes than the target's longest.
    ///
    /// # Errors
    /// It does not answer, or takes no packets from here.
    fn run(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> io::Result<Vec<Vec<Forwarded>>>;
}

/// A design with its driver, on a device.
#[derive(Debug)]
pub struct Design<D> {
    pipeline: Arc<Pipeline>,
    hardware: Hardware,
    device: D,
    tables: Vec<TableDriver>,
    value_sets: Vec<ValueSetDriver>,
    copies: CopyDriver,
    /// Cells of registers that the design does not have, since the program does not use them.
    unused: HashMap<(ExternId, u64), BigUint>,
}

/// A simulated design with its driver.
pub type SimulatedDesign = Design<Simulated>;

/// A design on a board with its driver. Packets enter and leave by the ports of the board.
pub type BoardDesign = Design<Etherbone>;

impl<D: Registers> Design<D> {
    /// Begins to drive a design. What another driver has left there is cleared.
    ///
    /// # Errors
    /// The device does not answer, or runs another design.
    pub fn attach(pipeline: &Arc<Pipeline>, hardware: Hardware, mut device: D) -> Result<Design<D>, OffloadError> {
        let map = &hardware.verilog.map;
        device.attach(map).map_err(OffloadError::Attach)?;
        let tables = (0..pipeline.tables.len() as u32).map(|table| TableDriver::new(pipeline, map, TableId(table)));
        let (tables, pipeline) = (tables.collect(), pipeline.clone());
        let value_sets = pipeline.value_sets.iter().map(|set| ValueSetDriver::new(map, set)).collect();
        let copies = CopyDriver::new(map);
        let mut design = Design { pipeline, hardware, device, tables, value_sets, copies, unused: HashMap::new() };
        design.start_state().map_err(OffloadError::Attach)?;
        Ok(design)
    }

    /// Gives tables the program's default actions, and ciphers keys that nobody knows.
    fn start_state(&mut self) -> io::Result<()> {
        let map = &self.hardware.verilog.map;
        let mut accesses = Vec::new();
        for (driver, table) in self.tables.iter_mut().zip(&self.pipeline.tables) {
            let change = driver.change(&self.pipeline, map, &Change::Default(&table.default_action));
            accesses.extend(change.map_err(|full| io::Error::other(full.to_string()))?);
        }
        for (object, keys) in driver::keyed(map) {
            for index in 0..keys {
                let mut key = [0; 16];
                getrandom::fill(&mut key).map_err(|e| io::Error::other(format!("no random numbers: {e}")))?;
                accesses.extend(driver::set_key(map, object, index, &key));
            }
        }
        self.device.access(&accesses)
    }

    /// The design.
    pub fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    fn change(&mut self, table: TableId, change: &Change<'_>) -> Result<(), String> {
        let map = &self.hardware.verilog.map;
        let accesses = self.tables[table.index()].change(&self.pipeline, map, change);
        self.device.access(&accesses.map_err(|full| full.to_string())?).map_err(|e| e.to_string())
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
            Some(number) => self.device.cells(map, number, cells).map_err(|e| e.to_string()),
            None => Ok(cells.map(|index| self.unused.get(&(object, index)).cloned().unwrap_or_default()).collect()),
        }
    }

    fn write(&mut self, object: ExternId, index: u64, value: &BigUint) -> Result<(), String> {
        let map = &self.hardware.verilog.map;
        match self.object(object) {
            Some(number) => {
                let accesses = driver::write_object(map, number, index as u32, value);
                self.device.access(&accesses).map_err(|e| e.to_string())
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

impl<D: Device> Offload for Design<D> {
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
        self.device.access(&accesses).map_err(|e| e.to_string())
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
        self.device.access(&accesses.map_err(|full| full.to_string())?).map_err(|e| e.to_string())
    }

    fn settle(&mut self) -> Result<(), String> {
        self.device.settle().map_err(|e| e.to_string())
    }

    fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), String> {
        let accesses = self.copies.set_group(&self.hardware.verilog.map, group, replicas);
        self.device.access(&accesses.map_err(|full| full.to_string())?).map_err(|e| e.to_string())
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), String> {
        let accesses = self.copies.set_session(&self.hardware.verilog.map, session, to);
        self.device.access(&accesses.map_err(|full| full.to_string())?).map_err(|e| e.to_string())
    }

    fn process(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> Result<Vec<Vec<Forwarded>>, String> {
        // Hardware drops what is longer, and there are no packets without bytes.
        let longest = self.hardware.target.max_packet_bytes as usize;
        let enters = |bytes: &[u8]| !bytes.is_empty() && bytes.len() <= longest;
        let entering: Vec<(u32, &[u8])> = packets.iter().copied().filter(|(_, bytes)| enters(bytes)).collect();
        let mut sent = self.device.run(&entering, now_us).map_err(|e| e.to_string())?.into_iter();
        let mut became = |bytes: &[u8]| if enters(bytes) { sent.next().unwrap_or_default() } else { Vec::new() };
        Ok(packets.iter().map(|(_, bytes)| became(bytes)).collect())
    }
}
