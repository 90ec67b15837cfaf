//! What P4Info has of the objects of a pipeline, whether or not their declarations are known.

use hopwright_ir::{self as ir, ExternId, ExternKind, P4Kind as Kind, Pipeline, Unit};

use super::ids::Names;
use super::types;
use crate::proto::config as p4;

/// A pipeline and the names of its objects.
#[derive(Clone, Copy)]
pub(super) struct Objects<'p> {
    pub pipeline: &'p Pipeline,
    pub names: &'p Names,
}

impl Objects<'_> {
    fn id(&self, kind: Kind, object: ExternId) -> u32 {
        self.names.id(kind, &self.pipeline[object].name)
    }

    /// A table without match fields and actions.
    pub(super) fn table(
        &self,
        table: &ir::Table,
        preamble: p4::Preamble,
        default: Option<p4::TableActionCall>,
    ) -> p4::Table {
        let direct = [(table.direct_counter, Kind::DirectCounter), (table.direct_meter, Kind::DirectMeter)];
        let direct = direct.into_iter().filter_map(|(object, kind)| Some(self.id(kind, object?)));
        p4::Table {
            preamble: Some(preamble),
            const_default_action_id: default.as_ref().filter(|_| table.const_default_action).map_or(0, |d| d.action_id),
            initial_default_action: default,
            implementation_id: table.implementation.map_or(0, |object| self.id(Kind::ActionProfile, object)),
            direct_resource_ids: direct.collect(),
            size: table.size as i64,
            idle_timeout_behavior: match table.idle_timeout {
                true => p4::table::IdleTimeoutBehavior::NotifyControl.into(),
                false => p4::table::IdleTimeoutBehavior::NoTimeout.into(),
            },
            is_const_table: table.const_entries,
            has_initial_entries: !table.entries.is_empty(),
            ..Default::default()
        }
    }

    /// Adds an extern object. Registers have numbers as far as the pipeline knows, and action selectors no bounds.
    pub(super) fn add(&self, at: ExternId, preamble: p4::Preamble, info: &mut p4::P4Info) {
        let table_id = |table: ir::TableId| self.names.id(Kind::Table, &self.pipeline[table].name);
        let kind = &self.pipeline[at].kind;
        let extern_type_id = preamble.id >> 24;
        let preamble = Some(preamble);
        match kind {
            ExternKind::Counter { size, unit } => info.counters.push(p4::Counter {
                preamble,
                spec: Some(counter_spec(*unit)),
                size: *size as i64,
                index_type_name: None,
            }),
            ExternKind::Meter { size, unit } => info.meters.push(p4::Meter {
                preamble,
                spec: Some(meter_spec(*unit)),
                size: *size as i64,
                index_type_name: None,
            }),
            ExternKind::DirectCounter { table: Some(table), unit } => info.direct_counters.push(p4::DirectCounter {
                preamble,
                spec: Some(counter_spec(*unit)),
                direct_table_id: table_id(*table),
            }),
            ExternKind::DirectMeter { table: Some(table), unit } => info.direct_meters.push(p4::DirectMeter {
                preamble,
                spec: Some(meter_spec(*unit)),
                direct_table_id: table_id(*table),
            }),
            ExternKind::Register { size, ty } => info.registers.push(p4::Register {
                preamble,
                type_spec: Some(types::scalar(*ty)),
                size: i32::try_from(*size).unwrap_or(i32::MAX),
                index_type_name: None,
            }),
            ExternKind::ActionProfile { size } | ExternKind::ActionSelector { size, .. } => {
                let users = self.pipeline.tables.iter().filter(|table| table.implementation == Some(at));
                let ids = users.map(|table| self.names.id(Kind::Table, &table.name)).filter(|id| *id != 0);
                info.action_profiles.push(p4::ActionProfile {
                    preamble,
                    table_ids: ids.collect(),
                    with_selector: matches!(kind, ExternKind::ActionSelector { .. }),
                    size: *size as i64,
                    ..Default::default()
                });
            }
            ExternKind::Named { type_name, args } => {
                let mut instance = p4::ExternInstance { preamble, info: None };
                if let (Some(preamble), Some(size)) = (&mut instance.preamble, args.first()) {
                    preamble.annotations.push(format!("@size({size})"));
                }
                match info.externs.iter_mut().find(|e| e.extern_type_name == *type_name) {
                    Some(known) => known.instances.push(instance),
                    None => info.externs.push(p4::Extern {
                        extern_type_id,
                        extern_type_name: type_name.clone(),
                        instances: vec![instance],
                    }),
                }
            }
            // A direct resource without a table is not accessible.
            ExternKind::DirectCounter { table: None, .. } | ExternKind::DirectMeter { table: None, .. } => {}
            ExternKind::Stateless => {}
        }
    }
}

/// Lists a table's default action, unless its entries may have it, too.
pub(super) fn add_default(actions: &mut Vec<p4::ActionRef>, default: u32) {
    if !actions.iter().any(|action| action.id == default) {
        let scope = p4::action_ref::Scope::DefaultOnly.into();
        let annotations = vec!["@defaultonly".into()];
        actions.push(p4::ActionRef { id: default, scope, annotations, ..Default::default() });
    }
}

fn counter_spec(unit: Unit) -> p4::CounterSpec {
    let unit = match unit {
        Unit::Packets => p4::counter_spec::Unit::Packets,
        Unit::Bytes => p4::counter_spec::Unit::Bytes,
        Unit::Both => p4::counter_spec::Unit::Both,
    };
    p4::CounterSpec { unit: unit.into() }
}

fn meter_spec(unit: Unit) -> p4::MeterSpec {
    let unit = match unit {
        Unit::Packets => p4::meter_spec::Unit::Packets,
        Unit::Bytes | Unit::Both => p4::meter_spec::Unit::Bytes,
    };
    p4::MeterSpec { unit: unit.into(), r#type: p4::meter_spec::Type::TwoRateThreeColor.into() }
}
