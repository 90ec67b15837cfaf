//! STUN (RFC 5389): hosts behind a NAT ask a border router which address it sees, because replies to them go there.
//!
//! As the reference (v0.15, `pkg/stun`) does, the router answers binding requests that end with a FINGERPRINT, whatever
//! other attributes they have, by the XOR-MAPPED-ADDRESS alone. Input is arbitrary bytes.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use crate::scmp::limit::Bucket;

/// Bytes of a message's header (RFC 5389, 6).
const HEADER: usize = 20;
/// Type of a binding request and of its answer.
const BINDING_REQUEST: [u8; 2] = [0, 1];
const BINDING_SUCCESS: [u8; 2] = [1, 1];
/// What tells STUN from other protocols on the same port.
const MAGIC_COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// Types of attributes (RFC 5389, 18.2), and bytes of a FINGERPRINT with its type and length.
const XOR_MAPPED_ADDRESS: u16 = 0x0020;
const FINGERPRINT: u16 = 0x8028;
const FINGERPRINT_BYTES: usize = 8;
/// What a fingerprint's CRC is combined with (RFC 5389, 15.5).
const FINGERPRINT_XOR: u32 = 0x5354_554e;

/// Answers per second to one source, and at once. A host asks once in five minutes for each of its sockets; very many
/// may be behind one NAT.
const RATE: u32 = 50;
const BURST: u32 = 100;
/// Sources that are told apart. Those with the same hash share a rate.
const SOURCES: usize = 1024;

/// A binding request's transaction id.
pub type TransactionId = [u8; 12];

/// Reads a binding request. `None` if the bytes are none, a length is wrong, or the FINGERPRINT is not the last attribute
/// or not right.
pub fn parse_request(bytes: &[u8]) -> Option<TransactionId> {
    let word = |at: usize| Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if bytes.get(..2)? != BINDING_REQUEST || bytes.get(4..8)? != MAGIC_COOKIE {
        return None;
    }
    if HEADER + usize::from(word(2)?) != bytes.len() {
        return None;
    }
    let id = bytes.get(8..HEADER)?.try_into().ok()?;
    let (mut at, mut last) = (HEADER, None);
    while at < bytes.len() {
        last = Some((word(at)?, word(at + 2)?));
        // Values are padded to four bytes.
        at += 4 + usize::from(word(at + 2)?).next_multiple_of(4);
    }
    let covered = bytes.len().checked_sub(FINGERPRINT_BYTES)?;
    let fingerprint = (crc32fast::hash(&bytes[..covered]) ^ FINGERPRINT_XOR).to_be_bytes();
    let good = at == bytes.len() && last == Some((FINGERPRINT, 4)) && bytes[covered + 4..] == fingerprint;
    good.then_some(id)
}

/// A binding request as hosts send it, with a FINGERPRINT and nothing else.
pub fn request(id: &TransactionId) -> Vec<u8> {
    let mut bytes = [&BINDING_REQUEST[..], &(FINGERPRINT_BYTES as u16).to_be_bytes(), &MAGIC_COOKIE, id].concat();
    let fingerprint = crc32fast::hash(&bytes) ^ FINGERPRINT_XOR;
    bytes.extend([FINGERPRINT.to_be_bytes(), 4u16.to_be_bytes()].concat());
    bytes.extend(fingerprint.to_be_bytes());
    bytes
}

/// The answer to a request: it came from this address.
pub fn response(id: &TransactionId, from: SocketAddr) -> Vec<u8> {
    let (family, address) = match from.ip() {
        IpAddr::V4(ip) => (1, ip.octets().to_vec()),
        IpAddr::V6(ip) => (2, ip.octets().to_vec()),
    };
    let mask = MAGIC_COOKIE.iter().chain(id);
    let port = from.port() ^ u16::from_be_bytes([MAGIC_COOKIE[0], MAGIC_COOKIE[1]]);
    let value_bytes = 4 + address.len() as u16;
    let mut bytes = [&BINDING_SUCCESS[..], &(4 + value_bytes).to_be_bytes(), &MAGIC_COOKIE, id].concat();
    bytes.extend(XOR_MAPPED_ADDRESS.to_be_bytes());
    bytes.extend(value_bytes.to_be_bytes());
    bytes.extend([0, family]);
    bytes.extend(port.to_be_bytes());
    bytes.extend(address.iter().zip(mask).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// Limits the rate of answers to each source: an IPv4 address, or an IPv6 network of 64 bits.
#[derive(Debug)]
pub(crate) struct Limiter {
    hasher: RandomState,
    buckets: Box<[Option<Bucket>]>,
}

impl Limiter {
    pub(crate) fn new() -> Limiter {
        Limiter { hasher: RandomState::new(), buckets: vec![None; SOURCES].into() }
    }

    /// Whether a request from a source is answered now.
    pub(crate) fn admit(&mut self, source: IpAddr, now: Instant) -> bool {
        let network = match source {
            IpAddr::V4(ip) => u64::from(ip.to_bits()),
            IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64,
        };
        let place = self.hasher.hash_one((source.is_ipv4(), network)) as usize % SOURCES;
        self.buckets[place].get_or_insert_with(|| Bucket::full(RATE, BURST, now)).take(RATE, BURST, now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    /// RFC 5769, 2.1.
    const REQUEST: &str = "00010058 2112a442 b7e7a701 bc34d686 fa87dfae
        80220010 5354554e 20746573 7420636c 69656e74 00240004 6e0001ff 80290008 932ff9b1 51263b36
        00060009 6576746a 3a683676 59202020 00080014 9aeaa70c bfd8cb56 781ef2b5 b2d3f249 c1b571a2 80280004 e57a3bcf";
    const ID: &str = "b7e7a701 bc34d686 fa87dfae";

    #[test]
    fn the_request_of_rfc_5769() {
        let request = bytes(REQUEST);
        let id: TransactionId = bytes(ID).try_into().unwrap();
        assert_eq!(parse_request(&request), Some(id));
        for length in 0..request.len() {
            assert_eq!(parse_request(&request[..length]), None);
        }
        for bit in 0..8 * request.len() {
            let mut wrong = request.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(parse_request(&wrong), None, "bit {bit}");
        }
        assert_eq!(parse_request(&[&request[..], &[0; 4]].concat()), None);
    }

    /// XOR-MAPPED-ADDRESS as in RFC 5769, 2.2 and 2.3.
    #[test]
    fn the_addresses_of_rfc_5769() {
        let id = bytes(ID).try_into().unwrap();
        let head = |length: &str| bytes(&format!("0101 {length} 2112a442 {ID}"));
        let v4 = response(&id, "192.0.2.1:32853".parse().unwrap());
        assert_eq!(v4, [head("000c"), bytes("00200008 0001a147 e112a643")].concat());
        let v6 = response(&id, "[2001:db8:1234:5678:11:2233:4455:6677]:32853".parse().unwrap());
        let value = bytes("00200014 0002a147 0113a9fa a5d3f179 bc25f4b5 bed2b9d9");
        assert_eq!(v6, [head("0018"), value].concat());
    }

    /// A request as the reference's hosts send it (v0.15.1, `pkg/stun`, `Request`), and what its router requires.
    #[test]
    fn requests_of_the_references_hosts() {
        let message = |attributes: &[u8]| {
            let length = (attributes.len() as u16).to_be_bytes();
            [&[0, 1][..], &length, &MAGIC_COOKIE, b"transaction!", attributes].concat()
        };
        let with_fingerprint = |attributes: &[u8]| {
            let whole = message(&[attributes, &[0x80, 0x28, 0, 4, 0, 0, 0, 0]].concat());
            let crc = crc32fast::hash(&whole[..whole.len() - 8]) ^ FINGERPRINT_XOR;
            [&whole[..whole.len() - 4], &crc.to_be_bytes()].concat()
        };
        assert_eq!(with_fingerprint(&[]), bytes("00010008 2112a442 7472616e 73616374 696f6e21 80280004 a6b2150d"));
        assert_eq!(with_fingerprint(&[]), super::request(b"transaction!"));
        assert_eq!(parse_request(&with_fingerprint(&[])), Some(*b"transaction!"));
        let software = [&[0x80, 0x22, 0, 8][..], b"test1234"].concat();
        assert!(parse_request(&with_fingerprint(&software)).is_some());
        // Without, in front of another attribute, of a wrong length; an attribute that is longer than the message.
        assert_eq!(parse_request(&message(&[])), None);
        assert_eq!(parse_request(&message(&software)), None);
        assert_eq!(parse_request(&[with_fingerprint(&[]), software].concat()), None);
        assert_eq!(parse_request(&with_fingerprint(&[0x80, 0x22, 0, 80])), None);
        // An answer is no request.
        let answer = response(b"transaction!", "192.0.2.1:1".parse().unwrap());
        assert_eq!(parse_request(&answer), None);
    }

    #[test]
    fn each_source_has_its_rate() {
        let mut limiter = Limiter::new();
        let now = Instant::now();
        let source = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut admitted = |source, now| (0..1000).filter(|_| limiter.admit(source, now)).count();
        assert_eq!(admitted(source(1), now), BURST as usize);
        assert_eq!(admitted(source(1), now + Duration::from_secs(1)), RATE as usize);
        // One of a few others has another bucket.
        assert!((2..20).any(|last| admitted(source(last), now) == BURST as usize));
        let v6 = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(admitted(v6("2001:db8::1"), now) + admitted(v6("2001:db8::2"), now), BURST as usize);
    }
}
