//! Source text: files, places in them ([`Span`], [`SourceMap`]), the name that was probably meant ([`nearest`]), and the stack that
//! recursion over nested text needs ([`stack`]).

mod names;
mod span;
pub mod stack;

pub use names::nearest;
pub use span::{FileId, LineColumn, LineMark, Location, SourceFile, SourceMap, Span};
