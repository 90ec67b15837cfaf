//! Parser value sets of structs, whose fields have match kinds.

use crate::{Generator, Ty};

/// A value set for the first field of headers and for a value beside it.
#[derive(Clone, Debug)]
pub(crate) struct StructSet {
    name: String,
    struct_name: String,
    fields: [(&'static str, u32); 2],
}

impl Generator {
    /// Declares the structs.
    pub(crate) fn struct_sets(&mut self) {
        if !self.config.struct_value_sets {
            return;
        }
        for _ in 0..self.random.below(3) {
            let (name, struct_name) = (self.name("set"), self.name("key"));
            let first = self.random.pick(&self.headers.plain).fields[0].1.width();
            let kinds = ["exact", "ternary", "lpm", "range"];
            let second = 1 + self.random.below(12) as u32;
            let fields = [(*self.random.pick(&kinds), first), (*self.random.pick(&kinds), second)];
            self.open(format!("struct {struct_name}"));
            for (field, (kind, width)) in ["first", "second"].iter().zip(fields) {
                self.line(format!("@match({kind}) bit<{width}> {field};"));
            }
            self.close();
            self.struct_sets.push(StructSet { name, struct_name, fields });
        }
    }

    /// Declares the value sets, and gives them members.
    pub(crate) fn struct_set_instances(&mut self) {
        for StructSet { name, struct_name, fields } in self.struct_sets.clone() {
            self.line(format!("value_set<{struct_name}>(4) {name};"));
            let members: Vec<String> = (0..self.random.below(4))
                .map(|_| fields.map(|(kind, width)| self.member(kind, width)).join(","))
                .collect();
            self.entries.push_str(&format!("value_set_write P.{name} {}\n", members.join(" ")));
        }
    }

    fn member(&mut self, kind: &str, width: u32) -> String {
        let (value, other) = (self.random.value(width), self.random.value(width));
        match kind {
            "exact" => value.to_string(),
            "lpm" => format!("{value}/{}", self.random.between(0, width as usize)),
            "range" => format!("{}..{}", value.min(other), value.max(other)),
            _ => {
                let digit = |i: u32| {
                    if other >> i & 1 == 0 {
                        '*'
                    } else if value >> i & 1 == 0 {
                        '0'
                    } else {
                        '1'
                    }
                };
                format!("0b{}", (0..width).rev().map(digit).collect::<String>())
            }
        }
    }

    /// A `select` over a key of this width with such a set, if there is one for it.
    pub(crate) fn select_struct_set(&mut self, key: &str, width: u32, rest: &[String]) -> bool {
        let sets: Vec<StructSet> = self.struct_sets.iter().filter(|s| s.fields[0].1 == width).cloned().collect();
        if sets.is_empty() || self.random.one_in(2) {
            return false;
        }
        let set = self.random.pick(&sets).clone();
        let second = set.fields[1].1;
        let other = self.expr(Ty::Bits(second), 1);
        self.open(format!("transition select({key}, {other})"));
        let target = self.random.pick(rest).clone();
        self.line(format!("{}: {target};", set.name));
        let (value, target) = (self.random.value(width), self.random.pick(rest).clone());
        self.line(format!("({width}w{value}, _): {target};"));
        self.line(format!("default: {};", rest[0]));
        self.close();
        true
    }
}
