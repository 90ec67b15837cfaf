//! Headers, metadata, stacks and unions: what a packet carries.

use std::collections::{HashMap, HashSet};

use hopwright_ir::{Header, HeaderField, HeaderId, SlotId, SlotKind, Span, Stack, StackId, Type, Union, UnionId};

use crate::format::{self, FieldName, Width};
use crate::{Reader, Result, UnionStack, error};

/// The widest field, and the largest header, that are read.
const MAX_BITS: u32 = 1 << 16;
/// The validity bit of a header, as a field.
pub(crate) const VALID: &str = "$valid$";

/// The headers in which `simple_switch` looks for the fields of v1model's intrinsic metadata.
const INTRINSIC_HEADERS: [&str; 3] = ["intrinsic_metadata", "queueing_metadata", "standard_metadata"];

/// A field: its slot, and its type, which for intrinsic metadata may differ from the slot's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) slot: SlotId,
    pub(crate) ty: Type,
    /// The header that it is a part of; `None` for metadata.
    pub(crate) header: Option<HeaderId>,
}

/// What names of the file stand for.
#[derive(Debug, Default)]
pub(crate) struct Names<'j> {
    pub(crate) fields: HashMap<(&'j str, &'j str), Field>,
    pub(crate) headers: HashMap<&'j str, HeaderId>,
    pub(crate) metadata: HashSet<&'j str>,
    pub(crate) stacks: HashMap<&'j str, StackId>,
    pub(crate) unions: HashMap<&'j str, UnionId>,
    pub(crate) union_stacks: HashMap<&'j str, UnionStack>,
    /// Members of union types, in order.
    pub(crate) union_members: HashMap<&'j str, Vec<&'j str>>,
    /// Header instances by id.
    by_id: HashMap<i64, HeaderId>,
    /// Header unions by id, with their types.
    unions_by_id: HashMap<i64, UnionId>,
}

impl<'j> Reader<'j> {
    /// Reads header types and everything made of them.
    pub(crate) fn read_state(&mut self) -> Result<()> {
        let json = self.json;
        let standard = self.standard_fields()?;
        let mut types: HashMap<&str, (&format::HeaderType, usize)> = HashMap::new();
        for (at, ty) in json.header_types.iter().enumerate() {
            if types.insert(&ty.name, (ty, at)).is_some() {
                return error(&format!("header_types[{at}].name"), format!("another type is called `{}`", ty.name));
            }
        }
        for (at, header) in json.headers.iter().enumerate() {
            let path = format!("headers[{at}]");
            let Some((ty, type_at)) = types.get(header.header_type.as_str()) else {
                return error(&format!("{path}.header_type"), format!("no header type `{}`", header.header_type));
            };
            if self.names.headers.contains_key(header.name.as_str())
                || self.names.metadata.contains(header.name.as_str())
            {
                return error(&format!("{path}.name"), format!("another header is called `{}`", header.name));
            }
            let path = format!("header_types[{type_at}]");
            match header.metadata {
                true => self.add_metadata(header, ty, &standard, &path)?,
                false => self.add_header(header, ty, &path)?,
            }
        }
        self.read_stacks()?;
        self.read_unions()?;
        self.read_errors()
    }

    /// The slots of v1model's intrinsic metadata by the names that the file has for them.
    fn standard_fields(&self) -> Result<HashMap<(&'j str, &'j str), SlotId>> {
        let json = self.json;
        let mut known: HashSet<(&str, &str)> = HashSet::new();
        let types: HashMap<&str, &format::HeaderType> =
            json.header_types.iter().map(|t| (t.name.as_str(), t)).collect();
        for header in json.headers.iter().filter(|h| h.metadata) {
            let fields = types.get(header.header_type.as_str()).into_iter().flat_map(|ty| &ty.fields);
            known.extend(fields.map(|field| (header.name.as_str(), named(field).0)));
        }
        let mut aliases: HashMap<&str, (&str, &str)> = HashMap::new();
        for (at, (alias, (header, field))) in json.field_aliases.iter().enumerate() {
            if !known.contains(&(header.as_str(), field.as_str())) {
                return error(&format!("field_aliases[{at}]"), format!("no field `{header}.{field}` of metadata"));
            }
            aliases.insert(alias, (header, field));
        }
        let mut found = HashMap::new();
        for (name, slot, _) in self.p.standard.fields() {
            let aliased = INTRINSIC_HEADERS.iter().find_map(|h| aliases.get(format!("{h}.{name}").as_str())).copied();
            let own = || known.iter().find(|(h, f)| *f == name && INTRINSIC_HEADERS.contains(h)).copied();
            if let Some(field) = aliased.or_else(own) {
                found.insert(field, slot);
            }
        }
        Ok(found)
    }

    fn add_metadata(
        &mut self,
        header: &'j format::Header,
        ty: &'j format::HeaderType,
        standard: &HashMap<(&str, &str), SlotId>,
        path: &str,
    ) -> Result<()> {
        self.names.metadata.insert(&header.name);
        for (at, field) in ty.fields.iter().enumerate() {
            let (name, width, signed) = named(field);
            let path = format!("{path}.fields[{at}]");
            let ty = match width_of(width, &path)? {
                Some(width) if signed => Type::Int(width),
                Some(width) => Type::Bits(width),
                None => return error(&path, "metadata with a variable length"),
            };
            let slot = match standard.get(&(header.name.as_str(), name)) {
                Some(slot) => *slot,
                None => self.new_slot(format!("{}.{name}", header.name), ty, SlotKind::Metadata),
            };
            self.names.fields.insert((&header.name, name), Field { slot, ty, header: None });
        }
        Ok(())
    }

    fn add_header(&mut self, header: &'j format::Header, ty: &'j format::HeaderType, path: &str) -> Result<()> {
        let id = HeaderId(self.p.headers.len() as u32);
        let valid = self.new_slot(format!("{}.{VALID}", header.name), Type::Bool, SlotKind::Valid(id));
        let mut fields = Vec::new();
        let (mut offset, mut varbit) = (0u32, None);
        for (at, field) in ty.fields.iter().enumerate() {
            let (name, width, signed) = named(field);
            let path = format!("{path}.fields[{at}]");
            let ty = match width_of(width, &path)? {
                Some(width) if signed => Type::Int(width),
                Some(width) => Type::Bits(width),
                None if varbit.is_some() => return error(&path, "a second field with a variable length"),
                None => {
                    varbit = Some(at as u32);
                    Type::Varbit(variable_bits(ty, &path)?)
                }
            };
            let slot = self.new_slot(format!("{}.{name}", header.name), ty, SlotKind::Field(id, at as u32));
            fields.push(HeaderField { slot, name: name.into(), offset_bits: offset, width: ty.width() });
            if !matches!(ty, Type::Varbit(_)) {
                offset += ty.width();
            }
            if offset > MAX_BITS {
                return error(&path, format!("the header has more than {MAX_BITS} bits"));
            }
            let known = self.names.fields.insert((&header.name, name), Field { slot, ty, header: Some(id) });
            if known.is_some() {
                return error(&path, format!("another field is called `{name}`"));
            }
        }
        self.p.headers.push(Header {
            name: header.name.clone(),
            type_name: header.header_type.clone(),
            fields,
            valid,
            fixed_bits: offset,
            varbit,
            stack: None,
            union: None,
            span: Span::none(),
        });
        self.names.headers.insert(&header.name, id);
        self.names.by_id.insert(header.id, id);
        Ok(())
    }

    fn read_stacks(&mut self) -> Result<()> {
        for (at, stack) in self.json.header_stacks.iter().enumerate() {
            let path = format!("header_stacks[{at}]");
            let id = StackId(self.p.stacks.len() as u32);
            let mut elements = Vec::new();
            for (index, element) in stack.header_ids.iter().enumerate() {
                let path = format!("{path}.header_ids[{index}]");
                let header = self.header_by_id(*element, &path)?;
                let model = &mut self.p.headers[header.index()];
                if model.stack.is_some() || model.type_name != stack.header_type {
                    return error(&path, format!("`{}` cannot be an element of this stack", model.name));
                }
                model.stack = Some((id, index as u32));
                elements.push(header);
            }
            if elements.is_empty() {
                return error(&format!("{path}.header_ids"), "a stack without elements");
            }
            let next_index =
                self.new_slot(format!("{}.$nextIndex", stack.name), Type::Bits(32), SlotKind::NextIndex(id));
            self.p.stacks.push(Stack { name: stack.name.clone(), elements, next_index, span: Span::none() });
            self.names.stacks.insert(&stack.name, id);
        }
        Ok(())
    }

    fn read_unions(&mut self) -> Result<()> {
        let json = self.json;
        let members: HashMap<&str, Vec<&str>> = json
            .header_union_types
            .iter()
            .map(|ty| (ty.name.as_str(), ty.headers.iter().map(|(name, _)| name.as_str()).collect()))
            .collect();
        for (at, union) in json.header_unions.iter().enumerate() {
            let path = format!("header_unions[{at}]");
            if members.get(union.union_type.as_str()).is_none_or(|m| m.len() != union.header_ids.len()) {
                return error(&path, format!("no union type `{}` with as many members", union.union_type));
            }
            let id = UnionId(self.p.unions.len() as u32);
            let mut headers = Vec::new();
            for (index, member) in union.header_ids.iter().enumerate() {
                let path = format!("{path}.header_ids[{index}]");
                let header = self.header_by_id(*member, &path)?;
                let model = &mut self.p.headers[header.index()];
                if model.union.is_some() {
                    return error(&path, format!("`{}` is a member of another union", model.name));
                }
                model.union = Some(id);
                headers.push(header);
            }
            self.p.unions.push(Union { name: union.name.clone(), members: headers, span: Span::none() });
            self.names.unions.insert(&union.name, id);
            self.names.unions_by_id.insert(union.id, id);
        }
        for (at, stack) in json.header_union_stacks.iter().enumerate() {
            let path = format!("header_union_stacks[{at}]");
            let mut unions = Vec::new();
            for (index, id) in stack.header_union_ids.iter().enumerate() {
                match self.names.unions_by_id.get(id) {
                    Some(id) => unions.push(*id),
                    None => {
                        return error(&format!("{path}.header_union_ids[{index}]"), format!("no union has id {id}"));
                    }
                }
            }
            let Some(member_names) = members.get(stack.union_type.as_str()) else {
                return error(&format!("{path}.union_type"), format!("no union type `{}`", stack.union_type));
            };
            if unions.iter().any(|union| self.p[*union].members.len() != member_names.len()) {
                return error(&path, "the unions are of another type");
            }
            let next = self.new_slot(format!("{}.$nextIndex", stack.name), Type::Bits(32), SlotKind::Metadata);
            self.names.union_members.insert(&stack.name, member_names.clone());
            self.names.union_stacks.insert(&stack.name, UnionStack { unions, next });
        }
        Ok(())
    }

    fn header_by_id(&self, id: i64, path: &str) -> Result<HeaderId> {
        match self.names.by_id.get(&id) {
            Some(header) => Ok(*header),
            None => error(path, format!("no header has id {id}")),
        }
    }

    /// Reads the errors; those of the core library that the file does not list follow.
    fn read_errors(&mut self) -> Result<()> {
        const CORE: [&str; 7] = [
            "NoError",
            "PacketTooShort",
            "NoMatch",
            "StackOutOfBounds",
            "HeaderTooShort",
            "ParserTimeout",
            "ParserInvalidArgument",
        ];
        const MOST: u32 = 4096;
        // Compilers have numbered errors from 1, too.
        self.first_error = self.json.errors.iter().find(|(name, _)| name == CORE[0]).map_or(0, |(_, number)| *number);
        let mut names: Vec<Option<String>> = vec![Some(CORE[0].into())];
        for (at, (name, value)) in self.json.errors.iter().enumerate().filter(|(_, (name, _))| name != CORE[0]) {
            let path = format!("errors[{at}]");
            let Some(index) = value.checked_sub(self.first_error).filter(|index| (1..MOST).contains(index)) else {
                return error(&path, format!("expected a number behind that of NoError, up to {MOST}"));
            };
            let index = index as usize;
            names.resize(names.len().max(index + 1), None);
            if names[index].replace(name.clone()).is_some() {
                return error(&path, format!("another error has number {value}"));
            }
        }
        for core in CORE {
            if !names.iter().flatten().any(|name| name == core) {
                names.push(Some(core.into()));
            }
        }
        let unnamed = |(at, name): (usize, Option<String>)| name.unwrap_or_else(|| format!("$error{at}"));
        self.p.errors = names.into_iter().enumerate().map(unnamed).collect();
        Ok(())
    }

    /// The field with this name.
    pub(crate) fn field(&self, name: (&str, &str), path: &str) -> Result<Field> {
        let (header, field) = name;
        if let Some(found) = self.names.fields.get(&(header, field)) {
            return Ok(*found);
        }
        if field == VALID {
            let id = self.header(header, path)?;
            return Ok(Field { slot: self.p[id].valid, ty: Type::Bits(1), header: Some(id) });
        }
        match self.names.headers.contains_key(header) || self.names.metadata.contains(header) {
            true => error(path, format!("the header `{header}` has no field `{field}`")),
            false => error(path, format!("no header `{header}`")),
        }
    }

    /// The header instance with this name, which is no metadata.
    pub(crate) fn header(&self, name: &str, path: &str) -> Result<HeaderId> {
        match self.names.headers.get(name) {
            Some(header) => Ok(*header),
            None if self.names.metadata.contains(name) => error(path, format!("`{name}` is metadata, no header")),
            None => error(path, format!("no header `{name}`")),
        }
    }

    /// The other members of a header's union.
    pub(crate) fn union_siblings(&self, header: HeaderId) -> Vec<HeaderId> {
        let union = self.p[header].union.map(|union| &self.p[union]);
        union.into_iter().flat_map(|union| &union.members).copied().filter(|other| *other != header).collect()
    }

    /// The slots of all fields of a header or metadata.
    pub(crate) fn fields_of(&self, header: &str) -> Vec<Field> {
        let json = self.json.headers.iter().find(|h| h.name == header);
        let ty = json.and_then(|header| self.json.header_types.iter().find(|ty| ty.name == header.header_type));
        let fields = ty.into_iter().flat_map(|ty| &ty.fields);
        fields.filter_map(|field| self.names.fields.get(&(header, named(field).0))).copied().collect()
    }

    /// Checks the name of a field in a tuple of a format's object.
    pub(crate) fn field_named(&self, name: &FieldName, path: &str) -> Result<Field> {
        self.field((&name.0, &name.1), path)
    }
}

fn named(field: &format::HeaderField) -> (&str, &Width, bool) {
    match field {
        format::HeaderField::Plain(name, width) => (name, width, false),
        format::HeaderField::Signed(name, width, signed) => (name, width, *signed),
    }
}

/// The width in bits; `None` for a variable length.
fn width_of(width: &Width, path: &str) -> Result<Option<u32>> {
    match width {
        Width::Bits(width) if (1..=MAX_BITS).contains(width) => Ok(Some(*width)),
        Width::Bits(width) => error(path, format!("a field of {width} bits; there may be 1 to {MAX_BITS}")),
        Width::Variable(text) if text == "*" => Ok(None),
        Width::Variable(text) => error(path, format!("the width `{text}` is neither a number nor \"*\"")),
    }
}

/// The maximum width of the variable field of a header type.
fn variable_bits(ty: &format::HeaderType, path: &str) -> Result<u32> {
    let Some(most) = ty.max_length.filter(|most| (1..=MAX_BITS / 8).contains(most)) else {
        return error(path, "a field with a variable length needs the `max_length` of its header, in bytes");
    };
    let fixed = |field: &format::HeaderField| match named(field).1 {
        Width::Bits(width) => u64::from(*width),
        Width::Variable(_) => 0,
    };
    let fixed: u64 = ty.fields.iter().map(fixed).sum();
    match (u64::from(most) * 8).checked_sub(fixed).and_then(|rest| u32::try_from(rest).ok()) {
        Some(rest) if rest > 0 => Ok(rest),
        _ => error(path, format!("the other fields take all of the header's {most} bytes")),
    }
}
