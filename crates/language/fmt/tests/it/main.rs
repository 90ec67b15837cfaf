//! Tests of the formatter.

mod golden;
mod programs;
mod ranges;
