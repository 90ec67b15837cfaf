//! Finds the values of translated types that are written anywhere, so that others can be given again.

use std::collections::HashSet;

use hopwright_ir::{ActionCall, MatchValue};
use num_bigint::BigUint;

use crate::model::Model;
use crate::schema::{Field, Table};

/// Values by their types' positions in the schema.
type Used = HashSet<(usize, BigUint)>;

impl Model {
    /// The values of translated types that are written anywhere.
    pub(crate) fn used(&self) -> Used {
        let mut used = Used::new();
        for table in self.schema.ordered_tables() {
            let of_table = &self.control()[table.at];
            add_call(table, &of_table.default_action(), &mut used);
            for entry in of_table.entries() {
                add_matches(&table.fields, &entry.matches, &mut used);
                let key = (table.at, entry.matches, entry.priority);
                let target = self.target(&key);
                target.iter().flat_map(|t| t.calls()).for_each(|call| add_call(table, call, &mut used));
            }
        }
        for profile in self.schema.action_profiles.values() {
            let users: Vec<&Table> = profile.tables.iter().filter_map(|id| self.schema.tables.get(id)).collect();
            let members = self.control().profile(profile.at).map(|p| p.members()).unwrap_or_default();
            for (_, call) in &members {
                users.iter().for_each(|table| add_call(table, call, &mut used));
            }
        }
        for set in self.schema.value_sets.values() {
            let members = self.control().value_set(set.at).map(|set| set.read()).unwrap_or_default();
            members.iter().for_each(|member| add_matches(&set.fields, member, &mut used));
        }
        for register in self.schema.registers.values() {
            let (Some(ty), Ok(cells)) = (register.translated, self.control().register(register.cells.at)) else {
                continue;
            };
            used.extend((0..register.cells.size).filter_map(|at| Some((ty, cells.read(at).ok()?))));
        }
        if let Some(port) = self.schema.translated_port() {
            let copies = self.groups.values().map(|g| &g.copies).chain(self.sessions.values().map(|s| &s.copies));
            let typed = copies.flatten().filter(|copy| copy.port_is_typed);
            used.extend(typed.map(|copy| (port.ty, copy.port.into())));
        }
        used
    }
}

fn add_matches(fields: &[Field], matches: &[MatchValue], used: &mut Used) {
    for field in fields {
        if let (Some(ty), Some(value)) = (field.translated, matches.get(field.key).and_then(|m| field.whole(m))) {
            used.insert((ty, value.clone()));
        }
    }
}

fn add_call(table: &Table, call: &ActionCall, used: &mut Used) {
    let Some(action) = table.actions.iter().find(|a| a.at == call.action) else { return };
    let args = action.params.iter().zip(&call.args);
    used.extend(args.filter_map(|(param, value)| Some((param.translated?, value.clone()))));
}
