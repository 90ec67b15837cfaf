//! Writes the code of the protocol definitions in `crates/control/protobuf/proto`; with `--check` only compares.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use prost::Message;

/// The generated files by name.
fn generate(proto: &Path) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
    let out = tempfile::tempdir()?;
    let p4runtime = ["p4/v1/p4runtime.proto", "hopwright/v1/trace.proto", "stratum/p4_role_config.proto"];
    let descriptors = protox::compile(p4runtime, [proto])?;
    fs::write(out.path().join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().out_dir(out.path()).bytes(".").btree_map(".").compile_fds(descriptors)?;
    let bfruntime = protox::compile(["bfrt/bfruntime.proto"], [proto])?;
    tonic_prost_build::configure()
        .out_dir(out.path())
        .extern_path(".google.rpc", "crate::google::rpc")
        .compile_fds(bfruntime)?;
    let gnmi = protox::compile(["github.com/openconfig/gnmi/proto/gnmi/gnmi.proto"], [proto])?;
    tonic_prost_build::configure().out_dir(out.path()).btree_map(".").compile_fds(gnmi)?;
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(out.path())? {
        let entry = entry?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path())?);
    }
    Ok(files)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (files, folder) = (generate(&root.join("proto"))?, root.join("src/generated"));
    if std::env::args().nth(1).as_deref() != Some("--check") {
        for (name, contents) in &files {
            fs::write(folder.join(name), contents)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut good = true;
    for (name, contents) in &files {
        if fs::read(folder.join(name)).unwrap_or_default() != *contents {
            eprintln!("{name} is out of date: cargo run --manifest-path crates/control/protobuf/generate/Cargo.toml");
            good = false;
        }
    }
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !files.contains_key(&name) {
            eprintln!("{name} belongs to no definition");
            good = false;
        }
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
