//! Objects of extern types in safe code.

use std::fmt;

use hopwright_abi::limbs_of;

use super::native_extern::{NativeCall, NativeExtern};
use crate::native::{self, Callee};
use crate::sync::quiescence::Inside;

/// An object of an extern type that a program declares, such as
///
/// ```p4
/// extern Fold {
///     Fold(bit<16> seed);
///     bit<16> add(in bit<32> value);
/// }
/// ```
///
/// Both engines call it on the worker's thread, for each packet that gets there: it should neither allocate, lock nor wait. A panic
/// ends the process.
pub trait ExternObject: Send + Sync + fmt::Debug + 'static {
    /// The names of the methods.
    fn methods(&self) -> &'static [&'static str];

    /// The widths in bits of a method's arguments, in order. `method` is an index into [`ExternObject::methods`]. A result is the last
    /// one. They must be those of the declaration, or the program is refused.
    fn arguments(&self, method: usize) -> &'static [u32];

    /// Runs a method. Each argument takes as many words as hold its width, the least significant first: one for up to 64 bits. Those
    /// of `out` parameters and of the result hold what was there before, and are replaced; bits beyond their width are cut off.
    fn call(&self, method: usize, words: &mut [u64]);

    /// Whether calls change what later calls return, so that several workers must not share the object.
    fn has_state(&self) -> bool {
        true
    }
}

/// Adapts an object in safe code. What it says of its methods is kept: programs are compiled for that.
#[derive(Debug)]
pub(super) struct Object<T> {
    object: T,
    methods: &'static [&'static str],
    /// By method.
    arguments: Vec<&'static [u32]>,
}

impl<T: ExternObject> Object<T> {
    pub(super) fn new(object: T) -> Object<T> {
        let methods = object.methods();
        let arguments = (0..methods.len()).map(|method| object.arguments(method)).collect();
        Object { object, methods, arguments }
    }

    fn widths(&self, method: u32) -> &'static [u32] {
        self.arguments.get(method as usize).copied().unwrap_or_default()
    }
}

impl<T: ExternObject> NativeExtern for Object<T> {
    fn methods(&self) -> &'static [&'static str] {
        self.methods
    }

    fn native(&self) -> NativeCall {
        native::call_of(self)
    }

    fn arguments(&self, method: u32) -> &'static [u32] {
        self.widths(method)
    }

    fn taken_in_turn(&self) -> bool {
        self.object.has_state()
    }
}

impl<T: ExternObject> Callee for Object<T> {
    fn words(&self, method: u32) -> usize {
        self.widths(method).iter().map(|width| limbs_of(*width)).sum()
    }

    fn call(&self, method: u32, words: &mut [u64], _: Inside<'_>) {
        self.object.call(method as usize, words);
        let mut end = 0;
        for width in self.widths(method) {
            end += limbs_of(*width);
            if !width.is_multiple_of(64) {
                words[end - 1] &= (1 << (width % 64)) - 1;
            }
        }
    }
}
