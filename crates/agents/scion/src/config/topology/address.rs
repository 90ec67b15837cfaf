//! Addresses in a topology, as the reference reads them: Go's `net.ResolveUDPAddr` inside the AS, `netip.ParseAddrPort`
//! at the ends of links.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

/// An address and port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Without a scope. The address may be unspecified (any address of the machine), the port 0 (any port).
    pub socket: SocketAddr,
    /// The zone of a link-local IPv6 address: the name or number of a network device.
    pub zone: Option<String>,
}

impl From<SocketAddr> for Address {
    fn from(socket: SocketAddr) -> Address {
        Address { socket, zone: None }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.zone {
            Some(zone) => write!(f, "[{}%{zone}]:{}", self.socket.ip(), self.socket.port()),
            None => self.socket.fmt(f),
        }
    }
}

/// Parses the end of a link: an IP address and a port.
pub(super) fn literal(text: &str) -> Result<Address, String> {
    if text.is_empty() {
        return Err("missing".into());
    }
    let bad = || format!("`{text}` is no address and port such as 192.0.2.1:50000");
    let (host, port) = split(text).ok_or_else(bad)?;
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    let port: u16 = Some(port).filter(|_| digits).and_then(|port| port.parse().ok()).ok_or_else(bad)?;
    let (ip, zone) = ip(host).filter(|(ip, _)| ip.is_ipv6() == text.starts_with('[')).ok_or_else(bad)?;
    Ok(address(ip, zone, port))
}

/// Parses an address inside the AS: like [`literal`], but the host may be a name, and the port have a sign.
pub(super) fn resolve(text: &str) -> Result<Address, String> {
    let bad = || format!("`{text}` is no host and port such as 192.0.2.1:30042");
    let (host, port) = split(text).filter(|(host, _)| !host.is_empty()).ok_or_else(bad)?;
    let port: u16 = if port.is_empty() { 0 } else { port.parse().map_err(|_| bad())? };
    if let Some((ip, zone)) = ip(host) {
        return Ok(address(ip, zone, port));
    }
    // What looks like an IPv4 address is none of the other forms that the system's resolver knows.
    if host.bytes().all(|b| b.is_ascii_digit() || b == b'.') || host.contains('%') {
        return Err(bad());
    }
    let found = (host, port).to_socket_addrs().map_err(|e| format!("cannot resolve `{text}`: {e}"))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(|address| !address.is_ipv4());
    let first = found.first().ok_or_else(|| format!("`{text}` has no address"))?;
    Ok(address(first.ip(), None, port))
}

/// Splits `host:port` or `[host]:port`.
fn split(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        return Some((host, port.strip_prefix(':')?)).filter(|(_, port)| !port.contains(':'));
    }
    text.rsplit_once(':').filter(|(host, _)| !host.contains([':', '[', ']']))
}

/// Parses an IP address, which may have a zone if it is an IPv6 address.
fn ip(text: &str) -> Option<(IpAddr, Option<&str>)> {
    match text.split_once('%') {
        Some((ip, zone)) => Some((IpAddr::V6(ip.parse().ok()?), Some(zone).filter(|zone| !zone.is_empty())))
            .filter(|(_, zone)| zone.is_some()),
        None => Some((text.parse().ok()?, None)),
    }
}

/// The zone of an address that is not link-local has no meaning.
fn address(ip: IpAddr, zone: Option<&str>, port: u16) -> Address {
    let ip = ip.to_canonical();
    let link_local = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    Address { socket: SocketAddr::new(ip, port), zone: zone.filter(|_| link_local).map(Into::into) }
}

fn is_group(ip: IpAddr) -> bool {
    ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Why a router cannot have this address, if that is so.
pub fn unusable_local(address: SocketAddr) -> Option<String> {
    is_group(address.ip()).then(|| format!("{} is not the address of one machine", address.ip()))
}

/// Why nothing can be sent to this address, if that is so.
pub fn unusable_remote(address: SocketAddr) -> Option<String> {
    if is_group(address.ip()) || address.ip().is_unspecified() {
        Some(format!("{} is not the address of one machine", address.ip()))
    } else if address.port() == 0 {
        Some(format!("{address}: the port is 0"))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_links() {
        for (text, shown) in [
            ("192.0.2.1:50000", "192.0.2.1:50000"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[fd00::1]:050", "[fd00::1]:50"),
            ("[fe80::1%eth0]:50000", "[fe80::1%eth0]:50000"),
            ("[fd00::1%eth0]:50000", "[fd00::1]:50000"),
            ("[::ffff:192.0.2.1]:5", "192.0.2.1:5"),
        ] {
            assert_eq!(literal(text).unwrap().to_string(), shown);
            assert_eq!(resolve(text).unwrap(), literal(text).unwrap());
        }
        for text in [
            "",
            "192.0.2.1",
            ":5",
            "192.0.2.1:",
            "192.0.2.1:+5",
            "192.0.2.1:65536",
            "fd00::1:5",
            "[192.0.2.1]:5",
            "[fe80::1%]:5",
            "192.0.2.1%eth0:5",
            "localhost:5",
            "192.000.002.001:5",
            " 192.0.2.1:5",
        ] {
            assert!(literal(text).is_err(), "{text}");
        }
    }

    #[test]
    fn inside_the_as() {
        assert_eq!(resolve("localhost:+5").unwrap().socket, "127.0.0.1:5".parse().unwrap());
        assert_eq!(resolve("127.0.0.1:").unwrap().socket.port(), 0);
        for text in ["127.0.0.1", ":5", "127.000.000.001:5", "fd00::1:5", "localhost:-1", "localhost:65536"] {
            assert!(resolve(text).is_err(), "{text}");
        }
    }
}
