//! The JSON file that our p4c writes: the program for our switches, and of BMv2's format what tools read names, widths and sizes from.
//!
//! Of BMv2's format there are `program`, `__meta__`, header types, headers, actions with their data, tables with their keys and
//! actions, action profiles, counters, meters, registers, digests and value sets. The code is missing: states of parsers, primitives
//! of actions, conditionals, checksums. BMv2 itself cannot run such a file.

use std::collections::BTreeSet;
use std::path::Path;

use hopwright_ir::{
    Block, Control, ExprKind, ExternId, ExternKind, Key, MatchKind, Pipeline, SlotKind, StmtKind, Table, TableId, Unit,
    walk,
};
use hopwright_p4runtime::BUNDLE_FIELD;
use hopwright_p4runtime::proto::config::P4Info;
use serde_json::{Value, json};

use super::short;

/// The version of BMv2's format.
const VERSION: [u32; 2] = [2, 23];
/// The header that has what is in no header of the program, as p4c calls it.
const SCALARS: &str = "scalars";

/// The file of a program; `bundle` is what our switches read.
pub(super) fn of(file: &Path, pipeline: &Pipeline, info: &P4Info, bundle: &Value) -> Value {
    let mut scalars: Vec<Value> = Vec::new();
    let controls = [("ingress", &pipeline.ingress), ("egress", &pipeline.egress)];
    let pipelines: Vec<Value> = controls
        .iter()
        .enumerate()
        .map(|(id, (name, control))| {
            let tables: Vec<TableId> = applied(pipeline, control);
            let profiles: BTreeSet<ExternId> =
                tables.iter().filter_map(|table| pipeline[*table].implementation).collect();
            json!({
                "name": name, "id": id, "init_table": tables.first().map(|table| pipeline[*table].name.clone()),
                "tables": tables.iter().map(|at| table(pipeline, *at, &mut scalars)).collect::<Vec<_>>(),
                "action_profiles": profiles.iter().map(|at| profile(pipeline, *at)).collect::<Vec<_>>(),
                "conditionals": [],
            })
        })
        .collect();
    let (mut types, headers) = headers(pipeline);
    types.insert(0, json!({ "name": SCALARS, "id": 0, "fields": scalars }));
    let actions: Vec<Value> = pipeline
        .actions
        .iter()
        .enumerate()
        .map(|(id, action)| {
            let data: Vec<Value> =
                action.params.iter().map(|p| json!({ "name": p.name, "bitwidth": p.ty.width() })).collect();
            json!({ "name": action.name, "id": id, "runtime_data": data, "primitives": [] })
        })
        .collect();
    let learn_lists = info.digests.iter().enumerate();
    let learn_lists: Vec<Value> = learn_lists
        .map(|(id, digest)| {
            let name = digest.preamble.as_ref().map_or("", |preamble| preamble.name.as_str());
            json!({ "id": id + 1, "name": name, "elements": [] })
        })
        .collect();
    let value_sets = pipeline.value_sets.iter().enumerate();
    let value_sets: Vec<Value> = value_sets
        .map(|(id, set)| {
            let width: u32 = set.types.iter().map(|ty| ty.width()).sum();
            json!({ "name": set.name, "id": id, "compressed_bitwidth": width, "max_size": set.size })
        })
        .collect();
    let errors: Vec<Value> = pipeline.errors.iter().enumerate().map(|(id, name)| json!([name, id])).collect();
    json!({
        "program": file.display().to_string(),
        "__meta__": { "version": VERSION, "compiler": concat!("hopwright ", env!("CARGO_PKG_VERSION")) },
        "header_types": types,
        "headers": headers,
        "header_stacks": [], "header_union_types": [], "header_unions": [], "header_union_stacks": [],
        "field_lists": [], "enums": [], "errors": errors,
        "parsers": [{ "name": "parser", "id": 0, "init_state": "start", "parse_states": [] }],
        "parse_vsets": value_sets,
        "deparsers": [{ "name": "deparser", "id": 0, "order": [] }],
        "counter_arrays": cells(pipeline, counter),
        "meter_arrays": cells(pipeline, meter),
        "register_arrays": cells(pipeline, register),
        "calculations": [], "checksums": [], "force_arith": [], "extern_instances": [], "field_aliases": [],
        "learn_lists": learn_lists,
        "actions": actions,
        "pipelines": pipelines,
        BUNDLE_FIELD: bundle,
    })
}

/// The tables that a control applies, in the order of its text, those in actions of tables included.
fn applied(pipeline: &Pipeline, control: &Control) -> Vec<TableId> {
    fn visit(pipeline: &Pipeline, block: &Block, found: &mut Vec<TableId>) {
        walk::stmts(block, &mut |stmt| {
            if let StmtKind::Apply { table, .. } = &stmt.kind
                && !found.contains(table)
            {
                found.push(*table);
                for listed in &pipeline[*table].actions {
                    visit(pipeline, &pipeline[listed.action].body, found);
                }
            }
        });
    }
    let mut found = Vec::new();
    visit(pipeline, &control.body, &mut found);
    found
}

fn table(pipeline: &Pipeline, id: TableId, scalars: &mut Vec<Value>) -> Value {
    let model = &pipeline[id];
    let keys = model.keys.iter().filter(|key| key.kind != MatchKind::Selector);
    let keys: Vec<Value> = keys.map(|key| self::key(pipeline, key, scalars)).collect();
    let actions: Vec<usize> = model.actions.iter().map(|listed| listed.action.index()).collect();
    let names: Vec<&str> = actions.iter().map(|at| pipeline.actions[*at].name.as_str()).collect();
    let kind = match model.implementation.map(|object| &pipeline[object].kind) {
        Some(ExternKind::ActionSelector { .. }) => "indirect_ws",
        Some(_) => "indirect",
        None => "simple",
    };
    let mut value = json!({
        "name": model.name, "id": id.0, "key": keys, "match_type": match_type(model), "type": kind,
        "max_size": model.size, "with_counters": model.direct_counter.is_some(), "support_timeout": model.idle_timeout,
        "direct_meters": model.direct_meter.map(|object| pipeline[object].name.clone()),
        "action_ids": actions, "actions": names, "base_default_next": null, "next_tables": {},
    });
    if let Some(object) = model.implementation {
        value["action_profile"] = json!(pipeline[object].name);
    }
    value
}

/// BMv2's kind of a table, from those of its keys.
fn match_type(table: &Table) -> &'static str {
    let has = |kinds: &[MatchKind]| table.keys.iter().any(|key| kinds.contains(&key.kind));
    if has(&[MatchKind::Range]) {
        "range"
    } else if has(&[MatchKind::Ternary, MatchKind::Optional, MatchKind::Masked]) {
        "ternary"
    } else if has(&[MatchKind::Lpm]) {
        "lpm"
    } else {
        "exact"
    }
}

fn key(pipeline: &Pipeline, key: &Key, scalars: &mut Vec<Value>) -> Value {
    let field = match &key.expr.kind {
        ExprKind::Slot(slot) => match pipeline[*slot].kind {
            SlotKind::Field(id, at) => {
                let header = &pipeline[id];
                Some(json!([short(&header.name), header.fields[at as usize].name]))
            }
            SlotKind::Valid(id) => Some(json!([short(&pipeline[id].name), "$valid$"])),
            _ => None,
        },
        _ => None,
    };
    let target = field.unwrap_or_else(|| {
        let field = json!([key.name, key.expr.ty.width(), false]);
        if !scalars.contains(&field) {
            scalars.push(field);
        }
        json!([SCALARS, key.name])
    });
    json!({ "match_type": key.kind.info().name, "name": key.name, "target": target, "mask": null })
}

fn headers(pipeline: &Pipeline) -> (Vec<Value>, Vec<Value>) {
    let mut types: Vec<Value> = Vec::new();
    let mut headers =
        vec![json!({ "name": SCALARS, "id": 0, "header_type": SCALARS, "metadata": true, "pi_omit": true })];
    for header in &pipeline.headers {
        if !types.iter().any(|known| known["name"] == header.type_name.as_str()) {
            let width =
                |at: usize, width: u32| if header.varbit == Some(at as u32) { json!("*") } else { json!(width) };
            let fields = header.fields.iter().enumerate();
            let fields: Vec<Value> = fields.map(|(at, f)| json!([f.name, width(at, f.width), false])).collect();
            types.push(json!({ "name": header.type_name, "id": types.len() + 1, "fields": fields }));
        }
        headers.push(json!({
            "name": short(&header.name), "id": headers.len(), "header_type": header.type_name, "metadata": false,
            "pi_omit": true,
        }));
    }
    (types, headers)
}

fn profile(pipeline: &Pipeline, id: ExternId) -> Value {
    let object = &pipeline[id];
    let mut value = json!({ "name": object.name, "id": id.0 });
    match object.kind {
        ExternKind::ActionProfile { size } => value["max_size"] = json!(size),
        ExternKind::ActionSelector { size, .. } => {
            value["max_size"] = json!(size);
            value["selector"] = json!({ "algo": "crc16", "input": [] });
        }
        _ => {}
    }
    value
}

/// The objects that `of` knows, with their ids.
fn cells(pipeline: &Pipeline, of: impl Fn(&Pipeline, &ExternKind) -> Option<Value>) -> Vec<Value> {
    let known = pipeline.externs.iter().filter_map(|object| Some((object, of(pipeline, &object.kind)?)));
    let with_names = known.enumerate().map(|(id, (object, mut value))| {
        value["name"] = json!(object.name);
        value["id"] = json!(id);
        value
    });
    with_names.collect()
}

fn counter(pipeline: &Pipeline, kind: &ExternKind) -> Option<Value> {
    match kind {
        ExternKind::Counter { size, .. } => Some(json!({ "is_direct": false, "size": size })),
        ExternKind::DirectCounter { table: Some(table), .. } => {
            Some(json!({ "is_direct": true, "binding": pipeline[*table].name }))
        }
        _ => None,
    }
}

fn meter(pipeline: &Pipeline, kind: &ExternKind) -> Option<Value> {
    let unit = |unit: &Unit| if *unit == Unit::Packets { "packets" } else { "bytes" };
    match kind {
        ExternKind::Meter { size, unit: of } => {
            Some(json!({ "is_direct": false, "size": size, "rate_count": 2, "type": unit(of) }))
        }
        ExternKind::DirectMeter { table: Some(table), unit: of } => Some(json!({
            "is_direct": true, "binding": pipeline[*table].name, "size": pipeline[*table].size, "rate_count": 2,
            "type": unit(of),
        })),
        _ => None,
    }
}

fn register(_: &Pipeline, kind: &ExternKind) -> Option<Value> {
    match kind {
        ExternKind::Register { size, ty } => Some(json!({ "bitwidth": ty.width(), "size": size })),
        _ => None,
    }
}
