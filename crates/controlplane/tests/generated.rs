//! `generated/` is what `proto/` gives, as in `p4runtime`; `google.rpc.Status` is that crate's.
//! `BLESS=1 cargo test -p switchwright-controlplane --test generated` writes it anew.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::{env, fs};

#[test]
fn what_is_generated_is_what_the_proto_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = tempfile::tempdir().unwrap();
    let includes = [root.join("proto"), root.join("../p4runtime/proto")];
    let descriptors = protox::compile(["bfruntime.proto"], includes).unwrap();
    let mut config = prost_build::Config::new();
    config.extern_path(".google.rpc", "::p4runtime::google::rpc");
    tonic_prost_build::configure()
        .out_dir(made.path())
        .emit_rerun_if_changed(false)
        .compile_fds_with_config(descriptors, config)
        .unwrap();
    let made = fs::read_to_string(made.path().join("bfrt_proto.rs")).unwrap();
    let place = root.join("generated/bfrt_proto.rs");
    if env::var_os("BLESS").is_some() {
        fs::write(place, made).unwrap();
    } else {
        let same = fs::read_to_string(&place).is_ok_and(|kept| kept == made);
        assert!(
            same,
            "{} is out of date; `BLESS=1 cargo test -p switchwright-controlplane --test generated` writes it anew",
            place.display()
        );
    }
}
