//! Options of what network management reads of a switch.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use hopwright_telemetry::{agentx, sflow};

/// SNMP and sFlow of a switch.
#[derive(Args, Debug, Clone, Default)]
#[command(next_help_heading = "Network management")]
pub(crate) struct TelemetryArgs {
    /// Serve the interfaces by SNMP, as a subagent of the agent (such as snmpd) that listens at this Unix socket for AgentX
    #[arg(long, value_name = "SOCKET", num_args = 0..=1, default_missing_value = agentx::DEFAULT_SOCKET)]
    pub agentx: Option<PathBuf>,
    /// Send samples of packets, and the interfaces' counters, to this sFlow collector; its port is 6343 if none is given
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = collector)]
    pub sflow: Option<SocketAddr>,
    /// Sample one packet in this many
    #[arg(long, value_name = "PACKETS", requires = "sflow", default_value_t = sflow::DEFAULT_RATE, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub sflow_rate: u32,
    /// Send the counters of each interface each time this many seconds have passed
    #[arg(long, value_name = "SECONDS", requires = "sflow", default_value_t = sflow::DEFAULT_INTERVAL.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub sflow_interval: u64,
    /// The address by which the sFlow collector knows this machine, if that is not the one from which datagrams are sent
    #[arg(long, value_name = "ADDRESS", requires = "sflow")]
    pub sflow_agent: Option<IpAddr>,
}

fn collector(text: &str) -> Result<SocketAddr, String> {
    let with_default = || text.parse().ok().map(|address: IpAddr| SocketAddr::new(address, sflow::DEFAULT_PORT));
    text.parse()
        .ok()
        .or_else(with_default)
        .ok_or_else(|| "expected ADDRESS or ADDRESS:PORT, for example 192.0.2.1".into())
}
