//! Writes packet generators: applications, the packet buffer, and the ports by which packets come.
//!
//! A write that concerns an application that is enabled begins it again.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use hopwright_dataplane::{Gap, MAX_GENERATORS, Stream, StreamCounts, Trigger};

use super::ports::{small, truth};
use super::{Counting, Effects, Request, pipes};
use crate::failure::{Result, exists, invalid, not_found, unimplemented};
use crate::proto::{DataField, data_field::Value, key_field::MatchType, update::Type as Kind};
use crate::schema::fixed::generator as field;
use crate::schema::{Field, Generation};
use crate::state::{Application, Change, Generators, PIPES};
use crate::value::merged;

/// Bytes of the packet buffer, and what packets are aligned to in it.
pub(crate) const BUFFER: usize = 16 << 10;
const ALIGNMENT: u64 = 16;
/// Bytes of the header in front of a packet.
const HEADER: usize = 6;

impl Request<'_> {
    pub(super) fn application(&self) -> Result<Effects> {
        if self.kind == Kind::Delete && self.key_fields().is_empty() {
            let (pipes, mut effects) = (pipes(self.pipe)?, Effects::default());
            let there = self.state.generators.applications.keys().filter(|(_, pipe)| pipes.contains(pipe));
            effects.changes.extend(there.map(|key| Change::Application(*key, None)));
            self.begin(&mut effects, |_, pipe| pipes.contains(&pipe))?;
            return Ok(effects);
        }
        let id = self.number()? as u8;
        let generation = self.generation();
        if u32::from(id) >= generation.applications {
            return Err(invalid(format!("applications have numbers up to {}", generation.applications - 1)));
        }
        let all = &self.state.generators.applications;
        let pipes = pipes(self.pipe)?;
        let there = pipes.clone().any(|pipe| all.contains_key(&(id, pipe)));
        let mut effects = Effects::default();
        for pipe in pipes.clone() {
            let kept = match self.kind {
                Kind::Insert if there => return Err(exists(format!("there is an application {id} already"))),
                // On the device applications are always there.
                Kind::Insert | Kind::Modify | Kind::InsertOrModify => {
                    Some(self.changed(all.get(&(id, pipe)), &mut effects.counts)?)
                }
                Kind::Delete if there => None,
                Kind::Delete => return Err(not_found(format!("there is no application {id}"))),
                _ => return Err(self.unsupported()),
            };
            effects.changes.push(Change::Application((id, pipe), kept));
        }
        self.begin(&mut effects, |app, pipe| app == id && pipes.contains(&pipe))?;
        Ok(effects)
    }

    fn changed(&self, before: Option<&Application>, counted: &mut Vec<Counting>) -> Result<Application> {
        let data = self.entry.data.as_ref();
        let action_id = match data.map_or(0, |d| d.action_id) {
            0 => before.map_or(field::ONE_SHOT, |before| before.action_id),
            id if self.table.actions.iter().any(|action| action.id == id) => id,
            id => return Err(invalid(format!("`{}` has no action with id {id}", self.table.name))),
        };
        let of_action = self.table.actions.iter().filter(|a| a.id == action_id).flat_map(|a| &a.data);
        let known: Vec<Field> = of_action.chain(&self.table.data).cloned().collect();
        crate::value::Data::new(data, known.iter(), &self.table.name)?;
        let given = self.kept_of(&known)?;
        let counts = before.map(|before| before.counts.clone()).unwrap_or_default();
        let values = [field::TRIGGERS, field::BATCHES, field::PACKETS].map(|id| small(&given, id));
        counted.push(Counting::Counts(counts.clone(), values));
        let mut fields = merged(before.map(|before| &before.fields), given);
        // Those of another trigger are gone.
        fields.retain(|f| known.iter().any(|k| k.id == f.field_id));
        Ok(Application { action_id, fields, counts })
    }

    pub(super) fn generator_port(&self) -> Result<Effects> {
        let port = self.number()? as u32;
        if port >= (PIPES as u32) << 7 {
            return Err(invalid(format!("ports have numbers up to {}", (PIPES << 7) - 1)));
        }
        let before = self.state.generators.ports.get(&port);
        let mut effects = Effects::default();
        let kept = match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("port {port} is there already"))),
            (Kind::Insert | Kind::Modify | Kind::InsertOrModify, _) => {
                let mut given = self.kept()?;
                if truth(&given, field::CLEAR_PORT_DOWN) == Some(true) {
                    effects.counts.push(Counting::PortDown(self.state.generators.down.clone(), port));
                }
                given.retain(|f| f.field_id != field::CLEAR_PORT_DOWN);
                Some(merged(before, given))
            }
            (Kind::Delete, _) => before.ok_or_else(|| not_found(format!("there is no port {port}"))).map(|_| None)?,
            _ => return Err(self.unsupported()),
        };
        if kept.as_ref().is_some_and(|fields| truth(fields, field::PATTERNS) == Some(true)) {
            return Err(unimplemented("packets do not trigger applications: `pattern_matching_enable` is false"));
        }
        let of = |fields: Option<&Vec<_>>| fields.and_then(|fields| truth(fields, field::PORT_ENABLE)).unwrap_or(false);
        let concerns = of(before) != of(kept.as_ref());
        effects.changes.push(Change::GeneratorPort(port, kept));
        let all = &self.state.generators.applications;
        let generation = self.state.schema.generation.unwrap_or_default();
        let uses = |app, pipe| {
            let here = |local| u64::from(port) == u64::from(pipe) << 7 | local;
            concerns && all.get(&(app, pipe)).is_some_and(|app| sources(&generation, app).any(here))
        };
        self.begin(&mut effects, uses)?;
        Ok(effects)
    }

    pub(super) fn packet_buffer(&self) -> Result<Effects> {
        let (offset, size) = place(self.table, self.key_fields())?;
        let bytes = match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => {
                self.data()?;
                let given = self.entry.data.iter().flat_map(|data| &data.fields).find_map(|f| f.value.as_ref());
                let bytes: Vec<u8> = match given {
                    Some(Value::Stream(bytes)) => bytes.to_vec(),
                    Some(Value::IntArrVal(list)) => list.val.iter().map(|byte| *byte as u8).collect(),
                    _ => return Err(invalid("`buffer` is missing, or not bytes")),
                };
                if bytes.len() != size {
                    return Err(invalid(format!("`buffer` has {} bytes, not {size}", bytes.len())));
                }
                bytes
            }
            Kind::Delete => vec![0; size],
            _ => return Err(self.unsupported()),
        };
        let pipes = pipes(self.pipe)?;
        let mut effects = Effects::default();
        for pipe in pipes.clone() {
            let mut buffer = self.state.generators.buffers[usize::from(pipe)].to_vec();
            buffer.resize(BUFFER, 0);
            buffer[offset..offset + size].copy_from_slice(&bytes);
            effects.changes.push(Change::PacketBuffer(pipe, buffer.into()));
        }
        self.begin(&mut effects, |_, pipe| pipes.contains(&pipe))?;
        Ok(effects)
    }

    /// Begins the generators of some applications in some pipes, or ends them, as its changes say.
    fn begin(&self, effects: &mut Effects, concerns: impl Fn(u8, u8) -> bool) -> Result<()> {
        let generation = self.generation();
        let mut next = self.state.generators.clone();
        effects.changes.iter().for_each(|change| next.apply(change));
        for app in 0..generation.applications as u8 {
            for pipe in (0..PIPES as u8).filter(|pipe| concerns(app, *pipe)) {
                let stream = match next.applications.get(&(app, pipe)) {
                    Some(found) if truth(&found.fields, field::ENABLE) == Some(true) => {
                        stream(&generation, &next, found, app, pipe)?
                    }
                    _ => None,
                };
                effects.generators.insert(app * PIPES as u8 + pipe, stream.map(Box::new));
            }
        }
        Ok(())
    }

    fn generation(&self) -> Generation {
        // Only programs with packet generators have these tables.
        self.state.schema.generation.unwrap_or_default()
    }
}

/// The offset and the size in a key of the packet buffer.
pub(crate) fn place(table: &crate::schema::Table, fields: &[crate::proto::KeyField]) -> Result<(usize, usize)> {
    let number = |at: usize| {
        let key = &table.keys[at];
        match fields.iter().find(|field| field.field_id == key.id).and_then(|field| field.match_type.as_ref()) {
            Some(MatchType::Exact(m)) => crate::value::small(&key.name, key.ty.bits(), &m.value),
            _ => Err(invalid(format!("`{}` is missing", key.name))),
        }
    };
    let (offset, size) = (number(0)?, number(1)?);
    if offset % ALIGNMENT != 0 {
        return Err(invalid(format!("`pkt_buffer_offset` is a multiple of {ALIGNMENT}")));
    }
    if offset + size > BUFFER as u64 {
        return Err(invalid(format!("the packet buffer has {BUFFER} bytes")));
    }
    Ok((offset as usize, size as usize))
}

/// The port of the packet generator of a Tofino's pipe.
const GENERATOR_PORT: u64 = 68;

const _: () = assert!(16 * PIPES <= MAX_GENERATORS);

/// The ports of a pipe of which one is enabled for an application: that by which its packets come, and the generator's.
fn sources(generation: &Generation, app: &Application) -> impl Iterator<Item = u64> {
    let own = match generation.device {
        "tf1" => Some(GENERATOR_PORT),
        _ => small(&app.fields, field::CHANNEL),
    };
    small(&app.fields, field::LOCAL_PORT).or(own.is_none().then_some(0)).into_iter().chain(own)
}

/// What an application makes in a pipe: nothing if its port there is not enabled.
fn stream(generation: &Generation, all: &Generators, app: &Application, id: u8, pipe: u8) -> Result<Option<Stream>> {
    let number = |id| small(&app.fields, id).unwrap_or(0);
    let local = number(field::LOCAL_PORT);
    if local > 0x7f {
        return Err(invalid("`pipe_local_source_port` has seven bits"));
    }
    if truth(&app.fields, field::INCREMENT) == Some(true) {
        return Err(unimplemented("all packets come by one port: `increment_source_port` is false"));
    }
    let (offset, length) = (number(field::OFFSET), number(field::LENGTH));
    if offset + length > BUFFER as u64 {
        return Err(invalid(format!("the packet buffer has {BUFFER} bytes")));
    }
    let ingress_port = u32::from(pipe) << 7 | local as u32;
    let enabled = |port: u64| {
        let port = u32::from(pipe) << 7 | port as u32;
        all.ports.get(&port).and_then(|fields| truth(fields, field::PORT_ENABLE)) == Some(true)
    };
    if !sources(generation, app).any(enabled) {
        return Ok(None);
    }
    let mut packet = vec![0; HEADER + length as usize];
    packet[0] = pipe << generation.application_bits | id;
    for (to, from) in packet[HEADER..].iter_mut().zip(all.buffers[usize::from(pipe)].iter().skip(offset as usize)) {
        *to = *from;
    }
    let gap = |least, jitter| Gap {
        least: Duration::from_nanos(number(least)),
        jitter: Duration::from_nanos(number(jitter)),
    };
    Ok(Some(Stream {
        ingress_port,
        packet: packet.into(),
        numbers: [2, 4],
        trigger: match app.action_id {
            field::PORT_DOWN => {
                Trigger::PortDown { ports: u32::from(pipe) << 7..u32::from(pipe + 1) << 7, down: all.down.clone() }
            }
            action => Trigger::Timer {
                delay: Duration::from_nanos(number(field::TIMER)),
                periodic: action == field::PERIODIC,
            },
        },
        batches: number(field::BATCH_COUNT) as u32 + 1,
        packets: number(field::PACKET_COUNT) as u32 + 1,
        batch_gap: gap(field::BATCH_GAP, field::BATCH_JITTER),
        packet_gap: gap(field::PACKET_GAP, field::PACKET_JITTER),
        counts: Arc::clone(&app.counts),
    }))
}

/// The bytes of a packet buffer at a place.
pub(crate) fn buffered(buffer: &[u8], offset: usize, size: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = buffer.iter().skip(offset).take(size).copied().collect();
    bytes.resize(size, 0);
    bytes
}

/// An application's data in the first of some pipes, with what it has made in all of them.
pub(crate) fn data_of(pipes: &[&Application]) -> Vec<DataField> {
    use std::sync::atomic::Ordering::Relaxed;
    let mut fields = pipes.first().map(|app| app.fields.clone()).unwrap_or_default();
    fields.retain(|f| ![field::TRIGGERS, field::BATCHES, field::PACKETS].contains(&f.field_id));
    let sum = |count: fn(&StreamCounts) -> &AtomicU64| {
        pipes.iter().fold(0u64, |sum, app| sum.wrapping_add(count(&app.counts).load(Relaxed)))
    };
    let counted = [
        (field::BATCHES, sum(|counts| &counts.batches)),
        (field::PACKETS, sum(|counts| &counts.packets)),
        (field::TRIGGERS, sum(|counts| &counts.triggers)),
    ];
    let ty = crate::schema::Ty::Uint(64);
    fields.extend(counted.map(|(id, count)| crate::value::numeric(id, ty, &count.into())));
    fields.sort_by_key(|f| f.field_id);
    fields
}
