//! Compiles `proto/` without protoc: protox parses, prost-build writes the Rust types, tonic-prost-build the service (with feature `grpc`), and the
//! descriptors are kept for the text format and the drift test.

use std::error::Error;
use std::path::PathBuf;

use prost::Message as _;

const PROTOS: [&str; 5] = [
    "p4/v1/p4runtime.proto",
    "p4/v1/p4data.proto",
    "p4/config/v1/p4info.proto",
    "p4/config/v1/p4types.proto",
    "google/rpc/status.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    let mut config = prost_build::Config::new();
    config
        .enable_type_names()
        // Maps in a fixed order, so that the same message always gives the same bytes.
        .btree_map(["."])
        // Rare and large: an update of a table entry, of which there are millions, is half as large without them inside.
        .boxed(".p4.v1.TableEntry.meter_counter_data")
        .boxed(".p4.v1.DirectCounterEntry.table_entry")
        .boxed(".p4.v1.DirectMeterEntry.table_entry")
        .include_file("messages.rs");
    let grpc = std::env::var_os("CARGO_FEATURE_GRPC").is_some();
    tonic_prost_build::configure()
        .build_client(grpc)
        .build_server(grpc)
        .compile_fds_with_config(descriptors, config)?;
    Ok(())
}
