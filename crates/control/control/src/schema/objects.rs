//! A program's objects, and what may be written to each.

use std::collections::HashMap;
use std::ops::Range;

use hopwright_ir::{ActionCall, ActionId, ExternId, MatchForm, MatchKind, MatchValue, TableId, Type, ValueSetId, bits};
use num_bigint::BigUint;

use crate::entity::{Call, Key};
use crate::entry::EntryKey;
use crate::error::{Error, Result, denied, invalid, not_found, out_of_range};
use crate::listing;
use crate::translation::Translated;

/// An action profile or selector.
#[derive(Debug)]
pub struct Profile {
    /// In the pipeline.
    pub at: ExternId,
    /// Control-plane name.
    pub name: String,
    /// Whether it has groups.
    pub selector: bool,
    /// The largest sum of weights, or number of members, of a group; 0 is no limit.
    pub max_group_size: u32,
    /// Sizes count members, whose weights are at most this; 0 is no limit.
    pub of_members: Option<u32>,
    /// The tables that use it.
    pub tables: Vec<u32>,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// Its id.
    pub id: u32,
    /// In the pipeline.
    pub at: TableId,
    /// Control-plane name.
    pub name: String,
    /// The shortest name that is unique.
    pub alias: String,
    /// Its annotations, as text.
    pub annotations: Vec<String>,
    /// Match fields, in order.
    pub fields: Vec<Field>,
    /// Keys of the pipeline's table: match fields and selectors.
    pub keys: usize,
    /// Actions.
    pub actions: Vec<Action>,
    /// Whether entries have a priority.
    pub priority: bool,
    /// Whether the table has only the program's entries.
    pub const_entries: bool,
    /// The direct counter's id.
    pub direct_counter: Option<u32>,
    /// The direct meter's id.
    pub direct_meter: Option<u32>,
    /// The id of the action profile or selector that implements it.
    pub profile: Option<u32>,
    /// Whether entries may have an idle timeout.
    pub idle_timeout: bool,
}

/// A match field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Its annotations, as text.
    pub annotations: Vec<String>,
    /// Its match kind.
    pub kind: MatchKind,
    /// The width in bits.
    pub width: u32,
    /// Its position among the pipeline's keys.
    pub key: usize,
    /// The type that translates its values.
    pub translated: Option<usize>,
}

/// An action as a table has it.
#[derive(Debug)]
pub struct Action {
    /// Its id.
    pub id: u32,
    /// In the pipeline.
    pub at: ActionId,
    /// Control-plane name.
    pub name: String,
    /// Its annotations, as text.
    pub annotations: Vec<String>,
    /// Whether it may not be used in entries.
    pub default_only: bool,
    /// Whether it may not be the default action.
    pub table_only: bool,
    /// Parameters, in the pipeline's order.
    pub params: Vec<Param>,
}

/// A parameter of an action.
#[derive(Debug)]
pub struct Param {
    /// Its number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Its annotations, as text.
    pub annotations: Vec<String>,
    /// The width in bits.
    pub width: u32,
    /// The type that translates its values.
    pub translated: Option<usize>,
}

/// An array of counters, registers or meters.
#[derive(Clone, Debug)]
pub struct Array {
    /// In the pipeline.
    pub at: ExternId,
    /// Control-plane name.
    pub name: String,
    /// The number of cells.
    pub size: u64,
}

impl Array {
    /// The cells that an index denotes: all of them without an index.
    ///
    /// # Errors
    /// The index is too large.
    pub fn range(&self, index: Option<u64>) -> Result<Range<u64>> {
        match index {
            None => Ok(0..self.size),
            Some(at) if at < self.size => Ok(at..at + 1),
            Some(at) => {
                let Array { name, size, .. } = self;
                Err(out_of_range(format!("`{name}` has {size} cells; there is no index {at}")))
            }
        }
    }
}

/// A register.
#[derive(Clone, Debug)]
pub struct Register {
    /// Its cells.
    pub cells: Array,
    /// What each holds.
    pub ty: Type,
    /// The type that translates its values.
    pub translated: Option<usize>,
}

/// A parser value set.
#[derive(Clone, Debug)]
pub struct ValueSet {
    /// In the pipeline.
    pub at: ValueSetId,
    /// Control-plane name.
    pub name: String,
    /// What its members match.
    pub fields: Vec<Field>,
}

/// What has a control-plane name.
pub trait Named {
    /// The name.
    fn name(&self) -> &str;
}

macro_rules! named {
    ($($type:ty: $($field:ident).+;)*) => {
        $(impl Named for $type {
            fn name(&self) -> &str {
                &self.$($field).+
            }
        })*
    };
}

named! {
    Table: name;
    Array: name;
    Register: cells.name;
    Profile: name;
    ValueSet: name;
}

/// Finds an object by id. `what` says what it is, for messages.
///
/// # Errors
/// The id is zero, or no object has it.
pub fn object<'s, T: Named>(objects: &'s HashMap<u32, T>, id: u32, what: &str) -> Result<&'s T> {
    match objects.get(&id) {
        Some(object) => Ok(object),
        None if id == 0 => Err(invalid(format!("no {what} id"))),
        None => {
            let those = listing::numbered(id, objects.iter().map(|(id, object)| (*id, object.name())));
            Err(not_found(format!("the program has no {what} with id {id:#x}{those}")))
        }
    }
}

/// Where an action is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// In entries, or in members of an action profile.
    Entry,
    /// As a table's default action.
    Default,
}

impl Table {
    /// The entry of this table that a key denotes, for writing.
    ///
    /// # Errors
    /// A field or the priority is wrong.
    pub fn entry_key(&self, key: &Key) -> Result<EntryKey> {
        let matches = self.matches(&key.fields)?;
        match (self.priority, key.priority) {
            (true, p) if p > 0 => {}
            (true, _) => return Err(invalid(format!("entries of `{}` need a priority above zero", self.name))),
            (false, 0) => {}
            (false, _) => return Err(invalid(format!("entries of `{}` have no priority", self.name))),
        }
        Ok((self.at, matches, key.priority))
    }

    /// The key of an entry, as control planes write it.
    pub fn key(&self, (_, matches, priority): &EntryKey) -> Key {
        Key { table: self.id, fields: given(&self.fields, matches), priority: *priority }
    }

    /// One match for each key of the pipeline's table.
    ///
    /// # Errors
    /// A field is wrong or missing.
    pub fn matches(&self, given: &[(u32, MatchValue)]) -> Result<Vec<MatchValue>> {
        matches(&self.name, &self.fields, self.keys, given)
    }

    /// The action of this table with this id.
    ///
    /// # Errors
    /// There is none.
    pub fn action(&self, id: u32) -> Result<&Action> {
        self.actions.iter().find(|a| a.id == id).ok_or_else(|| {
            let those = listing::numbered(id, self.actions.iter().map(|a| (a.id, a.name.as_str())));
            invalid(format!("table `{}` has no action with id {id:#x}{those}", self.name))
        })
    }

    /// The call of an action.
    ///
    /// # Errors
    /// The table does not have the action there, or an argument is wrong or missing.
    pub fn call(&self, call: &Call, place: Use) -> Result<ActionCall> {
        let listed = self.action(call.action)?;
        if place == Use::Default && listed.table_only {
            return Err(denied(format!("`{}` may not be the default action of `{}`", listed.name, self.name)));
        }
        if place == Use::Entry && listed.default_only {
            return Err(denied(format!("`{}` may only be the default action of `{}`", listed.name, self.name)));
        }
        if call.args.len() != listed.params.len() {
            let (wants, got) = (listed.params.len(), call.args.len());
            let those = listing::those(listed.params.iter().map(|p| p.name.as_str()));
            return Err(invalid(format!("`{}` has {wants} parameters, not {got}{those}", listed.name)));
        }
        let argument = |(at, param): (usize, &Param)| {
            let (_, value) = match &call.args[at] {
                given if given.0 == param.id => given,
                _ => call
                    .args
                    .iter()
                    .find(|given| given.0 == param.id)
                    .ok_or_else(|| invalid(format!("`{}`: parameter `{}` is missing", listed.name, param.name)))?,
            };
            fits(&param.name, param.width, value).map(|()| value.clone())
        };
        let args = listed.params.iter().enumerate().map(argument).collect::<Result<_>>()?;
        Ok(ActionCall { action: listed.at, args })
    }

    /// There is no such entry.
    pub(crate) fn no_entry(&self) -> Error {
        not_found(format!("table `{}` has no entry with these keys and priority", self.name))
    }
}

impl ValueSet {
    /// A member, as control planes write it.
    pub fn given(&self, member: &[MatchValue]) -> Vec<(u32, MatchValue)> {
        given(&self.fields, member)
    }

    /// A member.
    pub(crate) fn member(&self, given: &[(u32, MatchValue)]) -> Result<Vec<MatchValue>> {
        matches(&self.name, &self.fields, self.fields.len(), given)
    }
}

/// Matches by field id, without those that match anything.
fn given(fields: &[Field], matches: &[MatchValue]) -> Vec<(u32, MatchValue)> {
    let shown = fields.iter().map(|field| (field, &matches[field.key]));
    shown.filter(|(field, value)| !field.is_any(value)).map(|(field, value)| (field.id, value.clone())).collect()
}

/// Matches of fields, as many as there are keys. Omitted fields match anything.
fn matches(name: &str, fields: &[Field], keys: usize, given: &[(u32, MatchValue)]) -> Result<Vec<MatchValue>> {
    if given.len() > fields.len() {
        return Err(invalid(format!("`{name}` has {} match fields, not {}", fields.len(), given.len())));
    }
    let mut found: Vec<Option<MatchValue>> = vec![None; keys];
    for (at, (id, value)) in given.iter().enumerate() {
        // Most clients send them in order.
        let field = match fields.get(at) {
            Some(field) if field.id == *id => field,
            _ => fields.iter().find(|f| f.id == *id).ok_or_else(|| {
                let those = listing::numbered(*id, fields.iter().map(|f| (f.id, f.name.as_str())));
                invalid(format!("`{name}` has no match field {id}{those}"))
            })?,
        };
        field.check(value)?;
        if found[field.key].replace(value.clone()).is_some() {
            return Err(invalid(format!("`{name}`: match field `{}` is there twice", field.name)));
        }
    }
    for field in fields.iter() {
        let place = &mut found[field.key];
        if place.is_none() {
            let any = field.kind.any(field.width);
            *place = Some(any.ok_or_else(|| invalid(format!("`{name}`: match field `{}` is missing", field.name)))?);
        }
    }
    Ok(found.into_iter().map(|m| m.unwrap_or(MatchValue::Optional(None))).collect())
}

impl Field {
    /// Checks that a match has the field's form and width, and is the only way to write it: without bits that do not matter, and not
    /// one that matches anything.
    fn check(&self, value: &MatchValue) -> Result<()> {
        let fits = |value| fits(&self.name, self.width, value);
        let dont_care = || Err(invalid(format!("`{}`: leave out a field that matches anything", self.name)));
        let masked = || Err(invalid(format!("`{}`: bits that are not matched must be zero", self.name)));
        match (self.kind.form(), value) {
            (MatchForm::Value, MatchValue::Exact(value))
            | (MatchForm::ValueOrAny, MatchValue::Optional(Some(value))) => fits(value),
            (MatchForm::Prefix, MatchValue::Lpm { value, prefix_len }) => {
                fits(value)?;
                match self.width.checked_sub(*prefix_len) {
                    None => {
                        let (name, width) = (&self.name, self.width);
                        Err(invalid(format!("`{name}`: prefix length {prefix_len} of {width} bits")))
                    }
                    Some(_) if *prefix_len == 0 => dont_care(),
                    Some(below) if value.trailing_zeros().is_some_and(|zeros| zeros < u64::from(below)) => masked(),
                    Some(_) => Ok(()),
                }
            }
            (MatchForm::Mask, MatchValue::Ternary { value, mask }) => {
                fits(value).and_then(|()| fits(mask))?;
                if *mask == BigUint::ZERO {
                    return dont_care();
                }
                if value & mask == *value { Ok(()) } else { masked() }
            }
            (MatchForm::Range, MatchValue::Range { lo, hi }) => {
                fits(lo).and_then(|()| fits(hi))?;
                if lo > hi {
                    return Err(invalid(format!("`{}`: the low bound is above the high one", self.name)));
                }
                if *lo == BigUint::ZERO && *hi == bits::mask(self.width) { dont_care() } else { Ok(()) }
            }
            _ => Err(invalid(format!("`{}` is matched as {}", self.name, self.kind).to_lowercase())),
        }
    }

    /// The place of its values, if they are translated.
    pub fn translated(&self) -> Option<Translated<'_>> {
        self.translated.map(|ty| Translated { ty, whole: true, name: &self.name })
    }

    /// The value of which a match demands all bits.
    pub fn whole<'v>(&self, value: &'v MatchValue) -> Option<&'v BigUint> {
        match value {
            MatchValue::Exact(value) | MatchValue::Optional(Some(value)) => Some(value),
            MatchValue::Lpm { value, prefix_len } => (*prefix_len == self.width).then_some(value),
            MatchValue::Ternary { value, mask } => (*mask == bits::mask(self.width)).then_some(value),
            MatchValue::Optional(None) | MatchValue::Range { .. } => None,
        }
    }

    /// Whether a match of this field matches anything, so that protocols leave it out.
    pub fn is_any(&self, value: &MatchValue) -> bool {
        match value {
            MatchValue::Exact(_) | MatchValue::Optional(Some(_)) => false,
            MatchValue::Optional(None) => true,
            MatchValue::Lpm { prefix_len, .. } => *prefix_len == 0,
            MatchValue::Ternary { mask, .. } => *mask == BigUint::ZERO,
            MatchValue::Range { lo, hi } => *lo == BigUint::ZERO && *hi == bits::mask(self.width),
        }
    }
}

/// Checks that a value fits a width in bits.
pub(crate) fn fits(name: &str, width: u32, value: &BigUint) -> Result<()> {
    if bits::fits(value, width) {
        return Ok(());
    }
    Err(out_of_range(format!("`{name}`: the value does not fit {width} bits")))
}
