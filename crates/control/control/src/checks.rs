//! Checks updates against the program's rules: constraints on entries and actions, and references between entries.

use std::collections::{BTreeMap, HashSet};

use hopwright_ir::{ActionCall, ExternId, MatchValue, TableId};
use num_bigint::BigUint;

use crate::change::Change;
use crate::entity::MulticastGroup;
use crate::entry::EntryKey;
use crate::error::{Error, Result, invalid, precondition};
use crate::listing;
use crate::model::Model;
use crate::references::{Link, Need, Referred, Referrers};

/// The most entries of a table that are looked at for a message.
const MAX_LISTED: usize = 64;

/// What can refer to something.
pub(crate) enum Referrer {
    Entry(EntryKey),
    Default(TableId),
    Member(ExternId, u32),
    Multicast(u32),
}

/// The value of an exact match.
fn exact(value: &MatchValue) -> Option<&BigUint> {
    match value {
        MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => Some(value),
        _ => None,
    }
}

impl Model {
    /// Checks what an update would do against the program's rules.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if an entry or action violates a constraint or refers to what is not there, `FAILED_PRECONDITION` if it
    /// removes what something refers to.
    pub(crate) fn check_rules(&self, plan: &[Change]) -> Result<()> {
        let rules = &self.schema.rules;
        if !rules.has_no_constraints() {
            plan.iter().try_for_each(|change| self.check_constraints(change))?;
        }
        if !rules.references.is_empty() {
            plan.iter().try_for_each(|change| self.check_references(change))?;
        }
        Ok(())
    }

    fn check_constraints(&self, change: &Change) -> Result<()> {
        let schema = &self.schema;
        let (rules, translations) = (&schema.rules, &self.translations);
        let check_calls = |calls: &[&ActionCall]| {
            calls.iter().try_for_each(|call| match rules.actions.get(&call.action) {
                Some(rule) => rule.check(call.args.iter().cloned().map(MatchValue::Exact).collect(), 0, translations),
                None => Ok(()),
            })
        };
        match change {
            Change::Insert((at, matches, priority), target) | Change::Modify((at, matches, priority), target) => {
                if let (Some(rule), Some(table)) = (rules.tables.get(at), schema.table_at(*at)) {
                    let values = table.fields.iter().filter_map(|f| matches.get(f.key).cloned()).collect();
                    rule.check(values, *priority, translations)?;
                }
                check_calls(&target.calls())
            }
            Change::Default(_, Some(call)) | Change::Member(_, _, Some(call)) => check_calls(&[call]),
            _ => Ok(()),
        }
    }

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
            let mut groups: Vec<(Referred, BTreeMap<usize, BigUint>)> = Vec::new();
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
                let need = Need { to: Referred::Table(*at), keys, values };
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
                // To take something away needs no memory.
                let _ = self.set_note(key.clone(), None);
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
                let need = Need { to: Referred::MulticastGroups, keys: vec![0], values: vec![(*id).into()] };
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
        let to = Referred::Table(key.0);
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
            need.to == Referred::Table(*at)
                && need.keys.iter().zip(&need.values).all(|(k, v)| exact(&matches[*k]) == Some(v))
        });
        by_itself || self.is_met_by(need, |_| true)
    }

    fn is_met_by(&self, need: &Need, counts: impl Fn((&Vec<MatchValue>, i32)) -> bool) -> bool {
        let Referred::Table(at) = need.to else {
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
        let Referred::Table(at) = need.to else { return format!("multicast group {}", need.values[0]) };
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
    fn those_of(&self, to: Referred) -> String {
        let names: Vec<String> = match to {
            Referred::MulticastGroups => self.groups.keys().map(u32::to_string).collect(),
            Referred::Table(at) => match self.schema.table_at(at).map(|t| t.fields.as_slice()) {
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
