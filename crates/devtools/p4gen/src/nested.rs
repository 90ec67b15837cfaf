//! Controls within controls, parsers within parsers, and variables that are headers or structs.

use crate::headers::Header;
use crate::{Direction, Generator, Place, Ty};

/// A control that ingress and egress have an instance of.
#[derive(Clone, Debug)]
pub(crate) struct Nested {
    name: String,
    /// Takes all headers and metadata.
    whole: bool,
    /// Takes a header of this type.
    header: Option<String>,
    /// Takes a register of this type.
    register: Option<Ty>,
    params: Vec<(Direction, Ty)>,
}

/// A parser for one header type, with parameters beside the packet and the header.
#[derive(Clone, Debug)]
pub(crate) struct SubParser {
    name: String,
    header: String,
    params: Vec<(Direction, Ty)>,
}

impl Generator {
    pub(crate) fn nested_controls(&mut self) {
        if !self.config.nested {
            return;
        }
        for _ in 0..self.random.below(3) {
            self.nested_control();
        }
    }

    fn nested_control(&mut self) {
        self.empty_scope();
        let name = self.name("S");
        let whole = self.random.one_in(2);
        let mut texts = Vec::new();
        if whole {
            texts.push("inout headers hdr, inout metadata meta".to_string());
            self.fields_in_scope(false);
            self.metadata_in_scope();
        }
        texts.push("inout standard_metadata_t sm".into());
        self.standard_in_scope();
        let mut header = None;
        if self.random.one_in(2) {
            let ty = self.random.pick(&self.headers.plain).clone();
            let param = Header { text: self.name("ph"), ..ty };
            texts.push(format!("inout {} {}", param.type_name, param.text));
            self.header_in_scope(&param);
            header = Some(param.type_name.clone());
            self.visible.push(param);
        }
        let register =
            (self.config.objects && self.config.state && self.random.one_in(3)).then(|| self.register_type());
        if let Some(ty) = register {
            let given = self.name("pr");
            texts.push(format!("register<{ty}> {given}"));
            self.given_registers.push((given, 4, ty));
        }
        let (params, declared) = self.parameters(0, 3);
        texts.extend(declared);
        self.open(format!("control {name}({})", texts.join(", ")));
        let instances = [format!("I_{name}"), format!("E_{name}")];
        let tables = self.random.below(2);
        self.declarations(&instances, tables);
        self.open("apply");
        let count = self.random.between(2, 7);
        self.statements(count);
        self.close();
        self.close();
        self.given_registers.clear();
        self.nested.push(Nested { name, whole, header, register, params });
    }

    /// Controls that are each applied by the next one, of which the outermost is an instance of ingress and egress. Each
    /// changes its parameters before and after what may exit.
    pub(crate) fn exit_chain(&mut self) {
        if !self.config.nested_exits || !self.random.one_in(2) {
            return;
        }
        let header = self.random.one_in(2).then(|| self.random.pick(&self.headers.plain).clone());
        let mut inner: Option<Nested> = None;
        for _ in 0..self.random.between(2, 3) {
            inner = Some(self.exiting_control(header.as_ref(), inner));
        }
        self.nested.extend(inner);
    }

    fn exiting_control(&mut self, header: Option<&Header>, inner: Option<Nested>) -> Nested {
        self.empty_scope();
        let name = self.name("Z");
        let mut texts = vec!["inout standard_metadata_t sm".to_string()];
        self.standard_in_scope();
        if let Some(ty) = header {
            let param = Header { text: self.name("ph"), ..ty.clone() };
            texts.push(format!("inout {} {}", param.type_name, param.text));
            self.header_in_scope(&param);
            self.visible.push(param);
        }
        let (params, declared) = self.parameters(1, 3);
        texts.extend(declared);
        self.open(format!("control {name}({})", texts.join(", ")));
        self.forget_objects();
        self.place = Place::Control;
        self.local();
        let leave = self.name("leave");
        let scope = self.scope.len();
        let (given, list) = self.parameters(1, 2);
        self.place = Place::Action;
        self.open(format!("action {leave}({})", list.join(", ")));
        self.statements(2);
        let cond = self.expr(Ty::Bool, 2);
        self.line(format!("if ({cond}) {{ exit; }}"));
        self.statements(1);
        self.close();
        self.scope.truncate(scope);
        self.place = Place::Control;
        if let Some(inner) = &inner {
            self.line(format!("{}() {name}_{};", inner.name, inner.name));
        }
        self.open("apply");
        self.statements(2);
        for _ in 0..self.random.between(1, 2) {
            let args = self.arguments(&given);
            self.line(format!("{leave}({});", args.join(", ")));
            self.statements(1);
            if let Some(inner) = &inner {
                self.outer = name.clone();
                self.apply_one(inner);
                self.outer.clear();
            }
        }
        self.statements(2);
        self.close();
        self.close();
        let header = header.map(|h| h.type_name.clone());
        Nested { name, whole: false, header, register: None, params }
    }

    /// Declares what control `outer` applies.
    pub(crate) fn instances(&mut self, outer: &str) {
        for Nested { name, register, .. } in self.nested.clone() {
            if let Some(ty) = register {
                self.line(format!("register<{ty}>(4) {outer}_{name}_cells;"));
            }
            self.line(format!("{name}() {outer}_{name};"));
        }
        self.outer = outer.to_string();
    }

    /// Applies each control within this one once: without that its tables would not exist.
    pub(crate) fn apply_all_nested(&mut self) {
        for nested in self.nested.clone() {
            self.apply_one(&nested);
        }
    }

    /// Applies a control within this one, if there is any.
    pub(crate) fn apply_nested(&mut self) -> bool {
        if self.place != Place::Control || self.outer.is_empty() || self.nested.is_empty() || self.loops > 0 {
            return false;
        }
        let nested = self.random.pick(&self.nested).clone();
        self.apply_one(&nested);
        true
    }

    fn apply_one(&mut self, Nested { name, whole, header, register, params }: &Nested) {
        let mut args = Vec::new();
        if *whole {
            args.push("hdr, meta".to_string());
        }
        args.push("sm".into());
        if let Some(type_name) = header {
            // The headers of the packet are always visible, so that there is one.
            let fits: Vec<String> =
                self.visible.iter().filter(|h| h.type_name == *type_name).map(|h| h.text.clone()).collect();
            args.push(self.random.pick(&fits).clone());
        }
        if register.is_some() {
            args.push(format!("{}_{name}_cells", self.outer));
        }
        args.extend(self.arguments(params));
        self.line(format!("{}_{name}.apply({});", self.outer, args.join(", ")));
    }

    pub(crate) fn sub_parsers(&mut self) {
        if !self.config.nested || !self.random.one_in(2) {
            return;
        }
        self.empty_scope();
        self.place = Place::Parser;
        let name = self.name("Q");
        let header = Header { text: "h".into(), ..self.random.pick(&self.headers.plain).clone() };
        let (params, texts) = self.parameters(0, 2);
        let list: String = texts.iter().map(|t| format!(", {t}")).collect();
        self.open(format!("parser {name}(packet_in packet, out {} h{list})", header.type_name));
        self.local();
        self.open("state start");
        self.line("packet.extract(h);");
        self.header_in_scope(&header);
        self.visible.push(header.clone());
        self.statements(2);
        let (field, ty) = header.fields[0].clone();
        let value = self.random.value(ty.width());
        self.line(format!("transition select(h.{field}) {{ {}w{value}: more; default: accept; }}", ty.width()));
        self.close();
        self.open("state more");
        self.statements(2);
        if self.random.one_in(3) {
            let cond = self.expr(Ty::Bool, 1);
            self.line(format!("verify({cond}, error.NoMatch);"));
        }
        self.line("transition accept;");
        self.close();
        self.close();
        self.sub_parsers.push(SubParser { name, header: header.type_name, params });
    }

    pub(crate) fn sub_parser_instances(&mut self) {
        for SubParser { name, .. } in self.sub_parsers.clone() {
            self.line(format!("{name}() p_{name};"));
        }
    }

    /// Lets a sub-parser extract the header, if there is one for it.
    pub(crate) fn apply_sub_parser(&mut self, header: &Header) -> bool {
        let Some(sub) = self.sub_parsers.iter().find(|s| s.header == header.type_name).cloned() else { return false };
        let values = self.arguments(&sub.params);
        let list: String = values.iter().map(|t| format!(", {t}")).collect();
        let call = format!("p_{}.apply(packet, {}{list});", sub.name, header.text);
        if self.random.one_in(3) {
            // Only some packets pass it; the rest of the branch follows it.
            let cond = self.expr(Ty::Bool, 2);
            self.open(format!("if ({cond})"));
            self.line(call);
            self.statements(1);
            self.close();
            self.open("else");
            self.line(format!("packet.extract({});", header.text));
            self.close();
        } else {
            self.line(call);
        }
        true
    }

    /// Local headers and structs of a control.
    pub(crate) fn local_aggregates(&mut self) {
        if self.random.one_in(2) {
            let header = Header { text: self.name("lh"), ..self.random.pick(&self.headers.plain).clone() };
            self.line(format!("{} {};", header.type_name, header.text));
            self.header_in_scope(&header);
            self.visible.push(header);
        }
        if !self.headers.record.is_empty() && self.random.one_in(2) {
            self.local_record();
        }
    }

    fn local_record(&mut self) {
        let name = self.name("lr");
        let fields = self.headers.record.clone();
        let values: Vec<String> = fields.iter().map(|(_, ty)| self.expr(*ty, 2)).collect();
        self.line(format!("rec_t {name} = {{ {} }};", values.join(", ")));
        self.record_in_scope(name);
    }

    /// Declares, copies or fills a struct.
    pub(crate) fn aggregate_statement(&mut self) -> bool {
        if self.headers.record.is_empty() || !matches!(self.place, Place::Control | Place::Action) {
            return false;
        }
        if self.records.is_empty() || self.random.one_in(3) {
            self.local_record();
            return true;
        }
        let target = self.random.pick(&self.records).clone();
        if self.random.one_in(2) {
            let source = self.random.pick(&self.records).clone();
            self.line(format!("{target} = {source};"));
        } else {
            let fields = self.headers.record.clone();
            let values: Vec<String> =
                fields.iter().map(|(field, ty)| format!("{field} = {}", self.expr(*ty, 2))).collect();
            self.line(format!("{target} = {{ {} }};", values.join(", ")));
        }
        true
    }
}
