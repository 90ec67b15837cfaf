//! Hashes and checksums. Fields of headers that are invalid are left out of what they are computed over.

use hopwright_ir::{BinaryOp, Expr, ExprKind, ExternArg, ExternFn, HashAlgorithm, HeaderId, Span, StmtKind, Type};

use crate::choice::Choice;
use crate::format::Operand;
use crate::lvalue::Lvalue;
use crate::number::{binary, hexadecimal_bits, resize};
use crate::operand::texts;
use crate::{Reader, Result, error};

/// The most headers in a calculation whose validity is only known at run time.
const MAX_HEADERS: usize = 6;

/// What a calculation is computed over.
#[derive(Debug)]
pub(crate) struct Input {
    /// Values in order, each with the header that must be valid for it to count.
    parts: Vec<(Expr, Option<HeaderId>)>,
    /// Whether the payload follows.
    pub(crate) payload: bool,
}

impl Reader<'_> {
    /// The algorithm with this name.
    pub(crate) fn algorithm(&self, name: &str, path: &str) -> Result<HashAlgorithm> {
        Ok(match name {
            "crc16" => HashAlgorithm::Crc16,
            "crc32" => HashAlgorithm::Crc32,
            "crc16_custom" => HashAlgorithm::Crc16Custom,
            "crc32_custom" => HashAlgorithm::Crc32Custom,
            "csum16" | "cksum16" => HashAlgorithm::Csum16,
            "xor16" => HashAlgorithm::Xor16,
            "identity" => HashAlgorithm::Identity,
            // p4c writes this for `HashAlgorithm.random`.
            "random" | "xxh64" => HashAlgorithm::Random,
            other => return error(path, format!("the algorithm `{other}` is not supported")),
        })
    }

    /// The algorithm and input of a calculation.
    pub(crate) fn calculation(&self, name: &str, path: &str) -> Result<(HashAlgorithm, Input)> {
        let Some(at) = self.json.calculations.iter().position(|c| c.name == name) else {
            return error(path, format!("no calculation `{name}`"));
        };
        let calculation = &self.json.calculations[at];
        let path = format!("calculations[{at}]");
        let algorithm = self.algorithm(&calculation.algo, &format!("{path}.algo"))?;
        let mut input = Input { parts: Vec::new(), payload: false };
        for (index, element) in calculation.input.iter().enumerate() {
            let path = format!("{path}.input[{index}]");
            if input.payload {
                return error(&path, "nothing can follow the payload");
            }
            match element.kind.as_str() {
                "payload" => input.payload = true,
                _ => input.parts.extend(self.input_parts(element, &path)?),
            }
        }
        Ok((algorithm, input))
    }

    /// The values of an element of a list of fields.
    pub(crate) fn element(&self, element: &Operand, path: &str) -> Result<Vec<Expr>> {
        Ok(self.input_parts(element, path)?.into_iter().map(|(value, _)| value).collect())
    }

    fn input_parts(&self, element: &Operand, path: &str) -> Result<Vec<(Expr, Option<HeaderId>)>> {
        let value_path = format!("{path}.value");
        match element.kind.as_str() {
            "field" => {
                let [header, field] = texts(&element.value, &value_path)?;
                let field = self.field((header, field), &value_path)?;
                // The validity of a header is a number itself.
                let of = field.header.filter(|id| self.p[*id].valid != field.slot);
                Ok(vec![(self.input_value(field), of)])
            }
            "hexstr" => {
                let Some(width @ 1..=65536) = element.bitwidth else {
                    return error(&format!("{path}.bitwidth"), "a constant needs a width of 1 to 65536 bits");
                };
                let text = element.value.as_str().unwrap_or_default();
                Ok(vec![(crate::constant(hexadecimal_bits(text, width, &value_path)?, width), None)])
            }
            "header" => {
                let name = element.value.as_str().unwrap_or_default();
                let fields = self.fields_of(name);
                match fields.is_empty() {
                    true => error(&value_path, format!("no header {}", element.value)),
                    false => Ok(fields.into_iter().map(|field| (self.input_value(field), field.header)).collect()),
                }
            }
            other => error(&format!("{path}.type"), format!("values of type `{other}` are not known here")),
        }
    }

    fn input_value(&self, field: crate::state::Field) -> Expr {
        match field.ty {
            Type::Varbit(_) => self.slot_expr(field.slot),
            ty => resize(self.read_field(field), ty.width()),
        }
    }

    /// Calls `f` for the values that count, behind tests of the headers that they are parts of.
    pub(crate) fn with_valid_fields(
        &mut self,
        input: &Input,
        path: &str,
        f: &mut dyn FnMut(&mut Self, Vec<Expr>),
    ) -> Result<()> {
        self.with_valid(input, &[], path, f)
    }

    /// The same; the headers that are known to be valid are not tested.
    fn with_valid(
        &mut self,
        input: &Input,
        known: &[HeaderId],
        path: &str,
        f: &mut dyn FnMut(&mut Self, Vec<Expr>),
    ) -> Result<()> {
        let mut unknown: Vec<HeaderId> = Vec::new();
        for header in input.parts.iter().filter_map(|(_, header)| *header) {
            if !known.contains(&header) && !unknown.contains(&header) {
                unknown.push(header);
            }
        }
        if unknown.len() > MAX_HEADERS {
            return error(path, format!("a calculation over more than {MAX_HEADERS} headers that may be invalid"));
        }
        let mut invalid = Vec::new();
        self.split(input, &unknown, &mut invalid, f)
    }

    fn split(
        &mut self,
        input: &Input,
        unknown: &[HeaderId],
        invalid: &mut Vec<HeaderId>,
        f: &mut dyn FnMut(&mut Self, Vec<Expr>),
    ) -> Result<()> {
        let Some((header, rest)) = unknown.split_first() else {
            let counts = |of: &Option<HeaderId>| of.is_none_or(|header| !invalid.contains(&header));
            let values = input.parts.iter().filter(|(_, of)| counts(of)).map(|(value, _)| value.clone());
            f(self, values.collect());
            return Ok(());
        };
        let cond = self.slot_expr(self.p[*header].valid);
        let then = self.nested(|this| this.split(input, rest, invalid, f))?;
        invalid.push(*header);
        let otherwise = self.nested(|this| this.split(input, rest, invalid, f));
        invalid.pop();
        let otherwise = otherwise?;
        self.emit(StmtKind::If { cond, then, otherwise });
        Ok(())
    }

    /// Reads the checksums that parsers verify and deparsers update.
    pub(crate) fn read_checksums(&mut self) -> Result<()> {
        self.p.verify_checksum.body = self.nested(|this| this.checksums(true))?;
        self.p.compute_checksum.body = self.nested(|this| this.checksums(false))?;
        Ok(())
    }

    fn checksums(&mut self, verify: bool) -> Result<()> {
        let json = self.json;
        for (at, checksum) in json.checksums.iter().enumerate() {
            let path = format!("checksums[{at}]");
            if checksum.kind != "generic" {
                return error(&format!("{path}.type"), format!("expected `generic`, found `{}`", checksum.kind));
            }
            if !(if verify { checksum.verify } else { checksum.update }) {
                continue;
            }
            let target_path = format!("{path}.target");
            let target = self.field_named(&checksum.target, &target_path)?;
            if !matches!(target.ty, Type::Bits(_)) {
                return error(&target_path, "expected a field that is no signed number");
            }
            let (algorithm, input) = self.calculation(&checksum.calculation, &format!("{path}.calculation"))?;
            let mut condition = Expr::boolean(true, Span::none());
            if let Some(value) = &checksum.if_cond {
                condition = self.condition(value, &format!("{path}.if_cond"))?;
            }
            if let Some(header) = target.header.filter(|_| verify) {
                // A checksum in a header that is not there is right.
                let valid = self.slot_expr(self.p[header].valid);
                condition = and(condition, valid);
            }
            let mut known = Vec::new();
            valid_headers(self, &condition, &mut known);
            let payload = input.payload;
            let plain = condition.clone();
            let body = self.nested(|this| {
                let tested = this.tests_headers(&input, &known);
                let inside = if tested { Expr::boolean(true, Span::none()) } else { plain.clone() };
                match verify {
                    true => {
                        let value = ExternArg::In(this.read_field(target));
                        this.with_valid(&input, &known, &path, &mut |this, data| {
                            let args = vec![ExternArg::In(inside.clone()), ExternArg::List(data), value.clone()];
                            this.call(ExternFn::VerifyChecksum { algorithm, payload }, args);
                        })
                    }
                    false => this.through_slot(&Lvalue::Field(Choice::only(target)), None, &path, |this, slot| {
                        this.with_valid(&input, &known, &path, &mut |this, data| {
                            let args =
                                vec![ExternArg::In(inside.clone()), ExternArg::List(data), ExternArg::InOut(slot)];
                            this.call(ExternFn::UpdateChecksum { algorithm, payload }, args);
                        })
                    }),
                }
            })?;
            match self.tests_headers(&input, &known) {
                true => self.emit(StmtKind::If { cond: condition, then: body, otherwise: Vec::new() }),
                false => self.block.extend(body),
            }
        }
        Ok(())
    }

    /// Whether a calculation must test headers.
    fn tests_headers(&self, input: &Input, known: &[HeaderId]) -> bool {
        input.parts.iter().any(|(_, header)| header.is_some_and(|header| !known.contains(&header)))
    }
}

fn and(a: Expr, b: Expr) -> Expr {
    match a.as_const() {
        Some(value) if *value != num_bigint::BigUint::ZERO => b,
        _ => binary(BinaryOp::LogicalAnd, a, b, Type::Bool),
    }
}

/// The headers that are valid if a condition holds.
fn valid_headers(reader: &Reader<'_>, condition: &Expr, found: &mut Vec<HeaderId>) {
    match &condition.kind {
        ExprKind::Binary(BinaryOp::LogicalAnd, a, b) => {
            valid_headers(reader, a, found);
            valid_headers(reader, b, found);
        }
        ExprKind::Slot(slot) => {
            if let hopwright_ir::SlotKind::Valid(header) = reader.p[*slot].kind {
                found.push(header);
            }
        }
        ExprKind::Binary(BinaryOp::Eq, a, b) => {
            // `valid == 1`
            for (value, other) in [(a, b), (b, a)] {
                if other.as_const().is_some_and(|c| *c == num_bigint::BigUint::from(1u32))
                    && let ExprKind::Cast(inner) = &value.kind
                {
                    valid_headers(reader, inner, found);
                }
            }
        }
        ExprKind::Cast(inner) if inner.ty == Type::Bool => valid_headers(reader, inner, found),
        _ => {}
    }
}
