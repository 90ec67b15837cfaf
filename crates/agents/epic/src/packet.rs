//! EPIC packets as bytes: `p4/epic/headers.p4` has the format.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The EtherType of EPIC packets.
pub const ETHERTYPE: u16 = 0x88b5;

/// Path type of level 0; the others follow.
const PATH_TYPE: u8 = 0b1110_0000;
const MAX_HOPS: usize = 64;
/// Bytes of common header and AS numbers.
const FIXED_BYTES: usize = 28;
const META_BYTES: usize = 12;
const VALIDATION_BYTES: usize = 16;
const INFO_BYTES: usize = 8;

/// An ISD and AS number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IsdAs(pub u64);

impl fmt::Display for IsdAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (isd, number) = (self.0 >> 48, self.0 & 0xffff_ffff_ffff);
        write!(f, "{isd}-{:x}:{:x}:{:x}", number >> 32, number >> 16 & 0xffff, number & 0xffff)
    }
}

/// A text or number that means nothing here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// It is no AS.
    #[error("`{0}` is no ISD-AS like 1-ff00:0:110")]
    IsdAs(String),
    /// It is no [`Level`].
    #[error("level {0}: there are 0 to 3")]
    Level(u8),
}

impl FromStr for IsdAs {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<IsdAs, ParseError> {
        let wrong = || ParseError::IsdAs(text.into());
        let (isd, number) = text.split_once('-').ok_or_else(wrong)?;
        let isd: u16 = isd.parse().map_err(|_| wrong())?;
        let parts: Vec<u16> =
            number.split(':').map(|p| u16::from_str_radix(p, 16)).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let [a, b, c] = parts[..] else { return Err(wrong()) };
        Ok(IsdAs([isd, a, b, c].iter().fold(0, |ia, part| ia << 16 | u64::from(*part))))
    }
}

/// The address of a host within its AS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(pub IpAddr);

impl Host {
    /// Type (2 bits) and length in words minus one (2 bits).
    pub fn kind(&self) -> u8 {
        if self.0.is_ipv4() { 0 } else { 3 }
    }

    /// 4 or 16 bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self.0 {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        }
    }
}

/// What a packet proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Each AS has allowed the hop.
    L0,
    /// The packet is fresh, from somebody who may use the path.
    L1,
    /// It comes from the host that it says.
    L2,
    /// Source and destination can tell that it took the path.
    L3,
}

impl Level {
    /// All, the lowest first.
    pub const ALL: [Level; 4] = [Level::L0, Level::L1, Level::L2, Level::L3];
}

impl TryFrom<u8> for Level {
    type Error = ParseError;

    fn try_from(number: u8) -> Result<Level, ParseError> {
        Level::ALL.get(usize::from(number)).copied().ok_or(ParseError::Level(number))
    }
}

/// A segment's info field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Travelled in the direction it was constructed.
    pub cons_dir: bool,
    /// Chains the hop authenticators; routers update it.
    pub seg_id: u16,
    /// When it was constructed, seconds since 1970.
    pub timestamp: u32,
}

/// A hop field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Lifetime, (1 + exp_time) · 337.5 s.
    pub exp_time: u8,
    /// Interface by which construction entered the AS, 0 at the first.
    pub cons_ingress: u16,
    /// Interface by which construction left the AS, 0 at the last.
    pub cons_egress: u16,
    /// The first two bytes of the hop authenticator.
    pub chain: [u8; 2],
    /// Level 0: the next four. Else the hop validation field.
    pub hvf: [u8; 4],
}

/// Hops of one segment, in the order in which the packet takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The info field.
    pub info: Info,
    /// The hop fields.
    pub hops: Vec<Hop>,
}

/// A packet from the SCION common header on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// What it proves.
    pub level: Level,
    /// The traffic class. Our sources write 0.
    pub traffic_class: u8,
    /// 20 bits that tell flows apart. Our sources write 1.
    pub flow_id: u32,
    /// The destination's AS.
    pub dst_ia: IsdAs,
    /// The source's AS.
    pub src_ia: IsdAs,
    /// The destination.
    pub dst: Host,
    /// The source.
    pub src: Host,
    /// When it was sent, seconds since 1970.
    pub timestamp: u32,
    /// Tells the source's packets of one second apart.
    pub counter: u32,
    /// The current segment.
    pub curr_inf: u8,
    /// The current hop, counted from the start of the path.
    pub curr_hf: u8,
    /// What source and destination compute with their key; zeros at levels 0 and 1.
    pub validation: [u8; 16],
    /// One to three segments.
    pub segments: Vec<Segment>,
    /// Protocol of the payload.
    pub next_hdr: u8,
    /// What the packet carries.
    pub payload: Vec<u8>,
}

/// Bytes that are no EPIC packet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// It ends too early.
    #[error("the packet ends within its {0}")]
    Short(&'static str),
    /// Another path type.
    #[error("path type {0} is not EPIC's")]
    PathType(u8),
    /// A host address that is neither IPv4 nor IPv6.
    #[error("host address of kind {0} is not supported")]
    Host(u8),
    /// Segments with gaps, too many hops, or a header length that does not fit.
    #[error("the path is malformed: {0}")]
    Path(&'static str),
    /// Another version of the SCION header.
    #[error("version {0} of the SCION header is not supported")]
    Version(u8),
    /// A field that must be zero is not: reserved bits, the peering flag, router alerts.
    #[error("the {0} are not zero")]
    NotCanonical(&'static str),
}

impl Packet {
    /// All hop fields in order.
    pub fn hops(&self) -> impl Iterator<Item = &Hop> {
        self.segments.iter().flat_map(|s| &s.hops)
    }

    /// All hop fields in order.
    pub fn hops_mut(&mut self) -> impl Iterator<Item = &mut Hop> {
        self.segments.iter_mut().flat_map(|s| &mut s.hops)
    }

    /// The first block or blocks of hop validation fields: level, kinds and address of the source, time, counter, length.
    pub(crate) fn identity(&self) -> Vec<[u8; 16]> {
        let mut message = vec![(self.level as u8) << 4 | self.src.kind()];
        message.extend(self.timestamp.to_be_bytes());
        message.extend(self.counter.to_be_bytes());
        message.extend((self.payload.len() as u16).to_be_bytes());
        message.extend(self.src_ia.0.to_be_bytes());
        message.extend(self.src.bytes());
        message.resize(message.len().next_multiple_of(16), 0);
        message.chunks(16).map(|block| std::array::from_fn(|i| block[i])).collect()
    }

    /// Encodes the packet.
    ///
    /// # Panics
    /// With a path of no or more than three segments, of more than 64 hops, or a payload of more than 65,535 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let lens: Vec<u32> = self.segments.iter().map(|s| s.hops.len() as u32).collect();
        assert!(matches!(lens.len(), 1..=3) && lens.iter().sum::<u32>() <= MAX_HOPS as u32, "a path of {lens:?} hops");
        assert!(self.payload.len() <= usize::from(u16::MAX), "a payload of {} bytes", self.payload.len());
        let len = |i: usize| lens.get(i).copied().unwrap_or(0);
        let mut out = Vec::from((u32::from(self.traffic_class) << 20 | self.flow_id & 0xf_ffff).to_be_bytes());
        out.extend([self.next_hdr, 0]);
        out.extend((self.payload.len() as u16).to_be_bytes());
        out.extend([PATH_TYPE | self.level as u8, self.dst.kind() << 4 | self.src.kind(), 0, 0]);
        out.extend(self.dst_ia.0.to_be_bytes());
        out.extend(self.src_ia.0.to_be_bytes());
        out.extend(self.dst.bytes());
        out.extend(self.src.bytes());
        let meta = u32::from(self.curr_inf) << 30 | u32::from(self.curr_hf) << 24 | len(0) << 12 | len(1) << 6 | len(2);
        out.extend(meta.to_be_bytes());
        out.extend(self.timestamp.to_be_bytes());
        out.extend(self.counter.to_be_bytes());
        if self.level >= Level::L2 {
            out.extend(self.validation);
        }
        for Segment { info, .. } in &self.segments {
            out.extend([u8::from(info.cons_dir), 0]);
            out.extend(info.seg_id.to_be_bytes());
            out.extend(info.timestamp.to_be_bytes());
        }
        for hop in self.hops() {
            out.extend([0, hop.exp_time]);
            out.extend(hop.cons_ingress.to_be_bytes());
            out.extend(hop.cons_egress.to_be_bytes());
            out.extend(hop.chain);
            out.extend(hop.hvf);
        }
        out[5] = (out.len() / 4) as u8;
        out.extend(&self.payload);
        out
    }

    /// Zeroes what routers change, and the validation field, in the bytes of a packet.
    pub(crate) fn clear_mutable(&self, bytes: &mut [u8]) {
        let meta = FIXED_BYTES + self.dst.bytes().len() + self.src.bytes().len();
        // CurrINF and CurrHF.
        bytes[meta] = 0;
        let mut at = meta + META_BYTES;
        if self.level >= Level::L2 {
            bytes[at..at + VALIDATION_BYTES].fill(0);
            at += VALIDATION_BYTES;
        }
        for _ in &self.segments {
            // SegID.
            bytes[at + 2..at + 4].fill(0);
            at += INFO_BYTES;
        }
    }

    /// Decodes a packet; bytes behind its payload are padding. Encoding it gives the same bytes again.
    ///
    /// # Errors
    /// If it is malformed, or a field is not zero that must be.
    pub fn decode(bytes: &[u8]) -> Result<Packet, Malformed> {
        let mut rest = Rest(bytes);
        let first = u32::from_be_bytes(rest.take("common header")?);
        let [next_hdr, hdr_len] = rest.take("common header")?;
        let payload_len = u16::from_be_bytes(rest.take("common header")?);
        let [path_type, kinds, reserved @ ..] = rest.take::<4>("common header")?;
        if first >> 28 != 0 {
            return Err(Malformed::Version((first >> 28) as u8));
        }
        if path_type & !3 != PATH_TYPE {
            return Err(Malformed::PathType(path_type));
        }
        zero(u16::from_be_bytes(reserved), "reserved bits of the common header")?;
        let level = Level::ALL[usize::from(path_type & 3)];
        let dst_ia = IsdAs(u64::from_be_bytes(rest.take("addresses")?));
        let src_ia = IsdAs(u64::from_be_bytes(rest.take("addresses")?));
        let dst = rest.host(kinds >> 4)?;
        let src = rest.host(kinds & 15)?;
        let meta = u32::from_be_bytes(rest.take("path meta header")?);
        zero((meta >> 18 & 63) as u16, "reserved bits of the path meta header")?;
        let lens = [meta >> 12 & 63, meta >> 6 & 63, meta & 63].map(|len| len as usize);
        let timestamp = u32::from_be_bytes(rest.take("path meta header")?);
        let counter = u32::from_be_bytes(rest.take("path meta header")?);
        let validation = if level >= Level::L2 { rest.take("validation field")? } else { [0; 16] };
        let count = lens.iter().take_while(|len| **len > 0).count();
        if count == 0 || lens[count..].iter().any(|len| *len > 0) || lens.iter().sum::<usize>() > MAX_HOPS {
            return Err(Malformed::Path("segments"));
        }
        let mut infos = Vec::new();
        for _ in 0..count {
            let [flags, reserved, a, b] = rest.take("info fields")?;
            zero(u16::from_be_bytes([flags & !1, reserved]), "peering flag and reserved bits of an info field")?;
            let timestamp = u32::from_be_bytes(rest.take("info fields")?);
            infos.push(Info { cons_dir: flags & 1 == 1, seg_id: u16::from_be_bytes([a, b]), timestamp });
        }
        let mut segments = Vec::new();
        for (info, len) in infos.into_iter().zip(lens) {
            let mut hops = Vec::new();
            for _ in 0..len {
                let [flags, exp_time, a, b, c, d, e, f] = rest.take("hop fields")?;
                zero(flags.into(), "alerts and reserved bits of a hop field")?;
                let (cons_ingress, cons_egress) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                hops.push(Hop { exp_time, cons_ingress, cons_egress, chain: [e, f], hvf: rest.take("hop fields")? });
            }
            segments.push(Segment { info, hops });
        }
        if bytes.len() - rest.0.len() != usize::from(hdr_len) * 4 {
            return Err(Malformed::Path("header length"));
        }
        let payload = rest.0.get(..usize::from(payload_len)).ok_or(Malformed::Short("payload"))?.to_vec();
        Ok(Packet {
            level,
            traffic_class: (first >> 20) as u8,
            flow_id: first & 0xf_ffff,
            dst_ia,
            src_ia,
            dst,
            src,
            timestamp,
            counter,
            curr_inf: (meta >> 30) as u8,
            curr_hf: (meta >> 24 & 63) as u8,
            validation,
            segments,
            next_hdr,
            payload,
        })
    }
}

fn zero(value: u16, what: &'static str) -> Result<(), Malformed> {
    if value == 0 { Ok(()) } else { Err(Malformed::NotCanonical(what)) }
}

/// Bytes that are still to be decoded.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self, of: &'static str) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Short(of))?;
        self.0 = rest;
        Ok(*taken)
    }

    fn host(&mut self, kind: u8) -> Result<Host, Malformed> {
        match kind {
            0 => Ok(Host(IpAddr::from(self.take::<4>("addresses")?))),
            3 => Ok(Host(IpAddr::from(self.take::<16>("addresses")?))),
            other => Err(Malformed::Host(other)),
        }
    }
}
