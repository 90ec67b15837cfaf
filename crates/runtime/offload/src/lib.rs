//! Designs behind the data plane's control interface: the driver of a design, which turns changes of tables, keys, counters and
//! registers into accesses to its registers, and simulated hardware that runs its packets.

mod board;
mod partial;
mod recorded;
mod simulated;

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use hopwright_dataplane::offload::{DeviceFault, Forwarded, Offload};
use hopwright_dataplane::{BuildError, Count, VirtualDataPlane};
use hopwright_interp::{CloneSession, Digest, Replica};
use hopwright_ir::meter::Rates;
use hopwright_ir::{
    ActionCall, ExternId, ExternKind, MatchValue, Pipeline, TableEntry, TableId, Unit, ValueSetId, WeightedAction,
};
use hopwright_rtl::driver::{self, Change, CopyDriver, Registers, TableDriver, ValueSetDriver};
use hopwright_rtl::simulation::SimulationError;
use hopwright_rtl::{Etherbone, Hardware, Refusal, Target};
use num_bigint::BigUint;

pub use partial::{LeftOut, PartialDesign};
pub use recorded::Recorded;
pub use simulated::{Activity, CompiledSimulation, Simulated};

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

    fn change(&mut self, table: TableId, change: &Change<'_>) -> Result<(), DeviceFault> {
        let map = &self.hardware.verilog.map;
        let accesses = self.tables[table.index()].change(&self.pipeline, map, change);
        Ok(self.device.access(&accesses.map_err(DeviceFault::refused)?)?)
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

    fn read(&mut self, object: ExternId, cells: Range<u64>) -> Result<Vec<BigUint>, DeviceFault> {
        let map = &self.hardware.verilog.map;
        match self.object(object) {
            Some(number) => Ok(self.device.cells(map, number, cells)?),
            None => Ok(cells.map(|index| self.unused.get(&(object, index)).cloned().unwrap_or_default()).collect()),
        }
    }

    /// The numbers of an object in the register map. A counter has one for each place of the program that counts, and a register that the
    /// program only reads one for each place that does.
    fn places(&self, object: ExternId) -> Vec<usize> {
        let name = &self.pipeline[object].name;
        let objects = self.hardware.verilog.map.objects.iter().enumerate();
        objects.filter(|(_, object)| object.name == *name).map(|(number, _)| number).collect()
    }

    fn write(&mut self, object: ExternId, index: u64, value: &BigUint) -> Result<(), DeviceFault> {
        let map = &self.hardware.verilog.map;
        let places = self.places(object);
        if places.is_empty() {
            self.unused.insert((object, index), value.clone());
        }
        let write = |number| driver::write_object(map, number, index as u32, value);
        let accesses: Vec<_> = places.into_iter().flat_map(write).collect();
        Ok(self.device.access(&accesses)?)
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
    fn put(&mut self, table: TableId, entry: &TableEntry) -> Result<(), DeviceFault> {
        self.change(table, &Change::Put(entry))
    }

    fn choose(
        &mut self,
        table: TableId,
        matches: &[MatchValue],
        priority: i32,
        actions: &[WeightedAction],
    ) -> Result<(), DeviceFault> {
        self.change(table, &Change::Choose { matches, priority, actions })
    }

    fn delete(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<(), DeviceFault> {
        self.change(table, &Change::Delete { matches, priority })
    }

    fn clear(&mut self, table: TableId) -> Result<(), DeviceFault> {
        self.change(table, &Change::Clear)
    }

    fn set_default(&mut self, table: TableId, action: &ActionCall) -> Result<(), DeviceFault> {
        self.change(table, &Change::Default(action))
    }

    fn set_key(&mut self, object: ExternId, index: u64, key: Option<&[u8; 16]>) -> Result<(), DeviceFault> {
        let mut unknown = [0; 16];
        getrandom::fill(&mut unknown).map_err(|e| DeviceFault::Silent(format!("no random numbers: {e}")))?;
        let (map, name) = (&self.hardware.verilog.map, &self.pipeline[object].name);
        let accesses = driver::set_key(map, name, index as u32, key.unwrap_or(&unknown));
        Ok(self.device.access(&accesses)?)
    }

    fn counts(&mut self, counter: ExternId, cells: Range<u64>) -> Result<Vec<Count>, DeviceFault> {
        let unit = self.unit(counter);
        let places = self.places(counter);
        if places.is_empty() {
            let count = |cell: BigUint| driver::counts_of(unit, &cell);
            let counts = self.read(counter, cells)?.into_iter().map(count);
            return Ok(counts.map(|(packets, bytes)| Count { packets, bytes }).collect());
        }
        let mut sums = vec![Count::default(); (cells.end - cells.start) as usize];
        for number in places {
            let map = &self.hardware.verilog.map;
            let found = self.device.cells(map, number, cells.clone())?;
            for (sum, cell) in sums.iter_mut().zip(found) {
                let (packets, bytes) = driver::counts_of(unit, &cell);
                sum.packets = sum.packets.wrapping_add(packets);
                sum.bytes = sum.bytes.wrapping_add(bytes);
            }
        }
        Ok(sums)
    }

    fn set_count(&mut self, counter: ExternId, index: u64, count: Count) -> Result<(), DeviceFault> {
        let mut cell = driver::count_cell(self.unit(counter), count.packets, count.bytes);
        let places = self.places(counter);
        if places.is_empty() {
            return self.write(counter, index, &cell);
        }
        for number in places {
            let accesses = driver::write_object(&self.hardware.verilog.map, number, index as u32, &cell);
            self.device.access(&accesses)?;
            cell = BigUint::ZERO;
        }
        Ok(())
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, DeviceFault> {
        // Its memory begins with zeros, which stand for the value that it begins with.
        let word = self.read(register, index..index + 1)?.pop().unwrap_or_default();
        Ok(word ^ &self.pipeline[register].initial)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: &BigUint) -> Result<(), DeviceFault> {
        let word = value ^ &self.pipeline[register].initial;
        self.write(register, index, &word)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, rates: Option<Rates>) -> Result<(), DeviceFault> {
        self.write(meter, index, &driver::meter(rates).map_err(|error| DeviceFault::Refused(error.to_string()))?)
    }

    fn direct_count(&mut self, table: TableId, matches: &[MatchValue], priority: i32) -> Result<Count, DeviceFault> {
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
    ) -> Result<(), DeviceFault> {
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
    ) -> Result<(), DeviceFault> {
        match self.cell(table, self.pipeline[table].direct_meter, matches, priority) {
            Some((meter, cell)) => self.set_meter(meter, cell, rates),
            None => Ok(()),
        }
    }

    fn set_members(&mut self, set: ValueSetId, members: &[Vec<MatchValue>]) -> Result<(), DeviceFault> {
        let map = &self.hardware.verilog.map;
        let accesses = self.value_sets[set.index()].replace(&self.pipeline[set], map, members);
        Ok(self.device.access(&accesses.map_err(DeviceFault::refused)?)?)
    }

    fn settle(&mut self) -> Result<(), DeviceFault> {
        Ok(self.device.settle()?)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: &[Replica]) -> Result<(), DeviceFault> {
        let accesses = self.copies.set_group(&self.hardware.verilog.map, group, replicas);
        Ok(self.device.access(&accesses.map_err(DeviceFault::refused)?)?)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), DeviceFault> {
        let accesses = self.copies.set_session(&self.hardware.verilog.map, session, to);
        Ok(self.device.access(&accesses.map_err(DeviceFault::refused)?)?)
    }

    fn digests(&mut self) -> Result<Vec<Digest>, DeviceFault> {
        let Hardware { core, verilog, .. } = &self.hardware;
        Ok(driver::take_digests(&mut self.device, &verilog.map, &core.design)?)
    }

    fn process(&mut self, packets: &[(u32, &[u8])], now_us: u64) -> Result<Vec<Vec<Forwarded>>, DeviceFault> {
        // Hardware drops what is longer, and there are no packets without bytes.
        let longest = self.hardware.target.max_packet_bytes as usize;
        let enters = |bytes: &[u8]| !bytes.is_empty() && bytes.len() <= longest;
        let entering: Vec<(u32, &[u8])> = packets.iter().copied().filter(|(_, bytes)| enters(bytes)).collect();
        let mut sent = self.device.run(&entering, now_us)?.into_iter();
        let mut became = |bytes: &[u8]| if enters(bytes) { sent.next().unwrap_or_default() } else { Vec::new() };
        Ok(packets.iter().map(|(_, bytes)| became(bytes)).collect())
    }
}
