//! Everything a packet meets at run time.

pub mod control;
pub mod engine;
pub mod externs;
pub mod packet;
pub mod port;
pub mod quiescence;
pub mod table;
pub mod vdp;

mod cell;
mod limbs;

pub use cell::Count;
pub use control::{ControlError, EntrySpec, MatchSpec};
pub use engine::{Executor, wall_clock_us};
pub use externs::{ExternTypes, KeyTable};
pub use packet::{FrameSize, MAX_BATCH, Packet, Pool};
pub use port::{DeviceStats, Port, PortInfo};
pub use table::Table;
pub use vdp::{BuildError, EngineKind, VirtualDataPlane};
