//! Options of `hopwright fit`.

use std::path::PathBuf;

use clap::Args;

use super::program::Source;

#[derive(Args, Debug)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub source: Source,
    /// The chip: tofino or tofino2
    #[arg(long, value_name = "TARGET", default_value = "tofino2")]
    pub target: String,
    /// Only this pipe of a Tofino program with several pipelines. Without it each of them is estimated
    #[arg(long, value_name = "NUMBER")]
    pub pipe: Option<u32>,
    /// Print the estimate as JSON; of a program with several pipelines, a list of them
    #[arg(long)]
    pub json: bool,
    /// Also draw the stages, as SVG. Of a program with several pipelines, `--pipe` says which
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
}
