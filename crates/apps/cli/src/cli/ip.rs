//! Options of `hopwright ip`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hopwright_ports::PortChoice;

use super::hand_over::HandOverArgs;
use crate::commands::interfaces::Interface;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct IpArgs {
    #[command(subcommand)]
    pub command: Option<IpCommand>,
    /// Make an interface port NUMBER of the router
    #[arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)]
    pub interfaces: Vec<Interface>,
    /// The control plane: a network namespace (`ip netns`), which is made if it is not there
    #[arg(long, value_name = "NAME", required = true)]
    pub namespace: Option<String>,
    /// How to receive and send packets: af_xdp, af_packet, or auto: AF_XDP on each interface where it works
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
    /// Threads that forward packets
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub workers: u8,
    /// Serve metrics for Prometheus at HOST:PORT
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,
    /// Serve gNMI: the interfaces of the control plane, with the counters of fast path and kernel together
    #[cfg(feature = "telemetry")]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub gnmi: Option<std::net::SocketAddr>,
    #[cfg(feature = "telemetry")]
    #[command(flatten)]
    pub tls: super::p4runtime::TlsArgs,
    /// Write the counters as JSON to this file each second and at exit
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
    #[command(flatten)]
    pub hand_over: HandOverArgs,
    #[cfg(feature = "telemetry")]
    #[command(flatten)]
    pub telemetry: super::telemetry::TelemetryArgs,
}

#[derive(Subcommand, Debug)]
pub(crate) enum IpCommand {
    /// Show what a running router has in its tables, and which packets it leaves to the kernel and why
    Show(IpShowArgs),
}

#[derive(Args, Debug)]
pub(crate) struct IpShowArgs {
    /// The router's control plane
    #[arg(long, value_name = "NAME")]
    pub namespace: String,
    /// All routes, too
    #[arg(long)]
    pub routes: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}
