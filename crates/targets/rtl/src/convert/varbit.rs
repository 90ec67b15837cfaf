//! Values of varbit fields, which are places and numbers of bytes of the packet as it was received.

use hopwright_ir::{Expr, HashAlgorithm, Span, Type};

use super::{Convert, Path};
use crate::hir::{Binary, Value};
use crate::refusal::Capability;

/// The most bytes of a varbit field whose value is compared or hashed.
const MAX_BYTES: u32 = 64;

impl Convert<'_> {
    /// The bytes of a varbit value of a type, zeros behind them up to the most that it can have, and their number, 16 bits. None if these are
    /// too many.
    pub(super) fn bytes_of(&mut self, region: Value, most_bits: u32, span: Span) -> Option<(Vec<Value>, Value)> {
        let most = most_bits.div_ceil(8);
        if most > MAX_BYTES {
            let message = format!("{most_bits} bits are compared or hashed, of at most {}", 8 * MAX_BYTES);
            self.refuse(Capability::Varbit, span, message);
            return None;
        }
        let (offset, length) = (self.b.slice(region, 31, 16), self.b.slice(region, 15, 0));
        let none = self.b.constant(0u32, 8);
        let bytes = (0..most).map(|i| {
            let (byte, number) = (self.b.window(offset, 8 * i, 8), self.b.constant(i, 16));
            let within = self.b.binary(Binary::Less, number, length);
            self.b.mux(within, byte, none)
        });
        let bytes = bytes.collect();
        Some((bytes, length))
    }

    /// Whether two varbit values of a type are equal: as many bits, and the same.
    pub(super) fn equal_varbits(&mut self, a: Value, b: Value, ty: Type, span: Span) -> Value {
        let most = ty.width();
        let (Some((a, of_a)), Some((b, of_b))) = (self.bytes_of(a, most, span), self.bytes_of(b, most, span)) else {
            return self.b.boolean(false);
        };
        let (a, b) = (self.b.concat(a), self.b.concat(b));
        let (same, as_long) = (self.b.eq(a, b), self.b.eq(of_a, of_b));
        self.b.and(same, as_long)
    }

    /// A hash over data with a varbit value: that for its length, of those for all lengths.
    pub(super) fn hash_of_varbit(
        &mut self,
        algorithm: HashAlgorithm,
        data: &[Expr],
        width: u32,
        span: Span,
        path: &Path,
    ) -> Option<Value> {
        let at = data.iter().position(|e| matches!(e.ty, Type::Varbit(_)))?;
        if data[at + 1..].iter().any(|e| matches!(e.ty, Type::Varbit(_))) {
            self.refuse(Capability::Varbit, span, "two varbits are part of the data");
            return None;
        }
        let region = self.expr(&data[at], path);
        let (bytes, length) = self.bytes_of(region, data[at].ty.width(), span)?;
        let [before, behind] =
            [&data[..at], &data[at + 1..]].map(|part| part.iter().map(|e| self.expr(e, path)).collect::<Vec<_>>());
        let hash_of = |convert: &mut Self, bytes: &[Value]| {
            let mut parts = [&before[..], bytes, &behind[..]].concat();
            let bits: u32 = parts.iter().map(|part| convert.b.width(*part)).sum();
            parts.push(convert.b.constant(0u32, bits.next_multiple_of(8) - bits));
            let data = convert.b.concat(parts);
            convert.b.hash(algorithm, data, width)
        };
        // Zeros at the end of a sum make no difference.
        if behind.is_empty() && matches!(algorithm, HashAlgorithm::Csum16 | HashAlgorithm::Xor16) {
            return Some(hash_of(self, &bytes));
        }
        let mut cases = Vec::new();
        for count in 0..=bytes.len() {
            let here = self.b.eq_const(length, count);
            cases.push((here, hash_of(self, &bytes[..count])));
        }
        Some(self.b.one_hot(cases, width))
    }
}
