//! Options of `hopwright switch` and `hopwright tenant`, and their help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where a switch's administration socket is by default.
const SOCKET: &str = "/run/hopwright/switch.sock";

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SwitchHostArgs {
    #[command(subcommand)]
    pub command: Option<SwitchHostCommand>,
    /// The configuration
    #[arg(long, value_name = "switch.toml", required = true)]
    pub config: Option<PathBuf>,
    /// Check the configuration and the programs in it without running the switch
    ///
    /// Needs no privileges and no devices. Exit status: 0 the switch would start with these files, 1 it would not.
    #[arg(long)]
    pub check: bool,
    #[command(flatten)]
    pub hand_over: super::hand_over::HandOverArgs,
    #[command(flatten)]
    pub telemetry: super::telemetry::TelemetryArgs,
    #[cfg(feature = "page")]
    #[command(flatten)]
    pub page: super::page::HttpArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SwitchHostCommand {
    /// Print a switch.toml with every key, its default and what it does
    Sample,
}

const TENANT_HELP: &str = "\
Changes by this command last until the switch reads switch.toml again (SIGHUP), which makes it what the file says.

Examples:
  hopwright tenant list
  hopwright tenant show red --json
  hopwright tenant limit red --packets 100k --bits 1.5G
  hopwright tenant limit red --bits none
  hopwright tenant add green.toml
  hopwright tenant remove green

It talks to the switch through its administration socket, which only the switch's user may write to.
Exit status: 0 done, 1 not done, 2 the command line is wrong.";

#[derive(Args, Debug)]
#[command(after_long_help = TENANT_HELP)]
pub(crate) struct TenantArgs {
    #[command(subcommand)]
    pub command: TenantCommand,
    /// The switch's administration socket
    #[arg(long, value_name = "PATH", default_value = SOCKET, global = true)]
    pub socket: PathBuf,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TenantCommand {
    /// List the tenants with their programs, limits and counts
    List,
    /// Print a tenant's ports, limits, counts and tables
    Show {
        /// Its name
        name: String,
    },
    /// Add a tenant
    ///
    /// Other tenants lose no packet. The file has one [[tenant]], as in switch.toml; paths in it are relative to its folder.
    Add {
        /// The tenant's configuration
        #[arg(value_name = "FILE.toml")]
        file: PathBuf,
    },
    /// Remove a tenant
    ///
    /// Other tenants lose no packet.
    Remove {
        /// Its name
        name: String,
    },
    /// Change what a tenant may use, while packets flow
    #[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["packets", "bits", "share", "memory"])))]
    Limit {
        /// Its name
        name: String,
        /// Packets a second: a number, also with k, M, G or T; `none`: no limit
        #[arg(long, value_name = "RATE")]
        packets: Option<String>,
        /// Bits a second, in the same way
        #[arg(long, value_name = "RATE")]
        bits: Option<String>,
        /// Its share of the processor's time, relative to other tenants', 1 to 1000
        #[arg(long, value_name = "NUMBER")]
        share: Option<u32>,
        /// Memory: a number of bytes, also with K, M or G for powers of 1024; `none`: an equal share of what other tenants leave
        #[arg(long, value_name = "BYTES")]
        memory: Option<String>,
    },
}
