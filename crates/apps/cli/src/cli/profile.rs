//! Options of `hopwright profile`.

use std::path::PathBuf;

use clap::Args;

use super::jit::Learning;
use super::program::Source;

#[derive(Args, Debug)]
pub(crate) struct ProfileArgs {
    #[command(flatten)]
    pub source: Source,
    /// The packets: a capture, or a packet test (.stf). They are run again and again, in their order
    #[arg(long, value_name = "FILE")]
    pub packets: PathBuf,
    #[command(flatten)]
    pub learning: Learning,
    /// Seconds to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub duration: f64,
    /// Lines to print, those that cost most first
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub lines: usize,
    /// Also write a flame graph: blocks, tables, actions and lines, as wide as the time they take
    #[arg(long, value_name = "FILE.svg")]
    pub flame: Option<PathBuf>,
    /// Print the profile as JSON, with all lines
    #[arg(long)]
    pub json: bool,
}
