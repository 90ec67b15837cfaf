//! What a device with a program holds: the control model. One lock guards it, so that the writes of all controllers are serialised.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hopwright_control::{Model, Schema, Translate, Update};
use hopwright_dataplane::VirtualDataPlane;

use crate::codec;
use crate::failure::{Result, invalid};
use crate::program::Program;
use crate::proto::v1;
use crate::role::{Rights, p4_id};

/// What a batch consists of.
#[derive(Clone, Debug)]
pub enum Write {
    /// An update.
    Update(v1::Update),
    /// Sets the cell of an entry in a register that has a cell for each entry of the entry's table.
    EntryRegister {
        /// The entry: its table, matches and priority.
        entry: v1::TableEntry,
        /// The register.
        register_id: u32,
        /// The value.
        data: v1::P4Data,
    },
    /// Gives a cell of an extern object a setting; see [`hopwright_dataplane::externs::NativeExtern::control`].
    Setting {
        /// The object.
        object: u32,
        /// The cell.
        cell: Cell,
        /// The setting.
        data: Vec<u8>,
    },
}

/// A cell of an extern object.
#[derive(Clone, Debug)]
pub enum Cell {
    /// At an index.
    Index(u64),
    /// At the index of this entry.
    Entry(Box<v1::TableEntry>),
}

impl Write {
    /// The id of the object that it writes, for rights.
    fn object(&self) -> Result<Option<u32>> {
        match self {
            Write::Update(update) => {
                let entity = update.entity.as_ref().and_then(|e| e.entity.as_ref());
                Ok(p4_id(entity.ok_or_else(|| invalid("the update has no entity"))?))
            }
            Write::EntryRegister { register_id, .. } => Ok(Some(*register_id)),
            Write::Setting { object, .. } => Ok(Some(*object)),
        }
    }
}

/// A device's program with everything that controllers have written.
pub(crate) struct State {
    /// The number of the program's run ([`crate::Running`]).
    pub generation: u64,
    pub program: Program,
    pub model: Model,
}

/// The number of the next program that a device runs.
static GENERATION: AtomicU64 = AtomicU64::new(1);

impl State {
    /// The initial state of a program.
    pub(crate) fn new(program: Program, vdp: Arc<VirtualDataPlane>) -> State {
        let model = Model::new(program.schema.model.clone(), vdp);
        State { generation: GENERATION.fetch_add(1, Ordering::Relaxed), program, model }
    }

    /// Applies each write, independently of the others.
    pub(crate) fn write_each(&mut self, writes: &[Write], rights: &Rights) -> Vec<Result<()>> {
        self.model.write_each(writes, |schema, translate, write| decode(schema, translate, write, rights))
    }

    /// Applies all writes or none. `last` is done when they have been applied; if it fails they are undone.
    pub(crate) fn write_all(
        &mut self,
        writes: &[Write],
        rights: &Rights,
        last: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Result<()>>> {
        self.model.write_all(writes, |schema, translate, write| decode(schema, translate, write, rights), last)
    }
}

fn decode(schema: &Schema, translate: &mut Translate<'_>, write: &Write, rights: &Rights) -> Result<Update> {
    rights.check_write(write.object()?)?;
    codec::write(schema, translate, write)
}

#[cfg(test)]
mod tests;
