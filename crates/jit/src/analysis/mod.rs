//! Analyses and transformations of the pipeline that know nothing of machine code.

pub(crate) mod field_list_shadows;
pub(crate) mod in_place_suffix;
pub(crate) mod parser_graph;
pub(crate) mod suspension_points;
