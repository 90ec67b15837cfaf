//! Models of externs that the interpreter knows only by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use hopwright_ir::hash::Random;
use hopwright_ir::{ExternFn, ExternId, ExternKind, Pipeline, StmtKind, walk};
use num_bigint::BigUint;

use super::{ControlError, Value};

/// Why an extern object cannot be created, called or set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExternError {
    /// Nothing implements the type.
    #[error("extern type `{0}` has no implementation")]
    NoType(String),
    /// Nothing implements the function.
    #[error("extern function `{0}` is not registered")]
    NoFunction(String),
    /// The object has no methods.
    #[error("it has no methods")]
    NoMethods,
    /// The object has no such method.
    #[error("no method `{0}`")]
    NoMethod(String),
    /// The object has no such setting.
    #[error("no setting `{0}`")]
    NoSetting(String),
    /// An array is too large.
    #[error("more than {most} cells are not supported yet")]
    Cells {
        /// The most cells.
        most: u64,
    },
    /// What the implementation says of the arguments or the data.
    #[error("{0}")]
    Refused(String),
}

impl From<String> for ExternError {
    fn from(why: String) -> ExternError {
        ExternError::Refused(why)
    }
}

impl From<&str> for ExternError {
    fn from(why: &str) -> ExternError {
        ExternError::Refused(why.into())
    }
}

/// The behaviour of a named extern object.
pub trait ExternModel: Send {
    /// Runs a method. `args` are all arguments in the order of the P4 parameters; a result is the last one. In
    /// arguments hold their values. Out arguments hold the current values of their targets; the method replaces them by
    /// values of the same width.
    ///
    /// # Errors
    /// There is no such method or the call is invalid. The packet is then dropped with a fault.
    fn call(&mut self, method: &str, args: &mut [Value]) -> Result<(), ExternError>;

    /// Applies a setting from the control plane, such as a key. The settings depend on the extern.
    ///
    /// # Errors
    /// There is no such setting or the data is invalid.
    fn control(&mut self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
        let _ = data;
        Err(ExternError::NoSetting(setting.into()))
    }
}

/// Creates an object from its constructor arguments.
pub type Constructor = Arc<dyn Fn(&[BigUint]) -> Result<Box<dyn ExternModel>, ExternError> + Send + Sync>;

/// A free extern function, with arguments as for [`ExternModel::call`].
pub type Function = Arc<dyn Fn(&mut [Value]) -> Result<(), ExternError> + Send + Sync>;

/// Extern types and functions by P4 name.
#[derive(Clone, Default)]
pub struct ExternRegistry {
    types: BTreeMap<String, Constructor>,
    functions: BTreeMap<String, Function>,
}

impl ExternRegistry {
    /// Creates an empty registry.
    pub fn new() -> ExternRegistry {
        ExternRegistry::default()
    }

    /// Registers an extern type.
    pub fn add_type(
        &mut self,
        name: &str,
        constructor: impl Fn(&[BigUint]) -> Result<Box<dyn ExternModel>, ExternError> + Send + Sync + 'static,
    ) {
        self.types.insert(name.to_string(), Arc::new(constructor));
    }

    /// Registers a free function.
    pub fn add_function(
        &mut self,
        name: &str,
        function: impl Fn(&mut [Value]) -> Result<(), ExternError> + Send + Sync + 'static,
    ) {
        self.functions.insert(name.to_string(), Arc::new(function));
    }
}

impl std::fmt::Debug for ExternRegistry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExternRegistry")
            .field("types", &self.types.keys())
            .field("functions", &self.functions.keys())
            .finish()
    }
}

/// The named extern objects and functions of a pipeline.
pub struct Externs {
    /// By extern instance.
    objects: Vec<Option<Box<dyn ExternModel>>>,
    functions: BTreeMap<String, Function>,
    /// For `random`.
    pub random: Random,
}

impl Externs {
    /// Creates the objects of a pipeline.
    ///
    /// # Errors
    /// The program uses an extern that is not in the registry, or an object cannot be created.
    pub fn new(pipeline: &Pipeline, registry: &ExternRegistry) -> Result<Externs, ControlError> {
        let objects = pipeline.externs.iter().map(|e| match &e.kind {
            ExternKind::Named { type_name, args } => {
                let constructor = registry.types.get(type_name).ok_or_else(|| ExternError::NoType(type_name.clone()));
                let model = constructor.and_then(|constructor| constructor(args));
                model.map(Some).map_err(|reason| ControlError::Extern { name: e.name.clone(), reason })
            }
            _ => Ok(None),
        });
        let objects = objects.collect::<Result<_, _>>()?;
        let mut functions = BTreeMap::new();
        let mut missing = None;
        walk::all_stmts(pipeline, &mut |stmt| {
            let StmtKind::Extern(call) = &stmt.kind else { return };
            let ExternFn::Named { instance: None, name, .. } = &call.function else { return };
            match registry.functions.get(name) {
                Some(f) => _ = functions.insert(name.clone(), f.clone()),
                None => missing = Some(name.clone()),
            }
        });
        match missing {
            Some(name) => Err(ControlError::Unknown(format!("extern function `{name}`"))),
            None => Ok(Externs { objects, functions, random: Random::new(0) }),
        }
    }

    /// The model of a named object, for settings by the control plane; `None` for other objects.
    pub fn object(&mut self, object: ExternId) -> Option<&mut dyn ExternModel> {
        Some(self.objects.get_mut(object.index())?.as_mut()?.as_mut())
    }

    /// Calls a method of an object, or a function.
    ///
    /// # Errors
    /// See [`ExternModel::call`].
    pub fn call(&mut self, object: Option<ExternId>, name: &str, args: &mut [Value]) -> Result<(), ExternError> {
        match object {
            Some(id) => self.object(id).ok_or(ExternError::NoMethods)?.call(name, args),
            None => self.functions.get(name).ok_or_else(|| ExternError::NoFunction(name.into()))?(args),
        }
    }
}
