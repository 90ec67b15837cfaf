//! Metrics for Prometheus: those of the reference router under its names and labels, and others under `hopwright_`.
//!
//! They are computed from the data plane's counters on request. Nothing here runs per packet.

mod families;
mod traffic;

pub use families::page;
pub use traffic::{KINDS, LinkTraffic, OwnPackets, SIZE_CLASSES, SlowPathDrops, size_class};
