//! What compiled programs share with safe code: calls, and words that they write. A program passes untyped state and words; the
//! functions here make an object and a slice of them, and say that the thread is inside the domain of its data plane.

use std::ffi::c_void;
use std::sync::atomic::AtomicU64;

use hopwright_abi::{ExternHandle, ValueSetHandle};

use crate::externs::native_extern::{NativeCall, NativeExtern};
use crate::state::value_set::ValueSet;
use crate::sync::quiescence::{Guard, Inside};

/// An object that compiled programs call.
pub(crate) trait Callee: Sync {
    /// The number of words of a method's arguments and results.
    fn words(&self, method: u32) -> usize;

    /// Runs a method. Results replace words.
    fn call(&self, method: u32, words: &mut [u64], inside: Inside<'_>);
}

/// How a program calls an object. Valid until the object moves or is dropped.
pub(crate) fn call_of<T: Callee>(object: &T) -> NativeCall {
    NativeCall { state: std::ptr::from_ref(object).cast_mut().cast(), call: call::<T>, block: None }
}

/// As [`call_of`], as a handle.
pub(crate) fn handle_of<T: Callee>(object: &T) -> ExternHandle {
    let NativeCall { state, call, .. } = call_of(object);
    ExternHandle { state, size: 0, call: Some(call) }
}

/// # Safety
/// `state` is a live `T`, and `words` are as many as [`Callee::words`] says. The caller is inside the domain of the object's data
/// plane.
unsafe extern "C" fn call<T: Callee>(state: *mut c_void, method: u32, words: *mut u64) {
    // SAFETY: guaranteed by the caller. The object is only read through shared references.
    let object = unsafe { &*state.cast_const().cast::<T>() };
    // SAFETY: guaranteed by the caller.
    let (words, inside) = unsafe { (std::slice::from_raw_parts_mut(words, object.words(method)), Inside::assume()) };
    object.call(method, words, inside);
}

/// Calls a method of an object as a program would.
///
/// # Panics
/// The number of words is not that of the method's arguments.
pub(crate) fn call_native(object: &dyn NativeExtern, method: u32, words: &mut [u64], _guard: &Guard<'_>) {
    let wanted: usize = object.arguments(method).iter().map(|width| hopwright_abi::limbs_of(*width)).sum();
    assert_eq!(words.len(), wanted, "words of method {method}");
    let native = object.native();
    // SAFETY: the words are as many as the method's arguments have, the object is alive, and the guard keeps this thread inside its
    // domain.
    unsafe { (native.call)(native.state, method, words.as_mut_ptr()) };
}

/// How a program searches a value set. Valid until the set moves or is dropped.
pub(crate) fn handle_of_set(set: &ValueSet) -> ValueSetHandle {
    ValueSetHandle { contains, state: std::ptr::from_ref(set).cast() }
}

/// # Safety
/// `state` is a live [`ValueSet`], and `keys` are the limbs of all its keys. The caller is inside the domain of the set's data
/// plane.
unsafe extern "C" fn contains(state: *const c_void, keys: *const u64) -> u64 {
    // SAFETY: guaranteed by the caller.
    let set = unsafe { &*state.cast::<ValueSet>() };
    // SAFETY: guaranteed by the caller.
    let (keys, inside) = unsafe { (std::slice::from_raw_parts(keys, set.words()), Inside::assume()) };
    u64::from(set.contains(keys, inside))
}

/// Words that compiled programs write. Pages that are never touched take no memory.
pub(crate) fn zeroed_words(count: usize) -> Box<[AtomicU64]> {
    // SAFETY: an `AtomicU64` whose bytes are all zero is a valid one.
    unsafe { Box::new_zeroed_slice(count).assume_init() }
}
