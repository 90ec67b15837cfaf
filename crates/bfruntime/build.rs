//! Compiles the protocol definition to Rust, without `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    // `google/rpc/status.proto` is compiled there.
    let descriptors = protox::compile(["bfrt/bfruntime.proto"], ["proto", "../p4runtime/proto"])?;
    tonic_prost_build::configure()
        .extern_path(".google.rpc", "::hopwright_p4runtime::proto::rpc")
        .compile_fds(descriptors)?;
    Ok(())
}
