//! CRCs whose parameters control planes change: BMv2's `crc16_custom` and `crc32_custom`.
//!
//! A data plane that lets control planes change them replaces each [`ExternFn::Hash`] of such an algorithm ([`expand`]) by reads of a
//! register with the parameters, a call of [`ExternFn::CustomCrc`], and the arithmetic of `hash`. The registers have no P4Runtime ids.

use num_bigint::BigUint;

use crate::hash;
use crate::model::{
    BinaryOp, Block, Expr, ExprKind, ExternArg, ExternCall, ExternFn, ExternId, ExternInstance, ExternKind,
    HashAlgorithm, Pipeline, Slot, SlotId, SlotKind, Span, Stmt, StmtKind, Type,
};
use crate::walk;

/// The parameters of a CRC, as in BMv2: the remainder is shifted to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrcParameters {
    /// Without its highest bit.
    pub polynomial: u32,
    /// The remainder in front of the first byte.
    pub initial: u32,
    /// Is added to the result.
    pub final_xor: u32,
    /// Whether the lowest bit of a byte comes first.
    pub data_reflected: bool,
    /// Whether the result is the remainder with its bits in reverse order.
    pub remainder_reflected: bool,
}

impl CrcParameters {
    /// Those of an algorithm until a control plane changes them; `None` if it has none.
    pub fn of(algorithm: HashAlgorithm) -> Option<CrcParameters> {
        let (polynomial, ones) = match algorithm {
            HashAlgorithm::Crc16Custom => (0x8005, 0),
            HashAlgorithm::Crc32Custom => (0x04c1_1db7, u32::MAX),
            _ => return None,
        };
        let (data_reflected, remainder_reflected) = (true, true);
        Some(CrcParameters { polynomial, initial: ones, final_xor: ones, data_reflected, remainder_reflected })
    }

    /// The contents of the register of an algorithm: the differences to the usual parameters.
    pub fn words(self, algorithm: HashAlgorithm) -> [u64; 2] {
        let usual = CrcParameters::of(algorithm).unwrap_or(self).packed();
        std::array::from_fn(|word| self.packed()[word] ^ usual[word])
    }

    fn packed(self) -> [u64; 2] {
        let flags = u64::from(self.data_reflected) | u64::from(self.remainder_reflected) << 1;
        [u64::from(self.polynomial) << 32 | u64::from(self.initial), u64::from(self.final_xor) << 32 | flags]
    }

    fn unpacked([first, second]: [u64; 2]) -> CrcParameters {
        CrcParameters {
            polynomial: (first >> 32) as u32,
            initial: first as u32,
            final_xor: (second >> 32) as u32,
            data_reflected: second & 1 != 0,
            remainder_reflected: second & 2 != 0,
        }
    }
}

/// What [`ExternFn::CustomCrc`] computes: the CRC of an algorithm's width, with the parameters in two words ([`CrcParameters::words`]).
pub fn crc(algorithm: HashAlgorithm, words: [u64; 2], data: &[u8]) -> u32 {
    let Some(usual) = CrcParameters::of(algorithm).filter(|_| words != [0; 2]) else {
        return hash::hash(algorithm, data) as u32;
    };
    let usual = usual.packed();
    let parameters = CrcParameters::unpacked(std::array::from_fn(|word| words[word] ^ usual[word]));
    // A narrow CRC is in the highest bits.
    let shift = if algorithm == HashAlgorithm::Crc16Custom { 16 } else { 0 };
    let (polynomial, mut remainder) = (parameters.polynomial << shift, parameters.initial << shift);
    for byte in data {
        let byte = if parameters.data_reflected { byte.reverse_bits() } else { *byte };
        remainder ^= u32::from(byte) << 24;
        for _ in 0..8 {
            remainder = remainder << 1 ^ polynomial & (remainder >> 31).wrapping_neg();
        }
    }
    let result = if parameters.remainder_reflected { remainder.reverse_bits() << shift } else { remainder };
    result >> shift ^ parameters.final_xor & u32::MAX >> shift
}

/// The name of the register with the parameters of a calculation.
pub fn register_name(algorithm: HashAlgorithm, calculation: &str) -> String {
    format!("${algorithm:?}.{calculation}")
}

/// The algorithm and the calculation's name, if a register has parameters.
pub fn calculation_of(register: &str) -> Option<(HashAlgorithm, &str)> {
    let (algorithm, calculation) = register.strip_prefix('$')?.split_once('.')?;
    Some((HashAlgorithm::by_name(algorithm)?, calculation))
}

/// The name that p4c gives the calculation of a call of `hash`, by its place among all calls.
pub fn calculation_name(place: usize) -> String {
    match place.checked_sub(1) {
        None => "calc".into(),
        Some(number) => format!("calc_{number}"),
    }
}

/// Whether the parameters of a call can change.
pub fn is_custom(function: &ExternFn) -> bool {
    matches!(function, ExternFn::Hash(algorithm) if CrcParameters::of(*algorithm).is_some())
}

/// Replaces all calls of `hash` whose parameters can change.
pub fn expand(pipeline: &mut Pipeline) {
    let mut place = 0;
    // Blocks in the order of the walk, which names are given in.
    let mut blocks: Vec<Block> = walk::all_blocks_mut(pipeline).map(std::mem::take).collect();
    blocks.iter_mut().for_each(|block| expand_in(pipeline, block, &mut place));
    for (to, block) in walk::all_blocks_mut(pipeline).zip(blocks) {
        *to = block;
    }
}

fn expand_in(pipeline: &mut Pipeline, block: &mut Block, place: &mut usize) {
    for mut stmt in std::mem::take(block) {
        match &mut stmt.kind {
            StmtKind::Extern(call) if matches!(call.function, ExternFn::Hash(_)) => {
                let name = calculation_name(*place);
                *place += 1;
                if is_custom(&call.function)
                    && let Some(stmts) = replace(pipeline, &name, call)
                {
                    block.extend(stmts);
                    continue;
                }
            }
            _ => walk::blocks_mut(&mut stmt).into_iter().for_each(|inner| expand_in(pipeline, inner, place)),
        }
        block.push(stmt);
    }
}

/// The statements that replace a call of `hash`, with the parameters of a calculation; `None` if they cannot change.
pub fn replace(pipeline: &mut Pipeline, calculation: &str, call: &ExternCall) -> Option<Vec<Stmt>> {
    let ExternFn::Hash(algorithm) = call.function else { return None };
    CrcParameters::of(algorithm)?;
    let [ExternArg::Out(result), ExternArg::In(base), ExternArg::List(data), ExternArg::In(max)] = call.args.as_slice()
    else {
        return None;
    };
    let register = register(pipeline, &register_name(algorithm, calculation));
    let span = call.span;
    let word = Type::Bits(64);
    let words = ["polynomial", "final"].map(|name| local(pipeline, format!("${calculation}.{name}"), word));
    let crc = local(pipeline, format!("${calculation}.crc"), Type::Bits(32));
    let extern_call = |function, args| StmtKind::Extern(ExternCall { function, args, span });
    let mut kinds = Vec::new();
    for (index, word) in (0u32..).zip(words) {
        let index = Expr::constant(index, Type::Bits(32), span);
        kinds.push(extern_call(ExternFn::RegisterRead(register), vec![ExternArg::Out(word), ExternArg::In(index)]));
    }
    let [first, second] = words.map(|slot| ExternArg::In(Expr::slot(slot, word, span)));
    let args = vec![ExternArg::Out(crc), ExternArg::List(data.clone()), first, second];
    kinds.push(extern_call(ExternFn::CustomCrc(algorithm), args));
    let ty = pipeline[*result].ty;
    let wide = Type::Bits(ty.width().max(base.ty.width()).max(max.ty.width()).max(64));
    let cast = |e: Expr, ty| Expr { kind: ExprKind::Cast(Box::new(e)), ty, span };
    let binary = |op, a, b| Expr { kind: ExprKind::Binary(op, Box::new(a), Box::new(b)), ty: wide, span };
    // The remainder of a division by zero is zero.
    let within = binary(BinaryOp::Mod, cast(Expr::slot(crc, Type::Bits(32), span), wide), cast(max.clone(), wide));
    let sum = binary(BinaryOp::Add, cast(base.clone(), wide), within);
    kinds.push(StmtKind::Assign(*result, cast(sum, ty)));
    Some(kinds.into_iter().map(|kind| Stmt { kind, span }).collect())
}

fn local(pipeline: &mut Pipeline, name: String, ty: Type) -> SlotId {
    pipeline.slots.push(Slot { name, ty, kind: SlotKind::Local, span: Span::none() });
    SlotId(pipeline.slots.len() as u32 - 1)
}

/// The register of this name.
fn register(pipeline: &mut Pipeline, name: &str) -> ExternId {
    if let Some(there) = pipeline.externs.iter().position(|object| object.name == name) {
        return ExternId(there as u32);
    }
    pipeline.externs.push(ExternInstance {
        name: name.into(),
        id: None,
        kind: ExternKind::Register { size: 2, ty: Type::Bits(64) },
        concurrent: true,
        initial: BigUint::ZERO,
        span: Span::none(),
    });
    ExternId(pipeline.externs.len() as u32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"123456789";

    #[test]
    fn parameters_give_the_crcs_of_the_catalogue() {
        let of = |algorithm: HashAlgorithm, numbers: [u32; 3], reflected: bool| {
            let [polynomial, initial, final_xor] = numbers;
            let (data_reflected, remainder_reflected) = (reflected, reflected);
            let parameters = CrcParameters { polynomial, initial, final_xor, data_reflected, remainder_reflected };
            crc(algorithm, parameters.words(algorithm), DATA)
        };
        // From the catalogue of parametrised CRC algorithms: ARC, KERMIT, IBM-3740, XMODEM, GENIBUS.
        let narrow = HashAlgorithm::Crc16Custom;
        assert_eq!(of(narrow, [0x8005, 0, 0], true), 0xbb3d);
        assert_eq!(of(narrow, [0x1021, 0, 0], true), 0x2189);
        assert_eq!(of(narrow, [0x1021, 0xffff, 0], false), 0x29b1);
        assert_eq!(of(narrow, [0x1021, 0, 0], false), 0x31c3);
        assert_eq!(of(narrow, [0x1021, 0xffff, 0xffff], false), 0xd64e);
        // ISO-HDLC, ISCSI, BZIP2, MPEG-2.
        let wide = HashAlgorithm::Crc32Custom;
        assert_eq!(of(wide, [0x04c1_1db7, !0, !0], true), 0xcbf4_3926);
        assert_eq!(of(wide, [0x1edc_6f41, !0, !0], true), 0xe306_9283);
        assert_eq!(of(wide, [0x04c1_1db7, !0, !0], false), 0xfc89_1918);
        assert_eq!(of(wide, [0x04c1_1db7, !0, 0], false), 0x0376_e6e7);
    }

    #[test]
    fn a_register_says_which_calculation_it_is_of() {
        let name = register_name(HashAlgorithm::Crc16Custom, &calculation_name(3));
        assert_eq!(calculation_of(&name), Some((HashAlgorithm::Crc16Custom, "calc_2")));
        assert_eq!(calculation_of("ingress.counts"), None);
    }
}
