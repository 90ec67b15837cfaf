//! Calls: functions and actions, parsers and controls, tables, methods.

use std::collections::HashSet;
use std::rc::Rc;

use hopwright_sema::hir::*;

use super::eval::Values;
use super::place::{PlaceId, Root};
use super::report::{Found, Kind, Outcome};
use super::state::{Fact, ParserPath, State, tidy};
use super::{Flow, Start};

/// One outcome of applying a table.
pub(super) struct Ran {
    pub action: FunctionId,
    pub hit: bool,
    pub state: State,
}

impl<'p> Flow<'p> {
    /// A call whose result is a scalar.
    pub(super) fn call_value(&mut self, s: State, call: &'p Call) -> Values {
        let mut out = Vec::new();
        for (mut s, result) in self.call(s, call) {
            let value = result.and_then(|p| match s.get(p) {
                Some(Fact::Is(v)) => Some(*v),
                _ => None,
            });
            if let Some(p) = result {
                self.forget(&mut s, p);
            }
            out.push((s, value));
        }
        out
    }

    /// The paths after a call, with the place of its result if facts about it are known.
    pub(super) fn call(&mut self, s: State, call: &'p Call) -> Vec<(State, Option<PlaceId>)> {
        let plain = |states: Vec<State>| states.into_iter().map(|s| (s, None)).collect();
        match &call.callee {
            Callee::Function(f) => self.function(s, *f, call),
            Callee::Instance(i) => plain(self.instance_call(s, *i, call)),
            Callee::Table(t) => plain(tidy(self.paths, self.apply(s, *t).into_iter().map(|r| r.state).collect())),
            Callee::Builtin(receiver, method) => plain(self.builtin(s, receiver, method, call)),
            Callee::Packet(method) => plain(self.packet(s, method, call)),
            Callee::ExternFunction(name) => plain(self.extern_function(s, name, call)),
            Callee::Method(..) | Callee::ParameterMethod(..) => plain(self.extern_call(vec![s], call)),
        }
    }

    fn in_turn(call: &'p Call) -> Vec<&'p Arg> {
        let mut args: Vec<&Arg> = call.args.iter().collect();
        args.sort_by_key(|a| a.turn);
        args
    }

    /// Reads `in` arguments, and drops facts about `out` arguments.
    fn extern_call(&mut self, mut states: Vec<State>, call: &'p Call) -> Vec<State> {
        let args = Self::in_turn(call);
        for arg in &args {
            let Some(value) = &arg.value else { continue };
            states = match arg.direction {
                Direction::Out => states.into_iter().flat_map(|s| self.indexes(s, value)).collect(),
                _ => self.each(states, value),
            };
        }
        for s in &mut states {
            for arg in &args {
                if let (Direction::Out | Direction::InOut, Some(value)) = (arg.direction, &arg.value) {
                    self.written(s, value);
                }
            }
        }
        states
    }

    fn builtin(&mut self, s: State, receiver: &'p Expr, method: &str, call: &'p Call) -> Vec<State> {
        let states = self.indexes(s, receiver);
        let mut states = self.extern_call(states, call);
        for s in &mut states {
            match (self.place(s, receiver), method) {
                (Some(p), "setValid") => {
                    self.note_early_writes(s, p, receiver.span);
                    self.set_validity(s, p, true);
                }
                (Some(p), "setInvalid") => self.set_validity(s, p, false),
                (_, "isValid") => {}
                // The elements move.
                _ => self.written(s, receiver),
            }
        }
        states
    }

    fn packet(&mut self, s: State, method: &str, call: &'p Call) -> Vec<State> {
        match method {
            "emit" => vec![s],
            "extract" => {
                let mut out = Vec::new();
                let args = Self::in_turn(call);
                let Some(target) = args.first().and_then(|a| a.value.as_ref()) else { return vec![s] };
                let mut states = self.indexes(s, target);
                for arg in args.iter().skip(1).filter_map(|a| a.value.as_ref()) {
                    states = self.each(states, arg);
                }
                for mut s in states {
                    if let ExprKind::StackNext(stack) = &target.kind
                        && let Some(stack) = self.place(&s, stack)
                        && let Some(Fact::Next(n)) = s.get(stack).cloned()
                    {
                        // An element beyond the stack ends the parser.
                        let Some(element) = self.place(&s, target) else { continue };
                        self.set_validity(&mut s, element, true);
                        s.set(stack, Fact::Next(n + 1));
                    } else {
                        match self.place(&s, target) {
                            Some(p) if matches!(self.places.ty(p), Type::Header(_)) => {
                                self.set_validity(&mut s, p, true)
                            }
                            _ => self.written(&mut s, target),
                        }
                    }
                    out.push(s);
                }
                out
            }
            _ => self.extern_call(vec![s], call),
        }
    }

    fn extern_function(&mut self, s: State, name: &str, call: &'p Call) -> Vec<State> {
        let first = call.args.first().and_then(|a| a.value.as_ref());
        match (name, first) {
            // A false condition ends the packet's path, or is asserted not to occur.
            ("verify" | "assert" | "assume", Some(condition)) => self.cond(s, condition).0,
            ("static_assert" | "log_msg" | "isValid", _) => self.extern_call(vec![s], call),
            // The data does not matter where the condition is false.
            (
                "verify_checksum" | "update_checksum" | "verify_checksum_with_payload" | "update_checksum_with_payload",
                Some(condition),
            ) => {
                let (yes, mut no) = self.cond(s, condition);
                for arg in call.args.iter().filter(|a| matches!(a.direction, Direction::InOut | Direction::Out)) {
                    if let Some(target) = &arg.value
                        && let Some(p) = no.first().and_then(|s| self.place(s, target))
                    {
                        no.iter_mut().for_each(|s| s.forget(p));
                    }
                }
                let mut states = Vec::new();
                for s in yes {
                    states.extend(self.checksum(s, call));
                }
                states.extend(no);
                tidy(self.paths, states)
            }
            (_, Some(standard))
                if self.program.architecture().is_some_and(|a| a.drop.as_ref().is_some_and(|d| d.function == name)) =>
            {
                let mut s = s;
                if let Some(place) = self.place(&s, standard) {
                    self.dropped(&mut s, place);
                }
                vec![s]
            }
            _ => self.extern_call(vec![s], call),
        }
    }

    /// The checksum itself is written; reading it for comparison does not count.
    fn checksum(&mut self, s: State, call: &'p Call) -> Vec<State> {
        let mut states = vec![s];
        for arg in call.args.iter().skip(1) {
            let Some(value) = &arg.value else { continue };
            if matches!(arg.direction, Direction::InOut | Direction::Out) {
                states.iter_mut().for_each(|s| self.written(s, value));
            } else {
                states = self.each(states, value);
            }
        }
        states
    }

    /// Copies arguments in.
    fn copy_in(&mut self, s: State, params: &'p [Param], args: &[(usize, &'p Expr)]) -> Vec<State> {
        let mut states = vec![s];
        for (i, value) in args {
            let param = &params[*i];
            let place = self.places.var(param.var);
            if matches!(self.program[param.var].ty, Type::Extern(_)) {
                continue;
            }
            states = match param.direction {
                Direction::Out => states.into_iter().flat_map(|s| self.indexes(s, value)).collect(),
                // The callee may assign the argument first: only its own reads count.
                Direction::InOut => {
                    let mut out = Vec::new();
                    for s in states {
                        for mut s in self.indexes(s, value) {
                            match self.place(&s, value) {
                                Some(from) => self.copy(&mut s, from, place),
                                None => self.forget(&mut s, place),
                            }
                            out.push(s);
                        }
                    }
                    out
                }
                _ => states.into_iter().flat_map(|s| self.assign(s, Some(place), value)).collect(),
            };
        }
        for param in params.iter().filter(|p| p.direction == Direction::Out) {
            let place = self.places.var(param.var);
            for s in &mut states {
                self.start(s, place, Start::Unset);
            }
        }
        states
    }

    /// Copies parameters out, and ends their life.
    fn copy_out(&mut self, states: &mut [State], params: &'p [Param], args: &[(usize, &'p Expr)]) {
        for s in states.iter_mut() {
            for (i, target) in args {
                let param = &params[*i];
                if !matches!(param.direction, Direction::Out | Direction::InOut) {
                    continue;
                }
                let from = self.places.var(param.var);
                match self.place(s, target) {
                    Some(to) => self.copy(s, from, to),
                    None => self.written(s, target),
                }
            }
            for param in params {
                self.gone(s, param.var);
            }
        }
    }

    /// Records `out` parameters without a value at the end.
    pub(super) fn check_out(&mut self, states: &[State], params: &'p [Param]) {
        for param in params.iter().filter(|p| p.direction == Direction::Out) {
            let place = self.places.var(param.var);
            let mut inner = Vec::new();
            self.places.all(place, &mut inner);
            inner.retain(|p| !matches!(self.places.ty(*p), Type::Struct(_) | Type::Header(_) | Type::Union(_)));
            inner.retain(|p| self.places.header_of(*p).is_none());
            for p in inner {
                for s in states {
                    let outcome = match s.get(p) {
                        Some(Fact::Unset) if s.vague => Outcome::Doubtful,
                        Some(Fact::Unset) => Outcome::Bad,
                        _ => Outcome::Good,
                    };
                    let (name, at) = (self.places.show(p), self.program[param.var].span);
                    self.findings.note(Kind::OutParam, at, Found { span: at, name, declared: None }, outcome, None);
                }
            }
        }
    }

    fn function(&mut self, s: State, f: FunctionId, call: &'p Call) -> Vec<(State, Option<PlaceId>)> {
        let mut args: Vec<(usize, &Arg)> = call.args.iter().enumerate().collect();
        args.sort_by_key(|(_, a)| a.turn);
        let args: Vec<(usize, &Expr)> = args.into_iter().filter_map(|(i, a)| Some((i, a.value.as_ref()?))).collect();
        let states = self.run_function(vec![s], f, &args);
        let function = &self.program[f];
        let result = (function.result != Type::Void).then(|| self.places.root(Root::Result(f), &function.result));
        states.into_iter().map(|s| (s, result)).collect()
    }

    fn run_function(&mut self, states: Vec<State>, f: FunctionId, args: &[(usize, &'p Expr)]) -> Vec<State> {
        if !self.down() {
            self.up();
            return states;
        }
        let function: &'p Function = &self.program[f];
        let mut entered = Vec::new();
        for s in states {
            entered.extend(self.copy_in(s, &function.params, args));
        }
        let result = self.places.root(Root::Result(f), &function.result);
        self.results.push(result);
        let before = std::mem::take(&mut self.exited);
        let paths = self.block(tidy(self.paths, entered), &function.body);
        self.results.pop();
        let mut exited = std::mem::replace(&mut self.exited, before);
        let mut states = tidy(self.paths, [paths.next, paths.left].concat());
        self.check_out(&states, &function.params);
        self.copy_out(&mut states, &function.params, args);
        self.copy_out(&mut exited, &function.params, args);
        self.exited.extend(exited);
        self.up();
        tidy(self.paths, states)
    }

    fn instance_call(&mut self, s: State, id: InstanceId, call: &'p Call) -> Vec<State> {
        if !self.down() {
            self.up();
            return vec![s];
        }
        let mut args: Vec<(usize, &Arg)> = call.args.iter().enumerate().collect();
        args.sort_by_key(|(_, a)| a.turn);
        let args: Vec<(usize, &Expr)> = args.into_iter().filter_map(|(i, a)| Some((i, a.value.as_ref()?))).collect();
        let instance: &'p Instance = &self.program[id];
        let entered = self.copy_in(s, &instance.params, &args);
        let before = std::mem::take(&mut self.exited);
        let mut states = self.run_instance(entered, id);
        let mut exited = std::mem::replace(&mut self.exited, before);
        self.check_out(&states, &instance.params);
        self.copy_out(&mut states, &instance.params, &args);
        self.copy_out(&mut exited, &instance.params, &args);
        self.exited.extend(exited);
        self.up();
        tidy(self.paths, states)
    }

    /// Analyses a parser or control whose parameters have been copied in.
    pub(super) fn run_instance(&mut self, states: Vec<State>, id: InstanceId) -> Vec<State> {
        let instance: &'p Instance = &self.program[id];
        let mut paths = self.stmts(states, &instance.locals);
        let states = std::mem::take(&mut paths.next);
        let mut states = match &instance.body {
            InstanceBody::Control(body) => {
                let paths = self.block(states, body);
                [paths.next, paths.left].concat()
            }
            InstanceBody::Parser(list) => self.parser(states, list),
        };
        let mut exited = std::mem::take(&mut self.exited);
        for s in states.iter_mut().chain(&mut exited) {
            for stmt in &instance.locals {
                if let StmtKind::Declare(var, _) = &stmt.kind {
                    self.gone(s, *var);
                }
            }
        }
        self.exited = exited;
        tidy(self.paths, states)
    }

    fn parser(&mut self, states: Vec<State>, list: &'p [hopwright_sema::hir::State]) -> Vec<State> {
        let Some(start) = list.iter().position(|s| s.name == "start") else { return states };
        let mut accepted = Vec::new();
        let mut seen: Vec<HashSet<State>> = vec![HashSet::new(); list.len()];
        // The meet of the paths that exceed a parser state's bound.
        let mut common: Vec<Option<State>> = vec![None; list.len()];
        let mut todo: Vec<(usize, State)> = states.into_iter().map(|s| (start, s)).collect();
        while let Some((i, mut s)) = todo.pop() {
            if seen[i].len() >= self.paths && !seen[i].contains(&s) {
                s.forget_values();
            }
            if seen[i].len() >= self.paths + 4 && !seen[i].contains(&s) {
                match &mut common[i] {
                    Some(c) => c.meet(&s),
                    None => common[i] = Some(s.clone()),
                }
                s = common[i].clone().unwrap_or(s);
            }
            if !seen[i].insert(s.clone()) {
                continue;
            }
            if self.gave_up {
                break;
            }
            s.parser_path = Some(Rc::new(ParserPath { state: list[i].name.clone(), before: s.parser_path.take() }));
            let paths = self.block(vec![s], &list[i].body);
            for s in paths.next {
                for (target, s) in self.transition(s, &list[i].transition) {
                    match target {
                        StateRef::State(i) => todo.push((i, s)),
                        StateRef::Accept => accepted.push(s),
                        StateRef::Reject => {}
                    }
                }
            }
        }
        tidy(self.paths, accepted)
    }

    fn transition(&mut self, s: State, transition: &'p Transition) -> Vec<(StateRef, State)> {
        let (keys, cases) = match transition {
            Transition::Goto(target) => return vec![(*target, s)],
            Transition::Select { keys, cases, .. } => (keys, cases),
        };
        let mut values: Vec<(State, Vec<Option<i128>>)> = vec![(s, Vec::new())];
        for key in keys {
            self.here = key.span;
            let mut more = Vec::new();
            for (s, known) in values {
                for (s, v) in self.eval(s, key) {
                    more.push((s, [known.as_slice(), &[v]].concat()));
                }
            }
            values = more;
        }
        let mut out = Vec::new();
        for (s, known) in values {
            let mut rest = vec![s];
            for case in cases {
                let mut others = Vec::new();
                for s in std::mem::take(&mut rest) {
                    if let [Set::ValueSet(_)] = case.sets.as_slice() {
                        out.push((case.target, s.clone()));
                        others.push(s);
                        continue;
                    }
                    let mut here = vec![s.clone()];
                    let mut exact = true;
                    let mut not = Vec::new();
                    for ((set, key), value) in case.sets.iter().zip(keys).zip(&known) {
                        let mut all = Vec::new();
                        for s in here {
                            let (yes, no) = self.in_set(s, key, *value, set);
                            all.extend(yes);
                            exact &= no.is_empty();
                            not.extend(no);
                        }
                        here = all;
                    }
                    out.extend(here.into_iter().map(|s| (case.target, s)));
                    match keys.len() {
                        1 => others.extend(not),
                        _ if exact => {}
                        _ => others.push(s),
                    }
                }
                rest = others;
            }
        }
        out
    }

    /// Applies a table: reads its keys, then runs any of its actions.
    pub(super) fn apply(&mut self, s: State, id: TableId) -> Vec<Ran> {
        if !self.down() {
            self.up();
            return Vec::new();
        }
        let table: &'p Table = &self.program[id];
        let muted = self.muted.len();
        for key in &table.keys {
            if let ExprKind::Call(call) = &key.expr.kind
                && let Callee::Builtin(receiver, _) = &call.callee
                && let Some(p) = self.place(&s, receiver)
            {
                self.muted.push(p);
            }
        }
        let mut states = vec![s];
        for key in &table.keys {
            if matches!(&key.expr.kind, ExprKind::Call(call) if matches!(call.callee, Callee::Builtin(..))) {
                continue;
            }
            let here = std::mem::replace(&mut self.here, key.expr.span);
            self.in_key = true;
            states = self.each(states, &key.expr);
            self.in_key = false;
            self.here = here;
        }
        let mut out = Vec::new();
        let chosen = !table.keys.is_empty();
        let default = table.default_action.function;
        let by_entries: HashSet<FunctionId> = table.entries.iter().map(|e| e.action.function).collect();
        for action in &table.actions {
            let marked = |name: &str| action.annotations.iter().any(|a| a.name == name);
            let function = action.action.function;
            let is_default = function == default;
            if marked("defaultonly") && !is_default {
                continue;
            }
            // Without keys only the default action runs, which a controller may choose.
            if !chosen && !is_default && (table.const_default_action || marked("tableonly")) {
                continue;
            }
            let const_entry = !table.const_entries || by_entries.contains(&function);
            if chosen && !marked("defaultonly") && const_entry {
                self.by_entries += 1;
                let after = self.run_action(states.clone(), &action.action);
                self.by_entries -= 1;
                out.extend(after.into_iter().map(|state| Ran { action: function, hit: true, state }));
            } else if !chosen && !is_default {
                let after = self.run_action(states.clone(), &action.action);
                out.extend(after.into_iter().map(|state| Ran { action: function, hit: false, state }));
            }
        }
        let after = self.run_action(states, &table.default_action);
        out.extend(after.into_iter().map(|state| Ran { action: default, hit: false, state }));
        self.muted.truncate(muted);
        self.up();
        out
    }

    fn run_action(&mut self, states: Vec<State>, action: &'p ActionRef) -> Vec<State> {
        let args: Vec<(usize, &Expr)> =
            action.args.iter().enumerate().filter_map(|(i, a)| Some((i, a.as_ref()?))).collect();
        self.run_function(states, action.function, &args)
    }
}
