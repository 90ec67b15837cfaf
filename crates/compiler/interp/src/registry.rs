//! Models of externs that the interpreter knows only by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigUint;

use super::Value;

/// The behaviour of a named extern object.
pub trait ExternModel: Send {
    /// Runs a method. `args` are all arguments in the order of the P4 parameters; a result is the last one. In
    /// arguments hold their values. Out arguments hold the current values of their targets; the method replaces them by
    /// values of the same width.
    ///
    /// # Errors
    /// A message if there is no such method or the call is invalid. The packet is then dropped with a fault.
    fn call(&mut self, method: &str, args: &mut [Value]) -> Result<(), String>;

    /// Applies a setting from the control plane, such as a key. The settings depend on the extern.
    ///
    /// # Errors
    /// A message if there is no such setting or the data is invalid.
    fn control(&mut self, setting: &str, data: &[u8]) -> Result<(), String> {
        let _ = data;
        Err(format!("no setting `{setting}`"))
    }
}

/// Creates an object from its constructor arguments.
pub type Constructor = Arc<dyn Fn(&[BigUint]) -> Result<Box<dyn ExternModel>, String> + Send + Sync>;

/// A free extern function, with arguments as for [`ExternModel::call`].
pub type Function = Arc<dyn Fn(&mut [Value]) -> Result<(), String> + Send + Sync>;

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
        constructor: impl Fn(&[BigUint]) -> Result<Box<dyn ExternModel>, String> + Send + Sync + 'static,
    ) {
        self.types.insert(name.to_string(), Arc::new(constructor));
    }

    /// Registers a free function.
    pub fn add_function(
        &mut self,
        name: &str,
        function: impl Fn(&mut [Value]) -> Result<(), String> + Send + Sync + 'static,
    ) {
        self.functions.insert(name.to_string(), Arc::new(function));
    }

    /// Creates an object of a type from its constructor arguments.
    ///
    /// # Errors
    /// A message if there is no such type, or the arguments are invalid.
    pub fn construct(&self, type_name: &str, args: &[BigUint]) -> Result<Box<dyn ExternModel>, String> {
        let constructor =
            self.types.get(type_name).ok_or_else(|| format!("extern type `{type_name}` has no implementation"))?;
        constructor(args)
    }

    /// Returns the free function with this name.
    pub fn function(&self, name: &str) -> Option<Function> {
        self.functions.get(name).cloned()
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
