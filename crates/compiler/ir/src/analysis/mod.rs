//! Target-neutral analyses of a pipeline, for passes and executors.

pub mod dependencies;
pub mod effects;
pub mod field_list_shadows;
pub mod growth;
pub mod in_place_suffix;
pub mod parser_graph;
pub mod ranges;
pub mod suspension_points;
pub mod unrolled_parser;
pub mod usage;
