//! Options of `hopwright rtl`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::program::Source;

#[derive(Args, Debug)]
pub(crate) struct RtlArgs {
    #[command(flatten)]
    pub source: Source,
    /// Chip and bus width: ecp5-85-256, ecp5-85-512 or xcup-512
    #[arg(long, value_name = "TARGET", default_value = "ecp5-85-512")]
    pub target: String,
    /// Write the whole image of a board instead: MACs, control, constraints, and a makefile whose target `bitstream` makes what the chip
    /// loads. Its name (colorlight-i9 or versa-ecp5) or a TOML file that describes it
    #[arg(long, value_name = "NAME|FILE", conflicts_with_all = ["target", "ir", "simulation"])]
    pub board: Option<String>,
    /// Cycles at least between two packets. The more there are, the more engines are shared: the design is smaller and takes fewer packets a
    /// second
    #[arg(long, value_name = "CYCLES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub gap: u32,
    /// Directory to write to. Without --board, a testbench is in its folder `simulation`. Files that are there and that this command has not
    /// written are not overwritten
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub output: PathBuf,
    /// Entries that tables have when the testbench begins: the `add` and `setdefault` lines of an STF file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["board", "ir", "report", "simulation"])]
    pub entries: Option<PathBuf>,
    /// Print the hardware IR instead, and write nothing
    #[arg(long)]
    pub ir: bool,
    /// Print what the design costs and why instead, and write nothing
    #[arg(long, value_enum, value_name = "FORMAT", require_equals = true, num_args = 0..=1, default_missing_value = "text")]
    pub report: Option<ReportFormat>,
    /// Only build the simulation that `--engine rtl` of other commands runs, and print where it is. Takes minutes for a large program
    #[arg(long, conflicts_with = "ir")]
    pub simulation: bool,
}

/// A board that runs the program.
#[derive(Args, Debug)]
pub(crate) struct DeviceArgs {
    /// Drive a board that runs the program instead of running it: etherbone:ADDRESS or etherbone:ADDRESS:PORT. It has been loaded with what
    /// `hopwright rtl --board` made of the same program. Packets enter and leave by its ports
    #[arg(long, value_name = "etherbone:ADDRESS", requires = "board", conflicts_with_all = ["interfaces", "engine"])]
    pub device: Option<String>,
    /// With --device: the board, as `hopwright rtl --board` has it
    #[arg(long, value_name = "NAME|FILE", requires = "device")]
    pub board: Option<String>,
    /// With --device: --gap of `hopwright rtl`
    #[arg(long, value_name = "CYCLES", default_value_t = 1, requires = "device", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub gap: u32,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    Text,
    /// For programs
    Json,
    /// A page with a picture of the pipeline
    Html,
}
