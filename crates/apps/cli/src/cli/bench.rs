//! Options of `hopwright bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hopwright_dataplane::TracePass;
use hopwright_ports::PortChoice;
use hopwright_scion::config::layout::Layout;

use super::jit::trace_passes;
use super::program::Source;

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    pub command: BenchCommand,
}

#[derive(Args, Debug)]
pub(crate) struct BenchFileArgs {
    #[command(flatten)]
    pub source: Source,
    /// The packets: a capture, or a packet test (.stf). They are repeated
    #[arg(long, value_name = "FILE")]
    pub packets: PathBuf,
    /// Table entries: the `add` and `setdefault` lines of a packet test, or commands of `simple_switch_CLI`
    #[arg(long, value_name = "FILE")]
    pub entries: Option<PathBuf>,
    /// Port the packets of a capture arrive at
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub port: u16,
    /// Leave these passes over traces out, to see what they gain
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
    /// Count instructions by running a batch step by step, on machines without counters
    #[arg(long)]
    pub single_step: bool,
    /// Print how many instructions a packet takes for each line of P4, lookups and other calls included
    #[arg(long)]
    pub lines: bool,
    /// Seconds to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub duration: f64,
    /// Print a record as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// The SCION border router in memory, from whole frame to whole frame
    ///
    /// Cases are those of the reference's `brload`: in, out, in_transit, out_transit, br_transit.
    Scion(BenchScionArgs),
    /// The EPIC router in memory, by level, cipher, length of the path and payload
    ///
    /// With a record of what duplicate suppression costs, at level 0.
    Epic(BenchEpicArgs),
    /// Common P4 programs in memory on one core, from whole frame to whole frame
    ///
    /// A learning switch, a router, access control by ternary rules, equal-cost paths, VXLAN and MPLS, in-band telemetry,
    /// metering, a stateful firewall; with tables of 10 to 1,000,000 entries (ternary: to 10,000). The programs are in
    /// p4/bench. Results are compared with the interpreter's before the program is timed.
    Programs(BenchProgramsArgs),
    /// Any program, with tables and packets of files, in memory on one core
    ///
    /// Packets run through the interpreter first, and both engines must send the same. Copies that the program makes are not sent while it
    /// is timed.
    File(BenchFileArgs),
    /// Table updates, and their effect on a forwarding worker
    ///
    /// Entries are written into one exact table of the learning switch, through the data plane's own interface and through
    /// P4Runtime over TCP on this machine. Needs two CPUs.
    Updates(BenchUpdatesArgs),
    /// Several tenants on one switch, next to a switch with one program
    ///
    /// One, two, four and eight tenants in parallel, each a router; with policers; with half of the frames to no tenant's address.
    /// Frames go to tenants by destination address.
    Tenants(BenchTenantsArgs),
    /// Forward frames between two devices until killed: the floor for other forwarders
    #[command(hide = true)]
    Forwarder(BenchForwarderArgs),
}

/// What a benchmark of the border router measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchEngine {
    /// Machine code: ns per packet on this machine
    Jit,
    /// Simulated hardware for ecp5-85-512: clock cycles of a packet back to back, latency, and what they mean at the target's clock
    Rtl,
}

/// A layout of the router in pipes.
fn layout(name: &str) -> Result<Layout, String> {
    let known = Layout::ALL.into_iter().find(|layout| layout.name() == name);
    known.ok_or_else(|| format!("there are {}", Layout::ALL.map(Layout::name).join(", ")))
}

#[derive(Args, Debug)]
pub(crate) struct BenchScionArgs {
    /// What to measure. With `rtl` only `--case`, `--size` and `--json` mean something, and `--plot` is refused; the smallest packets of each case and a mix
    /// of them are always measured
    #[arg(long, value_enum, default_value_t = BenchEngine::Jit)]
    pub engine: BenchEngine,
    /// Only these cases
    #[arg(long, value_name = "CASE", value_delimiter = ',')]
    pub case: Vec<String>,
    /// Frame sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [172, 512, 1500])]
    pub size: Vec<usize>,
    /// Hop fields of the packets; default: as many as each case needs, and a record with 64
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub hops: Vec<u32>,
    /// Working set of packets: `l2` fits the second-level cache, `memory` does not
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [WorkingSet::L2, WorkingSet::Memory])]
    pub working_set: Vec<WorkingSet>,
    /// Layouts of the program in pipes of a switch chip: plain, 1br, 1br+1aes, 1br+2aes, 2br+2aes
    #[arg(long, value_name = "LAYOUT", value_delimiter = ',', value_parser = layout, default_values_t = [Layout::Plain])]
    pub layout: Vec<Layout>,
    /// Also the program with path type Hummingbird: with packets of path type SCION (`hbird`), and with a reservation (`flyover`)
    #[arg(long)]
    pub hummingbird: bool,
    /// Leave these passes over traces out, to see what they gain
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
    /// Count instructions by running a batch step by step, on machines without counters
    #[arg(long)]
    pub single_step: bool,
    /// Number of simultaneous workers, each on a CPU of its own
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [1])]
    pub workers: Vec<usize>,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 0.5)]
    pub duration: f64,
    /// Also draw the figures as bars, with a mark at the floor
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchEpicArgs {
    /// Only these levels
    #[arg(long, value_name = "LEVEL", value_delimiter = ',', default_values_t = [0, 1, 2, 3])]
    pub level: Vec<u8>,
    /// Hop fields of the packets
    #[arg(long, value_name = "NUMBER", value_delimiter = ',', default_values_t = [1, 32, 64])]
    pub hops: Vec<usize>,
    /// Bytes behind the header
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [0, 128, 512])]
    pub payload: Vec<usize>,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2)]
    pub duration: f64,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchProgramsArgs {
    /// Only these programs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub program: Vec<String>,
    /// Entries of the tables; default: 10, 100, … up to what suits the program's kind of table
    #[arg(long, value_name = "NUMBER", value_delimiter = ',')]
    pub entries: Vec<usize>,
    /// Leave these passes over traces out, to see what they gain
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
    /// Count instructions by running a batch step by step, on machines without counters
    #[arg(long)]
    pub single_step: bool,
    /// Only two table sizes: 1,000 and 1,000,000
    #[arg(long)]
    pub short: bool,
    /// Which entries the packets hit: `few`, those of 256 flows that repeat; `all`, each packet another one
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Flows::Few, Flows::All])]
    pub flows: Vec<Flows>,
    /// Frame size in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    pub size: usize,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2)]
    pub duration: f64,
    /// Also draw the figures as bars, with a mark at the floor
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchTenantsArgs {
    /// Frame sizes in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_values_t = [64, 128, 256, 512, 1024, 1518],
        value_parser = clap::builder::RangedI64ValueParser::<usize>::new().range(64..=1518))]
    pub size: Vec<usize>,
    /// Packets that a worker receives at once
    #[arg(long, value_name = "NUMBER", default_value_t = 256,
        value_parser = clap::builder::RangedI64ValueParser::<usize>::new().range(1..=256))]
    pub batch: usize,
    /// Seconds to measure each record
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub duration: f64,
    /// Count instructions by running a round step by step
    #[arg(long)]
    pub single_step: bool,
    /// Only these cases, for a profiler; the others are compared with the first
    #[arg(long = "case", value_name = "NAME")]
    pub cases: Vec<String>,
    /// Print a list of records as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct BenchForwarderArgs {
    /// One device
    pub from: String,
    /// The other
    pub to: String,
    /// auto, af_xdp or af_packet
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
}

#[derive(Args, Debug)]
pub(crate) struct BenchUpdatesArgs {
    /// Entries to write
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub entries: u64,
    /// Seconds of forwarding beside updates, for each interface
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0)]
    pub duration: f64,
    /// Update rate, in entries per second, beside which forwarding is measured, in addition to the highest possible rate
    #[arg(long, value_name = "NUMBER", default_value_t = 2_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub rate: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// The flows that the packets of a measurement belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Flows {
    Few,
    All,
}

/// The memory that the packets of a measurement cover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WorkingSet {
    L2,
    Memory,
}
