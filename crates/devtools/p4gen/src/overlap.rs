//! Calls whose arguments overlap: a variable and a part of it, several parts, elements of stacks, members of unions.

use crate::headers::Header;
use crate::{Direction, Generator, Place, Ty};

/// What a parameter takes.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Scalar(Ty),
    Record,
    /// A header of this one's type.
    Header(Header),
    Stack,
    Union,
    /// The stack of unions.
    Unions,
}

impl Kind {
    pub(crate) fn type_name(&self, generator: &Generator) -> String {
        let size = generator.headers.stack.as_ref().map_or(0, |s| s.size);
        match self {
            Kind::Scalar(ty) => ty.to_string(),
            Kind::Record => "rec_t".into(),
            Kind::Header(header) => header.type_name.clone(),
            Kind::Stack => format!("s_t[{size}]"),
            Kind::Union => "u_t".into(),
            Kind::Unions => format!("w_t[{}]", crate::union_stack::SIZE),
        }
    }
}

/// A function or action: its name, parameters, and result.
#[derive(Clone, Debug)]
pub(crate) struct Overlapping {
    name: String,
    params: Vec<(Direction, Kind)>,
    result: Option<Ty>,
}

impl Generator {
    pub(crate) fn overlapping_functions(&mut self) {
        if !self.config.aliasing {
            return;
        }
        for _ in 0..self.random.between(1, 3) {
            self.empty_scope();
            self.place = Place::Function;
            let result = self.register_type();
            let name = self.name("over");
            let made = self.overlapping(&format!("{result} {name}"), name, Some(result));
            self.overlapping.push(made);
        }
        self.empty_scope();
    }

    /// An action of a control, which also sees what it is given by other names.
    pub(crate) fn overlapping_action(&mut self) {
        let (scope, headers, records) = (self.scope.len(), self.visible.len(), self.records.len());
        self.place = Place::Action;
        let name = self.name("over");
        let made = self.overlapping(&format!("action {name}"), name, None);
        self.overlapping_actions.push(made);
        self.scope.truncate(scope);
        self.visible.truncate(headers);
        self.records.truncate(records);
        self.place = Place::Control;
    }

    fn overlapping(&mut self, head: &str, name: String, result: Option<Ty>) -> Overlapping {
        let mut params = Vec::new();
        let mut texts = Vec::new();
        for _ in 0..self.random.between(2, 4) {
            let kind = self.kind();
            let directions = match kind {
                Kind::Scalar(_) => [Direction::In, Direction::InOut, Direction::InOut, Direction::Out],
                Kind::Record | Kind::Header(_) => {
                    [Direction::InOut, Direction::InOut, Direction::InOut, Direction::Out]
                }
                _ => [Direction::InOut; 4],
            };
            let direction = *self.random.pick(&directions);
            let param = self.name("p");
            texts.push(format!("{direction} {} {param}", kind.type_name(self)));
            self.kind_in_scope(&kind, &param, direction != Direction::In);
            params.push((direction, kind, param));
        }
        self.open(format!("{head}({})", texts.join(", ")));
        for (direction, kind, param) in &params {
            // Fields of a header that is invalid have no value until it is made valid.
            if *direction == Direction::Out && matches!(kind, Kind::Header(_)) {
                self.line(format!("{param}.setValid();"));
            }
        }
        for (direction, kind, param) in &params {
            if *direction != Direction::In && !self.random.one_in(4) {
                self.change(kind, param);
            }
        }
        let count = self.random.between(1, 4);
        self.statements(count);
        if let Some(ty) = result {
            let value = self.expr(ty, 2);
            self.line(format!("return {value};"));
        }
        self.close();
        let params = params.into_iter().map(|(direction, kind, _)| (direction, kind)).collect();
        Overlapping { name, params, result }
    }

    /// A kind of which this program has something.
    fn kind(&mut self) -> Kind {
        match self.random.below(8) {
            0 | 1 if !self.headers.record.is_empty() => Kind::Record,
            2 | 3 => Kind::Header(self.random.pick(&self.headers.plain).clone()),
            4 if self.headers.stack.is_some() => Kind::Stack,
            5 if !self.headers.union.is_empty() => Kind::Union,
            6 if self.headers.union_stack => Kind::Unions,
            7 => {
                // The type of a part of something.
                let header = self.random.pick(&self.headers.plain).clone();
                Kind::Scalar(self.random.pick(&header.fields).1)
            }
            _ => Kind::Scalar(self.some_type()),
        }
    }

    fn kind_in_scope(&mut self, kind: &Kind, param: &str, writable: bool) {
        match kind {
            Kind::Scalar(ty) => self.declare(param, *ty, writable),
            Kind::Record => self.record_in_scope(param.to_string()),
            Kind::Header(header) => {
                let header = Header { text: param.to_string(), ..header.clone() };
                self.header_in_scope(&header);
                self.visible.push(header);
            }
            Kind::Stack => {
                let Some(stack) = self.headers.stack.clone() else { return };
                for (field, ty) in stack.fields {
                    self.declare(format!("{param}[0].{field}"), ty, writable);
                    self.declare(format!("{param}[1].{field}"), ty, writable);
                }
            }
            Kind::Union => {
                for (member, header) in ["a", "b"].iter().zip(self.headers.union.clone()) {
                    let header = Header { text: format!("{param}.{member}"), ..header };
                    self.header_in_scope(&header);
                    self.visible.push(header);
                }
            }
            Kind::Unions => {
                self.declare(format!("{param}[0].a.x"), Ty::Bits(6), writable);
                self.declare(format!("{param}[1].b.y"), Ty::Bits(14), writable);
            }
        }
    }

    /// Changes a parameter.
    fn change(&mut self, kind: &Kind, param: &str) {
        match kind {
            Kind::Scalar(ty) => {
                let value = self.expr(*ty, 2);
                self.line(format!("{param} = {value};"));
            }
            Kind::Record => {
                let (field, ty) = self.random.pick(&self.headers.record).clone();
                let value = self.expr(ty, 2);
                self.line(format!("{param}.{field} = {value};"));
            }
            Kind::Header(header) => self.change_header(&header.clone(), param),
            Kind::Stack => {
                let index = self.random.below(2);
                match self.random.below(4) {
                    0 => self.line(format!("{param}.push_front(1);")),
                    1 => self.line(format!("{param}.pop_front(1);")),
                    2 => self.line(format!("{param}[{index}].setInvalid();")),
                    _ => {
                        let value = self.expr(Ty::Bits(7), 2);
                        self.line(format!("{param}[{index}].setValid();"));
                        self.line(format!("{param}[{index}].x = {value};"));
                    }
                }
            }
            Kind::Union => {
                let at = self.random.below(2);
                let header = self.headers.union[at].clone();
                self.change_header(&header, &format!("{param}.{}", ["a", "b"][at]));
            }
            Kind::Unions => {
                let index = self.random.below(2).to_string();
                self.change_unions(param, &index);
            }
        }
    }

    fn change_header(&mut self, header: &Header, param: &str) {
        match self.random.below(4) {
            0 => self.line(format!("{param}.setValid();")),
            1 => self.line(format!("{param}.setInvalid();")),
            _ => {
                let (field, ty) = self.random.pick(&header.fields).clone();
                let value = self.expr(ty, 2);
                self.line(format!("{param}.{field} = {value};"));
            }
        }
    }

    /// L-values of a kind.
    pub(crate) fn places(&mut self, kind: &Kind) -> Vec<String> {
        let whole = |text: &str, there: bool| if there { vec![text.to_string()] } else { Vec::new() };
        match kind {
            Kind::Scalar(ty) => self.scalar_places(*ty),
            Kind::Record => self.records.clone(),
            Kind::Header(header) => {
                self.visible.iter().filter(|h| h.type_name == header.type_name).map(|h| h.text.clone()).collect()
            }
            Kind::Stack => whole("hdr.s", self.sees_all && self.headers.stack.is_some()),
            Kind::Union => whole("hdr.u", self.sees_all && !self.headers.union.is_empty()),
            Kind::Unions => whole("hdr.us", self.sees_all && self.headers.union_stack),
        }
    }

    fn scalar_places(&mut self, ty: Ty) -> Vec<String> {
        let mut all: Vec<String> =
            self.scope.iter().filter(|v| v.writable && v.ty == ty).map(|v| v.text.clone()).collect();
        if let Ty::Bits(width) = ty {
            let wider: Vec<(String, u32)> = self
                .scope
                .iter()
                .filter(|v| v.writable && matches!(v.ty, Ty::Bits(w) if w > width))
                .map(|v| (v.text.clone(), v.ty.width()))
                .collect();
            for (text, of) in wider {
                let low = self.random.below((of - width) as usize + 1) as u32;
                all.push(format!("{text}[{}:{low}]", low + width - 1));
            }
        }
        if let Some(stack) = self.headers.stack.clone()
            && self.sees_all
        {
            for (field, _) in stack.fields.iter().filter(|f| f.1 == ty) {
                all.push(format!("hdr.s[{}].{field}", self.random.below(stack.size)));
                if self.config.indexed_targets {
                    let index = self.stack_index(stack.size);
                    all.push(format!("hdr.s[{index}].{field}"));
                }
            }
        }
        all
    }

    /// Calls a function or action so that some arguments are parts of others, or the same.
    pub(crate) fn overlapping_call(&mut self) -> bool {
        if !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        let mut callable = self.overlapping.clone();
        if self.place == Place::Control {
            callable.extend(self.overlapping_actions.clone());
        }
        if callable.is_empty() {
            return false;
        }
        let Overlapping { name, params, result } = self.random.pick(&callable).clone();
        let root = self.root();
        let mut args = Vec::new();
        for (direction, kind) in &params {
            let Some(arg) = self.overlapping_argument(*direction, kind, &root) else { return false };
            args.push(arg);
        }
        let call = format!("{name}({})", args.join(", "));
        let Some(ty) = result else {
            self.line(format!("{call};"));
            return true;
        };
        match self.target(|t| t == ty) {
            // What is assigned to may be what the call changes.
            Some((target, _)) if self.random.one_in(2) => {
                let other = self.leaf(ty);
                let value = *self.random.pick(&["CALL", "CALL ^ OTHER", "OTHER ^ CALL"]);
                let value = value.replace("CALL", &call).replace("OTHER", &other);
                self.line(format!("{target} = {value};"));
            }
            _ => self.line(format!("{call};")),
        }
        true
    }

    /// Something that several arguments are parts of.
    fn root(&mut self) -> String {
        let mut all: Vec<String> = self.visible.iter().map(|h| h.text.clone()).collect();
        all.extend(self.records.clone());
        if self.sees_all {
            let wholes = [
                ("hdr.s", self.headers.stack.is_some()),
                ("hdr.u", !self.headers.union.is_empty()),
                ("hdr.us", self.headers.union_stack),
            ];
            all.extend(wholes.iter().filter(|w| w.1).map(|w| w.0.to_string()));
        }
        if all.is_empty() || self.random.one_in(3) {
            all = self.scope.iter().filter(|v| v.writable).map(|v| v.text.clone()).collect();
        }
        if all.is_empty() { String::new() } else { self.random.pick(&all).clone() }
    }

    fn overlapping_argument(&mut self, direction: Direction, kind: &Kind, root: &str) -> Option<String> {
        if let (Direction::In, Kind::Scalar(ty)) = (direction, kind) {
            if self.config.effect_arguments
                && self.random.one_in(2)
                && let Some(call) = self.effect(*ty)
            {
                return Some(call);
            }
            if self.random.one_in(2) {
                return Some(self.expr(*ty, 2));
            }
        }
        let all = self.places(kind);
        let near: Vec<String> = all.iter().filter(|t| overlap(t, root)).cloned().collect();
        if !near.is_empty() && !self.random.one_in(4) {
            return Some(self.random.pick(&near).clone());
        }
        if !all.is_empty() {
            return Some(self.random.pick(&all).clone());
        }
        match kind {
            Kind::Scalar(ty) => Some(self.literal(*ty)).filter(|_| direction == Direction::In),
            _ => None,
        }
    }
}

/// Whether one is the other or a part of it, by their names.
fn overlap(a: &str, b: &str) -> bool {
    let part =
        |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|r| r.is_empty() || r.starts_with(['.', '[']));
    part(a, b) || part(b, a)
}
