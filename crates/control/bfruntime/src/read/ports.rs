//! Reads ports: those that a controller has added, what they count, and what the device's are called.

use super::{Found, Read, data_field, numeric, of_fields, word};
use crate::failure::{Result, invalid};
use crate::proto::{self, data_field::Value, key_field as wire};
use crate::schema::connectors::Connectors;
use crate::schema::{Key, PortNaming, Ty, fixed};
use crate::value::{bytes, merged, number};
use crate::write::{has_link, key_fields};

impl Read<'_> {
    /// What the ports count, without what a controller has cleared.
    pub(super) fn port_counts(&self) -> Result<Vec<Found>> {
        let wanted = self.number()?;
        let ports = self.device.tenant().port_stats().into_iter();
        let shown = ports.filter(|p| wanted.is_none_or(|w| w == u64::from(p.number)));
        Ok(shown
            .map(|p| {
                let cleared = self.state.port_counts.get(&p.number);
                let counts = fixed::COUNTS.iter().map(|(id, _, count)| {
                    let before = cleared.and_then(|cleared| cleared.get(id)).copied().unwrap_or(0);
                    numeric(*id, Ty::Uint(64), &count(&p).wrapping_sub(before).into())
                });
                let data = counts.collect();
                (self.number_key(u64::from(p.number)), of_fields(data))
            })
            .collect())
    }

    /// The ports that a controller has added, with what was written to them.
    pub(super) fn ports(&self) -> Result<Vec<Found>> {
        use fixed::port;
        let wanted = self.number()?;
        let tenant = self.device.tenant();
        let attached = tenant.ports();
        let connectors = Connectors::of(self.state.schema.generation);
        let shown = self.state.ports.iter().filter(|(number, _)| wanted.is_none_or(|w| w == u64::from(**number)));
        Ok(shown
            .map(|(number, settings)| {
                let link = attached.iter().find(|p| p.number == *number).map(|p| p.info.up.unwrap_or(true));
                let (connector, channel) = connectors.of_port(*number).unwrap_or_default();
                let known = vec![
                    data_field(port::VALID, Value::BoolVal(true)),
                    data_field(port::INTERNAL, Value::BoolVal(false)),
                    word(port::CONNECTOR, connector),
                    word(port::CHANNEL, channel),
                    data_field(port::UP, Value::BoolVal(has_link(Some(settings), link))),
                    data_field(port::NAME, Value::StrVal(connectors.name(*number))),
                ];
                let written = merged(Some(&fixed::port_defaults()), settings.clone());
                (self.number_key(u64::from(*number)), of_fields(merged(Some(&written), known)))
            })
            .collect())
    }

    /// Which port of the device is called what.
    pub(super) fn port_names(&self, by: PortNaming) -> Result<Vec<Found>> {
        let connectors = Connectors::of(self.state.schema.generation);
        let asked = self.exact_key()?;
        let all = connectors.ports().map(|port| (self.named(connectors, by, port), port));
        let shown = all.filter(|(key, _)| asked.as_ref().is_none_or(|asked| asked == key));
        Ok(shown.map(|(key, port)| (key, of_fields(vec![word(fixed::LIST, port)]))).collect())
    }

    /// The key of a port among these.
    fn named(&self, connectors: Connectors, by: PortNaming, port: u32) -> Vec<proto::KeyField> {
        let (connector, channel) = connectors.of_port(port).unwrap_or_default();
        let word = |number: u32| bytes(&number.into(), 32);
        let values = match by {
            PortNaming::Connector => vec![word(connector), word(channel)],
            PortNaming::Front => vec![word(port)],
            PortNaming::Name => vec![connectors.name(port).into_bytes()],
        };
        self.table.keys.iter().zip(values).map(|(key, value)| exact(key, value)).collect()
    }

    /// The request's key, if it has one, with numbers as they are answered.
    fn exact_key(&self) -> Result<Option<Vec<proto::KeyField>>> {
        let given = key_fields(self.request);
        if given.is_empty() {
            return Ok(None);
        }
        if let Some(unknown) = given.iter().find(|f| self.table.keys.iter().all(|key| key.id != f.field_id)) {
            return Err(invalid(format!("`{}` has no key field {}", self.table.name, unknown.field_id)));
        }
        let fields = self.table.keys.iter().map(|key| {
            let mut of_key = given.iter().filter(|f| f.field_id == key.id);
            let (one, another) = (of_key.next(), of_key.next());
            match (one.and_then(|f| f.match_type.as_ref()), another) {
                (Some(wire::MatchType::Exact(exact_match)), None) => Ok(exact(key, value(key, &exact_match.value)?)),
                _ => Err(invalid(format!("`{}`: there is one exact value of `{}`", self.table.name, key.name))),
            }
        });
        fields.collect::<Result<_>>().map(Some)
    }
}

/// A value of a key as it is answered.
fn value(key: &Key, given: &[u8]) -> Result<Vec<u8>> {
    match key.ty {
        Ty::Text(_) => Ok(given.to_vec()),
        ty => Ok(bytes(&number(&key.name, ty.bits(), given)?, ty.bits())),
    }
}

fn exact(key: &Key, value: Vec<u8>) -> proto::KeyField {
    proto::KeyField { field_id: key.id, match_type: Some(wire::MatchType::Exact(wire::Exact { value })) }
}
