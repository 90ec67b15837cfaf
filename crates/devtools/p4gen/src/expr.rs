//! Well-typed expressions of a given type.

use crate::{Direction, Generator, Ty};

impl Generator {
    /// A literal. Signed ones are not negative; the program negates them itself.
    pub(crate) fn literal(&mut self, ty: Ty) -> String {
        match ty {
            Ty::Bool => self.random.one_in(2).to_string(),
            Ty::Bits(w) => format!("{w}w{:#x}", self.random.value(w)),
            Ty::Int(w) => {
                let value = self.random.value(w - 1);
                if value != 0 && self.random.one_in(2) { format!("(-{w}s{value})") } else { format!("{w}s{value}") }
            }
        }
    }

    fn variables(&self, fits: impl Fn(Ty) -> bool) -> Vec<(String, Ty)> {
        self.scope.iter().filter(|v| fits(v.ty)).map(|v| (v.text.clone(), v.ty)).collect()
    }

    /// A variable of the type, if there is one.
    fn variable(&mut self, fits: impl Fn(Ty) -> bool) -> Option<(String, Ty)> {
        let all = self.variables(fits);
        if all.is_empty() { None } else { Some(self.random.pick(&all).clone()) }
    }

    /// A variable converted to the type if need be, or a literal.
    pub(crate) fn leaf(&mut self, ty: Ty) -> String {
        if self.random.one_in(5) {
            return self.literal(ty);
        }
        if let Some((text, _)) = self.variable(|t| t == ty)
            && !self.random.one_in(4)
        {
            return text;
        }
        let other = match ty {
            Ty::Bool => self.variable(|t| t == Ty::Bits(1)),
            Ty::Bits(w) => self.variable(|t| matches!(t, Ty::Bits(_)) || t == Ty::Int(w) || (w == 1 && t == Ty::Bool)),
            Ty::Int(w) => self.variable(|t| matches!(t, Ty::Int(_)) || t == Ty::Bits(w)),
        };
        match other {
            Some((text, _)) => format!("(({ty})({text}))"),
            None => self.literal(ty),
        }
    }

    /// Any expression of a type; `depth` bounds its height.
    pub(crate) fn expr(&mut self, ty: Ty, depth: usize) -> String {
        if depth == 0 || self.random.one_in(6) {
            return self.leaf(ty);
        }
        match ty {
            Ty::Bool => self.truth(depth - 1),
            Ty::Bits(_) | Ty::Int(_) => self.number(ty, depth - 1),
        }
    }

    fn truth(&mut self, depth: usize) -> String {
        match self.random.below(9) {
            0 => format!("(!{})", self.expr(Ty::Bool, depth)),
            1 => format!("({} && {})", self.expr(Ty::Bool, depth), self.expr(Ty::Bool, depth)),
            2 => format!("({} || {})", self.expr(Ty::Bool, depth), self.expr(Ty::Bool, depth)),
            3 if !self.visible.is_empty() => {
                let header = self.random.pick(&self.visible).text.clone();
                format!("{header}.isValid()")
            }
            4 => format!("({} == {})", self.expr(Ty::Bool, depth), self.expr(Ty::Bool, depth)),
            5 if self.random.one_in(3) => self.headers_equal().unwrap_or_else(|| self.leaf(Ty::Bool)),
            6 if self.records.len() > 1 && self.random.one_in(3) => {
                let (a, b) = (self.random.pick(&self.records).clone(), self.random.pick(&self.records).clone());
                let op = *self.random.pick(&["==", "!="]);
                format!("({a} {op} {b})")
            }
            _ => {
                let ty = match self.some_type() {
                    Ty::Bool => Ty::Bits(8),
                    ty => ty,
                };
                let op = *self.random.pick(&["==", "!=", "<", "<=", ">", ">="]);
                format!("({} {op} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
        }
    }

    fn number(&mut self, ty: Ty, depth: usize) -> String {
        let width = ty.width();
        match self.random.below(if self.config.extensions { 17 } else { 16 }) {
            16 if matches!(ty, Ty::Bits(_)) => {
                // By the width, so that programs of old seeds keep the rest.
                let function =
                    ["population_count", "count_leading_zeros", "parity", "reverse_bits"][width as usize % 4];
                format!("{function}({})", self.expr(ty, depth))
            }
            0..=4 => {
                let op = *self.random.pick(&["+", "-", "*", "&", "|", "^", "|+|", "|-|"]);
                format!("({} {op} {})", self.expr(ty, depth), self.expr(ty, depth))
            }
            5 => {
                let op = *self.random.pick(&["-", "~"]);
                format!("({op}{})", self.expr(ty, depth))
            }
            6 | 7 => {
                let op = *self.random.pick(&["<<", ">>"]);
                format!("({} {op} {})", self.expr(ty, depth), self.distance(depth))
            }
            8 => {
                let (cond, a, b) = (self.expr(Ty::Bool, depth), self.expr(ty, depth), self.expr(ty, depth));
                format!("({cond} ? {a} : {b})")
            }
            9 if self.config.division && matches!(ty, Ty::Bits(_)) => {
                // By a variable: a constant zero would be refused.
                match self.variable(|t| t == ty) {
                    Some((divisor, _)) => {
                        let op = *self.random.pick(&["/", "%"]);
                        format!("({} {op} {divisor})", self.expr(ty, depth))
                    }
                    None => self.expr(ty, depth),
                }
            }
            10 if width > 1 && matches!(ty, Ty::Bits(_)) => {
                let low = 1 + self.random.below(width as usize - 1) as u32;
                format!("({} ++ {})", self.expr(Ty::Bits(width - low), depth), self.expr(Ty::Bits(low), depth))
            }
            11 | 12 if matches!(ty, Ty::Bits(_)) => match self.variable(|t| t != Ty::Bool && t.width() >= width) {
                Some((text, of)) => {
                    let low = self.random.below((of.width() - width) as usize + 1) as u32;
                    format!("{text}[{}:{low}]", low + width - 1)
                }
                None => self.expr(ty, depth),
            },
            13 => self.converted(ty, depth),
            15 if matches!(ty, Ty::Bits(_)) && width < self.config.max_width => {
                let over = self.random.between(1, (self.config.max_width - width) as usize) as u32;
                let low = self.random.below(over as usize + 1) as u32;
                format!("({})[{}:{low}]", self.expr(Ty::Bits(width + over), depth), low + width - 1)
            }
            14 => self.called(ty).unwrap_or_else(|| self.leaf(ty)),
            _ => self.expr(ty, depth),
        }
    }

    /// Whether two headers of a type are equal, validity and fields, where headers can be seen.
    fn headers_equal(&mut self) -> Option<String> {
        if !matches!(self.place, crate::Place::Control | crate::Place::Action) {
            return None;
        }
        if self.visible.is_empty() {
            return None;
        }
        let a = self.random.pick(&self.visible).clone();
        let same = |b: &&crate::headers::Header| b.type_name == a.type_name && b.text != a.text;
        let b = self.visible.iter().find(same)?;
        let op = *self.random.pick(&["==", "!="]);
        Some(format!("({} {op} {})", a.text, b.text))
    }

    /// A shift amount: an unsigned value, usually small.
    fn distance(&mut self, depth: usize) -> String {
        if self.random.one_in(2) {
            let by = self.random.below(20);
            return format!("8w{by}");
        }
        let ty = Ty::Bits(1 + self.random.below(8) as u32);
        self.expr(ty, depth)
    }

    /// A value of another type, cast.
    fn converted(&mut self, ty: Ty, depth: usize) -> String {
        let width = ty.width();
        let from = match (ty, self.random.below(3)) {
            (Ty::Bits(1), 0) => Ty::Bool,
            (Ty::Bits(_), 1) if self.config.signed && width > 1 => Ty::Int(width),
            (Ty::Bits(_), _) => Ty::Bits(self.width()),
            (Ty::Int(_), 1) => Ty::Bits(width),
            _ => Ty::Int(self.width().max(2)),
        };
        format!("(({ty})({}))", self.expr(from, depth))
    }

    /// A call of a function with this result, if there is one.
    fn called(&mut self, ty: Ty) -> Option<String> {
        let functions: Vec<_> = self.functions.iter().filter(|f| f.result == Some(ty)).cloned().collect();
        if functions.is_empty() {
            return None;
        }
        let function = self.random.pick(&functions).clone();
        let mut args = Vec::new();
        for (direction, ty) in &function.params {
            if *direction == Direction::In {
                args.push(self.leaf(*ty));
                continue;
            }
            // Operands before and after the call see its effects in source order.
            if !self.config.effects || !matches!(self.place, crate::Place::Control | crate::Place::Action) {
                return None;
            }
            args.push(self.target(|t| t == *ty)?.0);
        }
        Some(format!("{}({})", function.name, args.join(", ")))
    }
}
