//! The schema of a pipeline.

use hopwright_ir::{self as ir, ExternId, ExternKind, MatchKind, P4Id, P4Kind, Pipeline, TableId, ValueSetId};

use crate::schema::{Action, Array, Field, Param, Profile, Register, Schema, Table, ValueSet};

impl Schema {
    /// The objects of a pipeline that have ids. Match fields and parameters are numbered from 1 by their positions. There are no annotations,
    /// translated types and limits of groups.
    pub fn of(pipeline: &Pipeline) -> Schema {
        let mut schema = Schema { table_ids: vec![0; pipeline.tables.len()], ..Schema::default() };
        for (at, table) in pipeline.tables.iter().enumerate() {
            let Some(P4Id(id)) = table.id.filter(|id| !schema.tables.contains_key(&id.0)) else { continue };
            schema.table_ids[at] = id;
            schema.tables.insert(id, Table::of(pipeline, id, TableId(at as u32)));
        }
        for (at, object) in pipeline.externs.iter().enumerate() {
            if let Some(P4Id(id)) = object.id {
                schema.add_object(pipeline, id, ExternId(at as u32));
            }
        }
        for (at, set) in pipeline.value_sets.iter().enumerate() {
            let Some(P4Id(id)) = set.id else { continue };
            let field = |(at, ty): (usize, &ir::Type)| Field::new(at, String::new(), MatchKind::Exact, ty.width());
            let fields = set.types.iter().enumerate().map(field).collect();
            schema.value_sets.insert(id, ValueSet { at: ValueSetId(at as u32), name: set.name.clone(), fields });
        }
        let digests = pipeline.control_plane_objects.iter().filter(|object| object.kind == P4Kind::Digest);
        schema.digests = digests.map(|digest| (digest.name.clone(), digest.id.0)).collect();
        schema
    }

    fn add_object(&mut self, pipeline: &Pipeline, id: u32, at: ExternId) {
        let name = pipeline[at].name.clone();
        match &pipeline[at].kind {
            ExternKind::Counter { size, .. } => drop(self.counters.insert(id, Array { at, name, size: *size })),
            ExternKind::Meter { size, .. } => drop(self.meters.insert(id, Array { at, name, size: *size })),
            ExternKind::Register { size, ty } => {
                let register = Register { cells: Array { at, name, size: *size }, ty: *ty, translated: None };
                self.registers.insert(id, register);
            }
            ExternKind::ActionProfile { .. } | ExternKind::ActionSelector { .. } => {
                let users = pipeline.tables.iter().filter(|table| table.implementation == Some(at));
                let profile = Profile {
                    at,
                    name,
                    selector: matches!(pipeline[at].kind, ExternKind::ActionSelector { .. }),
                    max_group_size: 0,
                    of_members: None,
                    tables: users.filter_map(|table| Some(table.id?.0)).collect(),
                };
                self.action_profiles.insert(id, profile);
            }
            _ => {}
        }
    }
}

impl Field {
    fn new(at: usize, name: String, kind: MatchKind, width: u32) -> Field {
        Field { id: at as u32 + 1, name, annotations: Vec::new(), kind, width, key: at, translated: None }
    }
}

impl Table {
    fn of(pipeline: &Pipeline, id: u32, at: TableId) -> Table {
        let model = &pipeline[at];
        let keys = model.keys.iter().enumerate().filter(|(_, key)| key.kind.is_matched());
        let fields = keys.map(|(at, key)| Field::new(at, key.name.clone(), key.kind, key.expr.ty.width()));
        let default = model.default_action.action;
        let default = ir::TableAction { action: default, table_only: false, default_only: true };
        let unlisted = model.actions.iter().all(|listed| listed.action != default.action).then_some(&default);
        let param = |(id, param): (u32, &ir::Param)| Param {
            id,
            name: param.name.clone(),
            annotations: Vec::new(),
            width: param.ty.width(),
            translated: None,
        };
        let action = |listed: &ir::TableAction| {
            let action = &pipeline[listed.action];
            Some(Action {
                id: action.id?.0,
                at: listed.action,
                name: action.name.clone(),
                annotations: Vec::new(),
                default_only: listed.default_only,
                table_only: listed.table_only,
                params: (1..).zip(&action.params).map(param).collect(),
            })
        };
        let id_of = |object: Option<ExternId>| Some(pipeline[object?].id?.0);
        Table {
            id,
            at,
            name: model.name.clone(),
            alias: model.name.clone(),
            annotations: Vec::new(),
            fields: fields.collect(),
            keys: model.keys.len(),
            actions: model.actions.iter().chain(unlisted).filter_map(action).collect(),
            priority: model.has_priority(),
            const_entries: model.const_entries,
            direct_counter: id_of(model.direct_counter),
            direct_meter: id_of(model.direct_meter),
            profile: id_of(model.implementation),
            idle_timeout: model.idle_timeout,
        }
    }
}
