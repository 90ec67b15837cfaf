//! Metrics for Prometheus: the text format, and the metrics of this process.

mod process;
mod text;

pub use process::write_process_metrics;
pub use text::{CONTENT_TYPE, CounterFamily, Labels, Text};
