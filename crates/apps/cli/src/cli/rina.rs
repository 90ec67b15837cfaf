//! Options of `hopwright rina`, and their help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use hopwright_rina::Name;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct RinaArgs {
    #[command(subcommand)]
    pub command: Option<RinaCommand>,
    /// The configuration: links are devices of this machine, or ports of a switch elsewhere that `[switch]` names and P4Runtime drives
    #[arg(long, value_name = "rina.toml", required = true)]
    pub config: Option<PathBuf>,
    /// Write counters and state as JSON to this file each second and at exit
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    /// Serve a page that shows the running router at this address, such as 127.0.0.1:8080: its neighbours, routes and flows, tables, the
    /// program's graph with live counts, and packets step by step; a port alone is one of the loopback interface
    #[cfg(feature = "page")]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "p4runtime")]
    pub http: Option<String>,
    /// Run no IPC processes: a controller fills the tables, and has layer management as PACKET_IN
    #[arg(long, value_name = "HOST:PORT", num_args = 0..=1, default_missing_value = hopwright_p4runtime::DEFAULT_ADDRESS)]
    pub p4runtime: Option<SocketAddr>,
}

#[derive(Subcommand, Debug)]
pub(crate) enum RinaCommand {
    /// Print a sample configuration with every key
    #[command(subcommand)]
    Sample(RinaSample),
    /// Check a configuration: exit status 0 if it is right, 1 with the reason if not
    Check {
        /// The configuration
        #[arg(long, value_name = "rina.toml")]
        config: PathBuf,
    },
    /// Send SDUs to an application that sends them back, and print how long that takes
    ///
    /// Exit status: 0 if all came back, 1 if not.
    Echo(EchoArgs),
    /// Send as fast as a flow goes for some seconds, and print what arrives
    Perf(PerfArgs),
    /// List the applications that flows can be allocated to
    List(ShowArgs),
    /// Show the IPC processes: neighbours, routes and flows
    Show(ShowArgs),
    /// Print the PDUs of a capture (pcap), a line each
    ///
    /// Captures are those of tcpdump and Wireshark, for example: tcpdump -i eth0 -w rina.pcap ether proto 0xd1f0
    Capture {
        /// The capture; /dev/stdin reads one that is still written
        #[arg(value_name = "FILE.pcap")]
        file: PathBuf,
    },
    /// Print a dissector for Wireshark and tshark, in Lua
    ///
    /// For example: hopwright rina dissector > ~/.local/lib/wireshark/plugins/rina.lua
    Dissector,
}

#[derive(Subcommand, Debug)]
pub(crate) enum RinaSample {
    /// rina.toml
    Config,
}

/// How an application reaches the IPC processes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Socket {
    /// The socket of the IPC processes
    #[arg(long, value_name = "PATH", default_value = hopwright_rina::DEFAULT_SOCKET)]
    pub socket: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    pub socket: Socket,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The other application, or this one if it is a server.
#[derive(Args, Debug, Clone)]
pub(crate) struct Peer {
    #[command(flatten)]
    pub socket: Socket,
    /// The application to reach
    #[arg(value_name = "NAME", required_unless_present = "server")]
    pub to: Option<Name>,
    /// Be the server with this name, until Ctrl-C
    #[arg(long, value_name = "NAME", conflicts_with = "to")]
    pub server: Option<Name>,
    /// The DIF, if not the first that knows the name
    #[arg(long, value_name = "NAME")]
    pub dif: Option<Name>,
    /// Name of the QoS cube
    #[arg(long, value_name = "NAME", default_value = "reliable")]
    pub qos: String,
    /// Seconds to wait until the name is known
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub wait: f64,
    /// Print results as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EchoArgs {
    #[command(flatten)]
    pub peer: Peer,
    /// Number of SDUs
    #[arg(long, short = 'c', value_name = "NUMBER", default_value_t = 5)]
    pub count: u32,
    /// Seconds between two SDUs
    #[arg(long, value_name = "SECONDS", default_value_t = 0.2)]
    pub interval: f64,
    /// Bytes of an SDU
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u32).range(12..=hopwright_rina::ipcp::LONGEST_SDU as i64))]
    pub size: u32,
    /// Seconds to wait for the last
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub timeout: f64,
}

#[derive(Args, Debug)]
pub(crate) struct PerfArgs {
    #[command(flatten)]
    pub peer: Peer,
    /// Seconds to send
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    pub seconds: f64,
    /// Bytes of an SDU
    #[arg(long, value_name = "BYTES", default_value_t = 1400, value_parser = clap::value_parser!(u32).range(1..=hopwright_rina::ipcp::LONGEST_SDU as i64))]
    pub size: u32,
}
