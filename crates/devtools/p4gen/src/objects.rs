//! Extern objects, packets and compile-time constants as arguments of functions. Nested controls that take objects are in `nested`.

use crate::{Generator, Ty};

impl Generator {
    /// Functions that take the packet, and one that takes a register.
    pub(crate) fn taking_functions(&mut self) {
        if !self.config.objects {
            return;
        }
        let mut types: Vec<String> = self.headers.plain.iter().map(|h| h.type_name.clone()).collect();
        types.dedup();
        for ty in types {
            if self.random.one_in(5) {
                self.line(format!("void take_{ty}(packet_in packet, out {ty} h) {{ packet.extract(h); }}"));
                self.takers.push(ty);
            }
        }
        if self.random.one_in(3) {
            let width = self.width();
            self.line(format!("bit<{width}> plus(int k, in bit<{width}> x) {{ return (x + k) ^ (k >> 1); }}"));
            self.plus = Some(width);
        }
        if self.config.state && self.random.one_in(3) {
            let ty = self.register_type();
            self.open(format!("void exchange(register<{ty}> cells, in bit<8> at, inout {ty} value)"));
            self.line(format!("{ty} old;"));
            self.line("cells.read(old, (bit<32>) at);");
            self.line("cells.write((bit<32>) at, value);");
            self.line("value = old;");
            self.close();
            self.exchanged = Some(ty);
        }
    }

    pub(crate) fn register_type(&mut self) -> Ty {
        match self.some_type() {
            Ty::Bool => Ty::Bits(8),
            ty => ty,
        }
    }

    /// Calls a function that extracts a header, if there is one for its type.
    pub(crate) fn take(&mut self, type_name: &str, header: &str) -> bool {
        if !self.takers.iter().any(|t| t == type_name) {
            return false;
        }
        self.line(format!("take_{type_name}(packet, {header});"));
        true
    }

    /// Calls the function with a constant, if there is one.
    pub(crate) fn call_known(&mut self) -> bool {
        let Some(width) = self.plus else { return false };
        let Some((target, _)) = self.target(|t| t == Ty::Bits(width)) else { return false };
        let (known, value) = (self.random.value(width), self.expr(Ty::Bits(width), 1));
        self.line(format!("{target} = plus({known}, {value});"));
        true
    }

    /// Exchanges a variable and the contents of a register.
    pub(crate) fn exchange(&mut self, index: &str) -> bool {
        let Some(ty) = self.exchanged else { return false };
        let fits: Vec<String> = self.registers.iter().filter(|r| r.2 == ty).map(|r| r.0.clone()).collect();
        let Some((target, _)) = self.target(|t| t == ty) else { return false };
        if fits.is_empty() {
            return false;
        }
        let register = self.random.pick(&fits).clone();
        self.line(format!("exchange({register}, (bit<8>)({index}), {target});"));
        true
    }
}
