//! The controls.

use crate::{Callable, Generator, Place, Ty};

impl Generator {
    /// Ingress (`I`) or egress (`E`).
    pub(crate) fn match_control(&mut self, name: &str) {
        self.empty_scope();
        self.fields_in_scope(false);
        self.metadata_in_scope();
        self.standard_in_scope();
        self.open(format!("control {name}(inout headers hdr, inout metadata meta, inout standard_metadata_t sm)"));
        self.instances(name);
        let tables = self.random.between(1, 3);
        self.declarations(&[name.to_string()], tables);
        self.open("apply");
        self.apply_all_nested();
        if name == "I" {
            let port = self.expr(Ty::Bits(9), 2);
            self.line(format!("sm.egress_spec = {port} & 9w7;"));
        }
        let count = self.config.statements;
        self.statements(count);
        if name == "E" {
            self.grow();
        }
        if self.random.one_in(3) {
            let cond = self.expr(Ty::Bool, 2);
            self.line(format!("if ({cond}) {{ mark_to_drop(sm); }}"));
        }
        self.close();
        self.close();
    }

    /// Forgets what other controls have declared.
    pub(crate) fn forget_objects(&mut self) {
        self.actions.clear();
        self.overlapping_actions.clear();
        self.tables.clear();
        self.counters.clear();
        self.registers.clear();
        self.meters.clear();
    }

    /// The declarations before `apply`: locals, objects, actions and tables, the latter by the names of the instances.
    pub(crate) fn declarations(&mut self, instances: &[String], tables: usize) {
        self.forget_objects();
        self.registers = self.given_registers.clone();
        self.place = Place::Control;
        for _ in 0..self.random.between(1, 4) {
            self.local();
        }
        if self.config.aggregates {
            self.local_aggregates();
        }
        if self.config.state {
            self.state_objects(instances);
        }
        if self.config.calls {
            for _ in 0..self.random.below(3) {
                self.direct_action();
            }
        }
        if self.config.aliasing && self.random.one_in(2) {
            self.overlapping_action();
        }
        if self.config.tables {
            for _ in 0..tables {
                self.table(instances);
            }
        }
        self.place = Place::Control;
    }

    fn state_objects(&mut self, instances: &[String]) {
        for _ in 0..self.random.between(0, 2) {
            let name = self.name("c");
            let kind = *self.random.pick(&["packets", "bytes", "packets_and_bytes"]);
            // Sometimes smaller than the indices.
            let size = self.random.between(4, 8) as u32;
            self.line(self.config.architecture.counter(&name, size, kind));
            self.counters.push((name, size));
        }
        for _ in 0..self.random.between(0, 2) {
            let name = self.name("r");
            let ty = match self.exchanged {
                Some(ty) if self.random.one_in(2) => ty,
                _ => self.register_type(),
            };
            let size = self.random.between(4, 8) as u32;
            self.line(self.config.architecture.register(&name, size, ty));
            self.registers.push((name, size, ty));
        }
        if self.config.meters && self.random.one_in(2) {
            let name = self.name("meter");
            let kind = *self.random.pick(&["packets", "bytes"]);
            let size = self.random.between(4, 8);
            self.line(format!("meter({size}, MeterType.{kind}) {name};"));
            for instance in instances {
                for index in 0..size {
                    let rates = self.rates();
                    self.entries.push_str(&format!("meter_set_rates {instance}.{name} {index}{rates}\n"));
                }
            }
            self.meters.push(name);
        }
    }

    /// Rates that some packets exceed, or none.
    pub(crate) fn rates(&mut self) -> String {
        if self.random.one_in(4) {
            return String::new();
        }
        let committed = self.random.between(1, 200);
        let peak = committed + self.random.below(300);
        format!(" 0.000001:{committed} 0.000002:{peak}")
    }

    /// An action with directed parameters, to be called.
    fn direct_action(&mut self) {
        let name = self.name("act");
        let before = self.scope.len();
        let (params, texts) = self.parameters(0, 3);
        self.open(format!("action {name}({})", texts.join(", ")));
        self.place = Place::Action;
        let count = self.random.between(1, 4);
        self.statements(count);
        self.close();
        self.scope.truncate(before);
        self.actions.push(Callable { name, result: None, params });
    }

    fn checksum_arguments(&mut self) -> (String, String, String) {
        let cond = self.expr(Ty::Bool, 1);
        let data: Vec<String> = (0..self.random.between(1, 4))
            .map(|_| {
                let width = self.width();
                self.leaf(Ty::Bits(width))
            })
            .collect();
        let algorithm = *self.random.pick(&["csum16", "csum16", "crc16", "xor16"]);
        (cond, format!("{{ {} }}", data.join(", ")), format!("HashAlgorithm.{algorithm}"))
    }

    pub(crate) fn verify_control(&mut self) {
        self.empty_scope();
        self.fields_in_scope(true);
        self.open("control V(inout headers hdr, inout metadata meta)");
        self.open("apply");
        if self.config.checksums && self.random.one_in(3) {
            let (cond, data, algorithm) = self.checksum_arguments();
            let checksum = self.leaf(Ty::Bits(16));
            self.line(format!("verify_checksum({cond}, {data}, {checksum}, {algorithm});"));
        }
        self.close();
        self.close();
    }

    pub(crate) fn compute_control(&mut self) {
        self.empty_scope();
        self.fields_in_scope(false);
        self.open("control C(inout headers hdr, inout metadata meta)");
        self.open("apply");
        let targets: Vec<String> =
            self.scope.iter().filter(|v| matches!(v.ty, Ty::Bits(w) if w >= 8)).map(|v| v.text.clone()).collect();
        if self.config.checksums && !targets.is_empty() && self.random.one_in(2) {
            let (cond, data, algorithm) = self.checksum_arguments();
            let target = self.random.pick(&targets).clone();
            let payload = if self.random.one_in(3) { "_with_payload" } else { "" };
            self.line(format!("update_checksum{payload}({cond}, {data}, {target}, {algorithm});"));
        }
        self.close();
        self.close();
        self.empty_scope();
    }

    pub(crate) fn deparser(&mut self) {
        self.open("control D(packet_out packet, in headers hdr)");
        self.open("apply");
        if self.config.deparser_code && self.random.one_in(4) {
            self.deparser_code();
        }
        if self.random.one_in(2) {
            self.line("packet.emit(hdr);");
        } else {
            let mut parts: Vec<String> = self.headers.plain.iter().map(|h| h.text.clone()).collect();
            if let Some(stack) = &self.headers.stack {
                parts.push(stack.text.clone());
            }
            if !self.headers.union.is_empty() {
                parts.push("hdr.u".into());
            }
            if self.headers.union_stack {
                parts.push("hdr.us".into());
            }
            if self.headers.varbit {
                parts.push("hdr.v".into());
                parts.push("hdr.w".into());
            }
            // Any order; sometimes one is omitted.
            while !parts.is_empty() {
                let at = self.random.below(parts.len());
                let part = parts.swap_remove(at);
                match self.random.below(10) {
                    0 => {}
                    1 => {
                        let cond = self.random.pick(&self.headers.plain).text.clone();
                        self.line(format!("if ({cond}.isValid()) {{ packet.emit({part}); }}"));
                    }
                    _ => self.line(format!("packet.emit({part});")),
                }
            }
        }
        self.close();
        self.close();
    }

    /// Headers that the deparser makes from others, some more than once.
    fn deparser_code(&mut self) {
        let header = self.random.pick(&self.headers.plain).clone();
        let name = self.name("own");
        self.line(format!("{} {name} = {};", header.type_name, header.text));
        let (field, ty) = self.random.pick(&header.fields).clone();
        if let Ty::Bits(width) = ty {
            let value = self.random.value(width);
            self.line(format!("{name}.{field} = {name}.{field} ^ {width}w{value};"));
        }
        match self.random.below(3) {
            0 => {
                // A frame has only so much headroom.
                let turns = if header.bytes() > 20 { 0 } else { self.random.between(0, 2) };
                self.open(format!("for (bit<8> i in 8w0 .. 8w{turns})"));
                self.line(format!("packet.emit({name});"));
                if let Ty::Bits(width) = ty {
                    self.line(format!("{name}.{field} = {name}.{field} + {width}w1;"));
                }
                self.close();
            }
            1 => {
                self.line(format!("packet.emit({name});"));
                self.line(format!("{name}.setInvalid();"));
                self.line(format!("packet.emit({name});"));
            }
            _ => self.line(format!("packet.emit({name});")),
        }
    }
}
