//! `hopwright meter`.

use hopwright_p4runtime::client::{Client, Either, Written};
use hopwright_p4runtime::proto::v1;
use serde_json::{Value, json};
use v1::entity::Entity;
use v1::update::Type;

use super::cells::{cell, no_index, print_cells, print_list};
use super::{connect, preamble};
use crate::cli::control::{MeterArgs, MeterCommand};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn run(args: &MeterArgs) -> Result<(), Failure> {
    let mut client = connect(&args.switch)?;
    let json = args.switch.json;
    match args.command.as_ref().unwrap_or(&MeterCommand::List) {
        MeterCommand::List => {
            list(&client, json);
            Ok(())
        }
        MeterCommand::Show { name, index } => show(&mut client, name, *index, json),
        MeterCommand::Set { name, index, rates } => set(&mut client, name, index, rates),
    }
}

fn list(client: &Client, json: bool) {
    let info = client.info();
    let arrays = info.meters.iter().map(|m| (preamble(&m.preamble), Some(m.size), None));
    let direct = info.direct_meters.iter().map(|m| {
        let table = client.names().table_with_id(m.direct_table_id);
        (preamble(&m.preamble), None, table.map(|t| preamble(&t.preamble).0))
    });
    print_list(arrays.chain(direct), json);
}

fn show(client: &mut Client, name: &str, index: Option<u64>, json: bool) -> Result<(), Failure> {
    let asked = match client.names().meter(name)? {
        Either::Array(meter) => {
            let meter_id = preamble(&meter.preamble).1;
            Entity::MeterEntry(v1::MeterEntry { meter_id, index: cell(index)?, ..Default::default() })
        }
        Either::Direct(meter) => {
            no_index(name, index)?;
            let table_entry = Some(v1::TableEntry { table_id: meter.direct_table_id, ..Default::default() });
            Entity::DirectMeterEntry(v1::DirectMeterEntry { table_entry, ..Default::default() })
        }
    };
    let (mut lines, mut off): (Vec<(String, Value)>, usize) = (Vec::new(), 0);
    for found in client.read(asked)? {
        let (config, place, label) = match found {
            Entity::MeterEntry(e) => {
                let at = e.index.map_or(0, |i| i.index);
                (e.config, ("index", json!(at)), at.to_string())
            }
            Entity::DirectMeterEntry(e) => {
                let text = client.names().entry_text(&e.table_entry.unwrap_or_default());
                let keys = text.keys();
                (e.config, ("entry", json!(text)), keys)
            }
            _ => continue,
        };
        let (line, rates) = match config {
            Some(c) => (
                format!("{label}: cir={} cburst={} pir={} pburst={}", c.cir, c.cburst, c.pir, c.pburst),
                json!({ "cir": c.cir, "cburst": c.cburst, "pir": c.pir, "pburst": c.pburst }),
            ),
            None if index.is_some() => (format!("{label}: off"), Value::Null),
            None => {
                off += 1;
                continue;
            }
        };
        lines.push((line, json!({ place.0: place.1, "rates": rates })));
    }
    if off > 0 && !json {
        println!("# {off} are off: every packet is green");
    }
    print_cells(lines, 0, json);
    Ok(())
}

fn set(client: &mut Client, name: &str, index: &str, words: &[String]) -> Result<(), Failure> {
    let meter = client.names().meter(name)?;
    let entity = match meter {
        Either::Array(meter) => {
            let index = match index {
                "all" => None,
                index => Some(
                    index.parse().map_err(|_| Failure::message(format!("`{index}` is no cell's number, nor `all`")))?,
                ),
            };
            let (meter_id, index) = (preamble(&meter.preamble).1, cell(index)?);
            Entity::MeterEntry(v1::MeterEntry { meter_id, index, config: rates(words)?, ..Default::default() })
        }
        Either::Direct(meter) => {
            let table = client.names().table_with_id(meter.direct_table_id);
            let table = table.ok_or_else(|| Failure::message(format!("`{name}` belongs to no table")))?;
            let entry = client.names().entry(table, &Written::parse(&[index.to_string()])?)?;
            let (table_entry, config) = (Some(entry), rates(words)?);
            Entity::DirectMeterEntry(v1::DirectMeterEntry { table_entry, config, ..Default::default() })
        }
    };
    client.write(Type::Modify, vec![entity])?;
    Ok(())
}

/// Rates and bursts; `None` for `off`.
fn rates(words: &[String]) -> Result<Option<v1::MeterConfig>, Failure> {
    if words == ["off"] {
        return Ok(None);
    }
    let wrong = |word: &str| {
        Failure::message(format!("`{word}`: expected cir=RATE cburst=SIZE pir=RATE pburst=SIZE, each once, or off"))
    };
    let mut config = v1::MeterConfig::default();
    let mut names = Vec::new();
    for word in words {
        let (name, value) = word.split_once('=').ok_or_else(|| wrong(word))?;
        let place = match name {
            "cir" => &mut config.cir,
            "cburst" => &mut config.cburst,
            "pir" => &mut config.pir,
            "pburst" => &mut config.pburst,
            _ => return Err(wrong(word)),
        };
        *place = value.parse().ok().filter(|v| *v >= 0).ok_or_else(|| wrong(word))?;
        names.push(name);
    }
    names.sort_unstable();
    names.dedup();
    match names.len() == 4 && words.len() == 4 {
        true => Ok(Some(config)),
        false => Err(wrong(&words.join(" "))),
    }
}
