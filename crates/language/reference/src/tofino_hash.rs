//! `Hash` objects of the Tofino Native Architecture: algorithms, data that are not whole bytes, wide results, `@symmetric`.

use hopwright_sema::hir::{AnnotationArg, Expr, ExprKind, Object, Type, TypedProgram};
use num_bigint::BigUint;

use crate::bits::{Bits, Reader};
use crate::checksum::{Algorithm, Crc};
use crate::number;
use crate::objects::{constant, member_name, object_of};
use crate::value::{self, Value, member_types};

/// A `Hash` object's function of data.
enum Function {
    /// The last bits of the data.
    Identity,
    /// Exclusive or of 16-bit words, or a function that stands for the device's random one.
    Shared(Algorithm),
    /// A CRC of width, and whether a wider result repeats it.
    Crc(Crc, bool),
    /// The exclusive or of words of this many bits.
    Xor(usize),
}

/// The CRCs that have names: polynomial, initial value and final exclusive or, whether they are reflected.
fn named_crc(name: &str) -> Option<Crc> {
    let (width, polynomial, initial, xor, reflected) = match name {
        "CRC8" => (8, 0x07, 0, 0, false),
        "CRC16" => (16, 0x8005, 0, 0, true),
        "CRC32" => (32, 0x04c1_1db7, 0xffff_ffff, 0xffff_ffff, true),
        "CRC64" => (64, 0x42f0_e1eb_a9ea_3693, 0, 0, false),
        _ => return None,
    };
    Some(Crc { width, polynomial, initial, xor, reflected })
}

/// What a `Hash` object computes; `None` if that is not supported.
fn function_of(program: &TypedProgram, hash: &Object) -> Option<Function> {
    let algorithm = hash.args.first().and_then(|e| member_name(program, e))?;
    if let Some(crc) = named_crc(&algorithm) {
        return Some(Function::Crc(crc, true));
    }
    Some(match algorithm.as_str() {
        "IDENTITY" => Function::Identity,
        "RANDOM" => Function::Shared(Algorithm::Random),
        "XOR8" => Function::Xor(8),
        "XOR16" => Function::Shared(Algorithm::Xor16),
        "XOR32" => Function::Xor(32),
        "CUSTOM" => {
            let polynomial = &program[hash.args.get(1).and_then(object_of)?];
            let value = |at: usize| polynomial.args.get(at).map(|e| constant(program, e));
            let number = |at: usize| value(at).map(|value| value.small());
            let width = value::width(program, polynomial.type_args.first()?);
            if !(1..=64).contains(&width) {
                return None;
            }
            let crc =
                Crc { width, polynomial: number(0)?, reflected: number(1)? != 0, initial: number(4)?, xor: number(5)? };
            Function::Crc(crc, number(3)? != 0)
        }
        _ => return None,
    })
}

/// Whether the algorithm of a `Hash` object is supported.
pub(crate) fn is_supported(program: &TypedProgram, hash: &Object) -> bool {
    function_of(program, hash).is_some()
}

/// `get` of a `Hash` object, for data that are the value of an expression.
pub(crate) fn hash(program: &TypedProgram, hash: &Object, data: &Expr, value: &Value) -> Option<Value> {
    let mut fields = Vec::new();
    value::scalars(program, &data.ty, value, &mut fields);
    let mut names = Vec::new();
    field_names(program, data, &mut names);
    let mut fields: Vec<(BigUint, u32)> =
        fields.iter().map(|(ty, value)| (value::scalar_bits(program, ty, value), value::width(program, ty))).collect();
    make_symmetric(hash, &names, &mut fields);
    let mut data = Bits::default();
    fields.iter().for_each(|(bits, width)| data.push(bits, *width as usize));
    let ty = hash.type_args.first()?;
    let number = match function_of(program, hash)? {
        Function::Identity => data.number(),
        Function::Shared(algorithm) => algorithm.of(data.bytes()),
        Function::Xor(word) => xor_of_words(&data, word),
        Function::Crc(crc, repeats) => {
            // The device fills data up to whole bytes at their beginning.
            let mut whole = Bits::default();
            whole.push(&BigUint::ZERO, data.len().next_multiple_of(8) - data.len());
            whole.push(&data.number(), data.len());
            let once = crc.of(whole.bytes());
            match repeats {
                true => repeated(&once, crc.width, value::width(program, ty)),
                false => once,
            }
        }
    };
    Some(Value::Number(number::fit(number.into(), ty)))
}

/// A number whose bits are repeated up to a width: bit *i* is bit *i* modulo its own width.
fn repeated(number: &BigUint, own: u32, width: u32) -> BigUint {
    (0..width).filter(|at| number.bit(u64::from(at % own))).fold(BigUint::ZERO, |x, at| x | BigUint::from(1u32) << at)
}

fn xor_of_words(data: &Bits, word: usize) -> BigUint {
    let mut reader = Reader { bytes: data.bytes(), at: 0 };
    (0..data.len().div_ceil(word)).fold(BigUint::ZERO, |x, _| x ^ reader.take(word))
}

/// `@symmetric("a", "b")`: both fields are hashed in the place of the later one, as their exclusive or; the earlier one is zero.
pub(crate) fn make_symmetric(hash: &Object, names: &[String], fields: &mut [(BigUint, u32)]) {
    for annotation in hash.annotations.iter().filter(|a| a.name == "symmetric") {
        let [AnnotationArg::String(a), AnnotationArg::String(b)] = annotation.args.as_slice() else { continue };
        let place = |wanted: &String| names.iter().position(|name| name == wanted);
        let (Some(a), Some(b)) = (place(a), place(b)) else { continue };
        let early = std::mem::take(&mut fields[a.min(b)].0);
        fields[a.max(b)].0 ^= early;
    }
}

/// The names of the scalars of an expression, as the program writes them.
fn field_names(program: &TypedProgram, e: &Expr, out: &mut Vec<String>) {
    match &e.kind {
        ExprKind::Aggregate { members, .. } => members.iter().for_each(|m| field_names(program, m, out)),
        _ => names_within(program, &written(program, e), &e.ty, out),
    }
}

fn names_within(program: &TypedProgram, name: &str, ty: &Type, out: &mut Vec<String>) {
    match ty {
        Type::Struct(id) | Type::Header(id) | Type::Union(id) => {
            program[*id].fields.iter().for_each(|f| names_within(program, &format!("{name}.{}", f.name), &f.ty, out));
        }
        Type::Stack(..) | Type::Tuple(_) => {
            let types = member_types(program, ty);
            types.iter().enumerate().for_each(|(at, ty)| names_within(program, &format!("{name}[{at}]"), ty, out));
        }
        _ => out.push(name.into()),
    }
}

/// `hdr.ipv4.src`, `hdr.labels[1].label`; `?` for what is no such name.
pub(crate) fn written(program: &TypedProgram, e: &Expr) -> String {
    match &e.kind {
        ExprKind::Var(var) => program[*var].name.clone(),
        ExprKind::Field(of, at) => {
            let (Type::Struct(id) | Type::Header(id) | Type::Union(id)) = of.ty else { return "?".into() };
            format!("{}.{}", written(program, of), program[id].fields[*at].name)
        }
        ExprKind::Index(of, index) => match &index.kind {
            ExprKind::Int(index) => format!("{}[{index}]", written(program, of)),
            _ => "?".into(),
        },
        _ => "?".into(),
    }
}
