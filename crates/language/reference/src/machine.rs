//! The state in which a program's code is evaluated, and expressions (P4-16, section 8).

use std::collections::BTreeMap;
use std::rc::Rc;

use hopwright_sema::hir::{
    BinaryOp, Expr, ExprKind, FunctionId, ObjectId, TableId, Type, TypedProgram, UnaryOp, VarId,
};
use hopwright_source::Span;
use num_bigint::BigInt;

use crate::bits::Bits;
use crate::meter::Color;
use crate::number;
use crate::place::{self, Place, Step};
use crate::state::State;
use crate::value::{self, Value, initial};

/// The maximum number of parser states and turns of loops in one pass of a packet. The language sets no limit; ours is the
/// one that the documentation of the architectures names.
const MAX_STEPS: u32 = 65_536;

/// Why evaluation does not go on with the next statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A parser's transition to `reject` with this error (13.7).
    Reject(usize),
    /// `exit` (12.5).
    Exit,
    /// The packet is dropped as a fault of the program.
    Fault(Fault),
}

/// A fault of a program, where it is in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) span: Span,
}

pub(crate) type Result<T> = std::result::Result<T, Stop>;

/// How a statement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next statement follows.
    Next,
    /// `break` (12.8).
    Break,
    /// `continue` (12.8).
    Continue,
    /// `return`, with a function's value (12.4).
    Return(Value),
}

/// A packet in a pass through the program.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// As it was received by the pass, behind what the architecture puts in front of it.
    pub(crate) bytes: Rc<[u8]>,
    /// How many bytes the architecture puts there.
    pub(crate) prefix: usize,
    /// `nextBitIndex` (13.8).
    pub(crate) at: usize,
    /// What the deparser has emitted (16.1).
    pub(crate) out: Bits,
    /// Parser states and turns of loops so far.
    pub(crate) steps: u32,
    /// Sums of the extern objects that have one for each packet.
    pub(crate) sums: BTreeMap<ObjectId, u16>,
    /// Tofino: sums from which the headers that are extracted are subtracted.
    pub(crate) residuals: Vec<Place>,
    /// Tofino 2: the indices of the last cells of register actions.
    pub(crate) chains: BTreeMap<ObjectId, u64>,
    /// Tofino 2: what is below parser counters, and whether it counts with the top.
    pub(crate) counters_below: BTreeMap<ObjectId, Vec<(u8, bool)>>,
    /// What the program wants of the architecture.
    pub(crate) requests: Requests,
}

impl Packet {
    pub(crate) fn new(bytes: Rc<[u8]>) -> Packet {
        Packet {
            bytes,
            prefix: 0,
            at: 0,
            out: Bits::default(),
            steps: 0,
            sums: BTreeMap::new(),
            residuals: Vec::new(),
            chains: BTreeMap::new(),
            counters_below: BTreeMap::new(),
            requests: Requests::default(),
        }
    }

    /// What the parser has not consumed of the packet.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.bytes[self.at.div_ceil(8).max(self.prefix)..]
    }

    /// The number of bytes that were received.
    pub(crate) fn length(&self) -> u64 {
        (self.bytes.len() - self.prefix) as u64
    }
}

/// What calls of extern functions ask the architecture to do with a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Session, and what the copy keeps.
    pub(crate) clone_ingress: Option<(u32, Kept)>,
    /// The same at the end of egress.
    pub(crate) clone_egress: Option<(u32, Kept)>,
    pub(crate) resubmit: Option<Kept>,
    pub(crate) recirculate: Option<Kept>,
    pub(crate) truncate: Option<u32>,
    /// PNA: the port that the packet is sent to.
    pub(crate) sent: Option<u64>,
    /// Tofino: the session of a mirrored copy, and the header in front of it.
    pub(crate) mirror: Option<(u32, Bits)>,
    /// Tofino: the header that goes with a packet that ingress has processed again.
    pub(crate) resubmit_header: Option<Bits>,
    pub(crate) digests: Vec<Digest>,
    /// A checksum was wrong.
    pub(crate) checksum_error: bool,
    /// The bytes of headers that `setValid` and lists have made valid, less those that `setInvalid` has made invalid.
    pub(crate) length_change: i64,
}

/// Which fields of the metadata a copy or repetition of a packet keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kept {
    /// None.
    #[default]
    Nothing,
    /// Those in the field list with this number.
    List(u8),
    /// These parts of the parameters of the block.
    Places(Vec<Place>),
}

/// A message to the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The name of the type of its data.
    pub name: String,
    /// The receiver that the program says.
    pub receiver: u32,
    /// The scalars of its data.
    pub data: Vec<num_bigint::BigUint>,
}

/// A register action that is running.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// The index of its cell.
    pub(crate) index: u64,
    /// The bits of a cell.
    pub(crate) width: u32,
    /// Its method.
    pub(crate) method: FunctionId,
    /// What the comparisons of its conditions say about the cell as it was read, in the order of the text.
    pub(crate) compared: Vec<bool>,
}

/// Evaluates the code of one block for one packet.
pub(crate) struct Machine<'a> {
    pub(crate) program: &'a TypedProgram,
    pub(crate) state: &'a mut State,
    pub(crate) packet: &'a mut Packet,
    /// By [`VarId`]. No function or block calls itself, so that one place for each variable is enough.
    pub(crate) vars: Vec<Value>,
    /// The packet's timestamp in microseconds.
    pub(crate) now_us: u64,
    /// The parameter of the block that is the architecture's metadata.
    pub(crate) intrinsic: Option<VarId>,
    /// The table and the entry whose action is running.
    pub(crate) hit: Option<(TableId, usize)>,
    /// What the direct meter of the entry said.
    pub(crate) color: Color,
    /// Tofino: the register action that is running.
    pub(crate) running: Option<Running>,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        program: &'a TypedProgram,
        state: &'a mut State,
        packet: &'a mut Packet,
        now_us: u64,
    ) -> Machine<'a> {
        let vars = vec![Value::Nothing; program.vars.len()];
        Machine { program, state, packet, vars, now_us, intrinsic: None, hit: None, color: Color::Green, running: None }
    }

    pub(crate) fn fault<T>(&self, message: impl Into<String>, span: Span) -> Result<T> {
        Err(Stop::Fault(Fault { message: message.into(), span }))
    }

    /// Counts a parser state or the turn of a loop.
    pub(crate) fn step(&mut self, span: Span) -> Result<()> {
        self.packet.steps += 1;
        if self.packet.steps > MAX_STEPS {
            return self.fault(format!("more than {MAX_STEPS} parser states and turns of loops"), span);
        }
        Ok(())
    }

    /// The error with a name (7.1.2).
    pub(crate) fn reject<T>(&self, name: &str) -> Result<T> {
        Err(Stop::Reject(self.program.errors.iter().position(|e| e == name).unwrap_or(0)))
    }

    pub(crate) fn var(&mut self, var: VarId) -> &mut Value {
        &mut self.vars[var.0 as usize]
    }

    pub(crate) fn initial(&self, ty: &Type) -> Value {
        initial(self.program, ty)
    }

    /// Evaluates an l-value (6.7): its indices, from left to right.
    pub(crate) fn place(&mut self, e: &'a Expr) -> Result<Place> {
        Ok(match &e.kind {
            ExprKind::Var(var) => Place::of(*var),
            ExprKind::Field(of, member) => self.place(of)?.then(Step::Member(*member)),
            ExprKind::Index(of, index) => {
                let stack = self.place(of)?;
                let index = self.eval(index)?.small();
                stack.then(Step::Element(usize::try_from(index).unwrap_or(usize::MAX)))
            }
            ExprKind::StackNext(of) => {
                let stack = self.place(of)?;
                let (next, size) = self.next_and_size(&stack);
                if next >= size {
                    return self.reject("StackOutOfBounds");
                }
                let next_of = Some(stack.path.len());
                Place { next_of, ..stack.then(Step::Element(next)) }
            }
            ExprKind::StackLast(of) => {
                let stack = self.place(of)?;
                let (next, size) = self.next_and_size(&stack);
                if next < 1 || next > size {
                    return self.reject("StackOutOfBounds");
                }
                stack.then(Step::Element(next - 1))
            }
            ExprKind::Slice(of, high, low) => {
                let whole = self.place(of)?;
                let slice = match whole.slice.clone() {
                    Some((_, from, ty)) => (from + high, from + low, ty),
                    None => (*high, *low, of.ty.clone()),
                };
                Place { slice: Some(slice), ..whole }
            }
            _ => return self.fault("this is no l-value", e.span),
        })
    }

    /// `nextIndex` and the size of a stack (8.19).
    fn next_and_size(&self, stack: &Place) -> (usize, usize) {
        match place::part(&self.vars[stack.var.0 as usize], &stack.path) {
            Some(Value::Stack { next, elements }) => (*next, elements.len()),
            _ => (0, 0),
        }
    }

    /// Evaluates an expression (section 8); operands from left to right (8.1).
    pub(crate) fn eval(&mut self, e: &'a Expr) -> Result<Value> {
        Ok(match &e.kind {
            ExprKind::Int(number) => Value::Number(number::fit(number.clone(), &e.ty)),
            ExprKind::Bool(truth) => Value::Bool(*truth),
            ExprKind::String(text) => Value::Text(text.clone()),
            ExprKind::Object(object) => Value::Object(*object),
            ExprKind::Error(at) | ExprKind::EnumMember(_, at) => Value::Member(*at),
            ExprKind::Var(var) => self.var(*var).clone(),
            ExprKind::Field(of, _) | ExprKind::Index(of, _) | ExprKind::StackNext(of) | ExprKind::StackLast(of)
                if is_stored(of) =>
            {
                let place = self.place(e)?;
                place::read(&self.vars, &place).unwrap_or_else(|| self.initial(&e.ty))
            }
            ExprKind::Field(of, member) => {
                self.eval(of)?.members().get(*member).cloned().unwrap_or_else(|| self.initial(&e.ty))
            }
            ExprKind::Index(of, index) => {
                let stack = self.eval(of)?;
                let index = usize::try_from(self.eval(index)?.small()).unwrap_or(usize::MAX);
                stack.members().get(index).cloned().unwrap_or_else(|| self.initial(&e.ty))
            }
            ExprKind::StackNext(of) | ExprKind::StackLast(of) => {
                return self.fault("this stack is no l-value", of.span);
            }
            ExprKind::StackLastIndex(of) => match self.eval(of)? {
                Value::Stack { next, .. } => Value::Number(number::fit(BigInt::from(next) - 1, &e.ty)),
                _ => Value::Number(BigInt::ZERO),
            },
            ExprKind::Aggregate { members, order } => self.aggregate(&e.ty, members, order)?,
            ExprKind::Invalid => self.initial(&e.ty),
            ExprKind::Unary(op, a) => {
                let a = self.eval(a)?;
                match op {
                    UnaryOp::Not => Value::Bool(!a.truth()),
                    UnaryOp::Neg => Value::Number(number::fit(-a.number(), &e.ty)),
                    UnaryOp::BitNot => Value::Number(number::fit(-a.number() - 1, &e.ty)),
                }
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b, &e.ty)?,
            ExprKind::Mux(condition, then, otherwise) => {
                // 8.5.1: only one of the two is evaluated.
                let taken = if self.eval(condition)?.truth() { then } else { otherwise };
                self.eval(taken)?
            }
            ExprKind::Slice(of, high, low) => Value::Number(number::slice(&self.eval(of)?.number(), *high, *low)),
            ExprKind::Cast(of) => {
                let value = self.eval(of)?;
                self.cast(value, &of.ty, &e.ty)
            }
            ExprKind::Call(call) => self.call(call)?,
            ExprKind::TableHit(table, wanted) => Value::Bool(self.apply_table(*table)?.hit == *wanted),
        })
    }

    /// Structure-valued, tuple and stack expressions (8.13, 8.14, 8.19). A header that is initialised is valid (8.18).
    fn aggregate(&mut self, ty: &Type, members: &'a [Expr], order: &[usize]) -> Result<Value> {
        let mut values = vec![Value::Nothing; members.len()];
        for at in order {
            values[*at] = self.eval(&members[*at])?;
        }
        Ok(match ty {
            Type::Header(_) => Value::Header { valid: true, fields: values },
            Type::Union(_) => Value::Union(values),
            Type::Stack(..) => Value::Stack { next: 0, elements: values },
            _ => Value::Record(values),
        })
    }

    fn binary(&mut self, op: BinaryOp, a: &'a Expr, b: &'a Expr, ty: &Type) -> Result<Value> {
        let left = self.eval(a)?;
        // 8.5: `&&` and `||` evaluate the second operand only if the first does not decide.
        match op {
            BinaryOp::And if !left.truth() => return Ok(Value::Bool(false)),
            BinaryOp::Or if left.truth() => return Ok(Value::Bool(true)),
            _ => {}
        }
        let right = self.eval(b)?;
        let (x, y) = (left.number(), right.number());
        Ok(match op {
            BinaryOp::And | BinaryOp::Or => right,
            BinaryOp::Eq => Value::Bool(left.equals(&right)),
            BinaryOp::Ne => Value::Bool(!left.equals(&right)),
            BinaryOp::Lt => Value::Bool(x < y),
            BinaryOp::Le => Value::Bool(x <= y),
            BinaryOp::Gt => Value::Bool(x > y),
            BinaryOp::Ge => Value::Bool(x >= y),
            _ => Value::Number(number::binary(op, &x, &y, &a.ty, &b.ty, ty)),
        })
    }

    /// Casts (8.12), and conversions between a serialisable enum and its type (8.3).
    fn cast(&self, value: Value, from: &Type, to: &Type) -> Value {
        let underlying = match to {
            Type::Enum(id) => self.program[*id].underlying.clone(),
            _ => None,
        };
        match underlying.as_ref().unwrap_or(to) {
            Type::Bool => Value::Bool(value.number() != BigInt::ZERO),
            to @ (Type::Bits(_) | Type::Int(_) | Type::InfInt) => Value::Number(number::fit(value.number(), to)),
            Type::Struct(_) | Type::Tuple(_) if from != to => Value::Record(value.members().to_vec()),
            Type::Header(_) if from != to => Value::Header { valid: true, fields: value.members().to_vec() },
            _ => value,
        }
    }

    /// The number of bits of a type without `varbit`.
    pub(crate) fn width(&self, ty: &Type) -> u32 {
        value::width(self.program, ty)
    }
}

/// Whether an expression is part of a variable, so that it can be read without a copy of the whole.
fn is_stored(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Var(_) => true,
        ExprKind::Field(of, _) | ExprKind::Index(of, _) | ExprKind::StackNext(of) | ExprKind::StackLast(of) => {
            is_stored(of)
        }
        _ => false,
    }
}
