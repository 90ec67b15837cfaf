//! The reference as an engine: packets run as the specification says, and a pipeline of the same program resolves the names
//! of a test file.

use std::sync::Arc;

use hopwright_interp::{CloneSession, Count, Digest, Replica, Value};
use hopwright_ir::meter::Rates;
use hopwright_ir::{ActionCall, EntryTarget, ExternId, Group, MatchValue, Pipeline, TableEntry, TableId, ValueSetId};
use hopwright_reference::{self as reference, Match, Reference};
use num_bigint::BigUint;

use crate::EngineError;
use crate::engine::{Engine, Processed};
use crate::script::Change;

/// The reference, and a pipeline with the names of its tables and objects.
#[derive(Debug)]
pub struct ReferenceEngine {
    pipeline: Arc<Pipeline>,
    /// Runs the packets.
    pub reference: Reference,
}

impl ReferenceEngine {
    /// The pipeline must be that of the reference's program.
    pub fn new(pipeline: Arc<Pipeline>, reference: Reference) -> ReferenceEngine {
        ReferenceEngine { pipeline, reference }
    }

    fn action(&self, table: TableId, call: ActionCall) -> Result<reference::ActionCall, EngineError> {
        let table = &self.pipeline[table];
        let action = table.actions.iter().position(|a| a.action == call.action);
        let action = action.ok_or_else(|| EngineError::NoAction { table: table.name.clone() })?;
        Ok(reference::ActionCall { action, data: call.args })
    }

    fn target(&self, table: TableId, to: EntryTarget) -> Result<reference::Target, EngineError> {
        Ok(match to {
            EntryTarget::Member(member) => reference::Target::Member(member),
            EntryTarget::Group(group) => reference::Target::Group(group),
            EntryTarget::Set(set) => {
                let share = |share: hopwright_ir::WeightedAction| Ok((self.action(table, share.action)?, share.weight));
                reference::Target::Set(set.into_iter().map(share).collect::<Result<_, EngineError>>()?)
            }
        })
    }

    fn table(&self, table: TableId) -> String {
        self.pipeline[table].name.clone()
    }

    fn object(&self, object: ExternId) -> String {
        self.pipeline[object].name.clone()
    }
}

fn keys(matches: &[MatchValue]) -> Vec<Match> {
    let key = |value: &MatchValue| match value.clone() {
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => Match::Exact(value),
        MatchValue::Lpm { value, prefix_len } => Match::Prefix(value, prefix_len),
        MatchValue::Ternary { value, mask } => Match::Mask(value, mask),
        MatchValue::Range { lo, hi } => Match::Range(lo, hi),
        MatchValue::Optional(None) => Match::Any,
    };
    matches.iter().map(key).collect()
}

fn rates(rates: Rates) -> reference::Rates {
    let Rates { cir, cburst, pir, pburst } = rates;
    reference::Rates { cir, cburst, pir, pburst }
}

impl Engine for ReferenceEngine {
    fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    fn process(&mut self, port: u16, packet: &[u8], now_us: u64) -> Result<Processed, EngineError> {
        let output = self.reference.process(port, packet, now_us);
        let digest = |d: reference::Digest| Digest {
            name: d.name,
            receiver: d.receiver,
            data: d.data.into_iter().map(|bits| Value { width: bits.bits() as u32, bits }).collect(),
        };
        let digests = output.digests.into_iter().map(digest).collect();
        Ok(Processed { sent: output.sent, fault: output.fault, digests })
    }

    fn insert(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        let target = reference::Target::Action(self.action(table, entry.action)?);
        let name = self.table(table);
        Ok(self.reference.insert(&name, keys(&entry.matches), entry.priority.into(), target)?)
    }

    fn modify(&mut self, table: TableId, entry: TableEntry) -> Result<(), EngineError> {
        let action = self.action(table, entry.action)?;
        let name = self.table(table);
        Ok(self.reference.modify(&name, &keys(&entry.matches), entry.priority.into(), action)?)
    }

    fn set_default(&mut self, table: TableId, action: ActionCall) -> Result<(), EngineError> {
        let action = self.action(table, action)?;
        let name = self.table(table);
        Ok(self.reference.set_default(&name, action)?)
    }

    fn clear(&mut self, table: TableId) -> Result<(), EngineError> {
        let name = self.table(table);
        Ok(self.reference.clear(&name)?)
    }

    fn counter(&mut self, counter: ExternId, index: u64) -> Result<Count, EngineError> {
        let name = self.object(counter);
        Ok(self.reference.count(&name, index).map(count)?)
    }

    fn set_counter(&mut self, counter: ExternId, index: u64, value: Count) -> Result<(), EngineError> {
        let name = self.object(counter);
        let value = reference::Count { packets: value.packets, bytes: value.bytes };
        Ok(self.reference.set_count(&name, index, value)?)
    }

    fn direct_counter(&mut self, table: TableId, entry: &TableEntry) -> Result<Count, EngineError> {
        let name = self.table(table);
        Ok(self.reference.direct_count(&name, &keys(&entry.matches), entry.priority.into()).map(count)?)
    }

    fn register(&mut self, register: ExternId, index: u64) -> Result<BigUint, EngineError> {
        let name = self.object(register);
        Ok(self.reference.register(&name, index)?)
    }

    fn set_register(&mut self, register: ExternId, index: u64, value: BigUint) -> Result<(), EngineError> {
        let name = self.object(register);
        Ok(self.reference.set_register(&name, index, &value)?)
    }

    fn set_key(&mut self, object: ExternId, slot: u64, key: &[u8; 16]) -> Result<(), EngineError> {
        let name = self.object(object);
        Ok(self.reference.set_key(&name, slot, *key)?)
    }

    fn insert_target(
        &mut self,
        table: TableId,
        matches: Vec<MatchValue>,
        priority: i32,
        to: EntryTarget,
    ) -> Result<(), EngineError> {
        let target = self.target(table, to)?;
        let name = self.table(table);
        Ok(self.reference.insert(&name, keys(&matches), priority.into(), target)?)
    }

    fn change_member(
        &mut self,
        change: Change,
        profile: ExternId,
        member: u32,
        action: Option<ActionCall>,
    ) -> Result<(), EngineError> {
        // A table that uses the profile and has the action.
        let mut users =
            (0..).map(TableId).zip(&self.pipeline.tables).filter(|(_, t)| t.implementation == Some(profile));
        let action = match action {
            Some(call) => {
                let user = users.find(|(_, t)| t.actions.iter().any(|a| a.action == call.action));
                let (id, table) = user.ok_or_else(|| EngineError::NoAction { table: self.object(profile) })?;
                Some((table.name.clone(), self.action(id, call)?))
            }
            None => None,
        };
        let action = action.as_ref().map(|(table, call)| (table.as_str(), call.clone()));
        let name = self.object(profile);
        Ok(self.reference.set_member(&name, member, action, change == Change::Add)?)
    }

    fn change_group(&mut self, change: Change, selector: ExternId, group: u32, to: Group) -> Result<(), EngineError> {
        let members = (change != Change::Delete).then_some(to.members);
        let name = self.object(selector);
        Ok(self.reference.set_group(&name, group, members, change == Change::Add)?)
    }

    fn meter(&mut self, meter: ExternId, index: u64) -> Result<Option<Rates>, EngineError> {
        let name = self.object(meter);
        let ours = |r: reference::Rates| Rates { cir: r.cir, cburst: r.cburst, pir: r.pir, pburst: r.pburst };
        Ok(self.reference.rates(&name, index).map(|found| found.map(ours))?)
    }

    fn set_meter(&mut self, meter: ExternId, index: u64, to: Option<Rates>) -> Result<(), EngineError> {
        let name = self.object(meter);
        Ok(self.reference.set_rates(&name, index, to.map(rates))?)
    }

    fn set_direct_meter(&mut self, table: TableId, entry: &TableEntry, to: Option<Rates>) -> Result<(), EngineError> {
        let name = self.table(table);
        let (matches, priority) = (keys(&entry.matches), entry.priority.into());
        Ok(self.reference.set_direct_meter(&name, &matches, priority, to.map(rates))?)
    }

    fn set_clone_session(&mut self, session: u32, to: Option<CloneSession>) -> Result<(), EngineError> {
        let to = to.map(|to| reference::Session { port: to.port, group: to.group, truncate: to.truncate });
        self.reference.set_session(session, to);
        Ok(())
    }

    fn set_value_set(&mut self, set: ValueSetId, members: Vec<Vec<MatchValue>>) -> Result<(), EngineError> {
        let name = self.pipeline.value_sets[set.index()].name.clone();
        let members = members.iter().map(|member| keys(member)).collect();
        Ok(self.reference.set_value_set(&name, members)?)
    }

    fn set_multicast_group(&mut self, group: u16, replicas: Vec<Replica>) -> Result<(), EngineError> {
        let replicas = replicas.iter().map(|r| reference::Replica { rid: r.rid, port: r.port });
        self.reference.set_group_copies(group, replicas.collect());
        Ok(())
    }
}

fn count(count: reference::Count) -> Count {
    Count { packets: count.packets, bytes: count.bytes }
}
