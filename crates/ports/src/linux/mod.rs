//! What the back ends share: system calls, memory mappings, facts about devices, and closing in the background.

pub mod closing;
pub(crate) mod device;
pub(crate) mod mapping;
pub(crate) mod sys;
