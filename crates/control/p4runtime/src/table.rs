//! Converts table entries between messages and the pipeline. `device` writes them.

use ::bytes::Bytes;
use hopwright_ir::{ActionCall, MatchForm, MatchValue, TableEntry, bits};
use num_bigint::BigUint;

use crate::bytes;
use crate::failure::{Failure, Result, bad_number, denied, invalid, not_found};
use crate::listing;
use crate::proto::v1;
use crate::schema::{Action, Field, Param, Schema, Table};
use v1::field_match::FieldMatchType as Wire;

/// The table with this id.
pub(crate) fn table(schema: &Schema, id: u32) -> Result<&Table> {
    match schema.tables.get(&id) {
        Some(table) => Ok(table),
        None if id == 0 => Err(invalid("no table id")),
        None => {
            let those = listing::numbered(id, schema.tables.values().map(|t| (t.id, t.name.as_str())));
            Err(not_found(format!("the program has no table with id {id:#x}{those}")))
        }
    }
}

/// The matches of an entry, one for each key of the pipeline's table.
pub(crate) fn matches(table: &Table, entry: &v1::TableEntry) -> Result<Vec<MatchValue>> {
    fields(&table.name, &table.fields, table.keys, &entry.r#match)
}

/// Matches of fields, as many as there are keys. Omitted fields match anything.
pub(crate) fn fields(name: &str, fields: &[Field], keys: usize, request: &[v1::FieldMatch]) -> Result<Vec<MatchValue>> {
    if request.len() > fields.len() {
        return Err(invalid(format!("`{name}` has {} match fields, not {}", fields.len(), request.len())));
    }
    let mut found: Vec<Option<MatchValue>> = vec![None; keys];
    for (at, m) in request.iter().enumerate() {
        // Most clients send them in order.
        let field = match fields.get(at) {
            Some(field) if field.id == m.field_id => field,
            _ => fields.iter().find(|f| f.id == m.field_id).ok_or_else(|| {
                let those = listing::numbered(m.field_id, fields.iter().map(|f| (f.id, f.name.as_str())));
                invalid(format!("`{name}` has no match field {}{those}", m.field_id))
            })?,
        };
        let value = field_match(field, m)?;
        if found[field.key].replace(value).is_some() {
            return Err(invalid(format!("`{name}`: match field `{}` is there twice", field.name)));
        }
    }
    for field in fields {
        let place = &mut found[field.key];
        if place.is_none() {
            let any = field.kind.any(field.width);
            *place = Some(any.ok_or_else(|| invalid(format!("`{name}`: match field `{}` is missing", field.name)))?);
        }
    }
    Ok(found.into_iter().map(|m| m.unwrap_or(MatchValue::Optional(None))).collect())
}

fn field_match(field: &Field, request: &v1::FieldMatch) -> Result<MatchValue> {
    let number = |b: &[u8]| bytes::number(b, field.width).map_err(|e| bad_number(&field.name, field.width, e));
    let dont_care = || invalid(format!("`{}`: leave out a field that matches anything", field.name));
    let masked = || invalid(format!("`{}`: bits that are not matched must be zero", field.name));
    match (field.kind.form(), &request.field_match_type) {
        (MatchForm::Value, Some(Wire::Exact(m))) => Ok(MatchValue::Exact(number(&m.value)?)),
        (MatchForm::Prefix, Some(Wire::Lpm(m))) => {
            let value = number(&m.value)?;
            let prefix_len = u32::try_from(m.prefix_len).ok().filter(|len| *len <= field.width).ok_or_else(|| {
                invalid(format!("`{}`: prefix length {} of {} bits", field.name, m.prefix_len, field.width))
            })?;
            if prefix_len == 0 {
                return Err(dont_care());
            }
            if value.trailing_zeros().is_some_and(|zeros| zeros < u64::from(field.width - prefix_len)) {
                return Err(masked());
            }
            Ok(MatchValue::Lpm { value, prefix_len })
        }
        (MatchForm::Mask, Some(Wire::Ternary(m))) => {
            let (value, mask) = (number(&m.value)?, number(&m.mask)?);
            if mask == BigUint::ZERO {
                return Err(dont_care());
            }
            if &value & &mask != value {
                return Err(masked());
            }
            Ok(MatchValue::Ternary { value, mask })
        }
        (MatchForm::Range, Some(Wire::Range(m))) => {
            let (lo, hi) = (number(&m.low)?, number(&m.high)?);
            if lo > hi {
                return Err(invalid(format!("`{}`: the low bound is above the high one", field.name)));
            }
            if lo == BigUint::ZERO && hi == bits::mask(field.width) {
                return Err(dont_care());
            }
            Ok(MatchValue::Range { lo, hi })
        }
        (MatchForm::ValueOrAny, Some(Wire::Optional(m))) => Ok(MatchValue::Optional(Some(number(&m.value)?))),
        (_, None) => Err(invalid(format!("`{}`: no match", field.name))),
        (_, Some(_)) => Err(invalid(format!("`{}` is matched as {}", field.name, field.kind).to_lowercase())),
    }
}

/// Converts matches to messages, without fields that match anything.
pub(crate) fn field_matches(fields: &[Field], matches: &[MatchValue]) -> Vec<v1::FieldMatch> {
    fields
        .iter()
        .filter_map(|field| {
            let value = &matches[field.key];
            let of = bytes::of;
            let wire = match value {
                MatchValue::Exact(v) => Wire::Exact(v1::field_match::Exact { value: of(v) }),
                MatchValue::Lpm { prefix_len: 0, .. } | MatchValue::Optional(None) => return None,
                MatchValue::Lpm { value, prefix_len } => {
                    Wire::Lpm(v1::field_match::Lpm { value: of(value), prefix_len: *prefix_len as i32 })
                }
                MatchValue::Ternary { mask, .. } if *mask == BigUint::ZERO => return None,
                MatchValue::Ternary { value, mask } => {
                    Wire::Ternary(v1::field_match::Ternary { value: of(value), mask: of(mask) })
                }
                MatchValue::Range { lo, hi } if *lo == BigUint::ZERO && *hi == bits::mask(field.width) => return None,
                MatchValue::Range { lo, hi } => Wire::Range(v1::field_match::Range { low: of(lo), high: of(hi) }),
                MatchValue::Optional(Some(v)) => Wire::Optional(v1::field_match::Optional { value: of(v) }),
            };
            Some(v1::FieldMatch { field_id: field.id, field_match_type: Some(wire) })
        })
        .collect()
}

/// The priority of an entry to be written.
pub(crate) fn priority(table: &Table, entry: &v1::TableEntry) -> Result<i32> {
    match (table.priority, entry.priority) {
        (true, p) if p > 0 => Ok(p),
        (true, _) => Err(invalid(format!("entries of `{}` need a priority above zero", table.name))),
        (false, 0) => Ok(0),
        (false, _) => Err(invalid(format!("entries of `{}` have no priority", table.name))),
    }
}

/// The action of an entry or a default entry.
pub(crate) fn action(table: &Table, request: &v1::TableAction, as_default: bool) -> Result<ActionCall> {
    match &request.r#type {
        Some(v1::table_action::Type::Action(action)) => call(table, action, as_default),
        Some(_) if as_default => Err(invalid(format!("the default entry of `{}` names an action", table.name))),
        Some(_) => Err(invalid(format!("`{}` has no action profile", table.name))),
        None => Err(invalid(format!("`{}`: no action", table.name))),
    }
}

/// An action with its arguments.
pub(crate) fn call(table: &Table, request: &v1::Action, as_default: bool) -> Result<ActionCall> {
    let listed: &Action = table.actions.iter().find(|a| a.id == request.action_id).ok_or_else(|| {
        let those = listing::numbered(request.action_id, table.actions.iter().map(|a| (a.id, a.name.as_str())));
        invalid(format!("table `{}` has no action with id {:#x}{those}", table.name, request.action_id))
    })?;
    if as_default && listed.table_only {
        return Err(denied(format!("`{}` may not be the default action of `{}`", listed.name, table.name)));
    }
    if !as_default && listed.default_only {
        return Err(denied(format!("`{}` may only be the default action of `{}`", listed.name, table.name)));
    }
    if request.params.len() != listed.params.len() {
        let (wants, got) = (listed.params.len(), request.params.len());
        let those = listing::those(listed.params.iter().map(|p| p.name.as_str()));
        return Err(invalid(format!("`{}` has {wants} parameters, not {got}{those}", listed.name)));
    }
    let mut args = Vec::with_capacity(listed.params.len());
    for (at, Param { id, name, width, .. }) in listed.params.iter().enumerate() {
        let param = match &request.params[at] {
            param if param.param_id == *id => param,
            _ => request
                .params
                .iter()
                .find(|p| p.param_id == *id)
                .ok_or_else(|| invalid(format!("`{}`: parameter `{name}` is missing", listed.name)))?,
        };
        args.push(bytes::number(&param.value, *width).map_err(|e| bad_number(name, *width, e))?);
    }
    Ok(ActionCall { action: listed.at, args })
}

/// An action as a message.
pub(crate) fn table_action(table: &Table, call: &ActionCall) -> Option<v1::TableAction> {
    let action = plain_action(table, call)?;
    Some(v1::TableAction { r#type: Some(v1::table_action::Type::Action(action)) })
}

/// The same, without the enclosing message.
pub(crate) fn plain_action(table: &Table, call: &ActionCall) -> Option<v1::Action> {
    let listed = table.actions.iter().find(|a| a.at == call.action)?;
    let params = listed
        .params
        .iter()
        .zip(&call.args)
        .map(|(param, value)| v1::action::Param { param_id: param.id, value: bytes::of(value) })
        .collect();
    Some(v1::Action { action_id: listed.id, params })
}

/// An entry as a message, without its metadata and counters.
pub(crate) fn entry(table: &Table, entry: &TableEntry) -> v1::TableEntry {
    v1::TableEntry {
        table_id: table.id,
        r#match: field_matches(&table.fields, &entry.matches),
        action: table_action(table, &entry.action),
        priority: entry.priority,
        is_const: table.const_entries,
        ..Default::default()
    }
}

/// The filter of a read in a table: fields that are set must be equal.
pub(crate) struct Filter {
    matches: Option<Vec<MatchValue>>,
    priority: i32,
    action: Option<v1::TableAction>,
    controller_metadata: u64,
    metadata: Bytes,
}

impl Filter {
    /// The filter of a read request for entries of this table.
    pub(crate) fn new(table: &Table, request: &v1::TableEntry) -> Result<Filter> {
        let matches = if request.r#match.is_empty() { None } else { Some(matches(table, request)?) };
        Ok(Filter {
            matches,
            priority: request.priority,
            action: request.action.clone(),
            controller_metadata: request.controller_metadata,
            metadata: request.metadata.clone(),
        })
    }

    /// The single entry that the filter selects, if it is one.
    pub(crate) fn single(&self, table: &Table) -> Option<(&[MatchValue], i32)> {
        let matches = self.matches.as_deref()?;
        (!table.priority || self.priority != 0).then_some((matches, self.priority))
    }

    /// Whether an entry's keys and priority pass the filter.
    pub(crate) fn keys(&self, entry: &TableEntry) -> bool {
        self.matches.as_ref().is_none_or(|m| *m == entry.matches)
            && (self.priority == 0 || self.priority == entry.priority)
    }

    /// Whether the entry's message passes the filter.
    pub(crate) fn shown(&self, entry: &v1::TableEntry) -> bool {
        self.action.as_ref().is_none_or(|wanted| entry.action.as_ref().is_some_and(|a| same_action(wanted, a)))
            && (self.controller_metadata == 0 || self.controller_metadata == entry.controller_metadata)
            && (self.metadata.is_empty() || self.metadata == entry.metadata)
    }
}

/// An action without parameters selects the action with any arguments.
fn same_action(wanted: &v1::TableAction, found: &v1::TableAction) -> bool {
    use v1::table_action::Type;
    match (&wanted.r#type, &found.r#type) {
        (Some(Type::Action(wanted)), Some(Type::Action(found))) if wanted.params.is_empty() => {
            wanted.action_id == found.action_id
        }
        _ => wanted == found,
    }
}

/// For messages.
pub(crate) fn no_entry(table: &Table) -> Failure {
    not_found(format!("table `{}` has no entry with these keys and priority", table.name))
}
