//! The tables of a program, from its P4Info. Ids are those of P4Info, except for objects that P4Info knows as one and BfRuntime
//! as two.

use std::str::FromStr;

use hopwright_p4runtime::proto::config::{
    self as p4, P4DataTypeSpec, P4Info, action_ref, match_field, meter_spec, p4_bitstring_like_type_spec as bits,
    p4_data_type_spec::TypeSpec, p4_new_type_spec::Representation,
};

use super::{
    Action, Digest, DirectRegister, Field, FilterKind, Generation, Key, Matching, MeterUnit, Object, Schema, Table, Ty,
    field,
};

/// The prefix of ids of action selectors, whose members have the id of P4Info.
const SELECTOR: u32 = 0x82 << 24;
/// The prefix of the id of port metadata.
const PORT_METADATA: u32 = 0x90 << 24;
/// The register of port metadata, by port.
const PORT_METADATA_REGISTER: &str = "port_metadata";
/// The register of ports that lead back to ingress, that of level-1 exclusion ids by replication id, and that of ports by level-2
/// exclusion id.
const LOOPBACK_REGISTER: &str = "loopback";
const EXCLUSION_REGISTER: &str = "level1_exclusion";
const PRUNING_REGISTER: &str = "level2_exclusion";
/// The deepest nesting of types.
const MAX_DEPTH: u32 = 16;

/// The tables of a program of this name.
pub(crate) fn schema(name: &str, info: &P4Info) -> Schema {
    let builder = Builder { info };
    let mut tables: Vec<Table> = info.tables.iter().filter_map(|t| builder.table(t)).collect();
    tables.extend(info.action_profiles.iter().flat_map(|p| builder.profile(p)));
    tables.extend(info.counters.iter().filter_map(|c| builder.counter(c)));
    tables.extend(info.meters.iter().filter_map(|m| builder.meter(m)));
    tables.extend(info.registers.iter().filter_map(|r| builder.register(r)));
    tables.extend(builder.filters().filter_map(|(kind, preamble)| builder.filter(kind, preamble)));
    tables.extend(info.value_sets.iter().filter_map(|v| builder.value_set(v)));
    let digests = info.digests.iter().filter_map(|d| builder.digest(d)).collect();
    tables.extend(super::fixed::tables());
    let generation = match info.pkg_info.as_ref().map(|package| package.arch.as_str()) {
        Some("tna") => Some(Generation { device: "tf1", applications: 8, application_bits: 3 }),
        Some("t2na") => Some(Generation { device: "tf2", applications: 16, application_bits: 4 }),
        _ => None,
    };
    tables.extend(generation.iter().flat_map(super::fixed::generators));
    let register = |name: &str| {
        let mut preambles = info.registers.iter().filter_map(|r| r.preamble.as_ref());
        preambles.find(|p| p.name == name).map(|p| p.id)
    };
    let schema = Schema::new(name.to_string(), tables, digests);
    Schema {
        loopback_register: register(LOOPBACK_REGISTER),
        exclusion_register: register(EXCLUSION_REGISTER),
        pruning_register: register(PRUNING_REGISTER),
        generation,
        ..schema
    }
}

struct Builder<'i> {
    info: &'i P4Info,
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

impl Builder<'_> {
    fn base(&self, preamble: &p4::Preamble, object: Object, size: i64) -> Table {
        Table {
            id: preamble.id,
            name: format!("pipe.{}", preamble.name),
            object,
            size: size.max(0) as u64,
            keys: Vec::new(),
            actions: Vec::new(),
            data: Vec::new(),
            registers: Vec::new(),
            filters: Vec::new(),
            const_default: false,
            depends_on: Vec::new(),
        }
    }

    fn table(&self, t: &p4::Table) -> Option<Table> {
        let direct = |id: &u32| has_cells_of(t, *id);
        let of = |preamble: &Option<p4::Preamble>| preamble.as_ref().is_some_and(|p| direct(&p.id));
        let counter = self.info.direct_counters.iter().find(|c| of(&c.preamble));
        let meter = self.info.direct_meters.iter().find(|m| of(&m.preamble)).map(|m| unit(m.spec.as_ref()));
        let object = Object::Match { indirect: t.implementation_id != 0, meter, counter: counter.is_some() };
        let mut table = self.base(t.preamble.as_ref()?, object, t.size);
        table.const_default = t.const_default_action_id != 0;
        let mut priority = false;
        for m in &t.match_fields {
            let matching = matching(m)?;
            priority |= matches!(matching, Matching::Ternary | Matching::Range | Matching::Optional);
            let ty = Ty::Bytes(m.bitwidth.max(0) as u32);
            table.keys.push(Key { id: m.id, name: m.name.clone(), matching, ty, mandatory: false });
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
            if self.profile_of(t.implementation_id).is_some_and(|p| p.with_selector) {
                table.depends_on.push(SELECTOR | t.implementation_id & 0xff_ffff);
            }
            table.data.push(Field::new(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", Ty::Uint(32)));
            table.data.push(Field::new(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID", Ty::Uint(32)));
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
        // One object is both here. It has the name that programs give the selector.
        members.name.push_str("_ap");
        groups.keys = exact(field::SELECTOR_GROUP_ID, "$SELECTOR_GROUP_ID");
        groups.data = vec![
            Field::new(field::ACTION_MEMBER_ID, "$ACTION_MEMBER_ID", Ty::Uint(32)).repeated(),
            Field::new(field::ACTION_MEMBER_STATUS, "$ACTION_MEMBER_STATUS", Ty::Bool).repeated(),
            Field::new(field::MAX_GROUP_SIZE, "$MAX_GROUP_SIZE", Ty::Uint(32)),
        ];
        groups.depends_on = vec![preamble.id];
        vec![members, groups]
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
        if preamble.name == PORT_METADATA_REGISTER {
            let object = Object::PortMetadata { register: preamble.id };
            let mut table = self.base(preamble, object, i64::from(r.size));
            table.id = PORT_METADATA | preamble.id & 0xff_ffff;
            table.name = "pipe.$PORT_METADATA".into();
            let (id, name) = (field::INGRESS_PORT, "ig_intr_md.ingress_port".into());
            table.keys = vec![Key { id, name, matching: Matching::Exact, ty: Ty::Bytes(9), mandatory: true }];
            let ty = fields.first()?.ty;
            table.data = vec![Field::new(field::PORT_METADATA, "$DEFAULT_FIELD", ty)];
            return Some(table);
        }
        let mut table = self.base(preamble, Object::Register, i64::from(r.size));
        table.keys = self.index(field::REGISTER_INDEX, "$REGISTER_INDEX");
        table.data = fields;
        Some(table)
    }

    fn digest(&self, d: &p4::Digest) -> Option<Digest> {
        let preamble = d.preamble.as_ref()?;
        let mut fields = Vec::new();
        self.fields(d.type_spec.as_ref()?, "f1", &mut fields, 0)?;
        Some(Digest { id: preamble.id, name: format!("pipe.{}", preamble.name), fields })
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
