//! The headers of a frame down to its TCP or UDP header: VLAN tags, IP with options or extension headers, and tunnels
//! (IP in IP, GRE, VXLAN, Geneve).

/// A header whose length field or checksum covers what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Ipv4,
    Ipv6,
    /// The UDP header of a tunnel.
    Udp,
    /// A GRE header with a checksum.
    Gre,
}

/// The maximum number of layers above the transport header.
const LAYERS: usize = 6;
/// The maximum number of headers that are followed.
const HEADERS: usize = 16;

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const IPV4: u8 = 4;
const IPV6: u8 = 41;
const GRE: u8 = 47;
/// UDP ports of tunnels (RFC 7348, RFC 8926).
const VXLAN: u16 = 4789;
const GENEVE: u16 = 6081;

/// Whether a UDP destination port is that of a tunnel which is looked into.
#[inline]
pub(crate) fn is_tunnel(port: u16) -> bool {
    matches!(port, VXLAN | GENEVE)
}

/// The headers of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Headers {
    layers: [(Layer, u16); LAYERS],
    count: usize,
    /// The offset of the TCP or UDP header.
    pub transport: usize,
    /// [`TCP`] or [`UDP`].
    pub protocol: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Ethernet,
    Tag,
    Ipv4,
    Ipv6,
    Extension,
    Gre,
    Tcp,
    Udp,
    Unknown,
}

fn of_ethertype(ethertype: u16) -> Next {
    match ethertype {
        0x0800 => Next::Ipv4,
        0x86dd => Next::Ipv6,
        0x8100 | 0x88a8 => Next::Tag,
        0x6558 => Next::Ethernet,
        _ => Next::Unknown,
    }
}

fn of_protocol(protocol: u8, v6: bool) -> Next {
    match protocol {
        TCP => Next::Tcp,
        UDP => Next::Udp,
        IPV4 => Next::Ipv4,
        IPV6 => Next::Ipv6,
        GRE => Next::Gre,
        // Hop-by-hop options, routing header, destination options (RFC 8200).
        0 | 43 | 60 if v6 => Next::Extension,
        _ => Next::Unknown,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl Headers {
    /// Finds the transport header at offset `target`, or the innermost one. Returns `None` if there is none, or a header
    /// on the way is unknown, malformed or that of a fragment.
    pub(crate) fn find(frame: &[u8], target: Option<usize>) -> Option<Headers> {
        let mut found = Headers { layers: [(Layer::Ipv4, 0); LAYERS], count: 0, transport: 0, protocol: 0 };
        let (mut at, mut next) = (0, Next::Ethernet);
        for _ in 0..HEADERS {
            match next {
                Next::Ethernet => (at, next) = (at + 14, of_ethertype(word(frame, at + 12)?)),
                Next::Tag => (at, next) = (at + 4, of_ethertype(word(frame, at + 2)?)),
                Next::Ipv4 => {
                    let header = frame.get(at..at + 20)?;
                    let length = usize::from(header[0] & 15) * 4;
                    if header[0] >> 4 != 4 || length < 20 || word(header, 6)? & 0x3fff != 0 {
                        return None;
                    }
                    found.push(Layer::Ipv4, at)?;
                    (at, next) = (at + length, of_protocol(header[9], false));
                }
                Next::Ipv6 => {
                    let header = frame.get(at..at + 40)?;
                    if header[0] >> 4 != 6 {
                        return None;
                    }
                    found.push(Layer::Ipv6, at)?;
                    (at, next) = (at + 40, of_protocol(header[6], true));
                }
                Next::Extension => {
                    let header = frame.get(at..at + 8)?;
                    (at, next) = (at + 8 + 8 * usize::from(header[1]), of_protocol(header[0], true));
                }
                Next::Gre => {
                    // RFC 2784 and 2890: checksum, key and sequence number are optional.
                    let flags = word(frame, at)?;
                    if flags & 0x4fff != 0 {
                        return None;
                    }
                    let inner = of_ethertype(word(frame, at + 2)?);
                    if flags & 0x8000 != 0 {
                        found.push(Layer::Gre, at)?;
                    }
                    (at, next) = (at + 4 + 4 * flags.count_ones() as usize, inner);
                }
                Next::Udp => {
                    let inner = match word(frame, at + 2)? {
                        VXLAN => Some((16, Next::Ethernet)),
                        GENEVE => {
                            let options = usize::from(frame.get(at + 8)? & 0x3f) * 4;
                            Some((16 + options, of_ethertype(word(frame, at + 10)?)))
                        }
                        _ => None,
                    };
                    match inner {
                        Some((length, inner)) if target.is_none_or(|target| target > at) => {
                            found.push(Layer::Udp, at)?;
                            (at, next) = (at + length, inner);
                        }
                        _ => return found.end(at, UDP, 8, frame, target),
                    }
                }
                Next::Tcp => return found.end(at, TCP, 20, frame, target),
                Next::Unknown => return None,
            }
        }
        None
    }

    fn push(&mut self, layer: Layer, at: usize) -> Option<()> {
        *self.layers.get_mut(self.count)? = (layer, u16::try_from(at).ok()?);
        self.count += 1;
        Some(())
    }

    fn end(self, at: usize, protocol: u8, length: usize, frame: &[u8], target: Option<usize>) -> Option<Headers> {
        let there = target.is_none_or(|target| target == at) && frame.len() >= at + length;
        there.then_some(Headers { transport: at, protocol, ..self })
    }

    /// The offset of the transport header's checksum.
    pub(crate) fn field(&self) -> usize {
        self.transport + if self.protocol == UDP { 6 } else { 16 }
    }

    /// The layers with their offsets, the outermost first.
    pub(crate) fn layers(&self) -> impl DoubleEndedIterator<Item = (Layer, usize)> + '_ {
        self.layers[..self.count].iter().map(|(layer, at)| (*layer, usize::from(*at)))
    }

    /// Returns the offsets of the addresses in the IP header in front of offset `before`.
    pub(crate) fn addresses(&self, before: usize) -> Option<std::ops::Range<usize>> {
        self.layers().rev().filter(|(_, at)| *at < before).find_map(|(layer, at)| match layer {
            Layer::Ipv4 => Some(at + 12..at + 20),
            Layer::Ipv6 => Some(at + 8..at + 40),
            Layer::Udp | Layer::Gre => None,
        })
    }
}
