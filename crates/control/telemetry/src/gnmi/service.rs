//! What the calls of the service share: rights, leaves, and how values are written.

use std::sync::Arc;

use hopwright_p4runtime::{Devices, Failure};
use hopwright_protobuf::gnmi::get_request::DataType;
use hopwright_protobuf::gnmi::typed_value::Value as Typed;
use hopwright_protobuf::gnmi::{Encoding, GetRequest, GetResponse, ModelData, Notification, TypedValue, Update};
use hopwright_protobuf::gnmi_ext::Extension;
use hopwright_protobuf::gnmi_ext::extension::Ext;
use tonic::{Code, Status};

use super::path::{self, MAX_PATHS, Query};
use super::tree::{self, Elem, Kind, Leaf, MODELS, Value, subtree};
use crate::Interfaces;
use crate::interfaces::now_ns;

/// What all calls share.
#[derive(Clone)]
pub(super) struct Service {
    interfaces: Arc<Interfaces>,
    pub(super) devices: Devices,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    JsonIetf,
    /// Protobuf's own scalars, each leaf by itself.
    Scalars,
}

impl Form {
    /// # Errors
    /// `UNIMPLEMENTED`.
    pub(super) fn new(encoding: i32) -> Result<Form, Status> {
        match Encoding::try_from(encoding) {
            Ok(Encoding::Json) => Ok(Form::Json),
            Ok(Encoding::JsonIetf) => Ok(Form::JsonIetf),
            Ok(Encoding::Proto) => Ok(Form::Scalars),
            _ => Err(Status::unimplemented("the encoding is not one of JSON, JSON_IETF and PROTO")),
        }
    }

    /// The form of single leaves, which are what subscriptions send. Where a client asks for nothing else than JSON, the default, they
    /// are scalars: controllers of Stratum's switches, such as finsy, expect that.
    ///
    /// # Errors
    /// `UNIMPLEMENTED`.
    pub(super) fn of_leaves(encoding: i32) -> Result<Form, Status> {
        Ok(match Form::new(encoding)? {
            Form::Json => Form::Scalars,
            form => form,
        })
    }

    /// A leaf's value.
    pub(super) fn value(self, value: &Value) -> TypedValue {
        let json = |ietf| value.json(ietf).to_string().into_bytes();
        let value = match (self, value) {
            (Form::Json, _) => Typed::JsonVal(json(false)),
            (Form::JsonIetf, _) => Typed::JsonIetfVal(json(true)),
            (Form::Scalars, Value::Text(text)) => Typed::StringVal(text.clone()),
            (Form::Scalars, Value::Identity(_, name)) => Typed::StringVal((*name).into()),
            (Form::Scalars, Value::Bool(value)) => Typed::BoolVal(*value),
            (Form::Scalars, Value::Small(value)) => Typed::UintVal((*value).into()),
            (Form::Scalars, Value::Large(value)) => Typed::UintVal(*value),
        };
        TypedValue { value: Some(value) }
    }

    /// The update of one leaf.
    pub(super) fn leaf(self, leaf: &Leaf) -> Update {
        update(&leaf.path, self.value(&leaf.value))
    }

    /// The update of what is below a node, which all these leaves are.
    fn subtree(self, leaves: &[&Leaf], depth: usize) -> Vec<Update> {
        let ietf = match self {
            Form::Scalars => return leaves.iter().map(|leaf| self.leaf(leaf)).collect(),
            Form::Json => false,
            Form::JsonIetf => true,
        };
        let json = subtree(leaves, depth, ietf).to_string().into_bytes();
        let value = if ietf { Typed::JsonIetfVal(json) } else { Typed::JsonVal(json) };
        let path = leaves.first().map_or(&[][..], |leaf| &leaf.path[..depth]);
        vec![update(path, TypedValue { value: Some(value) })]
    }
}

fn update(path: &[Elem], value: TypedValue) -> Update {
    Update { path: Some(path::message(path)), val: Some(value), ..Update::default() }
}

/// Refuses extensions: what they ask for would not be done.
///
/// # Errors
/// `UNIMPLEMENTED`.
pub(super) fn no_extensions(extensions: &[Extension]) -> Result<(), Status> {
    let name = match extensions.iter().find_map(|extension| extension.ext.as_ref()) {
        None => return Ok(()),
        Some(Ext::RegisteredExt(_)) => "a registered extension",
        Some(Ext::MasterArbitration(_)) => "master arbitration",
        Some(Ext::History(_)) => "history",
        Some(Ext::Commit(_)) => "commit confirmed",
        Some(Ext::Depth(_)) => "depth",
        Some(Ext::ConfigSubscription(_)) => "config subscription",
    };
    Err(Status::unimplemented(format!("the extension {name} is not supported")))
}

/// Refuses models that there are not.
///
/// # Errors
/// `UNIMPLEMENTED`.
pub(super) fn only_our_models(models: &[ModelData]) -> Result<(), Status> {
    match models.iter().find(|model| !MODELS.iter().any(|(name, _)| *name == model.name)) {
        Some(model) => Err(Status::unimplemented(format!("there is no model {}", model.name))),
        None => Ok(()),
    }
}

impl Service {
    pub(super) fn new(interfaces: Arc<Interfaces>, devices: Devices) -> Service {
        Service { interfaces, devices }
    }

    pub(super) fn interfaces(&self) -> &Arc<Interfaces> {
        &self.interfaces
    }

    /// Checks the rights of a request's sender. For who may not even read, there is no gNMI: controllers of one tenant, such as finsy, go
    /// on without it where it is not implemented, but not where it refuses them.
    ///
    /// # Errors
    /// `UNIMPLEMENTED`, `PERMISSION_DENIED`, `UNAVAILABLE`.
    pub(super) fn check(&self, request: &tonic::codegen::http::Extensions, to_change: bool) -> Result<(), Status> {
        self.devices.oversee(request, to_change).map_err(Failure::status).map_err(|status| match status.code() {
            Code::PermissionDenied if !to_change => Status::unimplemented(format!("no gNMI: {}", status.message())),
            _ => status,
        })
    }

    /// All leaves now.
    ///
    /// # Errors
    /// `INTERNAL` if the kernel does not say.
    pub(super) async fn leaves(&self) -> Result<Vec<Leaf>, Status> {
        let service = self.clone();
        let read = move || tree::leaves(&service.interfaces, &service.devices.ids());
        let read = tokio::task::spawn_blocking(read).await.map_err(|error| Status::internal(error.to_string()))?;
        read.map_err(|error| Status::internal(format!("the kernel does not list the interfaces: {error}")))
    }

    /// Answers a `Get`.
    ///
    /// # Errors
    /// The request is wrong, or the kernel does not answer.
    pub(super) async fn answer(&self, request: &GetRequest) -> Result<GetResponse, Status> {
        no_extensions(&request.extension)?;
        only_our_models(&request.use_models)?;
        let form = Form::new(request.encoding)?;
        let kinds: &[Kind] = match DataType::try_from(request.r#type) {
            Ok(DataType::All) => &[Kind::Key, Kind::Config, Kind::Applied, Kind::Operational, Kind::Counter],
            Ok(DataType::Config) => &[Kind::Key, Kind::Config],
            Ok(DataType::State) => &[Kind::Key, Kind::Applied, Kind::Operational, Kind::Counter],
            Ok(DataType::Operational) => &[Kind::Key, Kind::Operational, Kind::Counter],
            Err(_) => return Err(Status::invalid_argument("the type of data is not one of gNMI's")),
        };
        if request.path.len() > MAX_PATHS {
            return Err(Status::invalid_argument(format!("there are more than {MAX_PATHS} paths")));
        }
        let all = self.leaves().await?;
        let prefix = path::answered_prefix(request.prefix.as_ref());
        // A prefix alone is a path, too.
        let paths: Vec<_> = match request.path.is_empty() {
            true => vec![None],
            false => request.path.iter().map(Some).collect(),
        };
        let mut notification = Vec::with_capacity(paths.len());
        for path in paths {
            let query = Query::new(request.prefix.as_ref(), path)?;
            if !query.has_wildcards() && !all.iter().any(|leaf| query.depth(&leaf.path).is_some()) {
                return Err(query.nothing(&all));
            }
            let mut update = Vec::new();
            let mut selected: Vec<(&[Elem], Vec<&Leaf>)> = Vec::new();
            for leaf in all.iter().filter(|leaf| kinds.contains(&leaf.kind)) {
                let Some(depth) = query.depth(&leaf.path) else { continue };
                if leaf.kind == Kind::Counter {
                    self.interfaces.count_groups();
                }
                match selected.iter_mut().find(|(root, _)| *root == &leaf.path[..depth]) {
                    Some((_, leaves)) => leaves.push(leaf),
                    None => selected.push((&leaf.path[..depth], vec![leaf])),
                }
            }
            selected.iter().for_each(|(root, leaves)| update.extend(form.subtree(leaves, root.len())));
            let timestamp = now_ns() as i64;
            notification.push(Notification { timestamp, prefix: prefix.clone(), update, ..Notification::default() });
        }
        Ok(GetResponse { notification, ..GetResponse::default() })
    }
}
