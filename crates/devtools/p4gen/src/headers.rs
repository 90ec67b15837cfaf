//! Headers, metadata, and the structs that hold them.

use crate::{Generator, Ty};

/// The program's headers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Headers {
    /// Plain headers in the order in which they are parsed and emitted.
    pub plain: Vec<Header>,
    pub stack: Option<Stack>,
    pub varbit: bool,
    /// The members of `hdr.u`.
    pub union: Vec<Header>,
    /// The fields of `rec_t`.
    pub record: Vec<(String, Ty)>,
    pub metadata: Vec<(String, Ty)>,
    /// Element type and size of `meta.ar`.
    pub array: Option<(Ty, usize)>,
    /// Whether there is `hdr.us`.
    pub union_stack: bool,
    /// A header of the metadata, in field lists.
    pub kept: Option<Header>,
}

#[derive(Clone, Debug)]
pub(crate) struct Header {
    /// `hdr.h0`
    pub text: String,
    pub type_name: String,
    pub fields: Vec<(String, Ty)>,
}

impl Header {
    pub(crate) fn bytes(&self) -> usize {
        self.fields.iter().map(|(_, ty)| ty.width() as usize).sum::<usize>() / 8
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Stack {
    /// `hdr.s`
    pub text: String,
    pub size: usize,
    pub fields: Vec<(String, Ty)>,
}

impl Generator {
    pub(crate) fn declare_headers(&mut self) {
        let mut members = self.declare_plain_headers();
        if self.config.stacks && self.random.one_in(2) {
            let mut fields = vec![("more".to_string(), Ty::Bits(1)), ("x".to_string(), Ty::Bits(7))];
            if self.random.one_in(2) {
                fields.push(("y".into(), Ty::Bits(8 * self.random.between(1, 4) as u32)));
            }
            self.header_type("s_t", &fields);
            let size = self.random.between(2, 4);
            members.push(format!("s_t[{size}] s;"));
            self.headers.stack = Some(Stack { text: "hdr.s".into(), size, fields });
        }
        if self.config.varbit && self.random.one_in(3) {
            self.line("header v_t { bit<4> n; bit<4> k; varbit<64> data; bit<8> z; }");
            // One is parsed, the other only ever copied.
            members.push("v_t v;".into());
            members.push("v_t w;".into());
            self.headers.varbit = true;
        }
        if self.config.unions && self.random.one_in(3) {
            let (a, b) = (self.headers.plain[0].clone(), self.headers.plain[1].clone());
            self.line(format!("header_union u_t {{ {} a; {} b; }}", a.type_name, b.type_name));
            members.push("u_t u;".into());
            let named = |text: &str, header: Header| Header { text: text.into(), ..header };
            self.headers.union = vec![named("hdr.u.a", a), named("hdr.u.b", b)];
        }
        if self.union_stack_types() {
            members.push(format!("w_t[{}] us;", crate::union_stack::SIZE));
        }
        if self.config.aggregates && self.random.one_in(2) {
            self.headers.record = (0..self.random.between(1, 3)).map(|i| (format!("f{i}"), self.some_type())).collect();
            self.open("struct rec_t");
            for (field, ty) in self.headers.record.clone() {
                self.line(format!("{ty} {field};"));
            }
            self.close();
        }
        self.open("struct headers");
        for member in members {
            self.line(member);
        }
        self.close();
        self.declare_metadata();
    }

    /// Declares the types of headers that are no stacks and no unions; returns the members for them.
    fn declare_plain_headers(&mut self) -> Vec<String> {
        let mut members = Vec::new();
        let count = self.random.between(2, 4);
        for i in 0..count {
            // Now and then two headers share a type, so that one can be copied to the other.
            let shared = if i > 1 && self.random.one_in(3) { self.headers.plain.last().cloned() } else { None };
            let (type_name, fields) = match shared {
                Some(other) => (other.type_name, other.fields),
                None => {
                    let fields = self.fields();
                    let type_name = format!("h{i}_t");
                    self.header_type(&type_name, &fields);
                    (type_name, fields)
                }
            };
            members.push(format!("{type_name} h{i};"));
            self.headers.plain.push(crate::headers::Header { text: format!("hdr.h{i}"), type_name, fields });
        }
        members
    }

    fn declare_metadata(&mut self) {
        self.open("struct metadata");
        for i in 0..self.random.between(3, 7) {
            let ty = self.some_type();
            if self.config.traffic && self.random.one_in(2) {
                let lists = *self.random.pick(&["1", "2", "1, 2"]);
                self.line(format!("@field_list({lists})"));
            }
            self.line(format!("{ty} m{i};"));
            self.headers.metadata.push((format!("meta.m{i}"), ty));
        }
        if !self.headers.record.is_empty() {
            self.line("rec_t rec;");
        }
        if self.config.aggregates && self.random.one_in(2) {
            let (ty, size) = (self.some_type(), self.random.between(2, 5));
            if self.config.traffic && self.random.one_in(2) {
                self.line("@field_list(2)");
            }
            self.line(format!("{ty}[{size}] ar;"));
            self.headers.array = Some((ty, size));
        }
        if self.config.traffic && self.random.one_in(2) {
            let header = Header { text: "meta.mh".into(), ..self.random.pick(&self.headers.plain).clone() };
            let lists = *self.random.pick(&["1", "2", "1, 2"]);
            self.line(format!("@field_list({lists})"));
            self.line(format!("{} mh;", header.type_name));
            self.headers.kept = Some(header);
        }
        if self.headers.varbit {
            if self.config.traffic && self.random.one_in(2) {
                self.line("@field_list(1)");
            }
            self.line("varbit<64> vb;");
        }
        if self.config.growth {
            self.line("@field_list(3) bit<2> passes;");
        }
        self.close();
    }

    fn header_type(&mut self, name: &str, fields: &[(String, Ty)]) {
        self.open(format!("header {name}"));
        for (field, ty) in fields {
            self.line(format!("{ty} {field};"));
        }
        self.close();
    }

    /// Fields of odd widths that add up to whole bytes.
    fn fields(&mut self) -> Vec<(String, Ty)> {
        let mut fields = vec![("f0".to_string(), Ty::Bits(*self.random.pick(&[3, 4, 8])))];
        for i in 1..self.random.between(2, 6) {
            let ty = match self.some_type() {
                Ty::Bool => Ty::Bits(1),
                ty => ty,
            };
            fields.push((format!("f{i}"), ty));
        }
        let bits: u32 = fields.iter().map(|(_, ty)| ty.width()).sum();
        if !bits.is_multiple_of(8) {
            fields.push(("pad".into(), Ty::Bits(8 - bits % 8)));
        }
        fields
    }

    /// Puts the fields of plain headers into scope; those of `hdr.h0` only, or of all.
    pub(crate) fn fields_in_scope(&mut self, only_first: bool) {
        let count = if only_first { 1 } else { self.headers.plain.len() };
        let mut headers = self.headers.plain[..count].to_vec();
        self.visible = self.headers.plain.clone();
        self.sees_all = true;
        if !only_first {
            headers.extend(self.headers.union.clone());
            self.visible.extend(self.headers.union.clone());
        }
        for header in headers {
            self.header_in_scope(&header);
        }
    }

    pub(crate) fn header_in_scope(&mut self, header: &Header) {
        for (field, ty) in &header.fields {
            self.declare(format!("{}.{field}", header.text), *ty, true);
        }
    }

    pub(crate) fn metadata_in_scope(&mut self) {
        for (text, ty) in self.headers.metadata.clone() {
            self.declare(text, ty, true);
        }
        if let Some((ty, size)) = self.headers.array {
            (0..size).for_each(|i| self.declare(format!("meta.ar[{i}]"), ty, true));
        }
        if let Some(header) = self.headers.kept.clone() {
            self.header_in_scope(&header);
            self.visible.push(header);
        }
        if !self.headers.record.is_empty() {
            self.record_in_scope("meta.rec".into());
        }
    }

    /// Puts a variable of the program's struct and its fields into scope.
    pub(crate) fn record_in_scope(&mut self, name: String) {
        for (field, ty) in self.headers.record.clone() {
            self.declare(format!("{name}.{field}"), ty, true);
        }
        self.records.push(name);
    }

    /// Empties the scope.
    pub(crate) fn empty_scope(&mut self) {
        self.scope.clear();
        self.visible.clear();
        self.records.clear();
        self.sees_all = false;
    }

    /// Puts the readable standard metadata into scope.
    pub(crate) fn standard_in_scope(&mut self) {
        let fields = [
            ("ingress_port", 9),
            ("packet_length", 32),
            ("instance_type", 32),
            ("checksum_error", 1),
            ("egress_rid", 16),
        ];
        for (field, width) in fields {
            self.declare(format!("sm.{field}"), Ty::Bits(width), false);
        }
        self.declare("sm.priority", Ty::Bits(3), true);
    }
}
