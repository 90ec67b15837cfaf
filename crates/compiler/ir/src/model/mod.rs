//! The pipeline IR's data model: flat state, a parser graph, structured controls, tables, actions, externs.
//!
//! Everything is plain data with public fields; the verifier states the invariants. Ids are indices into the
//! vectors of [`Pipeline`].

mod expr;
mod extern_fn;
mod externs;
mod instance;
mod matching;
mod p4runtime;
mod profile;
mod state;
mod stmt;
mod table;

pub use expr::*;
pub use extern_fn::{Effect, ExternConstant, ExternFn, ExternInfo, ExternTarget, Latency, ParamShape, TypeRule};
pub use externs::*;
pub use instance::*;
pub use matching::*;
pub use p4runtime::*;
pub use profile::*;
pub use state::*;
pub use stmt::*;
pub use table::*;

use serde::{Deserialize, Serialize};

use std::sync::Arc;

pub use hopwright_source::{SourceMap, Span};

/// A whole program. The blocks and the intrinsic metadata are those of v1model.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Pipeline {
    /// File stem of the program.
    pub name: String,
    /// All scalar state of a packet: header fields, validity bits, metadata, locals. Every slot is zero when a
    /// packet starts, except for the standard metadata that the executor sets.
    pub slots: Vec<Slot>,
    /// Header instances, stack elements and union members included.
    pub headers: Vec<Header>,
    /// Header stacks.
    pub stacks: Vec<Stack>,
    /// Header unions.
    pub unions: Vec<Union>,
    /// Names of the `error` members; the value of type `error` is the index. `errors[0]` is `NoError`.
    pub errors: Vec<String>,
    /// The slots of v1model's intrinsic metadata.
    pub standard: StandardMetadata,
    /// The parser graph.
    pub parser: Parser,
    /// v1model `verify_checksum`.
    pub verify_checksum: Control,
    /// v1model `ingress`.
    pub ingress: Control,
    /// v1model `egress`.
    pub egress: Control,
    /// v1model `compute_checksum`.
    pub compute_checksum: Control,
    /// The deparser: a control whose effects are [`StmtKind::Emit`].
    pub deparser: Control,
    /// Actions that tables can run. Direct action calls are inlined by lowering and do not appear.
    pub actions: Vec<Action>,
    /// Match-action tables.
    pub tables: Vec<Table>,
    /// Parser value sets.
    pub value_sets: Vec<ValueSet>,
    /// Extern object instances: counters, registers, keys, ...
    pub externs: Vec<ExternInstance>,
    /// `@field_list(n)`: the metadata slots kept by resubmit, recirculate and clone with list `n`.
    pub field_lists: Vec<FieldList>,
    /// `@controller_header("packet_in")`, the header *type* whose instance is in front of punted packets.
    pub packet_in: Option<HeaderId>,
    /// `@controller_header("packet_out")`.
    pub packet_out: Option<HeaderId>,
    /// Objects with a P4Runtime id that are no tables, actions, value sets or extern objects of the pipeline.
    pub control_plane_objects: Vec<ControlPlaneObject>,
    /// The text the spans point into. It is not serialised.
    #[serde(skip)]
    pub sources: Arc<SourceMap>,
}

impl Pipeline {
    /// A program that does nothing.
    pub fn empty(standard: StandardMetadata) -> Pipeline {
        let control = || Control { name: String::new(), body: Vec::new(), span: Span::none() };
        Pipeline {
            name: String::new(),
            slots: Vec::new(),
            headers: Vec::new(),
            stacks: Vec::new(),
            unions: Vec::new(),
            errors: Vec::new(),
            standard,
            parser: Parser { name: String::new(), states: Vec::new(), start: StateId(0), span: Span::none() },
            verify_checksum: control(),
            ingress: control(),
            egress: control(),
            compute_checksum: control(),
            deparser: control(),
            actions: Vec::new(),
            tables: Vec::new(),
            value_sets: Vec::new(),
            externs: Vec::new(),
            field_lists: Vec::new(),
            packet_in: None,
            packet_out: None,
            control_plane_objects: Vec::new(),
            sources: Arc::default(),
        }
    }
}

/// Slots kept for a copy of the packet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FieldList {
    /// The list's number.
    pub index: u8,
    /// Its slots.
    pub slots: Vec<SlotId>,
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident => $field:ident : $what:ty, $get:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
            pub struct $name(pub u32);

            impl $name {
                /// The index into the pipeline's vector.
                pub fn index(self) -> usize {
                    self.0 as usize
                }
            }

            impl std::ops::Index<$name> for Pipeline {
                type Output = $what;
                fn index(&self, id: $name) -> &$what {
                    &self.$field[id.index()]
                }
            }
        )*
    };
}

ids! {
    /// Index into [`Pipeline::slots`].
    SlotId => slots: Slot, slot;
    /// Index into [`Pipeline::headers`].
    HeaderId => headers: Header, header;
    /// Index into [`Pipeline::stacks`].
    StackId => stacks: Stack, stack;
    /// Index into [`Pipeline::unions`].
    UnionId => unions: Union, union;
    /// Index into [`Pipeline::actions`].
    ActionId => actions: Action, action;
    /// Index into [`Pipeline::tables`].
    TableId => tables: Table, table;
    /// Index into [`Pipeline::value_sets`].
    ValueSetId => value_sets: ValueSet, value_set;
    /// Index into [`Pipeline::externs`].
    ExternId => externs: ExternInstance, extern_instance;
}

impl Pipeline {
    /// Whether hits of a table run its direct meter: unless one of its actions does so itself, with
    /// [`ExternFn::DirectMeterExecuteBytes`].
    pub fn measures_hits(&self, table: TableId) -> bool {
        let table = &self[table];
        let Some(meter) = table.direct_meter else { return false };
        let mut explicit = false;
        for action in table.actions.iter().map(|a| a.action).chain([table.default_action.action]) {
            crate::walk::stmts(&self[action].body, &mut |stmt| {
                if let StmtKind::Extern(call) = &stmt.kind {
                    explicit |= call.function == ExternFn::DirectMeterExecuteBytes(meter);
                }
            });
        }
        !explicit
    }

    /// The table with this control-plane name, or the only one whose name ends in `.name`.
    pub fn table_by_name(&self, name: &str) -> Option<TableId> {
        by_name(self.tables.iter().map(|t| t.name.as_str()), name).map(TableId)
    }

    /// The action with this control-plane name, or the only one whose name ends in `.name`.
    pub fn action_by_name(&self, name: &str) -> Option<ActionId> {
        by_name(self.actions.iter().map(|a| a.name.as_str()), name).map(ActionId)
    }

    /// The extern instance with this control-plane name, or the only one whose name ends in `.name`.
    pub fn extern_by_name(&self, name: &str) -> Option<ExternId> {
        by_name(self.externs.iter().map(|e| e.name.as_str()), name).map(ExternId)
    }

    /// The value set with this control-plane name, or the only one whose name ends in `.name`.
    pub fn value_set_by_name(&self, name: &str) -> Option<ValueSetId> {
        by_name(self.value_sets.iter().map(|v| v.name.as_str()), name).map(ValueSetId)
    }
}

/// Exact match first, else a suffix after a dot that only one name has.
fn by_name<'a>(names: impl Iterator<Item = &'a str> + Clone, name: &str) -> Option<u32> {
    if let Some(i) = names.clone().position(|n| n == name) {
        return Some(i as u32);
    }
    let mut found = names.enumerate().filter(|(_, n)| n.strip_suffix(name).is_some_and(|rest| rest.ends_with('.')));
    match (found.next(), found.next()) {
        (Some((i, _)), None) => Some(i as u32),
        _ => None,
    }
}
