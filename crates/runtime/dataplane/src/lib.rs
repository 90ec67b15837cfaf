//! Everything a packet meets at run time: packet buffers, tables, externs, programs and the switch around them.
//!
//! - [`VirtualDataPlane`] is a running program; [`Control`] is its state and the control plane's access to it.
//! - [`Switch`] moves packets between [`Port`]s and the programs of its [`Tenant`]s, with [`Worker`]s that run to completion.
//! - [`Table`]s never make a reader wait; [`externs`] have native code.
//! - [`Pool`] and [`Packet`] are packet memory; [`memory`] has ports without a device.
//!
//! # How an agent uses it
//!
//! ```no_run
//! # use std::{sync::Arc, time::Duration};
//! use hopwright_dataplane::{EngineKind, EntrySpec, Port, SwitchBuilder, VirtualDataPlane};
//! # fn demo(pipeline: Arc<hopwright_ir::Pipeline>, eth0: Box<dyn Port>) -> Result<(), Box<dyn std::error::Error>> {
//! let vdp = VirtualDataPlane::new(pipeline, EngineKind::Jit)?;
//! let (switch, mut worker) = SwitchBuilder::new(vdp.clone()).port(0, eth0).cpu_port(510).build()?;
//! // What belongs to the program: its queues, counts and port numbers.
//! let tenant = switch.default_tenant();
//!
//! // Table entries by name; values are anything that becomes a BigUint. `put` inserts or changes.
//! let control = vdp.control();
//! control.put(&EntrySpec::new("ipv4_lpm", "forward").lpm(0x0a00_0000u32, 8).arg(3u32).arg(0x0200_0000_0001u64))?;
//! control.set_default("ipv4_lpm", "drop", &[])?;
//!
//! // Keys of an `AesCmac` or `Aes128` object. What has no key verifies nothing.
//! control.key_table("hop_mac")?.set_key(0, &[0x42; 16])?;
//!
//! // Packets move on a thread of the worker's own.
//! let moving = std::thread::spawn(move || worker.run());
//!
//! // A packet that the program sent to the CPU port, if one comes in time; its bytes begin with the packet-in header.
//! // An agent's main loop receives until it is told to stop.
//! if let Some(packet) = tenant.cpu().receive(Duration::from_millis(100)) {
//!     println!("{} bytes from port {}", packet.len(), packet.ingress_port());
//! }
//!
//! // A whole frame out of a port, and a packet-out through the program.
//! tenant.injector().transmit(0, &[0; 64])?;
//! tenant.injector().packet_out(510, &[0; 64])?;
//!
//! // Counters of the program, and of the switch.
//! println!("{:?} {:?}", control.counter("reasons")?.read(7)?, switch.stats());
//! switch.stop();
//! # let _ = moving.join();
//! # Ok(())
//! # }
//! ```
//!
//! All of this works from any thread while packets flow. An update is in force for every batch that starts after the
//! call returned; a batch that is running sees each entry either as it was or as it is.
//!
//! # Features
//!
//! - `jit` (default): programs run as machine code. Without it every program runs in the interpreter, and Cranelift is not compiled.
//!
//! # Choices
//!
//! - `ingress_global_timestamp` is microseconds since 1970 UTC, the same for all packets of a batch.
//! - A table holds as many entries as its `size` says, 1,024 if it says nothing.
//! - An action's change keeps its entry's direct counter.

mod account;
mod build_error;
mod control;
pub mod egress_queues;
mod executor;
pub mod externs;
mod footprint;
pub mod free_memory;
mod jit;
pub mod memory;
mod native;
mod observe;
pub mod offload;
pub mod packet;
pub mod port;
pub mod quantity;
mod state;
mod sync;
pub mod table;
mod trace;
mod vdp;
mod worker;

pub use account::{Account, MemoryExceeded};
pub use build_error::BuildError;
pub use control::{
    ActionProfile, Control, ControlError, CounterArray, Difference, EntrySpec, MeterArray, ObjectRef, RegisterArray,
    ValueSetMembers,
};
pub use egress_queues::{EgressQueues, QueueLimit, QueueLimits};
pub use executor::{Executor, LostCopies, wall_clock_us};
pub use externs::{ExternTypes, KeyTable};
pub use hopwright_abi::Verdict;
pub use hopwright_interp::{CloneSession, Digest, QueueDepths, Replica};
pub use hopwright_ir::meter::Rates;
pub use hopwright_ir::{EntryTarget, Group, WeightedAction};
pub use jit::{Ahead, TraceCode, TracePass, Unsupported, trace_ir};
pub use observe::code_map::{CodeMap, CodePlace};
pub use observe::sample::{Sample, Sampling, TooManySamplings};
pub use observe::shadow::ShadowExecution;
pub use observe::stats::{PortStats, Stage, StageTime, SwitchStats, TenantStats, WorkerStats};
pub use packet::{FrameSize, MAX_BATCH, Packet, Pool};
pub use port::{DeviceStats, Port, PortInfo};
pub use state::cell::Count;
pub use sync::quiescence;
pub use table::prefetch::prefetch;
pub use table::{RemovedEntry, Table};
pub use trace::respecialise::{Profile, Specialisation};
pub use trace::traces::Traces;
pub use vdp::{EngineKind, Executable, SharedObserver, VirtualDataPlane};
pub use worker::builder::SwitchBuilder;
pub use worker::classifier::{Addresses, MAX_TENANTS, Rule, RuleError};
pub use worker::cpu::{CpuQueue, Injector, NotInjected, PuntedPacket};
pub use worker::error::{SwitchError, WorkerBusy};
pub use worker::generator::{Gap, MAX_GENERATORS, PortSet, Stream, StreamCounts, Trigger};
pub use worker::policer::Rate;
pub use worker::ports::PortSummary;
pub use worker::round::Worker;
pub use worker::switch::Switch;
pub use worker::tenant::{ReplaceError, Tenant};
pub use worker::tenant_ports::TenantPorts;
pub use worker::tenant_spec::{Limits, TenantSpec};
pub use worker::wait;
