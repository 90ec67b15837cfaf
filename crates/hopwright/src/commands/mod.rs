//! One module per command.

pub mod asm;
pub mod bench;
pub mod check;
pub mod control;
pub mod explain;
pub mod graph;
pub mod interfaces;
pub mod ir;
pub mod p4info;
pub mod replay;
pub mod run;
pub mod scion;
pub mod stf;
