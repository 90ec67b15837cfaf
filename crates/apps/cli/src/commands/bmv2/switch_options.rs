//! The options of BMv2's switches, those of its targets included.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, ValueEnum};

use super::Name;
use crate::commands::interfaces::Interface;
use crate::failure::Failure;

/// What BMv2's console log has; each level has those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Off,
}

/// A BMv2 switch, run by Hopwright.
///
/// Takes BMv2's options; those behind `--` may also stand before it. docs/from-bmv2.md says what differs.
#[derive(Debug, Parser)]
#[command(disable_version_flag = true, infer_long_args = true, max_term_width = 100)]
pub(super) struct SwitchOptions {
    /// The program: the JSON file that `p4c` of Hopwright writes, or P4 source text
    #[arg(value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Attach a network interface as a port
    #[arg(short = 'i', long = "interface", value_name = "PORT@INTERFACE")]
    pub interfaces: Vec<Interface>,
    /// Start without a program; a P4Runtime controller pushes one
    #[arg(long)]
    pub no_p4: bool,
    /// The P4Runtime device id
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub device_id: u64,
    /// Record packets in this folder, by default the current one: INTERFACE_in.pcap, INTERFACE_out.pcap
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub pcap: Option<PathBuf>,
    /// Log on standard output what the program does with each packet
    #[arg(long)]
    pub log_console: bool,
    /// Log to FILE.txt instead
    #[arg(long, value_name = "FILE", conflicts_with = "log_console")]
    pub log_file: Option<PathBuf>,
    /// What to log
    #[arg(short = 'L', long, value_enum, value_name = "LEVEL", default_value_t = LogLevel::Trace)]
    pub log_level: LogLevel,
    /// Flush the log file after each packet (it always is)
    #[arg(long)]
    pub log_flush: bool,
    /// Not honoured: the log file is not rotated
    #[arg(long, value_name = "BYTES")]
    pub log_file_max_size: Option<u64>,
    /// Not honoured: the log file is not rotated
    #[arg(long, value_name = "FILES")]
    pub log_file_max_files: Option<u64>,
    /// Log this many bytes of each packet received and sent
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub dump_packet_data: usize,
    /// TCP port of the Thrift server
    #[arg(long, value_name = "PORT")]
    pub thrift_port: Option<u16>,
    /// Not honoured: there are no nanomsg events
    #[arg(long, value_name = "SOCKET")]
    pub nanolog: Option<String>,
    /// Where subscribers of nanomsg connect for notifications, while Thrift is served: ipc://PATH or tcp://ADDRESS:PORT;
    /// ipc:///tmp/bmv2-<device id>-notifications.ipc without it
    #[arg(long, value_name = "SOCKET")]
    pub notifications_addr: Option<String>,
    /// Not honoured: there is no debugger
    #[arg(long)]
    pub debugger: bool,
    /// Not honoured: there is no debugger
    #[arg(long, value_name = "SOCKET")]
    pub debugger_addr: Option<String>,
    /// Refused: states of BMv2 cannot be read
    #[arg(long, value_name = "FILE")]
    pub restore_state: Option<PathBuf>,
    /// Refused: `hopwright replay` runs programs on captures
    #[arg(long, value_name = "SECONDS")]
    pub use_files: Option<u64>,
    /// Refused: packets come from interfaces
    #[arg(long, value_name = "SOCKET")]
    pub packet_in: Option<String>,
    /// Not needed: ports are not limited in advance
    #[arg(long, value_name = "NUMBER")]
    pub max_port_count: Option<u32>,
    /// Print the version and exit
    #[arg(short = 'v', long)]
    pub version: bool,
    /// Print the version of BMv2's JSON format and exit
    #[arg(long)]
    pub json_version: bool,
    #[command(flatten)]
    pub target: TargetOptions,
}

/// Options of the targets, which BMv2 takes behind `--`.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Target options")]
pub(super) struct TargetOptions {
    /// Where to serve P4Runtime [simple_switch_grpc: 0.0.0.0:9559]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub grpc_server_addr: Option<String>,
    /// Encrypt P4Runtime
    #[arg(long)]
    pub grpc_server_ssl: bool,
    /// The authorities of clients' certificates (PEM)
    #[arg(long, value_name = "FILE")]
    pub grpc_server_cacert: Option<PathBuf>,
    /// The server's certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub grpc_server_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE")]
    pub grpc_server_key: Option<PathBuf>,
    /// Accept only clients with a certificate
    #[arg(long)]
    pub grpc_server_with_client_auth: bool,
    /// Refused: packets come from interfaces
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub dp_grpc_server_addr: Option<String>,
    /// The port to the controllers; without it there is none
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=511))]
    pub cpu_port: Option<u16>,
    /// The port whose packets are dropped: 511, others are refused
    #[arg(long, value_name = "NUMBER")]
    pub drop_port: Option<u32>,
    /// Not needed: ports have eight queues, the highest priority first
    #[arg(long, value_name = "NUMBER")]
    pub priority_queues: Option<u32>,
    /// Not needed: P4Runtime controllers may replace the program
    #[arg(long)]
    pub enable_swap: bool,
    /// Not honoured: P4Runtime controllers may replace the program
    #[arg(long)]
    pub disable_swap: bool,
    /// Not needed: memory limits multicast groups
    #[arg(long, value_name = "NUMBER")]
    pub max_mc_groups: Option<u32>,
    /// Not needed: memory limits multicast groups
    #[arg(long, value_name = "NUMBER")]
    pub max_l1_entries: Option<u32>,
    /// Not needed: memory limits multicast groups
    #[arg(long, value_name = "NUMBER")]
    pub max_l2_entries: Option<u32>,
}

impl SwitchOptions {
    /// Reads the arguments of a switch. Help goes to standard output, errors to standard error.
    ///
    /// # Errors
    /// If they are wrong; BMv2 ends with status 1 then.
    pub(super) fn read(name: Name, arguments: Vec<OsString>) -> Result<Option<SwitchOptions>, Failure> {
        // Both sides of `--` are options here.
        let mut separated = false;
        let words = arguments.into_iter().filter(|word| {
            let separator = !separated && word == "--";
            separated |= separator;
            !separator
        });
        let command = SwitchOptions::command().bin_name(name.text());
        let line = std::iter::once(OsString::from(name.text())).chain(words);
        let parsed = command.try_get_matches_from(line).and_then(|matches| SwitchOptions::from_arg_matches(&matches));
        match parsed {
            Ok(options) => Ok(Some(options)),
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp) => {
                print!("{}", error.render());
                Ok(None)
            }
            Err(error) => {
                eprint!("Error while parsing command line arguments\n{}", error.render());
                Err(Failure::Reported)
            }
        }
    }
}
