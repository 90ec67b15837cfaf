//! The program's tables and actions, by their names.

use hopwright_dataplane::{Control, ControlError};
use hopwright_ir::{ActionId, TableId};

use super::super::rewrite::Kind;

macro_rules! tables {
    ($($name:ident),* $(,)?) => {
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Tables {
            $(pub $name: TableId,)*
        }

        impl Tables {
            pub(super) fn of(control: &Control) -> Result<Tables, ControlError> {
                Ok(Tables { $($name: control.table(stringify!($name))?.id(),)* })
            }

            pub(super) fn all(&self) -> impl IntoIterator<Item = TableId> + use<> {
                [$(self.$name),*]
            }
        }
    };
}

// Those that lead to others come first: they are emptied in this order.
tables! {
    flows, exact_flows, select_groups, again, rewrites, meter_bands, sources, stations, ingress_ports, egress_ports,
}

#[derive(Debug)]
pub(super) struct Actions {
    pub bucket_output: ActionId,
    pub bucket_replicate: ActionId,
    pub bucket_drop: ActionId,
    pub flow_output: ActionId,
    pub flow_replicate: ActionId,
    pub flow_drop: ActionId,
    pub flow_instructions: ActionId,
    /// By the number of their [`Kind`].
    pub rewrites: Vec<ActionId>,
    pub go_to: ActionId,
    pub choose: ActionId,
    pub use_outputs: ActionId,
    pub bridge: ActionId,
    pub band_drop: ActionId,
    pub band_remark: ActionId,
    pub known_source: ActionId,
    pub forward: ActionId,
    pub egress_drop: ActionId,
    pub refuse_packets: ActionId,
    pub refuse_misses: ActionId,
    pub refuse_misses_and_fragments: ActionId,
}

impl Actions {
    pub(super) fn of(control: &Control, tables: &Tables) -> Result<Actions, ControlError> {
        let action = |table: TableId, name: &str| control.resolve_action(table, name, &[]).map(|call| call.action);
        Ok(Actions {
            bucket_output: action(tables.select_groups, "bucket_output")?,
            bucket_replicate: action(tables.select_groups, "bucket_replicate")?,
            bucket_drop: action(tables.select_groups, "bucket_drop")?,
            flow_output: action(tables.flows, "flow_output")?,
            flow_replicate: action(tables.flows, "flow_replicate")?,
            flow_drop: action(tables.flows, "flow_drop")?,
            flow_instructions: action(tables.flows, "flow_instructions")?,
            rewrites: Kind::ALL.iter().map(|kind| action(tables.rewrites, kind.name())).collect::<Result<_, _>>()?,
            go_to: action(tables.again, "go_to")?,
            choose: action(tables.again, "choose")?,
            use_outputs: action(tables.again, "use_outputs")?,
            bridge: action(tables.again, "bridge")?,
            band_drop: action(tables.meter_bands, "band_drop")?,
            band_remark: action(tables.meter_bands, "band_remark")?,
            known_source: action(tables.sources, "NoAction")?,
            forward: action(tables.stations, "forward")?,
            egress_drop: action(tables.egress_ports, "drop")?,
            refuse_packets: action(tables.ingress_ports, "refuse_packets")?,
            refuse_misses: action(tables.ingress_ports, "refuse_misses")?,
            refuse_misses_and_fragments: action(tables.ingress_ports, "refuse_misses_and_fragments")?,
        })
    }
}
