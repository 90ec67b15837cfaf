//! Computes the answer to a punted packet: a pure function from the bytes of the packet to those of the frame to send.
//!
//! The reference router modifies a packet while it checks it, and quotes the modified packet. Therefore the
//! modifications that the reference makes before it detects the fault are applied first.
//!
//! [`crate::packet`] writes the frames. Its builders write SCION, UDP, IP and Ethernet in one piece and are shared with
//! tests and BFD. `etherparse` or `smoltcp::wire` would replace only the 40 lines for Ethernet, IP and UDP.

use std::net::IpAddr;

use super::drkey::ScmpKeys;
use super::message::{self, Kind, Message};
use super::path::{HOP, INFO, META};
use super::spao;
use super::view::{COMMON, ETHERNET, Underlay, View, word};
use crate::config::keys::HopKey;
use crate::config::links::Links;
use crate::control::program::{LOCAL_PORT, PacketIn, Reason};
use crate::packet::{
    self, END_TO_END, Envelope, HUMMINGBIRD_PATH, Host, HummingbirdPath, Path, SCMP, Scion, ScionPath,
};
use crate::stun;

/// The maximum length of an error message's SCION packet in bytes, including the quote.
const LONGEST: usize = 1232;
/// The maximum length of a SCION header in bytes: HdrLen counts words.
const LONGEST_HEADER: usize = 1020;

/// What to do about a punted packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Send this frame through the port that the packet arrived on: an SCMP message of this kind.
    Reply(Kind, Vec<u8>),
    /// Send this frame through the port that the packet arrived on: the packet itself, which requests an answer, but
    /// not in a way that the router understands.
    Bounce(Vec<u8>),
    /// Send this frame through the port that the packet arrived on: the answer to a STUN binding request.
    Stun(Vec<u8>),
    /// Process this frame as if it had been received.
    Process {
        /// The whole frame.
        frame: Vec<u8>,
        /// The UDP port of the host to deliver to; 0 if the program can determine it.
        l4_port: u16,
    },
    /// Drop the packet.
    Drop(Silence),
}

/// The reason why a packet is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Silence {
    /// The slow path does not handle packets punted for this reason.
    NotOurs,
    /// The rate limit is exceeded.
    Limited,
    /// The packet cannot be parsed.
    Malformed,
    /// The UDP checksum is wrong, so nothing in the packet can be trusted, least of all the sender's address.
    BadChecksum,
    /// SCMP errors are not answered.
    ScmpError,
    /// The path cannot be reversed, or there is no route to the sender.
    NoReturnPath,
    /// The underlay addresses cannot belong to a sender that may be answered (RFC 1122, 3.2.1.3).
    BadSource,
    /// An error message for a host quotes a packet without the host's port.
    NoPort,
}

impl Silence {
    /// The name for logs and metrics.
    pub fn label(self) -> &'static str {
        match self {
            Silence::NotOurs => "not_ours",
            Silence::Limited => "limited",
            Silence::Malformed => "malformed",
            Silence::ScmpError => "scmp_error",
            Silence::BadChecksum => "bad_checksum",
            Silence::NoReturnPath => "no_return_path",
            Silence::BadSource => "bad_source",
            Silence::NoPort => "no_port",
        }
    }
}

/// The router that answers, and its settings.
#[derive(Clone, Copy, Debug)]
pub struct Router<'a> {
    /// AS, addresses and interfaces.
    pub links: &'a Links,
    /// The keys to authenticate errors with, and replies to authenticated traceroute requests. `None`: neither is.
    pub keys: Option<&'a ScmpKeys>,
    /// The AS's secret value for reservations, by which hop fields become those of the way back.
    pub secret_value: Option<&'a HopKey>,
}

/// Returns what to do about a packet that arrived at the CPU port as `frame`, behind `header`. `now_us` is in
/// microseconds since 1970.
pub fn answer(frame: &[u8], header: &PacketIn, router: &Router<'_>, now_us: u64) -> Outcome {
    let Some(reason) = Reason::from_number(header.reason).filter(|reason| is_ours(*reason)) else {
        return Outcome::Drop(Silence::NotOurs);
    };
    let Some(underlay) = Underlay::parse(frame) else { return Outcome::Drop(Silence::Malformed) };
    if !underlay.has_good_checksum() {
        return Outcome::Drop(Silence::BadChecksum);
    }
    let result = match reason {
        Reason::IpOptions => without_options(frame, &underlay),
        Reason::NoUdpChecksum => with_checksum(frame, &underlay),
        Reason::ScmpError => deliver_error(frame, &underlay),
        Reason::Stun => stun_response(&underlay, header, router.links),
        _ => reply(reason, &underlay, header, router, now_us),
    };
    result.unwrap_or_else(Outcome::Drop)
}

/// Whether this module handles packets punted for this reason.
pub(super) fn is_ours(reason: Reason) -> bool {
    reason.is_punt() && !matches!(reason, Reason::Bfd | Reason::NextHopUnresolved)
}

/// The packet as the reference has modified it when it detects the fault, and its path.
struct Checked {
    bytes: Vec<u8>,
    view: View,
    path: ScionPath,
    /// The whole path as it came, if it is one of type Hummingbird.
    hummingbird: Option<HummingbirdPath>,
}

impl Checked {
    /// Applies the modifications that precede the failed check.
    fn new(reason: Reason, underlay: &Underlay<'_>, header: &PacketIn) -> Result<Checked, Silence> {
        let mut bytes = underlay.payload().to_vec();
        let view = View::parse(&bytes).ok_or(Silence::Malformed)?;
        if bytes[8] == HUMMINGBIRD_PATH {
            return Checked::hummingbird(reason, bytes, view, header);
        }
        let mut path = ScionPath::parse(&bytes[view.path.clone()]).ok_or(Silence::Malformed)?;
        let peering = path.is_peering().ok_or(Silence::Malformed)?;
        let start = view.path.start;

        // Against construction direction, the router at a segment's entry removes its hop from the chain of MACs before
        // it checks the MAC.
        let entered = match reason {
            Reason::UnknownIngress
            | Reason::InvalidPacketSize
            | Reason::InvalidSourceIa
            | Reason::InvalidDestinationIa
            | Reason::InvalidSourceHost => false,
            Reason::PathExpired => header.at_next_hop,
            _ => true,
        };
        if entered && header.ingress != 0 && !path.info().cons_dir && !peering {
            path.chain();
            let info = start + META + INFO * usize::from(path.curr_inf);
            bytes[info] &= 3;
            bytes[info + 1] = 0;
            bytes[info + 2..info + 4].copy_from_slice(&path.info().seg_id.to_be_bytes());
        }
        if header.at_next_hop {
            path.advance().ok_or(Silence::Malformed)?;
        }
        if let Some(flag) = alert(reason, path.info().cons_dir) {
            let (_, hop) = path.current();
            (hop.ingress_alert, hop.egress_alert) = (hop.ingress_alert && flag != 2, hop.egress_alert && flag != 1);
            let hop = start + META + INFO * path.segments.len() + HOP * usize::from(path.curr_hf);
            bytes[hop] &= 3 ^ flag;
        }
        bytes[start] = path.curr_inf << 6 | path.curr_hf;
        bytes[start + 1] &= 3;
        Ok(Checked { bytes, view, path, hummingbird: None })
    }

    /// A packet with a path of type Hummingbird is quoted as it came: what the reference has changed by then depends on its order of
    /// computing, and is no fact that a host could use. SegID in particular stays, which is what the way back needs.
    fn hummingbird(reason: Reason, mut bytes: Vec<u8>, view: View, header: &PacketIn) -> Result<Checked, Silence> {
        let whole = HummingbirdPath::parse(&bytes[view.path_header.clone()]).ok_or(Silence::Malformed)?;
        let mut path = whole.path.clone();
        path.is_peering().ok_or(Silence::Malformed)?;
        if header.at_next_hop {
            path.advance().ok_or(Silence::Malformed)?;
        }
        let flag = alert(reason, path.info().cons_dir);
        let mut checked = Checked { bytes: Vec::new(), view, path, hummingbird: Some(whole) };
        if let Some(flag) = flag {
            bytes[checked.hop_pointer()] &= !flag;
            let (_, hop) = checked.path.current();
            (hop.ingress_alert, hop.egress_alert) = (hop.ingress_alert && flag != 2, hop.egress_alert && flag != 1);
        }
        checked.bytes = bytes;
        Ok(checked)
    }

    /// Returns an offset as an error's pointer counts it. The reference counts as if the path were of type SCION.
    fn hop_pointer(&self) -> usize {
        if let Some(whole) = &self.hummingbird {
            let hops = self.view.path_header.start + HummingbirdPath::META + INFO * self.path.segments.len();
            return hops + 4 * whole.word_of(self.path.curr_hf.into());
        }
        self.view.path_header.start + META + INFO * self.path.segments.len() + HOP * usize::from(self.path.curr_hf)
    }

    fn info_pointer(&self) -> usize {
        let meta = if self.hummingbird.is_some() { HummingbirdPath::META } else { META };
        self.view.path_header.start + meta + INFO * usize::from(self.path.curr_inf)
    }

    /// Returns the error message, or the answer to a request. `None` if the request is not a valid one.
    fn message(&self, reason: Reason, header: &PacketIn, links: &Links) -> Result<Option<Message>, Silence> {
        let cons_dir = self.path.info().cons_dir;
        let problem = Message::parameter_problem;
        let at_hop = |code| problem(code, self.hop_pointer());
        let external = links.interface(header.egress);
        Ok(Some(match reason {
            Reason::PathExpired => at_hop(message::PATH_EXPIRED),
            Reason::UnknownIngress if cons_dir => at_hop(message::UNKNOWN_INGRESS),
            Reason::UnknownIngress => at_hop(message::UNKNOWN_EGRESS),
            Reason::InvalidPacketSize => problem(message::INVALID_PACKET_SIZE, 0),
            Reason::InvalidSourceIa => problem(message::INVALID_SOURCE, COMMON + 8),
            Reason::InvalidDestinationIa => problem(message::INVALID_DESTINATION, COMMON),
            Reason::InvalidSourceHost => problem(message::INVALID_SOURCE, 0),
            Reason::InvalidHopMac => at_hop(message::INVALID_MAC),
            Reason::NoService => Message::destination_unreachable(),
            Reason::InvalidDestinationHost => problem(message::INVALID_DESTINATION, 0),
            // Interface 0 is the inside of the AS. For the reference it is known, but has no link type.
            Reason::UnknownEgress if header.egress == 0 && header.at_next_hop => {
                problem(message::INVALID_SEGMENT_CHANGE, self.info_pointer())
            }
            Reason::UnknownEgress if header.egress == 0 && header.ingress != 0 => at_hop(message::INVALID_PATH),
            Reason::UnknownEgress if cons_dir => at_hop(message::UNKNOWN_EGRESS),
            Reason::UnknownEgress => at_hop(message::UNKNOWN_INGRESS),
            Reason::InvalidPath => at_hop(message::INVALID_PATH),
            Reason::InvalidSegmentChange => problem(message::INVALID_SEGMENT_CHANGE, self.info_pointer()),
            Reason::InterfaceDown if external.is_some() => Message::external_interface_down(links.ia, header.egress),
            Reason::InterfaceDown => Message::internal_connectivity_down(links.ia, header.ingress, header.egress),
            Reason::PacketTooBig => {
                let mtu = external.map_or(0, |link| link.mtu).try_into().unwrap_or(u16::MAX);
                Message::packet_too_big(mtu)
            }
            Reason::IngressAlert | Reason::EgressAlert => {
                if self.view.l4 != SCMP {
                    return Ok(None);
                }
                let id = if reason == Reason::IngressAlert { header.ingress } else { header.egress };
                let request = &self.bytes[self.view.payload..];
                return Ok(Message::traceroute_reply(request, links.ia, id));
            }
            _ => return Err(Silence::NotOurs),
        }))
    }

    /// Returns the path for the answer, as the next router on the return path expects it.
    fn return_path(&self, to_outside: bool, secret_value: Option<&HopKey>) -> Result<Path, Silence> {
        let Some(whole) = &self.hummingbird else {
            return self.reversed(self.path.clone(), to_outside).map(Path::Scion);
        };
        let mut whole = whole.clone();
        if let Some(secret_value) = secret_value {
            let header = self.view.path_header.start + whole.bytes();
            let payload = word(&self.bytes, 6).unwrap_or(0);
            whole.aggregate(secret_value.bytes(), View::dst_ia(&self.bytes), payload.wrapping_add(header as u16));
        }
        let path = self.reversed(whole.path, to_outside)?;
        Ok(Path::Hummingbird(HummingbirdPath::without_flyovers(whole.sent, path)))
    }

    fn reversed(&self, path: ScionPath, to_outside: bool) -> Result<ScionPath, Silence> {
        let mut path = path.reversed();
        let peering = path.is_peering().ok_or(Silence::NoReturnPath)?;
        // If the packet has changed segments here, or should have, the return path must be in the segment it arrived
        // by.
        if path.segment_ends() && !peering {
            path.advance().ok_or(Silence::NoReturnPath)?;
        }
        if to_outside {
            if path.info().cons_dir && !peering && self.hummingbird.is_none() {
                path.chain();
            }
            path.advance().ok_or(Silence::NoReturnPath)?;
        }
        Ok(path)
    }
}

/// Returns the alert flag that the router has acted on and clears, as it is encoded in the hop field.
fn alert(reason: Reason, cons_dir: bool) -> Option<u8> {
    match (reason, cons_dir) {
        (Reason::IngressAlert, true) | (Reason::EgressAlert, false) => Some(2),
        (Reason::IngressAlert, false) | (Reason::EgressAlert, true) => Some(1),
        _ => None,
    }
}

fn reply(
    reason: Reason,
    underlay: &Underlay<'_>,
    header: &PacketIn,
    router: &Router<'_>,
    now_us: u64,
) -> Result<Outcome, Silence> {
    if !can_be_sender(underlay, header, router.links) {
        return Err(Silence::BadSource);
    }
    let checked = Checked::new(reason, underlay, header)?;
    let Some(message) = checked.message(reason, header, router.links)? else {
        return Ok(Outcome::Bounce(underlay_back(underlay, checked.bytes)));
    };
    let Checked { bytes, view, .. } = &checked;
    if view.l4 == SCMP
        && *bytes.get(view.payload).filter(|_| view.payload + 4 <= bytes.len()).ok_or(Silence::Malformed)? < 128
    {
        return Err(Silence::ScmpError);
    }
    let is_error = message.kind.is_error();
    let keys = router.keys.filter(|keys| is_error || spao::is_authentic(bytes, view, keys, now_us));

    let mut scion = Scion {
        traffic_class: bytes[0] << 4 | bytes[1] >> 4,
        flow_id: u32::from_be_bytes([0, bytes[1] & 0xf, bytes[2], bytes[3]]),
        dst_ia: View::src_ia(bytes),
        src_ia: router.links.ia,
        dst: Host::Raw(bytes[9] >> 2 & 3, bytes[view.src_host.clone()].to_vec()),
        src: Host::Ip(router.links.internal.ip()),
        path: checked.return_path(header.ingress != 0, router.secret_value)?,
        extensions: keys.iter().map(|_| (END_TO_END, spao::extension(now_us))).collect(),
        next_hdr: SCMP,
        payload: [&[message.kind.scmp_type, message.kind.code, 0, 0], message.body.as_slice()].concat(),
        extra_words: 0,
    };
    if scion.header_bytes() > LONGEST_HEADER {
        return Err(Silence::NoReturnPath);
    }
    if is_error {
        let room = LONGEST.saturating_sub(scion.pack().len());
        scion.payload.extend(&bytes[..bytes.len().min(room)]);
    }
    let checksum = scion.payload_checksum(SCMP);
    scion.payload[2..4].copy_from_slice(&checksum.to_be_bytes());
    let mut packet = scion.pack();
    if let Some(keys) = keys {
        spao::sign(&mut packet, keys, now_us).ok_or(Silence::NoReturnPath)?;
    }
    Ok(Outcome::Reply(message.kind, underlay_back(underlay, packet)))
}

/// Whether the underlay addresses are unicast addresses of two machines. Otherwise an answer might go to many hosts, to
/// none, or to the router itself.
fn can_be_sender(underlay: &Underlay<'_>, header: &PacketIn, links: &Links) -> bool {
    let Underlay { src, dst, .. } = underlay;
    let one_mac = |mac: &[u8; 6]| mac[0] & 1 == 0;
    // Loopback addresses are those of this machine, so packets from elsewhere cannot have them.
    let good_loopback = u32::from(header.port) == LOCAL_PORT || !(src.ip().is_loopback() || dst.ip().is_loopback());
    let is_own = links.internal == *src || links.external.iter().any(|link| link.underlay.local == *src);
    // To a socket on an unspecified address, the kernel does not say which address a packet came to.
    is_host(src.ip())
        && (is_host(dst.ip()) || dst.ip().is_unspecified())
        && src.port() != 0
        && good_loopback
        && !is_own
        && one_mac(&underlay.src_mac)
        && one_mac(&underlay.dst_mac)
}

/// Whether an address can belong to a single host (RFC 1122, 3.2.1.3; RFC 4291, 2.5.5 and 2.7).
fn is_host(address: IpAddr) -> bool {
    match address {
        // 0/8 is this network, 224/4 multicast, and 240/4 reserved except for broadcast.
        IpAddr::V4(ip) => ip.octets()[0] != 0 && ip.octets()[0] < 224,
        IpAddr::V6(ip) => {
            let v4_in_disguise = matches!(ip.segments(), [0, 0, 0, 0, 0, 0 | 0xffff, ..]);
            !ip.is_multicast() && (!v4_in_disguise || ip.is_loopback())
        }
    }
}

/// Builds a frame to the sender of another frame.
fn underlay_back(to: &Underlay<'_>, packet: Vec<u8>) -> Vec<u8> {
    let (dst_mac, src_mac, src, dst) = (to.src_mac, to.dst_mac, to.dst, to.src);
    Envelope { dst_mac, src_mac, src, dst, ttl: 64, tos: 0, udp_checksum: true }.around(&packet)
}

/// Tells a host behind a NAT which address its request came from.
fn stun_response(underlay: &Underlay<'_>, header: &PacketIn, links: &Links) -> Result<Outcome, Silence> {
    if !can_be_sender(underlay, header, links) {
        return Err(Silence::BadSource);
    }
    let id = stun::parse_request(underlay.payload()).ok_or(Silence::Malformed)?;
    Ok(Outcome::Stun(underlay_back(underlay, stun::response(&id, underlay.src))))
}

/// Removes IP options, which the router ignores as a socket would.
fn without_options(frame: &[u8], underlay: &Underlay<'_>) -> Result<Outcome, Silence> {
    let fragment = word(frame, ETHERNET + 6).ok_or(Silence::Malformed)? & 0x3fff != 0;
    if underlay.src.is_ipv6() || underlay.ip_header <= 20 || fragment {
        return Err(Silence::Malformed);
    }
    // The reference router's kernel checks the checksum.
    if packet::internet_checksum(&frame[ETHERNET..ETHERNET + underlay.ip_header]) != 0 {
        return Err(Silence::Malformed);
    }
    let mut out = frame[..ETHERNET + 20].to_vec();
    let ip = &mut out[ETHERNET..];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&(20 + underlay.udp.len() as u16).to_be_bytes());
    ip[10..12].fill(0);
    let checksum = packet::internet_checksum(ip);
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    out.extend(underlay.udp);
    Ok(Outcome::Process { frame: out, l4_port: 0 })
}

/// Adds a UDP checksum to a packet that arrived without one and leaves over IPv6.
fn with_checksum(frame: &[u8], underlay: &Underlay<'_>) -> Result<Outcome, Silence> {
    let mut out = frame.to_vec();
    let udp = ETHERNET + underlay.ip_header;
    let checksum = packet::udp_checksum(underlay.src.ip(), underlay.dst.ip(), underlay.udp);
    out[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
    Ok(Outcome::Process { frame: out, l4_port: 0 })
}

/// Delivers an error message to a host of the AS: the source port in the quoted packet is the host's.
fn deliver_error(frame: &[u8], underlay: &Underlay<'_>) -> Result<Outcome, Silence> {
    let packet = underlay.payload();
    let view = View::parse(packet).ok_or(Silence::Malformed)?;
    let l4_port = quoted_port(&packet[view.payload..]).ok_or(Silence::NoPort)?;
    Ok(Outcome::Process { frame: frame.to_vec(), l4_port })
}

/// Returns the source port of the packet that an SCMP error quotes.
fn quoted_port(error: &[u8]) -> Option<u16> {
    let info = match *error.first()? {
        message::DESTINATION_UNREACHABLE | message::PACKET_TOO_BIG | message::PARAMETER_PROBLEM => 4,
        message::EXTERNAL_INTERFACE_DOWN => 16,
        message::INTERNAL_CONNECTIVITY_DOWN => 24,
        _ => return None,
    };
    let quote = error.get(4 + info..)?;
    let view = View::parse(quote)?;
    if !view.path.is_empty() {
        ScionPath::parse(&quote[view.path.clone()])?;
    }
    let l4 = quote.get(view.payload..)?;
    let port = match view.l4 {
        packet::UDP if l4.len() >= 8 => word(l4, 0),
        SCMP => match *l4.first()? {
            message::ECHO_REQUEST if l4.len() >= 8 => word(l4, 4),
            message::TRACEROUTE_REQUEST if l4.len() >= 24 => word(l4, 4),
            _ => None,
        },
        _ => None,
    };
    port.filter(|port| *port != 0)
}
