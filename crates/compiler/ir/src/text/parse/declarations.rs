//! Declarations: headers, slots, objects, actions, tables, the parser and the controls.

use super::*;

impl Reader<'_> {
    pub(super) fn pipeline(&mut self) -> Result<()> {
        self.expect_word("pipeline")?;
        self.pipeline.name = self.name()?;
        self.expect_word("errors")?;
        loop {
            let name = self.name()?;
            self.pipeline.errors.push(name);
            if !self.sign(",") {
                break;
            }
        }
        while self.declaration()? {}
        if *self.token() != Token::End {
            return self.expected("a declaration");
        }
        for (object, name, at) in std::mem::take(&mut self.tables_of_objects) {
            let Some(found) = self.tables.get(&name) else {
                return self.error_at(at, format!("there is no table `{name}`"));
            };
            if let ExternKind::DirectCounter { table, .. } | ExternKind::DirectMeter { table, .. } =
                &mut self.pipeline.externs[object.index()].kind
            {
                *table = Some(*found);
            }
        }
        for (field, _) in StandardMetadata::FIELDS {
            let slot = self.pipeline.standard.field_mut(field).map(|slot| *slot);
            if slot == Some(SlotId(u32::MAX)) {
                return self.error_at(self.at, format!("there is no standard metadata `{field}`"));
            }
        }
        Ok(())
    }

    /// Parses one declaration; false if none is next.
    fn declaration(&mut self) -> Result<bool> {
        let Token::Word(word) = self.token().clone() else { return Ok(false) };
        let start = self.at;
        self.at += 1;
        match word.as_str() {
            "header" => self.header_declaration(start)?,
            "stack" => self.stack_declaration(start)?,
            "union" => {
                let name = self.name()?;
                self.expect_sign("=")?;
                self.expect_sign("{")?;
                let members = self.list("}", Self::header)?;
                let id = UnionId(self.pipeline.unions.len() as u32);
                for member in &members {
                    self.pipeline.headers[member.index()].union = Some(id);
                }
                let span = self.span_from(start);
                self.pipeline.unions.push(Union { name, members, span });
            }
            "metadata" => self.slot_declaration(SlotKind::Metadata, start)?,
            "standard" => self.slot_declaration(SlotKind::Standard, start)?,
            "local" => self.slot_declaration(SlotKind::Local, start)?,
            "field_list" => {
                let index = self.small()?;
                self.expect_sign("=")?;
                self.expect_sign("{")?;
                let slots = self.list("}", Self::slot)?;
                self.pipeline.field_lists.push(FieldList { index, slots });
            }
            "packet_in" => self.pipeline.packet_in = Some(self.header()?),
            "packet_out" => self.pipeline.packet_out = Some(self.header()?),
            "control_plane" => {
                let kind = self.found("kind of object", |_, name| {
                    P4Kind::ALL.into_iter().find(|kind| kind.words().replace(' ', "_") == name)
                })?;
                let name = self.name()?;
                let at = self.at;
                let Some(id) = self.id()? else { return self.error_at(at, "expected the object's `@id`") };
                self.pipeline.control_plane_objects.push(ControlPlaneObject { kind, name, id });
            }
            "value_set" => self.value_set(start)?,
            "extern" => self.extern_declaration(start)?,
            "action" => self.action_declaration(start)?,
            "table" => self.table_declaration(start)?,
            "parser" => self.parser(start)?,
            "verify_checksum" => self.pipeline.verify_checksum = self.control(start)?,
            "ingress" => self.pipeline.ingress = self.control(start)?,
            "egress" => self.pipeline.egress = self.control(start)?,
            "compute_checksum" => self.pipeline.compute_checksum = self.control(start)?,
            "deparser" => self.pipeline.deparser = self.control(start)?,
            _ => {
                self.at = start;
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn add_slot(&mut self, name: String, ty: Type, kind: SlotKind, span: Span) -> SlotId {
        let id = SlotId(self.pipeline.slots.len() as u32);
        self.slots.add(&name, id.0);
        self.pipeline.slots.push(Slot { name, ty, kind, span });
        id
    }

    fn header_declaration(&mut self, start: usize) -> Result<()> {
        let name = base_name(&self.name()?).to_string();
        self.expect_sign(":")?;
        let type_name = self.name()?;
        self.expect_sign("{")?;
        let id = HeaderId(self.pipeline.headers.len() as u32);
        let mut header = Header {
            valid: SlotId(0),
            fields: Vec::new(),
            fixed_bits: 0,
            varbit: None,
            stack: None,
            union: None,
            span: self.span_from(start),
            type_name,
            name: name.clone(),
        };
        while !self.sign("}") {
            let at = self.at;
            let field = self.name()?;
            self.expect_sign(":")?;
            let ty = self.ty()?;
            self.expect_sign("@")?;
            let offset_bits = self.small()?;
            let number = header.fields.len() as u32;
            let span = self.span_from(at);
            let slot = self.add_slot(format!("{name}.{field}"), ty, SlotKind::Field(id, number), span);
            header.fields.push(HeaderField { slot, name: field, offset_bits, width: ty.width() });
            match ty {
                Type::Varbit(_) => header.varbit = Some(number),
                _ => header.fixed_bits = header.fixed_bits.saturating_add(ty.width()),
            }
        }
        header.valid = self.add_slot(format!("{name}.$valid"), Type::Bool, SlotKind::Valid(id), header.span);
        self.headers.add(&name, id.0);
        self.pipeline.headers.push(header);
        Ok(())
    }

    fn stack_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign("=")?;
        self.expect_sign("[")?;
        let elements = self.list("]", Self::header)?;
        let id = StackId(self.pipeline.stacks.len() as u32);
        for (index, element) in (0..).zip(&elements) {
            self.pipeline.headers[element.index()].stack = Some((id, index));
        }
        let span = self.span_from(start);
        let next_index = self.add_slot(format!("{name}.$nextIndex"), Type::Bits(32), SlotKind::NextIndex(id), span);
        self.stacks.insert(name.clone(), id);
        self.pipeline.stacks.push(Stack { name, elements, next_index, span });
        Ok(())
    }

    fn slot_declaration(&mut self, kind: SlotKind, start: usize) -> Result<()> {
        let at = self.at;
        let name = base_name(&self.name()?).to_string();
        self.expect_sign(":")?;
        let ty = self.ty()?;
        let id = self.add_slot(name.clone(), ty, kind, self.span_from(start));
        if kind == SlotKind::Standard {
            let field = name.rsplit('.').next().unwrap_or_default();
            match self.pipeline.standard.field_mut(field) {
                Some(slot) => *slot = id,
                None => return self.error_at(at, format!("there is no standard metadata `{field}`")),
            }
        }
        Ok(())
    }

    fn value_set(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign(":")?;
        self.expect_sign("(")?;
        let types = self.list(")", Self::ty)?;
        self.expect_word("size")?;
        let size = self.small()?;
        let id = self.id()?;
        self.value_sets.insert(name.clone(), ValueSetId(self.pipeline.value_sets.len() as u32));
        let span = self.span_from(start);
        self.pipeline.value_sets.push(ValueSet { name, id, types, size, span });
        Ok(())
    }

    fn is_annotation(&self, name: &str) -> bool {
        self.is_sign("@") && matches!(self.tokens.get(self.at + 1), Some((Token::Word(word), _)) if word == name)
    }

    /// `@id(0x02000001)`, or nothing.
    fn id(&mut self) -> Result<Option<P4Id>> {
        if !self.is_annotation("id") {
            return Ok(None);
        }
        self.at += 2;
        self.expect_sign("(")?;
        let id = P4Id(self.small()?);
        self.expect_sign(")")?;
        Ok(Some(id))
    }

    fn size(&mut self) -> Result<u64> {
        self.expect_word("size")?;
        self.small()
    }

    fn unit(&mut self) -> Result<Unit> {
        self.expect_word("of")?;
        self.found("unit", |_, name| {
            [Unit::Packets, Unit::Bytes, Unit::Both].into_iter().find(|unit| format!("{unit:?}") == name)
        })
    }

    /// `size 12` of an indirect object, `in TABLE` or `in no table` of a direct one: the size if it is indirect.
    fn extent(&mut self, id: ExternId) -> Result<Option<u64>> {
        if !self.word("in") {
            return self.size().map(Some);
        }
        if self.word("no") {
            self.expect_word("table")?;
            return Ok(None);
        }
        let at = self.at;
        let table = self.name()?;
        self.tables_of_objects.push((id, table, at));
        Ok(None)
    }

    fn extern_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign(":")?;
        let id = ExternId(self.pipeline.externs.len() as u32);
        let kind = if self.word("counter") {
            let unit = self.unit()?;
            match self.extent(id)? {
                Some(size) => ExternKind::Counter { size, unit },
                None => ExternKind::DirectCounter { table: None, unit },
            }
        } else if self.word("meter") {
            let unit = self.unit()?;
            match self.extent(id)? {
                Some(size) => ExternKind::Meter { size, unit },
                None => ExternKind::DirectMeter { table: None, unit },
            }
        } else if self.word("register") {
            self.expect_word("of")?;
            let ty = self.ty()?;
            ExternKind::Register { size: self.size()?, ty }
        } else if self.word("action_profile") {
            ExternKind::ActionProfile { size: self.size()? }
        } else if self.word("action_selector") {
            self.expect_word("by")?;
            let algorithm = self.algorithm()?;
            self.expect_word("bits")?;
            let output_width = self.small()?;
            ExternKind::ActionSelector { algorithm, size: self.size()?, output_width }
        } else {
            let type_name = self.name()?;
            if self.sign("(") {
                ExternKind::Named { type_name, args: self.list(")", Self::number)? }
            } else if type_name == "Stateless" {
                ExternKind::Stateless
            } else {
                return self.expected("`(`");
            }
        };
        let is_register = matches!(kind, ExternKind::Register { .. });
        let initial = if is_register && self.word("initial") { self.number()? } else { BigUint::ZERO };
        let concurrent = self.is_annotation("concurrent");
        if concurrent {
            self.at += 2;
        }
        let p4_id = self.id()?;
        self.externs.insert(name.clone(), id);
        let span = self.span_from(start);
        self.pipeline.externs.push(ExternInstance { name, id: p4_id, kind, concurrent, initial, span });
        Ok(())
    }

    fn action_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_sign("(")?;
        self.params = self.list(")", |s| {
            let name = s.name()?;
            s.expect_sign(":")?;
            Ok(Param { name, ty: s.ty()? })
        })?;
        let id = self.id()?;
        let span = self.span_from(start);
        let body = self.braces()?;
        self.actions.insert(name.clone(), ActionId(self.pipeline.actions.len() as u32));
        let params = std::mem::take(&mut self.params);
        self.pipeline.actions.push(Action { name, id, params, body, span });
        Ok(())
    }

    fn control(&mut self, start: usize) -> Result<Control> {
        let name = self.name()?;
        let span = self.span_from(start);
        Ok(Control { name, body: self.braces()?, span })
    }

    fn table_declaration(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        let mut table = Table {
            name: name.clone(),
            id: self.id()?,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: ActionCall { action: ActionId(0), args: Vec::new() },
            const_default_action: false,
            entries: Vec::new(),
            const_entries: false,
            size: 0,
            implementation: None,
            direct_counter: None,
            direct_meter: None,
            entry_cells: Vec::new(),
            idle_timeout: false,
            span: self.span_from(start),
        };
        self.expect_sign("{")?;
        let mut has_default = false;
        while !self.sign("}") {
            let constant = self.word("const");
            if self.word("default") {
                table.default_action = self.action_call()?;
                table.const_default_action = constant;
                has_default = true;
            } else if self.word("entry") {
                let entry = self.entry(&table)?;
                table.entries.push(entry);
                table.const_entries = constant;
            } else if constant {
                return self.expected("`default` or `entry`");
            } else if self.word("key") {
                let name = self.name()?;
                self.expect_sign(":")?;
                let kind = self.found("match kind", |_, name| MatchKind::by_name(name))?;
                self.expect_sign("=")?;
                table.keys.push(Key { name, expr: self.expr()?, kind });
            } else if self.word("action") {
                let action = self.action()?;
                let mut action = TableAction { action, table_only: false, default_only: false };
                if self.sign("@") {
                    match self.name()?.as_str() {
                        "tableonly" => action.table_only = true,
                        "defaultonly" => action.default_only = true,
                        _ => return self.error_at(self.at - 1, "expected `tableonly` or `defaultonly`"),
                    }
                }
                table.actions.push(action);
            } else if self.is_word("size") {
                table.size = self.size()?;
            } else if self.word("implementation") {
                table.implementation = Some(self.object()?);
            } else if self.word("direct_counter") {
                table.direct_counter = Some(self.object()?);
            } else if self.word("direct_meter") {
                table.direct_meter = Some(self.object()?);
            } else if self.word("entry_cells") {
                table.entry_cells.push(self.object()?);
            } else if self.word("idle_timeout") {
                table.idle_timeout = true;
            } else {
                return self.expected("a property of the table or `}`");
            }
        }
        if !has_default {
            return self.error_at(start, "the table has no default action");
        }
        self.tables.insert(name, TableId(self.pipeline.tables.len() as u32));
        self.pipeline.tables.push(table);
        Ok(())
    }

    fn action_call(&mut self) -> Result<ActionCall> {
        let action = self.action()?;
        self.expect_sign("(")?;
        Ok(ActionCall { action, args: self.list(")", Self::number)? })
    }

    fn entry(&mut self, table: &Table) -> Result<TableEntry> {
        let mut kinds = table.keys.iter().map(|key| key.kind);
        let matches = self.list("=>", |s| s.match_value(kinds.next()))?;
        let action = self.action_call()?;
        let priority = if self.word("priority") {
            let negative = self.sign("-");
            let value: i32 = self.small()?;
            if negative { -value } else { value }
        } else {
            0
        };
        Ok(TableEntry { matches, priority, action })
    }

    fn match_value(&mut self, kind: Option<MatchKind>) -> Result<MatchValue> {
        if self.word("_") {
            return Ok(MatchValue::Optional(None));
        }
        let value = self.number()?;
        if self.sign("/") {
            return Ok(MatchValue::Lpm { value, prefix_len: self.small()? });
        }
        if self.sign("&&&") {
            return Ok(MatchValue::Ternary { value, mask: self.number()? });
        }
        if self.sign("..") {
            return Ok(MatchValue::Range { lo: value, hi: self.number()? });
        }
        Ok(if kind.is_some_and(|kind| kind.form() == MatchForm::ValueOrAny) {
            MatchValue::Optional(Some(value))
        } else {
            MatchValue::Exact(value)
        })
    }

    fn parser(&mut self, start: usize) -> Result<()> {
        let name = self.name()?;
        self.expect_word("from")?;
        let first = self.at;
        let first_name = self.name()?;
        // States may refer to later ones.
        let mut count = 0;
        for at in self.at..self.tokens.len().saturating_sub(2) {
            let [(Token::Word(word), _), (Token::Word(name) | Token::Quoted(name), _), (Token::Sign("{"), _)] =
                &self.tokens[at..at + 3]
            else {
                continue;
            };
            if word == "state" {
                self.states.insert(name.clone(), StateId(count));
                count += 1;
            }
        }
        let Some(&begin) = self.states.get(&first_name) else {
            return self.error_at(first, format!("there is no state `{first_name}`"));
        };
        self.pipeline.parser.name = name;
        self.pipeline.parser.start = begin;
        self.pipeline.parser.span = self.span_from(start);
        self.expect_sign("{")?;
        while !self.sign("}") {
            let start = self.at;
            self.expect_word("state")?;
            let name = base_name(&self.name()?).to_string();
            let span = self.span_from(start);
            self.expect_sign("{")?;
            let mut body = Vec::new();
            let transition = loop {
                if self.word("goto") {
                    break Transition::Goto(self.target()?);
                }
                if self.word("select") {
                    break self.select()?;
                }
                body.push(self.stmt()?);
            };
            self.expect_sign("}")?;
            self.pipeline.parser.states.push(State { name, body, transition, span });
        }
        Ok(())
    }

    fn target(&mut self) -> Result<Target> {
        if self.word("accept") {
            return Ok(Target::Accept);
        }
        if self.word("reject") {
            return Ok(Target::Reject);
        }
        self.found("state", |s, name| s.states.get(name).copied().map(Target::State))
    }

    fn select(&mut self) -> Result<Transition> {
        self.expect_sign("(")?;
        let keys = self.list(")", Self::expr)?;
        self.expect_sign("{")?;
        let mut cases = Vec::new();
        while !self.sign("}") {
            let start = self.at;
            let sets = self.list(":", Self::key_set)?;
            let target = self.target()?;
            cases.push(SelectCase { sets, target, span: self.span_from(start) });
        }
        Ok(Transition::Select { keys, cases })
    }

    fn key_set(&mut self) -> Result<KeySet> {
        if self.word("_") {
            return Ok(KeySet::Any);
        }
        if !matches!(self.token(), Token::Number(_)) {
            return self.found("value set", |s, name| s.value_sets.get(name).copied().map(KeySet::ValueSet));
        }
        let value = self.number()?;
        if self.sign("&&&") {
            return Ok(KeySet::Mask(value, self.number()?));
        }
        if self.sign("..") {
            return Ok(KeySet::Range(value, self.number()?));
        }
        Ok(KeySet::Value(value))
    }
}
