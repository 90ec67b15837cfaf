//! The ids of a program's P4Info, and what they mean in its pipeline.

use std::collections::HashMap;

use hopwright_ir::{ActionId, ExternId, ExternKind, Header, MatchKind, Pipeline, TableId, Type, ValueSetId};
use hopwright_sema::hir::{self, TypedProgram};

use crate::p4info::{self, flat_fields};
use crate::proto::config as p4;
use crate::rules::{RuleError, Rules};
use crate::schema_types::{data_types, translated_types};
use crate::translation::TranslatedType;

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
    /// Types whose values are translated; positions are in fields, parameters and metadata.
    pub translated_types: Vec<TranslatedType>,
    /// The parameters of translated types of actions, by the actions' ids: their ids, types and names.
    pub(crate) translated_params: HashMap<u32, Vec<(u32, usize, String)>>,
    /// Registers and digests with translated types, by id: name and type.
    pub(crate) data: HashMap<u32, (String, p4::P4DataTypeSpec)>,
    /// The types that P4Info describes, if one is translated.
    pub(crate) types: p4::P4TypeInfo,
    /// What annotations demand of entries.
    pub(crate) rules: Rules,
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
    /// The type that translates its values.
    pub translated: Option<usize>,
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
    /// The type that translates its values.
    pub translated: Option<usize>,
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
    /// The type that translates its values.
    pub translated: Option<usize>,
}

impl Schema {
    /// The schema of a pipeline, from the program it was made from and the P4Info.
    ///
    /// # Errors
    /// If an annotation is wrong that says what entries may be like.
    pub(crate) fn new(
        info: &p4::P4Info,
        program: &TypedProgram,
        pipeline: &Pipeline,
    ) -> std::result::Result<Schema, RuleError> {
        let translated_types = translated_types(program)?;
        let mut schema = Schema { table_ids: vec![0; pipeline.tables.len()], translated_types, ..Schema::default() };
        (schema.types, schema.data) = data_types(info, &schema.translated_types);
        for action in &info.actions {
            let params = action.params.iter();
            let params = params.filter_map(|p| Some((p.id, schema.translated(p.type_name.as_ref())?, p.name.clone())));
            let params: Vec<_> = params.collect();
            if let (false, Some(preamble)) = (params.is_empty(), &action.preamble) {
                schema.translated_params.insert(preamble.id, params);
            }
        }
        schema.add_tables(info, pipeline);
        schema.add_objects(info, pipeline);
        for (name, header) in [("packet_in", pipeline.packet_in), ("packet_out", pipeline.packet_out)] {
            let Some(header) = header.map(|h| &pipeline[h]) else { continue };
            let fields = schema.metadata(info, program, name, header);
            let bytes = header.fixed_bits.div_ceil(8) as usize;
            match name {
                "packet_in" => (schema.packet_in, schema.packet_in_bytes) = (fields, bytes),
                _ => (schema.packet_out, schema.packet_out_bytes) = (fields, bytes),
            }
        }
        schema.rules = Rules::new(info, &schema)?;
        Ok(schema)
    }

    fn add_tables(&mut self, info: &p4::P4Info, pipeline: &Pipeline) {
        let actions: HashMap<u32, &p4::Action> =
            info.actions.iter().filter_map(|a| Some((a.preamble.as_ref()?.id, a))).collect();
        for table in &info.tables {
            if let Some(table) = Table::new(table, &actions, pipeline, self) {
                self.table_ids[table.at.index()] = table.id;
                self.tables.insert(table.id, table);
            }
        }
    }

    fn add_objects(&mut self, info: &p4::P4Info, pipeline: &Pipeline) {
        let schema = self;
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
        for request in &info.action_profiles {
            if let Some((id, Cells { at, name, .. })) = cells(&request.preamble, request.size) {
                let max_group_size = u32::try_from(request.max_group_size).unwrap_or(0);
                let tables = request.table_ids.clone();
                let of_members = match &request.selector_size_semantics {
                    Some(p4::action_profile::SelectorSizeSemantics::SumOfMembers(sum)) => {
                        Some(u32::try_from(sum.max_member_weight).unwrap_or(0))
                    }
                    _ => None,
                };
                let profile = Profile { at, name, selector: request.with_selector, max_group_size, of_members, tables };
                schema.action_profiles.insert(id, profile);
            }
        }
        for set in &info.value_sets {
            if let Some((id, name)) = named(&set.preamble)
                && let Some(at) = pipeline.value_sets.iter().position(|v| v.name == name)
            {
                let fields = set.r#match.iter().zip(&pipeline.value_sets[at].types).enumerate();
                let fields = fields.filter_map(|(key, (f, ty))| schema.field(f, key, ty.width())).collect();
                schema.value_sets.insert(id, (ValueSetId(at as u32), name, fields));
            }
        }
        schema.digests = info.digests.iter().filter_map(|d| named(&d.preamble)).map(|(id, name)| (name, id)).collect();
    }

    /// The fields of a controller header.
    fn metadata(&self, info: &p4::P4Info, program: &TypedProgram, name: &str, header: &Header) -> Vec<Metadata> {
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
                s.annotations
                    .iter()
                    .any(|a| a.name == "controller_header" && a.args == [hir::AnnotationArg::String(name.to_string())])
            })
            .map(|at| flat_fields(program, hir::StructId(at as u32)))
            .unwrap_or_default();
        // P4Info lists the members in order, without hidden ones.
        let shown = header.fields.iter().zip(&sources);
        shown
            .filter(|(_, source)| !p4info::has_annotation(&source.annotations, "hidden"))
            .zip(listed)
            .map(|((f, _), request)| Metadata {
                id: request.id,
                name: request.name.clone(),
                width: f.width,
                below: header.fixed_bits - f.offset_bits - f.width,
                padding: request.annotations.iter().any(|a| a == "@padding"),
                translated: self.translated(request.type_name.as_ref()),
            })
            .collect()
    }

    /// The translation of a type that P4Info names.
    pub(crate) fn translated(&self, named: Option<&p4::P4NamedType>) -> Option<usize> {
        let name = &named?.name;
        self.translated_types.iter().position(|ty| ty.name == *name)
    }

    /// The type of ports, if it is translated.
    pub(crate) fn port_type(&self) -> Option<usize> {
        self.translated_types.iter().position(|ty| ty.port)
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
        pipeline: &Pipeline,
        schema: &Schema,
    ) -> Option<Table> {
        let preamble = table.preamble.as_ref()?;
        let at = TableId(pipeline.tables.iter().position(|t| t.name == preamble.name)? as u32);
        let model = &pipeline[at];
        let keys = model.keys.iter().enumerate().filter(|(_, k)| k.kind.is_matched());
        let fields = table
            .match_fields
            .iter()
            .zip(keys)
            .map(|(request, (key, model))| Field {
                id: request.id,
                name: request.name.clone(),
                kind: model.kind,
                width: model.expr.ty.width(),
                key,
                translated: schema.translated(request.type_name.as_ref()),
            })
            .collect();
        // Both list actions in source order, then the default action if it is not among them.
        let actions = table
            .action_refs
            .iter()
            .zip(&model.actions)
            .filter_map(|(request, listed)| {
                let action = actions.get(&request.id)?;
                let params = action.params.iter().zip(&pipeline[listed.action].params);
                let params = params.map(|(request, model)| Param {
                    id: request.id,
                    name: request.name.clone(),
                    width: model.ty.width(),
                    translated: schema.translated(request.type_name.as_ref()),
                });
                Some(Action {
                    id: request.id,
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

impl Schema {
    /// A match field of a value set. `None` if P4Info has no such kind of match.
    fn field(&self, request: &p4::MatchField, key: usize, width: u32) -> Option<Field> {
        let kind = p4info::match_kind(request.r#match.as_ref()?)?;
        let translated = self.translated(request.type_name.as_ref());
        Some(Field { id: request.id, name: request.name.clone(), kind, width, key, translated })
    }
}
