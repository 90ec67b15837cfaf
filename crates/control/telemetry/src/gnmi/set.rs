//! `Set`: whether interfaces are enabled, and their descriptions. What says of other leaves what they are anyway is accepted; everything
//! else is refused, and then nothing is changed.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use hopwright_protobuf::gnmi::typed_value::Value as Typed;
use hopwright_protobuf::gnmi::update_result::Operation;
use hopwright_protobuf::gnmi::{Path, SetRequest, SetResponse, TypedValue, Update, UpdateResult};
use serde_json::Value as Json;
use tonic::Status;

use super::path::{self, MAX_PATHS, Query};
use super::service::{Service, no_extensions};
use super::tree::{Elem, Kind, Leaf, Setting};
use crate::Interfaces;
use crate::interfaces::now_ns;

/// The longest description, in bytes (`IFALIASZ` of linux/if.h, with its end).
const LONGEST_DESCRIPTION: usize = 255;

/// What a setting is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Enabled(bool),
    Description(String),
}

/// The settings to be, of several operations.
pub(super) type Plan = BTreeMap<Setting, Wanted>;

/// Carries out a request.
pub(super) async fn apply(service: &Service, request: SetRequest) -> Result<SetResponse, Status> {
    let leaves = service.leaves().await?;
    let (plan, response) = plan(&leaves, &request)?;
    let interfaces = service.interfaces().clone();
    let carried_out = tokio::task::spawn_blocking(move || carry_out(&interfaces, &leaves, &plan)).await;
    carried_out.map_err(|error| Status::internal(error.to_string()))??;
    let timestamp = now_ns() as i64;
    let prefix = path::answered_prefix(request.prefix.as_ref());
    Ok(SetResponse { prefix, response, timestamp, ..SetResponse::default() })
}

/// What a request comes to, and what is said of each operation.
pub(super) fn plan(leaves: &[Leaf], request: &SetRequest) -> Result<(Plan, Vec<UpdateResult>), Status> {
    no_extensions(&request.extension)?;
    if !request.union_replace.is_empty() {
        return Err(Status::unimplemented("union_replace is not supported: use replace, update and delete"));
    }
    if request.delete.len() + request.replace.len() + request.update.len() > MAX_PATHS {
        return Err(Status::invalid_argument(format!("there are more than {MAX_PATHS} operations")));
    }
    let prefix = request.prefix.as_ref();
    let mut plan = Plan::new();
    let mut response = Vec::new();
    for path in &request.delete {
        reset(leaves, &Query::new(prefix, Some(path))?, &mut plan, true)?;
        response.push(result(Some(path), Operation::Delete));
    }
    for (updates, operation) in [(&request.replace, Operation::Replace), (&request.update, Operation::Update)] {
        for update in updates {
            let query = Query::new(prefix, update.path.as_ref())?;
            if operation == Operation::Replace {
                reset(leaves, &query, &mut plan, false)?;
            }
            merge(leaves, &query, update, &mut plan)?;
            response.push(result(update.path.as_ref(), operation));
        }
    }
    Ok((plan, response))
}

fn result(path: Option<&Path>, operation: Operation) -> UpdateResult {
    UpdateResult { path: path.cloned(), op: operation.into(), ..UpdateResult::default() }
}

/// Plans the defaults of all settings that a query selects. `alone`: there must be some.
fn reset(leaves: &[Leaf], query: &Query, plan: &mut Plan, alone: bool) -> Result<(), Status> {
    let selected: Vec<&Leaf> = leaves.iter().filter(|leaf| query.depth(&leaf.path).is_some()).collect();
    if selected.is_empty() && !query.has_wildcards() {
        return Err(query.nothing(leaves));
    }
    let settings: Vec<Setting> = selected.iter().filter_map(|leaf| leaf.setting).collect();
    if settings.is_empty() && alone {
        return Err(Status::invalid_argument(format!("{query} cannot be deleted: {CHANGEABLE}")));
    }
    plan.extend(settings.into_iter().map(|setting| (setting, default(setting))));
    Ok(())
}

const CHANGEABLE: &str = "only config/enabled and config/description of interfaces can be changed";

/// The value of OpenConfig's model where nothing is configured.
fn default(setting: Setting) -> Wanted {
    match setting {
        Setting::Enabled(_) => Wanted::Enabled(true),
        Setting::Description(_) => Wanted::Description(String::new()),
    }
}

/// Plans what an update says.
fn merge(leaves: &[Leaf], query: &Query, update: &Update, plan: &mut Plan) -> Result<(), Status> {
    if query.has_wildcards() {
        return Err(Status::invalid_argument(format!("{query} has wildcards: a value needs one place")));
    }
    let json = value(query, update.val.as_ref())?;
    let roots: Vec<&Leaf> = leaves.iter().filter(|leaf| query.depth(&leaf.path).is_some()).collect();
    let Some(depth) = roots.first().and_then(|leaf| query.depth(&leaf.path)) else { return Err(query.nothing(leaves)) };
    let several = roots.iter().any(|leaf| leaf.path[..depth] != roots[0].path[..depth]);
    if several {
        return Err(Status::invalid_argument(format!("{query} lacks a key: a value needs one place")));
    }
    place(&roots, depth, &json, &mut query.to_string(), plan)
}

/// Plans what JSON says of the leaves below the first `depth` steps of their paths, which are all of `at`.
fn place(leaves: &[&Leaf], depth: usize, json: &Json, at: &mut String, plan: &mut Plan) -> Result<(), Status> {
    if let [leaf] = leaves
        && leaf.path.len() == depth
    {
        return place_leaf(leaf, json, at, plan);
    }
    let Json::Object(members) = json else {
        return Err(Status::invalid_argument(format!("{at} is a container: expected an object, got {json}")));
    };
    for (name, value) in members {
        let member = |elem: &Elem| match name.split_once(':') {
            Some((module, name)) => elem.module == module && elem.name == name,
            None => elem.name == name,
        };
        let below: Vec<&Leaf> =
            leaves.iter().copied().filter(|leaf| leaf.path.get(depth).is_some_and(member)).collect();
        let length = at.len();
        at.push_str(&format!("{}{name}", if at.ends_with('/') { "" } else { "/" }));
        match below.first().map(|leaf| leaf.path[depth].key.is_some()) {
            None => return Err(Status::invalid_argument(format!("there is no {at}, or it cannot be configured"))),
            Some(false) => place(&below, depth + 1, value, at, plan)?,
            Some(true) => place_list(&below, depth, value, at, plan)?,
        }
        at.truncate(length);
    }
    Ok(())
}

/// The same of the entries of a list.
fn place_list(leaves: &[&Leaf], depth: usize, json: &Json, at: &mut String, plan: &mut Plan) -> Result<(), Status> {
    let Json::Array(entries) = json else {
        return Err(Status::invalid_argument(format!("{at} is a list: expected an array, got {json}")));
    };
    for entry in entries {
        let name = entry.get("name").or_else(|| entry.get("config").and_then(|config| config.get("name")));
        let Some(Json::String(name)) = name else {
            return Err(Status::invalid_argument(format!("an entry of {at} lacks its key, name")));
        };
        let of_entry = |leaf: &&Leaf| leaf.path[depth].key.as_deref() == Some(name);
        let below: Vec<&Leaf> = leaves.iter().copied().filter(of_entry).collect();
        if below.is_empty() {
            return Err(Status::not_found(format!("there is no {at}[name={name}], and it cannot be made")));
        }
        let length = at.len();
        at.push_str(&format!("[name={name}]"));
        place(&below, depth + 1, entry, at, plan)?;
        at.truncate(length);
    }
    Ok(())
}

fn place_leaf(leaf: &Leaf, json: &Json, at: &str, plan: &mut Plan) -> Result<(), Status> {
    let wanted = match (leaf.setting, json) {
        (Some(Setting::Enabled(_)), Json::Bool(enabled)) => Wanted::Enabled(*enabled),
        (Some(Setting::Enabled(_)), Json::String(text)) if text == "true" => Wanted::Enabled(true),
        (Some(Setting::Enabled(_)), Json::String(text)) if text == "false" => Wanted::Enabled(false),
        (Some(Setting::Enabled(_)), _) => {
            return Err(Status::invalid_argument(format!("{at} is {json}: expected true or false")));
        }
        (Some(Setting::Description(_)), Json::String(text))
            if text.len() <= LONGEST_DESCRIPTION && !text.contains('\0') =>
        {
            Wanted::Description(text.clone())
        }
        (Some(Setting::Description(_)), _) => {
            let text = format!("{at}: expected a text of at most {LONGEST_DESCRIPTION} bytes, without a zero byte");
            return Err(Status::invalid_argument(text));
        }
        (None, json) if matches!(leaf.kind, Kind::Key | Kind::Config) && leaf.value.is(json) => return Ok(()),
        (None, _) if matches!(leaf.kind, Kind::Key | Kind::Config) => {
            let is = leaf.value.json(true);
            return Err(Status::invalid_argument(format!("{at} is {is} and cannot become {json}: {CHANGEABLE}")));
        }
        (None, _) => return Err(Status::invalid_argument(format!("{at} is state, not configuration"))),
    };
    plan.extend(leaf.setting.map(|setting| (setting, wanted)));
    Ok(())
}

/// What an update's value says, as JSON.
fn value(query: &Query, value: Option<&TypedValue>) -> Result<Json, Status> {
    let json = |bytes: &[u8]| {
        serde_json::from_slice(bytes)
            .map_err(|error| Status::invalid_argument(format!("the value of {query}: {error}")))
    };
    match value.and_then(|value| value.value.as_ref()) {
        Some(Typed::JsonVal(bytes) | Typed::JsonIetfVal(bytes)) => json(bytes),
        Some(Typed::BoolVal(value)) => Ok((*value).into()),
        Some(Typed::StringVal(text) | Typed::AsciiVal(text)) => Ok(text.as_str().into()),
        Some(Typed::UintVal(value)) => Ok((*value).into()),
        Some(Typed::IntVal(value)) => Ok((*value).into()),
        Some(Typed::BytesVal(_) | Typed::ProtoBytes(_) | Typed::AnyVal(_)) => {
            let hint = "expected JSON or a scalar; ports are given on the command line or in switch.toml, not as a chassis configuration";
            Err(Status::unimplemented(format!("the value of {query} is a message: {hint}")))
        }
        Some(_) => Err(Status::invalid_argument(format!(
            "the value of {query}: expected JSON, a text, a number, true or false"
        ))),
        None => Err(Status::invalid_argument(format!("{query} has no value"))),
    }
}

/// Makes the interfaces what is wanted, or leaves them as they are.
fn carry_out(interfaces: &Interfaces, leaves: &[Leaf], plan: &Plan) -> Result<(), Status> {
    let mut done: Vec<(Setting, Wanted)> = Vec::new();
    for leaf in leaves {
        let Some((setting, wanted)) = leaf.setting.and_then(|setting| Some((setting, plan.get(&setting)?))) else {
            continue;
        };
        let before = match setting {
            Setting::Enabled(_) => Wanted::Enabled(leaf.value == super::tree::Value::Bool(true)),
            Setting::Description(_) => match &leaf.value {
                super::tree::Value::Text(text) => Wanted::Description(text.clone()),
                _ => default(setting),
            },
        };
        if before == *wanted {
            continue;
        }
        if let Err(error) = change(interfaces, setting, wanted) {
            for (setting, before) in done.iter().rev() {
                if let Err(error) = change(interfaces, *setting, before) {
                    tracing::error!(%error, "gNMI: an interface does not become again what it was");
                }
            }
            let text = format!("the kernel refuses: {error}");
            return Err(match error.kind() {
                ErrorKind::PermissionDenied => Status::permission_denied(text),
                _ => Status::aborted(text),
            });
        }
        done.push((setting, before));
    }
    Ok(())
}

fn change(interfaces: &Interfaces, setting: Setting, wanted: &Wanted) -> std::io::Result<()> {
    match (setting, wanted) {
        (Setting::Enabled(index), Wanted::Enabled(enabled)) => interfaces.set_enabled(index, *enabled),
        (Setting::Description(index), Wanted::Description(text)) => interfaces.describe(index, text),
        _ => Ok(()),
    }
}
