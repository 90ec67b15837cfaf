//! The evaluator: runs a packet through a tree. It defines what the tree means, so that a pass can be tested by itself.

use std::collections::{BTreeMap, HashMap};

use hopwright_interp::Value;
use hopwright_ir::bits::{self, BitString};
use hopwright_ir::{BinaryOp, Type, UnaryOp, hash};
use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::values::{Op, ValueId, ValueType};
use super::{Effect, End, Leaf, Name, NodeId, TraceIr, Verdict};

/// A packet as received.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its bytes.
    pub packet: &'a [u8],
    /// The port, of which the lowest nine bits count.
    pub port: u16,
    /// The time in microseconds.
    pub now_us: u64,
}

/// What a lookup finds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whether the keys hit an entry.
    pub hit: bool,
    /// The action's name.
    pub action: Name,
    /// The action's arguments.
    pub arguments: Vec<BigUint>,
}

/// Answers what a packet does not say. `None`: there is no answer, and evaluation fails.
pub trait Environment {
    /// Looks keys up in a table.
    fn lookup(&mut self, table: &str, keys: &[Value]) -> Option<Found>;

    /// Whether keys are a member of a value set.
    fn is_member(&mut self, set: &str, keys: &[Value]) -> Option<bool>;

    /// A cell of a register.
    fn register(&mut self, register: &str, index: u64) -> Option<BigUint>;

    /// The colour that a meter gives the packet: a direct meter, or a cell of an array.
    fn color(&mut self, meter: &str, index: Option<u64>) -> Option<u8>;

    /// The out arguments of a call, of which `number` is wanted.
    fn call(&mut self, function: &str, args: &[Value], number: u32) -> Option<BigUint>;

    /// The depth of a queue.
    fn queue_depth(&mut self, port: u16, priority: u8) -> Option<u32>;

    /// How long packets wait in a queue, in microseconds.
    fn queue_wait(&mut self, port: u16, priority: u8) -> Option<u32>;
}

/// The end of a packet's way through a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It completed a trace.
    Completed {
        /// The node with the leaf.
        leaf: NodeId,
        /// What happened.
        done: Done,
    },
    /// It took a side exit.
    Left(Exit),
}

/// A side exit: a guard of a node, or, behind the last guard, the node's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exit {
    /// The node.
    pub node: NodeId,
    /// The number of the guard.
    pub guard: usize,
}

/// What a completed packet did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Port and bytes, if it was sent.
    pub sent: Option<(u16, Vec<u8>)>,
    /// Other effects, in order.
    pub effects: Vec<Happened>,
}

/// An effect with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The packet was counted in a cell of a counter.
    Count(String, u64),
    /// The packet was counted by an entry of a table.
    CountHit(String),
    /// The packet was charged to a meter: that of an entry, or a cell of an array.
    Measured(String, Option<u64>),
    /// A cell of a register was written.
    Write(String, u64, BigUint),
}

/// How many packets were at each place of a tree.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// The packets that reached each node.
    pub nodes: Vec<u64>,
    /// The packets that left at each side exit.
    pub exits: BTreeMap<Exit, u64>,
}

impl Counts {
    /// Counts a packet. `parents` are those of the tree ([`TraceIr::parents`]).
    pub fn add(&mut self, parents: &[Option<NodeId>], outcome: &Outcome) {
        let last = match outcome {
            Outcome::Completed { leaf, .. } => *leaf,
            Outcome::Left(exit) => {
                *self.exits.entry(*exit).or_default() += 1;
                exit.node
            }
        };
        self.nodes.resize(parents.len(), 0);
        let mut at = Some(last);
        while let Some(id) = at {
            self.nodes[id.index()] += 1;
            at = parents[id.index()];
        }
    }
}

/// Why a packet could not be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The environment has no answer: the question.
    #[error("no answer: {0}")]
    NoAnswer(String),
    /// The tree is not valid: what it does.
    #[error("invalid trace: {0}")]
    Invalid(String),
}

/// Runs a packet through a tree.
///
/// # Errors
/// The environment does not answer, or the tree is not one that [`super::verify`] accepts.
pub fn run(ir: &TraceIr, input: Input<'_>, environment: &mut dyn Environment) -> Result<Outcome, EvalError> {
    let mut run = Run { ir, input, environment, known: HashMap::new() };
    let mut id = NodeId(0);
    loop {
        let node = ir.nodes.get(id.index()).ok_or_else(|| EvalError::Invalid("a missing node".into()))?;
        for (guard, it) in node.guards.iter().enumerate() {
            if run.data(it.condition)?.is_true() != it.holds {
                return Ok(Outcome::Left(Exit { node: id, guard }));
            }
        }
        match &node.end {
            End::Exit { .. } => return Ok(Outcome::Left(Exit { node: id, guard: node.guards.len() })),
            End::Branch { condition, yes, no, .. } => id = if run.data(*condition)?.is_true() { *yes } else { *no },
            End::Leaf(leaf) => return Ok(Outcome::Completed { leaf: id, done: run.leaf(leaf)? }),
        }
    }
}

/// A value at run time.
#[derive(Clone, Debug)]
enum Evaluated {
    Data(Value),
    Entry(Name, Found),
}

struct Run<'a> {
    ir: &'a TraceIr,
    input: Input<'a>,
    environment: &'a mut dyn Environment,
    known: HashMap<ValueId, Evaluated>,
}

impl Run<'_> {
    fn data(&mut self, id: ValueId) -> Result<Value, EvalError> {
        match self.value(id)? {
            Evaluated::Data(value) => Ok(value),
            Evaluated::Entry(..) => Err(EvalError::Invalid("an entry in place of data".into())),
        }
    }

    fn all(&mut self, ids: &[ValueId]) -> Result<Vec<Value>, EvalError> {
        ids.iter().map(|id| self.data(*id)).collect()
    }

    fn number(&mut self, id: ValueId) -> Result<u64, EvalError> {
        Ok(self.data(id)?.to_u64())
    }

    fn entry(&mut self, id: ValueId) -> Result<(Name, Found), EvalError> {
        match self.value(id)? {
            Evaluated::Entry(table, found) => Ok((table, found)),
            Evaluated::Data(_) => Err(EvalError::Invalid("data in place of an entry".into())),
        }
    }

    /// Operands first: expressions of programs may be deeply nested.
    fn value(&mut self, id: ValueId) -> Result<Evaluated, EvalError> {
        let mut work = vec![id];
        while let Some(&next) = work.last() {
            if self.known.contains_key(&next) {
                work.pop();
                continue;
            }
            let operands = self.ir.values[next].op.operands();
            let missing: Vec<ValueId> = operands.into_iter().filter(|v| !self.known.contains_key(v)).collect();
            if missing.is_empty() {
                let value = self.compute(next)?;
                self.known.insert(next, value);
                work.pop();
            } else {
                work.extend(missing);
            }
        }
        Ok(self.known[&id].clone())
    }

    fn compute(&mut self, id: ValueId) -> Result<Evaluated, EvalError> {
        let values = &self.ir.values;
        let width = values.width(id);
        let ty = values.data_type(id).unwrap_or(Type::Bits(0));
        let answer = |asked: String| EvalError::NoAnswer(asked);
        let bits = match &values[id].op {
            Op::Constant(_) if matches!(ty, Type::Varbit(_)) => return Ok(Evaluated::Data(Value::zero(ty))),
            Op::Constant(value) => value.clone(),
            Op::Packet { base, bit } => {
                let at = 8 * self.place(*base)? + u64::from(*bit);
                if at + u64::from(width) > 8 * self.input.packet.len() as u64 {
                    return Err(EvalError::Invalid("bytes behind the end of the packet are read".into()));
                }
                bits::read(self.input.packet, at as usize, width)
            }
            Op::Bytes { at, length } => {
                let from = (self.place(at.base)? + u64::from(at.offset)) as usize;
                let to = match length {
                    Some(length) => from as u64 + self.number(*length)?,
                    None => self.input.packet.len() as u64,
                };
                let bytes = self.input.packet.get(from..to as usize);
                let bytes =
                    bytes.ok_or_else(|| EvalError::Invalid("bytes behind the end of the packet are read".into()))?;
                return Ok(Evaluated::Data(Value::from_bytes(bytes, 8 * bytes.len() as u32)));
            }
            Op::Length => (self.input.packet.len() as u32).into(),
            Op::IngressPort => (self.input.port & 0x1ff).into(),
            Op::Now => self.input.now_us.into(),
            Op::Lookup { table, keys } => {
                let keys = self.all(keys)?;
                let found = self.environment.lookup(table, &keys);
                let found = found.ok_or_else(|| answer(format!("lookup of {} in {table}", shown(&keys))))?;
                return Ok(Evaluated::Entry(table.clone(), found));
            }
            Op::Hit(entry) => u32::from(self.entry(*entry)?.1.hit).into(),
            Op::Is(entry, action) => u32::from(self.entry(*entry)?.1.action == *action).into(),
            Op::Argument { entry, action, index } => {
                let (_, found) = self.entry(*entry)?;
                match found.arguments.get(*index as usize) {
                    Some(argument) if found.action == *action => argument.clone(),
                    _ => return Err(EvalError::Invalid(format!("an entry has not the action {action}"))),
                }
            }
            Op::Checksum { algorithm, parts } => {
                let mut string = BitString::new();
                for value in self.all(parts)? {
                    string.push(&value.bits, value.width);
                }
                hash::hash(*algorithm, string.as_bytes()).into()
            }
            Op::Unary(op, a) => {
                let a = self.data(*a)?.bits;
                bits::unary(*op, &a, if *op == UnaryOp::Not { Type::Bool } else { ty })
            }
            Op::Binary(op, a, b) => {
                let (left, right) = (values.data_type(*a), values.data_type(*b));
                let (a, b) = (self.data(*a)?, self.data(*b)?);
                match (left, right) {
                    (Some(Type::Varbit(_)), _) => u32::from((a == b) == (*op == BinaryOp::Eq)).into(),
                    (Some(left), Some(right)) => bits::binary(*op, &a.bits, &b.bits, left, right),
                    _ => return Err(EvalError::Invalid("an entry in place of data".into())),
                }
            }
            Op::Cast(a) => {
                let from = values.data_type(*a).unwrap_or(ty);
                bits::cast(&self.data(*a)?.bits, from, ty)
            }
            Op::Slice { arg, hi, lo } => bits::slice(&self.data(*arg)?.bits, *hi, *lo),
            Op::Mux(condition, then, otherwise) => {
                let taken = if self.data(*condition)?.is_true() { then } else { otherwise };
                return self.value(*taken);
            }
            op @ (Op::QueueDepth(..)
            | Op::QueueWait(..)
            | Op::Member { .. }
            | Op::Register { .. }
            | Op::Color { .. }
            | Op::Call { .. }) => self.answer(op)?,
        };
        Ok(Evaluated::Data(Value::new(bits, width)))
    }

    /// What the environment answers: state, and calls.
    fn answer(&mut self, op: &Op) -> Result<BigUint, EvalError> {
        let answer = |asked: String| EvalError::NoAnswer(asked);
        Ok(match op {
            Op::QueueDepth(port, priority) => {
                let (port, priority) = (self.number(*port)? as u16, self.number(*priority)? as u8);
                let depth = self.environment.queue_depth(port, priority);
                depth.ok_or_else(|| answer(format!("the depth of queue {port}.{priority}")))?.into()
            }
            Op::QueueWait(port, priority) => {
                let (port, priority) = (self.number(*port)? as u16, self.number(*priority)? as u8);
                let wait = self.environment.queue_wait(port, priority);
                wait.ok_or_else(|| answer(format!("the waiting time of queue {port}.{priority}")))?.into()
            }
            Op::Member { set, keys } => {
                let keys = self.all(keys)?;
                let member = self.environment.is_member(set, &keys);
                u32::from(member.ok_or_else(|| answer(format!("whether {} is in {set}", shown(&keys))))?).into()
            }
            Op::Register { register, index } => {
                let index = self.number(*index)?;
                let cell = self.environment.register(register, index);
                cell.ok_or_else(|| answer(format!("cell {index} of {register}")))?
            }
            Op::Color { meter, of } => {
                let index = match self.ir.values[*of].ty {
                    ValueType::Entry if !self.entry(*of)?.1.hit => return Ok(BigUint::ZERO),
                    ValueType::Entry => None,
                    ValueType::Data(_) => Some(self.number(*of)?),
                };
                let color = self.environment.color(meter, index);
                color.ok_or_else(|| answer(format!("the colour of {meter}")))?.into()
            }
            Op::Call { function, args, result, .. } => {
                let args = self.all(args)?;
                let value = self.environment.call(function, &args, *result);
                value.ok_or_else(|| answer(format!("{function}({})", shown(&args))))?
            }
            _ => return Err(EvalError::Invalid("the environment knows nothing of this operation".into())),
        })
    }

    /// The byte that a base stands for.
    fn place(&mut self, base: Option<ValueId>) -> Result<u64, EvalError> {
        base.map_or(Ok(0), |base| self.number(base))
    }

    fn leaf(&mut self, leaf: &Leaf) -> Result<Done, EvalError> {
        let mut done = Done::default();
        for effect in &leaf.effects {
            done.effects.push(match effect {
                Effect::Count { counter, index } => Happened::Count(counter.to_string(), self.number(*index)?),
                Effect::CountHit(entry) => match self.entry(*entry)? {
                    (table, Found { hit: true, .. }) => Happened::CountHit(table.to_string()),
                    _ => continue,
                },
                Effect::Measure { meter, of } => match self.ir.values[*of].ty {
                    ValueType::Entry if !self.entry(*of)?.1.hit => continue,
                    ValueType::Entry => Happened::Measured(meter.to_string(), None),
                    ValueType::Data(_) => Happened::Measured(meter.to_string(), Some(self.number(*of)?)),
                },
                // A queue's order is not part of what is compared.
                Effect::Priority(_) => continue,
                Effect::Write { register, index, value } => {
                    Happened::Write(register.to_string(), self.number(*index)?, self.data(*value)?.bits)
                }
            });
        }
        if let Verdict::Forward { port, headers, payload } = &leaf.verdict {
            let mut out = BitString::new();
            for value in self.all(headers)? {
                out.push(&value.bits, value.width);
            }
            let from = self.place(payload.base)? + u64::from(payload.offset);
            let rest = self.input.packet.get(from as usize..);
            out.push_bytes(rest.ok_or_else(|| EvalError::Invalid("the payload starts behind the packet".into()))?);
            let port = self.data(*port)?.bits.to_u16().unwrap_or(u16::MAX);
            done.sent = Some((port, out.into_bytes()));
        }
        Ok(done)
    }
}

fn shown(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().map(Value::to_string).collect();
    shown.join(", ")
}
