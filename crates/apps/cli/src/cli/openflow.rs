//! Options of `hopwright openflow`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hopwright_ports::PortChoice;

use super::hand_over::HandOverArgs;
use crate::commands::interfaces::{Interface, PortQueues};

#[derive(Args, Debug)]
pub(crate) struct OpenflowArgs {
    /// Attach port NUMBER (1 to 507) of the switch to an interface
    #[arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)]
    pub interfaces: Vec<Interface>,
    /// Connect to a controller: tcp:ADDRESS[:PORT] or ssl:HOST[:PORT]; the port is 6653 by default
    #[arg(long, value_name = "CONTROLLER", required_unless_present = "listen")]
    pub controller: Vec<hopwright_openflow::Target>,
    /// Wait for controllers: ptcp:[PORT][:ADDRESS] or pssl:[PORT][:ADDRESS]; the address is 127.0.0.1 by default
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<hopwright_openflow::Listen>,
    /// Speak only these versions
    #[arg(long = "version", value_name = "VERSION", value_delimiter = ',', default_values_t = [OpenflowVersion::V10, OpenflowVersion::V13], value_enum)]
    pub versions: Vec<OpenflowVersion>,
    /// The switch's number in hexadecimal; default: the Ethernet address of the first port
    #[arg(long, value_name = "HEX", value_parser = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16))]
    pub datapath_id: Option<u64>,
    /// Without controllers, forget the flows and learn addresses; otherwise the flows stay
    #[arg(long)]
    pub standalone: bool,
    /// Seconds of silence after which a controller is probed
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub probe_interval: u16,
    /// The switch's certificate (PEM), for ssl and pssl
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Authorities of the controllers' certificates (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_ca: Option<PathBuf>,
    /// How to receive and send packets, as for `run`
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
    /// Give port NUMBER a rate and queues, as for `run`
    #[arg(long, value_name = "NUMBER=RATE[,...]")]
    pub queue: Vec<PortQueues>,
    /// Serve metrics for Prometheus at HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Packets that may wait for controllers
    #[arg(long, value_name = "PACKETS", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..))]
    pub cpu_queue: u16,
    #[command(flatten)]
    pub hand_over: HandOverArgs,
}

/// A version of OpenFlow.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OpenflowVersion {
    #[value(name = "1.0")]
    V10,
    #[value(name = "1.3")]
    V13,
}
