//! Integration tests of `hopwright-scion`, in one program.

mod batches;
mod counters;
mod damage;
mod differential;
mod forwarding;
mod hardware;
mod hummingbird;
mod simulation;
mod slow_path;

use std::sync::{Arc, OnceLock};

use hopwright_dataplane::{EngineKind, Executable, ExternTypes, VirtualDataPlane};
use hopwright_ir::Pipeline;
use hopwright_scion::control::program;

/// The router's program. It is compiled once for all tests.
fn pipeline() -> Arc<Pipeline> {
    static PIPELINE: OnceLock<Arc<Pipeline>> = OnceLock::new();
    PIPELINE.get_or_init(|| Arc::new(program::compile(true).pipeline.expect("the program compiles"))).clone()
}

/// A program that is ready to run with either engine, made once for all tests.
struct Ready {
    pipeline: fn() -> Arc<Pipeline>,
    interp: OnceLock<Executable>,
    jit: OnceLock<Executable>,
}

/// The router's program.
static ROUTER: Ready = Ready::new(pipeline);
/// The router's program with path type Hummingbird.
static WITH_HUMMINGBIRD: Ready = Ready::new(program::with_hummingbird);

impl Ready {
    const fn new(pipeline: fn() -> Arc<Pipeline>) -> Ready {
        Ready { pipeline, interp: OnceLock::new(), jit: OnceLock::new() }
    }

    /// A data plane in its initial state.
    fn data_plane(&self, kind: EngineKind) -> Arc<VirtualDataPlane> {
        let program = if kind == EngineKind::Jit { &self.jit } else { &self.interp };
        let make = || VirtualDataPlane::new((self.pipeline)(), kind).unwrap().executable();
        program.get_or_init(make).data_plane(&ExternTypes::standard()).unwrap()
    }
}
