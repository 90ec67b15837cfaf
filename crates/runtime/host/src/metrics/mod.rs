//! Metrics for Prometheus: the text format, and the metrics of this process and of its log.

mod log_events;
mod process;
mod text;

pub use log_events::{count_log_event, write_log_events};
pub use process::write_process_metrics;
pub use text::{CONTENT_TYPE, CounterFamily, Labels, Text};
