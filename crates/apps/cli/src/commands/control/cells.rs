//! `hopwright counter` and `hopwright register`.

use hopwright_p4runtime::bytes;
use hopwright_p4runtime::client::{Client, CountText, Either, data_text, parse_number};
use hopwright_p4runtime::proto::config::{
    P4DataTypeSpec, Register, p4_bitstring_like_type_spec, p4_data_type_spec, p4_new_type_spec,
};
use hopwright_p4runtime::proto::v1;
use serde_json::{Value, json};
use v1::entity::Entity;
use v1::update::Type;

use super::{connect, preamble, print_json};
use crate::cli::control::{CounterArgs, CounterCommand, RegisterArgs, RegisterCommand};
use crate::failure::Failure;

/// Runs `hopwright counter`.
pub(crate) fn counter(args: &CounterArgs) -> Result<(), Failure> {
    let mut client = connect(&args.switch)?;
    let json = args.switch.json;
    match args.command.as_ref().unwrap_or(&CounterCommand::List) {
        CounterCommand::List => {
            list_counters(&client, json);
            Ok(())
        }
        CounterCommand::Show { name: Some(name), index, all } => show_counter(&mut client, name, *index, *all, json),
        CounterCommand::Show { name: None, all, .. } => show_counters(&mut client, *all, json),
        CounterCommand::Reset { name, index } => reset_counter(&mut client, name, *index),
    }
}

/// Runs `hopwright register`.
pub(crate) fn register(args: &RegisterArgs) -> Result<(), Failure> {
    let mut client = connect(&args.switch)?;
    let json = args.switch.json;
    match args.command.as_ref().unwrap_or(&RegisterCommand::List) {
        RegisterCommand::List => {
            list_registers(&client, json);
            Ok(())
        }
        RegisterCommand::Show { name, index, all } => show_register(&mut client, name, *index, *all, json),
        RegisterCommand::Set { name, values, all } => set_register(&mut client, name, values, *all),
    }
}

fn list_counters(client: &Client, json: bool) {
    let info = client.info();
    let arrays = info.counters.iter().map(|c| (preamble(&c.preamble), Some(c.size), None));
    let direct = info.direct_counters.iter().map(|c| {
        let table = client.names().table_with_id(c.direct_table_id);
        (preamble(&c.preamble), None, table.map(|t| preamble(&t.preamble).0))
    });
    print_list(arrays.chain(direct), json);
}

/// Lists arrays with their sizes, and direct objects with their tables.
pub(crate) fn print_list<'a>(all: impl Iterator<Item = ((&'a str, u32), Option<i64>, Option<&'a str>)>, json: bool) {
    if json {
        let one = |((name, id), size, table)| json!({ "name": name, "id": id, "size": size, "table": table });
        return print_json(&all.map(one).collect());
    }
    for ((name, _), size, table) in all {
        match (size, table) {
            (Some(size), _) => println!("{name}: {size} cells"),
            (None, table) => println!("{name}: of the entries of {}", table.unwrap_or("a table")),
        }
    }
}

/// An index as P4Runtime has it.
pub(crate) fn cell(index: Option<u64>) -> Result<Option<v1::Index>, Failure> {
    let signed = |index| i64::try_from(index).map_err(|_| Failure::message(format!("there is no cell {index}")));
    Ok(index.map(signed).transpose()?.map(|index| v1::Index { index }))
}

fn show_counter(client: &mut Client, name: &str, index: Option<u64>, all: bool, json: bool) -> Result<(), Failure> {
    let (lines, zero) = counts(client, name, index, all)?;
    print_cells(lines, zero, json);
    Ok(())
}

/// Prints all counters: as JSON, an object with the cells of each by its name.
fn show_counters(client: &mut Client, all: bool, json: bool) -> Result<(), Failure> {
    let info = client.info();
    let preambles = info.counters.iter().map(|c| &c.preamble).chain(info.direct_counters.iter().map(|c| &c.preamble));
    let names: Vec<String> = preambles.map(|p| preamble(p).0.to_string()).collect();
    let mut shown = serde_json::Map::new();
    for name in names {
        let (lines, zero) = counts(client, &name, None, all)?;
        if json {
            shown.insert(name, lines.into_iter().map(|(_, value)| value).collect());
        } else {
            println!("# {name}");
            print_cells(lines, zero, false);
        }
    }
    if json {
        print_json(&shown.into());
    }
    Ok(())
}

/// The cells of a counter as text and as JSON, and the number of omitted cells that are zero.
fn counts(
    client: &mut Client,
    name: &str,
    index: Option<u64>,
    all: bool,
) -> Result<(Vec<(String, Value)>, usize), Failure> {
    let asked = match client.names().counter(name)? {
        Either::Array(counter) => Entity::CounterEntry(v1::CounterEntry {
            counter_id: preamble(&counter.preamble).1,
            index: cell(index)?,
            ..Default::default()
        }),
        Either::Direct(counter) => {
            no_index(name, index)?;
            direct(counter.direct_table_id)
        }
    };
    let mut lines: Vec<(String, Value)> = Vec::new();
    let mut zero = 0;
    for found in client.read(asked)? {
        let (data, place, label) = match found {
            Entity::CounterEntry(e) => {
                let at = e.index.map_or(0, |i| i.index);
                (e.data, ("index", json!(at)), at.to_string())
            }
            Entity::DirectCounterEntry(e) => {
                let text = client.names().entry_text(&e.table_entry.unwrap_or_default());
                let keys = text.keys();
                (e.data, ("entry", json!(text)), keys)
            }
            _ => continue,
        };
        let count = CountText::of(&data.unwrap_or_default());
        if count == (CountText { packets: 0, bytes: 0 }) && !all && index.is_none() {
            zero += 1;
            continue;
        }
        lines.push((
            format!("{label}: {count}"),
            json!({ place.0: place.1, "packets": count.packets, "bytes": count.bytes }),
        ));
    }
    Ok((lines, zero))
}

/// Cells, and the number of omitted cells that are zero.
pub(crate) fn print_cells(lines: Vec<(String, Value)>, zero: usize, json: bool) {
    if json {
        return print_json(&lines.into_iter().map(|(_, value)| value).collect());
    }
    for (line, _) in &lines {
        println!("{line}");
    }
    if zero > 0 {
        let more = if lines.is_empty() { "" } else { " more" };
        println!("# {zero}{more} are zero");
    }
}

fn direct(table: u32) -> Entity {
    let table_entry = Some(v1::TableEntry { table_id: table, ..Default::default() });
    Entity::DirectCounterEntry(v1::DirectCounterEntry { table_entry, data: None })
}

/// Refuses an index for direct objects, whose cells are entries.
pub(crate) fn no_index(name: &str, index: Option<u64>) -> Result<(), Failure> {
    match index {
        Some(_) => Err(Failure::message(format!("`{name}` belongs to a table's entries: it has no cells by number"))),
        None => Ok(()),
    }
}

fn reset_counter(client: &mut Client, name: &str, index: Option<u64>) -> Result<(), Failure> {
    let data = Some(v1::CounterData::default());
    let entities = match client.names().counter(name)? {
        Either::Array(counter) => {
            let counter_id = preamble(&counter.preamble).1;
            vec![Entity::CounterEntry(v1::CounterEntry { counter_id, index: cell(index)?, data })]
        }
        Either::Direct(counter) => {
            no_index(name, index)?;
            let asked = direct(counter.direct_table_id);
            let zero = |e| match e {
                Entity::DirectCounterEntry(e) => Entity::DirectCounterEntry(v1::DirectCounterEntry { data, ..e }),
                other => other,
            };
            client.read(asked)?.into_iter().map(zero).collect()
        }
    };
    client.write(Type::Modify, entities)?;
    Ok(())
}

fn list_registers(client: &Client, json: bool) {
    let registers = &client.info().registers;
    if json {
        let one = |r: &Register| {
            let (name, id) = preamble(&r.preamble);
            json!({ "name": name, "id": id, "size": r.size, "width": width(client, r) })
        };
        return print_json(&registers.iter().map(one).collect());
    }
    for r in registers {
        println!("{}: {} cells of {} bits", preamble(&r.preamble).0, r.size, width(client, r));
    }
}

/// The width of a register's cells; a `bool` has one bit.
fn width(client: &Client, register: &Register) -> u32 {
    use p4_bitstring_like_type_spec::TypeSpec as Bits;
    let spec = |s: &P4DataTypeSpec| match below(client, s).type_spec.as_ref()? {
        p4_data_type_spec::TypeSpec::Bitstring(b) => match b.type_spec.as_ref()? {
            Bits::Bit(b) => Some(b.bitwidth),
            Bits::Int(b) => Some(b.bitwidth),
            Bits::Varbit(_) => None,
        },
        _ => None,
    };
    register.type_spec.as_ref().and_then(spec).map_or(1, |width| width.max(0) as u32)
}

/// The type behind a `type` declaration.
fn below<'a>(client: &'a Client, spec: &'a P4DataTypeSpec) -> &'a P4DataTypeSpec {
    let Some(p4_data_type_spec::TypeSpec::NewType(name)) = &spec.type_spec else { return spec };
    let known = client.info().type_info.as_ref().and_then(|types| types.new_types.get(&name.name));
    match known.and_then(|t| t.representation.as_ref()) {
        Some(p4_new_type_spec::Representation::OriginalType(original)) => original,
        _ => spec,
    }
}

fn is_bool(client: &Client, register: &Register) -> bool {
    let spec = register.type_spec.as_ref().and_then(|s| below(client, s).type_spec.as_ref());
    matches!(spec, Some(p4_data_type_spec::TypeSpec::Bool(_)))
}

fn show_register(client: &mut Client, name: &str, index: Option<u64>, all: bool, json: bool) -> Result<(), Failure> {
    let register_id = preamble(&client.names().register(name)?.preamble).1;
    let asked = v1::RegisterEntry { register_id, index: cell(index)?, data: None };
    let (mut lines, mut zero) = (Vec::new(), 0);
    for found in client.read(Entity::RegisterEntry(asked))? {
        let Entity::RegisterEntry(found) = found else { continue };
        let at = found.index.map_or(0, |i| i.index);
        let value = data_text(&found.data.unwrap_or_default());
        if matches!(value.as_str(), "0" | "false") && !all && index.is_none() {
            zero += 1;
            continue;
        }
        lines.push((format!("{at}: {value}"), json!({ "index": at, "value": value })));
    }
    print_cells(lines, zero, json);
    Ok(())
}

fn set_register(client: &mut Client, name: &str, values: &[String], all: bool) -> Result<(), Failure> {
    let register = client.names().register(name)?;
    let (index, value) = match values {
        [value] if all => (None, value),
        [index, value] if !all => {
            let index = index.parse().map_err(|_| Failure::message(format!("`{index}` is no cell's number")))?;
            (Some(index), value)
        }
        _ => return Err(Failure::message("expected INDEX and VALUE, or --all and VALUE")),
    };
    let number = parse_number(value, width(client, register)).map_err(Failure::message)?;
    let data = match is_bool(client, register) {
        true => v1::p4_data::Data::Bool(number.bits() > 0),
        false => v1::p4_data::Data::Bitstring(bytes::of(&number)),
    };
    let register_id = preamble(&register.preamble).1;
    let entry = v1::RegisterEntry { register_id, index: cell(index)?, data: Some(v1::P4Data { data: Some(data) }) };
    client.write(Type::Modify, vec![Entity::RegisterEntry(entry)])?;
    Ok(())
}
