//! Writes mirror sessions and ports.

use hopwright_control::entity::{Cells, CloneSession};
use hopwright_control::{CPU_SESSION, Entity, Operation, Update};

use super::multicast::{Plan, copy};
use super::{Effects, Request, objects};
use crate::failure::{Result, exists, invalid, not_found};
use crate::proto::{DataField, data_field::Value, update::Type as Kind};
use crate::schema::connectors::Connectors;
use crate::schema::fixed::{COPY_TO_CPU, COUNTS, FORWARDS, mirror, port};
use crate::state::Change;
use crate::value::{self, merged};

/// The bit of the loopback register that says that a port leads to another one.
const LOOPBACK: u32 = 1 << 15;

impl Request<'_> {
    pub(super) fn session(&self) -> Result<Effects> {
        let id = self.number()? as u16;
        let before = self.state.sessions.get(&id);
        let missing = || not_found(format!("there is no mirror session {id}"));
        if !matches!(self.entry.data.as_ref().map_or(0, |d| d.action_id), 0 | mirror::NORMAL) {
            return Err(invalid("mirror sessions are of the kind `$normal`"));
        }
        match (self.kind, before) {
            (Kind::Insert, Some(_)) => return Err(exists(format!("there is a mirror session {id} already"))),
            (Kind::Insert | Kind::InsertOrModify, None) => {}
            (Kind::Modify | Kind::InsertOrModify, _) => drop(before.ok_or_else(missing)?),
            (Kind::Delete, _) => {
                let enabled = self.enabled(before.ok_or_else(missing)?)?;
                let updates = enabled.then(|| session(Operation::Delete, u32::from(id), Vec::new(), 0));
                return Ok(Effects::new(updates.into_iter().collect(), vec![Change::Session(id, None)]));
            }
            _ => return Err(self.unsupported()),
        }
        let fields = merged(before, self.kept()?);
        let (was, is) = (before.map(|b| self.enabled(b)).transpose()?.unwrap_or(false), self.enabled(&fields)?);
        let kind = match (was, is) {
            (false, true) => Some(Operation::Insert),
            (true, true) => Some(Operation::Modify),
            (true, false) => Some(Operation::Delete),
            (false, false) => None,
        };
        let (copies, most) = if is { self.destinations(&fields)? } else { Default::default() };
        let updates = kind.map(|kind| session(kind, u32::from(id), copies, most)).into_iter().collect();
        Ok(Effects::new(updates, vec![Change::Session(id, Some(fields))]))
    }

    fn enabled(&self, fields: &[DataField]) -> Result<bool> {
        Ok(truth(fields, mirror::ENABLE).unwrap_or(false))
    }

    /// Where a session's copies go, and how many bytes of them.
    fn destinations(&self, fields: &[DataField]) -> Result<(Vec<(u32, u32)>, u32)> {
        let mut copies = Vec::new();
        let rid = small(fields, mirror::RID).unwrap_or(0) as u32;
        if truth(fields, mirror::PORT_VALID) == Some(true) {
            let port = small(fields, mirror::PORT).ok_or_else(|| invalid("`$ucast_egress_port` is missing"))?;
            copies.push((port as u32, rid));
        }
        if truth(fields, mirror::GROUP_A_VALID) == Some(true) {
            let group = small(fields, mirror::GROUP_A).unwrap_or(0) as u16;
            let members = self.state.groups.get(&group);
            let members = members.ok_or_else(|| not_found(format!("there is no multicast group {group}")))?;
            let all = Plan::of(self.state).copies(members);
            copies.extend(all.into_iter().map(|(rid, port)| (port, u32::from(rid))));
        }
        copies.sort_unstable();
        copies.dedup();
        Ok((copies, small(fields, mirror::MAX_LENGTH).unwrap_or(0) as u32))
    }

    /// Settings of a port for multicast. One port gets the copies to the CPU, and another one takes its place; the other settings are
    /// kept.
    pub(super) fn cpu_port(&self) -> Result<Effects> {
        let before = self.state.cpu_port;
        if self.kind == Kind::Delete && self.optional_number()?.is_none() {
            let mut effects = self.lead_copies(before, None);
            let ports = self.state.multicast_ports.keys();
            effects.changes.extend(ports.map(|port| Change::MulticastPort(*port, None)));
            return Ok(effects);
        }
        let port = self.number()? as u32;
        if port >= 512 {
            return Err(invalid("ports have numbers up to 511"));
        }
        let known = before == Some(port) || self.state.multicast_ports.contains_key(&port);
        let (after, kept) = match self.kind {
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => {
                let kept = merged(self.state.multicast_ports.get(&port), self.kept()?);
                let after = match truth(&kept, COPY_TO_CPU) {
                    Some(true) => Some(port),
                    Some(false) => before.filter(|before| *before != port),
                    None => before,
                };
                (after, Some(kept))
            }
            Kind::Delete if known => (before.filter(|before| *before != port), None),
            Kind::Delete => return Err(not_found(format!("nothing is set for port {port}"))),
            _ => return Err(self.unsupported()),
        };
        let mut effects = self.lead_copies(before, after);
        // Another port has the copies now.
        if let (Some(other), true) = (before, before != after)
            && let Some(fields) = self.state.multicast_ports.get(&other).filter(|_| other != port)
        {
            let off = merged(Some(fields), vec![value::field(COPY_TO_CPU, Value::BoolVal(false))]);
            effects.changes.push(Change::MulticastPort(other, Some(off)));
        }
        let forwards = kept.as_ref().and_then(|fields| truth(fields, FORWARDS)).unwrap_or(true);
        effects.updates.extend(Plan::of(self.state).with_port(port, forwards).updates());
        effects.changes.push(Change::MulticastPort(port, kept));
        Ok(effects)
    }

    /// Leads copies to the CPU to a port, or nowhere.
    fn lead_copies(&self, before: Option<u32>, after: Option<u32>) -> Effects {
        let copies = after.map(|port| (port, 0)).into_iter().collect();
        let kind = match (before, after) {
            (None, None) => return Effects::default(),
            (None, Some(_)) => Operation::Insert,
            (Some(_), Some(_)) => Operation::Modify,
            (Some(_), None) => Operation::Delete,
        };
        Effects::new(vec![session(kind, CPU_SESSION, copies, 0)], vec![Change::CpuPort(after)])
    }

    /// Adds a port with its settings, changes or removes it. A port of the device that has no device of the machine never has a link, but
    /// may lead back.
    pub(super) fn port(&self) -> Result<Effects> {
        if self.kind == Kind::Delete && self.optional_number()?.is_none() {
            let mut all = Effects::default();
            for id in self.state.ports.keys() {
                let one = self.set_port(*id, None);
                all.updates.extend(one.updates);
                all.changes.extend(one.changes);
            }
            return Ok(all);
        }
        let id = self.number()? as u32;
        let tofino = self.state.schema.generation.is_some();
        let at_the_front = tofino && Connectors::of(self.state.schema.generation).of_port(id).is_some();
        let attached = self.device.tenant().ports().iter().any(|p| p.number == id);
        if !at_the_front && !attached && !self.state.ports.contains_key(&id) {
            return Err(not_found(match tofino {
                true => format!("the device has no port {id}"),
                false => format!("the switch has no port {id}: ports are given to it when it starts"),
            }));
        }
        let before = self.state.ports.get(&id);
        let fields = match self.kind {
            Kind::Insert if before.is_some() => return Err(exists(format!("port {id} is there already"))),
            Kind::Modify | Kind::Delete if before.is_none() => {
                return Err(not_found(format!("port {id} was not added")));
            }
            Kind::Insert | Kind::Modify | Kind::InsertOrModify => Some(merged(before, self.kept()?)),
            Kind::Delete => None,
            _ => return Err(self.unsupported()),
        };
        Ok(self.set_port(id, fields))
    }

    fn set_port(&self, id: u32, fields: Option<Vec<DataField>>) -> Effects {
        let mut effects = Effects::default();
        let looped = fields.as_ref().is_some_and(|fields| loops(fields));
        if let Some(register) = self.state.schema.loopback_register
            && id < 512
            // A port whose mode stays leads where it led: the switch may have been started with ports that lead back.
            && looped != self.state.ports.get(&id).is_some_and(|before| loops(before))
        {
            let value = if looped { LOOPBACK | id } else { 0 };
            effects = objects::register(Cells { object: register, index: Some(id.into()) }, value.into());
        }
        effects.changes.push(Change::Port(id, fields));
        effects
    }

    /// Sets counts of a port, or clears those of one port or of all.
    pub(super) fn port_counts(&self) -> Result<Effects> {
        let asked = match (self.kind, self.optional_number()?) {
            (Kind::Delete, None) => None,
            (Kind::Modify | Kind::InsertOrModify | Kind::Delete, _) => Some(self.number()? as u32),
            _ => return Err(self.unsupported()),
        };
        let given = self.kept()?;
        let ports = self.device.tenant().port_stats();
        let shown: Vec<_> = ports.iter().filter(|p| asked.is_none_or(|asked| asked == p.number)).collect();
        if let (Some(port), []) = (asked, shown.as_slice()) {
            return Err(not_found(format!("the switch has no port {port}: ports are given to it when it starts")));
        }
        // What is there now minus the value.
        let subtracted = |p| {
            let counts = COUNTS.iter().filter_map(|(id, _, count)| {
                let value = if self.kind == Kind::Delete { Some(0) } else { small(&given, *id) };
                value.map(|value| (*id, count(p).wrapping_sub(value)))
            });
            counts.collect()
        };
        let changes = shown.into_iter().map(|p| Change::PortCounts(p.number, subtracted(p))).collect();
        Ok(Effects::new(Vec::new(), changes))
    }
}

/// Whether a port has a link: that of its device, or one that leads back. One that a controller has added is to be enabled as well.
pub(crate) fn has_link(settings: Option<&Vec<DataField>>, device: Option<bool>) -> bool {
    let enabled = settings.is_none_or(|fields| truth(fields, port::ENABLE).unwrap_or(false));
    enabled && (device.unwrap_or(false) || settings.is_some_and(|fields| loops(fields)))
}

/// Whether fields of a port lead it back to ingress.
fn loops(fields: &[DataField]) -> bool {
    let mode = fields.iter().find(|f| f.field_id == port::LOOPBACK).and_then(|f| f.value.as_ref());
    matches!(mode, Some(Value::StrVal(mode)) if mode != port::NO_LOOPBACK)
}

pub(super) fn truth(fields: &[DataField], id: u32) -> Option<bool> {
    match fields.iter().find(|f| f.field_id == id)?.value.as_ref()? {
        Value::BoolVal(value) => Some(*value),
        _ => None,
    }
}

pub(super) fn small(fields: &[DataField], id: u32) -> Option<u64> {
    match fields.iter().find(|f| f.field_id == id)?.value.as_ref()? {
        Value::Stream(bytes) => crate::value::small("", 64, bytes).ok(),
        _ => None,
    }
}

fn session(operation: Operation, id: u32, copies: Vec<(u32, u32)>, max_length: u32) -> Update {
    let copies = copies.into_iter().map(|(port, instance)| copy(port, instance)).collect();
    Update {
        operation,
        entity: Entity::CloneSession(id, CloneSession { copies, max_length, ..CloneSession::default() }),
    }
}
