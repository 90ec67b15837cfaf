//! Selects the frames of a device that a port takes.
//!
//! All back ends use the same [`FrameMatch`]. Packet sockets compile it to classic BPF ([`Filter`]), AF_XDP devices use
//! it in their XDP program, TAP and pcap ports evaluate it in software ([`FrameMatch::matches`]). A [`FlowHash`] distributes
//! datagrams over the sockets of several workers.

mod classic;
mod flow;
#[cfg(test)]
pub(crate) mod test_frames;

use std::net::IpAddr;

pub use classic::{Filter, Instruction, Pattern, TooLong};
pub(crate) use flow::JoinedFlows;
pub use flow::{FlowHash, FlowKey, VariableWords};

/// Which frames of a device a port takes. All others go to the kernel only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FrameMatch {
    /// Every frame, including those addressed to other hosts. VLAN tags are part of the frame.
    #[default]
    Everything,
    /// Frames with one of these EtherTypes, without a VLAN tag, that are addressed to the device or to a group.
    EtherTypes(Vec<u16>),
    /// Frames without a VLAN tag that are addressed to the device and carry a UDP datagram to one of these addresses
    /// and ports: over IPv4 without options and unfragmented, or over IPv6 without extension headers.
    UdpDestinations(Vec<(IpAddr, u16)>),
}

impl FrameMatch {
    /// Returns a match of the same kind that matches nothing. [`FrameMatch::Everything`] is returned unchanged.
    pub fn emptied(&self) -> FrameMatch {
        match self {
            FrameMatch::Everything => FrameMatch::Everything,
            FrameMatch::EtherTypes(_) => FrameMatch::EtherTypes(Vec::new()),
            FrameMatch::UdpDestinations(_) => FrameMatch::UdpDestinations(Vec::new()),
        }
    }

    /// The destinations of [`FrameMatch::UdpDestinations`]; empty for other matches.
    pub fn udp_destinations(&self) -> &[(IpAddr, u16)] {
        match self {
            FrameMatch::UdpDestinations(destinations) => destinations,
            _ => &[],
        }
    }

    /// Whether this is [`FrameMatch::Everything`].
    pub fn is_everything(&self) -> bool {
        *self == FrameMatch::Everything
    }

    /// Whether a frame matches, regardless of its destination address.
    pub fn matches(&self, frame: &[u8]) -> bool {
        let word = |at: usize| Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?));
        match self {
            FrameMatch::Everything => true,
            FrameMatch::EtherTypes(types) => word(12).is_some_and(|found| types.contains(&found)),
            FrameMatch::UdpDestinations(destinations) => {
                let destination = || -> Option<(IpAddr, u16)> {
                    match word(12)? {
                        0x0800 => {
                            let whole = frame.get(14) == Some(&0x45) && word(20)? & 0x3fff == 0;
                            let address: [u8; 4] = *frame.get(30..)?.first_chunk()?;
                            let udp = whole && frame.get(23) == Some(&17) && frame.len() >= 42;
                            udp.then_some((address.into(), word(36)?))
                        }
                        0x86dd => {
                            let address: [u8; 16] = *frame.get(38..)?.first_chunk()?;
                            let udp = frame.get(20) == Some(&17) && frame.len() >= 62;
                            udp.then_some((address.into(), word(56)?))
                        }
                        _ => None,
                    }
                };
                destination().is_some_and(|found| destinations.contains(&found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_by_ether_type_and_destination() {
        let frame = |ether_type: [u8; 2], rest: &[u8]| [&[2; 12][..], &ether_type, rest].concat();
        let types = FrameMatch::EtherTypes(vec![0xd1f0, 0x88b5]);
        assert!(types.matches(&frame([0xd1, 0xf0], &[])) && types.matches(&frame([0x88, 0xb5], &[1])));
        assert!(!types.matches(&frame([8, 0], &[0; 40])) && !types.matches(&[2; 13]));
        assert!(FrameMatch::Everything.matches(&[]));

        let v4 = |flags: u8, port: u16| {
            let header = [0x45, 0, 0, 28, 0, 0, flags, 0, 64, 17, 0, 0, 9, 9, 9, 9, 192, 0, 2, 1];
            frame([8, 0], &[&header[..], &[1, 1], &port.to_be_bytes(), &[0, 8, 0, 0]].concat())
        };
        let v6 = |protocol: u8| {
            let header = [&[0x60, 0, 0, 0, 0, 8, protocol, 64][..], &[9; 16], &[0xfd; 16]].concat();
            frame([0x86, 0xdd], &[&header[..], &[1, 1, 0, 7, 0, 8, 0, 0]].concat())
        };
        let udp = FrameMatch::UdpDestinations(vec![([192, 0, 2, 1].into(), 5), ([0xfd; 16].into(), 7)]);
        assert!(udp.matches(&v4(0, 5)) && udp.matches(&v4(0x40, 5)) && udp.matches(&v6(17)));
        assert!(!udp.matches(&v4(0x20, 5)), "a fragment");
        assert!(!udp.matches(&v4(0, 7)) && !udp.matches(&v6(6)));
        for whole in [v4(0, 5), v6(17)] {
            assert!((0..whole.len()).all(|length| !udp.matches(&whole[..length])));
        }
        assert_eq!(udp.emptied(), FrameMatch::UdpDestinations(vec![]));
        assert!(!udp.emptied().matches(&v4(0, 5)));
    }
}
