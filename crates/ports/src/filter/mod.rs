//! Which frames of a device a port takes.

mod classic;

pub use classic::{Filter, Instruction, Pattern, TooLong};
