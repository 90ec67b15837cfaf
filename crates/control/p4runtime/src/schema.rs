//! The ids of a program's P4Info, and what they mean in its pipeline.

use std::collections::HashMap;

use hopwright_ir::{ActionId, ExternId, ExternKind, MatchKind, Pipeline, TableId, Type, ValueSetId};
use hopwright_sema::hir::{self, TypedProgram};

use crate::bytes::Coding;
use crate::p4info::{self, flat_fields};
use crate::proto::config as p4;

/// A program's objects by their P4Runtime ids.
#[derive(Debug, Default)]
pub struct Schema {
    /// By id.
    pub tables: HashMap<u32, Table>,
    /// Ids of tables, in the pipeline's order; zero for tables without one.
    pub table_ids: Vec<u32>,
    /// Indirect counters by id.
    pub counters: HashMap<u32, Cells>,
    /// Registers by id.
    pub registers: HashMap<u32, (Cells, Type)>,
    /// Indirect meters by id.
    pub meters: HashMap<u32, Cells>,
    /// Action profiles and selectors by id.
    pub action_profiles: HashMap<u32, Profile>,
    /// Value sets by id.
    pub value_sets: HashMap<u32, (ValueSetId, String, Vec<Field>)>,
    /// Digests by name of their type.
    pub digests: HashMap<String, u32>,
    /// Metadata of packets to the controller.
    pub packet_in: Vec<Metadata>,
    /// Metadata of packets from the controller.
    pub packet_out: Vec<Metadata>,
    /// Size in bytes of the header before packets to the controller.
    pub packet_in_bytes: usize,
    /// Size in bytes of the header before packets from the controller.
    pub packet_out_bytes: usize,
}

/// An action profile or selector.
#[derive(Debug)]
pub struct Profile {
    /// In the pipeline.
    pub at: ExternId,
    /// Control-plane name.
    pub name: String,
    /// Whether it has groups.
    pub selector: bool,
    /// The largest sum of weights, or number of members, of a group; 0 is no limit.
    pub max_group_size: u32,
    /// Sizes count members, whose weights are at most this; 0 is no limit.
    pub of_members: Option<u32>,
    /// The tables that use it.
    pub tables: Vec<u32>,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// In P4Info.
    pub id: u32,
    /// In the pipeline.
    pub at: TableId,
    /// Control-plane name.
    pub name: String,
    /// Match fields, in order.
    pub fields: Vec<Field>,
    /// Keys of the pipeline's table: match fields and selectors.
    pub keys: usize,
    /// Actions.
    pub actions: Vec<Action>,
    /// Whether entries have a priority.
    pub priority: bool,
    /// Whether the table has only the program's entries.
    pub const_entries: bool,
    /// The direct counter's id.
    pub direct_counter: Option<u32>,
    /// The direct meter's id.
    pub direct_meter: Option<u32>,
    /// The id of the action profile or selector that implements it.
    pub profile: Option<u32>,
    /// Whether entries may have an idle timeout.
    pub idle_timeout: bool,
}

/// A match field.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Its match kind.
    pub kind: MatchKind,
    /// The width in bits.
    pub width: u32,
    /// Its position among the pipeline's keys.
    pub key: usize,
    /// The representation of values for controllers.
    pub coding: Coding,
}

/// An action as a table has it.
#[derive(Debug)]
pub struct Action {
    /// In P4Info.
    pub id: u32,
    /// In the pipeline.
    pub at: ActionId,
    /// Control-plane name.
    pub name: String,
    /// Whether it may not be used in entries.
    pub default_only: bool,
    /// Whether it may not be the default action.
    pub table_only: bool,
    /// Parameters, in the pipeline's order.
    pub params: Vec<Param>,
}

/// A parameter of an action.
#[derive(Debug)]
pub struct Param {
    /// Its number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// The width in bits.
    pub width: u32,
    /// The representation of values for controllers.
    pub coding: Coding,
}

/// An array of counters, registers or meters.
#[derive(Clone, Debug)]
pub struct Cells {
    /// In the pipeline.
    pub at: ExternId,
    /// Control-plane name.
    pub name: String,
    /// The number of cells.
    pub size: u64,
}

/// A field of a controller header.
#[derive(Clone, Debug)]
pub struct Metadata {
    /// Its number.
    pub id: u32,
    /// Name.
    pub name: String,
    /// The width in bits.
    pub width: u32,
    /// Bits of the header after it.
    pub below: u32,
    /// Whether a packet-out may omit it.
    pub padding: bool,
    /// The representation of values for controllers.
    pub coding: Coding,
}

impl Schema {
    /// The schema of a pipeline, from the program it was made from and the P4Info.
    pub fn new(info: &p4::P4Info, program: &TypedProgram, pipeline: &Pipeline) -> Schema {
        let mut schema = Schema { table_ids: vec![0; pipeline.tables.len()], ..Schema::default() };
        let actions: HashMap<u32, &p4::Action> =
            info.actions.iter().filter_map(|a| Some((a.preamble.as_ref()?.id, a))).collect();
        for table in &info.tables {
            if let Some(table) = Table::new(table, &actions, program, pipeline) {
                schema.table_ids[table.at.index()] = table.id;
                schema.tables.insert(table.id, table);
            }
        }
        let by_name: HashMap<&str, usize> =
            pipeline.externs.iter().enumerate().map(|(at, e)| (e.name.as_str(), at)).collect();
        let cells = |preamble: &Option<p4::Preamble>, size: i64| {
            let preamble = preamble.as_ref()?;
            let at = ExternId(*by_name.get(preamble.name.as_str())? as u32);
            Some((preamble.id, Cells { at, name: preamble.name.clone(), size: size.max(0) as u64 }))
        };
        schema.counters = info.counters.iter().filter_map(|c| cells(&c.preamble, c.size)).collect();
        schema.meters = info.meters.iter().filter_map(|c| cells(&c.preamble, c.size)).collect();
        for register in &info.registers {
            if let Some((id, cells)) = cells(&register.preamble, i64::from(register.size))
                && let ExternKind::Register { ty, .. } = pipeline[cells.at].kind
            {
                schema.registers.insert(id, (cells, ty));
            }
        }
        let named = |p: &Option<p4::Preamble>| p.as_ref().map(|p| (p.id, p.name.clone()));
        for said in &info.action_profiles {
            if let Some((id, Cells { at, name, .. })) = cells(&said.preamble, said.size) {
                let max_group_size = u32::try_from(said.max_group_size).unwrap_or(0);
                let tables = said.table_ids.clone();
                let of_members = match &said.selector_size_semantics {
                    Some(p4::action_profile::SelectorSizeSemantics::SumOfMembers(sum)) => {
                        Some(u32::try_from(sum.max_member_weight).unwrap_or(0))
                    }
                    _ => None,
                };
                let profile = Profile { at, name, selector: said.with_selector, max_group_size, of_members, tables };
                schema.action_profiles.insert(id, profile);
            }
        }
        for set in &info.value_sets {
            if let Some((id, name)) = named(&set.preamble)
                && let Some(at) = pipeline.value_sets.iter().position(|v| v.name == name)
            {
                let fields = set.r#match.iter().enumerate().filter_map(|(key, f)| field(f, key)).collect();
                schema.value_sets.insert(id, (ValueSetId(at as u32), name, fields));
            }
        }
        schema.digests = info.digests.iter().filter_map(|d| named(&d.preamble)).map(|(id, name)| (name, id)).collect();
        for (name, header) in [("packet_in", pipeline.packet_in), ("packet_out", pipeline.packet_out)] {
            let Some(header) = header.map(|h| &pipeline[h]) else { continue };
            let listed = info
                .controller_packet_metadata
                .iter()
                .find(|c| c.preamble.as_ref().is_some_and(|p| p.name == name))
                .map(|c| c.metadata.as_slice())
                .unwrap_or_default();
            let sources = program
                .structs
                .iter()
                .position(|s| {
                    s.annotations.iter().any(|a| {
                        a.name == "controller_header" && a.args == [hir::AnnotationArg::String(name.to_string())]
                    })
                })
                .map(|at| flat_fields(program, hir::StructId(at as u32)))
                .unwrap_or_default();
            // P4Info lists the members in order, without hidden ones.
            let shown = header.fields.iter().zip(&sources);
            let fields = shown
                .filter(|(_, source)| !p4info::has_annotation(&source.annotations, "hidden"))
                .zip(listed)
                .map(|((f, source), said)| Metadata {
                    id: said.id,
                    name: said.name.clone(),
                    width: f.width,
                    below: header.fixed_bits - f.offset_bits - f.width,
                    padding: said.annotations.iter().any(|a| a == "@padding"),
                    coding: coding(program, source.new_type),
                })
                .collect();
            let bytes = header.fixed_bits.div_ceil(8) as usize;
            match name {
                "packet_in" => (schema.packet_in, schema.packet_in_bytes) = (fields, bytes),
                _ => (schema.packet_out, schema.packet_out_bytes) = (fields, bytes),
            }
        }
        schema
    }

    /// The table at this place of the pipeline.
    pub fn table_at(&self, at: TableId) -> Option<&Table> {
        self.tables.get(self.table_ids.get(at.index())?)
    }
}

impl Table {
    fn new(
        table: &p4::Table,
        actions: &HashMap<u32, &p4::Action>,
        program: &TypedProgram,
        pipeline: &Pipeline,
    ) -> Option<Table> {
        let preamble = table.preamble.as_ref()?;
        let at = TableId(pipeline.tables.iter().position(|t| t.name == preamble.name)? as u32);
        let model = &pipeline[at];
        let source = program.tables.iter().find(|t| t.control_plane_name == preamble.name)?;
        let keys = model.keys.iter().zip(&source.keys).enumerate();
        let keys = keys.filter(|(_, (k, _))| k.kind.is_matched());
        let fields = table
            .match_fields
            .iter()
            .zip(keys)
            .map(|(said, (key, (model, source)))| Field {
                id: said.id,
                name: said.name.clone(),
                kind: model.kind,
                width: model.expr.ty.width(),
                key,
                coding: coding(program, source.new_type),
            })
            .collect();
        // Both list actions in source order, then the default action if it is not among them.
        let sources = source.actions.iter().map(|a| &a.action).chain([&source.default_action]);
        let actions = table
            .action_refs
            .iter()
            .zip(&model.actions)
            .zip(sources)
            .filter_map(|((said, listed), source)| {
                let action = actions.get(&said.id)?;
                let sources = program[source.function].params.iter().filter(|p| p.direction == hir::Direction::None);
                let params = action.params.iter().zip(&pipeline[listed.action].params).zip(sources);
                let params = params.map(|((said, model), source)| Param {
                    id: said.id,
                    name: said.name.clone(),
                    width: model.ty.width(),
                    coding: coding(program, source.new_type),
                });
                Some(Action {
                    id: said.id,
                    at: listed.action,
                    name: action.preamble.as_ref()?.name.clone(),
                    default_only: listed.default_only,
                    table_only: listed.table_only,
                    params: params.collect(),
                })
            })
            .collect();
        let direct = |wanted: u32| table.direct_resource_ids.iter().copied().find(|id| id >> 24 == wanted);
        Some(Table {
            id: preamble.id,
            at,
            name: preamble.name.clone(),
            fields,
            keys: model.keys.len(),
            actions,
            priority: model.has_priority(),
            const_entries: model.const_entries,
            direct_counter: direct(0x13),
            direct_meter: direct(0x15),
            profile: model.implementation.map(|_| table.implementation_id),
            idle_timeout: model.idle_timeout,
        })
    }
}

fn field(said: &p4::MatchField, key: usize) -> Option<Field> {
    let kind = p4info::match_kind(said.r#match.as_ref()?)?;
    let width = said.bitwidth.max(0) as u32;
    Some(Field { id: said.id, name: said.name.clone(), kind, width, key, coding: Coding::Number })
}

/// The representation of a type's values for controllers.
fn coding(program: &TypedProgram, new_type: Option<hir::NewTypeId>) -> Coding {
    match new_type.and_then(|id| p4info::translation(&program[id].annotations)) {
        Some(p4info::Translation { width: None, .. }) => Coding::Text,
        _ => Coding::Number,
    }
}
