//! Packets to and from controllers: converts the program's controller headers to metadata and back.

use ::bytes::Bytes;
use hopwright_control::{Translate, Translated, bad_number, bytes, listing};
use hopwright_ir::bits;
use num_bigint::BigUint;

use super::Encode;
use crate::failure::{Result, invalid};
use crate::proto::v1;
use crate::schema::Schema;

impl Encode<'_> {
    /// Converts a packet that the program sent to the CPU port. `None` if it is shorter than its header.
    pub(crate) fn packet_in(&self, schema: &Schema, packet: &[u8]) -> Option<v1::PacketIn> {
        let (header, payload) = packet.split_at_checked(schema.packet_in_bytes)?;
        let header = BigUint::from_bytes_be(header);
        let metadata = schema
            .packet_in
            .iter()
            .map(|m| {
                let value = (&header >> m.below) & bits::mask(m.width);
                v1::PacketMetadata { metadata_id: m.id, value: self.value(m.translated, &value) }
            })
            .collect();
        Some(v1::PacketIn { payload: Bytes::copy_from_slice(payload), metadata })
    }
}

/// The bytes that the program receives for a controller's packet.
///
/// # Errors
/// If the metadata differ from what the program declares.
pub(crate) fn packet_out(schema: &Schema, translate: &mut Translate<'_>, packet: &v1::PacketOut) -> Result<Vec<u8>> {
    let mut header = BigUint::ZERO;
    let mut seen = 0;
    for m in &schema.packet_out {
        let mut request = packet.metadata.iter().filter(|request| request.metadata_id == m.id);
        match (request.next(), request.next()) {
            (Some(request), None) => {
                let value = match m.translated {
                    Some(ty) => translate(Translated { ty, whole: true, name: &m.name }, &request.value)?,
                    None => bytes::number(&request.value, m.width).map_err(|e| bad_number(&m.name, m.width, e))?,
                };
                header |= value << m.below;
                seen += 1;
            }
            (Some(_), Some(_)) => return Err(invalid(format!("packet-out: `{}` is there twice", m.name))),
            (None, _) if m.padding => {}
            (None, _) => return Err(invalid(format!("packet-out: `{}` is missing", m.name))),
        }
    }
    if seen != packet.metadata.len() {
        let known = |id| schema.packet_out.iter().any(|m| m.id == id);
        let unknown =
            packet.metadata.iter().map(|request| request.metadata_id).find(|id| !known(*id)).unwrap_or_default();
        let those = listing::numbered(unknown, schema.packet_out.iter().map(|m| (m.id, m.name.as_str())));
        return Err(invalid(format!("packet-out: the program does not declare metadata {unknown}{those}")));
    }
    let digits = header.to_bytes_be();
    let mut out = vec![0; schema.packet_out_bytes];
    let start = out.len().saturating_sub(digits.len());
    if !out.is_empty() {
        out[start..].copy_from_slice(&digits);
    }
    out.extend_from_slice(&packet.payload);
    Ok(out)
}
