//! Elements of stacks and arrays by run-time indices as targets.

use crate::{Generator, Place, Ty};

impl Generator {
    /// An index of this many elements that is computed, sometimes with an effect, and may be beyond them.
    pub(crate) fn stack_index(&mut self, size: usize) -> String {
        let bits = if size > 4 {
            3
        } else if size > 2 {
            2
        } else {
            1
        };
        // With a variable in it: a constant beyond the stack would be refused.
        let value = match self.random.below(3) {
            0 => self.effect(Ty::Bits(bits)).unwrap_or_else(|| self.leaf(Ty::Bits(bits))),
            _ => self.expr(Ty::Bits(bits), 1),
        };
        format!("({value} ^ ((bit<{bits}>)(sm.instance_type)))")
    }

    /// An assignment to an element by a run-time index, or to a part of it.
    pub(crate) fn indexed_assignment(&mut self) -> bool {
        if !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        if self.random.one_in(2) { self.stack_element() } else { self.array_element() }
    }

    fn stack_element(&mut self) -> bool {
        let Some(stack) = self.headers.stack.clone().filter(|_| self.sees_all) else { return false };
        let element = format!("{}[{}]", stack.text, self.stack_index(stack.size));
        let (field, ty) = self.random.pick(&stack.fields).clone();
        match self.random.below(7) {
            0 => self.line(format!("{element}.setValid();")),
            1 => self.line(format!("{element}.setInvalid();")),
            2 => {
                let from = self.stack_index(stack.size);
                self.line(format!("{element} = {}[{from}];", stack.text));
            }
            3 => {
                let values: Vec<String> = stack.fields.iter().map(|(_, ty)| self.expr(*ty, 1)).collect();
                self.line(format!("{element} = {{ {} }};", values.join(", ")));
            }
            4 => {
                let value = self.effect(ty).unwrap_or_else(|| self.leaf(ty));
                let op = *self.random.pick(&["+=", "^=", "|+|="]);
                self.line(format!("{element}.{field} {op} {value};"));
            }
            5 => {
                let high = self.random.below(ty.width() as usize);
                let low = self.random.below(high + 1);
                let value = self.expr(Ty::Bits((high - low + 1) as u32), 2);
                self.line(format!("{element}.{field}[{high}:{low}] = {value};"));
            }
            _ => {
                let value = self.effect(ty).unwrap_or_else(|| self.leaf(ty));
                self.line(format!("{element}.{field} = {value};"));
            }
        }
        true
    }

    fn array_element(&mut self) -> bool {
        let Some((ty, size)) = self.headers.array else { return false };
        if !self.scope.iter().any(|v| v.text == "meta.ar[0]") {
            return false;
        }
        let element = format!("meta.ar[{}]", self.stack_index(size));
        match (self.random.below(3), ty) {
            (0, Ty::Bits(width)) => {
                let high = self.random.below(width as usize);
                let low = self.random.below(high + 1);
                let value = self.expr(Ty::Bits((high - low + 1) as u32), 2);
                self.line(format!("{element}[{high}:{low}] = {value};"));
            }
            (1, Ty::Bits(_) | Ty::Int(_)) => {
                let value = self.effect(ty).unwrap_or_else(|| self.leaf(ty));
                let op = *self.random.pick(&["-=", "&=", "*="]);
                self.line(format!("{element} {op} {value};"));
            }
            _ => {
                let value = self.effect(ty).unwrap_or_else(|| self.expr(ty, 2));
                self.line(format!("{element} = {value};"));
            }
        }
        true
    }
}
