//! `@refers_to(table, field)` of match fields and parameters: the value must be that of a match field of an entry in another table.
//!
//! As in PINS, all that one entry with one action says of a table must be true of a single entry there. Fields that match anything
//! do not refer, and neither do values that the program itself names (`@p4runtime_translation_mappings`).
//! `builtin::multicast_group_table` has the multicast groups, by `multicast_group_id`.
//!
//! `@referenced_by(builtin::multicast_group_table, replica.port)` of a match field, or `replica.instance`: each copy of a multicast
//! group needs an entry in the field's table with these values.

use std::collections::{BTreeMap, HashMap};

use hopwright_ir::{ActionId, TableId};
use num_bigint::BigUint;

use crate::annotation::{RuleError, arguments};
use crate::listing;
use crate::schema::objects::{Field, Table};

const MULTICAST_GROUPS: (&str, &str) = ("builtin::multicast_group_table", "multicast_group_id");

/// What copies of multicast groups refer with.
const REPLICA_FIELDS: [&str; 2] = ["replica.port", "replica.instance"];

/// What is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Referred {
    Table(TableId),
    MulticastGroups,
}

/// What an annotation says.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub to: Referred,
    /// The target's key.
    pub key: usize,
    /// The translation of the value that refers.
    pub translated: Option<usize>,
}

/// The references of a program, by key or parameter.
#[derive(Debug, Default)]
pub(crate) struct References {
    pub fields: HashMap<TableId, Vec<(usize, Link)>>,
    pub params: HashMap<ActionId, Vec<(usize, Link)>>,
    /// The tables that copies of multicast groups refer to, each with the keys for their ports and instances.
    pub replicas: Vec<(TableId, [Option<usize>; 2])>,
}

/// An entry that there must be: values of these keys of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub to: Referred,
    pub keys: Vec<usize>,
    pub values: Vec<BigUint>,
}

/// How often each need exists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Referrers(pub HashMap<Referred, BTreeMap<Vec<usize>, Counts>>);

/// By the values of the keys.
type Counts = HashMap<Vec<BigUint>, u32>;

impl References {
    pub(crate) fn new(tables: &[&Table]) -> std::result::Result<References, RuleError> {
        let mut references = References::default();
        for table in tables {
            let (mut found, mut by_replicas) = (Vec::new(), [None; 2]);
            for field in &table.fields {
                let owner = format!("match field `{}` of table `{}`", field.name, table.name);
                for at in replica_fields(&owner, field)? {
                    by_replicas[at] = Some(field.key);
                }
                for (to, key) in links(&owner, &field.annotations, tables)? {
                    found.push((field.key, Link { to, key, translated: field.translated }));
                }
            }
            if !found.is_empty() {
                references.fields.insert(table.at, found);
            }
            if by_replicas != [None; 2] {
                references.replicas.push((table.at, by_replicas));
            }
        }
        for action in tables.iter().flat_map(|t| &t.actions) {
            let mut found = Vec::new();
            for (at, param) in action.params.iter().enumerate() {
                let owner = format!("parameter `{}` of action `{}`", param.name, action.name);
                for (to, key) in links(&owner, &param.annotations, tables)? {
                    found.push((at, Link { to, key, translated: param.translated }));
                }
            }
            if !found.is_empty() {
                references.params.insert(action.at, found);
            }
        }
        Ok(references)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.params.is_empty() && self.replicas.is_empty()
    }
}

/// The places in [`REPLICA_FIELDS`] of what refers to a match field.
fn replica_fields(owner: &str, field: &Field) -> std::result::Result<Vec<usize>, RuleError> {
    let mut found = Vec::new();
    for request in arguments(&field.annotations, "referenced_by") {
        let words: String = request.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        let at = words.split_once(',').filter(|(table, _)| *table == MULTICAST_GROUPS.0);
        let at = at.and_then(|(_, field)| REPLICA_FIELDS.iter().position(|name| *name == field));
        let Some(at) = at else {
            return Err(RuleError::ReferencedBy { owner: owner.to_string(), request: request.to_string() });
        };
        if field.kind.form() != hopwright_ir::MatchForm::Value {
            let (owner, request, kind) = (owner.to_string(), request.to_string(), field.kind.to_string());
            return Err(RuleError::ReferencedInexactly { owner, request, kind });
        }
        found.push(at);
    }
    Ok(found)
}

/// What the annotations of a match field or parameter refer to.
fn links(
    owner: &str,
    annotations: &[String],
    tables: &[&Table],
) -> std::result::Result<Vec<(Referred, usize)>, RuleError> {
    let mut found = Vec::new();
    for request in arguments(annotations, "refers_to") {
        let words: String = request.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        let owner = owner.to_string();
        let Some((table, field)) = words.split_once(',').map(|(t, f)| (t.to_string(), f.to_string())) else {
            return Err(RuleError::NoPair { owner, request: request.to_string() });
        };
        if (table.as_str(), field.as_str()) == MULTICAST_GROUPS {
            found.push((Referred::MulticastGroups, 0));
            continue;
        }
        let exact = tables.iter().find(|t| t.name == table || t.alias == table);
        let suffix = || tables.iter().find(|t| t.name.strip_suffix(&table).is_some_and(|rest| rest.ends_with('.')));
        let Some(to) = exact.or_else(suffix) else {
            let those = listing::those(tables.iter().map(|t| t.alias.as_str()).chain([MULTICAST_GROUPS.0]));
            return Err(RuleError::NoTable { owner, table, field, those });
        };
        let Some(of) = to.fields.iter().find(|f| f.name == field) else {
            let those = listing::those(to.fields.iter().map(|f| f.name.as_str()));
            return Err(RuleError::NoField { owner, table, field, those });
        };
        use hopwright_ir::MatchForm;
        if !matches!(of.kind.form(), MatchForm::Value | MatchForm::ValueOrAny) {
            return Err(RuleError::Inexact { owner, table, field, kind: of.kind.to_string() });
        }
        found.push((Referred::Table(to.at), of.key));
    }
    Ok(found)
}

impl Referrers {
    pub(crate) fn add(&mut self, need: Need) {
        *self.0.entry(need.to).or_default().entry(need.keys).or_default().entry(need.values).or_default() += 1;
    }

    pub(crate) fn remove(&mut self, need: &Need) {
        let Some(by_keys) = self.0.get_mut(&need.to) else { return };
        let Some(by_values) = by_keys.get_mut(&need.keys) else { return };
        if let Some(count) = by_values.get_mut(&need.values) {
            *count -= 1;
            if *count == 0 {
                by_values.remove(&need.values);
            }
        }
        if by_values.is_empty() {
            by_keys.remove(&need.keys);
        }
    }
}
