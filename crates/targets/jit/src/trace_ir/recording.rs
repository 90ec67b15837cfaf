//! A recording of the reference interpreter: what a packet met there, as the answers that evaluation needs.

use std::collections::HashMap;

use hopwright_interp::{Event, Observer, Output, Value};
use hopwright_ir::{
    ExternArg, ExternCall, ExternConstant, ExternFn, ExternId, ExternKind, KeySet, Pipeline, SlotId, Span, Transition,
};
use num_bigint::BigUint;

use super::TraceIr;
use super::eval::{self, Done, Environment, EvalError, Found, Happened, Input, Outcome};

/// The name of an extern function or method in trees: its constants behind its name, and its object in front of it.
pub(crate) fn function_name(pipeline: &Pipeline, call: &ExternCall) -> String {
    let object = call.function.object().map_or(String::new(), |id| format!("{}.", pipeline[id].name));
    let constants = call.function.constants().into_iter().map(|constant| match constant {
        ExternConstant::Word(text) | ExternConstant::Text(text) => text,
        ExternConstant::Number(number) => number.to_string(),
    });
    let constants: Vec<String> = constants.collect();
    let constants = if constants.is_empty() { String::new() } else { format!("<{}>", constants.join(",")) };
    format!("{object}{}{constants}", call.function.name())
}

/// How a tree differs from the interpreter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// The tree cannot be evaluated.
    #[error(transparent)]
    Eval(#[from] EvalError),
    /// The packet completes a trace that does something else.
    #[error("{done:x?} in place of {wanted:x?}")]
    Done {
        /// What the trace does.
        done: Done,
        /// What the interpreter does.
        wanted: Done,
    },
}

/// Observes one packet in the interpreter. As an environment, it answers what the packet asked there, and nothing else.
pub struct Recording<'a> {
    pipeline: &'a Pipeline,
    /// The parser state.
    state: usize,
    lookups: HashMap<(String, Vec<Value>), Found>,
    members: HashMap<(String, Vec<Value>), bool>,
    registers: HashMap<(String, u64), BigUint>,
    colors: HashMap<(String, Option<u64>), BigUint>,
    calls: HashMap<(String, Vec<Value>), Vec<BigUint>>,
    effects: Vec<Happened>,
    /// The call that assigns its results next, and these.
    open: Option<Open>,
}

/// A call whose results are assigned next.
struct Open {
    span: Span,
    /// What they answer.
    asked: Asked,
    /// The slots of results that are not assigned yet, the next one last.
    slots: Vec<SlotId>,
    results: Vec<BigUint>,
}

enum Asked {
    Register(String, u64),
    Color(String, Option<u64>),
    Call(String, Vec<Value>),
}

impl<'a> Recording<'a> {
    /// Starts a recording of a packet.
    pub fn new(pipeline: &'a Pipeline) -> Recording<'a> {
        Recording {
            pipeline,
            state: pipeline.parser.start.0 as usize,
            lookups: HashMap::new(),
            members: HashMap::new(),
            registers: HashMap::new(),
            colors: HashMap::new(),
            calls: HashMap::new(),
            effects: Vec::new(),
            open: None,
        }
    }

    /// What the packet did, in the form in which evaluation says it. `output` is the interpreter's result.
    pub fn done(&self, output: &Output) -> Done {
        let sent = output.sent.first().map(|sent| (sent.port, sent.bytes.clone()));
        Done { sent, effects: self.effects.clone() }
    }

    /// Runs the packet through a tree, too. `output` is the interpreter's result.
    ///
    /// # Errors
    /// The tree cannot be evaluated, or the packet completes a trace that does something else than the interpreter.
    pub fn compare(&mut self, ir: &TraceIr, input: Input<'_>, output: &Output) -> Result<Outcome, Difference> {
        let outcome = eval::run(ir, input, self)?;
        if let Outcome::Completed { done, .. } = &outcome {
            let wanted = self.done(output);
            if *done != wanted {
                return Err(Difference::Done { done: done.clone(), wanted });
            }
        }
        Ok(outcome)
    }

    fn record_call(&mut self, call: &ExternCall, args: &[Value]) {
        let number = |at: usize| args.get(at).map_or(0, Value::to_u64);
        let name = |id: ExternId| self.pipeline[id].name.clone();
        let size = call.function.object().map(|id| match self.pipeline[id].kind {
            ExternKind::Counter { size, .. } | ExternKind::Register { size, .. } | ExternKind::Meter { size, .. } => {
                size
            }
            _ => u64::MAX,
        });
        let asked = match call.function {
            // Without such a cell, nothing happens.
            ExternFn::CounterCount(_) | ExternFn::RegisterWrite(_) | ExternFn::MeterExecute(_)
                if Some(number(0)) >= size =>
            {
                return;
            }
            ExternFn::CounterCount(id) => return self.effects.push(Happened::Count(name(id), number(0))),
            ExternFn::RegisterWrite(id) => {
                let value = args.get(1).map(|value| value.bits.clone()).unwrap_or_default();
                return self.effects.push(Happened::Write(name(id), number(0), value));
            }
            ExternFn::RegisterRead(id) => Asked::Register(name(id), number(1)),
            ExternFn::MeterExecute(id) => {
                self.effects.push(Happened::Measured(name(id), Some(number(0))));
                Asked::Color(name(id), Some(number(0)))
            }
            ExternFn::DirectMeterRead(id) => Asked::Color(name(id), None),
            _ => {
                let given = call.args.iter().zip(args).filter(|(arg, _)| !matches!(arg, ExternArg::Out(_)));
                let given = given.map(|(_, value)| value.clone()).collect();
                Asked::Call(function_name(self.pipeline, call), given)
            }
        };
        let slots = call.args.iter().rev().filter_map(|arg| match arg {
            ExternArg::Out(slot) | ExternArg::InOut(slot) => Some(*slot),
            _ => None,
        });
        self.open = Some(Open { span: call.span, asked, slots: slots.collect(), results: Vec::new() });
    }

    /// Records a result of the open call.
    fn record_result(&mut self, slot: SlotId, value: &Value, span: Span) {
        let Some(open) = &mut self.open else { return };
        if open.span != span || open.slots.pop() != Some(slot) {
            self.open = None;
            return;
        }
        open.results.push(value.bits.clone());
        if open.slots.is_empty()
            && let Some(Open { asked, mut results, .. }) = self.open.take()
        {
            match asked {
                Asked::Register(name, index) => {
                    // A later read may see what the packet has written; a trace reads before it writes.
                    if let Some(value) = results.pop() {
                        self.registers.entry((name, index)).or_insert(value);
                    }
                }
                Asked::Color(name, index) => {
                    if let Some(color) = results.pop() {
                        self.colors.entry((name, index)).or_insert(color);
                    }
                }
                Asked::Call(name, args) => {
                    self.calls.insert((name, args), results);
                }
            }
        }
    }

    /// Records which value sets a select found its keys in.
    fn record_transition(&mut self, keys: &[Value], case: Option<usize>) {
        let Transition::Select { cases, .. } = &self.pipeline.parser.states[self.state].transition else { return };
        for (i, tried) in cases.iter().enumerate().take(case.map_or(cases.len(), |case| case + 1)) {
            if let [KeySet::ValueSet(set)] = tried.sets.as_slice() {
                let set = self.pipeline[*set].name.clone();
                self.members.insert((set, keys.to_vec()), case == Some(i));
            }
        }
    }
}

impl Observer for Recording<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::State { state, .. } => self.state = state.0 as usize,
            Event::Transition { keys, case, .. } => self.record_transition(keys, *case),
            Event::Table { table, keys, entry, action, .. } => {
                let model = &self.pipeline[*table];
                if entry.is_some() && (model.direct_counter.is_some() || model.idle_timeout) {
                    self.effects.push(Happened::CountHit(model.name.clone()));
                }
                if entry.is_some()
                    && let Some(meter) = model.direct_meter.filter(|_| self.pipeline.measures_hits(*table))
                {
                    self.effects.push(Happened::Measured(self.pipeline[meter].name.clone(), None));
                }
                let action_name = self.pipeline[action.action].name.as_str().into();
                let found = Found { hit: entry.is_some(), action: action_name, arguments: action.args.clone() };
                self.lookups.insert((model.name.clone(), keys.to_vec()), found);
            }
            Event::Extern { call, args } => self.record_call(call, args),
            Event::Assign { slot, new, span, .. } => self.record_result(*slot, new, *span),
            _ => {}
        }
    }
}

impl Environment for Recording<'_> {
    fn lookup(&mut self, table: &str, keys: &[Value]) -> Option<Found> {
        self.lookups.get(&(table.into(), keys.to_vec())).cloned()
    }

    fn is_member(&mut self, set: &str, keys: &[Value]) -> Option<bool> {
        self.members.get(&(set.into(), keys.to_vec())).copied()
    }

    fn register(&mut self, register: &str, index: u64) -> Option<BigUint> {
        self.registers.get(&(register.into(), index)).cloned()
    }

    fn color(&mut self, meter: &str, index: Option<u64>) -> Option<u8> {
        self.colors.get(&(meter.into(), index))?.try_into().ok()
    }

    fn call(&mut self, function: &str, args: &[Value], number: u32) -> Option<BigUint> {
        self.calls.get(&(function.into(), args.to_vec()))?.get(number as usize).cloned()
    }

    fn queue_depth(&mut self, _port: u16, _priority: u8) -> Option<u32> {
        // The interpreter is given no depths.
        Some(0)
    }

    fn queue_wait(&mut self, _port: u16, _priority: u8) -> Option<u32> {
        Some(0)
    }
}
