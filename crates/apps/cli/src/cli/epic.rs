//! Options of `hopwright epic`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hopwright_epic::network::Endpoint;
use hopwright_epic::{Host, IsdAs};

#[derive(Subcommand, Debug)]
pub(crate) enum EpicCommand {
    /// Print the entries of an AS's router, for `hopwright run --entries`
    Entries(EpicEntriesArgs),
    /// Send packets; at level 3 wait for receipts, and fail if a router of the path has not processed one
    Send(EpicSendArgs),
    /// Receive packets and check them; at level 3 send receipts
    Receive(EpicReceiveArgs),
}

#[derive(Args, Debug)]
pub(crate) struct EpicEntriesArgs {
    /// The network's description
    #[arg(value_name = "NETWORK.toml")]
    pub network: PathBuf,
    /// The AS, such as 1-ff00:0:110
    #[arg(value_name = "ISD-AS")]
    pub ia: IsdAs,
    /// For p4/epic/epic_tna.p4, for three days from now at most: its clock has 48 bits of nanoseconds
    #[arg(long)]
    pub tofino: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EpicHostArgs {
    /// The network's description
    #[arg(value_name = "NETWORK.toml")]
    pub network: PathBuf,
    /// This host, such as 1-ff00:0:110,10.0.0.1
    #[arg(long, value_name = "ISD-AS,ADDRESS", value_parser = endpoint)]
    pub host: Endpoint,
    /// The interface to the router
    #[arg(long, value_name = "INTERFACE")]
    pub device: String,
}

#[derive(Args, Debug)]
pub(crate) struct EpicSendArgs {
    #[command(flatten)]
    pub host: EpicHostArgs,
    /// The destination
    #[arg(long, value_name = "ISD-AS,ADDRESS", value_parser = endpoint)]
    pub to: Endpoint,
    /// What packets prove: 0 to 3
    #[arg(long, default_value_t = 3)]
    pub level: u8,
    /// Number of packets
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub count: u32,
    /// Text of the packets
    #[arg(long, value_name = "TEXT", default_value = "hello")]
    pub payload: String,
    /// Seconds to wait for each receipt
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0)]
    pub timeout: f64,
}

#[derive(Args, Debug)]
pub(crate) struct EpicReceiveArgs {
    #[command(flatten)]
    pub host: EpicHostArgs,
    /// Number of packets from known ASes to this host after which to end, refused ones included. Others are only counted
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub count: u32,
    /// Seconds to wait for them
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    pub timeout: f64,
    /// Seconds for which a packet is good
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub lifetime: u32,
    /// Seconds by which clocks may differ
    #[arg(long, value_name = "SECONDS", default_value_t = 1)]
    pub skew: u32,
}

/// A host of the command line: `1-ff00:0:110,10.0.0.1`.
fn endpoint(text: &str) -> Result<Endpoint, String> {
    let parts = text.split_once(',').ok_or("expected ISD-AS,ADDRESS, for example 1-ff00:0:110,10.0.0.1")?;
    let address = parts.1.parse().map_err(|_| format!("`{}` is no IP address", parts.1))?;
    Ok((parts.0.parse::<IsdAs>().map_err(|e| e.to_string())?, Host(address)))
}
