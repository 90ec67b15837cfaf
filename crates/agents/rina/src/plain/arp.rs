//! ARP for names: whoever wants a flow of the shim DIF over Ethernet asks for the station at which a name is registered
//! (`kernel/shim-eth.c`). Names are padded with zeros to equal lengths.

use crate::frames::RINA_TYPE;
use crate::neighbour::Mac;

const ETHERNET: u16 = 1;
const HEADER: usize = 8;
const MAC: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Request = 1,
    Reply = 2,
}

/// Writes the sender's station into a packet.
pub(crate) fn set_station(packet: &mut [u8], mac: Mac) {
    if let Some(place) = packet.get_mut(HEADER..HEADER + MAC) {
        place.copy_from_slice(&mac);
    }
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arp {
    pub operation: Operation,
    pub sender: (Mac, String),
    /// The station is zeros in a request.
    pub target: (Mac, String),
}

impl Arp {
    pub(crate) fn write(&self) -> Vec<u8> {
        let names = [&self.sender.1, &self.target.1].map(|name| name.as_bytes());
        // Names here have less than 100 bytes, and those of others 255 at most.
        let length = names.iter().map(|name| name.len()).max().unwrap_or_default();
        let mut out = Vec::with_capacity(HEADER + 2 * (MAC + length));
        out.extend(ETHERNET.to_be_bytes());
        out.extend(RINA_TYPE.to_be_bytes());
        out.extend([MAC as u8, length as u8]);
        out.extend((self.operation as u16).to_be_bytes());
        for (mac, name) in [self.sender.0, self.target.0].into_iter().zip(names) {
            out.extend(mac);
            out.extend(name);
            out.resize(out.len() + length - name.len(), 0);
        }
        out
    }

    /// Reads a packet, behind which may be padding. None if it is none, or of another protocol.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Arp> {
        let (head, rest) = bytes.split_first_chunk::<HEADER>()?;
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        if (word(0), word(2), usize::from(head[4])) != (ETHERNET, RINA_TYPE, MAC) {
            return None;
        }
        let operation = match word(6) {
            1 => Operation::Request,
            2 => Operation::Reply,
            _ => return None,
        };
        let length = usize::from(head[5]);
        let party = |bytes: &[u8]| {
            let (mac, name) = bytes.split_first_chunk::<MAC>()?;
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            let text = std::str::from_utf8(&name[..end]).ok()?;
            (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| (*mac, text.to_string()))
        };
        let both = rest.get(..2 * (MAC + length))?;
        let (sender, target) = both.split_at(MAC + length);
        Some(Arp { operation, sender: party(sender)?, target: party(target)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `arp_create` of rlite writes it.
    #[test]
    fn the_format_is_that_of_the_shim() {
        let arp = Arp {
            operation: Operation::Request,
            sender: ([2, 0, 0, 0, 0, 1], "n.2".into()),
            target: ([0; 6], "normal.DIF".into()),
        };
        let mut wanted = vec![0, 1, 0xd1, 0xf0, 6, 10, 0, 1, 2, 0, 0, 0, 0, 1];
        wanted.extend(b"n.2\0\0\0\0\0\0\0");
        wanted.extend([0; 6]);
        wanted.extend(b"normal.DIF");
        assert_eq!(arp.write(), wanted);
        let mut other = wanted.clone();
        other[8..14].fill(0);
        set_station(&mut other, arp.sender.0);
        assert_eq!(other, wanted);
        for cut in 0..wanted.len() {
            assert_eq!(Arp::parse(&wanted[..cut]), None, "{cut} bytes");
        }
        wanted.extend([0; 18]);
        assert_eq!(Arp::parse(&wanted), Some(arp));
        wanted[2] = 8;
        assert_eq!(Arp::parse(&wanted), None, "ARP for IPv4");
    }
}
