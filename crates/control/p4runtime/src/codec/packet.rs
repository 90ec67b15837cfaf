//! Packets to and from controllers: converts the program's controller headers to metadata and back.

use ::bytes::Bytes;
use hopwright_control::{Translate, Translated, bad_number, bytes, listing};
use hopwright_ir::bits;
use num_bigint::BigUint;

use super::Encode;
use crate::failure::{Result, invalid};
use crate::proto::v1;
use crate::schema::{Metadata, Schema};

impl Encode<'_> {
    /// Converts a packet that the program sent to the CPU port. `None` if it is shorter than its header.
    pub(crate) fn packet_in(&self, schema: &Schema, packet: &[u8]) -> Option<v1::PacketIn> {
        let (metadata, payload) = self.split(&schema.packet_in, schema.packet_in_bytes, packet)?;
        Some(v1::PacketIn { payload, metadata })
    }

    /// Converts a packet with the header that the program receives from the CPU port, for a switch elsewhere. `None` if it is shorter.
    pub(crate) fn packet_out(&self, schema: &Schema, packet: &[u8]) -> Option<v1::PacketOut> {
        let (metadata, payload) = self.split(&schema.packet_out, schema.packet_out_bytes, packet)?;
        Some(v1::PacketOut { payload, metadata })
    }

    /// Takes a controller header off a packet.
    fn split(&self, fields: &[Metadata], size: usize, packet: &[u8]) -> Option<(Vec<v1::PacketMetadata>, Bytes)> {
        let (header, payload) = packet.split_at_checked(size)?;
        let header = BigUint::from_bytes_be(header);
        let one = |m: &Metadata| {
            let value = (&header >> m.below) & bits::mask(m.width);
            v1::PacketMetadata { metadata_id: m.id, value: self.value(m.translated, &value) }
        };
        Some((fields.iter().map(one).collect(), Bytes::copy_from_slice(payload)))
    }
}

/// The bytes that the program receives for a controller's packet.
///
/// # Errors
/// If the metadata differ from what the program declares.
pub(crate) fn packet_out(schema: &Schema, translate: &mut Translate<'_>, packet: &v1::PacketOut) -> Result<Vec<u8>> {
    let header = (schema.packet_out.as_slice(), schema.packet_out_bytes);
    join("packet-out", header, translate, &packet.metadata, &packet.payload)
}

/// The bytes that the program of a switch elsewhere sent to its CPU port.
///
/// # Errors
/// If the metadata differ from what the program declares.
pub(crate) fn packet_in(schema: &Schema, translate: &mut Translate<'_>, packet: &v1::PacketIn) -> Result<Vec<u8>> {
    let header = (schema.packet_in.as_slice(), schema.packet_in_bytes);
    join("packet-in", header, translate, &packet.metadata, &packet.payload)
}

/// Puts a controller header, of these fields and this many bytes, before a packet.
fn join(
    what: &str,
    (fields, size): (&[Metadata], usize),
    translate: &mut Translate<'_>,
    metadata: &[v1::PacketMetadata],
    payload: &[u8],
) -> Result<Vec<u8>> {
    let mut header = BigUint::ZERO;
    let mut seen = 0;
    for m in fields {
        let mut request = metadata.iter().filter(|request| request.metadata_id == m.id);
        match (request.next(), request.next()) {
            (Some(request), None) => {
                let value = match m.translated {
                    Some(ty) => translate(Translated { ty, whole: true, name: &m.name }, &request.value)?,
                    None => bytes::number(&request.value, m.width).map_err(|e| bad_number(&m.name, m.width, e))?,
                };
                header |= value << m.below;
                seen += 1;
            }
            (Some(_), Some(_)) => return Err(invalid(format!("{what}: `{}` is there twice", m.name))),
            (None, _) if m.padding => {}
            (None, _) => return Err(invalid(format!("{what}: `{}` is missing", m.name))),
        }
    }
    if seen != metadata.len() {
        let known = |id| fields.iter().any(|m| m.id == id);
        let unknown = metadata.iter().map(|request| request.metadata_id).find(|id| !known(*id)).unwrap_or_default();
        let those = listing::numbered(unknown, fields.iter().map(|m| (m.id, m.name.as_str())));
        return Err(invalid(format!("{what}: the program does not declare metadata {unknown}{those}")));
    }
    let digits = header.to_bytes_be();
    let mut out = vec![0; size];
    let start = out.len().saturating_sub(digits.len());
    if !out.is_empty() {
        out[start..].copy_from_slice(&digits);
    }
    out.extend_from_slice(payload);
    Ok(out)
}
