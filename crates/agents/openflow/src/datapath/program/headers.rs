//! The headers in front of packets that the program and the agent send each other.

use super::Installed;

/// `flow` of packets whose source the bridge is to learn.
pub(crate) const LEARN_FLOW: u32 = 0xffff_fffe;

/// The header in front of packets to the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketInHeader {
    pub in_port: u16,
    pub table: u8,
    /// 0 for what no flow matched.
    pub flow: u32,
    pub metadata: u64,
    pub tunnel_id: u64,
}

impl PacketInHeader {
    /// Splits what the program sent to its CPU port.
    pub(crate) fn split(bytes: &[u8]) -> Option<(PacketInHeader, &[u8])> {
        let (head, packet) = bytes.split_at_checked(26)?;
        let number = |from: usize, to: usize| head[from..to].iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let (in_port, table, flow) = (number(0, 2) as u16, head[2], number(4, 8) as u32);
        Some((PacketInHeader { in_port, table, flow, metadata: number(10, 18), tunnel_id: number(18, 26) }, packet))
    }
}

/// The header in front of packets from the controllers: outputs for a packet as if it came from a port.
pub(crate) fn packet_out(in_port: u32, installed: &Installed) -> Option<[u8; 9]> {
    const USE_OUTPUTS: u8 = 2;
    let (port, rewrite, group) = match installed {
        Installed::Drop => return None,
        Installed::One { output, rewrite } => (output.port, *rewrite, 0),
        Installed::Group { group, .. } => (0, 0, *group),
    };
    let [i0, i1] = (in_port as u16).to_be_bytes();
    let ([r0, r1], [g0, g1], [p0, p1]) = (rewrite.to_be_bytes(), group.to_be_bytes(), port.to_be_bytes());
    Some([i0, i1, USE_OUTPUTS, r0, r1, g0, g1, p0, p1])
}
