//! Options of `hopwright testgen`.

use std::path::PathBuf;

use clap::Args;

use super::program::{CoverageArgs, Source};

#[derive(Args, Debug)]
pub(crate) struct TestgenArgs {
    #[command(flatten)]
    pub source: Source,
    /// The folder to write to, which is made if it is missing: PROGRAM_1.stf, PROGRAM_2.stf, …
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// What all tests begin with: entries, keys, sessions, as lines of a packet test without packets
    #[arg(long, value_name = "FILE.stf")]
    pub setup: Option<PathBuf>,
    /// Where random numbers begin: the same seed makes the same tests, unless --time ends the search
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// The most tests to make
    #[arg(long, value_name = "N")]
    pub max_tests: Option<usize>,
    /// How long to search, in seconds; the engines run the tests after that
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub time: u64,
    /// End the search after this many runs in a row that find nothing new
    #[arg(long, value_name = "RUNS", default_value_t = 2000)]
    pub patience: usize,
    /// Only reach points of the program. Without it, tests also take each part of a condition both ways, meet the bounds of comparisons, and
    /// let packets end too early
    #[arg(long)]
    pub points_only: bool,
    /// Also write the packet of each test as PROGRAM_1.pcap, …, for `replay`, with the test as its --entries
    #[arg(long)]
    pub pcap: bool,
    #[command(flatten)]
    pub coverage: CoverageArgs,
}
