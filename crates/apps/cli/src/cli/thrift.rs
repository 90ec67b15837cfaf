//! Options of BMv2's Thrift services.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use clap::Args;
use hopwright_thrift::NotificationAddress;

/// How `hopwright run` serves Thrift.
#[derive(Args, Debug)]
pub(crate) struct ThriftArgs {
    /// Serve BMv2's Thrift interface here, for simple_switch_CLI, runtime_CLI and p4-utils; without a port at 9090
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = address)]
    thrift: Option<SocketAddr>,
    /// Serve BMv2's Thrift interface at this port of 127.0.0.1
    #[arg(long, value_name = "PORT", conflicts_with = "thrift")]
    thrift_port: Option<u16>,
    /// With Thrift, send BMv2's notifications here (ipc://PATH or tcp://ADDRESS:PORT), for subscribers of nanomsg: digests, idle
    /// entries, ports
    #[arg(long, value_name = "ADDRESS")]
    pub notifications_addr: Option<NotificationAddress>,
}

impl ThriftArgs {
    /// Serves Thrift at this port of 127.0.0.1, or nowhere.
    #[cfg(feature = "bmv2")]
    pub(crate) fn at(port: Option<u16>, notifications_addr: Option<NotificationAddress>) -> ThriftArgs {
        ThriftArgs { thrift: None, thrift_port: port, notifications_addr }
    }

    /// Where to serve; `None` if Thrift is not wanted.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.thrift.or_else(|| Some((Ipv4Addr::LOCALHOST, self.thrift_port?).into()))
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = |_| text.parse().map(|address: IpAddr| SocketAddr::from((address, hopwright_thrift::DEFAULT_PORT)));
    text.parse().or_else(alone).map_err(|_| "expected an address such as 127.0.0.1 or 127.0.0.1:9090".to_string())
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn the_port_may_be_missing() {
        assert_eq!(address("0.0.0.0"), Ok(([0, 0, 0, 0], 9090).into()));
        assert_eq!(address("::1"), Ok(([0, 0, 0, 0, 0, 0, 0, 1], 9090).into()));
        assert_eq!(address("[::1]:9091"), Ok(([0, 0, 0, 0, 0, 0, 0, 1], 9091).into()));
        assert!(address("localhost").is_err());
    }
}
