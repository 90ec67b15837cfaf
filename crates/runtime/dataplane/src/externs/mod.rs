//! Extern types implemented in native code, which all executors share.
//!
//! A [`NativeExtern`] is an object of a P4 extern type. Generated code calls its [`NativeCall`] directly; the
//! interpreter calls the same code through [`Model`]. Counters, registers and the other extern types of the
//! architecture are not here: executors implement them.

mod aes;
mod filter;
mod key;
mod key_table;
pub(crate) mod native_extern;
mod object;
mod round_keys;
mod with_key;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hopwright_interp::{self as interp, ExternError, ExternModel, Value};
use num_bigint::BigUint;

pub use aes::Aes128Key;
pub use key_table::{KeyError, KeyTable};
pub use native_extern::{NativeCall, NativeExtern, Restore};
pub use object::ExternObject;

use object::Object;

use crate::native;
use crate::sync::quiescence::{Domain, Reader};
use hopwright_abi::{NamedCall, from_limbs, limbs_of, push_limbs};

/// Creates an object from its constructor's arguments.
pub type Constructor =
    Arc<dyn Fn(&[BigUint], &Arc<Domain>) -> Result<Arc<dyn NativeExtern>, ExternError> + Send + Sync>;

/// The refusal of arguments in place of one.
fn one_argument(args: &[BigUint]) -> ExternError {
    format!("one constructor argument is expected, not {}", args.len()).into()
}

/// The extern types that programs may use.
#[derive(Clone)]
pub struct ExternTypes(BTreeMap<&'static str, Constructor>);

impl ExternTypes {
    /// The types of `crypto.p4`, and Tofino's filters.
    pub fn standard() -> ExternTypes {
        let mut types = ExternTypes(BTreeMap::new());
        types.add("AesCmac", |args, domain| Ok(Arc::new(key::KeyedAes::new(key::Function::Cmac, args, domain)?)));
        types.add("Aes128", |args, domain| Ok(Arc::new(key::KeyedAes::new(key::Function::Encrypt, args, domain)?)));
        types.add("AesCmacRoundKeys", |args, domain| Ok(Arc::new(round_keys::RoundKeys::new(args, domain)?)));
        types.add("Aes128WithKey", |args, _| Ok(Arc::new(with_key::WithKey::new(args)?)));
        types.add("Lpf", |args, _| Ok(Arc::new(filter::Filter::low_pass(args)?)));
        types.add("Wred", |args, _| Ok(Arc::new(filter::Filter::early_drop(args)?)));
        types
    }

    /// Adds or replaces a type.
    pub fn add(
        &mut self,
        name: &'static str,
        constructor: impl Fn(&[BigUint], &Arc<Domain>) -> Result<Arc<dyn NativeExtern>, ExternError> + Send + Sync + 'static,
    ) {
        self.0.insert(name, Arc::new(constructor));
    }

    /// Adds or replaces a type whose objects are written in safe code. `constructor` has the constructor's arguments.
    pub fn add_object<T: ExternObject>(
        &mut self,
        name: &'static str,
        constructor: impl Fn(&[BigUint]) -> Result<T, String> + Send + Sync + 'static,
    ) {
        self.add(name, move |args, _| Ok(Arc::new(Object::new(constructor(args)?))));
    }

    /// Returns whether there is a type of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn construct(
        &self,
        type_name: &str,
        args: &[BigUint],
        domain: &Arc<Domain>,
    ) -> Result<Arc<dyn NativeExtern>, ExternError> {
        self.0.get(type_name).ok_or_else(|| ExternError::NoType(type_name.into()))?(args, domain)
    }

    /// Returns a registry of these types for a stand-alone interpreter, whose objects share nothing with a virtual data
    /// plane. `control("key/<index>", key)` sets keys.
    pub fn for_interpreter(&self) -> interp::ExternRegistry {
        let mut registry = interp::ExternRegistry::new();
        let domain = Domain::new();
        for (name, constructor) in &self.0 {
            let (constructor, domain) = (constructor.clone(), domain.clone());
            registry.add_type(name, move |args| {
                let object = constructor(args, &domain)?;
                Ok(Box::new(Model::new(object, &domain)) as Box<dyn ExternModel>)
            });
        }
        registry
    }
}

impl fmt::Debug for ExternTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// The numbers of the methods that a program calls, in an object.
///
/// # Errors
/// The object lacks a method, or has it with other arguments.
pub(crate) fn method_numbers(object: &dyn NativeExtern, methods: &[NamedCall]) -> Result<Vec<u32>, String> {
    methods
        .iter()
        .map(|method| {
            let number = object.methods().iter().position(|m| *m == method.name);
            let number = number.ok_or_else(|| format!("method `{}` is not supported", method.name))? as u32;
            let widths = object.arguments(number);
            let given: Vec<u32> = method.args.iter().map(|(_, width)| *width).collect();
            if given != widths {
                return Err(format!(
                    "method `{}` takes arguments of {widths:?} bits, and the program calls it with {given:?}",
                    method.name
                ));
            }
            Ok(number)
        })
        .collect()
}

/// Adapts an object to the interpreter.
pub(crate) struct Model {
    object: Arc<dyn NativeExtern>,
    reader: Reader,
}

impl Model {
    pub(crate) fn new(object: Arc<dyn NativeExtern>, domain: &Arc<Domain>) -> Model {
        Model { object, reader: domain.reader() }
    }
}

impl ExternModel for Model {
    fn call(&mut self, method: &str, args: &mut [Value]) -> Result<(), ExternError> {
        let index = self.object.methods().iter().position(|m| *m == method);
        let index = index.ok_or_else(|| ExternError::NoMethod(method.into()))? as u32;
        let widths = self.object.arguments(index);
        if !args.iter().map(|a| a.width).eq(widths.iter().copied()) {
            return Err(format!("method `{method}` takes arguments of {widths:?} bits").into());
        }
        let mut limbs = Vec::new();
        for arg in args.iter() {
            push_limbs(&mut limbs, &arg.bits, limbs_of(arg.width));
        }
        native::call_native(&*self.object, index, &mut limbs, &self.reader.enter());
        let mut at = 0;
        for arg in args {
            let count = limbs_of(arg.width);
            *arg = Value::new(from_limbs(&limbs[at..at + count]), arg.width);
            at += count;
        }
        Ok(())
    }

    fn control(&mut self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
        self.object.control(setting, data)
    }
}
