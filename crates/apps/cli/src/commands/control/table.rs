//! `hopwright table`.

use std::path::Path;

use hopwright_p4runtime::client::{Client, ClientError, EntryText, RefusedUpdate, Written, alias};
use hopwright_p4runtime::proto::config::{Table, match_field};
use hopwright_p4runtime::proto::v1;
use serde_json::{Value, json};
use v1::entity::Entity;
use v1::update::Type;

use super::{connect, preamble, print_json};
use crate::cli::control::{EntryArgs, TableArgs, TableCommand};
use crate::failure::Failure;

/// The most wrong lines of a file that are reported.
const REPORTED: usize = 10;

/// Runs the command.
pub(crate) fn run(args: &TableArgs) -> Result<(), Failure> {
    let mut client = connect(&args.switch)?;
    let json = args.switch.json;
    match args.command.as_ref().unwrap_or(&TableCommand::List) {
        TableCommand::List => {
            list(&client, json);
            Ok(())
        }
        TableCommand::Show { name: Some(name) } => {
            let table = client.names().table(name)?.clone();
            if let Some(shown) = show(&mut client, &table, json)? {
                print_json(&shown);
            }
            Ok(())
        }
        TableCommand::Show { name: None } => {
            let tables = client.info().tables.clone();
            let shown = tables.iter().map(|table| show(&mut client, table, json));
            let shown: Vec<Value> = shown.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
            if json {
                print_json(&shown.into());
            }
            Ok(())
        }
        TableCommand::Add(entry) => write(&mut client, Type::Insert, entry),
        TableCommand::Set(entry) => write(&mut client, Type::Modify, entry),
        TableCommand::Load { name, file } => load(&mut client, name, file),
        #[cfg(feature = "thrift")]
        TableCommand::Import { file } => import(&mut client, file),
        TableCommand::Delete { name, entry, all } => delete(&mut client, name, entry, *all),
        TableCommand::Default { name, action, reset } => default(&mut client, name, action, *reset, json),
    }
}

/// The name of a key's match kind.
fn kind(field: &match_field::Match) -> String {
    match field {
        match_field::Match::MatchType(kind) => match_field::MatchType::try_from(*kind)
            .map_or_else(|_| "?".into(), |kind| kind.as_str_name().to_ascii_lowercase()),
        match_field::Match::OtherMatchType(name) => name.clone(),
    }
}

fn list(client: &Client, json: bool) {
    let names = client.names();
    let tables = &client.info().tables;
    let actions = |t: &Table| -> Vec<Value> {
        t.action_refs
            .iter()
            .filter_map(|r| {
                let action = names.action_with_id(r.id)?;
                let params = action.params.iter().map(|p| json!({ "name": p.name, "width": p.bitwidth }));
                let scope = r.scope().as_str_name().to_ascii_lowercase();
                Some(json!({ "name": alias(&action.preamble), "params": params.collect::<Vec<_>>(), "scope": scope }))
            })
            .collect()
    };
    if json {
        let table = |t: &Table| {
            let (name, id) = preamble(&t.preamble);
            let keys = t
                .match_fields
                .iter()
                .map(|f| json!({ "name": f.name, "match": f.r#match.as_ref().map(kind), "width": f.bitwidth }));
            json!({ "name": name, "alias": alias(&t.preamble), "id": id, "size": t.size, "const": t.is_const_table,
                    "keys": keys.collect::<Vec<_>>(), "actions": actions(t) })
        };
        return print_json(&tables.iter().map(table).collect());
    }
    for t in tables {
        let (name, _) = preamble(&t.preamble);
        let constant = if t.is_const_table { ", constant" } else { "" };
        println!("{name}: {} entries at most{constant}", t.size);
        for (at, f) in t.match_fields.iter().enumerate() {
            let label = if at == 0 { "keys" } else { "" };
            println!(
                "  {label:<8} {} {}, {} bits",
                f.name,
                f.r#match.as_ref().map_or_else(String::new, kind),
                f.bitwidth
            );
        }
        for (at, r) in t.action_refs.iter().enumerate() {
            let label = if at == 0 { "actions" } else { "" };
            let Some(action) = names.action_with_id(r.id) else { continue };
            let params: Vec<String> =
                action.params.iter().map(|p| format!("{}: {} bits", p.name, p.bitwidth)).collect();
            let scope = match r.scope().as_str_name() {
                "TABLE_ONLY" => ", not as default",
                "DEFAULT_ONLY" => ", only as default",
                _ => "",
            };
            println!("  {label:<8} {}({}){scope}", alias(&action.preamble), params.join(", "));
        }
    }
}

/// The entries of a table with their counters, and its default entry.
fn entries(client: &mut Client, table: &Table) -> Result<(Vec<EntryText>, Option<EntryText>), Failure> {
    let asked = v1::TableEntry {
        table_id: preamble(&table.preamble).1,
        counter_data: Some(v1::CounterData::default()),
        ..Default::default()
    };
    let defaults = v1::TableEntry { is_default_action: true, counter_data: None, ..asked.clone() };
    let mut found = client.read(Entity::TableEntry(asked))?;
    found.extend(client.read(Entity::TableEntry(defaults))?);
    let texts = found.iter().filter_map(|e| match e {
        Entity::TableEntry(e) => Some(client.names().entry_text(e)),
        _ => None,
    });
    let (defaults, entries): (Vec<_>, Vec<_>) = texts.partition(|e| e.default);
    Ok((entries, defaults.into_iter().next()))
}

/// Prints a table, or returns it as JSON.
fn show(client: &mut Client, table: &Table, json: bool) -> Result<Option<Value>, Failure> {
    let (entries, default) = entries(client, table)?;
    let name = preamble(&table.preamble).0;
    if json {
        let default = default.and_then(|d| d.actions.into_iter().next());
        return Ok(Some(json!({ "table": name, "size": table.size, "entries": entries, "default": default })));
    }
    let word = if entries.len() == 1 { "entry" } else { "entries" };
    println!("# {name}: {} {word} of {} at most", entries.len(), table.size);
    let width = entries.iter().map(|e| e.to_string().chars().count()).max().unwrap_or(0);
    for entry in &entries {
        match entry.counter {
            Some(count) => println!("{:<width$}  # {count}", entry.to_string()),
            None => println!("{entry}"),
        }
    }
    if let Some(default) = default {
        println!("# default: {}", default.action());
    }
    Ok(None)
}

fn write(client: &mut Client, kind: Type, args: &EntryArgs) -> Result<(), Failure> {
    let entry = entry(client, &args.name, &args.entry)?;
    client.write(kind, vec![Entity::TableEntry(entry)])?;
    Ok(())
}

/// An entry with an action.
fn entry(client: &Client, table: &str, words: &[String]) -> Result<v1::TableEntry, Failure> {
    let names = client.names();
    let table = names.table(table)?;
    let entry = names.entry(table, &Written::parse(words)?)?;
    if entry.action.is_none() {
        let actions = table.action_refs.iter().filter_map(|r| Some(alias(&names.action_with_id(r.id)?.preamble)));
        let actions = actions.collect::<Vec<_>>().join(", ");
        return Err(Failure::message(format!("the action is missing: KEY=VALUE … => ACTION, one of {actions}")));
    }
    Ok(entry)
}

/// The text of a file, or of standard input.
fn read(file: &Path) -> Result<String, Failure> {
    let text =
        if file == Path::new("-") { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    text.map_err(|e| Failure::message(format!("{}: {e}", file.display())))
}

/// Executes commands for BMv2 on a model of the switch's program, and makes the updates that lead to its state.
#[cfg(feature = "thrift")]
fn import(client: &mut Client, file: &Path) -> Result<(), Failure> {
    let text = read(file)?;
    let program = client.program()?;
    let execute = |model: &_| hopwright_thrift::commands::execute(&file.display().to_string(), &text, model);
    let updates = program.updates_of(execute).map_err(|failure| Failure::message(failure.message))?;
    Ok(client.write_updates(updates)?)
}

/// How many entries a table has, if the switch answers.
fn count(client: &mut Client, table_id: u32) -> Option<usize> {
    let asked = v1::TableEntry { table_id, ..Default::default() };
    Some(client.read(Entity::TableEntry(asked)).ok()?.len())
}

fn load(client: &mut Client, name: &str, file: &Path) -> Result<(), Failure> {
    let text = read(file)?;
    let at = |line: usize, reason: &str| format!("{}:{line}: {reason}", file.display());
    let table_id = preamble(&client.names().table(name)?.preamble).1;
    let (mut entries, mut lines, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match entry(client, name, &[line.to_string()]) {
            Ok(entry) => {
                entries.push(Entity::TableEntry(entry));
                lines.push(number);
            }
            Err(failure) => wrong.push(at(number, &failure.reason())),
        }
    }
    let mut added = None;
    if wrong.is_empty() {
        let (all, before) = (entries.len(), count(client, table_id));
        wrong = match client.write(Type::Insert, entries) {
            Err(ClientError::Updates { refused, .. }) => {
                let line = |update: &RefusedUpdate| lines.get(update.index).copied().unwrap_or_default();
                refused.iter().map(|update| at(line(update), &update.reason)).collect()
            }
            Err(refused @ ClientError::Refused(_)) => vec![refused.to_string()],
            written => return Ok(written?),
        };
        // A status has no room for the results of all updates of a large write.
        added = before.zip(count(client, table_id)).map(|(before, after)| {
            let added = after.saturating_sub(before);
            format!("{added} of {all} entries were added")
        });
    }
    if wrong.len() > REPORTED {
        let more = wrong.len() - REPORTED;
        wrong.truncate(REPORTED);
        wrong.push(format!("{more} more lines are wrong"));
    }
    wrong.extend(added);
    Err(Failure::message(wrong.join("\n")))
}

fn delete(client: &mut Client, name: &str, words: &[String], all: bool) -> Result<(), Failure> {
    let table = client.names().table(name)?.clone();
    let entities = if all {
        let asked = v1::TableEntry { table_id: preamble(&table.preamble).1, ..Default::default() };
        client.read(Entity::TableEntry(asked))?
    } else {
        vec![Entity::TableEntry(client.names().entry(&table, &Written::parse(words)?)?)]
    };
    client.write(Type::Delete, entities)?;
    Ok(())
}

fn default(client: &mut Client, name: &str, action: &[String], reset: bool, json: bool) -> Result<(), Failure> {
    let table = client.names().table(name)?.clone();
    let entry = v1::TableEntry { table_id: preamble(&table.preamble).1, is_default_action: true, ..Default::default() };
    if action.is_empty() && !reset {
        for found in client.read(Entity::TableEntry(entry))? {
            let Entity::TableEntry(found) = found else { continue };
            let text = client.names().entry_text(&found);
            if json {
                print_json(&json!(text.actions.first()));
            } else {
                println!("{}", text.action());
            }
        }
        return Ok(());
    }
    let words: Vec<String> = std::iter::once("=>".to_string()).chain(action.iter().cloned()).collect();
    let action = client.names().table_action(&table, &Written::parse(&words)?)?;
    client.write(Type::Modify, vec![Entity::TableEntry(v1::TableEntry { action, ..entry })])?;
    Ok(())
}
