//! `Hash` objects. CRCs of any polynomial and the exclusive or of words, which the IR lacks, are expressions of the data's bits.
//!
//! A CRC of data of a fixed width is linear: each bit of the result is the parity of some bits of the data, and a constant.
//!
//! [`hopwright_ir::hash_object`] says what they compute. A control plane may have changed that ([`Configuration`]); hashes that are used in one
//! place are described for it ([`HashObject`]).

use hopwright_ir::hash_object::{CRC8, CRC16, CRC32, CRC64, Configuration, Crc, Field, Function, HashObject, Part};
use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternArg, ExternFn, HashAlgorithm, SlotId, Type, bits};
use hopwright_opt::fold;
use hopwright_sema::hir;
use hopwright_source::Span;
use num_bigint::BigUint;
use num_traits::{One, ToPrimitive, Zero};

use super::externs::object_of;
use crate::externs::Arguments;
use crate::value::{Value, binary};
use crate::{Lowering, Reported, Result};

/// A use of a hash.
#[derive(Clone, Copy)]
struct HashUse {
    function: Function,
    /// Bits of the result.
    width: u32,
    /// The highest and the lowest of them that the program uses.
    used: (u32, u32),
    span: Span,
}

/// Some bits of a number.
fn part(of: &Expr, hi: u32, lo: u32) -> Expr {
    if lo == 0 && hi + 1 == of.ty.width() {
        return of.clone();
    }
    let kind = ExprKind::Slice { arg: Box::new(of.clone()), hi, lo };
    Expr { kind, ty: Type::Bits(hi + 1 - lo), span: of.span }
}

impl Lowering<'_> {
    /// `get` of a `Hash` object.
    pub(super) fn tofino_hash(
        &mut self,
        object: hir::ObjectId,
        call: &hir::Call,
        ty: Option<&hir::Type>,
    ) -> Result<Option<Value>> {
        let span = call.span;
        // Another call may have this one among its arguments.
        let used = self.hash_slice.take().filter(|(of, _)| *of == span).map(|(_, bits)| bits);
        let hash = &self.program[object];
        let result = ty.or(hash.type_args.first()).ok_or(Reported)?;
        let Some(Type::Bits(width)) = self.scalar_type(result) else {
            return Err(self.unsupported(span, "a hash that is no number"));
        };
        let declared = self.hash_function(hash)?;
        let data = Arguments::new(self, call)?.at(0)?;
        let value = self.value(data)?;
        let mut fields = Vec::new();
        self.flatten(&value, data.span, &mut fields)?;
        if fields.iter().all(|field| field.ty.width() == 0) {
            return Err(self.unsupported(span, "a hash of nothing"));
        }
        let used = used.unwrap_or((width.saturating_sub(1), 0));
        self.describe(hash, data, &fields, HashUse { function: declared, width, used, span });
        let configuration = self.hashes.get(&hash.name).cloned().unwrap_or_default();
        let fields = match &configuration.parts {
            Some(parts) => self.configured_data(parts, fields, span)?,
            None => {
                self.symmetric_data(hash, data, &mut fields)?;
                fields
            }
        };
        let function = configuration.function.unwrap_or(declared);
        let whole = self.configured(&configuration, function, fields, HashUse { function, width, used, span })?;
        Ok(Some(Value::Scalar(whole)))
    }

    /// The result of a hash with its seed, and rotated.
    fn configured(
        &mut self,
        configuration: &Configuration,
        function: Function,
        fields: Vec<Expr>,
        HashUse { width, used: (high, low), span, .. }: HashUse,
    ) -> Result<Expr> {
        let (ty, count) = (Type::Bits(width), fields.iter().map(|field| field.ty.width()).sum::<u32>());
        let mut whole = match count {
            0 => Expr::constant(0u32, ty, span),
            _ => self.function_of(function, fields, width, span)?,
        };
        if let Some(seed) = configuration.seed {
            let zeros = if count == 0 { BigUint::ZERO } else { function.of(&BigUint::ZERO, count, width) };
            let seed = bits::truncate(zeros ^ BigUint::from(seed), width);
            whole = binary(BinaryOp::Xor, whole, Expr::constant(seed, ty, span), ty, span);
        }
        let by = (configuration.rotate % u64::from(high - low + 1)) as u32;
        if by == 0 {
            return Ok(whole);
        }
        let whole = self.freeze(whole);
        let parts = [(width, high + 1), (high + 1 - by, low), (high + 1, high + 1 - by), (low, 0)];
        let parts = parts.into_iter().filter(|(above, from)| above > from);
        let parts = parts.map(|(above, from)| part(&whole, above - 1, from));
        let joined = parts.reduce(|above, below| {
            let ty = Type::Bits(above.ty.width() + below.ty.width());
            binary(BinaryOp::Concat, above, below, ty, span)
        });
        Ok(joined.unwrap_or(whole))
    }

    fn function_of(&mut self, function: Function, mut fields: Vec<Expr>, width: u32, span: Span) -> Result<Expr> {
        let (hashed, repeats) = match function {
            Function::Identity => (self.joined_fields(fields, span)?, false),
            Function::Random => (self.ir_hash(HashAlgorithm::Random, width.min(64), fields, span), false),
            Function::Xor(16) => (self.ir_hash(HashAlgorithm::Xor16, width.min(16), fields, span), false),
            Function::Xor(word) => {
                let data = self.joined_fields(fields, span)?;
                (self.xor_of_words(word, data, span), false)
            }
            Function::Crc(crc) => match crc.algorithm() {
                Some(algorithm) => {
                    fill_up(&mut fields, span);
                    (self.ir_hash(algorithm, width.min(crc.width), fields, span), crc.extended)
                }
                None => {
                    let data = self.joined_fields(fields, span)?;
                    (self.crc(crc, data, span), crc.extended)
                }
            },
        };
        let whole = if repeats { self.repeated(hashed, width, span) } else { hashed };
        self.cast(whole, Type::Bits(width), span)
    }

    /// The data of a hash that a control plane has configured.
    fn configured_data(&mut self, parts: &[Part], fields: Vec<Expr>, span: Span) -> Result<Vec<Expr>> {
        let mut numbers = Vec::with_capacity(fields.len());
        for field in fields {
            let ty = Type::Bits(field.ty.width());
            let number = self.cast(field, ty, span)?;
            numbers.push(self.freeze(number));
        }
        let wrong = |it: &Part| numbers.get(it.field).is_none_or(|number| it.low + it.width > number.ty.width());
        if parts.iter().any(|it| wrong(it) || it.width == 0) {
            return Err(self.unsupported(span, "such a configuration of this hash"));
        }
        let value = |it: Part| part(&numbers[it.field], it.low + it.width - 1, it.low);
        let sum = |(it, with): (Part, Option<Part>)| match with.filter(|with| with.width == it.width) {
            Some(with) => binary(BinaryOp::Xor, value(it), value(with), Type::Bits(it.width), span),
            None => value(it),
        };
        Ok(Configuration::sorted(parts).into_iter().map(sum).collect())
    }

    /// Keeps the description of a hash, unless it is used in several places: then there is none.
    fn describe(&mut self, hash: &hir::Object, data: &hir::Expr, fields: &[Expr], at: HashUse) {
        let HashUse { function, width, used, span } = at;
        let mut names = Vec::new();
        self.program.scalar_names(data, &mut names);
        names.resize(fields.len(), String::new());
        let field = |(name, field): (String, &Expr)| {
            let constant = fold::folded(field.clone()).as_const().cloned();
            Field { name, width: field.ty.width(), constant }
        };
        let fields: Vec<Field> = names.into_iter().zip(fields).map(field).collect();
        let symmetric = self.symmetric_pairs(hash, &fields);
        let object = HashObject { name: hash.name.clone(), fields, symmetric, function, width, used };
        match self.described_hashes.get_mut(&hash.name) {
            Some((place, described)) if *place != span => *described = None,
            Some(_) => {}
            None => drop(self.described_hashes.insert(hash.name.clone(), (span, Some(object)))),
        }
    }

    fn hash_function(&mut self, hash: &hir::Object) -> Result<Function> {
        let name = hash.args.first().and_then(|e| self.member_name(e)).unwrap_or_default();
        let polynomial = hash.args.get(1).and_then(object_of).map(|id| &self.program[id]);
        Ok(match (name, polynomial) {
            ("IDENTITY", _) => Function::Identity,
            ("RANDOM", _) => Function::Random,
            ("CRC8", _) => Function::Crc(CRC8),
            ("CRC16", _) => Function::Crc(CRC16),
            ("CRC32", _) => Function::Crc(CRC32),
            ("CRC64", _) => Function::Crc(CRC64),
            ("XOR8", _) => Function::Xor(8),
            ("XOR16", _) => Function::Xor(16),
            ("XOR32", _) => Function::Xor(32),
            ("CUSTOM", Some(polynomial)) => Function::Crc(self.crc_of(polynomial)?),
            _ => {
                let name = name.to_string();
                return Err(self.unsupported(hash.span, format!("the hash algorithm {name}")));
            }
        })
    }

    /// The IR's algorithm of an action selector's hash, if it has it.
    pub(super) fn algorithm_of(&self, hash: &hir::Object) -> Option<HashAlgorithm> {
        Some(match self.member_name(hash.args.first()?)? {
            "CRC32" => HashAlgorithm::Crc32,
            "CRC16" => HashAlgorithm::Crc16,
            "XOR16" => HashAlgorithm::Xor16,
            "RANDOM" => HashAlgorithm::Random,
            "IDENTITY" => HashAlgorithm::Identity,
            _ => return None,
        })
    }

    fn ir_hash(&mut self, algorithm: HashAlgorithm, width: u32, fields: Vec<Expr>, span: Span) -> Expr {
        let slot = self.temp(Type::Bits(width), span);
        let all = BigUint::one() << width;
        let args = vec![
            ExternArg::Out(slot),
            ExternArg::In(Expr::constant(0u32, Type::Bits(width), span)),
            ExternArg::List(fields),
            ExternArg::In(Expr::constant(all, Type::Bits(width + 1), span)),
        ];
        self.extern_call(ExternFn::Hash(algorithm), args, span);
        self.slot_expr(slot, span)
    }

    fn joined_fields(&mut self, fields: Vec<Expr>, span: Span) -> Result<Expr> {
        self.joined(&Value::Tree(fields.into_iter().map(Value::Scalar).collect()), span)
    }

    /// A number whose bits are repeated up to a width.
    fn repeated(&mut self, number: Expr, width: u32, span: Span) -> Expr {
        let own = number.ty.width();
        if width <= own {
            return number;
        }
        let number = self.freeze(number);
        let mut whole = number.clone();
        while whole.ty.width() < width {
            let missing = (width - whole.ty.width()).min(own);
            let kind = ExprKind::Slice { arg: Box::new(number.clone()), hi: missing - 1, lo: 0 };
            let part = match missing == own {
                true => number.clone(),
                false => Expr { kind, ty: Type::Bits(missing), span },
            };
            let ty = Type::Bits(whole.ty.width() + missing);
            whole = binary(BinaryOp::Concat, part, whole, ty, span);
        }
        whole
    }

    /// The CRC of a `CRCPolynomial` object: coefficients, whether it is reflected, initial value and final exclusive or.
    fn crc_of(&mut self, polynomial: &hir::Object) -> Result<Crc> {
        let width = polynomial.type_args.first().and_then(|ty| self.scalar_type(ty)).map_or(0, |ty| ty.width());
        if !(1..=64).contains(&width) {
            return Err(self.unsupported(polynomial.span, "a CRC of this width"));
        }
        // `msb` changes nothing on the device either.
        let [coefficients, reflected, _msb, extended, initial, xor] = polynomial.args.as_slice() else {
            return Err(Reported);
        };
        let mut number = |e| Ok(self.constant(e)?.to_u64().unwrap_or(0));
        let (coefficients, initial, xor) = (number(coefficients)?, number(initial)?, number(xor)?);
        let mut flag = |e| Ok(!self.constant(e)?.is_zero());
        let (reflected, extended) = (flag(reflected)?, flag(extended)?);
        Ok(Crc { width, polynomial: coefficients, initial, xor, reflected, extended })
    }

    /// The CRC of data, as a number of the CRC's width.
    fn crc(&mut self, crc: Crc, data: Expr, span: Span) -> Expr {
        let bits = data.ty.width();
        let bytes = bits.div_ceil(8);
        let nothing = vec![0u8; bytes as usize];
        let constant = crc.of(&nothing);
        let mut masks = vec![BigUint::zero(); crc.width as usize];
        for bit in 0..bits {
            let mut one = nothing.clone();
            one[(bytes - 1 - bit / 8) as usize] |= 1 << (bit % 8);
            let effect = crc.of(&one) ^ constant;
            for (to, mask) in masks.iter_mut().enumerate() {
                if effect >> to & 1 == 1 {
                    *mask |= BigUint::one() << bit;
                }
            }
        }
        let data = self.freeze(data);
        let mut whole: Option<Expr> = None;
        for (to, mask) in masks.into_iter().enumerate().rev() {
            let bit = Expr::constant((constant >> to & 1) as u32, Type::Bits(1), span);
            let bit = match mask.is_zero() {
                true => bit,
                false => {
                    let parity = self.parity(&data, mask, span);
                    binary(BinaryOp::Xor, parity, bit, Type::Bits(1), span)
                }
            };
            whole = Some(match whole {
                Some(high) => {
                    let ty = Type::Bits(high.ty.width() + 1);
                    binary(BinaryOp::Concat, high, bit, ty, span)
                }
                None => bit,
            });
        }
        let whole = whole.unwrap_or_else(|| Expr::constant(0u32, Type::Bits(1), span));
        self.freeze(whole)
    }

    /// Whether an odd number of the masked bits are set.
    fn parity(&mut self, data: &Expr, mask: BigUint, span: Span) -> Expr {
        let ones: SlotId = self.temp(Type::Bits(16), span);
        let masked = binary(BinaryOp::And, data.clone(), Expr::constant(mask, data.ty, span), data.ty, span);
        self.extern_call(ExternFn::PopulationCount, vec![ExternArg::In(masked), ExternArg::Out(ones)], span);
        let ones = Box::new(self.slot_expr(ones, span));
        Expr { kind: ExprKind::Slice { arg: ones, hi: 0, lo: 0 }, ty: Type::Bits(1), span }
    }

    /// The exclusive or of words of this many bits; the last one is filled up with zeros at its end.
    fn xor_of_words(&mut self, word: u32, data: Expr, span: Span) -> Expr {
        let data = self.freeze(data);
        let bits = data.ty.width();
        let ty = Type::Bits(word);
        let mut sum = Expr::constant(0u32, ty, span);
        let mut above = bits;
        while above > 0 {
            let below = above.saturating_sub(word);
            let kind = ExprKind::Slice { arg: Box::new(data.clone()), hi: above - 1, lo: below };
            let mut part = Expr { kind, ty: Type::Bits(above - below), span };
            let missing = word - (above - below);
            if missing > 0 {
                let zeros = Expr::constant(0u32, Type::Bits(missing), span);
                part = binary(BinaryOp::Concat, part, zeros, ty, span);
            }
            sum = binary(BinaryOp::Xor, sum, part, ty, span);
            above = below;
        }
        self.freeze(sum)
    }
}

/// Fills data up to whole bytes with zeros at their beginning.
fn fill_up(fields: &mut Vec<Expr>, span: Span) {
    let bits: u32 = fields.iter().map(|field| field.ty.width()).sum();
    let missing = bits.next_multiple_of(8) - bits;
    if missing > 0 {
        fields.insert(0, Expr::constant(0u32, Type::Bits(missing), span));
    }
}
