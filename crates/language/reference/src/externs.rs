//! Extern functions and methods, as the include files of the architectures describe them.

use aes::cipher::{BlockEncrypt, KeyInit};
use hopwright_sema::hir::{Call, Expr, ExprKind, ObjectId, Type, TypedProgram};
use hopwright_source::Span;
use num_bigint::{BigInt, BigUint};

use crate::bits::Bits;
use crate::call::Argument;
use crate::checksum::{self, Algorithm};
use crate::machine::{Digest, Kept, Machine, Result, Stop};
use crate::meter::Color;
use crate::number;
use crate::objects::{Cells, is_tofino, member_name};
use crate::place;
use crate::value::{self, Value};

/// The `egress_spec` of packets that v1model drops.
pub(crate) const DROP_PORT: u32 = 511;

/// `PSA_PORT_RECIRCULATE`.
pub(crate) const RECIRCULATE: u64 = 0xffff_fffa;

/// Extern functions that ask the switch to do something with the packet.
const REQUESTS: &[&str] = &[
    "clone",
    "clone3",
    "clone_preserving_field_list",
    "resubmit",
    "resubmit_preserving_field_list",
    "recirculate",
    "recirculate_preserving_field_list",
    "truncate",
    "send_to_port",
    "drop_packet",
    "mirror_packet",
];

/// The other extern functions that are supported.
const FUNCTIONS: &[&str] = &[
    "verify",
    "static_assert",
    "mark_to_drop",
    "hash",
    "random",
    "digest",
    "assert",
    "assume",
    "log_msg",
    "verify_checksum",
    "verify_checksum_with_payload",
    "update_checksum",
    "update_checksum_with_payload",
    "adjust_checksum",
    "population_count",
    "count_leading_zeros",
    "parity",
    "reverse_bits",
    "psa_clone_i2e",
    "psa_clone_e2e",
    "psa_resubmit",
    "psa_normal",
    "psa_recirculate",
    "SelectByDirection",
    "add_entry",
    "allocate_flow_id",
    "set_entry_expire_time",
    "restart_expire_timer",
];

/// Whether an extern function is supported.
pub(crate) fn is_known(name: &str) -> bool {
    FUNCTIONS.contains(&name) || REQUESTS.contains(&name)
}

impl<'a> Machine<'a> {
    /// The bits of an argument's scalars.
    fn data(&self, arg: &Argument<'_>) -> Bits {
        data_of(self.program, arg)
    }

    /// A member of a struct, by name.
    fn member(&self, arg: &Argument<'_>, name: &str) -> Value {
        let Some(Expr { ty: Type::Struct(id), .. }) = arg.expr else { return Value::Nothing };
        let at = self.program[*id].fields.iter().position(|f| f.name == name);
        at.and_then(|at| arg.value.members().get(at)).cloned().unwrap_or(Value::Nothing)
    }

    fn algorithm(&self, arg: &Argument<'_>, span: Span) -> Result<Algorithm> {
        let name = arg.expr.and_then(|e| member_name(self.program, e));
        match name.and_then(|name| Algorithm::by_name(&name)) {
            Some(algorithm) => Ok(algorithm),
            None => self.fault("this hash algorithm is not supported", span),
        }
    }

    /// A function. Its `out` and `inout` arguments have their values afterwards.
    pub(crate) fn extern_function(&mut self, name: &str, call: &'a Call, args: &mut [Argument<'a>]) -> Result<Value> {
        let span = call.span;
        if is_tofino(self.program)
            && let Some(result) = self.tofino_function(name, call, args)
        {
            return result;
        }
        match (name, args) {
            ("static_assert", _) => return Ok(Value::Bool(true)),
            ("verify", [condition, error]) => {
                if !condition.value.truth() {
                    return Err(Stop::Reject(error.value.small() as usize));
                }
            }
            ("mark_to_drop", [standard]) => {
                if let Some(Expr { ty, .. }) = standard.expr {
                    self.mark_to_drop(ty, &mut standard.value);
                }
            }
            ("mark_to_drop", _) => {
                if let Some(var) = self.intrinsic {
                    let mut standard = self.var(var).clone();
                    self.mark_to_drop(&self.program[var].ty, &mut standard);
                    *self.var(var) = standard;
                }
            }
            ("hash", [result, algorithm, base, data, max]) => {
                let hash = self.algorithm(algorithm, span)?.of(self.data(data).bytes());
                let number = in_range(base.value.number(), hash, max.value.number());
                give(result, number);
            }
            ("random", [result, low, high]) => {
                let bounds = [low, high].map(|bound| bound.value.number().magnitude().clone());
                if let Some(number) = self.state.random.between(&bounds[0], &bounds[1]) {
                    give(result, number);
                }
            }
            ("digest", [receiver, data]) => {
                let receiver = receiver.value.small() as u32;
                let ty = call.type_args.first().or(data.expr.map(|e| &e.ty));
                let name = self.digest_name(ty, data, span);
                self.send_digest(receiver, name, data);
            }
            ("assert" | "assume", [condition]) => {
                if !condition.value.truth() {
                    return self.fault(format!("`{name}` failed"), span);
                }
            }
            ("log_msg", _) => {}
            ("verify_checksum" | "verify_checksum_with_payload", [condition, data, expected, algorithm]) => {
                let found = self.checksum(algorithm, data, name, span)?;
                let ty = expected.expr.map_or(Type::Bits(16), |e| e.ty.clone());
                let differs = number::fit(found.into(), &ty) != expected.value.number();
                self.packet.requests.checksum_error |= condition.value.truth() && differs;
            }
            ("update_checksum" | "update_checksum_with_payload", [condition, data, result, algorithm]) => {
                let found = self.checksum(algorithm, data, name, span)?;
                if condition.value.truth() {
                    give(result, found);
                }
            }
            ("adjust_checksum", [checksum, removed, added]) => {
                // RFC 1624, equation 3.
                let before = !(checksum.value.small() as u16);
                let without = checksum::sum_of_complements(self.data(removed).bytes());
                let sum = checksum::add(checksum::add(before, without), checksum::sum(self.data(added).bytes()));
                give(checksum, !sum);
            }
            ("population_count" | "count_leading_zeros" | "parity" | "reverse_bits", [number]) => {
                let result = of_bits(name, &self.data(number));
                let ty = number.expr.map_or(Type::InfInt, |e| e.ty.clone());
                return Ok(Value::Number(number::fit(result.into(), &ty)));
            }
            ("SelectByDirection", [direction, to_host, to_net]) => {
                let to_host_wanted = matches!(direction.value, Value::Member(0));
                return Ok(if to_host_wanted { to_host } else { to_net }.value.clone());
            }
            // Packets add no entries, and have no flows.
            ("add_entry", _) => return Ok(Value::Bool(false)),
            ("allocate_flow_id", _) => return Ok(Value::Number(BigInt::ZERO)),
            ("set_entry_expire_time" | "restart_expire_timer", _) => {}
            (_, args) if REQUESTS.contains(&name) => self.request(name, args)?,
            (_, args) if name.starts_with("psa_") => return Ok(Value::Bool(self.psa_function(name, args))),
            _ => return self.fault(format!("the function `{name}` is not supported"), span),
        }
        Ok(Value::Nothing)
    }

    /// What v1model's switch is to do with the packet behind ingress or egress.
    fn request(&mut self, name: &str, args: &[Argument<'a>]) -> Result<()> {
        match (name, args) {
            ("clone" | "clone_preserving_field_list" | "clone3", [kind, session, rest @ ..]) => {
                let kept = match (name, rest) {
                    ("clone3", [data]) => self.kept_of(data)?,
                    (_, [list]) => Kept::List(list.value.small() as u8),
                    _ => Kept::Nothing,
                };
                let request = Some((session.value.small() as u32, kept));
                let ingress = kind.expr.and_then(|e| member_name(self.program, e)).as_deref() == Some("I2E");
                if ingress {
                    self.packet.requests.clone_ingress = request;
                } else {
                    self.packet.requests.clone_egress = request;
                }
            }
            ("resubmit_preserving_field_list", [list]) => {
                self.packet.requests.resubmit = Some(Kept::List(list.value.small() as u8));
            }
            ("recirculate_preserving_field_list", [list]) => {
                self.packet.requests.recirculate = Some(Kept::List(list.value.small() as u8));
            }
            ("resubmit", [data]) => self.packet.requests.resubmit = Some(self.kept_of(data)?),
            ("recirculate", []) => self.packet.requests.recirculate = Some(Kept::Nothing),
            ("send_to_port", [port]) => self.packet.requests.sent = Some(port.value.small()),
            ("drop_packet", []) => self.packet.requests.sent = None,
            ("mirror_packet", [_, session]) => {
                self.packet.requests.clone_egress = Some((session.value.small() as u32, Kept::Nothing));
            }
            ("recirculate", [data]) => self.packet.requests.recirculate = Some(self.kept_of(data)?),
            ("truncate", [length]) => self.packet.requests.truncate = Some(length.value.small() as u32),
            _ => {}
        }
        Ok(())
    }

    /// What PSA's deparsers ask about a packet.
    fn psa_function(&self, name: &str, args: &[Argument<'_>]) -> bool {
        let is = |at: usize, member: &str| args.get(at).is_some_and(|arg| self.member(arg, member).truth());
        match name {
            "psa_clone_i2e" | "psa_clone_e2e" => is(0, "clone"),
            "psa_resubmit" => !is(0, "drop") && is(0, "resubmit"),
            "psa_normal" => !is(0, "drop") && !is(0, "resubmit"),
            _ => {
                let port = args.get(1).map(|arg| self.member(arg, "egress_port").small());
                !is(0, "drop") && port == Some(RECIRCULATE)
            }
        }
    }

    fn mark_to_drop(&self, ty: &Type, standard: &mut Value) {
        let Type::Struct(id) = ty else { return };
        for (field, value) in self.program[*id].fields.iter().zip(standard.members_mut()) {
            match field.name.as_str() {
                "egress_spec" => *value = Value::Number(DROP_PORT.into()),
                "mcast_grp" => *value = Value::Number(BigInt::ZERO),
                _ => {}
            }
        }
    }

    fn checksum(&self, algorithm: &Argument<'_>, data: &Argument<'_>, name: &str, span: Span) -> Result<BigUint> {
        let mut data = self.data(data);
        if name.ends_with("payload") {
            data.push_bytes(self.packet.payload());
        }
        Ok(self.algorithm(algorithm, span)?.of(data.bytes()))
    }

    /// Digests have the names of their types; those whose types have none have numbers.
    fn digest_name(&mut self, ty: Option<&Type>, data: &Argument<'_>, span: Span) -> String {
        match ty.or(data.expr.map(|e| &e.ty)) {
            Some(Type::Struct(id) | Type::Header(id) | Type::Union(id)) if self.program[*id].span != Span::none() => {
                self.program[*id].control_plane_name.clone()
            }
            _ => format!("digest_{}", self.state.nameless_digest(span)),
        }
    }

    fn send_digest(&mut self, receiver: u32, name: String, data: &Argument<'_>) {
        let Some(e) = data.expr else { return };
        let mut all = Vec::new();
        value::scalars(self.program, &e.ty, &data.value, &mut all);
        let bits = all.iter().map(|(ty, value)| match value {
            Value::Varbit(bits, _) => bits.clone(),
            value => value::scalar_bits(self.program, ty, value),
        });
        let data = bits.collect();
        self.packet.requests.digests.push(Digest { name, receiver, data });
    }

    /// The parts of the block's parameters in the data of a deprecated resubmit, recirculate or clone.
    fn kept_of(&mut self, data: &Argument<'a>) -> Result<Kept> {
        let mut places = Vec::new();
        if let Some(e) = data.expr {
            self.places_in(e, &mut places)?;
        }
        Ok(Kept::Places(places))
    }

    fn places_in(&mut self, e: &'a Expr, out: &mut Vec<place::Place>) -> Result<()> {
        match &e.kind {
            ExprKind::Aggregate { members, .. } => members.iter().try_for_each(|m| self.places_in(m, out)),
            _ if crate::parser::is_constant(e) => Ok(()),
            _ => {
                out.push(self.place(e)?);
                Ok(())
            }
        }
    }

    /// A method of an extern object.
    pub(crate) fn extern_method(
        &mut self,
        object: ObjectId,
        name: &str,
        call: &'a Call,
        args: &mut [Argument<'a>],
    ) -> Result<Value> {
        if is_tofino(self.program)
            && let Some(result) = self.tofino_method(object, name, call, args)
        {
            return result;
        }
        let data =
            |this: &Self, at: usize, args: &[Argument<'_>]| args.get(at).map(|a| this.data(a)).unwrap_or_default();
        let type_name = self.program[object].type_name.as_str();
        match (&mut self.state.objects[object.0 as usize], name, &mut *args) {
            (Cells::Hash(algorithm), "get_hash", args) => {
                let (algorithm, ty) = (*algorithm, self.program[object].type_args.first().unwrap_or(&Type::InfInt));
                let number = match args {
                    [base, list, max] => {
                        let hash = algorithm.of(self.data(list).bytes());
                        in_range(base.value.number(), hash, max.value.number())
                    }
                    args => algorithm.of(data(self, 0, args).bytes()).into(),
                };
                return Ok(Value::Number(number::fit(number, ty)));
            }
            (Cells::Random(low, high), "read", []) => {
                let (low, high) = (low.clone(), high.clone());
                let number = self.state.random.between(&low, &high).unwrap_or_default();
                return Ok(Value::Number(number.into()));
            }
            (Cells::Keys { keys, .. }, method, [slot, rest @ ..]) => {
                let key = keys.get(&slot.value.small()).copied();
                Self::cipher(type_name, method, key, rest);
            }
            (Cells::Stateless, "encrypt", [key, rest @ ..]) if type_name == "Aes128WithKey" => {
                let key = block(&key.value.number());
                Self::cipher("Aes128", "encrypt", Some(key), rest);
            }
            (Cells::Stateless, "get", args) if type_name == "Checksum16" => {
                let sum = Algorithm::Csum16.of(data(self, 0, args).bytes());
                return Ok(Value::Number(sum.into()));
            }
            (Cells::Stateless, "pack", [list]) if type_name == "Digest" => {
                // Tofino's control plane names the object.
                let name = match is_tofino(self.program) {
                    true => self.program[object].name.clone(),
                    false => self.digest_name(None, list, call.span),
                };
                self.send_digest(0, name, list);
            }
            (Cells::Stateless, method, args) if type_name == "InternetChecksum" => {
                let data = data(self, 0, args);
                return Ok(self.internet_checksum(object, method, args.first().map(|a| a.value.small()), &data));
            }
            (_, name, args) => match self.cell_method(object, name, args) {
                Some(result) => return Ok(result),
                None => return self.fault(format!("`{type_name}.{name}` is not supported"), call.span),
            },
        }
        Ok(Value::Nothing)
    }

    /// A method of a counter, meter or register; `None` if it is none. Cells out of range are left alone.
    fn cell_method(&mut self, object: ObjectId, name: &str, args: &mut [Argument<'a>]) -> Option<Value> {
        let (bytes, now_us) = (self.packet.length(), self.now_us);
        match (&mut self.state.objects[object.0 as usize], name, args) {
            (Cells::Counter { size, cells }, "count", [index, ..]) => {
                let index = index.value.small();
                if index < *size {
                    cells.entry(index).or_default().add(bytes);
                }
            }
            // The hit of the table has counted the packet.
            (Cells::DirectCounter, "count", _) => {}
            (Cells::Meter { size, bytes: by_bytes, cells }, "execute_meter" | "execute", [index, rest @ ..]) => {
                let index = index.value.small();
                let cost = if *by_bytes { bytes } else { 1 };
                let color = cells.get_mut(&index).map_or(Color::Green, |meter| meter.measure(now_us, cost));
                let exists = index < *size;
                match rest {
                    [result] if name == "execute_meter" => {
                        if exists {
                            give(result, color as u8);
                        }
                    }
                    _ => return Some(self.psa_color(color)),
                }
            }
            (Cells::DirectMeter { .. }, "read", [result]) => {
                give(result, self.color as u8);
            }
            (Cells::DirectMeter { .. }, "execute", _) => {
                return Some(self.psa_color(self.color));
            }
            (Cells::Register { size, initial, cells, .. }, "read", [result, index]) => {
                let index = index.value.small();
                if index < *size {
                    result.value = cells.get(&index).unwrap_or(initial).clone();
                }
            }
            (Cells::Register { size, initial, cells, ty }, "read", [index]) => {
                let index = index.value.small();
                if index < *size {
                    return Some(cells.get(&index).unwrap_or(initial).clone());
                }
                return Some(value::initial(self.program, ty));
            }
            (Cells::Register { size, cells, .. }, "write", [index, value]) => {
                let index = index.value.small();
                if index < *size {
                    cells.insert(index, value.value.clone());
                }
            }
            _ => return None,
        }
        Some(Value::Nothing)
    }

    /// PSA's `InternetChecksum`: its state is the one's complement sum of what was added, zero for each packet.
    fn internet_checksum(&mut self, object: ObjectId, method: &str, state: Option<u64>, data: &Bits) -> Value {
        let sum = self.packet.sums.entry(object).or_default();
        match method {
            "clear" => *sum = 0,
            "add" => *sum = checksum::add(*sum, checksum::sum(data.bytes())),
            "subtract" => *sum = checksum::add(*sum, checksum::sum_of_complements(data.bytes())),
            "set_state" => *sum = state.unwrap_or(0) as u16,
            "get" => return Value::Number((!*sum).into()),
            _ => return Value::Number((*sum).into()),
        }
        Value::Nothing
    }

    /// A colour as a member of PSA's or PNA's enum.
    fn psa_color(&self, color: Color) -> Value {
        let name = ["GREEN", "YELLOW", "RED"][color as usize];
        let colors =
            self.program.enums.iter().find(|e| matches!(e.name.as_str(), "PSA_MeterColor_t" | "PNA_MeterColor_t"));
        Value::Member(colors.and_then(|e| e.members.iter().position(|(n, _)| n == name)).unwrap_or(0))
    }

    /// AES-CMAC (RFC 4493) of one block, and AES. A key that was never set gives zero.
    fn cipher(type_name: &str, method: &str, key: Option<[u8; 16]>, args: &mut [Argument<'_>]) {
        let [input @ .., result] = args else { return };
        let input = input.first().map(|arg| block(&arg.value.number())).unwrap_or_default();
        let output = key.map_or([0; 16], |key| match (type_name, method) {
            ("AesCmac", "mac") => {
                let subkey = u128::from_be_bytes(subkey(&key));
                encrypt(&key, (u128::from_be_bytes(input) ^ subkey).to_be_bytes())
            }
            _ => encrypt(&key, input),
        });
        give(result, u128::from_be_bytes(output));
    }
}

/// The bits of an argument's scalars.
pub(crate) fn data_of(program: &TypedProgram, arg: &Argument<'_>) -> Bits {
    let mut bits = Bits::default();
    if let Some(e) = arg.expr {
        value::pack(program, &e.ty, &arg.value, &mut bits);
    }
    bits
}

/// The functions of `bits.p4`.
fn of_bits(function: &str, bits: &Bits) -> BigUint {
    let (number, len) = (bits.number(), bits.len() as u64);
    match function {
        "population_count" => number.count_ones().into(),
        "count_leading_zeros" => (len - number.bits()).into(),
        "parity" => (number.count_ones() % 2).into(),
        _ => (0..len).fold(BigUint::ZERO, |reversed, at| (reversed << 1u8) | BigUint::from(number.bit(at))),
    }
}

/// Gives an `out` or `inout` argument a number, in its type.
pub(crate) fn give(arg: &mut Argument<'_>, number: impl Into<BigInt>) {
    if let Some(e) = arg.expr {
        arg.value = Value::Number(number::fit(number.into(), &e.ty));
    }
}

/// base + hash mod max; the base if the maximum is zero.
fn in_range(base: BigInt, hash: BigUint, max: BigInt) -> BigInt {
    if max == BigInt::ZERO { base } else { base + BigInt::from(hash) % max }
}

fn block(number: &BigInt) -> [u8; 16] {
    u128::try_from(number).unwrap_or(0).to_be_bytes()
}

fn encrypt(key: &[u8; 16], input: [u8; 16]) -> [u8; 16] {
    let mut block = aes::Block::from(input);
    aes::Aes128::new(key.into()).encrypt_block(&mut block);
    block.into()
}

/// K1 of RFC 4493, section 2.3.
fn subkey(key: &[u8; 16]) -> [u8; 16] {
    let zero = u128::from_be_bytes(encrypt(key, [0; 16]));
    let reduced = if zero >> 127 == 1 { zero << 1 ^ 0x87 } else { zero << 1 };
    reduced.to_be_bytes()
}
