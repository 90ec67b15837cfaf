//! `@refers_to(table, field)` of match fields and parameters: the value must be that of a match field of an entry in another table.
//!
//! As in PINS, all that one entry with one action says of a table must be true of a single entry there. Fields that match anything
//! do not refer, and neither do values that the program itself names (`@p4runtime_translation_mappings`).
//! `builtin::multicast_group_table` has the multicast groups, by `multicast_group_id`.
//!
//! `@referenced_by(builtin::multicast_group_table, replica.port)` of a match field, or `replica.instance`: each copy of a multicast
//! group needs an entry in the field's table with these values.

use std::collections::{BTreeMap, HashMap, HashSet};

use hopwright_ir::{ActionCall, ActionId, ExternId, MatchValue, TableId};
use num_bigint::BigUint;

use crate::change::Change;
use crate::entity::MulticastGroup;
use crate::error::{Error, Result, invalid, precondition};
use crate::listing;
use crate::model::{EntryKey, Model};
use crate::rules::{RuleError, arguments};
use crate::schema::{Field, Schema};

const MULTICAST_GROUPS: (&str, &str) = ("builtin::multicast_group_table", "multicast_group_id");

/// What copies of multicast groups refer with.
const REPLICA_FIELDS: [&str; 2] = ["replica.port", "replica.instance"];

/// The most entries of a table that are looked at for a message.
const MAX_LISTED: usize = 64;

/// What is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Target {
    Table(TableId),
    MulticastGroups,
}

/// What an annotation says.
#[derive(Clone, Debug)]
struct Link {
    to: Target,
    /// The target's key.
    key: usize,
    /// The translation of the value that refers.
    translated: Option<usize>,
}

/// The references of a program, by key or parameter.
#[derive(Debug, Default)]
pub(crate) struct References {
    fields: HashMap<TableId, Vec<(usize, Link)>>,
    params: HashMap<ActionId, Vec<(usize, Link)>>,
    /// The tables that copies of multicast groups refer to, each with the keys for their ports and instances.
    replicas: Vec<(TableId, [Option<usize>; 2])>,
}

/// An entry that there must be: values of these keys of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Need {
    to: Target,
    keys: Vec<usize>,
    values: Vec<BigUint>,
}

/// How often each need exists.
#[derive(Clone, Debug, Default)]
pub(crate) struct Referrers(HashMap<Target, BTreeMap<Vec<usize>, Counts>>);

/// By the values of the keys.
type Counts = HashMap<Vec<BigUint>, u32>;

/// What can refer to something.
pub(crate) enum Referrer {
    Entry(EntryKey),
    Default(TableId),
    Member(ExternId, u32),
    Multicast(u32),
}

impl References {
    pub(crate) fn new(schema: &Schema) -> std::result::Result<References, RuleError> {
        let mut references = References::default();
        for table in schema.ordered_tables() {
            let (mut found, mut by_replicas) = (Vec::new(), [None; 2]);
            for field in &table.fields {
                let owner = format!("match field `{}` of table `{}`", field.name, table.name);
                for at in replica_fields(&owner, field)? {
                    by_replicas[at] = Some(field.key);
                }
                for (to, key) in links(&owner, &field.annotations, schema)? {
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
        for action in schema.ordered_tables().flat_map(|t| &t.actions) {
            let mut found = Vec::new();
            for (at, param) in action.params.iter().enumerate() {
                let owner = format!("parameter `{}` of action `{}`", param.name, action.name);
                for (to, key) in links(&owner, &param.annotations, schema)? {
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
fn links(owner: &str, annotations: &[String], schema: &Schema) -> std::result::Result<Vec<(Target, usize)>, RuleError> {
    let mut found = Vec::new();
    for request in arguments(annotations, "refers_to") {
        let words: String = request.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
        let owner = owner.to_string();
        let Some((table, field)) = words.split_once(',').map(|(t, f)| (t.to_string(), f.to_string())) else {
            return Err(RuleError::NoPair { owner, request: request.to_string() });
        };
        if (table.as_str(), field.as_str()) == MULTICAST_GROUPS {
            found.push((Target::MulticastGroups, 0));
            continue;
        }
        let tables = || schema.ordered_tables();
        let exact = tables().find(|t| t.name == table || t.alias == table);
        let suffix = || tables().find(|t| t.name.strip_suffix(&table).is_some_and(|rest| rest.ends_with('.')));
        let Some(to) = exact.or_else(suffix) else {
            let those = listing::those(tables().map(|t| t.alias.as_str()).chain([MULTICAST_GROUPS.0]));
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
        found.push((Target::Table(to.at), of.key));
    }
    Ok(found)
}

impl Referrers {
    fn add(&mut self, need: Need) {
        *self.0.entry(need.to).or_default().entry(need.keys).or_default().entry(need.values).or_default() += 1;
    }

    fn remove(&mut self, need: &Need) {
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

/// The value of an exact match.
fn exact(value: &MatchValue) -> Option<&BigUint> {
    match value {
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => Some(value),
        _ => None,
    }
}

impl Model {
    /// What an entry of a table, or a member of a profile, refers to.
    fn needs(&self, entry: Option<(TableId, &[MatchValue])>, calls: &[&ActionCall]) -> Vec<Need> {
        let references = &self.schema.rules.references;
        let of_fields = entry.and_then(|(at, matches)| Some((references.fields.get(&at)?, matches)));
        let of_fields: Vec<(&Link, &BigUint)> = of_fields
            .into_iter()
            .flat_map(|(links, matches)| {
                links.iter().filter_map(|(key, link)| Some((link, exact(matches.get(*key)?)?)))
            })
            .collect();
        let of_call = |call: &&ActionCall| {
            let links = references.params.get(&call.action).map(Vec::as_slice).unwrap_or_default();
            let args = call.args.clone();
            links.iter().filter_map(move |(at, link)| Some((link, args.get(*at)?.clone()))).collect::<Vec<_>>()
        };
        let mut of_calls: Vec<Vec<(&Link, BigUint)>> = calls.iter().map(of_call).collect();
        if of_calls.is_empty() {
            of_calls.push(Vec::new());
        }
        let mut needs = Vec::new();
        for of_call in &of_calls {
            let mut groups: Vec<(Target, BTreeMap<usize, BigUint>)> = Vec::new();
            let request = of_fields.iter().copied().chain(of_call.iter().map(|(link, value)| (*link, value)));
            for (link, value) in request {
                if link.translated.is_some_and(|ty| self.translations.is_fixed(ty, value)) {
                    continue;
                }
                // Two references to the same field are to two entries.
                match groups.iter_mut().find(|(to, fields)| *to == link.to && !fields.contains_key(&link.key)) {
                    Some((_, fields)) => {
                        fields.insert(link.key, value.clone());
                    }
                    None => groups.push((link.to, [(link.key, value.clone())].into())),
                }
            }
            for (to, fields) in groups {
                let (keys, values) = fields.into_iter().unzip();
                let need = Need { to, keys, values };
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
        }
        needs
    }

    /// What the copies of a multicast group refer to.
    fn needs_of_group(&self, group: &MulticastGroup) -> Vec<Need> {
        let mut needs = Vec::new();
        for (at, keys) in &self.schema.rules.references.replicas {
            for copy in &group.copies {
                let given = keys.iter().zip([copy.port, copy.instance]);
                let mut given: Vec<(usize, BigUint)> = given.filter_map(|(key, v)| Some(((*key)?, v.into()))).collect();
                given.sort();
                let (keys, values) = given.into_iter().unzip();
                let need = Need { to: Target::Table(*at), keys, values };
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
        }
        needs
    }

    /// What a change would alter the references of.
    pub(crate) fn referrer(change: &Change) -> Option<Referrer> {
        Some(match change {
            Change::Insert(key, _) | Change::Modify(key, _) | Change::Remove(key) => Referrer::Entry(key.clone()),
            Change::Restore(at, removed) => {
                let (matches, priority) = removed.key();
                Referrer::Entry((*at, matches.to_vec(), priority))
            }
            Change::Default(at, _) => Referrer::Default(*at),
            Change::Member(at, id, _) => Referrer::Member(*at, *id),
            Change::MulticastRead(id, _) => Referrer::Multicast(*id),
            _ => return None,
        })
    }

    /// What it refers to now.
    fn needs_of(&self, referrer: &Referrer) -> Vec<Need> {
        match referrer {
            Referrer::Entry(key) => match self.target(key) {
                Some(target) => self.needs(Some((key.0, &key.1)), &target.calls()),
                None => Vec::new(),
            },
            Referrer::Default(at) => self.needs(None, &[&self.control()[*at].default_action()]),
            Referrer::Member(at, id) => match self.control().profile(*at).ok().and_then(|p| p.member(*id)) {
                Some(call) => self.needs(None, &[&call]),
                None => Vec::new(),
            },
            Referrer::Multicast(id) => self.groups.get(id).map_or_else(Vec::new, |group| self.needs_of_group(group)),
        }
    }

    /// Forgets what refers to something, before it changes.
    pub(crate) fn forget(&mut self, referrer: &Referrer) {
        self.needs_of(referrer).iter().for_each(|need| self.referrers.remove(need));
    }

    /// Counts what refers to something, after it changed.
    pub(crate) fn count(&mut self, referrer: &Referrer) {
        self.needs_of(referrer).into_iter().for_each(|need| self.referrers.add(need));
    }

    /// Counts all references.
    pub(crate) fn count_all(&mut self) {
        self.referrers = Referrers::default();
        if self.schema.rules.references.is_empty() {
            return;
        }
        for at in 0..self.vdp.pipeline().tables.len() {
            let at = TableId(at as u32);
            self.count(&Referrer::Default(at));
            for entry in self.control()[at].entries() {
                self.count(&Referrer::Entry((at, entry.matches, entry.priority)));
            }
        }
        let profiles: Vec<ExternId> = self.schema.action_profiles.values().map(|p| p.at).collect();
        for at in profiles {
            let members = self.control().profile(at).map(|p| p.members()).unwrap_or_default();
            members.into_iter().for_each(|(id, _)| self.count(&Referrer::Member(at, id)));
        }
        let groups: Vec<u32> = self.groups.keys().copied().collect();
        groups.into_iter().for_each(|id| self.count(&Referrer::Multicast(id)));
    }

    /// Removes entries that violate the program's rules, until none does; returns how many. Those of the program stay.
    pub(crate) fn settle(&mut self) -> usize {
        let mut removed = 0;
        let rules = &self.schema.rules;
        if rules.has_no_constraints() && rules.references.is_empty() {
            return 0;
        }
        loop {
            let tables = (0..self.vdp.pipeline().tables.len()).map(|at| TableId(at as u32));
            let mut wrong = Vec::new();
            for at in tables {
                let own = self.vdp.pipeline()[at].entries.iter().map(|e| (e.matches.as_slice(), e.priority));
                let own: HashSet<(&[MatchValue], i32)> = own.collect();
                for entry in self.control()[at].entries() {
                    if own.contains(&(entry.matches.as_slice(), entry.priority)) {
                        continue;
                    }
                    let key = (at, entry.matches, entry.priority);
                    let Some(target) = self.target(&key) else { continue };
                    let entry = [Change::Modify(key.clone(), target)];
                    if self.check_rules(&entry).is_err() {
                        wrong.push(key);
                    }
                }
            }
            let before = removed;
            for key in wrong {
                self.notes.remove(&key);
                removed += usize::from(self.carry_out(vec![Change::Remove(key)], None).is_ok());
            }
            if removed == before {
                return removed;
            }
        }
    }

    /// Checks the references of what a change writes, or that nothing refers to what it removes.
    pub(crate) fn check_references(&self, change: &Change) -> Result<()> {
        let check_by = |annotation: &str, needs: Vec<Need>, own: Option<&EntryKey>| {
            let unmet = needs.iter().find(|need| !self.is_met(need, own));
            unmet.map_or(Ok(()), |need| Err(self.unmet(annotation, need)))
        };
        let check = |needs, own| check_by("@refers_to", needs, own);
        match change {
            Change::Insert(key, target) | Change::Modify(key, target) => {
                check(self.needs(Some((key.0, &key.1)), &target.calls()), Some(key))
            }
            Change::Default(_, Some(call)) | Change::Member(_, _, Some(call)) => check(self.needs(None, &[call]), None),
            Change::Remove(key) => self.check_unused(key),
            Change::MulticastRead(_, Some(group)) => check_by("@referenced_by", self.needs_of_group(group), None),
            Change::MulticastRead(id, None) => {
                let need = Need { to: Target::MulticastGroups, keys: vec![0], values: vec![(*id).into()] };
                match self.count_of(&need) {
                    0 => Ok(()),
                    n => {
                        Err(precondition(format!("multicast group {id} is in use: {n} references (@refers_to) to it")))
                    }
                }
            }
            _ => Ok(()),
        }
    }

    fn count_of(&self, need: &Need) -> u32 {
        let found = self.referrers.0.get(&need.to).and_then(|k| k.get(&need.keys)).and_then(|v| v.get(&need.values));
        found.copied().unwrap_or(0)
    }

    fn check_unused(&self, key: &EntryKey) -> Result<()> {
        let to = Target::Table(key.0);
        let Some(by_keys) = self.referrers.0.get(&to) else { return Ok(()) };
        let Some(target) = self.target(key) else { return Ok(()) };
        let own = self.needs(Some((key.0, &key.1)), &target.calls());
        for keys in by_keys.keys() {
            let values: Option<Vec<BigUint>> = keys.iter().map(|k| exact(key.1.get(*k)?).cloned()).collect();
            let Some(values) = values else { continue };
            let need = Need { to, keys: keys.clone(), values };
            let others = self.count_of(&need) - u32::from(own.contains(&need));
            if others > 0 && !self.is_met_by(&need, |entry| entry != (&key.1, key.2)) {
                let text = self.text_of(&need);
                return Err(precondition(format!(
                    "this entry is in use: {others} references (@refers_to) to the {text}"
                )));
            }
        }
        Ok(())
    }

    /// Whether there is what an entry, which need not be there yet, refers to.
    fn is_met(&self, need: &Need, own: Option<&EntryKey>) -> bool {
        let by_itself = own.is_some_and(|(at, matches, _)| {
            need.to == Target::Table(*at)
                && need.keys.iter().zip(&need.values).all(|(k, v)| exact(&matches[*k]) == Some(v))
        });
        by_itself || self.is_met_by(need, |_| true)
    }

    fn is_met_by(&self, need: &Need, counts: impl Fn((&Vec<MatchValue>, i32)) -> bool) -> bool {
        let Target::Table(at) = need.to else {
            return u32::try_from(&need.values[0]).is_ok_and(|id| self.groups.contains_key(&id));
        };
        let model = &self.vdp.pipeline()[at];
        let all_exact = model.keys.iter().all(|k| k.kind.form() == hopwright_ir::MatchForm::Value);
        if all_exact && need.keys.len() == model.keys.len() {
            let matches: Vec<MatchValue> = need.values.iter().cloned().map(MatchValue::Exact).collect();
            return counts((&matches, 0)) && self.control()[at].get(&matches, 0).is_some();
        }
        let fits =
            |matches: &[MatchValue]| need.keys.iter().zip(&need.values).all(|(k, v)| exact(&matches[*k]) == Some(v));
        self.control()[at].entries().iter().any(|e| fits(&e.matches) && counts((&e.matches, e.priority)))
    }

    fn unmet(&self, annotation: &str, need: &Need) -> Error {
        invalid(format!("{annotation}: there is no {}{}", self.text_of(need), self.those_of(need.to)))
    }

    /// A needed entry, for messages.
    fn text_of(&self, need: &Need) -> String {
        let Target::Table(at) = need.to else { return format!("multicast group {}", need.values[0]) };
        let Some(table) = self.schema.table_at(at) else { return "an entry".into() };
        let one = |(key, value): (&usize, &BigUint)| match table.fields.iter().find(|f| f.key == *key) {
            Some(field) => format!("{} = {}", field.name, self.shown(field.translated, value)),
            None => value.to_string(),
        };
        let fields: Vec<String> = need.keys.iter().zip(&need.values).map(one).collect();
        format!("entry of `{}` with {}", table.name, fields.join(", "))
    }

    fn shown(&self, translated: Option<usize>, value: &BigUint) -> String {
        translated.map_or_else(|| format!("{value:#x}"), |ty| self.translations.text(ty, value))
    }

    /// What there is, if it has one key.
    fn those_of(&self, to: Target) -> String {
        let names: Vec<String> = match to {
            Target::MulticastGroups => self.groups.keys().map(u32::to_string).collect(),
            Target::Table(at) => match self.schema.table_at(at).map(|t| t.fields.as_slice()) {
                Some([field]) if self.control()[at].len() <= MAX_LISTED => {
                    let entries = self.control()[at].entries();
                    let values = entries.iter().filter_map(|e| exact(e.matches.get(field.key)?));
                    values.map(|value| self.shown(field.translated, value)).collect()
                }
                _ => return String::new(),
            },
        };
        listing::those(names.iter().map(String::as_str))
    }
}
