//! Metrics for Prometheus: the reference router's, with its names and labels, and more under `hopwright_`.
//!
//! Computed from the data plane's counters when asked for; nothing here runs per packet. Does not live here: serving
//! them ([`crate::status::http`]).

mod families;
mod traffic;

pub use families::page;
pub use traffic::{KINDS, LinkTraffic, OwnPackets, SIZE_CLASSES, SlowPathDrops, size_class};
