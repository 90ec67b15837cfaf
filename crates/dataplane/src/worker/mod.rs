//! The switch and its workers: each worker owns its port queues, packet pool and counters and runs to completion.

pub(crate) mod cpu;
pub(crate) mod switch;
pub mod wait;

pub(crate) mod handover;
pub(crate) mod poll_backoff;
pub(crate) mod port_queue;
