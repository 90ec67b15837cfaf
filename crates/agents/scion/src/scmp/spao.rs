//! The SCION packet authenticator option, which the reference router adds to SCMP messages and accepts on traceroute
//! requests: <https://docs.scion.org/en/latest/protocols/authenticator-option.html>.
//!
//! The reference router uses a stand-in for DRKey whose keys are all zero. Such an authenticator proves nothing; it is for compatibility
//! only. [`ScmpKeys`] can be the stand-in or DRKeys.

use aes::Aes128;
use cmac::{Cmac, Mac};

use super::drkey::{EPOCH_S, ScmpKeys};
use super::path::{HOP, INFO, META};
use super::view::{COMMON, View};
use crate::packet::SCMP;

/// The lifetime of keys: a day, from midnight UTC.
const EPOCH_NS: u64 = EPOCH_S * 1_000_000_000;
/// How long a key is still good after its epoch.
const GRACE_NS: u64 = 5_000_000_000;
/// The maximum difference between a message's timestamp and the clock, in either direction.
const WINDOW_NS: u64 = 150 * 1_000_000_000;

/// The algorithm's number.
const AES_CMAC: u8 = 0;
/// The type of the option.
const AUTHENTICATOR: u8 = 2;
/// The length of the fields before the tag: SPI 4, algorithm 1, reserved 1, timestamp 6 bytes.
const METADATA: usize = 12;
/// The length of an AES-CMAC tag.
const TAG: usize = 16;
/// The length of the extension header with only this option: next header, length, option type and length, data.
pub(super) const EXTENSION: usize = 4 + METADATA + TAG;

/// Security parameter index: a DRKey for protocol SCMP, between an AS and a host, sent by the side with the secret.
const SPI_TO_HOST: u32 = 1;
/// As [`SPI_TO_HOST`], sent by the host.
const SPI_FROM_HOST: u32 = SPI_TO_HOST | SPI_RECEIVER;
/// SPIs below this value refer to a DRKey.
const SPI_DRKEY_END: u32 = 1 << 21;
/// Bit of a DRKey SPI: the key is between two hosts instead of an AS and a host.
const SPI_HOST_HOST: u32 = 1 << 17;
/// Bit of a DRKey SPI: the sender is the side without the secret.
const SPI_RECEIVER: u32 = 1 << 16;

/// Returns the extension header of a message. Its tag is zero until [`sign`].
pub(super) fn extension(now_us: u64) -> Vec<u8> {
    let mut out = vec![SCMP, (EXTENSION / 4 - 1) as u8, AUTHENTICATOR, (METADATA + TAG) as u8];
    out.extend(SPI_TO_HOST.to_be_bytes());
    out.extend([AES_CMAC, 0]);
    out.extend_from_slice(&(now_us * 1000 % EPOCH_NS).to_be_bytes()[2..]);
    out.extend([0; TAG]);
    out
}

/// Writes the tag of a complete packet to a host, whose end-to-end extension came from [`extension`] at the same time.
pub(super) fn sign(packet: &mut [u8], keys: &ScmpKeys, now_us: u64) -> Option<()> {
    let view = View::parse(packet)?;
    let option = view.end_to_end.as_ref()?.start + 4;
    let host = packet.get(view.dst_host.clone())?;
    let key = keys.of_host(now_us * 1000 / EPOCH_NS, View::dst_ia(packet), packet[9] >> 4, host)?;
    let mac = mac(packet, &view, option, &key)?.finalize().into_bytes();
    packet.get_mut(option + METADATA..option + METADATA + TAG)?.copy_from_slice(&mac);
    Some(())
}

/// Whether a packet of a host has a recent and valid authenticator. If the keys are secret, the authenticator must be one of the host
/// for this AS; the reference takes any kind.
pub(super) fn is_authentic(packet: &[u8], view: &View, keys: &ScmpKeys, now_us: u64) -> bool {
    let check = || {
        let (option, length) = find_option(packet, view)?;
        let metadata = packet.get(option..option + METADATA)?;
        if keys.are_secret() && (metadata[..4] != SPI_FROM_HOST.to_be_bytes() || metadata[4] != AES_CMAC) {
            return None;
        }
        let stamp = metadata[6..].iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let host = packet.get(view.src_host.clone())?;
        let key = keys.of_host(epoch(stamp, now_us)?, View::src_ia(packet), packet[9] & 0xf, host)?;
        let tag = packet.get(option + METADATA..option + length)?;
        // Compares in constant time. Fails if the length is not that of a tag.
        mac(packet, view, option, &key)?.verify_slice(tag).ok()
    };
    check().is_some()
}

/// Returns the epoch that a timestamp is relative to: the current or an adjacent one, such that the timestamp is close to the clock.
fn epoch(stamp_ns: u64, now_us: u64) -> Option<u64> {
    let now = now_us * 1000;
    let epoch = now / EPOCH_NS;
    let is_near = |epoch: &u64| epoch.wrapping_mul(EPOCH_NS).wrapping_add(stamp_ns).abs_diff(now) <= WINDOW_NS;
    [epoch, epoch.wrapping_sub(1), epoch + 1].into_iter().filter(|_| stamp_ns <= EPOCH_NS + GRACE_NS).find(is_near)
}

/// Returns offset and length of the data of the first authenticator option. `None` if an option before it is truncated.
fn find_option(packet: &[u8], view: &View) -> Option<(usize, usize)> {
    let extension = view.end_to_end.clone()?;
    let mut at = extension.start + 2;
    let mut found = None;
    while at < extension.end {
        let kind = *packet.get(at)?;
        if kind == 0 {
            // Padding of one byte has no length field.
            at += 1;
            continue;
        }
        let length = usize::from(*packet.get(at + 1).filter(|_| at + 1 < extension.end)?);
        if at + 2 + length > extension.end {
            return None;
        }
        if kind == AUTHENTICATOR && found.is_none() {
            found = Some((at + 2, length));
        }
        at += 2 + length;
    }
    found.filter(|(_, length)| *length >= METADATA)
}

/// Computes AES-CMAC over the authenticated data: the fields that routers do not change, and the whole payload.
fn mac(packet: &[u8], view: &View, option: usize, key: &[u8; 16]) -> Option<Cmac<Aes128>> {
    let metadata = packet.get(option..option + METADATA)?;
    let payload = &packet[view.payload..];
    let spi = u32::from_be_bytes(metadata[..4].try_into().ok()?);
    let path = immutable_path(packet, view)?;

    let mut mac = <Cmac<Aes128> as Mac>::new(key.into());
    let header_words = (view.path_header.start + path.len()) / 4;
    mac.update(&[header_words as u8, view.l4]);
    mac.update(&(payload.len() as u16).to_be_bytes());
    mac.update(&[metadata[4], 0]);
    mac.update(&metadata[6..]);
    // The lowest two bits of the traffic class (congestion notification) may change. The reference masks the highest
    // two instead.
    mac.update(&[packet[0] & 0xf3, packet[1], packet[2], packet[3], packet[8], packet[9], 0, 0]);
    let drkey = spi > 0 && spi < SPI_DRKEY_END;
    if !drkey {
        mac.update(packet.get(COMMON..COMMON + 16)?);
    }
    let as_host = spi & SPI_HOST_HOST == 0;
    if !drkey || as_host && spi & SPI_RECEIVER != 0 {
        mac.update(packet.get(view.dst_host.clone())?);
    }
    if !drkey || as_host && spi & SPI_RECEIVER == 0 {
        mac.update(packet.get(view.src_host.clone())?);
    }
    mac.update(&path);
    mac.update(payload);
    Some(mac)
}

/// Returns the path header with the fields zeroed that routers change. Bytes beyond the path that HdrLen includes are
/// left out.
fn immutable_path(packet: &[u8], view: &View) -> Option<Vec<u8>> {
    let mut out = packet.get(view.path_header.clone())?.to_vec();
    let start = view.path.start - view.path_header.start;
    let path = &mut out[start..];
    if path.is_empty() {
        return Some(out);
    }
    let lengths = u32::from_be_bytes(path.get(..META)?.try_into().ok()?);
    let lengths = [12, 6, 0].map(|shift| (lengths >> shift & 0x3f) as usize);
    let segments = lengths.iter().filter(|l| **l != 0).count();
    let (hops_at, end) = (META + INFO * segments, META + INFO * segments + HOP * lengths.iter().sum::<usize>());
    path.get(..end)?;
    path[0] = 0;
    path[1] &= 3;
    for info in path[META..hops_at].chunks_exact_mut(INFO) {
        info[2..4].fill(0);
    }
    for hop in path[hops_at..end].chunks_exact_mut(HOP) {
        hop[0] = 0;
    }
    out.truncate(start + end);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::MasterKey;

    /// Computed with the reference's `spao.ComputeAuthCMAC` (v0.14.0): traffic class 0xb8, IPv4 source, IPv6
    /// destination, 5 s after midnight. SPI: to a host, from a host, between hosts, not DRKey.
    const VECTORS: [&str; 4] = [
        "0b80deadc9180035013000000001ff00000000030001ff0000000001fd000000000000000000000000000005c0a8000b01003000010001116ab13b80023f00000001010203040500003f00010002010203040501003f00020003010203040502ca07021c0000000100000001020304055585459a123ccc2ddbe3b33c5192b376043397680000003c71756f746564207061636b6574",
        "0b80deadc91d0035013000000001ff00000000030001ff0000000001fd000000000000000000000000000005c0a8000b01002080010001116ab13b80000002226ab13b80023f00000001010203040500003f00010002010203040501003f00020003010203040502003f00030004010203040503ca07021c000100010000000102030405b7a1e06491515489557651e7524b1b99043397680000003c71756f746564207061636b6574",
        "0b80deadc9150035013000000001ff00000000030001ff0000000001fd000000000000000000000000000005c0a8000b01002000010001116ab13b80023f00000001010203040500003f00010002010203040501ca07021c00030001000000010203040565c64f376bbdb3e6ee3a759f57e7e4f3043397680000003c71756f746564207061636b6574",
        "0b80deadc9150035013000000001ff00000000030001ff0000000001fd000000000000000000000000000005c0a8000b01002000010001116ab13b80023f00000001010203040500003f00010002010203040501ca07021c004000000000000102030405b72237fd8de65062e979612b5fe8279e043397680000003c71756f746564207061636b6574",
    ];
    const MIDNIGHT_US: u64 = 20_717 * 24 * 3600 * 1_000_000;
    const MADE_US: u64 = MIDNIGHT_US + 0x01_0203_0405 / 1000;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
    }

    fn authentic(packet: &[u8], now_us: u64) -> bool {
        is_authentic(packet, &View::parse(packet).unwrap(), &ScmpKeys::zero(), now_us)
    }

    #[test]
    fn tags_are_those_of_the_reference() {
        for vector in VECTORS {
            let packet = bytes(vector);
            let tag = View::parse(&packet).unwrap().end_to_end.unwrap().end - TAG;
            let mut signed = packet.clone();
            signed[tag..tag + TAG].fill(0);
            assert!(!authentic(&signed, MADE_US));
            sign(&mut signed, &ScmpKeys::zero(), MADE_US).unwrap();
            assert_eq!(signed, packet);
            assert!(authentic(&packet, MADE_US));
        }
    }

    /// Computed with the reference's `drkey`, `drkey/specific` and `spao` (v0.15.1): master key "0123456789abcdef", near AS 1-ff00:0:1,
    /// far AS 3-ff00:0:1. An error to 10.0.0.9 and fd00::9 there, and traceroute requests from these.
    const DRKEY_VECTORS: [&str; 4] = [
        "0b80deadc9150035010000000003ff00000000010001ff00000000010a000009c0a8000b01003000010001116ab0731c003f00000001010203040506003f00020003010203040507003f00040000010203040508ca07021c000000010000000102030405b8c00e1973fc55ac623eca25ae236986043397680000003c71756f746564207061636b6574",
        "0b80deadc9180035013000000003ff00000000010001ff0000000001fd000000000000000000000000000009c0a8000b01003000010001116ab0731c003f00000001010203040506003f00020003010203040507003f00040000010203040508ca07021c000000010000000102030405b7ec5661770ef9664c91452401423589043397680000003c71756f746564207061636b6574",
        "0b80deadc9150038010000000001ff00000000010003ff0000000001c0a8000b0a00000901003000010001116ab0731c003f00000001010203040506003f00020003010203040507003f00040000010203040508ca07021c000100010000000102030405b1ac4378b67ddd3e7e211846e62edb7e820097680102000700000000000000000000000000000000",
        "0b80deadc9180038010300000001ff00000000010003ff0000000001c0a8000bfd00000000000000000000000000000901003000010001116ab0731c003f00000001010203040506003f00020003010203040507003f00040000010203040508ca07021c0001000100000001020304052be13a55cb7366b11d88988a362785e8820097680102000700000000000000000000000000000000",
    ];

    fn drkeys(now_us: u64) -> ScmpKeys {
        ScmpKeys::derived(MasterKey::new(b"0123456789abcdef"), now_us)
    }

    #[test]
    fn tags_by_drkeys_are_those_of_the_reference() {
        let keys = drkeys(MADE_US);
        let [errors @ .., _, _] = DRKEY_VECTORS;
        for packet in errors.map(bytes) {
            let view = View::parse(&packet).unwrap();
            let tag = view.end_to_end.clone().unwrap().end - TAG;
            let mut signed = packet.clone();
            signed[tag..tag + TAG].fill(0);
            sign(&mut signed, &keys, MADE_US).unwrap();
            assert_eq!(signed, packet);
            // It is a message to a host, not of one.
            assert!(!is_authentic(&packet, &view, &keys, MADE_US));
        }
        let [_, _, requests @ ..] = DRKEY_VECTORS;
        for packet in requests.map(bytes) {
            let view = View::parse(&packet).unwrap();
            let at = |keys: &ScmpKeys, now_us| is_authentic(&packet, &view, keys, now_us);
            assert!(at(&keys, MADE_US) && !at(&ScmpKeys::zero(), MADE_US));
            assert!(!at(&ScmpKeys::derived(MasterKey::new(b"another key"), MADE_US), MADE_US));
            // The day before, and after, the key is that of the day that the timestamp is relative to.
            let mut keys = drkeys(MIDNIGHT_US - 60_000_000);
            assert!(at(&keys, MIDNIGHT_US - 60_000_000));
            keys.refresh(MADE_US);
            assert!(at(&keys, MADE_US));
            keys.refresh(MADE_US + 3 * 86_400_000_000);
            assert!(!at(&keys, MADE_US));
            // The host's address is part of the key.
            let mut changed = packet.clone();
            changed[view.src_host.end - 1] ^= 1;
            assert!(!is_authentic(&changed, &view, &drkeys(MADE_US), MADE_US));
        }
    }

    #[test]
    fn routers_on_the_way_change_nothing_that_counts() {
        let packet = bytes(VECTORS[0]);
        let path = View::parse(&packet).unwrap().path.start;
        for (at, counts) in [(path, false), (path + 6, false), (path + 12, false), (path + 13, true), (path + 18, true)]
        {
            let mut changed = packet.clone();
            changed[at] ^= 1;
            assert_eq!(authentic(&changed, MADE_US), !counts, "{at}");
        }
        let mut payload = packet.clone();
        *payload.last_mut().unwrap() ^= 1;
        assert!(!authentic(&payload, MADE_US));
    }

    #[test]
    fn only_now() {
        let packet = bytes(VECTORS[1]);
        let second = 1_000_000;
        assert!(authentic(&packet, MADE_US + 149 * second) && !authentic(&packet, MADE_US + 151 * second));
        // The timestamp may belong to the epoch that has just ended.
        assert!(authentic(&packet, MIDNIGHT_US - 140 * second) && !authentic(&packet, MIDNIGHT_US - 150 * second));
        let day = MIDNIGHT_US * 1000 / EPOCH_NS;
        assert_eq!(epoch(EPOCH_NS - 1, MIDNIGHT_US + second), Some(day - 1));
        assert_eq!(epoch(0, MIDNIGHT_US - second), Some(day));
        // Five seconds longer than the epoch, no more.
        assert_eq!(epoch(EPOCH_NS + GRACE_NS, MIDNIGHT_US + 6 * second), Some(day - 1));
        assert_eq!(epoch(EPOCH_NS + GRACE_NS + 1, MIDNIGHT_US + 6 * second), None);
        assert_eq!(epoch(EPOCH_NS - 1, 0), None);
    }

    #[test]
    fn an_extension_is_as_long_as_it_says() {
        let extension = extension(MIDNIGHT_US + 7);
        assert_eq!(extension.len(), EXTENSION);
        assert_eq!(extension[..8], [202, 7, 2, 28, 0, 0, 0, 1]);
        assert_eq!(extension[8..16], [0, 0, 0, 0, 0, 0, 0x1b, 0x58]);
    }

    #[test]
    fn options_of_all_lengths() {
        let packet = bytes(VECTORS[0]);
        let extension = View::parse(&packet).unwrap().end_to_end.unwrap();
        let with = |options: &[u8]| {
            let mut changed = packet[..extension.start].to_vec();
            changed.extend([SCMP, ((options.len() + 2) / 4 - 1) as u8]);
            changed.extend(options);
            changed.extend(&packet[extension.end..]);
            let view = View::parse(&changed).unwrap();
            find_option(&changed, &view).map(|(at, length)| (at - extension.start, length))
        };
        assert_eq!(with(&[0, 0]), None);
        assert_eq!(with(&[&[0, 1, 1, 9, AUTHENTICATOR, 12][..], &[0; 12]].concat()), Some((8, 12)));
        // Too short for an authenticator, truncated, or truncated after it.
        assert_eq!(with(&[&[AUTHENTICATOR, 8][..], &[0; 8]].concat()), None);
        assert_eq!(with(&[AUTHENTICATOR, 9, 0, 0, 0, 0]), None);
        assert_eq!(with(&[&[AUTHENTICATOR, 12][..], &[0; 12], &[7, 3, 0, 0]].concat()), None);
        assert_eq!(with(&[&[AUTHENTICATOR, 12][..], &[0; 12], &[0, 0, 0, 7]].concat()), None);
    }
}
