//! Extern objects and functions of the Tofino Native Architecture, as `tofino.p4` and `docs/tofino.md` describe them.

use hopwright_sema::hir::{Call, Expr, ExprKind, Object, ObjectId, Type, TypedProgram};
use num_bigint::{BigInt, BigUint};

use crate::bits::{Bits, Reader};
use crate::call::Argument;
use crate::checksum;
use crate::externs::{data_of, give};
use crate::machine::{Machine, Result};
use crate::meter::Color;
use crate::number;
use crate::objects::{Cells, constant, is_register_action};
use crate::place;
use crate::tofino_hash;
use crate::tofino_math::Unit;
use crate::tofino_registers::{LOG_METHODS, OWN_METHODS};
use crate::value::{self, Value};

/// Extern functions that are supported.
pub(crate) const FUNCTIONS: &[&str] =
    &["invalidate", "max", "min", "funnel_shift_right", "sizeInBits", "sizeInBytes", "port_metadata_unpack"];

/// How many counters of a Tofino 2 lie below the one that counts.
const COUNTERS_BELOW: usize = 4;

/// Values of `MeterColor_t`: green, yellow, red.
const COLORS: [u32; 3] = [0, 1, 3];

impl<'a> Machine<'a> {
    /// A function of the architecture; `None` if it is not one.
    pub(crate) fn tofino_function(
        &mut self,
        name: &str,
        call: &'a Call,
        args: &mut [Argument<'a>],
    ) -> Option<Result<Value>> {
        Some(match (name, args) {
            ("invalidate", [field]) => self.invalidate(field),
            ("max" | "min", [a, b]) => {
                let first = if name == "max" {
                    a.value.number() >= b.value.number()
                } else {
                    a.value.number() <= b.value.number()
                };
                Ok(if first { a.value.clone() } else { b.value.clone() })
            }
            ("funnel_shift_right", [result, high, low, by]) => {
                let width = low.expr.map_or(0, |e| self.width(&e.ty));
                let both = (high.value.number() << width) + low.value.number();
                give(result, both >> by.value.small().min(4096));
                Ok(Value::Nothing)
            }
            ("sizeInBits" | "sizeInBytes", [header]) => {
                let bits = header.expr.map_or(0, |e| self.width(&e.ty));
                Ok(Value::Number(if name == "sizeInBits" { bits } else { bits.div_ceil(8) }.into()))
            }
            ("port_metadata_unpack", _) => self.port_metadata(call),
            _ => return None,
        })
    }

    /// Whether an expression is some bits of the port to which ingress sends a packet.
    pub(crate) fn is_part_of_port(&self, e: &Expr) -> bool {
        let ExprKind::Slice(of, ..) = &e.kind else { return false };
        crate::objects::is_tofino(self.program) && self.is_port(of)
    }

    fn is_port(&self, e: &Expr) -> bool {
        let ExprKind::Field(of, member) = &e.kind else { return false };
        matches!(of.ty, Type::Struct(id) if self.program[id].fields[*member].name == "ucast_egress_port")
    }

    /// A port of which a program writes some bits has zeros in the others, if it was none.
    pub(crate) fn before_part_of_port(&mut self, place: &place::Place) {
        let whole = place::Place { slice: None, ..place.clone() };
        let none = Value::Number(crate::tofino::NO_PORT.into());
        if place::read(&self.vars, &whole) == Some(none) {
            place::write(&mut self.vars, &whole, Value::Number(BigInt::ZERO));
        }
    }

    /// Makes a header invalid, the egress port none, and anything else zero.
    fn invalidate(&mut self, field: &Argument<'a>) -> Result<Value> {
        let Some(e) = field.expr else { return Ok(Value::Nothing) };
        let place = self.place(e)?;
        let mut value = self.initial(&e.ty);
        if self.is_port(e) {
            value = Value::Number(crate::tofino::NO_PORT.into());
        }
        match e.ty {
            Type::Header(_) => {
                place::change(&mut self.vars[place.var.0 as usize], &place.path, Value::invalidate);
            }
            _ => place::write(&mut self.vars, &place, value),
        }
        Ok(Value::Nothing)
    }

    /// The metadata of the packet's port, which are in front of the packet.
    fn port_metadata(&mut self, call: &'a Call) -> Result<Value> {
        let Some(ty) = call.type_args.first() else { return self.fault("port metadata of no type", call.span) };
        let width = crate::tofino::port_metadata_width(self.program);
        self.needs(width as u64)?;
        let mut reader = Reader { bytes: &self.packet.bytes, at: self.packet.at };
        let value = value::unpack(self.program, ty, &mut reader, 0);
        self.packet.at += width;
        Ok(value)
    }

    /// A method of an object of the architecture; `None` if it is one that other architectures have, too.
    pub(crate) fn tofino_method(
        &mut self,
        object: ObjectId,
        name: &str,
        call: &'a Call,
        args: &mut [Argument<'a>],
    ) -> Option<Result<Value>> {
        let declared = &self.program[object];
        Some(match (declared.type_name.as_str(), name) {
            (kind, name) if is_register_action(kind) && OWN_METHODS.contains(&name) => {
                self.own_method(name, call, args)
            }
            (kind, name) if is_register_action(kind) && LOG_METHODS.contains(&name) => {
                self.log_action(object, name, args)
            }
            ("DirectRegisterAction", "execute") => self.register_action(declared, None, args),
            (kind, "execute") if is_register_action(kind) => match args.split_first_mut() {
                Some((index, results)) => {
                    let index = index.value.small();
                    self.packet.chains.insert(object, index);
                    self.register_action(declared, Some(index), results)
                }
                None => self.fault("a register action without an index", call.span),
            },
            ("DirectRegister", "read") => self.cell(object, None),
            ("DirectRegister", "write") => {
                let value = args.first().map_or(Value::Nothing, |arg| arg.value.clone());
                self.set_cell(object, None, value);
                Ok(Value::Nothing)
            }
            ("RegisterParam", "read") => {
                Ok(declared.args.first().map_or(Value::Nothing, |e| constant(self.program, e)))
            }
            ("Register", "write") => match args {
                [index, value] => {
                    self.set_cell(object, Some(index.value.small()), value.value.clone());
                    Ok(value.value.clone())
                }
                _ => self.fault("a register is written at an index", call.span),
            },
            ("Register" | "DirectRegister", "clear") => {
                if let Some(value) = args.first() {
                    self.clear_register(object, &value.value);
                }
                Ok(Value::Nothing)
            }
            ("Hash", "get") => {
                let data = args.first().and_then(|arg| Some((arg.expr?, &arg.value)));
                match data.and_then(|(data, value)| tofino_hash::hash(self.program, declared, data, value)) {
                    Some(hash) => Ok(hash),
                    None => self.fault("this hash algorithm is not supported", call.span),
                }
            }
            ("Random", "get") => {
                let ty = declared.type_args.first().unwrap_or(&Type::InfInt);
                let most = (BigUint::from(1u32) << self.width(ty)) - 1u32;
                let number = self.state.random.between(&BigUint::ZERO, &most).unwrap_or_default();
                Ok(value::from_bits(self.program, ty, number))
            }
            ("Checksum", _) => Ok(self.tofino_checksum(object, name, args)),
            ("ParserCounter", _) => self.parser_counter(object, name, args),
            ("ParserPriority", _) => Ok(Value::Nothing),
            ("Mirror", "emit") => {
                let header = args.get(1).map(|arg| data_of(self.program, arg)).unwrap_or_default();
                let session = args.first().map_or(0, |arg| arg.value.small() as u32);
                self.packet.requests.mirror = Some((session, header));
                Ok(Value::Nothing)
            }
            ("Resubmit", "emit") => {
                let header = args.first().map(|arg| data_of(self.program, arg)).unwrap_or_default();
                self.packet.requests.resubmit_header = Some(header);
                Ok(Value::Nothing)
            }
            ("MathUnit", "execute") => {
                let ty = declared.type_args.first().unwrap_or(&Type::InfInt);
                let x = args.first().map_or(BigInt::ZERO, |arg| arg.value.number());
                match Unit::new(self.program, declared) {
                    Some(unit) => Ok(Value::Number(number::fit(unit.of(&x), ty))),
                    None => self.fault("this math unit is not supported", call.span),
                }
            }
            _ => return self.tofino_count(object, name, args).map(Ok),
        })
    }

    /// A method of a counter or meter, whose last argument may be a number of bytes that do not count; `None` if it is none.
    fn tofino_count(&mut self, object: ObjectId, name: &str, args: &[Argument<'a>]) -> Option<Value> {
        let declared = &self.program[object];
        let length = self.packet.length();
        let index = args.first().map_or(0, |arg| arg.value.small());
        match (declared.type_name.as_str(), name) {
            ("Counter", "count") => {
                let bytes = length.saturating_sub(adjusted(args.get(1..).unwrap_or_default()));
                if let Cells::Counter { size, cells } = &mut self.state.objects[object.0 as usize]
                    && index < *size
                {
                    cells.entry(index).or_default().add(bytes);
                }
                Some(Value::Nothing)
            }
            ("DirectCounter", "count") => {
                // The hit has counted the whole length.
                let by = adjusted(args).min(length);
                if let Some(entry) = self.entry() {
                    entry.count.bytes = entry.count.bytes.wrapping_sub(by);
                }
                Some(Value::Nothing)
            }
            ("Meter", "execute") => {
                Some(self.color(object, Some(index), args.get(1..).unwrap_or_default(), declared.args.get(2..5)))
            }
            ("DirectMeter", "execute") => Some(self.color(object, None, args, declared.args.get(1..4))),
            _ => None,
        }
    }

    /// The colour of a packet: the worse of that which it has and of what the meter says; red packets are not measured. With
    /// values for red, yellow and green it is one of these.
    fn color(&mut self, meter: ObjectId, index: Option<u64>, args: &[Argument<'a>], values: Option<&[Expr]>) -> Value {
        let is_color = |arg: &&Argument<'_>| arg.expr.is_some_and(|e| matches!(e.ty, Type::Enum(_)));
        let before = args.iter().find(is_color).map_or(BigInt::ZERO, |arg| arg.value.number());
        let by: u64 = args.iter().filter(|arg| !is_color(arg)).map(|arg| arg.value.small()).sum();
        let mut color = before.clone();
        if before != COLORS[2].into() {
            let now = self.measured(meter, index, self.packet.length().saturating_sub(by));
            color = before.max(COLORS[now as usize].into());
        }
        match values {
            Some([red, yellow, green]) => {
                let at = COLORS.iter().position(|c| color == (*c).into()).unwrap_or(2);
                constant(self.program, [green, yellow, red][at])
            }
            _ => Value::Number(color),
        }
    }

    /// What a meter says of a packet of this length: its cell with an index, or that of the entry whose action is running.
    fn measured(&mut self, meter: ObjectId, index: Option<u64>, length: u64) -> Color {
        let now_us = self.now_us;
        let size = |by_bytes| if by_bytes { length } else { 1 };
        let direct = match (&mut self.state.objects[meter.0 as usize], index) {
            (Cells::Meter { bytes, cells, .. }, Some(index)) => {
                return cells.get_mut(&index).map_or(Color::Green, |meter| meter.measure(now_us, size(*bytes)));
            }
            (Cells::DirectMeter { bytes }, _) => size(*bytes),
            _ => return Color::Green,
        };
        let meter = self.entry().and_then(|entry| entry.meter.as_mut());
        meter.map_or(Color::Green, |meter| meter.measure(now_us, direct))
    }

    /// The entry whose action is running.
    pub(crate) fn entry(&mut self) -> Option<&mut crate::entries::Entry> {
        let (table, entry) = self.hit?;
        self.state.tables[table.0 as usize].entries.get_mut(entry)
    }

    /// Subtracts a header that was extracted from the sums that `subtract_all_and_deposit` has left.
    pub(crate) fn subtract_from_residuals(&mut self, ty: &Type, header: &Value) {
        for place in self.packet.residuals.clone() {
            let mut bits = Bits::default();
            value::pack(self.program, ty, header, &mut bits);
            let sum = place::read(&self.vars, &place).map_or(0, |sum| sum.small() as u16);
            let sum = checksum::add(sum, checksum::sum_of_complements(bits.bytes()));
            place::write(&mut self.vars, &place, Value::Number(sum.into()));
        }
    }

    /// The one's complement sum of what was added, zero for each packet.
    fn tofino_checksum(&mut self, object: ObjectId, name: &str, args: &mut [Argument<'a>]) -> Value {
        let data = args.first().map(|arg| data_of(self.program, arg)).unwrap_or_default();
        let sum = self.packet.sums.entry(object).or_default();
        match (name, args) {
            ("add", _) => *sum = checksum::add(*sum, checksum::sum(data.bytes())),
            ("subtract", _) => *sum = checksum::add(*sum, checksum::sum_of_complements(data.bytes())),
            ("subtract_all_and_deposit", [residual, ..]) => {
                give(residual, *sum);
                // Headers that are extracted later are subtracted, too.
                self.packet.residuals.extend(residual.place.clone());
            }
            // As on the device: true if the checksum is wrong.
            ("verify", _) => return Value::Bool(*sum != 0xffff),
            ("update", args) => {
                let ones = args.get(1).is_some_and(|arg| arg.value.truth());
                let checksum = !checksum::sum(data.bytes());
                return Value::Number(if checksum == 0 && ones { 0xffff } else { checksum }.into());
            }
            _ => return Value::Number((*sum).into()),
        }
        Value::Nothing
    }

    /// A number of eight bits, zero for each packet, and negative from 128 on; on Tofino 2 the top of a stack.
    fn parser_counter(&mut self, object: ObjectId, name: &str, args: &[Argument<'a>]) -> Result<Value> {
        let number = |at: usize| args.get(at).map_or(BigInt::ZERO, |arg| arg.value.number());
        let byte = |number: BigInt| number::unsigned(&number, 8).iter_u32_digits().next().unwrap_or(0) as u8;
        let counter = self.packet.sums.get(&object).copied().unwrap_or(0) as u8;
        let truth = |at: usize| args.get(at).is_some_and(|arg| arg.value.truth());
        let below = self.packet.counters_below.entry(object).or_default();
        match name {
            "push" if below.len() == COUNTERS_BELOW => return self.reject("CounterRange"),
            "push" => below.push((counter, truth(if args.len() > 2 { 5 } else { 1 }))),
            "pop" => {
                let Some((counter, _)) = below.pop() else { return self.reject("CounterRange") };
                self.packet.sums.insert(object, counter.into());
                return Ok(Value::Nothing);
            }
            "increment" | "decrement" => {
                let by = if name == "increment" { byte(number(0)) } else { byte(-number(0)) };
                below.iter_mut().filter(|b| b.1).for_each(|b| b.0 = b.0.wrapping_add(by));
            }
            _ => {}
        }
        let value = match (name, args.len()) {
            ("is_zero", _) => return Ok(Value::Bool(counter == 0)),
            ("is_negative", _) => return Ok(Value::Bool(counter >= 128)),
            ("increment", _) => counter.wrapping_add(byte(number(0))),
            ("decrement", _) => counter.wrapping_sub(byte(number(0))),
            ("set" | "push", 1 | 2) => byte(number(0)),
            _ => {
                let place = args.first().and_then(|arg| arg.expr).map_or(0, |e| place_in_byte(self.program, e));
                let field = byte(number(0) << place);
                if field > byte(number(1)) {
                    return self.reject("CounterRange");
                }
                let mask = match self.program.architecture().map(|a| a.name) {
                    // A number of bits less one.
                    Some("tna") => byte((BigInt::from(2) << byte(number(3)).min(7)) - 1),
                    _ => byte(number(3)),
                };
                let rotated = field.rotate_right(u32::from(byte(number(2))) % 8);
                (rotated & mask).wrapping_add(byte(number(4)))
            }
        };
        self.packet.sums.insert(object, value.into());
        Ok(Value::Nothing)
    }
}

/// How far above the end of its byte in the packet a field of a header, or a part of it, ends, if it lies in one byte. The device takes whole
/// bytes, with zeros around the field.
fn place_in_byte(program: &TypedProgram, e: &Expr) -> u32 {
    let (field, (high, low)) = match &e.kind {
        ExprKind::Slice(of, high, low) => (&**of, (*high, *low)),
        _ => (e, (value::width(program, &e.ty).saturating_sub(1), 0)),
    };
    let ExprKind::Field(header, member) = &field.kind else { return 0 };
    let Type::Header(id) = header.ty else { return 0 };
    let end: u32 = program[id].fields[..=*member].iter().map(|f| value::width(program, &f.ty)).sum();
    let above = (8 - (end - low) % 8) % 8;
    if high - low + 1 + above <= 8 { above } else { 0 }
}

/// The sum of the numbers of bytes that do not count.
fn adjusted(args: &[Argument<'_>]) -> u64 {
    args.iter().map(|arg| arg.value.small()).filter(|by| *by != u64::MAX).sum()
}

/// What the program has that is not supported of an object.
pub(crate) fn unsupported(program: &TypedProgram, object: &Object) -> Option<String> {
    match object.type_name.as_str() {
        "Hash" if !tofino_hash::is_supported(program, object) => Some("this hash algorithm".into()),
        "MathUnit" if Unit::new(program, object).is_none() => Some("this math unit".into()),
        "Lpf" | "Wred" | "DirectLpf" | "DirectWred" | "SelectorAction" | "Pktgen" => {
            Some(format!("the extern `{}`", object.type_name))
        }
        _ => None,
    }
}
