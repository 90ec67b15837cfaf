//! Options of `hopwright fmt`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct FmtArgs {
    /// Files, and folders whose .p4 files are formatted, those in folders below included; `-` is standard input
    #[arg(value_name = "PATH", required_unless_present = "stdin")]
    pub paths: Vec<PathBuf>,
    /// Change nothing: print what would change as a unified diff, and fail if there is anything
    #[arg(long)]
    pub check: bool,
    /// Read a program from standard input, and write it to standard output
    #[arg(long, conflicts_with = "paths")]
    pub stdin: bool,
}
