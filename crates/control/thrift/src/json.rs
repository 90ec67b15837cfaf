//! BMv2's JSON description of a program, from its pipeline.
//!
//! It has everything that clients of a running switch read: tables with their keys and actions, extern objects, value sets, digests,
//! header types. It has no parsers, statements and expressions: BMv2 cannot run it.

use std::cmp::Reverse;

use hopwright_ir::{
    ActionCall, Block, ControlPlaneObject, Expr, ExprKind, ExternFn, ExternId, ExternInstance, ExternKind,
    HashAlgorithm, Key, MatchForm, MatchValue, P4Kind, Pipeline, SlotKind, StandardMetadata, StmtKind, Table, TableId,
    Type, Unit,
};
use hopwright_ir::{custom_crc, walk};
use num_bigint::BigUint;
use serde_json::{Value, json};

/// The version of the format.
const VERSION: [u32; 2] = [2, 23];
/// The name of the header with the program's metadata.
const SCALARS: &str = "scalars";
/// The rates of a meter.
const METER_RATES: u32 = 2;

/// The description of a program.
pub fn of(pipeline: &Pipeline) -> Value {
    let mut scalars = Scalars::of(pipeline);
    let names = [pipeline.ingress.name.as_str(), pipeline.egress.name.as_str()];
    let in_egress = tables_of(&pipeline.egress.body);
    let mut tables = [Vec::new(), Vec::new()];
    for (at, table) in pipeline.tables.iter().enumerate() {
        let id = TableId(at as u32);
        tables[usize::from(in_egress.contains(&id))].push(table_json(pipeline, id, table, &mut scalars));
    }
    let mut profiles = [Vec::new(), Vec::new()];
    for (id, at, instance) in externs(pipeline, is_profile) {
        let egress = pipeline.tables.iter().position(|table| table.implementation == Some(at));
        let egress = egress.is_some_and(|table| in_egress.contains(&TableId(table as u32)));
        profiles[usize::from(egress)].push(profile_json(id, instance));
    }
    let pipelines: Vec<Value> = ["ingress", "egress"]
        .into_iter()
        .zip(names)
        .zip(tables.into_iter().zip(profiles))
        .enumerate()
        .map(|(id, ((name, control), (tables, profiles)))| {
            json!({
                "name": name, "id": id, "source_info": source(pipeline, control), "init_table": null, "tables": tables,
                "action_profiles": profiles, "conditionals": [],
            })
        })
        .collect();
    let (header_types, headers) = headers_json(pipeline, scalars);
    json!({
        "program": pipeline.name,
        "__meta__": { "version": VERSION, "compiler": "hopwright" },
        "header_types": header_types,
        "headers": headers,
        "header_stacks": stacks_json(pipeline),
        "header_union_types": [],
        "header_unions": [],
        "header_union_stacks": [],
        "field_lists": [],
        "errors": pipeline.errors.iter().enumerate().map(|(at, name)| json!([name, at])).collect::<Vec<_>>(),
        "enums": [],
        "parsers": [],
        "parse_vsets": value_sets_json(pipeline),
        "deparsers": [],
        "meter_arrays": externs(pipeline, is_meter).map(|(id, _, e)| meter_json(pipeline, id, e)).collect::<Vec<_>>(),
        "counter_arrays": externs(pipeline, is_counter).map(|(id, _, e)| counter_json(pipeline, id, e)).collect::<Vec<_>>(),
        "register_arrays": externs(pipeline, is_register).map(|(id, _, e)| register_json(id, e)).collect::<Vec<_>>(),
        "calculations": calculations(pipeline).collect::<Vec<_>>(),
        "learn_lists": digests(pipeline)
            .zip(FIRST_LIST..)
            .map(|(digest, id)| json!({ "name": digest.name, "id": id, "elements": [] }))
            .collect::<Vec<_>>(),
        "actions": actions_json(pipeline),
        "pipelines": pipelines,
        "checksums": [],
        "force_arith": [],
        "extern_instances": [],
        "field_aliases": [],
    })
}

/// The id of the first list of a digest.
pub(crate) const FIRST_LIST: i32 = 1;

/// Extern objects of a kind, with their ids in the description.
pub(crate) fn externs(
    pipeline: &Pipeline,
    is: impl Fn(&ExternKind) -> bool,
) -> impl Iterator<Item = (usize, ExternId, &ExternInstance)> {
    let all = pipeline.externs.iter().enumerate().filter(move |(_, instance)| is(&instance.kind));
    all.enumerate().map(|(id, (at, instance))| (id, ExternId(at as u32), instance))
}

pub(crate) fn is_profile(kind: &ExternKind) -> bool {
    matches!(kind, ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. })
}

pub(crate) fn is_counter(kind: &ExternKind) -> bool {
    matches!(kind, ExternKind::Counter { .. } | ExternKind::DirectCounter { table: Some(_), .. })
}

pub(crate) fn is_meter(kind: &ExternKind) -> bool {
    matches!(kind, ExternKind::Meter { .. } | ExternKind::DirectMeter { table: Some(_), .. })
}

pub(crate) fn is_register(kind: &ExternKind) -> bool {
    matches!(kind, ExternKind::Register { .. })
}

/// The digests of a program.
///
/// Their ids count from [`FIRST_LIST`].
pub(crate) fn digests(pipeline: &Pipeline) -> impl Iterator<Item = &ControlPlaneObject> {
    pipeline.control_plane_objects.iter().filter(|object| object.kind == P4Kind::Digest)
}

/// The hash calculations of a program, with p4c's names: `calc`, `calc_0`, `calc_1` and so on.
pub(crate) fn calculations(pipeline: &Pipeline) -> impl Iterator<Item = Value> {
    let mut found: Vec<(String, HashAlgorithm)> = Vec::new();
    walk::all_stmts(pipeline, &mut |stmt| {
        let StmtKind::Extern(call) = &stmt.kind else { return };
        match call.function {
            ExternFn::Hash(algorithm) => found.push((custom_crc::calculation_name(found.len()), algorithm)),
            // The parameters of a calculation that can change.
            ExternFn::RegisterRead(register) => {
                if let Some((algorithm, name)) = custom_crc::calculation_of(&pipeline[register].name)
                    && found.iter().all(|(other, _)| other != name)
                {
                    found.push((name.into(), algorithm));
                }
            }
            _ => {}
        }
    });
    let calculation =
        |(id, (name, algorithm))| json!({ "name": name, "id": id, "algo": algorithm_name(algorithm), "input": [] });
    found.into_iter().enumerate().map(calculation)
}

fn algorithm_name(algorithm: HashAlgorithm) -> &'static str {
    match algorithm {
        HashAlgorithm::Crc32 => "crc32",
        HashAlgorithm::Crc32Custom => "crc32_custom",
        HashAlgorithm::Crc16 => "crc16",
        HashAlgorithm::Crc16Custom => "crc16_custom",
        HashAlgorithm::Random => "random",
        HashAlgorithm::Identity => "identity",
        HashAlgorithm::Csum16 => "csum16",
        HashAlgorithm::Xor16 => "xor16",
    }
}

/// Fields of the header `scalars`: metadata of the program, and keys that are expressions.
struct Scalars(Vec<(String, Type)>);

impl Scalars {
    fn of(pipeline: &Pipeline) -> Scalars {
        let metadata = pipeline.slots.iter().filter(|slot| slot.kind == SlotKind::Metadata);
        Scalars(metadata.map(|slot| (user_metadata(&slot.name), slot.ty)).collect())
    }

    fn add(&mut self, name: &str, ty: Type) {
        if !self.0.iter().any(|(other, _)| other == name) {
            self.0.push((name.to_string(), ty));
        }
    }
}

/// `meta.next_hop` as p4c calls it.
fn user_metadata(name: &str) -> String {
    format!("userMetadata.{}", short(name))
}

/// A name without that of the parameter that it is a part of: `ipv4` for `hdr.ipv4`.
fn short(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

fn tables_of(block: &Block) -> Vec<TableId> {
    let mut tables = Vec::new();
    walk::stmts(block, &mut |stmt| {
        if let StmtKind::Apply { table, .. } = stmt.kind {
            tables.push(table);
        }
    });
    tables
}

fn source(pipeline: &Pipeline, fragment: &str) -> Value {
    json!({ "filename": pipeline.name, "line": 0, "column": 0, "source_fragment": fragment })
}

fn headers_json(pipeline: &Pipeline, scalars: Scalars) -> (Vec<Value>, Vec<Value>) {
    let field = |name: &str, ty: Type| match ty {
        Type::Varbit(_) => json!([name, "*"]),
        ty => json!([name, ty.width(), matches!(ty, Type::Int(_))]),
    };
    let mut types = Vec::new();
    let mut add = |name: &str, fields: Vec<Value>| {
        let id = types.len();
        types.push(json!({ "name": name, "id": id, "fields": fields }));
    };
    add("scalars_0", scalars.0.iter().map(|(name, ty)| field(name, *ty)).collect());
    let standard = StandardMetadata::FIELDS.iter().map(|(name, width)| json!([name, width, false]));
    add("standard_metadata", standard.chain([json!(["_padding", 3, false])]).collect());
    let mut known = vec!["scalars_0", "standard_metadata"];
    for header in &pipeline.headers {
        if !known.contains(&header.type_name.as_str()) {
            known.push(&header.type_name);
            add(&header.type_name, header.fields.iter().map(|f| field(&f.name, pipeline[f.slot].ty)).collect());
        }
    }
    let metadata = |name: &str, id: usize, header_type: &str| json!({ "name": name, "id": id, "header_type": header_type, "metadata": true, "pi_omit": true });
    let mut headers = vec![metadata(SCALARS, 0, "scalars_0"), metadata("standard_metadata", 1, "standard_metadata")];
    headers.extend(pipeline.headers.iter().enumerate().map(|(at, header)| {
        json!({
            "name": short(&header.name), "id": at + 2, "header_type": header.type_name, "metadata": false, "pi_omit": true,
        })
    }));
    (types, headers)
}

fn stacks_json(pipeline: &Pipeline) -> Vec<Value> {
    let stack = |(id, stack): (usize, &hopwright_ir::Stack)| {
        let header_type = stack.elements.first().map(|header| pipeline[*header].type_name.as_str());
        json!({
            "name": short(&stack.name), "id": id, "header_type": header_type, "size": stack.elements.len(),
            "header_ids": stack.elements.iter().map(|header| header.index() + 2).collect::<Vec<_>>(),
        })
    };
    pipeline.stacks.iter().enumerate().map(stack).collect()
}

fn value_sets_json(pipeline: &Pipeline) -> Vec<Value> {
    let set = |(id, set): (usize, &hopwright_ir::ValueSet)| {
        let width: u32 = set.types.iter().map(|ty| ty.width()).sum();
        json!({ "name": set.name, "id": id, "compressed_bitwidth": width, "max_size": set.size })
    };
    pipeline.value_sets.iter().enumerate().map(set).collect()
}

fn actions_json(pipeline: &Pipeline) -> Vec<Value> {
    let action = |(id, action): (usize, &hopwright_ir::Action)| {
        let data = action.params.iter().map(|param| json!({ "name": param.name, "bitwidth": param.ty.width() }));
        json!({ "name": action.name, "id": id, "runtime_data": data.collect::<Vec<_>>(), "primitives": [] })
    };
    pipeline.actions.iter().enumerate().map(action).collect()
}

fn table_name(pipeline: &Pipeline, table: &Option<TableId>) -> Option<String> {
    table.map(|table| pipeline[table].name.clone())
}

fn meter_json(pipeline: &Pipeline, id: usize, instance: &ExternInstance) -> Value {
    let unit = |unit: Unit| if unit == Unit::Packets { "packets" } else { "bytes" };
    match &instance.kind {
        ExternKind::DirectMeter { table, unit: counted } => json!({
            "name": instance.name, "id": id, "is_direct": true, "rate_count": METER_RATES, "type": unit(*counted),
            "size": table.map(|table| pipeline[table].size), "binding": table_name(pipeline, table),
        }),
        ExternKind::Meter { size, unit: counted } => json!({
            "name": instance.name, "id": id, "is_direct": false, "rate_count": METER_RATES, "type": unit(*counted),
            "size": size,
        }),
        _ => Value::Null,
    }
}

fn counter_json(pipeline: &Pipeline, id: usize, instance: &ExternInstance) -> Value {
    match &instance.kind {
        ExternKind::DirectCounter { table, .. } => json!({
            "name": instance.name, "id": id, "is_direct": true, "binding": table_name(pipeline, table),
        }),
        ExternKind::Counter { size, .. } => {
            json!({ "name": instance.name, "id": id, "is_direct": false, "size": size })
        }
        _ => Value::Null,
    }
}

fn register_json(id: usize, instance: &ExternInstance) -> Value {
    let ExternKind::Register { size, ty } = &instance.kind else { return Value::Null };
    json!({ "name": instance.name, "id": id, "size": size, "bitwidth": ty.width() })
}

fn profile_json(id: usize, instance: &ExternInstance) -> Value {
    match &instance.kind {
        ExternKind::ActionSelector { algorithm, size, .. } => json!({
            "name": instance.name, "id": id, "max_size": size,
            "selector": { "algo": algorithm_name(*algorithm), "input": [] },
        }),
        ExternKind::ActionProfile { size } => json!({ "name": instance.name, "id": id, "max_size": size }),
        _ => Value::Null,
    }
}

fn table_json(pipeline: &Pipeline, id: TableId, table: &Table, scalars: &mut Scalars) -> Value {
    let form = |form: MatchForm| table.match_keys().any(|key| key.kind.form() == form);
    let match_type = match () {
        () if form(MatchForm::Range) => "range",
        () if form(MatchForm::Mask) || form(MatchForm::ValueOrAny) => "ternary",
        () if form(MatchForm::Prefix) => "lpm",
        () => "exact",
    };
    let profile = table.implementation.map(|profile| &pipeline[profile]);
    let kind = match profile.map(|profile| &profile.kind) {
        None => "simple",
        Some(ExternKind::ActionSelector { .. }) => "indirect_ws",
        Some(_) => "indirect",
    };
    let actions: Vec<&str> = table.actions.iter().map(|a| pipeline[a.action].name.as_str()).collect();
    let control = table.name.rsplit_once('.').map_or("", |(control, _)| control);
    let mut json = json!({
        "name": table.name, "id": id.0, "source_info": source(pipeline, control),
        "key": table.match_keys().map(|key| key_json(pipeline, key, scalars)).collect::<Vec<_>>(),
        "match_type": match_type, "type": kind, "max_size": table.size,
        "with_counters": table.direct_counter.is_some(), "support_timeout": table.idle_timeout,
        "direct_meters": table.direct_meter.map(|meter| pipeline[meter].name.as_str()),
        "action_ids": table.actions.iter().map(|a| a.action.0).collect::<Vec<_>>(),
        "actions": actions, "base_default_next": null,
        "next_tables": actions.iter().map(|name| (name.to_string(), Value::Null)).collect::<serde_json::Map<_, _>>(),
    });
    if let Some(profile) = profile {
        // The second is the key of old versions, which p4-utils reads.
        json["action_profile"] = profile.name.as_str().into();
        json["act_prof_name"] = profile.name.as_str().into();
    } else {
        let mut default = call_json(&table.default_action);
        default["action_const"] = table.const_default_action.into();
        default["action_entry_const"] = table.const_default_action.into();
        json["default_entry"] = default;
    }
    if !table.entries.is_empty() {
        let entries = table.entries.iter().zip(places(table)).map(|(entry, place)| {
            let keys = table.keys.iter().zip(&entry.matches).filter(|(key, _)| key.kind.is_matched());
            json!({
                "match_key": keys.map(|(key, value)| match_json(key, value)).collect::<Vec<_>>(),
                "action_entry": call_json(&entry.action), "priority": place,
            })
        });
        json["entries"] = entries.collect::<Vec<_>>().into();
    }
    json
}

/// The priorities of a table's entries, from 1: the least wins.
fn places(table: &Table) -> Vec<usize> {
    let rank = |at: &usize| {
        let entry = &table.entries[*at];
        MatchValue::rank(&entry.matches, entry.priority, table.has_priority())
    };
    let mut order: Vec<usize> = (0..table.entries.len()).collect();
    order.sort_by_key(|at| Reverse(rank(at)));
    let mut places = vec![0; order.len()];
    (1..).zip(order).for_each(|(place, at)| places[at] = place);
    places
}

fn call_json(call: &ActionCall) -> Value {
    json!({ "action_id": call.action.0, "action_data": call.args.iter().map(hex).collect::<Vec<_>>() })
}

fn hex(value: &BigUint) -> String {
    format!("0x{value:x}")
}

/// The name of a key's kind, which is how clients give a match.
fn key_kind(key: &Key) -> &'static str {
    match key.kind.form() {
        MatchForm::Value | MatchForm::Nothing => "exact",
        MatchForm::Prefix => "lpm",
        MatchForm::Mask | MatchForm::ValueOrAny => "ternary",
        MatchForm::Range => "range",
    }
}

fn key_json(pipeline: &Pipeline, key: &Key, scalars: &mut Scalars) -> Value {
    let target = field_of(pipeline, &key.expr).unwrap_or_else(|| {
        scalars.add(&key.name, key.expr.ty);
        [SCALARS.into(), key.name.clone()]
    });
    json!({ "match_type": key_kind(key), "name": key.name, "target": target, "mask": null })
}

/// The header and field that an expression reads, if it does nothing else.
fn field_of(pipeline: &Pipeline, expr: &Expr) -> Option<[String; 2]> {
    let ExprKind::Slot(slot) = expr.kind else { return None };
    Some(match pipeline[slot].kind {
        SlotKind::Field(header, at) => {
            let header = &pipeline[header];
            [short(&header.name).into(), header.fields.get(at as usize)?.name.clone()]
        }
        SlotKind::Valid(header) => [short(&pipeline[header].name).into(), "$valid$".into()],
        SlotKind::Metadata => [SCALARS.into(), user_metadata(&pipeline[slot].name)],
        SlotKind::Standard => {
            let (name, ..) = pipeline.standard.fields().find(|(_, standard, _)| *standard == slot)?;
            ["standard_metadata".into(), name.into()]
        }
        SlotKind::NextIndex(_) | SlotKind::Local => return None,
    })
}

fn match_json(key: &Key, value: &MatchValue) -> Value {
    let kind = key_kind(key);
    match value {
        MatchValue::Exact(value) => json!({ "match_type": kind, "key": hex(value) }),
        MatchValue::Lpm { value, prefix_len } => {
            json!({ "match_type": kind, "key": hex(value), "prefix_length": prefix_len })
        }
        MatchValue::Ternary { value, mask } => json!({ "match_type": kind, "key": hex(value), "mask": hex(mask) }),
        MatchValue::Range { lo, hi } => json!({ "match_type": kind, "start": hex(lo), "end": hex(hi) }),
        MatchValue::Optional(_) => {
            let (value, mask) = value.value_and_mask(key.expr.ty.width()).unwrap_or_default();
            json!({ "match_type": kind, "key": hex(&value), "mask": hex(&mask) })
        }
    }
}
