//! Calls of extern objects and functions.

use std::ffi::c_void;

use hopwright_ir::{Expr, ExternArg, ExternCall, ExternFn, Pipeline, StmtKind, Type, walk};

use crate::limbs_of;

/// The result of a meter whose index is out of range.
pub const NO_METER: u64 = u64::MAX;

/// The method of meters that charges the packet.
pub const METER_EXECUTE: u32 = 0;

/// The method of meters that tells the colour which [`METER_EXECUTE`] would return, and changes nothing.
pub const METER_COLOR: u32 = 1;

/// An extern object or function.
///
/// Generated code reads and writes counters and registers directly: `state` points to `size` [`crate::CounterCell`]s,
/// or to `size` register values in limbs. Other objects are called. Named externs have the methods of [`Interface`];
/// the following have method 0, and meters have [`METER_COLOR`], too:
/// - Action profiles and selectors take the address of a choice ([`crate::lead_words`]) and the hash. They return the
///   address of the selected member's entry in the first word, or zero if there are no members.
/// - Meters take the index, the time in microseconds and the packet's length in bytes. They return the colour in the
///   first word, or [`NO_METER`].
/// - Direct meters take the meter's address or zero, the time and the length. They return the colour in the first word.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExternHandle {
    /// First argument of `call`, or the cells.
    pub state: *mut c_void,
    /// Number of cells of a counter or register.
    pub size: u64,
    /// Calls a method: `args` holds the limbs of all arguments in order of the parameters. The caller fills in-arguments
    /// before the call and reads out-arguments after it. `method` is an index into [`Interface::methods`] of the object.
    pub call: Option<unsafe extern "C" fn(state: *mut c_void, method: u32, args: *mut u64)>,
}

/// A value of 128 bits in packet order, most significant byte first, in two words as loaded from memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The first eight bytes.
    pub first: u64,
    /// The last eight bytes.
    pub second: u64,
}

/// An alternative entry point of a named extern's method that takes a number of at most 64 bits and a block and returns
/// a block.
///
/// It is equivalent to [`ExternHandle::call`], but separates the work that depends only on the number, and passes
/// blocks in registers.
#[derive(Clone, Copy, Debug)]
pub struct BlockMethod {
    /// Takes [`ExternHandle::state`] and the number. Returns the first argument of `run` and `run_all`, which is valid
    /// until the batch ends.
    pub prepare: unsafe extern "C" fn(state: *mut c_void, number: u64) -> *const c_void,
    /// Returns the result for one block, given as its words.
    pub run: unsafe extern "C" fn(prepared: *const c_void, first: u64, second: u64) -> Block,
    /// Replaces `count` blocks, 16-byte aligned, by their results.
    pub run_all: unsafe extern "C" fn(prepared: *const c_void, blocks: *mut Block, count: usize),
}

/// Properties of an extern object's implementation that the code generator may rely on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExternAttributes {
    /// Whether calling it twice with the same arguments is the same as calling it once.
    pub repeatable: bool,
    /// Its only method, if that has the form of a [`BlockMethod`].
    pub block: Option<BlockMethod>,
}

/// The direction of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Filled in before the call.
    In,
    /// Read after the call.
    Out,
    /// Both.
    InOut,
}

/// The signature of a named extern method or function. In the `args` of [`ExternHandle::call`], each argument has
/// ⌈width/64⌉ limbs, and arguments are consecutive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedCall {
    /// The P4 name of the method or function.
    pub name: String,
    /// Direction and width in bits of each argument. A result is the last one.
    pub args: Vec<(Direction, u32)>,
}

impl NamedCall {
    /// Returns the signature of a call.
    pub fn of(p: &Pipeline, name: &str, call: &ExternCall) -> NamedCall {
        let args = call
            .args
            .iter()
            .map(|a| match a {
                ExternArg::In(e) => (Direction::In, e.ty.width()),
                ExternArg::List(list) => (Direction::In, list.iter().map(|e| e.ty.width()).sum()),
                ExternArg::Out(s) => (Direction::Out, p[*s].ty.width()),
                ExternArg::InOut(s) => (Direction::InOut, p[*s].ty.width()),
            })
            .collect();
        NamedCall { name: name.to_string(), args }
    }
}

/// The signature of a digest that a program sends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DigestCall {
    /// The name of the struct type.
    pub name: String,
    /// The types of the fields.
    pub fields: Vec<Type>,
}

impl DigestCall {
    /// Returns the signature of a digest with these fields.
    pub fn of(name: &str, data: &[Expr]) -> DigestCall {
        DigestCall { name: name.into(), fields: data.iter().map(|e| e.ty).collect() }
    }

    /// Number of words of the receiver and the fields.
    pub fn words(&self) -> usize {
        1 + self.fields.iter().map(|ty| DigestCall::words_of(*ty)).sum::<usize>()
    }

    /// Number of words of a field: its limbs, at least one. A varbit has its length in bytes, then its bytes in packet
    /// order.
    pub fn words_of(ty: Type) -> usize {
        limbs_of(ty.width()).max(1) + usize::from(matches!(ty, Type::Varbit(_)))
    }
}

/// Everything that a pipeline calls by name. The indices are those that generated code uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// The methods of each extern instance; the index is the `method` of the call.
    pub methods: Vec<Vec<NamedCall>>,
    /// The free functions; the index is that into [`crate::Runtime::functions`].
    pub functions: Vec<NamedCall>,
    /// The digests; the index is the `method` of [`crate::Runtime::digests`].
    pub digests: Vec<DigestCall>,
}

impl Interface {
    /// Collects everything that a pipeline calls by name, in order of appearance.
    pub fn of(p: &Pipeline) -> Interface {
        let mut found = Interface { methods: vec![Vec::new(); p.externs.len()], ..Interface::default() };
        for block in walk::all_blocks(p) {
            walk::stmts(block, &mut |s| {
                let StmtKind::Extern(call) = &s.kind else { return };
                if let (ExternFn::Digest(name), [_, ExternArg::List(data)]) = (&call.function, call.args.as_slice()) {
                    let this = DigestCall::of(name, data);
                    if !found.digests.contains(&this) {
                        found.digests.push(this);
                    }
                }
                let ExternFn::Named { instance, name, .. } = &call.function else { return };
                let this = NamedCall::of(p, name, call);
                let list = match instance {
                    Some(id) => &mut found.methods[id.index()],
                    None => &mut found.functions,
                };
                if !list.contains(&this) {
                    list.push(this);
                }
            });
        }
        found
    }
}
