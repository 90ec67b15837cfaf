//! The switch, its tenants and its workers: each worker owns its port queues, packet pool and counters and runs to completion.

pub(crate) mod attention;
pub(crate) mod builder;
pub(crate) mod classifier;
pub(crate) mod cpu;
pub(crate) mod error;
pub(crate) mod generator;
pub(crate) mod handover;
pub(crate) mod lane;
pub(crate) mod mailbox;
pub(crate) mod policer;
pub(crate) mod poll_backoff;
pub(crate) mod port_queue;
pub(crate) mod ports;
pub(crate) mod respecialiser;
pub(crate) mod round;
pub(crate) mod schedule;
pub(crate) mod switch;
pub(crate) mod tenant;
pub(crate) mod tenant_ports;
pub(crate) mod tenant_spec;
pub(crate) mod tenant_state;
pub mod wait;
