//! A fuzz target: any bytes as requests of a controller.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hopwright_dataplane::{FrameSize, SwitchBuilder, Worker};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Device, EnginePolicy, Program};
use prost::Message as _;
use tonic::Code;

use crate::proto::{
    self, TableFlags, entity::Entity, set_forwarding_pipeline_config_request::Action, table_entry, update,
    write_request::Atomicity,
};
use crate::schema::{Object, Table};
use crate::service;
use crate::state::State;
use crate::write::key_fields;
use crate::{read, write};

/// A request's kind, and its length in two bytes.
const HEAD: usize = 3;
/// The device's pipe.
const PIPE: u32 = 0;
/// What reads show is what the data plane has.
const FROM_HARDWARE: Option<TableFlags> =
    Some(TableFlags { from_hw: true, key_only: false, mod_del: false, reset_ttl: false, reset_stats: false });
/// The most updates of a request that are carried out.
const UPDATES: usize = 16;

/// A device without ports, and its controller.
pub struct Controller {
    program: &'static str,
    device: Device,
    state: Mutex<State>,
    /// Takes up changes of packet generators.
    worker: Mutex<Worker>,
}

/// What became of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Updates.
    pub updates: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Entries that were found by reads.
    pub found: u64,
    /// Programs that were checked or started.
    pub programs: u64,
    /// Entries that there were at the end.
    pub entries: u64,
}

impl Controller {
    /// Of a device that runs a program, which is given as P4 text.
    ///
    /// # Panics
    /// If it does not compile.
    pub fn new(program: &'static str) -> Controller {
        let config = v1::ForwardingPipelineConfig { p4_device_config: program.into(), ..Default::default() };
        let runs = Program::from_config(&config).unwrap_or_else(|failure| panic!("{}", failure.message));
        let vdp = runs.data_plane(EnginePolicy::Interp).unwrap_or_else(|failure| panic!("{}", failure.message));
        let (switch, worker) = SwitchBuilder::new(vdp).pool(0, FrameSize::for_mtu(68)).build().expect("a switch");
        let tenant = switch.default_tenant().clone();
        let device = Device::new(0, tenant, EnginePolicy::Interp).with_program(runs);
        Controller { program, device, state: Mutex::default(), worker: Mutex::new(worker) }
    }

    /// Requests one behind the other, each behind its kind (0: a write, 1: a read, 2: a write whose ids stay as they are, 3: a
    /// program) and its length. Ids of tables and actions that there are not are made some that there are, and a program that begins
    /// with a space is the fuzzer's. What is refused has a reason, and changes nothing if the whole request is; an entry that is found
    /// is found by its key, and once all entries are deleted there are none.
    ///
    /// # Panics
    /// If this is not so.
    pub fn requests(&self, data: &[u8]) -> Outcome {
        let mut heard = Outcome::default();
        let mut rest = data;
        while let Some((head, more)) = rest.split_at_checked(HEAD) {
            let length = usize::from(u16::from_be_bytes([head[1], head[2]]));
            let (request, more) = more.split_at(length.min(more.len()));
            rest = more;
            match head[0] % 4 {
                1 => self.read(request, &mut heard),
                3 => self.set_program(request, &mut heard),
                kind => self.write(request, kind == 0, &mut heard),
            }
        }
        heard.entries = self.delete_all();
        heard
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        service::refresh(&self.state, &self.device, "").unwrap_or_else(|failure| panic!("{}", failure.message))
    }

    fn write(&self, request: &[u8], repairs: bool, heard: &mut Outcome) {
        let Ok(mut request) = proto::WriteRequest::decode(request) else { return };
        let mut state = self.state();
        request.updates.truncate(UPDATES);
        for entity in request.updates.iter_mut().filter_map(|u| u.entity.as_mut()?.entity.as_mut()).filter(|_| repairs)
        {
            repair(&state, entity);
        }
        if request.atomicity == Atomicity::DataplaneAtomic as i32 {
            // The worker runs only when it is told to.
            request.atomicity = Atomicity::RollbackOnError as i32;
        }
        // Updates that do not depend on each other are refused one by one.
        let alone = request.atomicity == Atomicity::ContinueOnError as i32;
        let updates = std::mem::take(&mut request.updates);
        let parts: Vec<_> =
            if alone { updates.into_iter().map(|update| vec![update]).collect() } else { vec![updates] };
        for updates in parts {
            self.write_part(&mut state, &proto::WriteRequest { updates, ..request.clone() }, heard);
        }
    }

    /// Carries out updates of which all or none are applied.
    fn write_part(&self, state: &mut State, request: &proto::WriteRequest, heard: &mut Outcome) {
        let before = self.everything(state);
        let applied = service::apply(state, &self.device, request);
        if applied.as_ref().is_err() || applied.iter().flatten().any(Result::is_err) {
            let after = self.everything(state);
            let differs = after.iter().zip(&before).find(|(after, before)| after != before);
            let same = after.len() == before.len() && differs.is_none();
            assert!(same, "{applied:?}: a request that is refused changes nothing; {differs:?}");
        }
        self.step();
        match applied {
            Ok(results) => {
                let complete = results.len() == request.updates.len() || results.last().is_some_and(Result::is_err);
                assert!(complete, "a result for each update, up to the one that is refused");
                heard.updates += results.len() as u64;
                for failure in results.into_iter().filter_map(Result::err) {
                    assert!(!failure.message.is_empty(), "refused without a reason");
                    heard.refused += 1;
                }
            }
            Err(failure) => assert!(!failure.message.is_empty(), "refused without a reason"),
        }
    }

    /// All entries of all tables, in order, but for large arrays.
    fn everything(&self, state: &mut State) -> Vec<Vec<u8>> {
        let read = |table: &&Table| match table.object {
            Object::Counter | Object::Meter(_) | Object::Register | Object::PortMetadata { .. } => table.size <= 64,
            _ => true,
        };
        let schema = state.schema.clone();
        let all = schema.tables.iter().filter(read).flat_map(|table| {
            let all = proto::TableEntry { table_id: table.id, table_flags: FROM_HARDWARE, ..Default::default() };
            let default = matches!(table.object, Object::Match { .. })
                .then(|| proto::TableEntry { is_default_entry: true, ..all.clone() });
            [all].into_iter().chain(default).map(of)
        });
        let found = all.flat_map(|all| self.found(state, &all));
        found.map(|entity| proto::Entity { entity: Some(entity) }.encode_to_vec()).collect()
    }

    /// What is found in the device's pipe, if it has the table.
    fn found(&self, state: &mut State, asked: &proto::Entity) -> Vec<Entity> {
        match read::find(state, &self.device, PIPE, asked) {
            Ok(found) => found,
            // No pipe shares the entries of the table, as its scope says.
            Err(failure) if matches!(failure.code, Code::NotFound | Code::InvalidArgument) => Vec::new(),
            Err(failure) => panic!("{}", failure.message),
        }
    }

    fn set_program(&self, request: &[u8], heard: &mut Outcome) {
        let Ok(mut request) = proto::SetForwardingPipelineConfigRequest::decode(request) else { return };
        let Ok(action) = Action::try_from(request.action) else { return };
        for profile in request.config.iter_mut().flat_map(|config| &mut config.profiles) {
            if profile.binary.first() == Some(&b' ') {
                profile.binary = self.program.into();
            }
        }
        match service::configure(&self.state, &self.device, action, &request.config) {
            Err(failure) => assert!(!failure.message.is_empty(), "refused without a reason"),
            Ok(()) => heard.programs += 1,
        }
        self.step();
        if self.device.device_config().is_ok_and(|runs| runs != self.program) {
            self.everything(&mut self.state());
            self.device
                .replace_program(self.program.as_bytes())
                .unwrap_or_else(|failure| panic!("{}", failure.message));
            self.step();
        }
    }

    fn read(&self, request: &[u8], heard: &mut Outcome) {
        let Ok(mut request) = proto::ReadRequest::decode(request) else { return };
        let mut state = self.state();
        for asked in request.entities.iter_mut().take(UPDATES) {
            if let Some(entity) = asked.entity.as_mut() {
                repair(&state, entity);
            }
            match read::find(&mut state, &self.device, PIPE, asked) {
                Ok(found) => {
                    heard.found += found.len() as u64;
                    found.iter().take(UPDATES).for_each(|entity| self.find_again(&mut state, entity));
                }
                Err(failure) => assert!(!failure.message.is_empty(), "refused without a reason"),
            }
        }
    }

    /// An entry that was found is found by its key.
    fn find_again(&self, state: &mut State, entity: &Entity) {
        let Entity::TableEntry(entry) = entity else { return };
        if entry.is_default_entry || key_fields(entry).is_empty() {
            return;
        }
        let asked = proto::TableEntry {
            table_id: entry.table_id,
            value: entry.value.clone(),
            table_flags: FROM_HARDWARE,
            ..Default::default()
        };
        let again =
            read::find(state, &self.device, PIPE, &of(asked)).unwrap_or_else(|failure| panic!("{}", failure.message));
        let keys: Vec<_> = again.iter().map(|e| if let Entity::TableEntry(e) = e { &e.value } else { &None }).collect();
        assert_eq!(keys, [&entry.value], "an entry is found by its key");
    }

    /// Deletes all entries that there are, each by its key; returns how many there were.
    fn delete_all(&self) -> u64 {
        let schema = self.state().schema.clone();
        let mut count = 0;
        // What others refer to goes last.
        let order = |table: &&Table| match table.object {
            Object::Match { .. } | Object::Mirror => 0,
            Object::Groups { .. } | Object::MulticastGroups => 1,
            Object::MulticastEcmps => 2,
            _ => 3,
        };
        let mut tables: Vec<&Table> = schema.tables.iter().collect();
        tables.sort_by_key(order);
        for table in tables {
            let all = proto::TableEntry { table_id: table.id, table_flags: FROM_HARDWARE, ..Default::default() };
            let find = |state: &mut State| self.found(state, &of(all.clone()));
            if matches!(
                table.object,
                Object::Counter | Object::Meter(_) | Object::Register | Object::RegisterParam | Object::Device
            ) || matches!(table.object, Object::HashFields(_) | Object::HashAlgorithm(_) | Object::PortNames(_))
            {
                continue;
            }
            // Entries that are always there.
            let fixed = if table.object == Object::Pruning { table.size as usize } else { 0 };
            let found = find(&mut self.state());
            count += (found.len() - fixed) as u64;
            for entity in found {
                let Entity::TableEntry(entry) = entity else { panic!("a table has entries") };
                if fixed > 0 && is_empty(&entry) {
                    continue;
                }
                let removed = proto::TableEntry { table_id: table.id, value: entry.value, ..Default::default() };
                self.carry_out(update::Type::Delete, removed);
            }
            assert_eq!(find(&mut self.state()).len(), fixed, "`{}` has entries after all were deleted", table.name);
            if let Object::Match { .. } = table.object
                && !table.const_default
            {
                let default = proto::TableEntry { table_id: table.id, is_default_entry: true, ..Default::default() };
                self.carry_out(update::Type::Reset, default);
            }
        }
        count
    }

    fn step(&self) {
        self.worker.lock().unwrap_or_else(std::sync::PoisonError::into_inner).step();
    }

    fn carry_out(&self, kind: update::Type, entry: proto::TableEntry) {
        let update = proto::Update { r#type: kind as i32, entity: Some(of(entry)) };
        let mut state = self.state();
        let target = Some(proto::TargetDevice { pipe_id: PIPE, ..Default::default() });
        let request = proto::WriteRequest { updates: vec![update], target, ..Default::default() };
        let results = service::apply(&mut state, &self.device, &request);
        self.step();
        let failure = results.unwrap_or_else(|failure| vec![Err(failure)]).into_iter().find_map(Result::err);
        assert!(failure.is_none(), "{failure:?}: {request:?}");
    }
}

/// Whether an entry that is a list has nothing.
fn is_empty(entry: &proto::TableEntry) -> bool {
    let list = entry.data.iter().flat_map(|data| &data.fields).next().and_then(|field| field.value.as_ref());
    matches!(list, Some(proto::data_field::Value::IntArrVal(list)) if list.val.is_empty())
}

fn of(entry: proto::TableEntry) -> proto::Entity {
    proto::Entity { entity: Some(Entity::TableEntry(entry)) }
}

/// Makes ids those of tables, and of their actions.
fn repair(state: &State, entity: &mut Entity) {
    let tables = &state.schema.tables;
    let known = |id: &mut u32| {
        if state.schema.table(*id).is_none() {
            *id = tables[*id as usize % tables.len()].id;
        }
    };
    match entity {
        Entity::TableEntry(entry) => {
            known(&mut entry.table_id);
            let Ok(table) = write::table(&state.schema, entry.table_id) else { return };
            let ids: BTreeSet<u32> = table.actions.iter().map(|action| action.id).collect();
            if let Some(data) = entry.data.as_mut().filter(|data| data.action_id != 0 && !ids.contains(&data.action_id))
                && !ids.is_empty()
            {
                data.action_id = *ids.iter().nth(data.action_id as usize % ids.len()).expect("fewer than there are");
            }
            if let Some(table_entry::Value::HandleId(_)) = entry.value {
                entry.value = None;
            }
        }
        Entity::TableUsage(usage) => known(&mut usage.table_id),
        Entity::TableAttribute(attribute) => known(&mut attribute.table_id),
        Entity::TableOperation(operation) => known(&mut operation.table_id),
        Entity::ObjectId(_) | Entity::Handle(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{DataField, KeyField, TableData, TableKey, data_field as data, key_field as key};
    use crate::schema::{Field, Key, Matching, Ty};

    /// Requests that mostly make sense. Numbers are few, so that requests meet each other's entries.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            // Xorshift, by Marsaglia.
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % bound
        }

        fn one_in(&mut self, bound: u64) -> bool {
            self.below(bound) == 0
        }

        fn of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
            let at = self.below(all.len().max(1) as u64);
            all.get(at as usize)
        }

        fn number(&mut self, bits: u32) -> Vec<u8> {
            let length = if self.one_in(50) { self.below(20) } else { u64::from(bits.div_ceil(8)) };
            let mut bytes = vec![0; length as usize];
            let value = match self.below(8) {
                0 => self.below(1 << 16),
                1 => 68,
                2 => 16 * self.below(80),
                _ => self.below(4),
            };
            bytes.iter_mut().rev().zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
            if self.one_in(30) {
                bytes.fill(0xff);
            }
            bytes
        }

        fn key(&mut self, key: &Key) -> KeyField {
            let bits = key.ty.bits();
            let matching = match self.one_in(60) {
                true => Matching::Lpm,
                false => key.matching,
            };
            let value = self.number(bits);
            let match_type = match matching {
                Matching::Exact => key::MatchType::Exact(key::Exact { value }),
                Matching::Lpm => {
                    let prefix_len = self.below(u64::from(bits) + 2) as i32 - i32::from(self.one_in(20));
                    key::MatchType::Lpm(key::Lpm { value, prefix_len })
                }
                Matching::Ternary => key::MatchType::Ternary(key::Ternary { value, mask: self.number(bits) }),
                Matching::Range => key::MatchType::Range(key::Range { low: value, high: self.number(bits) }),
                Matching::Optional => key::MatchType::Optional(key::Optional { value, is_valid: !self.one_in(3) }),
            };
            KeyField { field_id: key.id, match_type: Some(match_type).filter(|_| !self.one_in(60)) }
        }

        fn field(&mut self, field: &Field) -> DataField {
            let other = if self.one_in(50) { self.below(7) } else { 7 };
            let numbers = |this: &mut Random| (0..this.below(4)).map(|_| this.below(6) as u32).collect();
            let value = match (other, field.ty, field.repeated) {
                (0, ..) | (7, Ty::Bool, true) => {
                    data::Value::BoolArrVal(data::BoolArray { val: (0..self.below(4)).map(|n| n != 1).collect() })
                }
                (1, ..) | (7, _, true) => data::Value::IntArrVal(data::IntArray { val: numbers(self) }),
                (2, ..) | (7, Ty::Bool, _) => data::Value::BoolVal(!self.one_in(3)),
                (3, ..) | (7, Ty::Float, _) => data::Value::FloatVal(self.below(1000) as f32 - 1.0),
                (4, ..) => data::Value::StrVal("?".into()),
                (_, Ty::Text(choices), _) => data::Value::StrVal(self.of(choices).copied().unwrap_or("").into()),
                (_, ty, _) if ty.bits() > 1000 => data::Value::Stream(vec![0xab; 16 * self.below(5) as usize]),
                (_, ty, _) => data::Value::Stream(self.number(ty.bits())),
            };
            DataField { field_id: field.id, value: Some(value).filter(|_| !self.one_in(60)) }
        }

        fn entry(&mut self, schema: &crate::schema::Schema) -> proto::TableEntry {
            let table = self.of(&schema.tables).expect("there are tables").clone();
            let keyless = self.one_in(10);
            let fields = table.keys.iter().filter(|_| !keyless).map(|key| self.key(key)).collect();
            let action = self.of(&table.actions).filter(|_| !table.actions.is_empty()).cloned();
            let action = action.filter(|_| !self.one_in(8));
            // Members and groups exclude each other, and so on.
            let share = 1 + self.below(4);
            let own = action.iter().flat_map(|action| action.data.clone()).collect::<Vec<_>>();
            let common = table.data.iter().filter(|_| self.one_in(share)).cloned().collect::<Vec<_>>();
            let data = TableData {
                action_id: action.map_or(0, |action| action.id),
                fields: own.iter().chain(&common).map(|field| self.field(field)).collect(),
            };
            proto::TableEntry {
                table_id: table.id,
                value: Some(table_entry::Value::Key(TableKey { fields })),
                data: Some(data).filter(|_| !self.one_in(8)),
                is_default_entry: self.one_in(16),
                table_flags: Some(proto::TableFlags { mod_del: self.one_in(2), ..Default::default() }),
                ..Default::default()
            }
        }

        /// A request with its head.
        fn request(&mut self, schema: &crate::schema::Schema) -> Vec<u8> {
            let read = self.one_in(5);
            let count = 1 + self.below(5);
            let entries = (0..count).map(|_| self.entry(schema)).collect::<Vec<_>>();
            let bytes = match read {
                true => proto::ReadRequest { entities: entries.into_iter().map(of).collect(), ..Default::default() }
                    .encode_to_vec(),
                false => {
                    let updates = entries.into_iter().map(|entry| {
                        // Most are inserted.
                        let kind = if self.one_in(2) { 1 } else { self.below(8) as i32 };
                        proto::Update { r#type: kind, entity: Some(of(entry)) }
                    });
                    let updates = updates.collect();
                    let atomicity = self.below(3) as i32;
                    let pipe_id = if self.one_in(4) { self.below(5) as u32 } else { write::ALL_PIPES };
                    let target = Some(proto::TargetDevice { pipe_id, ..Default::default() });
                    proto::WriteRequest { updates, atomicity, target, ..Default::default() }.encode_to_vec()
                }
            };
            let [.., high, low] = bytes.len().to_be_bytes();
            [&[u8::from(read), high, low], bytes.as_slice()].concat()
        }
    }

    /// This many sequences of requests, by the variable `HOPWRIGHT_REQUESTS`.
    #[test]
    fn random_requests_leave_nothing_behind() {
        let controller = Controller::new(include_str!("../tests/router.p4"));
        let schema = controller.state().schema.clone();
        let count = std::env::var("HOPWRIGHT_REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(100);
        let mut all = Outcome::default();
        for seed in 1..=count {
            let mut random = Random(seed);
            let requests = (0..20).flat_map(|_| random.request(&schema)).collect::<Vec<_>>();
            let heard = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| controller.requests(&requests)));
            let heard = heard.unwrap_or_else(|_| panic!("seed {seed}"));
            all.updates += heard.updates;
            all.refused += heard.refused;
            all.found += heard.found;
            all.entries += heard.entries;
        }
        assert!(all.updates - all.refused > count && all.found > count && all.entries > count, "{all:?}");
    }
}
