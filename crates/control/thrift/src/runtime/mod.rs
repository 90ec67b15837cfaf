//! What BMv2's runtime interface can do, as updates of the control model: typed functions, which the services and command files call.
//!
//! It holds what BMv2 has and the model has not: handles of entries, nodes of multicast groups, members as default entries.

mod arrays;
mod handles;
mod profiles;
mod replication;
mod tables;
mod value_sets;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use hopwright_control::entity::{CloneSession, Replica};
use hopwright_control::{Entity, Error, ErrorKind, Operation, Schema, SharedModel, Update};
use hopwright_dataplane::{Control, VirtualDataPlane};
use hopwright_ir::{ExternKind, P4Id, Pipeline, TableId};

use crate::failure::{Failure, IdCode, MirroringCode, Result, TableCode};
use crate::json;
pub(crate) use arrays::MeterRate;
use handles::Handles;
use replication::Replication;
pub(crate) use tables::{Entry, EntryAction, MatchParam};

/// A running program as BMv2's clients see it.
pub(crate) struct Runtime {
    model: SharedModel,
    /// That of the model.
    schema: Arc<Schema>,
    vdp: Arc<VirtualDataPlane>,
    /// By table.
    handles: Vec<Handles>,
    replication: Replication,
    /// Members of action profiles whose action is a table's default action.
    default_members: BTreeMap<TableId, u32>,
    config: String,
}

/// What a client asks an id for: `BmResourceType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Table,
    ActionProfile,
    Counter,
    Meter,
    Register,
    LearningList,
}

impl Runtime {
    /// The program with the state that it has. Entries that are there have handles in the order in which they were inserted.
    pub(crate) fn new(model: SharedModel) -> Runtime {
        let (schema, vdp) = {
            let model = model.lock();
            (model.schema().clone(), model.vdp().clone())
        };
        let mut handles: Vec<Handles> = vdp.pipeline().tables.iter().map(|_| Handles::default()).collect();
        for (at, handles) in handles.iter_mut().enumerate() {
            handles.sync(vdp.control()[TableId(at as u32)].entries());
        }
        Runtime {
            config: json::of(vdp.pipeline()).to_string(),
            model,
            schema,
            vdp,
            handles,
            replication: Replication::default(),
            default_members: BTreeMap::new(),
        }
    }

    /// Whether it is of this model.
    pub(crate) fn is_of(&self, model: &SharedModel) -> bool {
        self.model.is(model)
    }

    /// Makes an update.
    fn write(&self, operation: Operation, entity: Entity) -> std::result::Result<(), Error> {
        self.model.lock().make_updates(&[Update { operation, entity }])
    }

    /// The object of this name, or the only one whose name ends in it after a dot, with its id.
    fn object<'s, T>(&self, objects: &'s HashMap<u32, T>, name: &str) -> Option<(u32, &'s T)> {
        let P4Id(id) = self.pipeline()[self.pipeline().extern_by_name(name)?].id?;
        Some((id, objects.get(&id)?))
    }

    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        self.vdp.pipeline()
    }

    fn control(&self) -> &Control {
        self.vdp.control()
    }

    /// The JSON description of the program.
    pub(crate) fn config(&self) -> &str {
        &self.config
    }

    /// The id of an object in the JSON description.
    pub(crate) fn id_of(&self, resource: Resource, name: &str) -> Result<i32> {
        let pipeline = self.pipeline();
        let unknown = || IdCode::InvalidName.because(format!("the program has no {resource:?} `{name}`"));
        if resource == Resource::Table {
            return Ok(pipeline.table_by_name(name).ok_or_else(unknown)?.0 as i32);
        }
        let lists = |kind: &ExternKind| match resource {
            Resource::ActionProfile => json::is_profile(kind),
            Resource::Counter => json::is_counter(kind),
            Resource::Meter => json::is_meter(kind),
            Resource::Register => json::is_register(kind),
            Resource::Table | Resource::LearningList => false,
        };
        let id = match pipeline.extern_by_name(name) {
            Some(found) => json::externs(pipeline, lists).find(|(_, at, _)| *at == found).map(|(id, ..)| id),
            None => return self.learn_list(name).filter(|_| resource == Resource::LearningList).ok_or_else(unknown),
        };
        id.map(|id| id as i32).ok_or_else(unknown)
    }

    /// The id of the list of a digest.
    pub(crate) fn learn_list(&self, digest: &str) -> Option<i32> {
        let (_, id) = json::digests(self.pipeline()).zip(json::FIRST_LIST..).find(|(list, _)| list.name == digest)?;
        Some(id)
    }

    /// Sets a clone session, which BMv2 calls mirroring session.
    pub(crate) fn set_mirroring(&self, id: i32, port: Option<i32>, group: Option<i32>) -> Result<()> {
        let no = |number: i32, what: &str| MirroringCode::NotFound.because(format!("{number} is no {what}"));
        let port = port.map(|port| u32::try_from(port).map_err(|_| no(port, "port"))).transpose()?;
        let group = group.map(|group| u16::try_from(group).map_err(|_| no(group, "multicast group"))).transpose()?;
        let copies = port.map(|port| Replica { port, ..Replica::default() }).into_iter().collect();
        let there = self.model.lock().clone_sessions().contains_key(&(id as u32));
        let operation = if there { Operation::Modify } else { Operation::Insert };
        let session = CloneSession { copies, group, max_length: 0 };
        self.write(operation, Entity::CloneSession(id as u32, session)).map_err(|e| MirroringCode::NotFound.because(e))
    }

    /// Removes a clone session.
    pub(crate) fn delete_mirroring(&self, id: i32) -> Result<()> {
        let session = Entity::CloneSession(id as u32, CloneSession::default());
        self.write(Operation::Delete, session).map_err(|e| MirroringCode::NotFound.because(e))
    }

    /// The port and the multicast group of a clone session. A session with several copies, which a P4Runtime controller wrote, has no port.
    pub(crate) fn mirroring(&self, id: i32) -> Result<(Option<u32>, Option<u16>)> {
        let unknown = || MirroringCode::NotFound.because(format!("there is no clone session {id}"));
        let model = self.model.lock();
        let session = model.clone_sessions().get(&(id as u32)).ok_or_else(unknown)?;
        let port = if let [only] = session.copies[..] { Some(only.port) } else { None };
        Ok((port, session.group))
    }

    /// Brings the program's state to what it was at first, except clone sessions, as BMv2 does. Constant entries stay.
    pub(crate) fn reset(&mut self) -> Result<()> {
        let pipeline = self.pipeline().clone();
        for at in (0..pipeline.tables.len() as u32).map(TableId) {
            let model = &pipeline[at];
            if !model.const_entries {
                self.clear_table(at)?;
            }
            self.reset_default(at)?;
        }
        for (_, _, instance) in json::externs(&pipeline, |_| true).filter(|(_, _, instance)| instance.id.is_some()) {
            self.reset_object(instance)?;
        }
        for set in pipeline.value_sets.iter().filter(|set| set.id.is_some()) {
            self.value_set_clear(&set.name)?;
        }
        self.replication_reset()
    }
}

/// A refused update of a table or action profile as its exception. `missing`: the code if there is not what the update needs.
fn of_table(missing: TableCode) -> impl Fn(Error) -> Failure {
    move |error| {
        match error.kind {
            ErrorKind::NotFound => missing,
            ErrorKind::AlreadyExists => TableCode::DuplicateEntry,
            ErrorKind::ResourceExhausted => TableCode::Full,
            ErrorKind::PermissionDenied => TableCode::ImmutableEntries,
            ErrorKind::OutOfRange => TableCode::BadActionData,
            ErrorKind::InvalidArgument => TableCode::BadMatchKey,
            _ => TableCode::Error,
        }
        .because(error)
    }
}
