//! Extern objects and their cells.

use std::collections::BTreeMap;

use hopwright_sema::hir::{Expr, ExprKind, FunctionId, Object, ObjectId, TableId, Type, TypedProgram};
use num_bigint::BigUint;

use crate::checksum::Algorithm;
use crate::meter::Meter;
use crate::value::{self, Value, initial};

/// What a counter says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Count {
    /// Counts a packet of this length.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// An extern object's state. Cells that nobody wrote are not stored.
#[derive(Clone, Debug)]
pub(crate) enum Cells {
    Counter {
        size: u64,
        cells: BTreeMap<u64, Count>,
    },
    /// The cells are in the entries of the table.
    DirectCounter,
    Meter {
        size: u64,
        /// It measures bytes, not packets.
        bytes: bool,
        cells: BTreeMap<u64, Meter>,
    },
    /// The cells are in the entries of the table.
    DirectMeter {
        bytes: bool,
    },
    Register {
        size: u64,
        ty: Type,
        initial: Value,
        cells: BTreeMap<u64, Value>,
    },
    /// An action profile, or a selector with the algorithm that picks members.
    Profile {
        algorithm: Option<Algorithm>,
        /// Actions with their data; tables that share the profile have them at positions of their own.
        members: BTreeMap<u32, (FunctionId, Vec<BigUint>)>,
        /// Members with their weights.
        groups: BTreeMap<u32, BTreeMap<u32, u32>>,
    },
    /// Keys of a cipher.
    Keys {
        slots: u64,
        keys: BTreeMap<u64, [u8; 16]>,
    },
    /// PSA: `Random` between two numbers.
    Random(BigUint, BigUint),
    /// PSA: `Hash` with an algorithm.
    Hash(Algorithm),
    /// It has no state that outlives a packet.
    Stateless,
}

impl Cells {
    /// The object's initial state; `None` if there is no such type of objects here.
    pub(crate) fn new(program: &TypedProgram, object: &Object) -> Option<Cells> {
        let number = |at: usize| object.args.get(at).map_or(0, |e| constant(program, e).small());
        let bits = |at: usize| {
            object.args.get(at).map_or(BigUint::ZERO, |e| constant(program, e).number().magnitude().clone())
        };
        let word = |at: usize| object.args.get(at).and_then(|e| member_name(program, e)).unwrap_or_default();
        let bytes = |at: usize| word(at).eq_ignore_ascii_case("bytes");
        let tofino = is_tofino(program);
        Some(match object.type_name.as_str() {
            "DirectRegister" => {
                let ty = object.type_args.first()?.clone();
                let initial = object.args.first().map_or_else(|| initial(program, &ty), |e| constant(program, e));
                // A table's entries have its cells; it has one if no table has it.
                let tables = (0..).map(TableId).take(program.tables.len());
                let used = tables.flat_map(|id| properties(program, id)).any(|id| std::ptr::eq(&program[id], object));
                Cells::Register { size: u64::from(!used), ty, initial, cells: BTreeMap::new() }
            }
            "ActionSelector" if tofino => {
                let hash = object.args.get(1).and_then(object_of).map(|id| &program[id]);
                profile(Some(hash.map_or(Algorithm::Crc32, |hash| selector_algorithm(program, hash))))
            }
            "Hash" | "Random" | "Checksum" | "ParserCounter" | "ParserPriority" | "CRCPolynomial" | "IdleTimeout"
            | "MathUnit" | "RegisterParam" | "Mirror" | "Resubmit" | "Atcam" | "Alpm"
                if tofino =>
            {
                Cells::Stateless
            }
            name if tofino && is_register_action(name) => Cells::Stateless,
            "counter" | "Counter" => Cells::Counter { size: number(0), cells: BTreeMap::new() },
            "direct_counter" | "DirectCounter" => Cells::DirectCounter,
            "meter" | "Meter" => Cells::Meter { size: number(0), bytes: bytes(1), cells: BTreeMap::new() },
            "direct_meter" | "DirectMeter" => Cells::DirectMeter { bytes: bytes(0) },
            "register" | "Register" => {
                let ty = object.type_args.first()?.clone();
                let initial = object.args.get(1).map_or_else(|| initial(program, &ty), |e| constant(program, e));
                Cells::Register { size: number(0), ty, initial, cells: BTreeMap::new() }
            }
            "action_profile" | "ActionProfile" => profile(None),
            "action_selector" | "ActionSelector" => profile(Some(Algorithm::by_name(&word(0))?)),
            "Hash" => Cells::Hash(Algorithm::by_name(&word(0))?),
            "Random" => Cells::Random(bits(0), bits(1)),
            "AesCmac" | "AesCmacRoundKeys" | "Aes128" => Cells::Keys { slots: number(0), keys: BTreeMap::new() },
            "Checksum16"
            | "Aes128WithKey"
            | "InternetChecksum"
            | "Digest"
            | "PacketReplicationEngine"
            | "BufferingQueueingEngine" => Cells::Stateless,
            _ => return None,
        })
    }
}

fn profile(algorithm: Option<Algorithm>) -> Cells {
    Cells::Profile { algorithm, members: BTreeMap::new(), groups: BTreeMap::new() }
}

/// The name of the enum member that an expression is.
pub(crate) fn member_name(program: &TypedProgram, e: &Expr) -> Option<String> {
    match &e.kind {
        ExprKind::EnumMember(id, at) => program[*id].members.get(*at).map(|(name, _)| name.clone()),
        ExprKind::Cast(of) => member_name(program, of),
        _ => None,
    }
}

/// The value of a constant expression.
pub(crate) fn constant(program: &TypedProgram, e: &Expr) -> Value {
    match &e.kind {
        ExprKind::Int(number) => Value::Number(crate::number::fit(number.clone(), &e.ty)),
        ExprKind::Bool(truth) => Value::Bool(*truth),
        ExprKind::Error(at) | ExprKind::EnumMember(_, at) => Value::Member(*at),
        ExprKind::Cast(of) => constant(program, of),
        ExprKind::Aggregate { members, .. } => Value::Record(members.iter().map(|m| constant(program, m)).collect()),
        _ => initial(program, &e.ty),
    }
}

/// The bits of all scalars of a register's cell as one number, the first the highest.
pub(crate) fn cell_bits(program: &TypedProgram, ty: &Type, value: &Value) -> BigUint {
    let mut bits = crate::bits::Bits::default();
    value::pack(program, ty, value, &mut bits);
    bits.number()
}

/// What that number means.
pub(crate) fn cell_value(program: &TypedProgram, ty: &Type, number: &BigUint) -> Value {
    let mut bits = crate::bits::Bits::default();
    bits.push(number, value::width(program, ty) as usize);
    value::unpack(program, ty, &mut crate::bits::Reader { bytes: bits.bytes(), at: 0 }, 0)
}

/// The objects of a table's properties.
fn properties(program: &TypedProgram, table: TableId) -> impl Iterator<Item = ObjectId> {
    program[table].properties.iter().filter_map(|(_, property)| match property {
        hopwright_sema::hir::Property::Object(object) => Some(*object),
        hopwright_sema::hir::Property::Value(_) => None,
    })
}

/// The object of a table's property with one of these names.
pub(crate) fn property(program: &TypedProgram, table: TableId, names: &[&str]) -> Option<ObjectId> {
    program[table].properties.iter().find_map(|(name, property)| match property {
        hopwright_sema::hir::Property::Object(object) if names.contains(&name.as_str()) => Some(*object),
        _ => None,
    })
}

/// The object that an argument is.
pub(crate) fn object_of(e: &Expr) -> Option<ObjectId> {
    match e.kind {
        ExprKind::Object(id) => Some(id),
        _ => None,
    }
}

/// Whether objects of a type run a method on a register's cell.
pub(crate) fn is_register_action(type_name: &str) -> bool {
    let name = type_name.strip_prefix("Direct").unwrap_or(type_name).trim_end_matches(|c: char| c.is_ascii_digit());
    matches!(name, "RegisterAction" | "MinMaxAction")
}

/// The algorithm by which an action selector with this `Hash` object chooses: CRC-32 in the place of those with polynomials of their own.
fn selector_algorithm(program: &TypedProgram, hash: &Object) -> Algorithm {
    let name = hash.args.first().and_then(|e| member_name(program, e)).unwrap_or_default();
    match name.as_str() {
        "CRC16" => Algorithm::Crc16,
        "XOR16" => Algorithm::Xor16,
        "IDENTITY" => Algorithm::Identity,
        "RANDOM" => Algorithm::Random,
        _ => Algorithm::Crc32,
    }
}

/// Whether a program is for Tofino.
pub(crate) fn is_tofino(program: &TypedProgram) -> bool {
    program.architecture().is_some_and(|a| matches!(a.name, "tna" | "t2na"))
}
