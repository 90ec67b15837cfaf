//! The generated code is that of the definitions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use prost::Message;

/// The generated files by name.
fn generate() -> BTreeMap<String, Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let p4runtime = ["p4/v1/p4runtime.proto", "hopwright/v1/trace.proto", "stratum/p4_role_config.proto"];
    let descriptors = protox::compile(p4runtime, [root.join("proto")]).unwrap();
    fs::write(out.path().join("descriptors.bin"), descriptors.encode_to_vec()).unwrap();
    tonic_prost_build::configure().out_dir(out.path()).bytes(".").btree_map(".").compile_fds(descriptors).unwrap();
    let bfruntime = protox::compile(["bfrt/bfruntime.proto"], [root.join("proto")]).unwrap();
    tonic_prost_build::configure()
        .out_dir(out.path())
        .extern_path(".google.rpc", "crate::google::rpc")
        .compile_fds(bfruntime)
        .unwrap();
    let entries = fs::read_dir(out.path()).unwrap().map(Result::unwrap);
    entries.map(|e| (e.file_name().into_string().unwrap(), fs::read(e.path()).unwrap())).collect()
}

#[test]
fn the_generated_code_is_that_of_the_definitions() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated");
    let files = generate();
    if std::env::var_os("HOPWRIGHT_UPDATE").is_some() {
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(name, contents)| fs::write(folder.join(name), contents).unwrap());
    }
    for (name, contents) in &files {
        let found = fs::read(folder.join(name)).unwrap_or_default();
        assert!(found == *contents, "{name} is out of date: run this test with HOPWRIGHT_UPDATE=1");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), files.len(), "a generated file belongs to no definition");
}
