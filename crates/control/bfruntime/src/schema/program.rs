//! The tables of a program, from its P4Info. Ids are those of P4Info, except for objects that P4Info knows as one and BfRuntime
//! as two.

use std::collections::BTreeMap;
use std::str::FromStr;

use hopwright_ir::hash_object::HashObject;
use hopwright_p4runtime::proto::config::{
    self as p4, P4DataTypeSpec, P4Info, action_ref, match_field, meter_spec, p4_bitstring_like_type_spec as bits,
    p4_data_type_spec::TypeSpec, p4_new_type_spec::Representation,
};

use prost::Message;

use crate::hashes;

use super::{
    Action, Digest, DirectRegister, Field, FilterKind, Generation, Key, Matching, MeterUnit, Object, Program, Schema,
    Table, Ty, field, several,
};

/// The prefix of ids of action selectors, whose members have the id of P4Info.
const SELECTOR: u32 = 0x82 << 24;
/// Those of the members that hashes select, and of the tables of a hash.
const SELECTED_MEMBER: u32 = 0x9a << 24;
const HASH_FIELDS: u32 = 0x95 << 24;
const HASH_RESULT: u32 = 0x96 << 24;
const HASH_ALGORITHM: u32 = 0x97 << 24;
/// The part of an id that is not its kind.
const NUMBER: u32 = 0xff_ffff;
/// The register of port metadata, by port.
const PORT_METADATA_REGISTER: &str = "port_metadata";
/// The register of ports that lead back to ingress, that of level-1 exclusion ids by replication id, and that of ports by level-2
/// exclusion id.
const LOOPBACK_REGISTER: &str = "loopback";
const EXCLUSION_REGISTER: &str = "level1_exclusion";
const PRUNING_REGISTER: &str = "level2_exclusion";
const GLOBAL_RID_REGISTER: &str = "global_rid";
/// Ports of a device.
const PORTS: i64 = 512;
/// What `$ENTRY_HIT_STATE` says of an entry.
pub(crate) const HIT_STATES: &[&str] = &["ENTRY_IDLE", "ENTRY_ACTIVE"];
/// What the name of a register of masks ends with, behind that of the table.
const KEY_MASKS: &str = "$dynamic_key_mask";
/// The deepest nesting of types.
const MAX_DEPTH: u32 = 16;

/// The tables of a device that runs a program of this name, or those that the names of its pipelines have in front.
pub(crate) fn schema(name: &str, info: &P4Info) -> Schema {
    let pipelines = pipelines(info);
    let pipes = pipelines.iter().flat_map(|pipeline| &pipeline.pipes).max().map_or(1, |last| u32::from(*last) + 1);
    let generation = generation(info);
    let (mut programs, mut tables, mut digests) = (Vec::new(), Vec::new(), Vec::new());
    let mut hashes = BTreeMap::new();
    for part in several::parts(name, info, pipelines) {
        let (first_table, first_digest) = (tables.len(), digests.len());
        let builder = Builder { info: &part.info, pipelines: part.pipelines, prefix: &part.prefix };
        tables.extend(builder.tables(generation));
        digests.extend(builder.info.digests.iter().filter_map(|d| builder.digest(d)));
        hashes.extend(builder.hashes());
        programs.push(Program {
            name: part.name,
            tables: first_table..tables.len(),
            digests: first_digest..digests.len(),
            pipelines: builder.pipelines.iter().map(|p| (p.name.to_string(), p.pipes.clone())).collect(),
        });
    }
    tables.extend(super::fixed::tables());
    tables.extend(generation.iter().flat_map(super::fixed::generators));
    tables.extend(generation.iter().map(super::fixed::device));
    let schema = Schema::new(programs, tables, digests);
    let register = |name| register_id(info, name);
    Schema {
        loopback_register: register(LOOPBACK_REGISTER),
        exclusion_register: register(EXCLUSION_REGISTER),
        pruning_register: register(PRUNING_REGISTER),
        global_rid_register: register(GLOBAL_RID_REGISTER),
        pipes,
        generation,
        hashes,
        ..schema
    }
}

/// The device that a program is for.
fn generation(info: &P4Info) -> Option<Generation> {
    match info.pkg_info.as_ref().map(|package| package.arch.as_str()) {
        Some("tna") => Some(Generation {
            device: "tf1",
            stages: 12,
            applications: 8,
            application_bits: 3,
            meter_kbps: 5_195_848_221,
        }),
        Some("t2na") => Some(Generation {
            device: "tf2",
            stages: 20,
            applications: 16,
            application_bits: 4,
            meter_kbps: 4_087_999_890,
        }),
        _ => None,
    }
}

/// A pipeline of a program: its name, those of its blocks, and the pipes that it is in.
pub(super) struct Pipeline<'i> {
    pub name: &'i str,
    pub blocks: Vec<&'i str>,
    pub pipes: Vec<u8>,
}

/// The pipelines that the annotations of the package name.
fn pipelines(info: &P4Info) -> Vec<Pipeline<'_>> {
    use p4::{expression::Value, structured_annotation::Body};
    let annotations = info.pkg_info.iter().flat_map(|package| &package.structured_annotations);
    let lists = annotations.filter(|a| a.name == "pipeline").filter_map(|a| match &a.body {
        Some(Body::ExpressionList(list)) => Some(&list.expressions),
        _ => None,
    });
    let mut all: Vec<Pipeline<'_>> = Vec::new();
    let lists: Vec<_> = lists.collect();
    // Of two pipelines, each is in half of the pipes. A pipe without one has an empty list.
    let pipes = if lists.len() == 2 && lists.iter().all(|list| !list.is_empty()) { 4 } else { lists.len() };
    for (pipe, list) in (0u8..).zip(lists.iter().cycle().take(pipes)) {
        let mut texts = list.iter().filter_map(|expression| match &expression.value {
            Some(Value::StringValue(text)) => Some(text.as_str()),
            _ => None,
        });
        let Some(name) = texts.next() else { continue };
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => known.pipes.push(pipe),
            None => all.push(Pipeline { name, blocks: texts.collect(), pipes: vec![pipe] }),
        }
    }
    all
}

/// The name of a key's field, as Intel's compiler writes it: `hdr.vlan.$valid`, `hdr.labels$0.value`.
fn key_name(name: &str) -> String {
    let mut written = String::new();
    let mut rest = name;
    while let Some((before, after)) = rest.split_once('[') {
        let index = after.split_once(']').filter(|(index, _)| index.chars().all(|digit| digit.is_ascii_digit()));
        let Some((index, behind)) = index else { break };
        written.extend([before, "$", index]);
        rest = behind;
    }
    written += rest;
    written.replace(".isValid()", ".$valid").replace(".$valid$", ".$valid")
}

/// Whether something is below an instance of this name.
fn is_below(name: &str, instance: &str) -> bool {
    name.strip_prefix(instance).is_some_and(|rest| rest.starts_with('.'))
}

struct Builder<'i> {
    info: &'i P4Info,
    pipelines: Vec<Pipeline<'i>>,
    /// What the data plane has in front of names.
    prefix: &'i str,
}

fn register_id(info: &P4Info, name: &str) -> Option<u32> {
    let mut preambles = info.registers.iter().filter_map(|r| r.preamble.as_ref());
    preambles.find(|p| p.name == name).map(|p| p.id)
}

/// Whether an object is one of the table's own, with a cell for each entry. P4Runtime has direct counters and meters; others are
/// annotations of the table.
fn has_cells_of(table: &p4::Table, id: u32) -> bool {
    let mut cells = table.preamble.iter().flat_map(|preamble| annotated::<u32>(preamble, "entry_cells"));
    table.direct_resource_ids.contains(&id) || cells.any(|cell| cell == id)
}

/// The numbers in an object's annotations `@name(number)`.
fn annotated<N: FromStr>(preamble: &p4::Preamble, name: &str) -> impl Iterator<Item = N> {
    let number = move |text: &String| {
        text.strip_prefix('@')?.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?.parse().ok()
    };
    preamble.annotations.iter().filter_map(number)
}

/// The text in an object's annotation `@name(text)`.
fn text_of<'p>(preamble: &'p p4::Preamble, name: &str) -> Option<&'p str> {
    let text = |a: &'p String| a.strip_prefix('@')?.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    preamble.annotations.iter().find_map(text)
}

impl Builder<'_> {
    /// The pipeline that an object belongs to: the first one if none of their blocks has it.
    fn pipeline_of(&self, name: &str) -> Option<&Pipeline<'_>> {
        let has = |pipeline: &&Pipeline<'_>| {
            is_below(name, pipeline.name) || pipeline.blocks.iter().any(|block| is_below(name, block))
        };
        self.pipelines.iter().find(has).or(self.pipelines.first())
    }

    /// The name of an object below that of its pipeline.
    fn qualified(&self, name: &str) -> String {
        match self.pipeline_of(name) {
            Some(pipeline) if is_below(name, pipeline.name) => name.to_string(),
            pipeline => format!("{}.{name}", pipeline.map_or("pipe", |pipeline| pipeline.name)),
        }
    }

    /// All tables of the program.
    fn tables(&self, generation: Option<Generation>) -> Vec<Table> {
        let info = self.info;
        let mut tables: Vec<Table> = info.tables.iter().filter_map(|t| self.table(t)).collect();
        tables.extend(info.action_profiles.iter().flat_map(|p| self.profile(p)));
        tables.extend(info.counters.iter().filter_map(|c| self.counter(c)));
        tables.extend(info.meters.iter().filter_map(|m| self.meter(m)));
        tables.extend(info.registers.iter().filter_map(|r| self.register(r)));
        tables.extend(self.filters().filter_map(|(kind, preamble)| self.filter(kind, preamble)));
        tables.extend(info.value_sets.iter().filter_map(|v| self.value_set(v)));
        tables.extend(self.hashes().flat_map(|(id, hash)| self.hash_tables(id, &hash)));
        let bits = if generation.is_some_and(|generation| generation.device == "tf2") { 192 } else { 64 };
        tables.extend(self.port_metadata(bits));
        tables
    }

    fn base(&self, preamble: &p4::Preamble, object: Object, size: i64) -> Table {
        Table {
            id: preamble.id,
            name: self.qualified(&preamble.name),
            pipes: self.pipeline_of(&preamble.name).map_or(vec![0], |pipeline| pipeline.pipes.clone()),
            object,
            size: size.max(0) as u64,
            keys: Vec::new(),
            actions: Vec::new(),
            data: Vec::new(),
            registers: Vec::new(),
            filters: Vec::new(),
            const_default: false,
            key_masks: None,
            depends_on: Vec::new(),
        }
    }

    fn table(&self, t: &p4::Table) -> Option<Table> {
        let direct = |id: &u32| has_cells_of(t, *id);
        let of = |preamble: &Option<p4::Preamble>| preamble.as_ref().is_some_and(|p| direct(&p.id));
        let counter = self.info.direct_counters.iter().find(|c| of(&c.preamble));
        let meter = self.info.direct_meters.iter().find(|m| of(&m.preamble)).map(|m| unit(m.spec.as_ref()));
        let idle = t.idle_timeout_behavior() != p4::table::IdleTimeoutBehavior::NoTimeout;
        let object = Object::Match { indirect: t.implementation_id != 0, meter, counter: counter.is_some(), idle };
        let mut table = self.base(t.preamble.as_ref()?, object, t.size);
        table.const_default = t.const_default_action_id != 0;
        table.key_masks = register_id(self.info, &format!("{}{KEY_MASKS}", t.preamble.as_ref()?.name));
        let mut priority = false;
        for m in &t.match_fields {
            let matching = matching(m)?;
            priority |= matches!(matching, Matching::Ternary | Matching::Range | Matching::Optional);
            let ty = Ty::Bytes(m.bitwidth.max(0) as u32);
            table.keys.push(Key { id: m.id, name: key_name(&m.name), matching, ty, mandatory: false });
        }
        if priority {
            let name = "$MATCH_PRIORITY".into();
            let (id, ty) = (field::MATCH_PRIORITY, Ty::Uint(32));
            table.keys.push(Key { id, name, matching: Matching::Exact, ty, mandatory: false });
        }
        if t.implementation_id == 0 {
            table.actions = t.action_refs.iter().filter_map(|a| self.action(a)).collect();
        } else {
            table.depends_on = vec![t.implementation_id];
            table.data.push(Field::new(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", Ty::Uint(32)));
            if self.profile_of(t.implementation_id).is_some_and(|p| p.with_selector) {
                table.depends_on.push(SELECTOR | t.implementation_id & 0xff_ffff);
                table.data.push(Field::new(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", Ty::Uint(32)));
            }
        }
        if let Some(counter) = counter {
            table.data.extend(counted(counter.spec.as_ref()));
        }
        if let Some(unit) = meter {
            table.data.extend(metered(unit));
        }
        let mut used = table.actions.iter().flat_map(|a| &a.data).map(|f| f.id).max().unwrap_or(0);
        for register in self.info.registers.iter().filter(|r| of(&r.preamble)) {
            let (id, mut fields) = (register.preamble.as_ref()?.id, self.register_fields(register)?);
            // Ids follow those of all actions' parameters.
            fields.iter_mut().for_each(|f| f.id += used);
            used += fields.len() as u32;
            table.data.extend(fields.iter().cloned());
            table.registers.push(DirectRegister { id, fields });
        }
        for (kind, preamble) in self.filters().filter(|(_, preamble)| direct(&preamble.id)) {
            table.data.extend(kind.fields());
            table.filters.push((preamble.id, kind));
        }
        if idle {
            table.data.push(Field::new(field::ENTRY_HIT_STATE, "$ENTRY_HIT_STATE", Ty::Text(HIT_STATES)));
            table.data.push(Field::new(field::ENTRY_TTL, "$ENTRY_TTL", Ty::Uint(32)));
        }
        Some(table)
    }

    fn profile_of(&self, id: u32) -> Option<&p4::ActionProfile> {
        self.info.action_profiles.iter().find(|p| p.preamble.as_ref().is_some_and(|p| p.id == id))
    }

    fn action(&self, reference: &p4::ActionRef) -> Option<Action> {
        let action = self.info.actions.iter().find(|a| a.preamble.as_ref().is_some_and(|p| p.id == reference.id))?;
        let scope = match action_ref::Scope::try_from(reference.scope) {
            Ok(action_ref::Scope::TableOnly) => "TableOnly",
            Ok(action_ref::Scope::DefaultOnly) => "DefaultOnly",
            _ => "TableAndDefault",
        };
        let data = action
            .params
            .iter()
            .map(|p| Field::new(p.id, &p.name, Ty::Bytes(p.bitwidth.max(0) as u32)).mandatory())
            .collect();
        Some(Action { id: reference.id, name: action.preamble.as_ref()?.name.clone(), scope, data })
    }

    /// The table of members, and that of groups.
    fn profile(&self, p: &p4::ActionProfile) -> Vec<Table> {
        let Some(preamble) = &p.preamble else { return Vec::new() };
        let users = self.info.tables.iter().filter(|t| t.implementation_id == preamble.id);
        let mut members = self.base(preamble, Object::Members, p.size);
        let exact = |id, name: &str| {
            vec![Key { id, name: name.into(), matching: Matching::Exact, ty: Ty::Uint(32), mandatory: true }]
        };
        members.keys = exact(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID");
        for action in users.flat_map(|t| &t.action_refs).filter_map(|a| self.action(a)) {
            if members.actions.iter().all(|known| known.id != action.id) {
                members.actions.push(action);
            }
        }
        if !p.with_selector {
            return vec![members];
        }
        let mut groups = self.base(preamble, Object::Groups { profile: preamble.id }, p.size);
        groups.id = SELECTOR | preamble.id & 0xff_ffff;
        // One object is both here, which has the name of the selector.
        match text_of(preamble, "action_profile") {
            Some(name) => members.name = self.qualified(name),
            None => members.name.push_str("_ap"),
        }
        groups.keys = exact(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID");
        groups.data = vec![
            Field::new(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", Ty::Uint(32)).repeated(),
            Field::new(field::ACTION_MEMBER_STATUS, "$ACTION_MEMBER_STATUS", Ty::Bool).repeated(),
            Field::new(field::MAX_GROUP_SIZE, "$MAX_GROUP_SIZE", Ty::Uint(32)),
        ];
        groups.depends_on = vec![preamble.id];
        let mut selected = self.base(preamble, Object::SelectedMember { profile: preamble.id }, 1);
        selected.id = SELECTED_MEMBER | preamble.id & NUMBER;
        selected.name.push_str("_get_member");
        let number = |id, name: &str| Key {
            id,
            name: name.into(),
            matching: Matching::Exact,
            ty: Ty::Uint(64),
            mandatory: true,
        };
        selected.keys =
            vec![number(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID"), number(field::HASH_VALUE, "hash_value")];
        selected.data = vec![Field::new(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", Ty::Uint(64))];
        selected.depends_on = vec![groups.id];
        vec![members, groups, selected]
    }

    fn index(&self, id: u32, name: &str) -> Vec<Key> {
        vec![Key { id, name: name.into(), matching: Matching::Exact, ty: Ty::Uint(32), mandatory: true }]
    }

    fn counter(&self, c: &p4::Counter) -> Option<Table> {
        let mut table = self.base(c.preamble.as_ref()?, Object::Counter, c.size);
        table.keys = self.index(field::COUNTER_INDEX, "$COUNTER_INDEX");
        table.data = counted(c.spec.as_ref());
        Some(table)
    }

    fn meter(&self, m: &p4::Meter) -> Option<Table> {
        let unit = unit(m.spec.as_ref());
        let mut table = self.base(m.preamble.as_ref()?, Object::Meter(unit), m.size);
        table.keys = self.index(field::METER_INDEX, "$METER_INDEX");
        table.data = metered(unit);
        Some(table)
    }

    fn value_set(&self, v: &p4::ValueSet) -> Option<Table> {
        let mut table = self.base(v.preamble.as_ref()?, Object::ValueSet, v.size.into());
        for m in &v.r#match {
            let name = if m.name.is_empty() { format!("f{}", m.id) } else { m.name.clone() };
            let ty = Ty::Bytes(m.bitwidth.max(0) as u32);
            table.keys.push(Key { id: m.id, name, matching: matching(m)?, ty, mandatory: false });
        }
        Some(table)
    }

    /// The filters of the program.
    fn filters(&self) -> impl Iterator<Item = (FilterKind, &p4::Preamble)> {
        let kind = |name: &str| match name {
            "Lpf" => Some(FilterKind::Lpf),
            "Wred" => Some(FilterKind::Wred),
            _ => None,
        };
        let known = self.info.externs.iter().filter_map(move |e| Some((kind(&e.extern_type_name)?, &e.instances)));
        known.flat_map(|(kind, all)| all.iter().filter_map(move |i| Some((kind, i.preamble.as_ref()?))))
    }

    /// The table of a filter; `None` if the cells are those of a table's entries.
    fn filter(&self, kind: FilterKind, preamble: &p4::Preamble) -> Option<Table> {
        if self.is_direct(preamble.id) {
            return None;
        }
        let size = annotated(preamble, "size").next().unwrap_or(0);
        let mut table = self.base(preamble, Object::Filter(kind), size);
        table.keys = match kind {
            FilterKind::Lpf => self.index(field::LPF_INDEX, "$LPF_INDEX"),
            FilterKind::Wred => self.index(field::WRED_INDEX, "$WRED_INDEX"),
        };
        table.data = kind.fields();
        Some(table)
    }

    /// The hashes that controllers can change, by their ids, with the names that the data plane calls them.
    fn hashes(&self) -> impl Iterator<Item = (u32, HashObject)> {
        let instances = self.info.externs.iter().filter(|e| e.extern_type_name == "Hash").flat_map(|e| &e.instances);
        instances.filter_map(|instance| {
            let preamble = instance.preamble.as_ref()?;
            let name = format!("{}{}", self.prefix, preamble.name);
            Some((preamble.id, HashObject::from_annotations(&name, &preamble.annotations)?))
        })
    }

    /// The tables of a hash.
    fn hash_tables(&self, id: u32, hash: &HashObject) -> Vec<Table> {
        let name = hash.name.strip_prefix(self.prefix).unwrap_or(&hash.name);
        let table = |kind: u32, last: &str, object| {
            let preamble = p4::Preamble { id: kind | id & NUMBER, name: name.into(), ..Default::default() };
            let table = self.base(&preamble, object, 1);
            let depends_on = if kind == HASH_FIELDS { Vec::new() } else { vec![HASH_FIELDS | id & NUMBER] };
            Table { name: format!("{}.{last}", table.name), depends_on, ..table }
        };
        let mut algorithm = table(HASH_ALGORITHM, "algorithm", Object::HashAlgorithm(id));
        (algorithm.data, algorithm.actions) = (hashes::settings(), hashes::actions());
        let mut fields = table(HASH_FIELDS, "configure", Object::HashFields(id));
        fields.data = hashes::containers(hash);
        let mut result = table(HASH_RESULT, "compute", Object::HashResult(id));
        result.keys = hashes::keys(hash);
        result.data = vec![Field::new(field::HASH_VALUE, "hash_value", Ty::Bytes(hash.width)).read_only()];
        vec![algorithm, fields, result]
    }

    /// Whether an object has a cell for each entry of a table.
    fn is_direct(&self, id: u32) -> bool {
        self.info.tables.iter().any(|t| has_cells_of(t, id))
    }

    /// What a register's cells consist of.
    fn register_fields(&self, r: &p4::Register) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        self.fields(r.type_spec.as_ref()?, "f1", &mut fields, 0)?;
        for f in &mut fields {
            f.name = format!("{}.{}", r.preamble.as_ref()?.name, f.name);
            // Clients read a register as one value for each pipe.
            f.annotation = Some(("$bfrt_field_class", "register_data"));
        }
        Some(fields)
    }

    /// The table of a register; `None` if the cells are those of a table's entries.
    fn register(&self, r: &p4::Register) -> Option<Table> {
        let preamble = r.preamble.as_ref()?;
        if self.is_direct(preamble.id) {
            return None;
        }
        let fields = self.register_fields(r)?;
        // Tables of port metadata have it; attributes of tables have masks.
        if preamble.name == PORT_METADATA_REGISTER || preamble.name.ends_with(KEY_MASKS) {
            return None;
        }
        if preamble.annotations.iter().any(|a| a == "@register_param") {
            let mut table = self.base(preamble, Object::RegisterParam, 1);
            table.data = vec![Field::new(1, "value", fields.first()?.ty).mandatory()];
            return Some(table);
        }
        let mut table = self.base(preamble, Object::Register, i64::from(r.size));
        table.keys = self.index(field::REGISTER_INDEX, "$REGISTER_INDEX");
        table.data = fields;
        Some(table)
    }

    /// The port metadata of each ingress parser: what it unpacks, from the highest bits on, or all bits as one field.
    fn port_metadata(&self, bits: u32) -> Vec<Table> {
        let register = register_id(self.info, PORT_METADATA_REGISTER);
        let externs = self.info.externs.iter().filter(|e| e.extern_type_name == "PortMetadata");
        let mut tables = Vec::new();
        for instance in externs.flat_map(|e| &e.instances) {
            let Some(preamble) = &instance.preamble else { continue };
            let mut table = self.base(preamble, Object::PortMetadata { register, bits }, PORTS);
            table.name.clone_from(&preamble.name);
            let name = format!("{}.ingress_port", text_of(preamble, "key").unwrap_or("ig_intr_md"));
            table.keys = vec![Key {
                id: field::INGRESS_PORT,
                name,
                matching: Matching::Exact,
                ty: Ty::Bytes(9),
                mandatory: true,
            }];
            let unpacked = instance.info.as_ref().and_then(|any| P4DataTypeSpec::decode(any.value.as_slice()).ok());
            if let Some(spec) = unpacked {
                let known = self.fields(&spec, "f1", &mut table.data, 0).is_some();
                table.data.iter_mut().for_each(|f| f.mandatory = true);
                if !known || table.data.iter().map(|f| f.ty.bits()).sum::<u32>() > bits {
                    table.data.clear();
                }
            }
            if table.data.is_empty() {
                table.data = vec![Field::new(field::PORT_METADATA, "$DEFAULT_FIELD", Ty::Bytes(bits))];
            }
            tables.push(table);
        }
        tables
    }

    fn digest(&self, d: &p4::Digest) -> Option<Digest> {
        let preamble = d.preamble.as_ref()?;
        let mut fields = Vec::new();
        self.fields(d.type_spec.as_ref()?, "f1", &mut fields, 0)?;
        let (object, name) = (format!("{}{}", self.prefix, preamble.name), self.qualified(&preamble.name));
        Some(Digest { id: preamble.id, object, name, fields })
    }

    /// Adds the numbers that a type consists of, numbered from 1. `None` if it has parts of unknown types.
    fn fields(&self, spec: &P4DataTypeSpec, name: &str, to: &mut Vec<Field>, depth: u32) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let types = self.info.type_info.as_ref();
        let number = |to: &mut Vec<Field>, ty| {
            let id = to.len() as u32 + 1;
            to.push(Field::new(id, name, ty));
            Some(())
        };
        let inner = |member: &str| if depth == 0 { member.to_string() } else { format!("{name}.{member}") };
        match spec.type_spec.as_ref()? {
            TypeSpec::Bool(_) => number(to, Ty::Bool),
            TypeSpec::Bitstring(spec) => number(to, Ty::Bytes(width(spec)?)),
            TypeSpec::SerializableEnum(e) => {
                let e = types?.serializable_enums.get(&e.name)?;
                number(to, Ty::Bytes(e.underlying_type.as_ref()?.bitwidth.max(0) as u32))
            }
            TypeSpec::Enum(_) | TypeSpec::Error(_) => number(to, Ty::Bytes(32)),
            TypeSpec::NewType(new) => match types?.new_types.get(&new.name)?.representation.as_ref()? {
                Representation::OriginalType(spec) => self.fields(spec, name, to, depth),
                Representation::TranslatedType(_) => None,
            },
            TypeSpec::Struct(s) => {
                let s = types?.structs.get(&s.name)?;
                s.members.iter().try_for_each(|m| self.fields(m.type_spec.as_ref()?, &inner(&m.name), to, depth + 1))
            }
            TypeSpec::Tuple(t) => t
                .members
                .iter()
                .enumerate()
                .try_for_each(|(at, m)| self.fields(m, &inner(&format!("f{}", at + 1)), to, depth + 1)),
            TypeSpec::Header(h) => {
                let h = types?.headers.get(&h.name)?;
                for m in &h.members {
                    let id = to.len() as u32 + 1;
                    to.push(Field::new(id, inner(&m.name), Ty::Bytes(width(m.type_spec.as_ref()?)?)));
                }
                Some(())
            }
            _ => None,
        }
    }
}

/// The width of a bit string; `None` for one of no fixed width.
fn width(spec: &p4::P4BitstringLikeTypeSpec) -> Option<u32> {
    match spec.type_spec.as_ref()? {
        bits::TypeSpec::Bit(b) => u32::try_from(b.bitwidth).ok(),
        bits::TypeSpec::Int(i) => u32::try_from(i.bitwidth).ok(),
        bits::TypeSpec::Varbit(_) => None,
    }
}

fn matching(m: &p4::MatchField) -> Option<Matching> {
    use match_field::{Match, MatchType};
    match m.r#match.as_ref()? {
        Match::MatchType(kind) => Some(match MatchType::try_from(*kind).ok()? {
            MatchType::Exact => Matching::Exact,
            MatchType::Lpm => Matching::Lpm,
            MatchType::Ternary => Matching::Ternary,
            MatchType::Range => Matching::Range,
            MatchType::Optional => Matching::Optional,
            MatchType::Unspecified => return None,
        }),
        Match::OtherMatchType(_) => None,
    }
}

fn unit(spec: Option<&p4::MeterSpec>) -> MeterUnit {
    match spec.map(p4::MeterSpec::unit) {
        Some(meter_spec::Unit::Bytes) => MeterUnit::Bytes,
        _ => MeterUnit::Packets,
    }
}

fn counted(spec: Option<&p4::CounterSpec>) -> Vec<Field> {
    use p4::counter_spec::Unit;
    let unit = spec.map(p4::CounterSpec::unit).unwrap_or(Unit::Both);
    let bytes = Field::new(field::COUNTER_BYTES, "$COUNTER_SPEC_BYTES", Ty::Uint(64));
    let packets = Field::new(field::COUNTER_PACKETS, "$COUNTER_SPEC_PKTS", Ty::Uint(64));
    match unit {
        Unit::Bytes => vec![bytes],
        Unit::Packets => vec![packets],
        _ => vec![bytes, packets],
    }
}

fn metered(unit: MeterUnit) -> Vec<Field> {
    let all: [(u32, &str); 4] = match unit {
        MeterUnit::Bytes => [
            (field::CIR_KBPS, "$METER_SPEC_CIR_KBPS"),
            (field::PIR_KBPS, "$METER_SPEC_PIR_KBPS"),
            (field::CBS_KBITS, "$METER_SPEC_CBS_KBITS"),
            (field::PBS_KBITS, "$METER_SPEC_PBS_KBITS"),
        ],
        MeterUnit::Packets => [
            (field::CIR_PPS, "$METER_SPEC_CIR_PPS"),
            (field::PIR_PPS, "$METER_SPEC_PIR_PPS"),
            (field::CBS_PKTS, "$METER_SPEC_CBS_PKTS"),
            (field::PBS_PKTS, "$METER_SPEC_PBS_PKTS"),
        ],
    };
    all.into_iter().map(|(id, name)| Field::new(id, name, Ty::Uint(64))).collect()
}

#[cfg(test)]
mod tests {
    use super::key_name;

    #[test]
    fn fields_of_keys_have_the_names_of_intels_compiler() {
        for (name, expected) in [
            ("hdr.vlan.isValid()", "hdr.vlan.$valid"),
            ("hdr.vlan.$valid$", "hdr.vlan.$valid"),
            ("hdr.labels[0].value", "hdr.labels$0.value"),
            ("hdr.labels[1].isValid()", "hdr.labels$1.$valid"),
            ("hdr.ipv4.dst[23:16]", "hdr.ipv4.dst[23:16]"),
            ("hdr.ipv4.dst", "hdr.ipv4.dst"),
        ] {
            assert_eq!(key_name(name), expected);
        }
    }
}
