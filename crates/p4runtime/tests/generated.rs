//! `generated/` is what `proto/` gives, without protoc: protox parses, prost-build writes the Rust
//! types, tonic-prost-build the service (with feature `grpc`), and the descriptors are kept for the
//! text format and for reflection. It stands in the repository since who builds Switchwright would
//! wait for its makers. `BLESS=1 cargo test -p switchwright-p4runtime --test generated` writes it
//! anew.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::{env, fs};

use prost::Message as _;

const PROTOS: [&str; 5] = [
    "p4/v1/p4runtime.proto",
    "p4/v1/p4data.proto",
    "p4/config/v1/p4info.proto",
    "p4/config/v1/p4types.proto",
    "google/rpc/status.proto",
];

const GRPC: &str = "#[cfg(feature = \"grpc\")]";

#[test]
fn what_is_generated_is_what_the_protos_give() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kept = root.join("generated");
    let made = tempfile::tempdir().unwrap();
    generate(&root.join("proto"), made.path());
    for file in fs::read_dir(made.path()).unwrap() {
        let file = file.unwrap();
        let place = kept.join(file.file_name());
        let bytes = fs::read(file.path()).unwrap();
        if env::var_os("BLESS").is_some() {
            fs::write(place, bytes).unwrap();
        } else {
            let same = fs::read(&place).is_ok_and(|kept| kept == bytes);
            assert!(
                same,
                "{} is out of date; `BLESS=1 cargo test -p switchwright-p4runtime --test generated` writes it anew",
                place.display()
            );
        }
    }
}

fn generate(protos: &Path, out: &Path) {
    let descriptors = protox::compile(PROTOS, [protos]).unwrap();
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec()).unwrap();
    let mut config = prost_build::Config::new();
    config
        .enable_type_names()
        // Maps in a fixed order, so that the same message always gives the same bytes.
        .btree_map(["."])
        // Rare and large: an update of a table entry, of which there are millions, is half as large
        // without them inside.
        .boxed(".p4.v1.TableEntry.meter_counter_data")
        .boxed(".p4.v1.DirectCounterEntry.table_entry")
        .boxed(".p4.v1.DirectMeterEntry.table_entry")
        .include_file("messages.rs");
    tonic_prost_build::configure()
        .out_dir(out)
        .emit_rerun_if_changed(false)
        .client_mod_attribute(".", GRPC)
        .server_mod_attribute(".", GRPC)
        .compile_fds_with_config(descriptors, config)
        .unwrap();
}
