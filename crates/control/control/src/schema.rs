//! The objects of a program by their ids, and what may be written to each.

pub(crate) mod objects;

use std::collections::HashMap;

use hopwright_ir::{ActionCall, TableId};

use crate::annotation::AnnotationError;
use crate::entity::Call;
use crate::error::{Result, invalid};
use crate::rules::Rules;
use crate::translation::{Translated, TranslatedType};

pub(crate) use objects::fits;
pub use objects::{Action, Array, Field, Named, Param, Profile, Register, Table, Use, ValueSet, object};

/// A program's objects by their ids.
#[derive(Debug, Default)]
pub struct Schema {
    /// By id.
    pub tables: HashMap<u32, Table>,
    /// Ids of tables, in the pipeline's order; zero for tables without one.
    pub table_ids: Vec<u32>,
    /// Indirect counters by id.
    pub counters: HashMap<u32, Array>,
    /// Registers by id.
    pub registers: HashMap<u32, Register>,
    /// Indirect meters by id.
    pub meters: HashMap<u32, Array>,
    /// Action profiles and selectors by id.
    pub action_profiles: HashMap<u32, Profile>,
    /// Value sets by id.
    pub value_sets: HashMap<u32, ValueSet>,
    /// Digests by name of their type.
    pub digests: HashMap<String, u32>,
    /// Types whose values are translated; positions are in fields and parameters.
    pub translated_types: Vec<TranslatedType>,
    /// The parameters of translated types of actions, by the actions' ids: their ids, types and names.
    pub(crate) translated_params: HashMap<u32, Vec<(u32, usize, String)>>,
    /// What annotations demand of entries.
    pub(crate) rules: Rules,
}

impl Schema {
    /// Leaves out objects whose ids do not satisfy a condition.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.tables.retain(|id, _| keep(*id));
        self.table_ids.iter_mut().filter(|id| !keep(**id)).for_each(|id| *id = 0);
        self.tables.values_mut().for_each(|table| table.actions.retain(|action| keep(action.id)));
        self.counters.retain(|id, _| keep(*id));
        self.registers.retain(|id, _| keep(*id));
        self.meters.retain(|id, _| keep(*id));
        self.action_profiles.retain(|id, _| keep(*id));
        self.value_sets.retain(|id, _| keep(*id));
        self.digests.retain(|_, id| keep(*id));
    }

    /// Reads what annotations demand of entries. Everything else is there already.
    ///
    /// # Errors
    /// The first annotation that is wrong.
    pub fn complete(&mut self) -> std::result::Result<(), AnnotationError> {
        for action in self.tables.values().flat_map(|t| &t.actions) {
            let params = action.params.iter().filter_map(|p| Some((p.id, p.translated?, p.name.clone())));
            let params: Vec<_> = params.collect();
            if !params.is_empty() {
                self.translated_params.insert(action.id, params);
            }
        }
        self.rules = Rules::new(&self.ordered_tables().collect::<Vec<_>>(), &self.translated_types)?;
        Ok(())
    }

    /// Finds a table by id.
    ///
    /// # Errors
    /// No table has this id.
    pub fn table(&self, id: u32) -> Result<&Table> {
        object(&self.tables, id, "table")
    }

    /// The table at this place of the pipeline.
    pub fn table_at(&self, at: TableId) -> Option<&Table> {
        self.tables.get(self.table_ids.get(at.index())?)
    }

    /// Tables in the pipeline's order.
    pub fn ordered_tables(&self) -> impl Iterator<Item = &Table> {
        self.table_ids.iter().filter_map(|id| self.tables.get(id))
    }

    /// The parameter of an action, whichever table has it. This takes some time.
    pub fn param(&self, action: u32, param: u32) -> Option<&Param> {
        let action = self.tables.values().flat_map(|t| &t.actions).find(|a| a.id == action)?;
        action.params.iter().find(|p| p.id == param)
    }

    /// The place of an argument in a translated type.
    pub fn translated_param(&self, action: u32, param: u32) -> Option<Translated<'_>> {
        let params = self.translated_params.get(&action)?;
        let (_, ty, name) = params.iter().find(|(id, ..)| *id == param)?;
        Some(Translated { ty: *ty, whole: true, name })
    }

    /// The place of a port in a translated type.
    pub fn translated_port(&self) -> Option<Translated<'_>> {
        let ty = self.translated_types.iter().position(|ty| ty.port)?;
        Some(Translated { ty, whole: true, name: "port" })
    }

    /// The same if controllers have numbers for ports that the data plane has others for.
    pub fn renumbered_port(&self) -> Option<Translated<'_>> {
        self.translated_port().filter(|place| self.translated_types[place.ty].sdn_width.is_some())
    }

    /// The call of an action in a member of an action profile. Tables that share the profile may list different actions.
    pub(crate) fn member_call(&self, profile: &Profile, call: &Call) -> Result<ActionCall> {
        let mut refused = invalid(format!("no table uses `{}`", profile.name));
        for table in profile.tables.iter().filter_map(|id| self.tables.get(id)) {
            match table.call(call, Use::Entry) {
                Ok(call) => return Ok(call),
                Err(reason) => refused = reason,
            }
        }
        Err(refused)
    }
}
