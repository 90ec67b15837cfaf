//! Traces: functions specialised to the paths that packets take most.

pub(crate) mod respecialise;
