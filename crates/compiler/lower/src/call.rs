//! Inlining of functions, actions and controls. Parameters are copied only if the difference to an alias could be
//! observed.

use std::collections::HashSet;

use hopwright_sema::hir;
use hopwright_source::Span;

use crate::access::{Outside, same_path};
use crate::storage::{Loc, Place, Purpose};
use crate::value::{Target, Value, reads_slots};
use crate::{Binding, Frame, Lowering, Result};
use hopwright_ir::walk;
use hopwright_ir::{Block, Expr, ExprKind, SlotId, StmtKind};
use hopwright_opt::simplify;

/// The source of a parameter's value.
#[derive(Clone, Copy)]
pub(crate) enum Given<'a> {
    /// An argument, with its [`hir::Arg::turn`] in the order of evaluation.
    Expr(&'a hir::Expr, usize),
    /// A data parameter of the table's action.
    Data(u32),
    /// There is no argument; an out parameter's value is discarded.
    Omitted,
}

impl<'a> Given<'a> {
    /// The turn of an argument; what is not given comes last.
    fn turn(given: &[Given<'_>], at: usize) -> usize {
        match given.get(at) {
            Some(Given::Expr(_, turn)) => *turn,
            _ => usize::MAX,
        }
    }

    fn of(arg: &'a hir::Arg) -> Given<'a> {
        arg.value.as_ref().map_or(Given::Omitted, |value| Given::Expr(value, arg.turn))
    }
}

/// An argument after evaluation.
enum Argument {
    Value(Value),
    /// Where an out or inout argument is, and its value if the evaluation of later arguments may change it.
    Target(Target, Option<Value>),
    Object(hir::ObjectId),
    Nothing,
}

impl Lowering<'_> {
    /// Lowers a call and returns its result, if any. `ty` is the type of the result if the result is used.
    pub(crate) fn call(&mut self, call: &hir::Call, ty: Option<&hir::Type>) -> Result<Option<Value>> {
        match &call.callee {
            hir::Callee::Function(id) => {
                let given: Vec<Given<'_>> = call.args.iter().map(Given::of).collect();
                self.inline_function(*id, &given, call.span)
            }
            hir::Callee::Instance(id) => {
                self.apply_instance(*id, call)?;
                Ok(None)
            }
            hir::Callee::Table(id) => {
                self.apply(*id, None, None, call.span)?;
                Ok(None)
            }
            hir::Callee::ExternFunction(name) => self.extern_function(name, call, ty),
            hir::Callee::Method(object, name) => self.extern_method(*object, name, call, ty),
            hir::Callee::ParameterMethod(var, name) => match self.object_of(*var) {
                Some(object) => self.extern_method(object, name, call, ty),
                None => Err(self.unsupported(call.span, "a method of what is no extern object")),
            },
            hir::Callee::Packet(name) => self.packet_method(name, call, ty),
            hir::Callee::Builtin(receiver, name) => self.builtin(receiver, name, call),
        }
    }

    /// Inlines a function or action.
    pub(crate) fn inline_function(
        &mut self,
        id: hir::FunctionId,
        given: &[Given<'_>],
        span: Span,
    ) -> Result<Option<Value>> {
        self.check_size(span)?;
        let function = &self.program[id];
        let outside = self.outside(id);
        let scope = format!("{}.{}", self.scope, function.name);
        let outer_scope = std::mem::replace(&mut self.scope, scope);
        let cached = std::mem::replace(&mut self.cached, false);
        let result = self.inline_function_body(function, given, &outside, span);
        self.cached = cached;
        self.scope = outer_scope;
        result
    }

    fn inline_function_body(
        &mut self,
        function: &hir::Function,
        given: &[Given<'_>],
        outside: &Outside<'_>,
        span: Span,
    ) -> Result<Option<Value>> {
        let copy_outs = self.bind(&function.params, given, outside, false, span)?;
        let result = match &function.result {
            hir::Type::Void => None,
            ty => {
                let name = format!("{}.$result", self.scope);
                Some(self.alloc(ty, &name, Purpose::Local, function.span)?)
            }
        };
        self.body(&function.body, copy_outs, result.clone(), span)?;
        Ok(result.map(|place| Value::Loc(Loc::Place(place))))
    }

    /// Lowers a body with its own `return` scope, and the copies of its out parameters at the end.
    pub(crate) fn body(
        &mut self,
        stmts: &[hir::Stmt],
        copy_outs: Vec<(Target, Place)>,
        result: Option<Place>,
        span: Span,
    ) -> Result<()> {
        let label = self.label();
        let loops = std::mem::take(&mut self.loops);
        self.frames.push(Frame { copy_outs, label, result });
        let block = self.nested(|this| {
            this.stmts(stmts);
            Ok(())
        });
        let frame = self.frames.pop();
        self.loops = loops;
        self.scoped(label, block?, span);
        for (target, place) in frame.map(|f| f.copy_outs).unwrap_or_default() {
            self.store(&target, Value::Loc(Loc::Place(place)), span)?;
        }
        Ok(())
    }

    /// Emits a body that may leave to `label`, in a scope if one is needed.
    pub(crate) fn scoped(&mut self, label: u32, mut body: Block, span: Span) {
        simplify::strip_tail(&mut body, label);
        let mut left = false;
        walk::stmts(&body, &mut |s| left |= matches!(s.kind, StmtKind::Leave(l) if l == label));
        if left {
            self.emit(StmtKind::Scope { label, body }, span);
        } else {
            self.block.append(&mut body);
        }
    }

    /// Applies a sub-control, or inlines a sub-parser.
    fn apply_instance(&mut self, id: hir::InstanceId, call: &hir::Call) -> Result<()> {
        self.check_size(call.span)?;
        let instance = &self.program[id];
        let given: Vec<Given<'_>> = call.args.iter().map(Given::of).collect();
        let sites = self.applications.get(&id).cloned().unwrap_or_default();
        let several = sites.len() > 1;
        // The instance's tables refer to its parameters, which must therefore have the same storage at all
        // applications.
        let fixed = several
            && matches!(instance.body, hir::InstanceBody::Control(_))
            && !sites.iter().all(|site| same_arguments(site, call));
        let scope = std::mem::replace(&mut self.scope, instance.name.clone());
        let cached = std::mem::replace(&mut self.cached, true);
        let repeats = self.repeats;
        self.repeats |= several;
        let result = match &instance.body {
            hir::InstanceBody::Control(stmts) => {
                let bound = self.bind(&instance.params, &given, &Outside::default(), fixed, call.span);
                bound.and_then(|copy_outs| {
                    self.stmts(&instance.locals);
                    self.body(stmts, copy_outs, None, call.span)
                })
            }
            hir::InstanceBody::Parser(_) => {
                let bound = self.bind(&instance.params, &given, &Outside::default(), false, call.span);
                bound.and_then(|copy_outs| self.inline_parser(id, copy_outs, call.span))
            }
        };
        self.repeats = repeats;
        self.cached = cached;
        self.scope = scope;
        result
    }

    /// Evaluates arguments and binds parameters. Returns the copies to make at the end of the body, in the order of the arguments in the
    /// source (P4-16 6.8, step 6).
    ///
    /// A parameter is an alias of its argument if the difference cannot be observed: it overlaps no other parameter,
    /// and nothing outside of the body that the body accesses. With `fixed` it is always a copy.
    fn bind(
        &mut self,
        params: &[hir::Param],
        given: &[Given<'_>],
        outside: &Outside<'_>,
        fixed: bool,
        span: Span,
    ) -> Result<Vec<(Target, Place)>> {
        let arguments = self.arguments(params, given)?;
        let mut touched = HashSet::new();
        let mut changed = HashSet::new();
        for (paths, changes) in [(&outside.reads, false), (&outside.writes, true)] {
            for path in paths {
                let mut slots = Vec::new();
                self.path_slots(path, &mut slots);
                if changes {
                    changed.extend(slots.iter().copied());
                }
                touched.extend(slots);
            }
        }
        let targets: Vec<HashSet<SlotId>> = arguments
            .iter()
            .map(|a| match a {
                Argument::Target(target, _) => self.target_slots(target),
                _ => HashSet::new(),
            })
            .collect();
        let mut turns = Vec::new();
        let mut copy_outs = Vec::new();
        let mut bindings = Vec::new();
        // Out parameters start at zero, once all arguments have been evaluated.
        let mut zeroed = Vec::new();
        for (i, (param, argument)) in params.iter().zip(arguments).enumerate() {
            match argument {
                Argument::Value(value) => {
                    let binding = self.bind_value(param.var, value, &targets, &changed, fixed, span)?;
                    bindings.push((param.var, binding));
                }
                Argument::Target(target, saved) => {
                    let alone = targets.iter().enumerate().all(|(j, t)| i == j || t.is_disjoint(&targets[i]))
                        && targets[i].is_disjoint(&touched);
                    let alias = alone && !fixed && saved.is_none();
                    let place = self.bind_target(param, target, saved, alias, &mut copy_outs, span)?;
                    turns.resize(copy_outs.len(), Given::turn(given, i));
                    bindings.push((param.var, Binding::Loc(Loc::Place(place.clone()))));
                    if param.direction == hir::Direction::Out {
                        zeroed.push(place);
                    }
                }
                Argument::Object(id) => {
                    // Functions are inlined separately for each call.
                    let before = self.table_objects.get(&param.var).filter(|_| self.cached);
                    if before.is_some_and(|before| *before != id) {
                        let name = self.program[param.var].name.clone();
                        let message = format!(
                            "actions of tables use `{name}`, which is another object where this was applied before: \
                             make an instance for each object"
                        );
                        return Err(self.refuse(span, "E0459", message));
                    }
                    bindings.push((param.var, Binding::Object(id)));
                }
                Argument::Nothing => {
                    if !matches!(self.program[param.var].ty, hir::Type::Extern(_)) {
                        let place = self.parameter_storage(param.var)?;
                        self.zero(&place, span)?;
                        bindings.push((param.var, Binding::Loc(Loc::Place(place))));
                    }
                }
            }
        }
        for place in zeroed {
            self.zero(&place, span)?;
        }
        self.env.extend(bindings);
        let mut ordered: Vec<_> = turns.into_iter().zip(copy_outs).collect();
        ordered.sort_by_key(|(turn, _)| *turn);
        Ok(ordered.into_iter().map(|(_, copy)| copy).collect())
    }

    /// Returns the storage of an out or inout parameter: its argument's with `alias`, or that of a copy, which then has the
    /// argument's value.
    fn bind_target(
        &mut self,
        param: &hir::Param,
        target: Target,
        saved: Option<Value>,
        alias: bool,
        copy_outs: &mut Vec<(Target, Place)>,
        span: Span,
    ) -> Result<Place> {
        if let Some(place) = target.whole_place().filter(|_| alias).cloned() {
            // Copying out to a member of a union invalidates the other members, whatever the body does.
            if matches!(place, Place::Header(h) if !self.siblings(h).is_empty()) {
                copy_outs.push((target, place.clone()));
            }
            return Ok(place);
        }
        let place = self.parameter_storage(param.var)?;
        // Fields of headers are left as they are where an out parameter begins, as in the storage of the argument.
        let mut headers = Vec::new();
        self.headers_in(&place, &mut headers);
        if param.direction == hir::Direction::InOut || !headers.is_empty() {
            let value = match saved {
                Some(value) => value,
                None => self.target_value(&target, span)?,
            };
            self.store_loc(&Loc::Place(place.clone()), value, span)?;
        }
        copy_outs.push((target, place.clone()));
        Ok(place)
    }

    /// Returns the slots that writing to a target may change.
    fn target_slots(&self, target: &Target) -> HashSet<SlotId> {
        let mut slots = Vec::new();
        self.assigned_slots(&target.loc, &mut slots);
        slots.into_iter().collect()
    }

    /// Returns the value of an inout argument that has just been evaluated, if one of the arguments that are evaluated later
    /// may change it (P4-16 6.8).
    pub(crate) fn saved<'e>(
        &mut self,
        target: &Target,
        later: impl Iterator<Item = &'e hir::Expr>,
        span: Span,
    ) -> Result<Option<Value>> {
        let mut later = later.filter(|e| self.has_effects(e)).peekable();
        if later.peek().is_none() {
            return Ok(None);
        }
        let slots = self.target_slots(target);
        if !later.any(|e| self.may_change(e, &slots)) {
            return Ok(None);
        }
        let value = self.target_value(target, span)?;
        self.freeze_value(value, span).map(Some)
    }

    /// Evaluates arguments in source order. Each keeps its value despite the effects of later ones.
    fn arguments(&mut self, params: &[hir::Param], given: &[Given<'_>]) -> Result<Vec<Argument>> {
        let turn_of = |i: usize| Given::turn(given, i);
        let mut order: Vec<usize> = (0..params.len()).collect();
        order.sort_by_key(|i| turn_of(*i));
        let mut arguments: Vec<Argument> = params.iter().map(|_| Argument::Nothing).collect();
        for i in order {
            let param = &params[i];
            let turn = turn_of(i);
            let later = given.iter().any(|g| matches!(g, Given::Expr(e, t) if *t > turn && self.has_effects(e)));
            let out = matches!(param.direction, hir::Direction::Out | hir::Direction::InOut);
            let declared = &self.program[param.var];
            let argument = match given.get(i).copied().unwrap_or(Given::Omitted) {
                Given::Expr(e, _) if matches!(declared.ty, hir::Type::Extern(_)) => match &e.kind {
                    hir::ExprKind::Object(id) => Argument::Object(*id),
                    hir::ExprKind::Var(var) => self.object_of(*var).map_or(Argument::Nothing, Argument::Object),
                    _ => Argument::Nothing,
                },
                Given::Omitted => Argument::Nothing,
                Given::Data(index) => {
                    let Some(ty) = self.scalar_type(&declared.ty) else {
                        return Err(self.unsupported(declared.span, "action data of this type"));
                    };
                    Argument::Value(Value::Scalar(Expr { kind: ExprKind::Param(index), ty, span: declared.span }))
                }
                Given::Expr(e, _) if out => {
                    let target = self.target(e)?;
                    let loc = self.freeze_loc(target.loc);
                    let target = Target { loc, slice: target.slice };
                    let saved = match param.direction {
                        hir::Direction::InOut => {
                            let after = given.iter().filter_map(|g| match g {
                                Given::Expr(e, t) if *t > turn => Some(*e),
                                _ => None,
                            });
                            self.saved(&target, after, e.span)?
                        }
                        _ => None,
                    };
                    Argument::Target(target, saved)
                }
                Given::Expr(e, _) => {
                    let value = self.value(e)?;
                    Argument::Value(if later { self.freeze_value(value, e.span)? } else { value })
                }
            };
            arguments[i] = argument;
        }
        Ok(arguments)
    }

    /// Returns the extern object that a parameter stands for; none for packets.
    fn object_of(&mut self, var: hir::VarId) -> Option<hir::ObjectId> {
        let Some(&Binding::Object(id)) = self.env.get(&var) else { return None };
        if self.in_table {
            self.table_objects.insert(var, id);
        }
        Some(id)
    }

    fn bind_value(
        &mut self,
        var: hir::VarId,
        value: Value,
        targets: &[HashSet<SlotId>],
        changed: &HashSet<SlotId>,
        fixed: bool,
        span: Span,
    ) -> Result<Binding> {
        let direct = match &value {
            Value::Scalar(e) => !reads_slots(e) || matches!(e.kind, ExprKind::Slot(_)),
            Value::Loc(Loc::Place(_)) => true,
            _ => false,
        };
        if direct && !fixed {
            let mut slots = Vec::new();
            self.value_slots(&value, &mut slots);
            if slots.iter().all(|s| !changed.contains(s) && targets.iter().all(|t| !t.contains(s))) {
                return Ok(Binding::Value(value));
            }
        }
        let place = self.parameter_storage(var)?;
        self.store_loc(&Loc::Place(place.clone()), value, span)?;
        Ok(Binding::Loc(Loc::Place(place)))
    }

    /// Allocates storage for a parameter's copy, without binding the parameter yet.
    fn parameter_storage(&mut self, var: hir::VarId) -> Result<Place> {
        if let Some(place) = self.shared.get(&var) {
            return Ok(place.clone());
        }
        let declared = &self.program[var];
        let name = format!("{}.{}", self.scope, declared.name);
        let place = self.alloc(&declared.ty, &name, Purpose::Local, declared.span)?;
        if self.cached {
            self.shared.insert(var, place.clone());
        }
        Ok(place)
    }

    /// Returns the current value of a target.
    pub(crate) fn target_value(&mut self, target: &Target, span: Span) -> Result<Value> {
        match target.slice {
            None => Ok(Value::Loc(target.loc.clone())),
            Some((hi, lo)) => {
                let arg = Box::new(self.read(&target.loc, span)?);
                let ty = hopwright_ir::Type::Bits(hi - lo + 1);
                Ok(Value::Scalar(Expr { kind: ExprKind::Slice { arg, hi, lo }, ty, span }))
            }
        }
    }
}

fn same_arguments(a: &hir::Call, b: &hir::Call) -> bool {
    a.args.iter().zip(&b.args).all(|(a, b)| match (&a.value, &b.value) {
        (Some(a), Some(b)) => same_path(a, b) || matches!(a.ty, hir::Type::Extern(_)),
        (None, None) => true,
        _ => false,
    })
}
