//! Options of the commands that control a running switch by P4Runtime, and their help.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;

use crate::completion::switch;

/// Options that select a switch.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Switch")]
pub(crate) struct SwitchArgs {
    /// Where the switch serves P4Runtime
    #[arg(long, value_name = "HOST:PORT", default_value = hopwright_p4runtime::DEFAULT_ADDRESS, global = true)]
    pub server: String,
    /// The switch's P4Runtime device id
    #[arg(long, value_name = "NUMBER", default_value_t = 1, global = true)]
    pub device_id: u64,
    /// Encrypt, and accept server certificates of these authorities (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    pub tls_ca: Option<PathBuf>,
    /// The name in the server's certificate, if it differs from the server's host
    #[arg(long, value_name = "NAME", requires = "tls_ca", global = true)]
    pub tls_name: Option<String>,
    /// Certificate to show to the server (PEM)
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"], global = true)]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", global = true)]
    pub tls_key: Option<PathBuf>,
    /// Write although a controller is primary: beside it, in a role of its own, without taking its place
    #[arg(long, global = true)]
    pub force: bool,
    /// Print JSON
    #[arg(long, global = true)]
    pub json: bool,
}

const TABLE_HELP: &str = "\
Names may be shortened to what stands behind a dot, where that is enough: `ipv4_lpm` for `MyIngress.ipv4_lpm`.

Values: 7, 0x1f, 0b101, -1, true; of 32 bits 10.0.0.1, of 48 bits 02:00:00:00:00:01, of 128 bits 2001:db8::1.

Matches:
  exact, optional   VALUE
  lpm               VALUE/LENGTH
  ternary           VALUE&&&MASK, VALUE/LENGTH or VALUE/MASK
  range             LOW..HIGH
  all but exact     * for anything, as if the key were left out
Tables with ternary, range or optional keys need priority=NUMBER; the highest wins.

Examples:
  hopwright table
  hopwright table show ipv4_lpm
  hopwright table add ipv4_lpm 'dst=10.0.0.0/8 => forward(dst=02:00:00:00:00:11, port=1)'
  hopwright table add ipv4_lpm dst=10.0.0.0/8 forward dst=02:00:00:00:00:11 port=1
  hopwright table add acl 'src=10.0.0.0/8 ttl=1..30 priority=10 => drop'
  hopwright table set ipv4_lpm dst=10.0.0.0/8 drop
  hopwright table delete ipv4_lpm dst=10.0.0.0/8
  hopwright table default ipv4_lpm drop
  hopwright table import commands.txt
  hopwright table show acl --json | jq '.entries[].match'

Reading disturbs nobody. Writing needs that no controller is primary, or --force.
Exit status: 0 done, 1 not done, 2 the command line is wrong.";

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = false, after_long_help = TABLE_HELP)]
pub(crate) struct TableArgs {
    #[command(subcommand)]
    pub command: Option<TableCommand>,
    #[command(flatten)]
    pub switch: SwitchArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// List the tables with their keys and actions; so does `hopwright table` alone
    List,
    /// Print a table's entries, each in the form that `add` takes, and its default action
    Show {
        /// The table; all tables if it is omitted
        #[arg(add = ArgValueCandidates::new(switch::tables))]
        name: Option<String>,
    },
    /// Add an entry
    #[command(visible_alias = "insert")]
    Add(EntryArgs),
    /// Change the action of an entry
    #[command(visible_alias = "modify")]
    Set(EntryArgs),
    /// Add entries from a file, one per line, each as after `add NAME`; # starts a comment
    ///
    /// Nothing is added if the program does not allow one of the lines. If the switch refuses entries, for instance since they are
    /// there already, at most 1000 entries around them are still tried; the message has how many were added.
    Load {
        /// The table
        #[arg(add = ArgValueCandidates::new(switch::tables))]
        name: String,
        /// The entries; - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Execute the commands of a file for BMv2's simple_switch_CLI: table_add, mc_mgrp_create, mirroring_add, register_write and the like
    #[cfg(feature = "thrift")]
    Import {
        /// The commands; - for standard input. Handles are those of a switch that has only the program's entries
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Delete an entry, or all of them
    Delete {
        /// The table
        #[arg(add = ArgValueCandidates::new(switch::tables))]
        name: String,
        /// Keys, and priority=NUMBER in tables with priorities
        #[arg(value_name = "KEY=VALUE", required_unless_present = "all", add = ArgValueCandidates::new(switch::entry_keys))]
        entry: Vec<String>,
        /// All entries
        #[arg(long, conflicts_with = "entry")]
        all: bool,
    },
    /// Print a table's default action, or set it
    Default {
        /// The table
        #[arg(add = ArgValueCandidates::new(switch::tables))]
        name: String,
        /// ACTION(PARAMETER=VALUE, …)
        #[arg(value_name = "ACTION", add = ArgValueCandidates::new(switch::default_action))]
        action: Vec<String>,
        /// Restore the program's
        #[arg(long, conflicts_with = "action")]
        reset: bool,
    },
}

#[derive(Args, Debug)]
#[command(after_help = "`hopwright table --help` has the forms of values and examples.")]
pub(crate) struct EntryArgs {
    /// The table
    #[arg(add = ArgValueCandidates::new(switch::tables))]
    pub name: String,
    /// KEY=VALUE … => ACTION(PARAMETER=VALUE, …), in quotes; or without => and parentheses, which a shell would take
    #[arg(value_name = "ENTRY", required = true, add = ArgValueCandidates::new(switch::entry))]
    pub entry: Vec<String>,
}

const COUNTER_HELP: &str = "\
Examples:
  hopwright counter
  hopwright counter show by_port
  hopwright counter show by_port 3
  hopwright counter reset routed";

#[derive(Args, Debug)]
#[command(after_long_help = COUNTER_HELP)]
pub(crate) struct CounterArgs {
    #[command(subcommand)]
    pub command: Option<CounterCommand>,
    #[command(flatten)]
    pub switch: SwitchArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CounterCommand {
    /// List the counters; so does `hopwright counter` alone
    List,
    /// Print a counter's cells that are not zero, or one; of a table's counter, those of its entries
    Show {
        /// The counter; all counters if it is omitted
        #[arg(add = ArgValueCandidates::new(switch::counters))]
        name: Option<String>,
        /// One cell
        index: Option<u64>,
        /// Include cells that are zero
        #[arg(long)]
        all: bool,
    },
    /// Set a counter's cells to zero, or one
    Reset {
        /// The counter
        #[arg(add = ArgValueCandidates::new(switch::counters))]
        name: String,
        /// One cell
        index: Option<u64>,
    },
}

const REGISTER_HELP: &str = "\
Examples:
  hopwright register
  hopwright register show last_source
  hopwright register set last_source 0 10.0.0.1
  hopwright register set last_source --all 0";

#[derive(Args, Debug)]
#[command(after_long_help = REGISTER_HELP)]
pub(crate) struct RegisterArgs {
    #[command(subcommand)]
    pub command: Option<RegisterCommand>,
    #[command(flatten)]
    pub switch: SwitchArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RegisterCommand {
    /// List the registers; so does `hopwright register` alone
    List,
    /// Print a register's cells that are not zero, or one
    Show {
        /// The register
        #[arg(add = ArgValueCandidates::new(switch::registers))]
        name: String,
        /// One cell
        index: Option<u64>,
        /// Include cells that are zero
        #[arg(long)]
        all: bool,
    },
    /// Set one cell of a register, or all of them
    Set {
        /// The register
        #[arg(add = ArgValueCandidates::new(switch::registers))]
        name: String,
        /// Cell and value; with --all, value
        #[arg(value_name = "[INDEX] VALUE", num_args = 1..=2, required = true)]
        values: Vec<String>,
        /// All cells
        #[arg(long)]
        all: bool,
    },
}

const METER_HELP: &str = "\
Rates are bytes or packets a second, bursts bytes or packets, as the program declares the meter.

Examples:
  hopwright meter
  hopwright meter show by_port
  hopwright meter set by_port 3 cir=1000 cburst=100 pir=2000 pburst=200
  hopwright meter set by_port 3 off";

#[derive(Args, Debug)]
#[command(after_long_help = METER_HELP)]
pub(crate) struct MeterArgs {
    #[command(subcommand)]
    pub command: Option<MeterCommand>,
    #[command(flatten)]
    pub switch: SwitchArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MeterCommand {
    /// List the meters; so does `hopwright meter` alone
    List,
    /// Print the cells that have rates, or one; of a table's meter, those of its entries
    Show {
        /// The meter
        #[arg(add = ArgValueCandidates::new(switch::meters))]
        name: String,
        /// One cell
        index: Option<u64>,
    },
    /// Set the rates of a cell; `off`: every packet is green
    Set {
        /// The meter
        #[arg(add = ArgValueCandidates::new(switch::meters))]
        name: String,
        /// Cell; `all`; or of a table's meter the entry's keys: KEY=VALUE …
        #[arg(value_name = "INDEX")]
        index: String,
        /// cir=RATE cburst=SIZE pir=RATE pburst=SIZE, or off
        #[arg(value_name = "RATES", required = true)]
        rates: Vec<String>,
    },
}

const TRACE_HELP: &str = "\
The switch goes on forwarding: it copies packets to a small buffer, from where the reference interpreter runs them again
with the same tables and registers. When more packets come than it can tell, some are not looked at; it says how many.

Examples:
  hopwright trace -n 1
  hopwright trace --port 0 --where ipv4.dst=10.0.0.0/8
  hopwright trace --where ethernet.type=0x806 --json";

#[derive(Args, Debug)]
#[command(after_long_help = TRACE_HELP)]
pub(crate) struct TraceArgs {
    /// Stop after this many packets; 0: do not stop
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 0)]
    pub packets: u64,
    /// Only packets that arrive at this port
    #[arg(short, long, value_name = "NUMBER")]
    pub port: Option<u16>,
    /// Only packets whose header field has this value on arrival; all conditions must hold
    #[arg(short = 'w', long = "where", value_name = "FIELD=VALUE[/LENGTH]")]
    pub conditions: Vec<String>,
    #[command(flatten)]
    pub switch: SwitchArgs,
}
