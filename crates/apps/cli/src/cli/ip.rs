//! Options of `hopwright ip`.

use std::path::PathBuf;

use clap::Args;
use hopwright_ports::PortChoice;

use crate::commands::interfaces::Interface;

#[derive(Args, Debug)]
pub(crate) struct IpArgs {
    /// Make an interface port NUMBER of the router
    #[arg(short = 'i', long = "interface", value_name = "NUMBER@INTERFACE", required = true)]
    pub interfaces: Vec<Interface>,
    /// The control plane: a network namespace (`ip netns`), which is made if it is not there
    #[arg(long, value_name = "NAME")]
    pub namespace: String,
    /// How to receive and send packets: af_xdp, af_packet, or auto: AF_XDP on each interface where it works
    #[arg(long, value_name = "KIND", default_value_t)]
    pub ports: PortChoice,
    /// Threads that forward packets
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub workers: u8,
    /// Write the counters as JSON to this file each second and at exit
    #[arg(long, value_name = "FILE")]
    pub stats: Option<PathBuf>,
}
