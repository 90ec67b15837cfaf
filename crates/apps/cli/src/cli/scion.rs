//! Options of `hopwright scion`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::hand_over::HandOverArgs;
use super::program::EngineChoice;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ScionArgs {
    #[command(subcommand)]
    pub command: Option<ScionCommand>,
    /// The router's configuration
    #[arg(long, value_name = "router.toml", required = true)]
    pub config: Option<PathBuf>,
    /// What runs the program. Simulated hardware takes minutes to be built the first time
    #[arg(long, value_enum, default_value_t = EngineChoice::Jit)]
    pub engine: EngineChoice,
    /// With `--engine rtl`, a macro of p4/scion/features.p4 with which the hardware is compiled: a feature that it leaves out, whose packets
    /// software processes, or a profile of sizes. For example -D NO_EPIC -D PROFILE_ULTRASCALE
    #[arg(short = 'D', long = "define", value_name = "MACRO")]
    pub define: Vec<String>,
    /// Write counters as JSON to this file each second and at exit
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Warn about unknown keys in router.toml and hopwright.toml instead of refusing them
    #[arg(long)]
    pub lenient: bool,
    /// Serve a page that shows the running router at this address, such as 127.0.0.1:8080: its links and sessions, tables, the program's graph
    /// with live counts, and packets step by step; a port alone is one of the loopback interface
    #[cfg(feature = "page")]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "control")]
    pub http: Option<String>,
    #[command(flatten)]
    pub hand_over: HandOverArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ScionCommand {
    /// Check a router's files without running it
    ///
    /// Reads router.toml, hopwright.toml beside it, topology.json and keys, and reports all errors in them, each with file and field.
    /// Needs no privileges, no network and no devices. Exit status: 0 the router would start with these files (there may
    /// be warnings), 1 it would not, 2 the command line is wrong.
    Check {
        /// The router's configuration
        #[arg(long, value_name = "router.toml")]
        config: PathBuf,
        /// Read topology.json and keys from this directory, not from the one in the configuration
        #[arg(long, value_name = "DIR")]
        config_dir: Option<PathBuf>,
        /// Warn about unknown keys in router.toml and hopwright.toml instead of refusing them
        #[arg(long)]
        lenient: bool,
    },
    /// Print the state of a running router
    ///
    /// Links, BFD sessions, tables, queues and ports, as JSON, from the page /state at the configuration's metrics.prometheus. SIGQUIT
    /// makes a router write the same to its standard error.
    Dump {
        /// The router's configuration
        #[arg(long, value_name = "router.toml")]
        config: PathBuf,
    },
    /// Print how to set up the slow path by TAP devices
    ///
    /// For a router whose hopwright.toml says `slow_path = "tap"`: a shell script that makes the network namespace with
    /// the TAP devices. Run it as root before the router: `hopwright scion slow-path --config router.toml | sh`. Then
    /// start the reference router in that namespace with the same files.
    SlowPath {
        /// The router's configuration
        #[arg(long, value_name = "router.toml")]
        config: PathBuf,
    },
    /// Print the version
    Version,
    /// Print sample files
    #[command(subcommand)]
    Sample(SampleCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SampleCommand {
    /// Print a router.toml with every key, its default and what it does
    Config,
    /// Print a hopwright.toml with every key, its default and what it does
    ///
    /// The settings that the reference router does not have. The file belongs in the directory of router.toml.
    Hopwright,
}
