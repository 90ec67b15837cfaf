//! The JSON file that our p4c writes: the program for our switches within BMv2's description of it, from which tools read names, widths
//! and sizes. BMv2 itself cannot run such a file, which has no code.

use std::path::Path;

use hopwright_ir::Pipeline;
use hopwright_p4runtime::BUNDLE_FIELD;
use serde_json::Value;

/// The file of a program; `bundle` is what our switches read.
pub(super) fn of(file: &Path, pipeline: &Pipeline, bundle: Value) -> Value {
    let mut description = hopwright_thrift::json::of(pipeline);
    description["program"] = file.display().to_string().into();
    description[BUNDLE_FIELD] = bundle;
    description
}
