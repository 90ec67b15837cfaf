//! Metrics for Prometheus: the reference router's, with its names and labels, and more under `hopwright_`.
//!
//! They are computed from the data plane's counters on request; nothing here runs per packet.

mod families;
mod traffic;

pub use families::page;
pub use traffic::{KINDS, LinkTraffic, OwnPackets, SIZE_CLASSES, SlowPathDrops, size_class};
