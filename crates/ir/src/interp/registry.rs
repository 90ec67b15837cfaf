//! Models of externs that the interpreter knows only by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use num_bigint::BigUint;

use super::Value;

/// The behaviour of a named extern object.
pub trait ExternModel: Send {
    /// A method called by the program. `args` are all arguments in order of the P4 parameters, a result last; in
    /// arguments hold their values, out arguments hold what the target held (at its width) and are to be overwritten
    /// with values of the same width.
    ///
    /// # Errors
    /// A message if there is no such method or the call makes no sense; the packet is then dropped as a fault.
    fn call(&mut self, method: &str, args: &mut [Value]) -> Result<(), String>;

    /// A setting by the control plane, e.g. a key. What there is to set depends on the extern.
    ///
    /// # Errors
    /// A message if there is no such setting or the data is not right for it.
    fn control(&mut self, setting: &str, data: &[u8]) -> Result<(), String> {
        let _ = data;
        Err(format!("no setting `{setting}`"))
    }
}

/// Builds an object from its constructor arguments.
pub type Constructor = Arc<dyn Fn(&[BigUint]) -> Result<Box<dyn ExternModel>, String> + Send + Sync>;

/// A free extern function; arguments as for [`ExternModel::call`].
pub type Function = Arc<dyn Fn(&mut [Value]) -> Result<(), String> + Send + Sync>;

/// Extern types and functions by their P4 names.
#[derive(Clone, Default)]
pub struct ExternRegistry {
    types: BTreeMap<String, Constructor>,
    functions: BTreeMap<String, Function>,
}

impl ExternRegistry {
    /// A registry that knows nothing.
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

    pub(super) fn construct(&self, type_name: &str, args: &[BigUint]) -> Result<Box<dyn ExternModel>, String> {
        let constructor =
            self.types.get(type_name).ok_or_else(|| format!("extern type `{type_name}` has no implementation"))?;
        constructor(args)
    }

    pub(super) fn function(&self, name: &str) -> Option<Function> {
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
