//! Our protos against the PyPI package `p4runtime`: every message, field, enum value and method
//! must have the same name, number, type and cardinality.
//!
//! Needs a Python that has the package: `PYTHON` names it (default `python3`), or
//! `P4RUNTIME_CLIENTS` with `P4RUNTIME_DESCRIPTORS`, a folder that has the package (CI makes both).
//! Without one, the comparison says that it was skipped; the fixed points below hold in any case.

use std::collections::BTreeSet;
use std::process::Command;

use p4runtime::descriptor_pool;
use prost_reflect::{EnumDescriptor, Kind, MessageDescriptor};

/// The version of the package that has exactly our schema.
const MATCHING_VERSION: &str = "1.6.0";

fn enum_lines(lines: &mut BTreeSet<String>, descriptor: &EnumDescriptor) {
    for value in descriptor.values() {
        lines.insert(format!(
            "value {} {} {}",
            descriptor.full_name(),
            value.name(),
            value.number()
        ));
    }
}

fn type_name(kind: &Kind) -> String {
    match kind {
        Kind::Message(message) => message.full_name().to_owned(),
        Kind::Enum(descriptor) => descriptor.full_name().to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    }
}

fn message_lines(lines: &mut BTreeSet<String>, descriptor: &MessageDescriptor) {
    lines.insert(format!("message {}", descriptor.full_name()));
    for field in descriptor.fields() {
        lines.insert(format!(
            "field {} {} {} {} {}",
            field.full_name(),
            field.number(),
            // Maps are repeated entries on the wire and in descriptors.
            if field.is_list() || field.is_map() {
                "repeated"
            } else {
                "single"
            },
            type_name(&field.kind()),
            field
                .containing_oneof()
                .map_or("-".to_owned(), |oneof| oneof.name().to_owned()),
        ));
    }
    for nested in descriptor.child_enums() {
        enum_lines(lines, &nested);
    }
    for nested in descriptor.child_messages() {
        message_lines(lines, &nested);
    }
}

fn our_lines() -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for file in descriptor_pool().files() {
        if file.package_name().starts_with("google.protobuf") {
            continue;
        }
        for message in file.messages() {
            message_lines(&mut lines, &message);
        }
        for descriptor in file.enums() {
            enum_lines(&mut lines, &descriptor);
        }
        for service in file.services() {
            for method in service.methods() {
                lines.insert(format!(
                    "method {} {} {}",
                    method.full_name(),
                    method.input().full_name(),
                    method.output().full_name()
                ));
            }
        }
    }
    lines
}

#[test]
fn same_schema_as_the_python_package() {
    let named = std::env::var("P4RUNTIME_CLIENTS").or_else(|_| std::env::var("PYTHON"));
    let python = named.unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drift.py");
    let mut command = Command::new(&python);
    command.arg(script);
    let descriptors = std::env::var_os("P4RUNTIME_DESCRIPTORS");
    if let Some(folder) = &descriptors {
        command.env("PYTHONPATH", folder);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: {python} does not start: {error}"),
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) && descriptors.is_none() {
        return println!("skipped: {}", stderr.trim());
    }
    assert!(output.status.success(), "drift.py failed: {stderr}");

    let stdout = String::from_utf8(output.stdout).expect("the script prints names and numbers");
    let (version, theirs): (Vec<_>, BTreeSet<_>) = {
        let (version, rest): (Vec<&str>, Vec<&str>) = stdout
            .lines()
            .partition(|line| line.starts_with("version "));
        (version, rest.into_iter().map(str::to_owned).collect())
    };
    let ours = our_lines();
    let missing: Vec<_> = theirs.difference(&ours).collect();
    assert!(
        missing.is_empty(),
        "the package ({version:?}) has, we do not:\n{missing:#?}"
    );
    let extra: Vec<_> = ours.difference(&theirs).collect();
    if version == [format!("version {MATCHING_VERSION}")] {
        assert!(
            extra.is_empty(),
            "we have, the package does not:\n{extra:#?}"
        );
    }
    println!(
        "compared {} lines with {version:?}; ours alone: {extra:?}",
        theirs.len()
    );
}

#[test]
fn streaming_and_numbers_that_never_change() {
    let pool = descriptor_pool();
    let service = pool
        .get_service_by_name("p4.v1.P4Runtime")
        .expect("the service is declared");
    let streams: Vec<_> = service
        .methods()
        .map(|m| {
            (
                m.name().to_owned(),
                m.is_client_streaming(),
                m.is_server_streaming(),
            )
        })
        .filter(|(_, client, server)| *client || *server)
        .collect();
    assert_eq!(
        streams,
        [
            ("Read".to_owned(), false, true),
            ("StreamChannel".to_owned(), true, true)
        ]
    );
    let lines = our_lines();
    for line in [
        "field p4.v1.WriteRequest.updates 4 repeated p4.v1.Update -",
        "field p4.v1.FieldMatch.ternary 3 single p4.v1.FieldMatch.Ternary field_match_type",
        "field p4.v1.TableEntry.priority 4 single int32 -",
        "value p4.v1.SdnPort SDN_PORT_CPU -3",
    ] {
        assert!(lines.contains(line), "{line}");
    }
}
