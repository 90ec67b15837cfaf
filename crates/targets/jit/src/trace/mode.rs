//! What kind of function is emitted, and the state of a trace function that is being built.

use std::collections::BTreeMap;
use std::sync::Arc;

use cranelift_codegen::ir::{Block, Value};
use hopwright_abi::{self as abi, ExternAttributes};

use crate::emit::point::{PointId, PointPlace};
use crate::trace::passes::TracePass;
use crate::trace_ir::TraceIr;

/// The path of a packet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub(crate) Arc<[PointId]>);

/// The kind of function that is emitted.
pub(crate) enum Mode<'a> {
    /// For all packets.
    Generic,
    /// For all packets; records their paths.
    Profile(PointNumbers),
    /// For packets on some paths.
    Trace(TraceBuild<'a>),
}

/// The numbers by which a path profiler records points.
#[derive(Default)]
pub(crate) struct PointNumbers {
    pub numbers: BTreeMap<PointId, u32>,
    /// What is at the points.
    pub places: BTreeMap<PointId, PointPlace>,
}

impl PointNumbers {
    /// The number of a point.
    pub(crate) fn number(&mut self, point_id: &PointId) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(point_id.clone()).or_insert(next)
    }

    /// Notes what is at a point.
    pub(crate) fn describe(&mut self, point_id: &PointId, place: impl FnOnce() -> PointPlace) {
        if !self.places.contains_key(point_id) {
            self.places.insert(point_id.clone(), place());
        }
    }

    /// The points and what is there, indexed by number.
    pub(crate) fn list(mut self) -> Vec<(PointId, PointPlace)> {
        let mut list = vec![(PointId::new(), PointPlace::of_stage(u32::MAX)); self.numbers.len()];
        for (point_id, number) in self.numbers {
            let place = self.places.remove(&point_id);
            list[number as usize] = (point_id, place.unwrap_or_else(|| PointPlace::of_stage(u32::MAX)));
        }
        list
    }
}

/// A trace function being built.
pub(crate) struct TraceBuild<'a> {
    /// The tree of the paths.
    pub tree: &'a TraceIr,
    /// The generic function.
    pub all: abi::RunBatch,
    /// Attributes of the extern objects.
    pub attributes: &'a [ExternAttributes],
    /// The passes that are left out.
    pub without: &'a [TracePass],
    /// The block that packets take side exits to.
    pub exit: Option<Block>,
    /// The values of roots, by number.
    pub roots: Vec<Value>,
    /// What has been loaded on the way to the current block.
    pub loads: PacketLoads,
    /// The block methods that are called: addresses of `run` to those of `run_all`.
    pub methods: BTreeMap<i64, i64>,
    /// The result depends on the order of packets.
    pub order_dependent: bool,
}

/// What has been loaded from the packet and its descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct PacketLoads {
    /// Values loaded from the packet since the last call, by address, offset and size.
    pub bytes: BTreeMap<(Value, i32, u32), Value>,
    /// One past the packet's last byte.
    pub end: Option<Value>,
}

impl<'a> TraceBuild<'a> {
    pub(crate) fn new(
        tree: &'a TraceIr,
        all: abi::RunBatch,
        attributes: &'a [ExternAttributes],
        without: &'a [TracePass],
    ) -> TraceBuild<'a> {
        TraceBuild {
            tree,
            all,
            attributes,
            without,
            exit: None,
            roots: Vec::new(),
            loads: PacketLoads::default(),
            methods: BTreeMap::new(),
            order_dependent: false,
        }
    }
}

/// A value that is the same for all packets of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BatchInvariant {
    /// The state of the extern object whose handle is at this offset.
    State(i32),
    /// The result of [`hopwright_abi::BlockMethod::prepare`] for the handle at an offset, the function's address and
    /// the number.
    Prepared(i32, usize, u64),
    /// The address of the generic function, used by side exits.
    GenericFunction,
    Runtime,
}
