//! The JSON description of a program.

use std::path::Path;

use hopwright_driver::compile_file;
use hopwright_thrift::json;

/// The longest suffix wins, whatever the order of the entries in the program.
#[test]
fn entries_have_the_priorities_that_their_matches_give() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/stf/suffix_keys.p4");
    let compiled = compile_file(&file, &Default::default(), true);
    let description = json::of(&compiled.pipeline.expect("a program"));
    let pipelines = description["pipelines"].as_array().unwrap();
    let mut tables = pipelines.iter().flat_map(|pipeline| pipeline["tables"].as_array().unwrap());
    let fixed = tables.find(|table| table["name"].as_str().unwrap().ends_with("fixed")).unwrap();
    let entries = fixed["entries"].as_array().unwrap();
    let priorities: Vec<u64> = entries.iter().map(|entry| entry["priority"].as_u64().unwrap()).collect();
    assert_eq!(priorities, [6, 4, 1, 3, 2, 5]);
}
