//! Semantic analysis: from the syntax tree to the typed program ([`hir`]).
//!
//! Lives here: names, types, inference, constant evaluation, instantiation. Does not live here: syntax
//! (`hopwright-syntax`), flattening and inlining (`hopwright-ir`).

pub mod hir;
