//! Frames of captures as people read them, and a dissector for Wireshark. Both use the codecs' own tables.

use std::fmt::Write;

use crate::cdap::{self, Message};
use crate::credential;
use crate::frames::{self, Received};
use crate::neighbour::Mac;
use crate::pdu::{self, Field, Header, Syntax, kind};
use crate::plain::arp;
use crate::{irati, rlite};

mod dissector;

pub use dissector::dissector;

/// The syntax of a PDU whose DIF is not known, and whether a TTL is in front of it.
fn guess(bytes: &[u8]) -> Option<(Syntax, bool)> {
    let fits = |syntax: Syntax, skipped: usize| {
        let rest = bytes.get(skipped..)?;
        let (header, _) = syntax.parse(rest).ok()?;
        (pdu::type_name(syntax, header.kind).is_some()).then_some((syntax, skipped > 0))
    };
    fits(Syntax::Checksum, 0)
        .or_else(|| fits(Syntax::Irati, 0))
        .or_else(|| fits(Syntax::Rlite, 0))
        .or_else(|| fits(Syntax::Irati, 1))
}

/// A line about an Ethernet frame. None if RINA is not in it.
pub fn describe(frame: &[u8]) -> Option<String> {
    let Received { from, vlan, shim, pdu, arp } = frames::parse(frame)?;
    let to: Mac = *frame.first_chunk()?;
    let mut line = format!("{} > {}", station(from), station(to));
    if vlan != 0 {
        let _ = write!(line, " vlan {vlan}");
    }
    if arp {
        let arp = arp::Arp::parse(pdu)?;
        let _ = match arp.operation {
            arp::Operation::Request => write!(line, " ARP {} asks for {}", arp.sender.1, arp.target.1),
            arp::Operation::Reply => write!(line, " ARP {} is at {}", arp.sender.1, station(arp.sender.0)),
        };
        return Some(line);
    }
    let Some((syntax, ttl)) = guess(pdu) else {
        // Other datagrams are none of ours.
        return shim.is_none().then(|| line + " not a PDU of a known syntax");
    };
    let (header, payload) = syntax.parse(&pdu[usize::from(ttl)..]).ok()?;
    let _ = write!(
        line,
        " {syntax} {} {} > {} cep {} > {} qos {}",
        pdu::type_name(syntax, header.kind)?,
        header.src,
        header.dst,
        header.src_cep,
        header.dst_cep,
        header.qos_id
    );
    if header.passed != 0 {
        let _ = write!(line, " passed {}", header.passed);
    }
    match header.kind {
        kind::MANAGEMENT => line.push_str(&management(syntax, payload)),
        _ => line.push_str(&transfer(&header, payload)),
    }
    Some(line)
}

fn transfer(header: &Header, payload: &[u8]) -> String {
    let mut text = format!(" number {}", header.sequence);
    for (bit, name) in pdu::FLAGS {
        if header.flags & bit != 0 {
            let _ = write!(text, " {name}");
        }
    }
    let _ = write!(text, ", {} bytes", payload.len());
    text
}

fn management(syntax: Syntax, payload: &[u8]) -> String {
    let protected = credential::is_protected(payload) && syntax != Syntax::Rlite;
    if protected && credential::is_sealed(payload) {
        return format!(" {} bytes (encrypted)", payload.len());
    }
    let message = match syntax {
        Syntax::Rlite => rlite::read(payload),
        _ if protected => payload.get(credential::OVERHEAD..).and_then(|message| Message::parse(message).ok()),
        Syntax::Irati => irati::read(payload).or_else(|| Message::parse(payload).ok()),
        _ => Message::parse(payload).ok(),
    };
    let Some(message) = message else { return format!(", {} bytes that are no CDAP message", payload.len()) };
    let mut text = format!(" {}", cdap::operation_name(message.op_code).unwrap_or("unknown operation"));
    for part in [message.obj_class.as_deref(), message.obj_name.as_deref()].into_iter().flatten() {
        let _ = write!(text, " {}", printable(part));
    }
    if let Some(result) = message.result {
        let _ = write!(text, " result {result}");
    }
    if protected {
        text.push_str(" (protected)");
    }
    text
}

fn printable(text: &str) -> String {
    text.chars().take(200).flat_map(char::escape_default).collect()
}

fn station(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The name of a field in the dissector.
fn field_name(field: Field) -> &'static str {
    match field {
        Field::Version => "version",
        Field::Destination => "dst",
        Field::Source => "src",
        Field::QosId => "qos_id",
        Field::DestinationCep => "dst_cep",
        Field::SourceCep => "src_cep",
        Field::Type => "type",
        Field::Flags => "flags",
        Field::Length => "length",
        Field::Sequence => "sequence",
        Field::Checksum => "checksum",
        Field::Ttl => "ttl",
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::cdap::{object, op};
    use crate::frames::Carries;

    fn frame(syntax: Syntax, header: &Header, payload: &[u8], ttl: bool) -> Vec<u8> {
        let mut pdu = if ttl { vec![64] } else { Vec::new() };
        syntax.write(header, payload, &mut pdu);
        let mut frame = Vec::new();
        frames::write([2; 6], [4; 6], 7, Carries::Pdu, &pdu, &mut frame);
        frame
    }

    #[test]
    fn each_syntax_is_recognised() {
        let header = Header {
            dst: 1,
            src: 2,
            qos_id: 3,
            dst_cep: 4,
            src_cep: 5,
            kind: kind::DATA,
            flags: 1,
            sequence: 6,
            passed: 0,
        };
        for (syntax, ttl, name) in [
            (Syntax::Checksum, false, "checksum"),
            (Syntax::Irati, false, "irati"),
            (Syntax::Irati, true, "irati"),
            (Syntax::Rlite, false, "rlite"),
        ] {
            let line = describe(&frame(syntax, &header, b"data", ttl)).unwrap();
            let wanted = format!(
                "04:04:04:04:04:04 > 02:02:02:02:02:02 vlan 7 {name} DATA 2 > 1 cep 5 > 4 qos 3 number 6 congestion, 4 bytes"
            );
            assert_eq!(line, wanted);
        }
        let line = describe(&frame(Syntax::Checksum, &Header { passed: 9, ..header }, b"data", false)).unwrap();
        assert!(line.ends_with("qos 3 passed 9 number 6 congestion, 4 bytes"), "{line}");
        let message = Message::about(op::READ, object::KEEPALIVE, object::KEEPALIVE_NAME).encode_to_vec();
        let header = Header { kind: kind::MANAGEMENT, ..Header::default() };
        let line = describe(&frame(Syntax::Checksum, &header, &message, false)).unwrap();
        assert!(line.ends_with("M_READ keepalive /mgmt/keepalive"), "{line}");
        let protected = [&[1][..], &[0; 24], &message].concat();
        let line = describe(&frame(Syntax::Checksum, &header, &protected, false)).unwrap();
        assert!(line.ends_with("M_READ keepalive /mgmt/keepalive (protected)"), "{line}");
        for cut in 0..60 {
            describe(&frame(Syntax::Checksum, &header, &protected, false)[..cut]);
        }
        assert_eq!(describe(&[0; 60]), None);
    }

    #[test]
    fn the_dissector_has_every_field() {
        let lua = dissector();
        for syntax in [Syntax::Checksum, Syntax::Irati, Syntax::Rlite] {
            let fields: Vec<String> = syntax
                .layout()
                .fields
                .iter()
                .map(|(field, bytes)| format!("{{\"{}\", {bytes}}}", field_name(*field)))
                .collect();
            assert!(lua.contains(&fields.join(", ")), "{syntax}");
        }
        assert!(lua.contains("local PASSED = 0x78\nlocal OPERATIONS = {["));
        assert!(lua.contains("[12] = \"M_WRITE\"") && lua.contains("[5] = {\"obj_class\", \"string\"}"));
    }
}
