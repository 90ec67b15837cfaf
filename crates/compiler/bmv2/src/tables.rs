//! Match-action tables, their keys, entries and action profiles.

use std::collections::BTreeMap;

use hopwright_ir::{
    ActionCall, ActionId, ExternId, ExternInstance, ExternKind, Key, MatchKind, MatchValue, Span, Table, TableAction,
    TableEntry, TableId, Type, WrittenMatch,
};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use crate::format;
use crate::number::{self, Number, hexadecimal_bits};
use crate::operand::{text, texts};
use crate::state::VALID;
use crate::variants::Measured;
use crate::{Reader, Result, error};

/// Entries of a table whose size the file does not say, as in BMv2.
const DEFAULT_SIZE: u64 = 1024;

/// Whether a table is a call of an action: p4c makes tables of statements in controls, and calls them `tbl_`.
pub(crate) fn is_call(table: &format::Table) -> bool {
    let constant = table.default_entry.as_ref().is_some_and(|entry| entry.action_const || entry.action_entry_const);
    let plain = table.kind == "simple" && !table.with_counters && table.direct_meters.is_none();
    plain && constant && table.key.is_empty() && table.name.starts_with("tbl_") && !table.support_timeout
}

/// Where a table is in the file.
#[derive(Clone, Copy, Debug)]
struct Located<'j> {
    pipeline: usize,
    at: usize,
    table: &'j format::Table,
}

impl Located<'_> {
    fn path(&self) -> String {
        format!("pipelines[{}].tables[{}]", self.pipeline, self.at)
    }
}

impl<'j> Reader<'j> {
    /// Reads all tables that are no calls, and the actions that they have.
    pub(crate) fn read_tables(&mut self) -> Result<()> {
        let json = self.json;
        for (at, action) in json.actions.iter().enumerate() {
            if self.actions.insert(action.id, at).is_some() {
                return error(&format!("actions[{at}].id"), format!("another action has id {}", action.id));
            }
        }
        let mut places = Vec::new();
        for (pipeline, control) in json.pipelines.iter().enumerate() {
            let tables = control.tables.iter().enumerate().filter(|(_, table)| !is_call(table));
            places.extend(tables.map(|(at, table)| Located { pipeline, at, table }));
        }
        for place in &places {
            let measured = self.measured(place.table, &place.path())?;
            for action in self.actions_of(place.table, &place.path())? {
                self.note_action(action, measured);
            }
        }
        self.write_actions()?;
        places.into_iter().try_for_each(|place| self.read_table(place))
    }

    /// The direct meter of a table.
    pub(crate) fn measured(&self, table: &format::Table, path: &str) -> Result<Measured> {
        let Some(name) = &table.direct_meters else { return Ok(None) };
        let path = format!("{path}.direct_meters");
        let meter = self.object("meter_array", name, &path)?;
        let target = self.json.meter_arrays.iter().position(|m| m.name == *name);
        let Some((at, Some(target))) = target.map(|at| (at, &self.json.meter_arrays[at].result_target)) else {
            return error(&path, format!("the meter `{name}` has no `result_target`"));
        };
        Ok(Some((meter, self.field_named(target, &format!("meter_arrays[{at}].result_target"))?)))
    }

    /// The positions of the JSON actions of a table, and of its default entry.
    pub(crate) fn actions_of(&self, table: &format::Table, path: &str) -> Result<Vec<usize>> {
        let mut found = self.listed_actions(table, path)?;
        if let Some(default) = &table.default_entry {
            let at = self.action_by_id(default.action_id, &format!("{path}.default_entry.action_id"))?;
            if !found.contains(&at) {
                found.push(at);
            }
        }
        Ok(found)
    }

    fn listed_actions(&self, table: &format::Table, path: &str) -> Result<Vec<usize>> {
        if let Some(ids) = &table.action_ids {
            let ids = ids.iter().enumerate();
            return ids.map(|(at, id)| self.action_by_id(*id, &format!("{path}.action_ids[{at}]"))).collect();
        }
        let named = |(at, name): (usize, &String)| match self.json.actions.iter().position(|a| a.name == *name) {
            Some(action) => Ok(action),
            None => error(&format!("{path}.actions[{at}]"), format!("no action `{name}`")),
        };
        table.actions.iter().enumerate().map(named).collect()
    }

    fn read_table(&mut self, place: Located<'j>) -> Result<()> {
        let (table, path) = (place.table, place.path());
        let id = TableId(self.p.tables.len() as u32);
        if table.default_action.is_some() {
            return error(&format!("{path}.default_action"), "expected null: `default_entry` has the default action");
        }
        let mut keys = Vec::new();
        for (at, key) in table.key.iter().enumerate() {
            keys.push(self.read_key(key, &format!("{path}.key[{at}]"))?);
        }
        check_match_type(table, &keys, &path)?;
        let implementation = self.read_profile(&place, &mut keys, &path)?;
        let mut actions: Vec<TableAction> = Vec::new();
        for at in self.listed_actions(table, &path)? {
            let action = self.action_id(at);
            if !actions.iter().any(|known| known.action == action) {
                actions.push(TableAction { action, table_only: false, default_only: false });
            }
        }
        let default_action = match &table.default_entry {
            None => ActionCall { action: self.no_action(), args: Vec::new() },
            Some(entry) => self.action_call(entry.action_id, &entry.action_data, &format!("{path}.default_entry"))?,
        };
        let default = table.default_entry.as_ref();
        let mut model = Table {
            name: table.name.clone(),
            id: None,
            keys,
            actions,
            default_action,
            const_default_action: default.is_some_and(|entry| entry.action_const || entry.action_entry_const),
            entries: Vec::new(),
            const_entries: !table.entries.is_empty(),
            size: table.max_size.and_then(|size| u64::try_from(size).ok()).filter(|n| *n > 0).unwrap_or(DEFAULT_SIZE),
            implementation,
            direct_counter: self.direct_counter(table, id),
            direct_meter: None,
            entry_cells: Vec::new(),
            idle_timeout: table.support_timeout,
            span: Span::none(),
        };
        if let Some((meter, _)) = self.measured(table, &path)? {
            match &mut self.p.externs[meter.index()].kind {
                ExternKind::DirectMeter { table: of @ None, .. } => *of = Some(id),
                _ => return error(&format!("{path}.direct_meters"), "it is no direct meter, or another table has it"),
            }
            model.direct_meter = Some(meter);
        }
        for (at, entry) in table.entries.iter().enumerate() {
            let path = format!("{path}.entries[{at}]");
            model.entries.push(self.read_entry(entry, &model, &path)?);
        }
        self.p.tables.push(model);
        Ok(())
    }

    fn read_key(&mut self, key: &format::Key, path: &str) -> Result<Key> {
        let target_path = format!("{path}.target");
        let (header, field) = match (key.match_type.as_str(), key.target.as_str()) {
            ("valid", Some(header)) => (header, VALID),
            ("valid", None) => match key.target.get(0).filter(|_| key.target.get(1).is_none()) {
                Some(header) => (text(header, &target_path)?, VALID),
                None => texts(&key.target, &target_path).map(|[header, field]| (header, field))?,
            },
            _ => texts(&key.target, &target_path).map(|[header, field]| (header, field))?,
        };
        let width = match self.field((header, field), &target_path) {
            Ok(field) if matches!(field.ty, Type::Varbit(_)) => return error(&target_path, "a key of variable length"),
            Ok(field) => field.ty.width(),
            Err(_) if self.names.metadata.contains(header) && field == VALID => 1,
            Err(error) => return Err(error),
        };
        let mut value = self.field_value((header, field), &target_path)?;
        if let Some(mask) = &key.mask {
            let mask = hexadecimal_bits(mask, width, &format!("{path}.mask"))?;
            value = Number::binary(number::Operator::And, value, Number::constant(mask));
        }
        let kind = match key.match_type.as_str() {
            "valid" => MatchKind::Exact,
            name => match MatchKind::by_name(name) {
                Some(kind @ (MatchKind::Exact | MatchKind::Lpm | MatchKind::Ternary)) => kind,
                Some(kind @ (MatchKind::Range | MatchKind::Optional)) => kind,
                _ => return error(&format!("{path}.match_type"), format!("keys of type `{name}` are not known")),
            },
        };
        let plain = if key.match_type == "valid" { header.to_string() } else { format!("{header}.{field}") };
        let name = key.name.clone().unwrap_or(plain);
        Ok(Key { name, expr: value.low_bits(width, path)?, kind })
    }

    /// The action profile of a table; the keys of its selector become keys of the table.
    fn read_profile(&mut self, place: &Located<'j>, keys: &mut Vec<Key>, path: &str) -> Result<Option<ExternId>> {
        let table = place.table;
        let with_selector = match table.kind.as_str() {
            "simple" => return Ok(None),
            "indirect" => false,
            "indirect_ws" => true,
            other => return error(&format!("{path}.type"), format!("tables of type `{other}` are not known")),
        };
        let Some(name) = table.action_profile.as_ref().or(table.act_prof_name.as_ref()) else {
            return error(&format!("{path}.action_profile"), "an indirect table needs an action profile");
        };
        let profiles = &self.json.pipelines[place.pipeline].action_profiles;
        let (size, selector, path) = match profiles.iter().position(|profile| profile.name == *name) {
            Some(at) => {
                let path = format!("pipelines[{}].action_profiles[{at}]", place.pipeline);
                (profiles[at].max_size, profiles[at].selector.as_ref(), path)
            }
            None if table.act_prof_name.is_some() => (0, table.selector.as_ref(), path.to_string()),
            None => return error(&format!("{path}.action_profile"), format!("no action profile `{name}`")),
        };
        let kind = match (with_selector, selector) {
            (false, _) => ExternKind::ActionProfile { size },
            (true, None) => return error(&format!("{path}.selector"), "a table of this type needs a selector"),
            (true, Some(selector)) => {
                let path = format!("{path}.selector");
                for (at, input) in selector.input.iter().enumerate() {
                    keys.push(self.selector_key(input, &format!("{path}.input[{at}]"))?);
                }
                let algorithm = self.algorithm(&selector.algo, &format!("{path}.algo"))?;
                ExternKind::ActionSelector { algorithm, size, output_width: 64 }
            }
        };
        if let Some(at) = self.p.externs.iter().position(|object| object.name == *name) {
            return Ok(Some(ExternId(at as u32)));
        }
        Ok(Some(self.add_object(name, kind)))
    }

    fn selector_key(&mut self, input: &format::Operand, path: &str) -> Result<Key> {
        if input.kind != "field" {
            return error(&format!("{path}.type"), format!("expected `field`, found `{}`", input.kind));
        }
        let path = format!("{path}.value");
        let [header, field] = texts(&input.value, &path)?;
        let width = self.field((header, field), &path)?.ty.width();
        let expr = self.field_value((header, field), &path)?.low_bits(width, &path)?;
        Ok(Key { name: format!("{header}.{field}"), expr, kind: MatchKind::Selector })
    }

    pub(crate) fn add_object(&mut self, name: &str, kind: ExternKind) -> ExternId {
        self.p.externs.push(ExternInstance {
            name: name.into(),
            id: None,
            kind,
            concurrent: false,
            initial: BigUint::ZERO,
            span: Span::none(),
        });
        ExternId(self.p.externs.len() as u32 - 1)
    }

    fn direct_counter(&mut self, table: &format::Table, id: TableId) -> Option<ExternId> {
        let json = self.json;
        let bound = json.counter_arrays.iter().find(|c| c.is_direct && c.binding.as_ref() == Some(&table.name));
        let object = match bound {
            Some(counter) => *self.objects.get(&("counter_array", counter.name.as_str()))?,
            None if table.with_counters => {
                let unit = hopwright_ir::Unit::Both;
                let name = format!("{}.$counter", table.name);
                self.add_object(&name, ExternKind::DirectCounter { table: None, unit })
            }
            None => return None,
        };
        if let ExternKind::DirectCounter { table, .. } = &mut self.p.externs[object.index()].kind {
            *table = Some(id);
        }
        Some(object)
    }

    /// An action with its data.
    fn action_call(&self, id: i64, data: &[String], path: &str) -> Result<ActionCall> {
        let action = self.action_id(self.action_by_id(id, &format!("{path}.action_id"))?);
        Ok(ActionCall { action, args: self.arguments(action, data, path)? })
    }

    fn arguments(&self, action: ActionId, data: &[String], path: &str) -> Result<Vec<BigUint>> {
        let params = &self.p[action].params;
        let path = format!("{path}.action_data");
        if params.len() != data.len() {
            return error(&path, format!("the action has {} parameters, not {}", params.len(), data.len()));
        }
        let values = params.iter().zip(data).enumerate();
        values.map(|(at, (p, value))| hexadecimal_bits(value, p.ty.width(), &format!("{path}[{at}]"))).collect()
    }

    fn read_entry(&self, entry: &format::Entry, table: &Table, path: &str) -> Result<TableEntry> {
        let keys: Vec<&Key> = table.match_keys().collect();
        if keys.len() != entry.match_key.len() {
            let (expected, found) = (keys.len(), entry.match_key.len());
            return error(&format!("{path}.match_key"), format!("the table has {expected} keys, the entry {found}"));
        }
        let mut matches = Vec::new();
        for (at, (key, found)) in keys.into_iter().zip(&entry.match_key).enumerate() {
            matches.push(read_match(key, found, &format!("{path}.match_key[{at}]"))?);
        }
        let selectors = table.selector_keys().map(|_| MatchValue::Optional(None));
        matches.extend(selectors);
        let at = self.action_by_id(entry.action_entry.action_id, &format!("{path}.action_entry.action_id"))?;
        let action = match self.variants_has(at) {
            true => self.action_id(at),
            false => return error(&format!("{path}.action_entry.action_id"), "the table does not have this action"),
        };
        let args = self.arguments(action, &entry.action_entry.action_data, &format!("{path}.action_entry"))?;
        // The least number wins in BMv2.
        let priority = match table.has_priority() {
            true => match i32::try_from(entry.priority).ok().filter(|p| *p >= 0) {
                Some(priority) => i32::MAX - priority,
                None => return error(&format!("{path}.priority"), "expected a number from 0 to 2147483647"),
            },
            false => 0,
        };
        Ok(TableEntry { matches, priority, action: ActionCall { action, args } })
    }

    /// The pipelines' tables by name.
    pub(crate) fn tables_by_name(&self) -> BTreeMap<String, TableId> {
        self.p.tables.iter().zip(0u32..).map(|(table, at)| (table.name.clone(), TableId(at))).collect()
    }
}

/// Checks that the type of a table follows from its keys, so that the same entries win.
fn check_match_type(table: &format::Table, keys: &[Key], path: &str) -> Result<()> {
    let has = |kind: MatchKind| keys.iter().any(|key| key.kind == kind);
    let priorities = has(MatchKind::Ternary) || has(MatchKind::Range) || has(MatchKind::Optional);
    let fits = match table.match_type.as_str() {
        "range" => priorities,
        "ternary" => priorities && !has(MatchKind::Range),
        "lpm" => has(MatchKind::Lpm) && !priorities,
        "exact" => !has(MatchKind::Lpm) && !priorities,
        _ => false,
    };
    let lpm = keys.iter().filter(|key| key.kind == MatchKind::Lpm).count();
    match fits && lpm <= 1 {
        true => Ok(()),
        false => error(
            &format!("{path}.match_type"),
            format!("`{}` does not fit the types of the table's keys", table.match_type),
        ),
    }
}

/// How an entry matches a key.
fn read_match(key: &Key, found: &format::MatchKey, path: &str) -> Result<MatchValue> {
    let width = key.expr.ty.width();
    let kind = if found.match_type == "valid" { "exact" } else { &found.match_type };
    // Entries of optional keys are written as ternary ones.
    let optional = key.kind == MatchKind::Optional && kind == "ternary";
    if kind != key.kind.info().name && !optional {
        return error(&format!("{path}.match_type"), format!("expected `{}`, found `{kind}`", key.kind.info().name));
    }
    let part = |name: &str, value: &Option<String>| match value {
        Some(value) => hexadecimal_bits(value, width, &format!("{path}.{name}")),
        None => error(path, format!("expected the attribute `{name}`")),
    };
    let value = || match &found.key {
        Some(serde_json::Value::Bool(value)) => Ok(BigUint::from(u32::from(*value))),
        Some(serde_json::Value::String(value)) => hexadecimal_bits(value, width, &format!("{path}.key")),
        _ => error(path, "expected the attribute `key`"),
    };
    let written = match key.kind {
        MatchKind::Lpm => match found.prefix_length {
            Some(length) => WrittenMatch::Prefix(value()?, length),
            None => return error(path, "expected the attribute `prefix_length`"),
        },
        MatchKind::Ternary => WrittenMatch::Mask(value()?, part("mask", &found.mask)?),
        MatchKind::Range => WrittenMatch::Range(part("start", &found.start)?, part("end", &found.end)?),
        MatchKind::Optional if optional => match part("mask", &found.mask)?.to_u32() {
            Some(0) => WrittenMatch::Any,
            _ => WrittenMatch::Value(value()?),
        },
        _ => WrittenMatch::Value(value()?),
    };
    key.kind.value(written, width).or_else(|e| error(path, e.to_string()))
}
