//! Source text: files, places in them ([`Span`], [`SourceMap`]), and the stack that recursion over nested text needs
//! ([`stack`]).

mod span;
pub mod stack;

pub use span::{FileId, LineColumn, LineMark, Location, SourceFile, SourceMap, Span};
