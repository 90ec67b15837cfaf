//! A stack of header unions, `hdr.us`.

use crate::{Generator, Place, Ty};

/// Number of its elements.
pub(crate) const SIZE: usize = 3;

impl Generator {
    /// Declares its types, with headers small enough for several to be in a packet.
    pub(crate) fn union_stack_types(&mut self) -> bool {
        if !self.config.union_stacks || !self.random.one_in(2) {
            return false;
        }
        self.line("header wa_t { bit<2> kind; bit<6> x; }");
        self.line("header wb_t { bit<2> kind; bit<14> y; }");
        self.line("header_union w_t { wa_t a; wb_t b; }");
        self.headers.union_stack = true;
        true
    }

    /// The state that chooses a member for the next element, and the two that extract it.
    pub(crate) fn parse_union_stack(&mut self, rest: &[String]) {
        let next = rest.first().map_or("accept", String::as_str).to_string();
        let (a, b) = if self.random.one_in(2) { ("2w0", "2w1 &&& 2w1") } else { ("2w0 &&& 2w1", "2w1") };
        self.line(format!(
            "transition select(packet.lookahead<bit<2>>()) {{ {a}: parse_us_a; {b}: parse_us_b; default: {next}; }}"
        ));
        self.close();
        for member in ["a", "b"] {
            self.open(format!("state parse_us_{member}"));
            self.line(format!("packet.extract(hdr.us.next.{member});"));
            // Most packets have some elements, few too many.
            let next = if self.random.one_in(3) { next.as_str() } else { "parse_us" };
            self.line(format!("transition {next};"));
            self.close();
        }
    }

    /// An index of an element: a constant, or computed and then perhaps beyond the stack.
    fn union_index(&mut self) -> String {
        if self.random.one_in(2) { self.random.below(SIZE).to_string() } else { self.stack_index(SIZE) }
    }

    pub(crate) fn union_stack_statement(&mut self) -> bool {
        if !self.headers.union_stack || !self.sees_all || !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        match self.random.below(8) {
            0 => self.line("hdr.us.push_front(1);"),
            1 => self.line("hdr.us.pop_front(1);"),
            2 => {
                let (to, from) = (self.union_index(), self.union_index());
                let member = *self.random.pick(&["", ".a", ".b"]);
                self.line(format!("hdr.us[{to}]{member} = hdr.us[{from}]{member};"));
            }
            3 => {
                let Some((target, _)) = self.target(|t| t == Ty::Bool) else { return false };
                let value = match self.random.below(3) {
                    0 => format!("hdr.us[{}].isValid()", self.union_index()),
                    // Unions by indices with effects cannot be compared yet.
                    1 => format!("hdr.us[{}] == hdr.us[{}]", self.random.below(SIZE), self.random.below(SIZE)),
                    _ => format!("hdr.us[{}].b.isValid()", self.union_index()),
                };
                self.line(format!("{target} = {value};"));
            }
            _ => {
                let index = self.union_index();
                self.change_unions("hdr.us", &index);
            }
        }
        true
    }

    /// Changes an element of a stack of unions.
    pub(crate) fn change_unions(&mut self, stack: &str, index: &str) {
        let element = format!("{stack}[{index}]");
        match self.random.below(7) {
            0 => self.line(format!("{element}.a.setValid();")),
            1 => self.line(format!("{element}.b.setValid();")),
            2 => self.line(format!("{element}.a.setInvalid();")),
            3 => self.line(format!("{element}.b.setInvalid();")),
            4 => {
                let value = self.expr(Ty::Bits(6), 2);
                self.line(format!("{element}.a = {{ 2w0, {value} }};"));
            }
            5 => {
                let value = self.expr(Ty::Bits(14), 2);
                self.line(format!("{element}.b = {{ 2w1, {value} }};"));
            }
            _ => {
                let member = *self.random.pick(&["a = (wa_t) {#}", "b = (wb_t) {#}"]);
                self.line(format!("{element}.{member};"));
            }
        }
    }
}
