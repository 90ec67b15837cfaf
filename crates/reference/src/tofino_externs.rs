//! Extern objects and functions of the Tofino Native Architecture, as `tofino.p4` and `docs/tofino.md` describe them.

use hopwright_sema::hir::{Call, Expr, ExprKind, Object, ObjectId, Type};
use hopwright_source::Span;
use num_bigint::{BigInt, BigUint};

use crate::bits::{Bits, Reader};
use crate::call::Argument;
use crate::checksum::{self, Algorithm, Crc};
use crate::externs::{data_of, give};
use crate::machine::{Machine, Result};
use crate::meter::Color;
use crate::number;
use crate::objects::{Cells, constant, member_name};
use crate::place;
use crate::value::{self, Value};

/// Extern functions that are supported.
pub(crate) const FUNCTIONS: &[&str] =
    &["invalidate", "max", "min", "funnel_shift_right", "sizeInBits", "sizeInBytes", "port_metadata_unpack"];

/// Values of `MeterColor_t`: green, yellow, red.
const COLORS: [u32; 3] = [0, 1, 3];

/// The object that an argument is.
pub(crate) fn object_of(e: &Expr) -> Option<ObjectId> {
    match e.kind {
        ExprKind::Object(id) => Some(id),
        _ => None,
    }
}

/// A `Hash` object's function of data.
enum Function {
    /// The last bits of the data.
    Identity,
    /// An algorithm that v1model has, too.
    Shared(Algorithm),
    /// A CRC of a polynomial of its own.
    Crc(Crc),
    /// The exclusive or of words of so many bits.
    Xor(usize),
}

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

    /// Makes a header invalid, the egress port none, and anything else zero.
    fn invalidate(&mut self, field: &Argument<'a>) -> Result<Value> {
        let Some(e) = field.expr else { return Ok(Value::Nothing) };
        let place = self.place(e)?;
        let mut value = self.initial(&e.ty);
        if let ExprKind::Field(of, member) = &e.kind
            && let Type::Struct(id) = of.ty
            && self.program[id].fields[*member].name == "ucast_egress_port"
        {
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
            ("RegisterAction", "execute") => match args.split_first_mut() {
                Some((index, results)) => {
                    let index = index.value.small();
                    self.register_action(declared, Some(index), results)
                }
                None => self.fault("a register action without an index", call.span),
            },
            ("DirectRegisterAction", "execute") => self.register_action(declared, None, args),
            ("DirectRegister", "read") => self.cell(object, None),
            ("DirectRegister", "write") => {
                let value = args.first().map_or(Value::Nothing, |arg| arg.value.clone());
                self.set_cell(object, None, value);
                Ok(Value::Nothing)
            }
            ("RegisterParam", "read") => {
                Ok(declared.args.first().map_or(Value::Nothing, |e| constant(self.program, e)))
            }
            ("Hash", "get") => self.tofino_hash(declared, args),
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
                // `factor * x / divisor`.
                let number = |at: usize| declared.args.get(at).map(|e| constant(self.program, e).number());
                let (factor, divisor) = (number(1).unwrap_or_default(), number(2).unwrap_or(BigInt::from(1)));
                let x = args.first().map_or(BigInt::ZERO, |arg| arg.value.number());
                let ty = declared.type_args.first().unwrap_or(&Type::InfInt);
                Ok(Value::Number(number::fit(x * factor / divisor, ty)))
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
    fn entry(&mut self) -> Option<&mut crate::table::Entry> {
        let (table, entry) = self.hit?;
        self.state.tables[table.0 as usize].entries.get_mut(entry)
    }

    /// The value of a register's cell: with an index, or that of the entry whose action is running. Zero if there is none.
    fn cell(&mut self, register: ObjectId, index: Option<u64>) -> Result<Value> {
        let Cells::Register { size, ty, initial, cells } = &self.state.objects[register.0 as usize] else {
            return self.fault("this is no register", Span::none());
        };
        let zero = value::initial(self.program, ty);
        let found = match (index, self.hit) {
            (Some(index), _) if index < *size => Some(cells.get(&index).unwrap_or(initial)),
            (Some(_), _) => None,
            (None, Some((table, entry))) => {
                let cells = &self.state.tables[table.0 as usize].entries[entry].cells;
                Some(cells.get(&register).unwrap_or(initial))
            }
            // One that no table has holds one cell.
            (None, None) if *size == 1 => Some(cells.get(&0).unwrap_or(initial)),
            (None, None) => None,
        };
        Ok(found.cloned().unwrap_or(zero))
    }

    fn set_cell(&mut self, register: ObjectId, index: Option<u64>, value: Value) {
        if let (None, Some(entry)) = (index, self.entry()) {
            entry.cells.insert(register, value);
        } else if let Cells::Register { size, cells, .. } = &mut self.state.objects[register.0 as usize] {
            let index = index.unwrap_or(0);
            if index < *size {
                cells.insert(index, value);
            }
        }
    }

    /// Reads a cell, runs the program's method on it and writes it back. The first result is that of the call; the others are
    /// its `out` arguments.
    fn register_action(
        &mut self,
        action: &'a Object,
        index: Option<u64>,
        results: &mut [Argument<'a>],
    ) -> Result<Value> {
        let register = action.args.first().and_then(object_of);
        let method = action.methods.iter().find(|(name, _)| name == "apply").map(|(_, function)| *function);
        let (Some(register), Some(method)) = (register, method) else {
            return self.fault("a register action without register or method", action.span);
        };
        let bound = |direction, value| Argument { direction, expr: None, place: None, value };
        let cell = self.cell(register, index)?;
        let params = &self.program[method].params;
        let mut args: Vec<Argument<'a>> = params.iter().map(|p| bound(p.direction, Value::Nothing)).collect();
        if let Some(value) = args.first_mut() {
            value.value = cell;
        }
        self.function(method, &mut args)?;
        let mut args = args.into_iter().map(|arg| arg.value);
        if let Some(cell) = args.next() {
            self.set_cell(register, index, cell);
        }
        let ty = action.type_args.last().unwrap_or(&Type::Void);
        let result = args.next().unwrap_or_else(|| self.initial(ty));
        for (arg, value) in results.iter_mut().zip(args) {
            arg.value = value;
        }
        Ok(result)
    }

    /// The one's complement sum of what was added, zero for each packet.
    fn tofino_checksum(&mut self, object: ObjectId, name: &str, args: &mut [Argument<'a>]) -> Value {
        let data = args.first().map(|arg| data_of(self.program, arg)).unwrap_or_default();
        let sum = self.packet.sums.entry(object).or_default();
        match (name, args) {
            ("add", _) => *sum = checksum::add(*sum, checksum::sum(data.bytes())),
            ("subtract", _) => *sum = checksum::add(*sum, checksum::sum_of_complements(data.bytes())),
            ("subtract_all_and_deposit", [residual, ..]) => give(residual, *sum),
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

    /// A signed number of 16 bits, zero for each packet.
    fn parser_counter(&mut self, object: ObjectId, name: &str, args: &[Argument<'a>]) -> Result<Value> {
        let number = |at: usize| args.get(at).map_or(0, |arg| arg.value.small());
        let counter = self.packet.sums.entry(object).or_default();
        match (name, args.len()) {
            ("is_zero", _) => return Ok(Value::Bool(*counter == 0)),
            ("is_negative", _) => return Ok(Value::Bool(*counter >= 0x8000)),
            ("increment", _) => *counter = counter.wrapping_add(number(0) as u16),
            ("decrement", _) => *counter = counter.wrapping_sub(number(0) as u16),
            ("set", 1) => *counter = number(0) as u16,
            _ => {
                let (field, most) = (number(0) as u8, number(1));
                let mask = match self.program.architecture().map(|a| a.name) {
                    // A number of bits less one.
                    Some("tna") => ((2u32 << number(3).min(7)) - 1) as u8,
                    _ => number(3) as u8,
                };
                let rotated = field.rotate_right(number(2) as u32 % 8) & mask;
                *counter = u16::from(rotated).wrapping_add(number(4) as u16);
                if u64::from(field) > most {
                    *counter = 0;
                    return self.reject("CounterRange");
                }
            }
        }
        Ok(Value::Nothing)
    }

    fn tofino_hash(&self, hash: &Object, args: &[Argument<'a>]) -> Result<Value> {
        let data = args.first().map(|arg| data_of(self.program, arg)).unwrap_or_default();
        let ty = hash.type_args.first().unwrap_or(&Type::InfInt);
        let number = match function_of(self.program, hash) {
            Some(Function::Identity) => data.number(),
            Some(Function::Shared(algorithm)) => algorithm.of(data.bytes()),
            Some(Function::Crc(crc)) => crc.of(data.bytes()),
            Some(Function::Xor(word)) => xor_of_words(&data, word),
            None => return self.fault("this hash algorithm is not supported", hash.span),
        };
        Ok(Value::Number(number::fit(number.into(), ty)))
    }
}

/// The sum of the numbers of bytes that do not count.
fn adjusted(args: &[Argument<'_>]) -> u64 {
    args.iter().map(|arg| arg.value.small()).filter(|by| *by != u64::MAX).sum()
}

fn xor_of_words(data: &Bits, word: usize) -> BigUint {
    let mut reader = Reader { bytes: data.bytes(), at: 0 };
    (0..data.len().div_ceil(word)).fold(BigUint::ZERO, |x, _| x ^ reader.take(word))
}

/// What a `Hash` object computes; `None` if that is not supported.
fn function_of(program: &hopwright_sema::hir::TypedProgram, hash: &Object) -> Option<Function> {
    let algorithm = hash.args.first().and_then(|e| member_name(program, e))?;
    Some(match algorithm.as_str() {
        "IDENTITY" => Function::Identity,
        "CRC32" => Function::Shared(Algorithm::Crc32),
        "CRC16" => Function::Shared(Algorithm::Crc16),
        "XOR16" => Function::Shared(Algorithm::Xor16),
        "XOR8" => Function::Xor(8),
        "XOR32" => Function::Xor(32),
        "CRC8" => Function::Crc(Crc { width: 8, polynomial: 0x07, initial: 0, xor: 0, reflected: false }),
        "CRC64" => {
            let polynomial = 0x42f0_e1eb_a9ea_3693;
            Function::Crc(Crc { width: 64, polynomial, initial: 0, xor: 0, reflected: false })
        }
        "CUSTOM" => {
            let polynomial = &program[hash.args.get(1).and_then(object_of)?];
            let number = |at: usize| polynomial.args.get(at).map(|e| constant(program, e).small());
            let width = value::width(program, polynomial.type_args.first()?);
            if !(1..=64).contains(&width) {
                return None;
            }
            Function::Crc(Crc {
                width,
                polynomial: number(0)?,
                reflected: number(1)? != 0,
                initial: number(4)?,
                xor: number(5)?,
            })
        }
        _ => return None,
    })
}

/// What the program has that is not supported of an object.
pub(crate) fn unsupported(program: &hopwright_sema::hir::TypedProgram, object: &Object) -> Option<String> {
    match object.type_name.as_str() {
        "Hash" if function_of(program, object).is_none() => Some("this hash algorithm".into()),
        "MathUnit" if object.args.first().and_then(|e| member_name(program, e)).as_deref() != Some("MUL") => {
            Some("a math unit that does not multiply".into())
        }
        "Lpf" | "Wred" | "DirectLpf" | "DirectWred" | "SelectorAction" | "Pktgen" => {
            Some(format!("the extern `{}`", object.type_name))
        }
        _ => None,
    }
}
