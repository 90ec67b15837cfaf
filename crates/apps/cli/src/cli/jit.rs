//! Options of the commands that show machine code and traces.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use hopwright_dataplane::TracePass;
use hopwright_dataplane::trace_ir::passes::Pass;

use super::program::Source;

#[derive(Args, Debug)]
pub(crate) struct AsmArgs {
    #[command(flatten)]
    pub source: Source,
    /// Print the code generator's intermediate representation (Cranelift IR) instead
    #[arg(long)]
    pub clif: bool,
    /// Print the code of the traces that the packets of this capture or packet test (.stf) lead to, instead of the code for all
    /// packets
    #[arg(long, value_name = "FILE", conflicts_with = "clif")]
    pub packets: Option<PathBuf>,
    #[command(flatten)]
    pub learning: Learning,
}

/// How packets run that paths are learned from.
#[derive(Args, Debug)]
pub(crate) struct Learning {
    /// Table entries: the `add` and `setdefault` lines of an STF file
    #[arg(long, value_name = "FILE.stf")]
    pub entries: Option<PathBuf>,
    /// Port the packets of a capture arrive at
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub port: u16,
    /// Leave these passes over traces out
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_passes())]
    pub without: Vec<TracePass>,
}

/// Passes of the trace IR, by name.
fn trace_ir_passes() -> impl TypedValueParser<Value = Pass> {
    PossibleValuesParser::new(Pass::ALL.map(Pass::name)).try_map(|name| Pass::by_name(&name).ok_or("no such pass"))
}

/// All passes over traces, by name.
pub(super) fn trace_passes() -> impl TypedValueParser<Value = TracePass> {
    PossibleValuesParser::new(TracePass::all().map(TracePass::name))
        .try_map(|name| TracePass::by_name(&name).ok_or("no such pass"))
}

#[derive(Args, Debug)]
pub(crate) struct TraceIrArgs {
    #[command(flatten)]
    pub source: Source,
    /// Print the paths of all packets instead, as points of the program: also those without a trace
    #[arg(long)]
    pub paths: bool,
    /// Run these passes of the trace IR, in this order, before packets are counted
    #[arg(long, value_name = "PASS", value_delimiter = ',', value_parser = trace_ir_passes(), conflicts_with = "paths")]
    pub passes: Vec<Pass>,
    /// The packets: a capture, or a packet test (.stf)
    #[arg(long, value_name = "FILE")]
    pub packets: PathBuf,
    #[command(flatten)]
    pub learning: Learning,
}
