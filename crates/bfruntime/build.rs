//! Compiles `proto/` without protoc, as `p4runtime` does; `google.rpc.Status` is that crate's.

use std::error::Error;

const PROTO: &str = "bfruntime.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile([PROTO], ["proto", "../p4runtime/proto"])?;
    let mut config = prost_build::Config::new();
    config
        .extern_path(".google.rpc", "::p4runtime::google::rpc")
        .include_file("messages.rs");
    tonic_prost_build::configure().compile_fds_with_config(descriptors, config)?;
    Ok(())
}
