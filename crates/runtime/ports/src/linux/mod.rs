//! What the back ends share: system calls, memory mappings, messages of several pieces, facts about devices, and closing in the background.

pub mod closing;
pub(crate) mod device;
pub(crate) mod gather;
pub(crate) mod mapping;
pub(crate) mod qdisc;
pub(crate) mod sys;
