//! What identifies a flow of packets, whose order is kept: the flow id, and the ISD-AS numbers and host addresses of source and
//! destination.
//!
//! Source: SCION header specification, "Common Header", flow id; the reference hashes the same (`computeProcID` in
//! `router/underlayproviders/udpip/udpip.go`).

use hopwright_ports::{FlowKey, VariableWords};

/// Offsets in the SCION header in bytes: the word with the flow id, the byte with the types and lengths of hosts, the ISD-AS numbers
/// in words, the hosts.
const FLOW_ID: u8 = 0;
const HOST_TYPES: u8 = 9;
const ISD_ASES: [u8; 4] = [12, 16, 20, 24];
const HOSTS: u8 = 28;
/// The positions of DL and SL, the lengths of hosts in words minus 1, in their byte.
const LENGTHS: [u8; 2] = [4, 0];

/// The bytes of a SCION packet that identify its flow.
pub(super) fn key() -> FlowKey {
    let isd_ases = ISD_ASES.map(|at| (at, u32::MAX));
    FlowKey {
        words: [(FLOW_ID, 0xf_ffff)].into_iter().chain(isd_ases).collect(),
        variable: Some(VariableWords { first: HOSTS, length_at: HOST_TYPES, shifts: LENGTHS }),
    }
}

#[cfg(test)]
mod tests {
    use hopwright_ports::FlowHash;

    use super::*;
    use crate::packet::ia::IsdAs;
    use crate::packet::{Host, Path, Scion, TCP, UDP};

    #[test]
    fn flows_are_told_apart_by_what_the_reference_hashes() {
        let host = |text: &str| Host::Ip(text.parse().unwrap());
        let packet = Scion {
            traffic_class: 0xb8,
            flow_id: 1,
            dst_ia: IsdAs(0x0001_ff00_0000_0110),
            src_ia: IsdAs(0x0001_ff00_0000_0111),
            dst: host("10.0.0.1"),
            src: host("fd00::1"),
            path: Path::Raw(1, vec![7; 36]),
            extensions: Vec::new(),
            next_hdr: UDP,
            payload: vec![0; 100],
            extra_words: 0,
        };
        let hash = FlowHash::new(key());
        let of = |packet: &Scion| hash.of(&packet.pack()).unwrap();
        let same = [
            Scion { traffic_class: 0, ..packet.clone() },
            Scion { path: Path::Raw(1, vec![8; 48]), ..packet.clone() },
            Scion { path: Path::Empty, next_hdr: TCP, payload: vec![1; 9], ..packet.clone() },
        ];
        assert!(same.iter().all(|other| of(other) == of(&packet)));
        let others = [
            Scion { flow_id: 0xf_0001, ..packet.clone() },
            Scion { dst_ia: IsdAs(0x0002_ff00_0000_0110), ..packet.clone() },
            Scion { src_ia: IsdAs(0x0001_ff00_0000_0112), ..packet.clone() },
            Scion { dst: host("10.0.0.2"), ..packet.clone() },
            Scion { dst: host("fd00::2"), ..packet.clone() },
            Scion { src: host("fd00::2"), ..packet.clone() },
            Scion { src: host("fe00::1"), ..packet.clone() },
        ];
        assert!(others.iter().all(|other| of(other) != of(&packet)));
        assert_eq!(hash.of(&packet.pack()[..47]), None);
    }
}
