//! Tables: entries, default entries, their counters and meters.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hopwright_control::entity::{self, Action, Call, DefaultEntry};
use hopwright_control::schema::{Table, Use};
use hopwright_control::{Entity, EntryKey, ErrorKind, IdleEntry, IdleListener, Operation};
use hopwright_dataplane::{Count, EntryTarget};
use hopwright_ir::{ActionCall, Key as TableKey, MatchForm, MatchValue, TableEntry, TableId, WrittenMatch, bits};
use num_bigint::BigUint;

use super::arrays::{MeterRate, from_rates, to_rates};
use super::handles::Key;
use super::{Runtime, of_table};
use crate::failure::{Failure, Result, TableCode};

/// How an entry matches one key: `BmMatchParam`. Numbers are bytes, the most significant first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MatchParam {
    Exact(Vec<u8>),
    Lpm(Vec<u8>, i32),
    Ternary(Vec<u8>, Vec<u8>),
    Valid(bool),
    Range(Vec<u8>, Vec<u8>),
}

/// An entry: `BmMtEntry`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) handle: i32,
    pub(crate) matches: Vec<MatchParam>,
    /// The lowest wins, unlike elsewhere in Hopwright; -1 in tables without priorities.
    pub(crate) priority: i32,
    pub(crate) action: EntryAction,
    /// The idle timeout and the time since the last hit, in milliseconds.
    pub(crate) life: Option<(i32, i32)>,
}

/// What an entry runs: `BmActionEntry`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EntryAction {
    /// Nothing that BMv2 has a word for: a set of several actions, which a P4Runtime controller wrote.
    None,
    Call(String, Vec<Vec<u8>>),
    Member(u32),
    Group(u32),
}

/// Entries.
impl Runtime {
    pub(super) fn table(&self, name: &str) -> Result<TableId> {
        let at = self.pipeline().table_by_name(name).filter(|at| self.schema.table_at(*at).is_some());
        at.ok_or_else(|| TableCode::InvalidTableName.because(format!("the program has no table `{name}`")))
    }

    /// What the model has of a table.
    fn model_of(&self, at: TableId) -> Result<&Table> {
        let table = self.schema.table_at(at);
        table.ok_or_else(|| TableCode::InvalidTableName.because("the table is hidden from control planes"))
    }

    /// A table without an action profile, or with one.
    fn table_of_kind(&self, name: &str, indirect: bool) -> Result<TableId> {
        let table = self.table(name)?;
        match (self.pipeline()[table].implementation.is_some(), indirect) {
            (false, true) => Err(TableCode::WrongTableType.because(format!("table `{name}` has no action profile"))),
            (true, false) => Err(TableCode::WrongTableType.because(format!("table `{name}` has an action profile"))),
            _ => Ok(table),
        }
    }

    pub(crate) fn num_entries(&self, table: &str) -> Result<i64> {
        Ok(self.control()[self.table(table)?].len() as i64)
    }

    pub(crate) fn clear_entries(&mut self, table: &str, reset_default: bool) -> Result<()> {
        let table = self.table(table)?;
        self.clear_table(table)?;
        if reset_default { self.reset_default(table) } else { Ok(()) }
    }

    pub(super) fn clear_table(&mut self, at: TableId) -> Result<()> {
        for entry in self.control()[at].entries() {
            let key = self.model_of(at)?.key(&(at, entry.matches, entry.priority));
            let deleted = self.write(Operation::Delete, Entity::Entry(entity::Entry { key, ..Default::default() }));
            // Another control plane may have removed it meanwhile.
            deleted.or_else(|e| if e.kind == ErrorKind::NotFound { Ok(()) } else { Err(e) }).map_err(of_entry)?;
        }
        self.handles[at.index()] = Default::default();
        Ok(())
    }

    pub(crate) fn add_entry(
        &mut self,
        table: &str,
        matches: &[MatchParam],
        action: &str,
        data: &[Vec<u8>],
        priority: i32,
    ) -> Result<i32> {
        let table = self.table_of_kind(table, false)?;
        let call = self.call(table, action, data, Use::Entry)?;
        self.insert(table, matches, priority, Action::Call(call))
    }

    pub(crate) fn add_entry_to(
        &mut self,
        table: &str,
        matches: &[MatchParam],
        target: Action,
        priority: i32,
    ) -> Result<i32> {
        let table = self.table_of_kind(table, true)?;
        self.insert(table, matches, priority, target)
    }

    fn insert(&mut self, at: TableId, matches: &[MatchParam], priority: i32, action: Action) -> Result<i32> {
        let table = self.model_of(at)?;
        if table.fields.is_empty() {
            return Err(TableCode::NoTableKey.because(format!("table `{}` has no keys", table.name)));
        }
        if !self.handles[at.index()].has_room() {
            return Err(TableCode::Full.because(format!("there are no more handles for table `{}`", table.name)));
        }
        let (matches, priority) = self.key(at, matches, priority)?;
        let key = (at, matches, priority);
        let missing = missing_target(&action);
        let entry = entity::Entry { key: table.key(&key), action: Some(action), ..Default::default() };
        self.write(Operation::Insert, Entity::Entry(entry)).map_err(of_table(missing))?;
        let key = (key.1, key.2);
        // An entry with this key that another control plane has removed.
        let handles = &mut self.handles[at.index()];
        handles.remove(&key);
        Ok(handles.add(Arc::new(key)))
    }

    pub(crate) fn modify_entry(&mut self, table: &str, handle: i32, action: &str, data: &[Vec<u8>]) -> Result<()> {
        let at = self.table_of_kind(table, false)?;
        let call = self.call(at, action, data, Use::Entry)?;
        self.modify(at, handle, |entry| entry.action = Some(Action::Call(call)))
    }

    pub(crate) fn modify_entry_to(&mut self, table: &str, handle: i32, target: Action) -> Result<()> {
        let at = self.table_of_kind(table, true)?;
        self.modify(at, handle, |entry| entry.action = Some(target))
    }

    /// Changes something of an entry, and leaves the rest as it is.
    fn modify(&mut self, at: TableId, handle: i32, change: impl FnOnce(&mut entity::Entry)) -> Result<()> {
        let key = self.entry_key(at, handle)?;
        let mut entry = entity::Entry { key: self.model_of(at)?.key(&key), ..Default::default() };
        entry.rates = self.control()[at].direct_meter(&key.1, key.2).ok().flatten();
        if let Some(note) = self.model.lock().note(&key) {
            entry.metadata = note.metadata.clone();
            entry.idle_timeout = note.idle.as_ref().map_or(Duration::ZERO, |idle| idle.timeout);
        }
        change(&mut entry);
        let missing = entry.action.as_ref().map_or(TableCode::InvalidHandle, missing_target);
        self.write(Operation::Modify, Entity::Entry(entry)).map_err(of_table(missing))
    }

    pub(crate) fn delete_entry(&mut self, table: &str, handle: i32, indirect: bool) -> Result<()> {
        let at = self.table_of_kind(table, indirect)?;
        let key = self.entry_key(at, handle)?;
        let entry = entity::Entry { key: self.model_of(at)?.key(&key), ..Default::default() };
        self.write(Operation::Delete, Entity::Entry(entry)).map_err(of_entry)?;
        self.handles[at.index()].remove(&(key.1, key.2));
        Ok(())
    }

    pub(crate) fn set_entry_timeout(
        &mut self,
        table: &str,
        handle: i32,
        milliseconds: i32,
        indirect: bool,
    ) -> Result<()> {
        let at = self.table_of_kind(table, indirect)?;
        if !self.pipeline()[at].idle_timeout {
            return Err(TableCode::AgeingDisabled.because(format!("table `{table}` has no idle timeouts")));
        }
        let milliseconds = u64::try_from(milliseconds).map_err(|_| TableCode::Error.because("a negative timeout"))?;
        self.modify(at, handle, |entry| entry.idle_timeout = Duration::from_millis(milliseconds))
    }

    /// The entry with a handle. An entry that is gone loses its handle.
    fn entry_key(&mut self, at: TableId, handle: i32) -> Result<EntryKey> {
        let key = self.handles[at.index()].key(handle)?;
        if self.control()[at].get(&key.0, key.1).is_none() {
            self.handles[at.index()].remove(&key);
            return Err(TableCode::InvalidHandle.because(format!("the entry with handle {handle} is gone")));
        }
        Ok((at, key.0.clone(), key.1))
    }

    /// Looks which entries were hit. To be called a few times a second. If somebody is told, returns the handles of those whose timeouts
    /// have expired, by the ids of their tables.
    pub(crate) fn sweep(&mut self, told: bool) -> BTreeMap<i32, Vec<i32>> {
        let idle = self.model.lock().idle_entries(IdleListener::Once, Instant::now(), |_| told);
        let mut found: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for IdleEntry { key: (at, matches, priority), .. } in idle {
            let handles = &mut self.handles[at.index()];
            let key = (matches, priority);
            let handle = handles.handle_of(&key);
            if handle.is_none() && !handles.has_room() {
                continue;
            }
            let handle = handle.unwrap_or_else(|| handles.add(Arc::new(key)));
            found.entry(at.0 as i32).or_default().push(handle);
        }
        found
    }

    pub(crate) fn entries(&mut self, table: &str) -> Result<Vec<Entry>> {
        let at = self.table(table)?;
        let entries = self.control()[at].entries();
        let entries = self.handles[at.index()].sync(entries);
        Ok(entries.into_iter().map(|(handle, entry)| self.shown(at, handle, entry)).collect())
    }

    pub(crate) fn entry(&mut self, table: &str, handle: i32) -> Result<Entry> {
        let at = self.table(table)?;
        let (_, matches, priority) = self.entry_key(at, handle)?;
        let gone = || TableCode::InvalidHandle.because(format!("the entry with handle {handle} is gone"));
        let action = self.control()[at].get(&matches, priority).ok_or_else(gone)?;
        Ok(self.shown(at, handle, TableEntry { matches, priority, action }))
    }

    pub(crate) fn entry_from_key(&mut self, table: &str, matches: &[MatchParam], priority: i32) -> Result<Entry> {
        let at = self.table(table)?;
        let key = self.key(at, matches, priority)?;
        let Some(action) = self.control()[at].get(&key.0, key.1) else {
            return Err(TableCode::BadMatchKey.because(format!("table `{table}` has no entry with this key")));
        };
        let handles = &mut self.handles[at.index()];
        let handle = match handles.handle_of(&key) {
            Some(handle) => handle,
            None if handles.has_room() => handles.add(Arc::new(key.clone())),
            None => return Err(TableCode::Error.because("there are no more handles")),
        };
        let (matches, priority) = key;
        Ok(self.shown(at, handle, TableEntry { matches, priority, action }))
    }

    fn shown(&self, at: TableId, handle: i32, entry: TableEntry) -> Entry {
        let model = &self.pipeline()[at];
        let keys = model.keys.iter().zip(&entry.matches);
        let target = self.control()[at].target(&entry.matches, entry.priority);
        let action = match target {
            None => self.shown_call(&entry.action),
            Some(EntryTarget::Member(member)) => EntryAction::Member(member),
            Some(EntryTarget::Group(group)) => EntryAction::Group(group),
            Some(EntryTarget::Set(set)) if set.len() == 1 => self.shown_call(&set[0].action),
            Some(EntryTarget::Set(_)) => EntryAction::None,
        };
        Entry {
            handle,
            matches: keys.filter_map(|(key, value)| shown_match(key, value)).collect(),
            priority: if model.has_priority() { i32::MAX - entry.priority } else { -1 },
            action,
            life: self.life(&(at, entry.matches, entry.priority)),
        }
    }

    pub(super) fn shown_call(&self, call: &ActionCall) -> EntryAction {
        let data = call.args.iter().map(BigUint::to_bytes_be).collect();
        EntryAction::Call(self.pipeline()[call.action].name.clone(), data)
    }

    /// The idle timeout of an entry, and the time since its last hit, in milliseconds.
    fn life(&self, key: &EntryKey) -> Option<(i32, i32)> {
        let model = self.model.lock();
        let idle = model.note(key)?.idle.as_ref()?;
        let milliseconds = |time: Duration| i32::try_from(time.as_millis()).unwrap_or(i32::MAX);
        Some((milliseconds(idle.timeout), milliseconds(idle.last_hit.elapsed())))
    }

    /// An action of a table with its arguments.
    pub(super) fn call(&self, at: TableId, action: &str, data: &[Vec<u8>], place: Use) -> Result<Call> {
        let table = self.model_of(at)?;
        let unknown =
            || TableCode::InvalidActionName.because(format!("table `{}` has no action `{action}`", table.name));
        let found = self.control().resolve_action(at, action, &[]).map_err(|_| unknown())?;
        let listed = table.actions.iter().find(|listed| listed.at == found.action).ok_or_else(unknown)?;
        let (wanted, given) = (listed.params.len(), data.len());
        if wanted != given {
            let name = &listed.name;
            return Err(TableCode::BadActionData.because(format!("`{name}` has {wanted} parameters, not {given}")));
        }
        let args =
            listed.params.iter().map(|param| param.id).zip(data.iter().map(|bytes| BigUint::from_bytes_be(bytes)));
        let call = Call { action: listed.id, args: args.collect() };
        let code = |kind| match kind {
            ErrorKind::PermissionDenied => TableCode::InvalidActionName,
            _ => TableCode::BadActionData,
        };
        table.call(&call, place).map_err(|error| code(error.kind).because(error))?;
        Ok(call)
    }

    fn key(&self, at: TableId, params: &[MatchParam], priority: i32) -> Result<Key> {
        let model = &self.pipeline()[at];
        let bad = |reason: String| TableCode::BadMatchKey.because(reason);
        let (wanted, given) = (model.match_keys().count(), params.len());
        if wanted != given {
            return Err(bad(format!("table `{}` has {wanted} keys, the entry {given}", model.name)));
        }
        let mut params = params.iter();
        let value = |key: &TableKey| match key.kind.form() {
            MatchForm::Nothing => Ok(MatchValue::Optional(None)),
            _ => params.next().ok_or_else(|| bad("a key is missing".into())).and_then(|param| to_match(key, param)),
        };
        let matches = model.keys.iter().map(value).collect::<Result<_>>()?;
        let priority = match priority {
            _ if !model.has_priority() => 0,
            priority if priority < 0 => return Err(bad("a negative priority".into())),
            // BMv2's lowest number wins.
            priority => i32::MAX - priority,
        };
        Ok((matches, priority))
    }
}

/// Default entries.
impl Runtime {
    pub(crate) fn set_default_action(&mut self, table: &str, action: &str, data: &[Vec<u8>]) -> Result<()> {
        let at = self.table_of_kind(table, false)?;
        let call = self.call(at, action, data, Use::Default)?;
        self.set_default(at, Some(call))
    }

    /// Sets the default action: without one, to that of the program.
    pub(super) fn set_default(&self, at: TableId, action: Option<Call>) -> Result<()> {
        let entry = DefaultEntry { table: self.model_of(at)?.id, action, ..DefaultEntry::default() };
        self.write(Operation::Modify, Entity::Default(entry)).map_err(|error| match error.kind {
            ErrorKind::PermissionDenied => TableCode::DefaultEntryIsConst.because(error),
            _ => TableCode::Error.because(error),
        })
    }

    pub(crate) fn reset_default_entry(&mut self, table: &str, indirect: bool) -> Result<()> {
        let at = self.table_of_kind(table, indirect)?;
        self.reset_default(at)
    }

    pub(super) fn reset_default(&mut self, at: TableId) -> Result<()> {
        if !self.pipeline()[at].const_default_action {
            self.set_default(at, None)?;
        }
        self.default_members.remove(&at);
        Ok(())
    }

    /// Makes a member's action the default action.
    pub(crate) fn set_default_member(&mut self, table: &str, member: i32) -> Result<()> {
        let at = self.table_of_kind(table, true)?;
        let profile = self.pipeline()[at].implementation.ok_or_else(|| TableCode::WrongTableType.because(table))?;
        let ActionCall { action, args } = self.action_of_member(profile, member)?;
        let data: Vec<Vec<u8>> = args.iter().map(BigUint::to_bytes_be).collect();
        let call = self.call(at, &self.pipeline()[action].name, &data, Use::Default)?;
        self.set_default(at, Some(call))?;
        self.default_members.insert(at, member as u32);
        Ok(())
    }

    /// A group cannot be what packets get that hit no entry.
    pub(crate) fn set_default_group(&mut self, table: &str) -> Result<()> {
        self.table_of_kind(table, true)?;
        Err(TableCode::Error.because("a group as default entry is not supported yet; a member is"))
    }

    pub(crate) fn default_entry(&self, table: &str) -> Result<EntryAction> {
        let at = self.table(table)?;
        if let Some(member) = self.default_members.get(&at) {
            return Ok(EntryAction::Member(*member));
        }
        Ok(self.shown_call(&self.control()[at].default_action()))
    }
}

/// Counters and meters of entries.
impl Runtime {
    pub(crate) fn read_direct_counter(&mut self, table: &str, handle: i32) -> Result<Count> {
        let at = self.table_with_counter(table)?;
        let (_, matches, priority) = self.entry_key(at, handle)?;
        self.control()[at].direct_count(&matches, priority).map_err(|error| of_entry(error.into()))
    }

    pub(crate) fn write_direct_counter(&mut self, table: &str, handle: i32, count: Count) -> Result<()> {
        let at = self.table_with_counter(table)?;
        let key = self.entry_key(at, handle)?;
        let key = self.model_of(at)?.key(&key);
        self.write(Operation::Modify, Entity::DirectCounter(key, count)).map_err(of_entry)
    }

    pub(crate) fn reset_direct_counters(&mut self, table: &str) -> Result<()> {
        let at = self.table_with_counter(table)?;
        for entry in self.control()[at].entries() {
            let key = self.model_of(at)?.key(&(at, entry.matches, entry.priority));
            match self.write(Operation::Modify, Entity::DirectCounter(key, Count::default())) {
                // Another control plane has removed it meanwhile.
                Err(error) if error.kind != ErrorKind::NotFound => return Err(of_entry(error)),
                _ => {}
            }
        }
        Ok(())
    }

    fn table_with_counter(&self, table: &str) -> Result<TableId> {
        let at = self.table(table)?;
        match self.model_of(at)?.direct_counter {
            Some(_) => Ok(at),
            None => Err(TableCode::CountersDisabled.because(format!("table `{table}` has no direct counter"))),
        }
    }

    pub(crate) fn set_direct_meter(&mut self, table: &str, handle: i32, rates: &[MeterRate]) -> Result<()> {
        let at = self.table_with_meter(table)?;
        let rates = to_rates(rates).map_err(|(_, reason)| TableCode::InvalidMeterOperation.because(reason))?;
        let key = self.entry_key(at, handle)?;
        let key = self.model_of(at)?.key(&key);
        self.write(Operation::Modify, Entity::DirectMeter(key, Some(rates))).map_err(of_entry)
    }

    pub(crate) fn direct_meter(&mut self, table: &str, handle: i32) -> Result<Vec<MeterRate>> {
        let at = self.table_with_meter(table)?;
        let (_, matches, priority) = self.entry_key(at, handle)?;
        let rates = self.control()[at].direct_meter(&matches, priority).map_err(|error| of_entry(error.into()))?;
        Ok(from_rates(rates))
    }

    fn table_with_meter(&self, table: &str) -> Result<TableId> {
        let at = self.table(table)?;
        match self.model_of(at)?.direct_meter {
            Some(_) => Ok(at),
            None => Err(TableCode::MetersDisabled.because(format!("table `{table}` has no direct meter"))),
        }
    }
}

/// A refused update of an entry as an exception.
fn of_entry(error: hopwright_control::Error) -> Failure {
    of_table(TableCode::InvalidHandle)(error)
}

/// The code if there is not what an entry is to run.
fn missing_target(action: &Action) -> TableCode {
    match action {
        Action::Member(_) => TableCode::InvalidMember,
        Action::Group(_) => TableCode::InvalidGroup,
        Action::Call(_) | Action::Set(_) => TableCode::InvalidHandle,
    }
}

/// The match of a key that a client gives.
fn to_match(key: &TableKey, param: &MatchParam) -> Result<MatchValue> {
    let width = key.expr.ty.width();
    let bad = |reason: String| -> Failure { TableCode::BadMatchKey.because(format!("key `{}`: {reason}", key.name)) };
    let number = |bytes: &[u8]| {
        let value = BigUint::from_bytes_be(bytes);
        if bits::fits(&value, width) { Ok(value) } else { Err(bad(format!("a value does not fit {width} bits"))) }
    };
    // Clients know whole bytes only: bits of a mask above the key are not there.
    let mask = |bytes: &[u8]| bits::truncate(BigUint::from_bytes_be(bytes), width);
    let written = match (key.kind.form(), param) {
        (MatchForm::Value | MatchForm::ValueOrAny, MatchParam::Exact(value)) => WrittenMatch::Value(number(value)?),
        (MatchForm::Value, MatchParam::Valid(valid)) => WrittenMatch::Value(u32::from(*valid).into()),
        (MatchForm::Prefix, MatchParam::Lpm(value, length)) => {
            let length = u32::try_from(*length).map_err(|_| bad("a negative prefix length".into()))?;
            WrittenMatch::Prefix(number(value)?, length)
        }
        (MatchForm::Mask, MatchParam::Ternary(value, bytes)) => WrittenMatch::Mask(number(value)?, mask(bytes)),
        (MatchForm::Range, MatchParam::Range(lo, hi)) => WrittenMatch::Range(number(lo)?, number(hi)?),
        (MatchForm::ValueOrAny, MatchParam::Ternary(value, bytes)) => match mask(bytes) {
            zero if zero == BigUint::ZERO => WrittenMatch::Any,
            all if all == bits::mask(width) => WrittenMatch::Value(number(value)?),
            _ => return Err(bad("an optional key has a mask of ones or of zeros".into())),
        },
        _ => return Err(bad(format!("it is matched as {}", key.kind))),
    };
    key.kind.value(written, width).map_err(|e| bad(e.to_string()))
}

/// The match of a key as clients know it; `None` if packets are not compared with it.
fn shown_match(key: &TableKey, value: &MatchValue) -> Option<MatchParam> {
    let width = key.expr.ty.width();
    let bytes = |value: &BigUint| padded(value, width);
    Some(match value {
        _ if !key.kind.is_matched() => return None,
        MatchValue::Exact(value) => MatchParam::Exact(bytes(value)),
        MatchValue::Lpm { value, prefix_len } => MatchParam::Lpm(bytes(value), *prefix_len as i32),
        MatchValue::Ternary { value, mask } => MatchParam::Ternary(bytes(value), bytes(mask)),
        MatchValue::Range { lo, hi } => MatchParam::Range(bytes(lo), bytes(hi)),
        MatchValue::Optional(Some(value)) => MatchParam::Ternary(bytes(value), bytes(&bits::mask(width))),
        MatchValue::Optional(None) => MatchParam::Ternary(bytes(&BigUint::ZERO), bytes(&BigUint::ZERO)),
    })
}

/// The bytes of a value of this width in bits, with leading zeros.
pub(super) fn padded(value: &BigUint, width: u32) -> Vec<u8> {
    let bytes = value.to_bytes_be();
    let missing = (width.div_ceil(8).max(1) as usize).saturating_sub(bytes.len());
    [vec![0; missing], bytes].concat()
}
