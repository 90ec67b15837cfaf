//! What of the kernel may refuse or change packets that it forwards: chains of nftables, tables of iptables, policies of IPsec.
//!
//! Not seen: programs that `bpf(2)` attaches to hooks of netfilter.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP};
use netlink_sys::Socket;
use netlink_sys::protocols::{NETLINK_NETFILTER, NETLINK_XFRM};

use crate::netlink::message::attributes;
use crate::netlink::request::Requests;

/// The multicast group of nftables (`NFNLGRP_NFTABLES`).
const NFTABLES_GROUP: u32 = 7;
/// Messages about chains (`NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_*`).
const NEW_CHAIN: u16 = 10 << 8 | 3;
const GET_CHAIN: u16 = 10 << 8 | 4;
/// Attributes of a chain, and of its hook.
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const HOOK_NUMBER: u16 = 1;
/// Bytes of `struct nfgenmsg`, which begins with a family.
const FAMILY_HEADER: usize = 4;
/// Messages about the number of IPsec policies (`XFRM_MSG_*SPDINFO`), and their attribute.
const GET_POLICY_COUNT: u16 = 0x25;
const POLICY_COUNT: u16 = 1;

/// Which packets a chain sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Those of IPv4.
    Ipv4,
    /// Those of IPv6.
    Ipv6,
    /// Those of both.
    Inet,
    /// All frames of a device.
    Device,
}

/// A chain that sees forwarded packets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chain {
    /// Which ones.
    pub family: Family,
    /// Its table.
    pub table: String,
    /// Its name.
    pub name: String,
}

/// A namespace's netfilter and IPsec.
pub struct Netfilter {
    requests: Requests,
    events: Socket,
    xfrm: Option<Requests>,
    /// Names of the tables of iptables in its older form, of IPv4 and of IPv6.
    legacy: [Option<File>; 2],
}

impl Netfilter {
    /// That of this thread's network namespace.
    ///
    /// # Errors
    /// The kernel has no netfilter.
    pub fn open() -> io::Result<Netfilter> {
        let mut events = Socket::new(NETLINK_NETFILTER)?;
        events.bind_auto()?;
        events.add_membership(NFTABLES_GROUP)?;
        events.set_non_blocking(true)?;
        let legacy = ["ip_tables_names", "ip6_tables_names"];
        Ok(Netfilter {
            requests: Requests::of(NETLINK_NETFILTER)?,
            events,
            xfrm: Requests::of(NETLINK_XFRM).ok(),
            legacy: legacy.map(|name| File::open(format!("/proc/thread-self/net/{name}")).ok()),
        })
    }

    /// Readable when rules of nftables have changed.
    pub fn event_fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }

    /// Whether they have changed since the last call.
    pub fn changed(&mut self) -> bool {
        let mut changed = false;
        loop {
            match self.events.recv_from_full() {
                Ok(_) => changed = true,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return changed,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Notifications were lost.
                Err(_) => return true,
            }
        }
    }

    /// The chains of nftables that see forwarded packets, in order.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn chains(&mut self) -> io::Result<Vec<Chain>> {
        let mut chains = Vec::new();
        let answer = self.requests.exchange(GET_CHAIN, NLM_F_DUMP, &[0; FAMILY_HEADER], |frame| {
            if frame.kind == NEW_CHAIN {
                chains.extend(chain(frame.body()));
            }
        });
        if let Err(error) = answer
            && !matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOENT))
        {
            return Err(error);
        }
        chains.sort();
        chains.dedup();
        Ok(chains)
    }

    /// The tables of iptables in its older form, of IPv4 and of IPv6. There is no notification of them.
    pub fn legacy_tables(&self) -> [Vec<String>; 2] {
        let mut buffer = [0; 4096];
        [0, 1].map(|family| {
            let read = self.legacy[family].as_ref().and_then(|file| file.read_at(&mut buffer, 0).ok()).unwrap_or(0);
            String::from_utf8_lossy(&buffer[..read]).lines().map(str::to_string).collect()
        })
    }

    /// How many policies of IPsec there are for packets that are forwarded or sent. There is no notification of them.
    pub fn ipsec_policies(&mut self) -> u32 {
        let Some(xfrm) = &mut self.xfrm else { return 0 };
        let mut count = 0;
        let answer = xfrm.exchange(GET_POLICY_COUNT, NLM_F_ACK, &[0; 4], |frame| {
            let counts = attributes(frame.body().get(4..).unwrap_or(&[])).find(|(kind, _)| *kind == POLICY_COUNT);
            // struct xfrmu_spdinfo: in, out, forward.
            let of =
                |at| counts.and_then(|(_, value)| Some(u32::from_ne_bytes(value.get(at..at + 4)?.try_into().ok()?)));
            count = of(4).unwrap_or(0) + of(8).unwrap_or(0);
        });
        answer.map_or(0, |_| count)
    }
}

/// The chain of a message without its header, if it sees forwarded packets.
fn chain(body: &[u8]) -> Option<Chain> {
    let (mut table, mut name, mut hook) = (String::new(), String::new(), None);
    let text = |value: &[u8]| String::from_utf8_lossy(value).trim_end_matches('\0').to_string();
    for (kind, value) in attributes(body.get(FAMILY_HEADER..)?) {
        match kind {
            CHAIN_TABLE => table = text(value),
            CHAIN_NAME => name = text(value),
            CHAIN_HOOK => {
                let number = attributes(value).find(|(kind, _)| *kind == HOOK_NUMBER)?.1;
                hook = Some(u32::from_be_bytes(number.try_into().ok()?));
            }
            _ => {}
        }
    }
    // Before routing, forwarded, after routing, ingress; not what the host itself receives and sends.
    let forwarded = matches!(hook?, 0 | 2 | 4..);
    let family = match i32::from(*body.first()?) {
        libc::NFPROTO_INET => Family::Inet,
        libc::NFPROTO_IPV4 => Family::Ipv4,
        libc::NFPROTO_IPV6 => Family::Ipv6,
        libc::NFPROTO_NETDEV => return Some(Chain { family: Family::Device, table, name }),
        _ => return None,
    };
    forwarded.then_some(Chain { family, table, name })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::frames;

    /// What a kernel answered to a request for all chains (`tests/netlink/record_netfilter.py`).
    const RECORDING: &str = include_str!("../tests/netlink/netfilter.txt");

    fn recorded() -> Vec<Vec<u8>> {
        let lines = RECORDING.lines().filter_map(|line| line.strip_prefix("chain "));
        let byte = |hex: &str, at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        lines.map(|hex| (0..hex.len()).step_by(2).map(|at| byte(hex, at)).collect()).collect()
    }

    #[test]
    fn chains_that_see_forwarded_packets() {
        let messages = recorded();
        let found: Vec<_> = messages
            .iter()
            .filter_map(|bytes| chain(frames(bytes).next().unwrap().unwrap().body()))
            .map(|chain| (chain.family, format!("{} {}", chain.table, chain.name)))
            .collect();
        let expected = [
            (Family::Inet, "filter forward"),
            (Family::Inet, "filter ingress"),
            (Family::Ipv4, "nat prerouting"),
            (Family::Ipv4, "nat postrouting"),
            (Family::Ipv6, "six forward"),
            (Family::Device, "dev in"),
        ];
        assert_eq!(found, expected.map(|(family, name)| (family, name.to_string())));
        assert!(messages.len() > expected.len(), "others see no forwarded packets");
    }

    #[test]
    fn messages_that_end_early_are_no_chains_or_the_same() {
        for bytes in recorded() {
            let body = frames(&bytes).next().unwrap().unwrap().body();
            (0..body.len()).for_each(|length| drop(chain(&body[..length])));
        }
    }
}
