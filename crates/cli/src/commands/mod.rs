//! One module per command.

pub(crate) mod asm;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod control;
pub(crate) mod epic;
pub(crate) mod explain;
pub(crate) mod fit;
pub(crate) mod graph;
pub(crate) mod interfaces;
pub(crate) mod ip;
pub(crate) mod ir;
pub(crate) mod man;
pub(crate) mod openflow;
pub(crate) mod p4info;
pub(crate) mod replay;
pub(crate) mod rina;
pub(crate) mod rtl;
pub(crate) mod run;
pub(crate) mod scion;
pub(crate) mod stf;
pub(crate) mod switch;
pub(crate) mod tenant;
pub(crate) mod trace_ir;
