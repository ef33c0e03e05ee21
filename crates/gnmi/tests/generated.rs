//! `proto/` holds the published files, and `generated/` is what they give, without protoc.
//! `BLESS=1 cargo test -p switchwright-gnmi --test generated` writes it anew.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use prost::Message as _;
use sha2::{Digest as _, Sha256};

/// The files and their hashes (SHA-256) at tag v0.14.1 of `github.com/openconfig/gnmi`.
const PROTOS: [(&str, &str); 2] = [
    (
        "github.com/openconfig/gnmi/proto/gnmi/gnmi.proto",
        "45abf90bfee289544e2430c8ce1b5b10e4f851736a508ddba54d3cf12e82f7b7",
    ),
    (
        "github.com/openconfig/gnmi/proto/gnmi_ext/gnmi_ext.proto",
        "b0e96bd0c540cf249512783ee5abeb3f0d05805115f18c7d714ac90316981e2e",
    ),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_protos_are_the_published_ones() {
    for (file, published) in PROTOS {
        let bytes = fs::read(root().join("proto").join(file)).unwrap();
        let mut hash = String::new();
        for byte in Sha256::digest(&bytes) {
            write!(hash, "{byte:02x}").unwrap();
        }
        assert_eq!(hash, published, "{file}");
    }
}

#[test]
fn the_version_is_that_of_the_proto() {
    let text = fs::read_to_string(root().join("proto").join(PROTOS[0].0)).unwrap();
    let option = format!("option (gnmi_service) = \"{}\";", gnmi::SERVICE_VERSION);
    assert!(text.contains(&option));
}

#[test]
fn what_is_generated_is_what_the_protos_give() {
    let kept = root().join("generated");
    let made = tempfile::tempdir().unwrap();
    generate(&root().join("proto"), made.path());
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
                "{} is out of date; `BLESS=1 cargo test -p switchwright-gnmi --test generated` writes it anew",
                place.display()
            );
        }
    }
}

fn generate(protos: &Path, out: &Path) {
    let files = PROTOS.map(|(file, _)| file);
    let descriptors = protox::compile(files, [protos]).unwrap();
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec()).unwrap();
    let mut config = prost_build::Config::new();
    config
        .enable_type_names()
        // Maps in a fixed order, so that the same message always gives the same bytes.
        .btree_map(["."])
        .include_file("messages.rs");
    tonic_prost_build::configure()
        .out_dir(out)
        .emit_rerun_if_changed(false)
        .compile_fds_with_config(descriptors, config)
        .unwrap();
}
