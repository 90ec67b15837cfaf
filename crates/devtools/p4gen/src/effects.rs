//! Functions with an effect: they change what they are given, and return a value.

use crate::{Generator, Place, Ty};

impl Generator {
    /// Functions for a few of the program's types.
    pub(crate) fn effect_functions(&mut self) {
        if !(self.config.effect_arguments || self.config.switch_effects || self.config.indexed_targets) {
            return;
        }
        let mut types: Vec<Ty> = self.types.iter().copied().filter(|t| *t != Ty::Bool).collect();
        types.truncate(3);
        types.push(Ty::Bits(8));
        types.dedup();
        for ty in types {
            let name = self.name("bump");
            let (step, flip) = (self.literal(ty), self.literal(ty));
            self.line(format!("{ty} {name}(inout {ty} x) {{ {ty} old = x; x = x + {step}; return old ^ {flip}; }}"));
            self.effects.push((name, ty));
        }
    }

    /// A call of such a function as a value of a type, where effects are possible.
    pub(crate) fn effect(&mut self, ty: Ty) -> Option<String> {
        if ty == Ty::Bool || self.effects.is_empty() || !matches!(self.place, Place::Control | Place::Action) {
            return None;
        }
        let same: Vec<_> = self.effects.iter().filter(|f| f.1 == ty).cloned().collect();
        let (name, of) = if same.is_empty() { self.random.pick(&self.effects).clone() } else { same[0].clone() };
        let (target, _) = self.target(|t| t == of)?;
        let call = format!("{name}({target})");
        match (of, ty) {
            _ if of == ty => Some(call),
            (Ty::Bits(_), Ty::Bits(_)) | (Ty::Int(_), Ty::Int(_)) => Some(format!("(({ty})({call}))")),
            _ => None,
        }
    }
}
