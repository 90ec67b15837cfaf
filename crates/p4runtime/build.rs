//! Compiles the protocol definitions to Rust, without `protoc`, and keeps their descriptors for the text form of P4Info.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(
        ["p4/v1/p4runtime.proto", "hopwright/v1/trace.proto", "stratum/p4_role_config.proto"],
        ["proto"],
    )?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("no OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure().bytes(".").btree_map(".").compile_fds(descriptors)?;
    Ok(())
}
