//! Estimates whether a program fits a pipeline of match-action stages such as Tofino's.
//!
//! The estimate is a list schedule: [operations](hopwright_ir::analysis::dependencies) of ingress and egress in the stages
//! that their dependencies allow, as long as a stage's [`Resources`] last. The compiler of the target may do better, by
//! rewriting, or worse, by constraints that are not public or not modelled: containers that an action may combine, routing
//! of memories, the parser.

mod estimate;
mod memory;
mod nodes;
mod phv;
mod picture;
mod pipe;
mod place;
mod pragmas;
mod problems;
mod resources;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod tofino;

pub use estimate::{Estimate, Item, Link, Place, Problem, Stage, estimate};
pub use pipe::{of_pipe, pipes};
pub use pragmas::Pragmas;
pub use resources::Resources;
pub use target::{Logic, Memory, Phv, Target};
