//! `bf-rt.json`: a schema as controllers read it.

use serde_json::{Value, json};

use crate::hashes::slice;

use super::{Action, Digest, Field, FilterKind, Key, Matching, MeterUnit, Object, PortNaming, Table, Ty, field};

/// The document of these tables and digests.
pub(crate) fn document<'t>(tables: impl Iterator<Item = &'t Table>, digests: &[Digest]) -> Value {
    json!({
        "schema_version": "1.0.0",
        "tables": tables.map(table).collect::<Vec<_>>(),
        "learn_filters": digests.iter().map(digest).collect::<Vec<_>>(),
    })
}

fn table(t: &Table) -> Value {
    let mut value = json!({
        "name": t.name,
        "id": t.id,
        "table_type": kind(t),
        "size": t.size,
        "annotations": [],
        "depends_on": t.depends_on,
        "key": t.keys.iter().map(key).collect::<Vec<_>>(),
        "data": data(t),
        "supported_operations": operations(t),
        "attributes": attributes(t),
    });
    if let Some(object) = value.as_object_mut() {
        if !t.actions.is_empty() {
            object.insert("action_specs".into(), t.actions.iter().map(action).collect());
        }
        if let Object::Match { .. } = t.object {
            object.insert("has_const_default_action".into(), t.const_default.into());
        }
        if let Object::HashResult(_) = t.object {
            object.insert("read_only".into(), true.into());
        }
    }
    value
}

/// What a controller can have done with a table.
pub(crate) fn operations(t: &Table) -> Vec<&'static str> {
    match t.object {
        Object::Match { counter, idle, .. } => {
            let all = [(counter, "SyncCounters"), (!t.registers.is_empty(), "SyncRegisters"), (idle, "UpdateHitState")];
            all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
        }
        Object::Counter | Object::Register => vec!["Sync"],
        _ => Vec::new(),
    }
}

fn attributes(t: &Table) -> Vec<&'static str> {
    match t.object {
        Object::Match { meter, idle, .. } => {
            let masked = t.key_masks.is_some();
            let all = [
                (meter.is_some(), "MeterByteCountAdjust"),
                (true, "EntryScope"),
                (idle, "IdleTimeout"),
                (masked, "DynamicKeyMask"),
            ];
            all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
        }
        Object::Meter(_) => vec!["MeterByteCountAdjust"],
        Object::ValueSet => vec!["EntryScope"],
        Object::MulticastGroups => vec!["pre_device_config"],
        Object::Ports => vec!["port_status_notif_cb"],
        Object::PortCounts => vec!["poll_intvl_ms"],
        _ => Vec::new(),
    }
}

fn kind(t: &Table) -> &'static str {
    match t.object {
        Object::Match { indirect: false, .. } => "MatchAction_Direct",
        Object::Match { indirect: true, .. } if has_selector(t) => "MatchAction_Indirect_Selector",
        Object::Match { indirect: true, .. } => "MatchAction_Indirect",
        Object::Members => "Action",
        Object::Groups { .. } => "Selector",
        Object::Counter => "Counter",
        Object::Meter(MeterUnit::Bytes | MeterUnit::Packets) => "Meter",
        Object::Register => "Register",
        Object::Filter(FilterKind::Lpf) => "Lpf",
        Object::Filter(FilterKind::Wred) => "Wred",
        Object::ValueSet => "ParserValueSet",
        Object::RegisterParam => "RegisterParam",
        Object::HashFields(_) => "DynHashConfigure",
        Object::HashAlgorithm(_) => "DynHashAlgorithm",
        Object::HashResult(_) => "DynHashCompute",
        Object::SelectedMember { .. } => "SelectorGetMember",
        Object::Device => "DevConfigure",
        Object::PortMetadata { .. } => "PortMetadata",
        Object::MulticastGroups => "PreMgid",
        Object::MulticastNodes => "PreNode",
        Object::MulticastLags => "PreLag",
        Object::MulticastEcmps => "PreEcmp",
        Object::Pruning => "PrePrune",
        Object::CpuPort => "PrePort",
        Object::Mirror => "MirrorCfg",
        Object::Ports => "PortConfigure",
        Object::PortCounts => "PortStat",
        Object::PortNames(PortNaming::Connector) => "PortHdlInfo",
        Object::PortNames(PortNaming::Front) => "PortFpIdxInfo",
        Object::PortNames(PortNaming::Name) => "PortStrInfo",
        Object::Applications => "PktgenAppCfg",
        Object::PacketBuffer => "PktgenPktBuffer",
        Object::GeneratorPorts => "PktgenPortCfg",
    }
}

fn key(k: &Key) -> Value {
    let matching = match k.matching {
        Matching::Exact => "Exact",
        Matching::Lpm => "LPM",
        Matching::Ternary => "Ternary",
        Matching::Range => "Range",
        Matching::Optional => "Optional",
    };
    json!({
        "id": k.id,
        "name": k.name,
        "repeated": false,
        "annotations": [],
        "mandatory": k.mandatory,
        "match_type": matching,
        "type": ty(k.ty),
    })
}

/// Whether entries may refer to groups.
fn has_selector(t: &Table) -> bool {
    t.data.iter().any(|f| f.id == field::SELECTOR_GROUP_ID)
}

/// The data of a table. An entry of an indirect table has a member, or may have a group.
fn data(t: &Table) -> Vec<Value> {
    if let Object::Match { indirect: true, .. } = t.object
        && has_selector(t)
        && let [member, group, rest @ ..] = t.data.as_slice()
    {
        let first = json!({"mandatory": true, "read_only": false, "oneof": [plain(member), plain(group)]});
        return std::iter::once(first).chain(rest.iter().map(singleton)).collect();
    }
    t.data.iter().map(singleton).collect()
}

fn singleton(f: &Field) -> Value {
    json!({"mandatory": f.mandatory, "read_only": f.read_only, "singleton": plain(f)})
}

fn plain(f: &Field) -> Value {
    let annotations: Vec<Value> =
        f.annotation.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let mut value = json!({"id": f.id, "name": f.name, "repeated": f.repeated, "annotations": annotations});
    let (key, kind) = match f.ty {
        Ty::Slices(width) => ("container", slice(width).iter().map(with_default).collect()),
        other => ("type", ty(other)),
    };
    if let Some(object) = value.as_object_mut() {
        object.insert(key.into(), kind);
    }
    value
}

/// A part of a slice, with the value that it has if it is left out.
fn with_default((f, value): &(Field, Option<u32>)) -> Value {
    let mut whole = singleton(f);
    if let (Some(value), Some(object)) = (value, whole["singleton"]["type"].as_object_mut()) {
        object.insert("default_value".into(), (*value).into());
    }
    whole
}

fn action(a: &Action) -> Value {
    let annotations = if a.scope == "DefaultOnly" { json!([{"name": "@defaultonly"}]) } else { json!([]) };
    let data: Vec<Value> = a.data.iter().map(flat).collect();
    json!({"id": a.id, "name": a.name, "action_scope": a.scope, "annotations": annotations, "data": data})
}

/// A field with everything in one object, as actions and digests have them.
fn flat(f: &Field) -> Value {
    let mut value = plain(f);
    if let Some(object) = value.as_object_mut() {
        object.insert("mandatory".into(), f.mandatory.into());
        object.insert("read_only".into(), f.read_only.into());
    }
    value
}

fn digest(d: &Digest) -> Value {
    let fields: Vec<Value> = d.fields.iter().map(flat).collect();
    json!({"name": d.name, "id": d.id, "annotations": [], "fields": fields})
}

fn ty(ty: Ty) -> Value {
    match ty {
        Ty::Bytes(bits) => json!({"type": "bytes", "width": bits}),
        Ty::Uint(bits) => json!({"type": format!("uint{bits}")}),
        Ty::Bool => json!({"type": "bool"}),
        Ty::Float => json!({"type": "float"}),
        // They are containers.
        Ty::Slices(_) => Value::Null,
        Ty::Text([]) => json!({"type": "string"}),
        Ty::Text(choices) => json!({"type": "string", "choices": choices}),
    }
}
