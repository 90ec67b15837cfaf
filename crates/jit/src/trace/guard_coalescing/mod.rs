//! Guard coalescing: several guards become one comparison.

pub(crate) mod entry;
pub(crate) mod packet;
