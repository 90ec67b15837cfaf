//! The parser: a chain of states with shortcuts, loops over stacks, and now and then an error.

use crate::{Generator, Place, Ty};

impl Generator {
    pub(crate) fn parser(&mut self) {
        self.place = Place::Parser;
        self.empty_scope();
        self.metadata_in_scope();
        self.declare("sm.ingress_port", Ty::Bits(9), false);
        self.open("parser P(packet_in packet, out headers hdr, inout metadata meta, inout standard_metadata_t sm)");
        let mut states: Vec<String> = self.headers.plain.iter().map(|h| h.text.replace("hdr.", "parse_")).collect();
        if self.headers.stack.is_some() {
            let at = self.random.between(1, states.len());
            states.insert(at, "parse_s".into());
        }
        if self.headers.varbit {
            let at = self.random.between(1, states.len());
            states.insert(at, "parse_v".into());
        }
        if !self.headers.union.is_empty() {
            let at = self.random.between(1, states.len());
            states.insert(at, "parse_u".into());
        }
        if self.headers.union_stack {
            let at = self.random.between(1, states.len());
            states.insert(at, "parse_us".into());
        }
        if self.config.lookahead_loops && self.random.one_in(2) {
            let at = self.random.between(1, states.len());
            states.insert(at, "parse_l".into());
        }
        self.sub_parser_instances();
        for _ in 0..self.random.below(2) {
            self.local();
        }
        if self.config.value_sets {
            for _ in 0..self.random.below(3) {
                self.value_set();
            }
        }
        self.struct_set_instances();
        self.line("state start { transition parse_h0; }");
        let locals: Vec<String> = self.scope.iter().map(|v| v.text.clone()).collect();
        for (i, state) in states.iter().enumerate() {
            let rest = &states[i + 1..];
            // Fields stay in scope; a state's declarations end with it.
            self.scope.retain(|v| v.text.contains('.') || locals.contains(&v.text));
            self.open(format!("state {state}"));
            let select = match state.as_str() {
                "parse_s" => self.parse_stack(),
                "parse_v" => self.parse_varbit(),
                "parse_u" => {
                    self.parse_union(rest);
                    continue;
                }
                "parse_us" => {
                    self.parse_union_stack(rest);
                    continue;
                }
                "parse_l" => {
                    self.parse_loop(rest);
                    continue;
                }
                _ => self.parse_header(state),
            };
            self.parser_extras();
            self.transition(state, rest, select);
            self.close();
        }
        self.close();
        self.empty_scope();
    }

    /// A value set for one of the widths that headers begin with, and its members.
    fn value_set(&mut self) {
        let name = self.name("set");
        let header = self.random.pick(&self.headers.plain).clone();
        let width = header.fields[0].1.width();
        self.line(format!("value_set<bit<{width}>>(4) {name};"));
        let members: Vec<String> = (0..self.random.below(4))
            .map(|_| {
                let (value, other) = (self.random.value(width), self.random.value(width));
                match self.random.below(4) {
                    0 => format!("{}..{}", value.min(other), value.max(other)),
                    1 => format!("{value}/{}", self.random.between(0, width as usize)),
                    2 => format!("0b{}*{}", value & 1, value >> 1 & 1),
                    _ => value.to_string(),
                }
            })
            .collect();
        self.entries.push_str(&format!("value_set_write P.{name} {}\n", members.join(" ")));
        self.value_sets.push((name, width));
    }

    fn parse_header(&mut self, state: &str) -> Option<(String, u32)> {
        let text = state.replace("parse_", "hdr.");
        let header = self.headers.plain.iter().find(|h| h.text == text)?.clone();
        if !self.apply_sub_parser(&header) && !self.take(&header.type_name, &text) {
            self.line(format!("packet.extract({text});"));
        }
        self.visible.push(header.clone());
        self.header_in_scope(&header);
        let (field, ty) = header.fields.first()?.clone();
        Some((format!("{text}.{field}"), ty.width()))
    }

    fn parse_stack(&mut self) -> Option<(String, u32)> {
        self.line("packet.extract(hdr.s.next);");
        Some(("hdr.s.last.more".into(), 1))
    }

    fn parse_varbit(&mut self) -> Option<(String, u32)> {
        // Sometimes no whole bytes, sometimes more than the field holds.
        let unit = *self.random.pick(&[8, 8, 8, 4]);
        self.line("bit<8> v_first = packet.lookahead<bit<8>>();");
        self.line(format!("packet.extract(hdr.v, (bit<32>)(v_first[7:4]) * {unit});"));
        Some(("hdr.v.k".into(), 4))
    }

    /// The state that chooses a member of the union, and the two that extract it.
    fn parse_union(&mut self, rest: &[String]) {
        self.line("transition select(packet.lookahead<bit<1>>()) { 1w0: parse_u_a; default: parse_u_b; }");
        self.close();
        for member in ["a", "b"] {
            self.open(format!("state parse_u_{member}"));
            self.line(format!("packet.extract(hdr.u.{member});"));
            match rest.first() {
                Some(next) => self.line(format!("transition {next};")),
                None => self.line("transition accept;"),
            }
            self.close();
        }
    }

    /// A loop that skips some bytes each time, as long as what follows is of a kind.
    fn parse_loop(&mut self, rest: &[String]) {
        let next = rest.first().map_or("accept", String::as_str);
        let (value, bit) = (self.random.below(256), 1 << self.random.below(8));
        self.line("transition select(packet.lookahead<bit<8>>()) {");
        self.line(format!("    8w{value} &&& 8w{bit}: parse_l_skip;"));
        self.line(format!("    default: {next};"));
        self.line("}");
        self.close();
        self.open("state parse_l_skip");
        self.line("bit<8> l_first = packet.lookahead<bit<8>>();");
        let scope = self.scope.len();
        self.declare("l_first", Ty::Bits(8), false);
        let count = self.random.between(1, 2);
        self.statements(count);
        self.scope.truncate(scope);
        self.line("packet.advance(((bit<32>) l_first[1:0] + 1) << 3);");
        self.line("transition parse_l;");
        self.close();
    }

    fn parser_extras(&mut self) {
        match self.random.below(8) {
            0 => {
                let cond = self.expr(Ty::Bool, 2);
                let error = *self.random.pick(&["NoMatch", "ParserTimeout", "HeaderTooShort"]);
                self.line(format!("verify({cond}, error.{error});"));
            }
            1 => {
                let width = 1 + self.random.below(40) as u32;
                let name = self.name("look");
                self.line(format!("bit<{width}> {name} = packet.lookahead<bit<{width}>>();"));
                // Only in this state; the value is stored in metadata.
                let before = self.scope.len();
                self.declare(name, Ty::Bits(width), false);
                self.assignment();
                self.scope.truncate(before);
            }
            2 => {
                let bytes = self.random.between(1, 3);
                self.line(format!("packet.advance({});", bytes * 8));
            }
            3 | 4 => {
                let count = self.random.between(1, 4);
                self.statements(count);
            }
            _ => {}
        }
    }

    /// A `select` with a value set beside other sets, if there is one.
    fn two_keys(&mut self, key: &str, width: u32, rest: &[String]) -> bool {
        let sets: Vec<String> = self.value_sets.iter().filter(|s| s.1 == width).map(|s| s.0.clone()).collect();
        if sets.is_empty() {
            return false;
        }
        let other = self.expr(Ty::Bits(width), 1);
        self.open(format!("transition select({key}, {other})"));
        for _ in 0..self.random.between(1, 3) {
            let (set, target) = (self.random.pick(&sets).clone(), self.random.pick(rest).clone());
            let (value, mask) = (self.random.value(width), self.random.value(width));
            let beside = match self.random.below(4) {
                0 => "_".to_string(),
                1 => self.random.pick(&sets).clone(),
                2 => self.leaf(Ty::Bits(width)),
                _ => format!("{width}w{value} &&& {width}w{mask}"),
            };
            let (a, b) = if self.random.one_in(2) { (set, beside) } else { (beside, set) };
            self.line(format!("({a}, {b}): {target};"));
        }
        self.line(format!("default: {};", rest[0]));
        self.close();
        true
    }

    fn transition(&mut self, state: &str, rest: &[String], select: Option<(String, u32)>) {
        let Some((key, width)) = select else {
            self.line("transition accept;");
            return;
        };
        if rest.is_empty() && state != "parse_s" {
            self.line("transition accept;");
            return;
        }
        if state != "parse_s" && self.random.one_in(3) && self.two_keys(&key, width, rest) {
            return;
        }
        if state != "parse_s" && self.select_struct_set(&key, width, rest) {
            return;
        }
        self.open(format!("transition select({key})"));
        if state == "parse_s" {
            self.line("1w1: parse_s;");
        } else {
            let sets: Vec<String> = self.value_sets.iter().filter(|s| s.1 == width).map(|s| s.0.clone()).collect();
            if !sets.is_empty() && self.random.one_in(2) {
                let (set, target) = (self.random.pick(&sets).clone(), self.random.pick(rest).clone());
                self.line(format!("{set}: {target};"));
            }
            for _ in 0..self.random.between(0, 2) {
                let target = match self.random.below(6) {
                    0 => "accept".to_string(),
                    1 => "reject".to_string(),
                    _ => self.random.pick(rest).clone(),
                };
                let value = self.random.value(width);
                let set = match self.random.below(3) {
                    0 => format!("{width}w{value} &&& {width}w{}", self.random.value(width)),
                    1 => {
                        let other = self.random.value(width);
                        format!("{width}w{} .. {width}w{}", value.min(other), value.max(other))
                    }
                    _ => format!("{width}w{value}"),
                };
                self.line(format!("{set}: {target};"));
            }
        }
        match rest.first() {
            Some(next) if !self.random.one_in(12) => self.line(format!("default: {next};")),
            _ if self.random.one_in(2) => {}
            _ => self.line("default: accept;"),
        }
        self.close();
    }
}
