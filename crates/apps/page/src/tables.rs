//! Tables as people write them, through the control model: what it refuses changes nothing, and its reason is shown.

use hopwright_ir::Precedence;
use hopwright_p4runtime::client::{EntryText, Names, Written, alias};
use hopwright_p4runtime::proto::config as p4;
use hopwright_p4runtime::proto::v1;
use hopwright_p4runtime::{Device, Packets, p4info};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, Query, Refusal};

/// The most entries of an answer.
const MAX_PAGE: u64 = 500;
/// The longest entry, in bytes.
const LONGEST: usize = 16 << 10;

/// What a request does with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Insert,
    Modify,
    Delete,
    /// Sets the default action; an empty text restores the program's.
    Default,
}

/// A request to write.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Write {
    /// May be left out where there is only one.
    #[serde(default)]
    pub tenant: String,
    /// The table's name.
    pub table: String,
    /// The number of the program that the request is for.
    pub program: u64,
    pub operation: Operation,
    /// `KEY=VALUE … => ACTION(PARAMETER=VALUE, …)`.
    pub entry: String,
}

fn names(device: &Device) -> Result<Names, Refusal> {
    let running = device.running_since(None)?;
    Ok(Names::new(running.map(|running| running.info).unwrap_or_default()))
}

fn name(preamble: &Option<p4::Preamble>) -> (&str, u32) {
    preamble.as_ref().map_or(("", 0), |p| (&p.name, p.id))
}

/// The tables, with their keys and actions.
pub(crate) fn list(device: &Device) -> Answer {
    let names = names(device)?;
    let tables = names.info().tables.iter().map(|table| {
        let (full, id) = name(&table.preamble);
        let total = device.table_page(id, None, 0, 0).map_or(0, |page| page.total);
        let kinds = table.match_fields.iter().map(|f| f.r#match.as_ref().and_then(p4info::match_kind));
        let priority = kinds.clone().flatten().any(|kind| kind.info().precedence == Precedence::Priority);
        let keys = table.match_fields.iter().zip(kinds).map(|(field, kind)| {
            let kind = kind.map_or_else(|| "?".to_string(), |kind| kind.info().name.to_string());
            json!({ "name": field.name, "match": kind, "width": field.bitwidth, "optional": kind != "exact" })
        });
        let actions = table.action_refs.iter().filter_map(|reference| {
            let action = names.action_with_id(reference.id)?;
            let params = action.params.iter().map(|p| json!({ "name": p.name, "width": p.bitwidth }));
            let scope = reference.scope().as_str_name().to_ascii_lowercase();
            Some(json!({ "name": alias(&action.preamble), "params": params.collect::<Vec<_>>(), "scope": scope }))
        });
        json!({ "name": full, "alias": alias(&table.preamble), "size": table.size, "entries": total, "const": table.is_const_table,
                "priority": priority, "profile": table.implementation_id != 0,
                "constraints": constraints(table), "keys": keys.collect::<Vec<_>>(), "actions": actions.collect::<Vec<_>>() })
    });
    Ok(tables.collect())
}

/// What `@entry_restriction` demands.
fn constraints(table: &p4::Table) -> Vec<&str> {
    let annotations = table.preamble.iter().flat_map(|p| &p.annotations);
    annotations.filter(|text| text.starts_with("@entry_restriction")).map(String::as_str).collect()
}

/// Some entries of a table: `count` of those that contain the words of `search`, after the first `from`.
pub(crate) fn page(device: &Device, query: &Query) -> Answer {
    let names = names(device)?;
    let table = names.table(query.text("table")).map_err(|e| Refusal::bad(e.to_string()))?;
    let (_, id) = name(&table.preamble);
    let from = query.number("from", 0)?.min(usize::MAX as u64) as usize;
    let count = query.number("count", 50)?.min(MAX_PAGE) as usize;
    let words: Vec<String> = query.text("search").split_whitespace().map(str::to_lowercase).collect();
    let mut fits = |entry: &v1::TableEntry| {
        let text = names.entry_text(entry).to_string().to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    let page = device.table_page(id, (!words.is_empty()).then_some(&mut fits), from, count)?;
    let entries = page.entries.iter().map(|entry| {
        let mut shown = entry_json(&names.entry_text(entry));
        shown["const"] = entry.is_const.into();
        shown
    });
    Ok(json!({ "total": page.total, "accepted": page.accepted, "entries": entries.collect::<Vec<_>>(),
               "default": names.entry_text(&page.default).action() }))
}

fn entry_json(text: &EntryText) -> Value {
    let keys: serde_json::Map<String, Value> =
        text.matches.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    json!({ "keys": keys, "priority": text.priority, "action": text.action(), "actions": text.actions, "text": text.to_string(),
            "key_text": text.keys(), "counter": text.counter })
}

/// Writes an entry.
pub(crate) fn write(device: &Device, request: &Write) -> Answer {
    if request.entry.len() > LONGEST {
        return Err(Refusal::bad(format!("an entry has at most {LONGEST} bytes")));
    }
    let names = names(device)?;
    let wrong = |error: &dyn std::fmt::Display| Refusal::bad(error.to_string());
    let table = names.table(&request.table).map_err(|e| wrong(&e))?;
    let words = [request.entry.clone()];
    let (kind, entry) = match request.operation {
        Operation::Default => {
            let text = [format!("=> {}", request.entry)];
            let action = match request.entry.trim() {
                "" => None,
                _ => {
                    names.table_action(table, &Written::parse(&text).map_err(|e| wrong(&e))?).map_err(|e| wrong(&e))?
                }
            };
            let table_id = name(&table.preamble).1;
            (
                v1::update::Type::Modify,
                v1::TableEntry { table_id, action, is_default_action: true, ..Default::default() },
            )
        }
        operation => {
            let entry =
                Written::parse(&words).and_then(|written| names.entry(table, &written)).map_err(|e| wrong(&e))?;
            let kind = match operation {
                Operation::Insert => v1::update::Type::Insert,
                Operation::Modify => v1::update::Type::Modify,
                _ => v1::update::Type::Delete,
            };
            if kind != v1::update::Type::Delete && entry.action.is_none() {
                return Err(Refusal::bad("the action is missing: KEY=VALUE … => ACTION(PARAMETER=VALUE, …)"));
            }
            (kind, entry)
        }
    };
    let entity = v1::Entity { entity: Some(v1::entity::Entity::TableEntry(entry)) };
    let update = v1::Update { r#type: kind.into(), entity: Some(entity) };
    device.write_messages(&[update], Packets::MeetParts)?.into_iter().collect::<Result<Vec<()>, _>>()?;
    tracing::info!(event = "page-write", table = request.table, operation = ?request.operation, entry = request.entry, "table written");
    Ok(json!({ "done": true }))
}
