//! What BMv2's runtime interface can do, over the control interface of a data plane: typed functions, which the services and command
//! files call.
//!
//! It holds what BMv2 has and a data plane has not: handles of entries, nodes of multicast groups, when entries were last hit.

mod arrays;
mod handles;
mod idle;
mod profiles;
mod replication;
mod tables;
mod value_sets;

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_dataplane::{CloneSession, Control, VirtualDataPlane};
use hopwright_ir::entry::EntryError;
use hopwright_ir::{ExternKind, Pipeline, TableId};

use crate::failure::{Failure, IdCode, MirroringCode, Result, TableCode};
use crate::json;
pub(crate) use arrays::MeterRate;
use handles::Handles;
use idle::IdleTimes;
use replication::Replication;
pub(crate) use tables::{Entry, EntryAction, MatchParam};

/// The highest number of a clone session.
const MAX_SESSION: u32 = 0x7fff;

/// A running program as BMv2's clients see it.
pub(crate) struct Runtime {
    vdp: Arc<VirtualDataPlane>,
    /// By table.
    handles: Vec<Handles>,
    replication: Replication,
    /// Members of action profiles whose action is a table's default action.
    default_members: BTreeMap<TableId, u32>,
    idle: IdleTimes,
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
    pub(crate) fn new(vdp: Arc<VirtualDataPlane>) -> Runtime {
        let pipeline = vdp.pipeline().clone();
        let mut handles: Vec<Handles> = pipeline.tables.iter().map(|_| Handles::default()).collect();
        for (at, handles) in handles.iter_mut().enumerate() {
            handles.sync(vdp.control()[TableId(at as u32)].entries());
        }
        Runtime {
            config: json::of(&pipeline).to_string(),
            vdp,
            handles,
            replication: Replication::default(),
            default_members: BTreeMap::new(),
            idle: IdleTimes::default(),
        }
    }

    /// Whether it is of this data plane.
    pub(crate) fn is_of(&self, vdp: &Arc<VirtualDataPlane>) -> bool {
        Arc::ptr_eq(&self.vdp, vdp)
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
            None => json::digests(pipeline)
                .position(|digest| digest.name == name)
                .filter(|_| resource == Resource::LearningList),
        };
        id.map(|id| id as i32).ok_or_else(unknown)
    }

    /// Sets a clone session, which BMv2 calls mirroring session.
    pub(crate) fn set_mirroring(&self, id: i32, port: Option<i32>, group: Option<i32>) -> Result<()> {
        let session = session_number(id)?;
        let number = |number: i32, what: &str| {
            u16::try_from(number).map_err(|_| MirroringCode::NotFound.because(format!("{number} is no {what}")))
        };
        let port = port.map(|port| number(port, "port")).transpose()?;
        let group = group.map(|group| number(group, "multicast group")).transpose()?;
        let to = CloneSession { port, group, truncate: None };
        self.control().set_clone_session(session, Some(to)).map_err(|e| MirroringCode::NotFound.because(e))
    }

    /// Removes a clone session.
    pub(crate) fn delete_mirroring(&self, id: i32) -> Result<()> {
        self.mirroring(id)?;
        self.control().set_clone_session(session_number(id)?, None).map_err(|e| MirroringCode::NotFound.because(e))
    }

    /// A clone session.
    pub(crate) fn mirroring(&self, id: i32) -> Result<CloneSession> {
        let session = self.control().clone_session(session_number(id)?);
        session.ok_or_else(|| MirroringCode::NotFound.because(format!("there is no clone session {id}")))
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
        for (_, at, instance) in json::externs(&pipeline, |_| true) {
            self.reset_object(at, instance)?;
        }
        for set in &pipeline.value_sets {
            self.value_set_clear(&set.name)?;
        }
        self.replication_reset()
    }
}

fn session_number(id: i32) -> Result<u32> {
    let number = u32::try_from(id).ok().filter(|number| *number <= MAX_SESSION);
    number
        .ok_or_else(|| MirroringCode::NotFound.because(format!("clone sessions have numbers from 0 to {MAX_SESSION}")))
}

/// A refusal of the control interface as a table's exception.
fn of_table(error: hopwright_dataplane::ControlError) -> Failure {
    use hopwright_dataplane::ControlError as E;
    use hopwright_ir::profile::ProfileError as P;
    let of_entry = |reason: &EntryError| match reason {
        EntryError::Action { .. } => TableCode::InvalidActionName,
        EntryError::ArgumentCount { .. } | EntryError::ArgumentTooWide { .. } => TableCode::BadActionData,
        _ => TableCode::BadMatchKey,
    };
    let code = match &error {
        E::UnknownTable(_) => TableCode::InvalidTableName,
        E::UnknownAction(_) => TableCode::InvalidActionName,
        E::Entry { reason, .. } => of_entry(reason),
        E::Duplicate(_) => TableCode::DuplicateEntry,
        E::NotFound(_) => TableCode::InvalidHandle,
        E::Full { .. } => TableCode::Full,
        E::ConstEntries(_) => TableCode::ImmutableEntries,
        E::ConstDefault(_) => TableCode::DefaultEntryIsConst,
        E::NoDirectCounter(_) => TableCode::CountersDisabled,
        E::NoDirectMeter(_) => TableCode::MetersDisabled,
        E::UnknownExtern(_) | E::WrongExtern { .. } => TableCode::InvalidProfileName,
        E::Profile { reason, .. } => match reason {
            P::NoMember(_) => TableCode::InvalidMember,
            P::NoGroup(_) => TableCode::InvalidGroup,
            P::MemberInUse(_) => TableCode::MemberStillUsed,
            P::GroupInUse(_) => TableCode::GroupStillUsed,
            P::Full { .. } => TableCode::Full,
            P::NoSelector => TableCode::NoSelection,
            P::NoProfile => TableCode::WrongTableType,
            P::Action(reason) => of_entry(reason),
            P::OtherTable { .. } => TableCode::InvalidActionName,
            _ => TableCode::Error,
        },
        _ => TableCode::Error,
    };
    code.because(error)
}
