//! Calls: copy-in and copy-out (P4-16 6.8), functions and actions, controls, methods of headers and stacks (8.18, 8.19).

use hopwright_sema::hir::{Arg, Call, Callee, Direction, Expr, FunctionId, Instance, InstanceBody, InstanceId, Param};

use crate::machine::{Flow, Machine, Result, Stop};
use crate::objects::is_tofino;
use crate::place::{self, Place};
use crate::value::Value;

/// An argument that has been evaluated.
#[derive(Clone, Debug)]
pub(crate) struct Argument<'a> {
    /// The direction of its parameter.
    pub(crate) direction: Direction,
    /// The expression, unless it is left out.
    pub(crate) expr: Option<&'a Expr>,
    /// Its l-value, of `out` and `inout` arguments.
    pub(crate) place: Option<Place>,
    /// The temporary with its value.
    pub(crate) value: Value,
}

impl<'a> Machine<'a> {
    /// Calls something (6.8): arguments are evaluated in the order of the text, and `out` and `inout` ones are copied back
    /// in this order, also after `exit` (12.5). A parser that rejects ends its callers at once (13.10); the language does not
    /// say what its `out` and `inout` arguments hold then. A choice of ours: what the parameters do, so that what was
    /// extracted stays.
    pub(crate) fn call(&mut self, call: &'a Call) -> Result<Value> {
        match &call.callee {
            Callee::Packet(method) => return self.packet_method(method, call),
            Callee::Builtin(receiver, method) => return self.builtin(receiver, method, call),
            Callee::Table(table) => {
                self.apply_table(*table)?;
                return Ok(Value::Nothing);
            }
            _ => {}
        }
        let mut args = self.arguments(&call.args)?;
        let result = match &call.callee {
            Callee::Function(id) => self.function(*id, &mut args),
            Callee::Instance(id) => self.instance(*id, &mut args),
            Callee::ExternFunction(name) => self.extern_function(name, call, &mut args),
            Callee::Method(object, name) => self.extern_method(*object, name, call, &mut args),
            Callee::ParameterMethod(var, name) => match *self.var(*var) {
                Value::Object(object) => self.extern_method(object, name, call, &mut args),
                _ => self.fault("this parameter is no extern object", call.span),
            },
            Callee::Packet(_) | Callee::Builtin(..) | Callee::Table(_) => Ok(Value::Nothing),
        };
        if !matches!(result, Err(Stop::Fault(_))) {
            self.copy_out(&call.args, &args);
        }
        result
    }

    /// Steps 1 to 4 of 6.8. An `out` temporary holds what its l-value does: an extern may leave it alone, which is a choice
    /// of ours; functions begin with an initial value.
    fn arguments(&mut self, args: &'a [Arg]) -> Result<Vec<Argument<'a>>> {
        let nothing = |arg: &'a Arg| Argument {
            direction: arg.direction,
            expr: arg.value.as_ref(),
            place: None,
            value: Value::Nothing,
        };
        let mut evaluated: Vec<Argument<'a>> = args.iter().map(nothing).collect();
        for at in in_turn(args) {
            let Some(e) = evaluated[at].expr else { continue };
            evaluated[at] = self.argument(args[at].direction, e)?;
        }
        Ok(evaluated)
    }

    /// Evaluates one argument.
    pub(crate) fn argument(&mut self, direction: Direction, e: &'a Expr) -> Result<Argument<'a>> {
        let mut argument = Argument { direction, expr: Some(e), place: None, value: Value::Nothing };
        match direction {
            Direction::None | Direction::In => argument.value = self.eval(e)?,
            Direction::Out | Direction::InOut => {
                let place = self.place(e)?;
                argument.value = place::read(&self.vars, &place).unwrap_or_else(|| self.initial(&e.ty));
                argument.place = Some(place);
            }
        }
        Ok(argument)
    }

    /// Step 6 of 6.8.
    fn copy_out(&mut self, args: &[Arg], evaluated: &[Argument<'_>]) {
        for at in in_turn(args) {
            if let Argument { place: Some(place), value, .. } = &evaluated[at] {
                place::write(&mut self.vars, place, value.clone());
            }
        }
    }

    /// Copies arguments to parameters. An `out` parameter has an initial value (6.8); its headers are the argument's, invalid.
    pub(crate) fn enter(&mut self, params: &[Param], args: &[Argument<'_>]) {
        for (param, arg) in params.iter().zip(args) {
            let value = match arg.direction {
                Direction::Out => self.initial(&self.program[param.var].ty).with_fields_of(&arg.value),
                _ => arg.value.clone(),
            };
            *self.var(param.var) = value;
        }
    }

    /// Copies parameters to the temporaries of their arguments.
    fn leave(&mut self, params: &[Param], args: &mut [Argument<'_>]) {
        for (param, arg) in params.iter().zip(args) {
            if matches!(param.direction, Direction::Out | Direction::InOut) {
                arg.value = self.var(param.var).clone();
            }
        }
    }

    /// Runs a function (10) or action (14.1).
    pub(crate) fn function(&mut self, id: FunctionId, args: &mut [Argument<'a>]) -> Result<Value> {
        let function = &self.program[id];
        self.enter(&function.params, args);
        let flow = self.block(&function.body);
        self.leave(&function.params, args);
        Ok(match flow? {
            Flow::Return(value) => value,
            _ => Value::Nothing,
        })
    }

    /// Runs a parser (13.10) or control (14.4): the local variables are initialised at each call.
    pub(crate) fn instance(&mut self, id: InstanceId, args: &mut [Argument<'a>]) -> Result<Value> {
        let instance = &self.program[id];
        self.enter(&instance.params, args);
        let result = self.body(instance);
        self.leave(&instance.params, args);
        result.map(|()| Value::Nothing)
    }

    fn body(&mut self, instance: &'a Instance) -> Result<()> {
        self.block(&instance.locals)?;
        match &instance.body {
            InstanceBody::Parser(states) => self.parser(states, instance.span),
            InstanceBody::Control(body) => self.block(body).map(|_| ()),
        }
    }

    /// Methods of headers (8.18), unions (8.20) and stacks (8.19).
    fn builtin(&mut self, receiver: &'a Expr, method: &str, call: &'a Call) -> Result<Value> {
        if method == "isValid" {
            return Ok(Value::Bool(self.eval(receiver)?.is_valid()));
        }
        let target = self.place(receiver)?;
        let count = match call.args.first().and_then(|a| a.value.as_ref()) {
            Some(count) => usize::try_from(self.eval(count)?.small()).unwrap_or(usize::MAX),
            None => 1,
        };
        // `setValid` makes fields zero, a choice of ours (8.26), unless the header is valid already. A Tofino's invalid headers keep what is
        // written to their fields.
        let keeps = is_tofino(self.program);
        let fresh = match self.initial(&receiver.ty) {
            Value::Header { fields, .. } => Value::Header { valid: true, fields },
            other => other,
        };
        let (bytes, mut length_change) = (i64::from(self.width(&receiver.ty) / 8), 0);
        let change: Box<dyn FnOnce(&mut Value) + '_> = match method {
            "setValid" => Box::new(|header| {
                length_change = if header.is_valid() { 0 } else { bytes };
                match header {
                    Value::Header { valid, .. } if keeps => *valid = true,
                    _ if !header.is_valid() => *header = fresh,
                    _ => {}
                }
            }),
            "setInvalid" => Box::new(|header| {
                length_change = if header.is_valid() { -bytes } else { 0 };
                header.invalidate();
            }),
            "push_front" => Box::new(move |stack| push_front(stack, count)),
            "pop_front" => Box::new(move |stack| pop_front(stack, count)),
            _ => return self.fault(format!("there is no method `{method}`"), call.span),
        };
        place::change(&mut self.vars[target.var.0 as usize], &target.path, change);
        self.packet.requests.length_change += length_change;
        Ok(Value::Nothing)
    }

    /// Runs a block of the package for the architecture (17): arguments by position, those that the block changes are
    /// changed, also if a parser rejects. The architecture says what `out` parameters hold at first.
    pub(crate) fn package_block(&mut self, id: InstanceId, args: &mut [Value]) -> Result<()> {
        let params = &self.program[id].params;
        let direction = |at: usize| match params.get(at).map(|p| p.direction) {
            Some(Direction::Out | Direction::InOut) => Direction::InOut,
            _ => Direction::In,
        };
        let bind = |(at, value): (usize, &Value)| Argument {
            direction: direction(at),
            expr: None,
            place: None,
            value: value.clone(),
        };
        let mut bound: Vec<Argument<'a>> = args.iter().enumerate().map(bind).collect();
        let result = self.instance(id, &mut bound);
        for (arg, bound) in args.iter_mut().zip(bound) {
            if bound.direction == Direction::InOut {
                *arg = bound.value;
            }
        }
        match result {
            Ok(_) | Err(Stop::Exit) => Ok(()),
            Err(stop) => Err(stop),
        }
    }
}

/// The positions of arguments in the order of the text.
fn in_turn(args: &[Arg]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..args.len()).collect();
    order.sort_by_key(|at| args[*at].turn);
    order
}

/// `push_front`, as its pseudocode says (8.19).
fn push_front(stack: &mut Value, count: usize) {
    let Value::Stack { next, elements } = stack else { return };
    for at in (0..elements.len()).rev() {
        if at >= count {
            elements[at] = elements[at - count].clone();
        } else {
            elements[at].invalidate();
        }
    }
    *next = next.saturating_add(count).min(elements.len());
}

/// `pop_front`, as its pseudocode says (8.19).
fn pop_front(stack: &mut Value, count: usize) {
    let Value::Stack { next, elements } = stack else { return };
    for at in 0..elements.len() {
        match elements.get(at.saturating_add(count)).cloned() {
            Some(element) => elements[at] = element,
            None => elements[at].invalidate(),
        }
    }
    *next = next.saturating_sub(count);
}
