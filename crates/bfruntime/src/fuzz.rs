//! A fuzz target: any bytes as requests of a controller.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hopwright_dataplane::{FrameSize, SwitchBuilder, Worker};
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Device, EnginePolicy, Program};
use prost::Message as _;

use crate::proto::{self, entity::Entity, table_entry, update, write_request::Atomicity};
use crate::schema::{Object, Table};
use crate::service;
use crate::state::State;
use crate::write::key_fields;
use crate::{read, write};

/// A request's kind, and its length in two bytes.
const HEAD: usize = 3;
/// The most updates of a request that are carried out.
const UPDATES: usize = 16;

/// A device without ports, and its controller.
pub struct Controller {
    device: Device,
    state: Mutex<State>,
    /// Takes up changes of packet generators.
    worker: Mutex<Worker>,
}

/// What became of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Updates.
    pub updates: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Entries that were found by reads.
    pub found: u64,
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
        let program = Program::from_config(&config).unwrap_or_else(|failure| panic!("{}", failure.message));
        let vdp = program.data_plane(EnginePolicy::Interp).unwrap_or_else(|failure| panic!("{}", failure.message));
        let (switch, worker) = SwitchBuilder::new(vdp).pool(0, FrameSize::for_mtu(68)).build().expect("a switch");
        let tenant = switch.default_tenant().clone();
        let device = Device::new(0, tenant, EnginePolicy::Interp).with_program(program);
        Controller { device, state: Mutex::default(), worker: Mutex::new(worker) }
    }

    /// Requests one behind the other, each behind its kind (odd: a read) and its length. Ids of tables and actions that there are
    /// not are made some that there are. What is refused has a reason, an entry that is found is found by its key, and once all
    /// entries are deleted there are none.
    ///
    /// # Panics
    /// If this is not so.
    pub fn requests(&self, data: &[u8]) -> Heard {
        let mut heard = Heard::default();
        let mut rest = data;
        while let Some((head, more)) = rest.split_at_checked(HEAD) {
            let length = usize::from(u16::from_be_bytes([head[1], head[2]]));
            let (request, more) = more.split_at(length.min(more.len()));
            rest = more;
            if head[0] & 1 == 0 {
                self.write(request, &mut heard);
            } else {
                self.read(request, &mut heard);
            }
        }
        heard.entries = self.delete_all();
        heard
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        service::refresh(&self.state, &self.device, "").unwrap_or_else(|failure| panic!("{}", failure.message))
    }

    fn write(&self, request: &[u8], heard: &mut Heard) {
        let Ok(mut request) = proto::WriteRequest::decode(request) else { return };
        let mut state = self.state();
        request.updates.truncate(UPDATES);
        for entity in request.updates.iter_mut().filter_map(|u| u.entity.as_mut()?.entity.as_mut()) {
            repair(&state, entity);
        }
        if request.atomicity == Atomicity::DataplaneAtomic as i32 {
            // The worker runs only when it is told to.
            request.atomicity = Atomicity::RollbackOnError as i32;
        }
        let applied = service::apply(&mut state, &self.device, &request);
        self.step();
        match applied {
            Ok(results) => {
                assert_eq!(results.len(), request.updates.len(), "a result for each update");
                heard.updates += results.len() as u64;
                for failure in results.into_iter().filter_map(Result::err) {
                    assert!(!failure.message.is_empty(), "refused without a reason");
                    heard.refused += 1;
                }
            }
            Err(failure) => assert!(!failure.message.is_empty(), "refused without a reason"),
        }
    }

    fn read(&self, request: &[u8], heard: &mut Heard) {
        let Ok(mut request) = proto::ReadRequest::decode(request) else { return };
        let state = self.state();
        for asked in request.entities.iter_mut().take(UPDATES) {
            if let Some(entity) = asked.entity.as_mut() {
                repair(&state, entity);
            }
            match read::find(&state, &self.device, asked) {
                Ok(found) => {
                    heard.found += found.len() as u64;
                    found.iter().take(UPDATES).for_each(|entity| self.find_again(&state, entity));
                }
                Err(failure) => assert!(!failure.message.is_empty(), "refused without a reason"),
            }
        }
    }

    /// An entry that was found is found by its key.
    fn find_again(&self, state: &State, entity: &Entity) {
        let Entity::TableEntry(entry) = entity else { return };
        if entry.is_default_entry || key_fields(entry).is_empty() {
            return;
        }
        let asked = proto::TableEntry { table_id: entry.table_id, value: entry.value.clone(), ..Default::default() };
        let again = read::find(state, &self.device, &of(asked)).unwrap_or_else(|failure| panic!("{}", failure.message));
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
            let state = self.state();
            let all = of(proto::TableEntry { table_id: table.id, ..Default::default() });
            let find = |state: &State| {
                read::find(state, &self.device, &all).unwrap_or_else(|failure| panic!("{}", failure.message))
            };
            if matches!(
                table.object,
                Object::Counter | Object::Meter(_) | Object::Register | Object::PortMetadata { .. }
            ) {
                continue;
            }
            let found = find(&state);
            drop(state);
            count += found.len() as u64;
            for entity in found {
                let Entity::TableEntry(entry) = entity else { panic!("a table has entries") };
                let said = proto::TableEntry { table_id: table.id, value: entry.value, ..Default::default() };
                self.carry_out(update::Type::Delete, said);
            }
            assert_eq!(find(&self.state()).len(), 0, "`{}` has entries after all were deleted", table.name);
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
        let request = proto::WriteRequest { updates: vec![update], ..Default::default() };
        let results = service::apply(&mut state, &self.device, &request);
        self.step();
        let failure = results.unwrap_or_else(|failure| vec![Err(failure)]).into_iter().find_map(Result::err);
        assert!(failure.is_none(), "{failure:?}: {request:?}");
    }
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
