//! Statements of controls, actions, functions and parser states.

use crate::{Architecture, Callable, Direction, Generator, Place, Ty};

const DEPTH: usize = 3;

impl Generator {
    /// About `count` statements in a scope of their own.
    pub(crate) fn statements(&mut self, count: usize) {
        let (scope, nesting) = (self.scope.len(), self.indent);
        let (headers, records) = (self.visible.len(), self.records.len());
        let mut left = count;
        while left > 0 {
            left = left.saturating_sub(self.statement(left, nesting < 7));
        }
        self.scope.truncate(scope);
        self.visible.truncate(headers);
        self.records.truncate(records);
    }

    /// One statement of at most about `budget`; returns how many it was.
    fn statement(&mut self, budget: usize, nest: bool) -> usize {
        if self.chosen_statement() {
            return 1;
        }
        match self.random.below(if self.config.traffic { 27 } else { 26 }) {
            0 | 1 => self.local(),
            2 | 3 if nest && budget > 2 => return self.branch(budget),
            4 if nest && budget > 3 && self.place != Place::Parser => return self.switch(budget),
            5 if self.place == Place::Control && !self.tables.is_empty() => return self.apply(budget),
            6 if self.header_statement() => {}
            7 if self.stack_statement() => {}
            8 if self.state_statement() => {}
            9 if self.config.loops && nest && budget > 3 && self.place != Place::Parser && self.loops < 2 => {
                return self.any_loop(budget);
            }
            10 if self.call() => {}
            11 if self.config.extensions && self.random.one_in(3) && self.adjust_checksum() => {}
            11 if self.hash() => {}
            12 if self.leave() => {}
            15 if self.varbit_statement() => {}
            16 if self.assertion() => {}
            17 if self.apply_nested() => return 3,
            18 if self.aggregate_statement() => {}
            19 if self.array_statement() => {}
            26 if self.traffic_statement() => {}
            13 => self.slice_assignment(),
            14 => self.compound_assignment(),
            _ => self.assignment(),
        }
        1
    }

    /// Now and then a statement of the kinds that a configuration asks for beside the usual ones.
    fn chosen_statement(&mut self) -> bool {
        type Kind = fn(&mut Generator) -> bool;
        let config = &self.config;
        let kinds: [(bool, Kind); 4] = [
            (config.aliasing, Generator::overlapping_call),
            (config.generics, Generator::generic_call),
            (config.union_stacks, Generator::union_stack_statement),
            (config.indexed_targets, Generator::indexed_assignment),
        ];
        let kinds: Vec<Kind> = kinds.into_iter().filter(|k| k.0).map(|k| k.1).collect();
        !kinds.is_empty() && self.random.one_in(3) && self.random.pick(&kinds)(self)
    }

    pub(crate) fn local(&mut self) {
        let ty = self.some_type();
        self.local_of(ty);
    }

    fn local_of(&mut self, ty: Ty) -> String {
        let name = self.name("x");
        let value = self.expr(ty, DEPTH);
        self.line(format!("{ty} {name} = {value};"));
        self.declare(name.clone(), ty, true);
        name
    }

    pub(crate) fn target(&mut self, fits: impl Fn(Ty) -> bool) -> Option<(String, Ty)> {
        let all: Vec<_> =
            self.scope.iter().filter(|v| v.writable && fits(v.ty)).map(|v| (v.text.clone(), v.ty)).collect();
        if all.is_empty() { None } else { Some(self.random.pick(&all).clone()) }
    }

    pub(crate) fn assignment(&mut self) {
        if let Some((target, ty)) = self.target(|_| true) {
            let value = self.expr(ty, DEPTH);
            self.line(format!("{target} = {value};"));
        }
    }

    fn slice_assignment(&mut self) {
        let Some((target, ty)) = self.target(|t| matches!(t, Ty::Bits(_))) else { return };
        let width = ty.width() as usize;
        let low = self.random.below(width);
        let high = self.random.between(low, width - 1);
        let value = self.expr(Ty::Bits((high - low + 1) as u32), DEPTH - 1);
        self.line(format!("{target}[{high}:{low}] = {value};"));
    }

    fn compound_assignment(&mut self) {
        let Some((target, ty)) = self.target(|t| t != Ty::Bool) else { return };
        let op = *self.random.pick(&["+=", "-=", "*=", "&=", "|=", "^=", "|+|=", "|-|="]);
        let value = self.expr(ty, DEPTH - 1);
        self.line(format!("{target} {op} {value};"));
    }

    fn branch(&mut self, budget: usize) -> usize {
        let cond = self.expr(Ty::Bool, DEPTH);
        let inner = self.random.between(1, budget / 2);
        self.open(format!("if ({cond})"));
        self.statements(inner);
        self.close();
        if self.random.one_in(2) {
            self.open("else");
            self.statements(inner);
            self.close();
            return 1 + 2 * inner;
        }
        1 + inner
    }

    fn switch(&mut self, budget: usize) -> usize {
        let width = if self.random.one_in(4) { self.width().max(2) } else { self.random.between(2, 6) as u32 };
        let mut value = self.expr(Ty::Bits(width), DEPTH - 1);
        if self.config.switch_effects
            && self.random.one_in(2)
            && let Some(call) = self.effect(Ty::Bits(width))
        {
            value = call;
        }
        let mut labels: Vec<u128> = (0..self.random.between(1, 3)).map(|_| self.random.value(width)).collect();
        labels.sort_unstable();
        labels.dedup();
        self.open(format!("switch ({value})"));
        let inner = (budget / 4).max(1);
        for (i, label) in labels.iter().enumerate() {
            // A label without a block shares the next one.
            if i + 1 < labels.len() && self.random.one_in(4) {
                self.line(format!("{width}w{label}:"));
                continue;
            }
            self.open(format!("{width}w{label}:"));
            self.statements(inner);
            self.close();
        }
        if self.random.one_in(2) {
            self.open("default:");
            self.statements(inner);
            self.close();
        }
        self.close();
        1 + labels.len() * inner
    }

    /// A loop with a counter, over a range that may be empty, or over a list.
    fn any_loop(&mut self, budget: usize) -> usize {
        let name = self.name("i");
        let turns = self.random.between(1, 5);
        let kind = self.random.below(4);
        let ty = if kind == 3 { self.some_type() } else { Ty::Bits(8) };
        let head = match kind {
            0 | 1 => format!("bit<8> {name} = 0; {name} < {turns}; {name} = {name} + 1"),
            2 => {
                let to = self.expr(Ty::Bits(2), 1);
                format!("bit<8> {name} in 8w{} .. (bit<8>)({to})", self.random.below(3))
            }
            _ => {
                let items: Vec<String> = (0..turns.min(3)).map(|_| self.expr(ty, 1)).collect();
                format!("{ty} {name} in (list<{ty}>){{ {} }}", items.join(", "))
            }
        };
        self.loops += 1;
        self.open(format!("for ({head})"));
        self.declare(name, ty, false);
        let inner = (budget / 2).max(1);
        self.statements(inner);
        if self.random.one_in(2) {
            let cond = self.expr(Ty::Bool, DEPTH - 1);
            let keyword = *self.random.pick(&["break", "continue"]);
            self.line(format!("if ({cond}) {{ {keyword}; }}"));
            self.statements(1);
        }
        self.close();
        self.scope.pop();
        self.loops -= 1;
        1 + inner * 2
    }

    /// Validity and copies of whole headers.
    fn header_statement(&mut self) -> bool {
        if self.place == Place::Parser || self.visible.is_empty() {
            return false;
        }
        let header = self.random.pick(&self.visible).clone();
        match self.random.below(4) {
            0 | 1 => self.line(format!("{}.setValid();", header.text)),
            2 => self.line(format!("{}.setInvalid();", header.text)),
            _ => {
                let same: Vec<String> = self
                    .visible
                    .iter()
                    .filter(|h| h.type_name == header.type_name && h.text != header.text)
                    .map(|h| h.text.clone())
                    .collect();
                if same.is_empty() {
                    return false;
                }
                let source = self.random.pick(&same).clone();
                self.line(format!("{} = {source};", header.text));
            }
        }
        true
    }

    /// The header with the varbit field.
    fn varbit_statement(&mut self) -> bool {
        if !self.headers.varbit || !self.sees_all || !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        match self.random.below(10) {
            0 => self.line("hdr.v.setValid();"),
            1 => self.line("hdr.v.setInvalid();"),
            2 => self.line("hdr.w = hdr.v;"),
            3 => self.line("hdr.v = hdr.w;"),
            4 => self.line("hdr.v.data = hdr.w.data;"),
            5 => self.line("hdr.w.data = hdr.v.data;"),
            6 => self.line("meta.vb = hdr.v.data;"),
            7 => {
                let name = self.name("vb");
                self.line(format!("varbit<64> {name} = hdr.v.data;"));
                self.line("hdr.v.data = meta.vb;");
                self.line(format!("meta.vb = {name};"));
            }
            8 => {
                if let Some((target, _)) = self.target(|t| t == Ty::Bool) {
                    let pair = *self.random.pick(&["hdr.v.data == hdr.w.data", "meta.vb != hdr.v.data"]);
                    self.line(format!("{target} = {pair};"));
                }
                if self.config.hash
                    && let Some((target, _)) = self.target(|t| matches!(t, Ty::Bits(_)))
                {
                    let algorithm = *self.random.pick(&["crc32", "csum16", "xor16"]);
                    let width = self.width();
                    let other = self.leaf(Ty::Bits(width));
                    let data = format!("{{ {other}, hdr.v.data, meta.vb }}");
                    self.line(format!("hash({target}, HashAlgorithm.{algorithm}, 16w0, {data}, 32w0xffffffff);"));
                }
            }
            _ => {
                let value = self.expr(Ty::Bits(8), DEPTH);
                let header = *self.random.pick(&["v", "w"]);
                self.line(format!("hdr.{header}.z = {value};"));
            }
        }
        true
    }

    /// A condition that holds for most packets.
    fn assertion(&mut self) -> bool {
        if self.config.architecture == Architecture::Tna
            || !matches!(self.place, Place::Control | Place::Action)
            || !self.random.one_in(8)
        {
            return false;
        }
        let (value, literal) = (self.leaf(Ty::Bits(9)), self.literal(Ty::Bits(9)));
        let what = *self.random.pick(&["assert", "assume"]);
        self.line(format!("{what}({value} != {literal});"));
        true
    }

    fn stack_statement(&mut self) -> bool {
        let Some(stack) = self.headers.stack.clone() else { return false };
        if !self.sees_all || !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        let index = self.random.below(stack.size);
        let element = format!("{}[{index}]", stack.text);
        let (field, ty) = self.random.pick(&stack.fields).clone();
        match self.random.below(7) {
            0 => self.line(format!("{}.push_front({});", stack.text, 1 + index / 2)),
            1 => self.line(format!("{}.pop_front({});", stack.text, 1 + index / 2)),
            2 => self.line(format!("{element}.setValid();")),
            3 => self.line(format!("{element}.setInvalid();")),
            4 if self.config.runtime_index => {
                let bits = if stack.size > 2 { 2 } else { 1 };
                // With a variable in it: a constant beyond the stack would be refused.
                let index = format!("({} ^ ((bit<{bits}>)(sm.instance_type)))", self.expr(Ty::Bits(bits), 1));
                if let Some((target, _)) = self.target(|t| t == ty) {
                    self.line(format!("{target} = {}[{index}].{field};", stack.text));
                } else {
                    let value = self.expr(ty, DEPTH - 1);
                    self.line(format!("{}[{index}].{field} = {value};", stack.text));
                }
            }
            _ => {
                let value = self.expr(ty, DEPTH);
                self.line(format!("{element}.{field} = {value};"));
            }
        }
        true
    }

    /// An element of the array by a computed index, which may be beyond it, or the whole array.
    fn array_statement(&mut self) -> bool {
        let Some((ty, size)) = self.headers.array else { return false };
        let visible = self.scope.iter().any(|v| v.text == "meta.ar[0]");
        if !visible || !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        if self.random.one_in(4) {
            let items: Vec<String> = (0..size).map(|_| self.expr(ty, 1)).collect();
            self.line(format!("meta.ar = {{ {} }};", items.join(", ")));
            return true;
        }
        // With a variable in it: a constant beyond the array would be refused.
        let index = format!("({} ^ ((bit<3>)(sm.instance_type)))", self.expr(Ty::Bits(3), 2));
        match self.target(|t| t == ty) {
            Some((target, _)) if self.random.one_in(2) => self.line(format!("{target} = meta.ar[{index}];")),
            _ => {
                let value = self.expr(ty, DEPTH - 1);
                self.line(format!("meta.ar[{index}] = {value};"));
            }
        }
        true
    }

    /// Counters and registers.
    fn state_statement(&mut self) -> bool {
        if !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        let index = self.expr(Ty::Bits(3), DEPTH - 1);
        if self.random.one_in(3) && self.exchange(&index) {
            return true;
        }
        if !self.meters.is_empty() && self.random.one_in(4) {
            let meter = self.random.pick(&self.meters).clone();
            if self.random.one_in(4) {
                self.line(format!("{meter}.execute_meter<bit<2>>((bit<32>)({index}), _);"));
                return true;
            }
            let Some((target, _)) = self.target(|t| matches!(t, Ty::Bits(2..))) else { return false };
            self.line(format!("{meter}.execute_meter((bit<32>)({index}), {target});"));
            return true;
        }
        if self.random.one_in(2) {
            if self.counters.is_empty() {
                return false;
            }
            let (counter, _) = self.random.pick(&self.counters).clone();
            self.line(format!("{counter}.count((bit<32>)({index}));"));
            return true;
        }
        if self.registers.is_empty() {
            return false;
        }
        let (register, _, ty) = self.random.pick(&self.registers).clone();
        if self.random.one_in(2) {
            let value = self.expr(ty, DEPTH);
            self.line(format!("{register}.write((bit<32>)({index}), {value});"));
        } else if let Some((target, _)) = self.target(|t| t == ty) {
            let index = format!("(bit<32>)({index})");
            self.line(self.config.architecture.read(&register, &index, &target));
        } else {
            return false;
        }
        true
    }

    fn adjust_checksum(&mut self) -> bool {
        if !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        let Some((target, _)) = self.target(|t| t == Ty::Bits(16)) else { return false };
        let mut list = || {
            let words: Vec<String> = (0..self.random.between(1, 3)).map(|_| self.leaf(Ty::Bits(16))).collect();
            format!("{{ {} }}", words.join(", "))
        };
        let (removed, added) = (list(), list());
        self.line(format!("adjust_checksum({target}, {removed}, {added});"));
        true
    }

    fn hash(&mut self) -> bool {
        if !self.config.hash || !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        let Some((target, _)) = self.target(|t| matches!(t, Ty::Bits(_))) else { return false };
        let algorithm = *self.random.pick(&["crc32", "crc16", "csum16", "identity", "xor16"]);
        let data: Vec<String> = (0..self.random.between(1, 4))
            .map(|_| {
                let ty = match self.some_type() {
                    Ty::Bits(w) => Ty::Bits(w),
                    ty => Ty::Bits(ty.width()),
                };
                self.leaf(ty)
            })
            .collect();
        let (base, max) = (self.literal(Ty::Bits(16)), self.leaf(Ty::Bits(32)));
        self.line(format!("hash({target}, HashAlgorithm.{algorithm}, {base}, {{ {} }}, {max});", data.join(", ")));
        true
    }

    /// A call of a function or action as a statement.
    fn call(&mut self) -> bool {
        if self.random.one_in(6) && self.place != Place::Function && self.call_known() {
            return true;
        }
        let mut callable = self.functions.clone();
        if self.place == Place::Control {
            callable.extend(self.actions.clone());
        }
        if callable.is_empty() || self.place == Place::Function {
            return false;
        }
        let Callable { name, params, result } = self.random.pick(&callable).clone();
        let args = self.arguments(&params);
        let call = format!("{name}({})", args.join(", "));
        match result {
            Some(ty) => {
                let local = self.name("x");
                self.line(format!("{ty} {local} = {call};"));
                self.declare(local, ty, true);
            }
            None => self.line(format!("{call};")),
        }
        true
    }

    /// An argument for each parameter; the same variable may stand for several, which are copied back in their order.
    /// If none has the right type, one is declared.
    pub(crate) fn arguments(&mut self, params: &[(Direction, Ty)]) -> Vec<String> {
        let mut args = Vec::new();
        for &(direction, ty) in params {
            args.push(match direction {
                Direction::In => self.expr(ty, DEPTH - 1),
                Direction::InOut | Direction::Out => match self.target(|t| t == ty) {
                    Some((target, _)) => target,
                    None => self.local_of(ty),
                },
            });
        }
        args
    }

    /// Parameters of any direction, put into scope, and their declarations.
    pub(crate) fn parameters(&mut self, least: usize, most: usize) -> (Vec<(Direction, Ty)>, Vec<String>) {
        let directions = [Direction::In, Direction::In, Direction::InOut, Direction::Out];
        let count = self.random.between(least, most);
        let params: Vec<_> = (0..count).map(|_| (*self.random.pick(&directions), self.some_type())).collect();
        let mut texts = Vec::new();
        for &(direction, ty) in &params {
            let param = self.name("p");
            texts.push(format!("{direction} {ty} {param}"));
            self.declare(param, ty, direction != Direction::In);
        }
        (params, texts)
    }

    fn leave(&mut self) -> bool {
        if !self.config.exits || !matches!(self.place, Place::Control | Place::Action) || !self.random.one_in(3) {
            return false;
        }
        let cond = self.expr(Ty::Bool, DEPTH - 1);
        let keyword = *self.random.pick(&["exit", "return"]);
        self.line(format!("if ({cond}) {{ {keyword}; }}"));
        true
    }

    /// A function at the top level.
    pub(crate) fn function(&mut self) {
        let outer = std::mem::take(&mut self.scope);
        self.empty_scope();
        self.place = Place::Function;
        let name = self.name("fn");
        let ty = match self.some_type() {
            Ty::Bool => Ty::Bits(8),
            ty => ty,
        };
        let (params, texts) = self.parameters(1, 3);
        self.open(format!("{ty} {name}({})", texts.join(", ")));
        let count = self.random.between(1, 4);
        // Locals declared here are for the result, too.
        for _ in 0..count {
            self.statement(2, false);
        }
        let value = self.expr(ty, DEPTH);
        self.line(format!("return {value};"));
        self.close();
        self.scope = outer;
        self.functions.push(Callable { name, result: Some(ty), params });
    }
}
