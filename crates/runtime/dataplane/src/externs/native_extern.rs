//! Objects of P4 extern types in native code: what generated code calls, and what the control plane sets.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use hopwright_abi::BlockMethod;
use hopwright_interp::ExternError;

use super::aes::CallInMemory;
use super::key_table::KeyTable;

/// How generated code calls an object's methods; see [`hopwright_abi::ExternHandle::call`]. A method is an index into
/// [`NativeExtern::methods`].
#[derive(Clone, Copy, Debug)]
pub struct NativeCall {
    /// The first argument of `call`.
    pub state: *mut c_void,
    /// The function. Called by a worker inside the object's domain.
    pub call: CallInMemory,
    /// A faster entry point for an object's only method, if that computes one block from another.
    pub block: Option<BlockMethod>,
}

/// Puts back what was remembered.
pub type Restore = Box<dyn FnOnce() + Send>;

/// An object of a P4 extern type.
pub trait NativeExtern: Send + Sync + fmt::Debug {
    /// The names of the methods.
    fn methods(&self) -> &'static [&'static str];

    /// The implementation. It must be sound for all argument values of the right number and widths, and stay valid
    /// while the object lives.
    fn native(&self) -> NativeCall;

    /// The widths in bits of a method's arguments, in order. A result is the last one.
    fn arguments(&self, method: u32) -> &'static [u32];

    /// Whether calling a method twice with the same arguments is the same as calling it once (`@noSideEffects`).
    fn repeatable(&self) -> bool {
        false
    }

    /// Whether calls change what later calls return, so that several workers must not share the object.
    fn taken_in_turn(&self) -> bool {
        false
    }

    /// The same object for shadow execution, if calls change something: its calls change nothing.
    fn observer(&self) -> Option<Arc<dyn NativeExtern>> {
        None
    }

    /// The keys of an object that holds keys.
    fn key_table(&self) -> Option<&Arc<KeyTable>> {
        None
    }

    /// Remembers what [`NativeExtern::control`] with this setting changes; the result undoes later changes. `None` if there is no such
    /// setting, or it cannot be undone.
    fn save(&self, setting: &str) -> Option<Restore> {
        let _ = setting;
        None
    }

    /// Applies a setting from the control plane; see [`hopwright_interp::ExternModel::control`].
    fn control(&self, setting: &str, data: &[u8]) -> Result<(), ExternError> {
        let _ = data;
        Err(ExternError::NoSetting(setting.into()))
    }
}
