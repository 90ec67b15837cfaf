//! Packets that pass several times and get headers each time.

use crate::{Generator, Ty};

impl Generator {
    /// At the end of egress: packets of up to three passes get a header, or an element of the stack, and are recirculated.
    pub(crate) fn grow(&mut self) {
        if !self.config.growth || !self.random.one_in(2) {
            return;
        }
        let passes = self.random.between(1, 3);
        let cond = self.expr(Ty::Bool, 2);
        self.open(format!("if (meta.passes < {passes} && {cond})"));
        self.line("meta.passes = meta.passes + 1;");
        match self.headers.stack.clone() {
            Some(stack) if self.random.one_in(2) => {
                self.line(format!("{}.push_front(1);", stack.text));
                self.line(format!("{}[0].setValid();", stack.text));
                self.line(format!("{}[0].more = 1w1;", stack.text));
            }
            _ => {
                let header = self.random.pick(&self.headers.plain).clone();
                let (field, ty) = self.random.pick(&header.fields).clone();
                let value = self.expr(ty, 2);
                self.line(format!("{}.setValid();", header.text));
                self.line(format!("{}.{field} = {value};", header.text));
            }
        }
        self.line("recirculate_preserving_field_list(3);");
        self.close();
    }
}
