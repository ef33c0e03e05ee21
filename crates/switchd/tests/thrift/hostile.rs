//! What strangers send.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use switchd::thrift::Limits;

use crate::support::{Failure, Rig, number, text};

const WAIT: Duration = Duration::from_secs(20);

/// The head of a call.
fn head(name: &str) -> Vec<u8> {
    let mut bytes = vec![0x80, 1, 0, 1];
    bytes.extend((name.len() as u32).to_be_bytes());
    bytes.extend(name.as_bytes());
    bytes.extend([0; 4]);
    bytes
}

/// Whether the switch closes a connection after these bytes.
fn closes(rig: &Rig, bytes: &[u8]) -> bool {
    let mut stream = TcpStream::connect(rig.address()).unwrap();
    stream.set_read_timeout(Some(WAIT)).unwrap();
    // It may be closed before all is written.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Ok(_) => answer.is_empty(),
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn messages_that_are_none_end_the_connection_and_nothing_else() {
    let rig = Rig::ready();
    let call = head("standard:bm_mt_get_num_entries");
    let with = |rest: &[u8]| [call.as_slice(), rest].concat();
    let deep = [12, 0, 1].repeat(1000);
    let many = [&[15, 0, 1, 2][..], &(1_i32 << 20).to_be_bytes()].concat();
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0x80, 2, 0, 1],
        [&[0x80, 1, 0, 1][..], &u32::MAX.to_be_bytes()].concat(),
        [&[0x80, 1, 0, 1][..], &i32::MAX.to_be_bytes()].concat(),
        with(&[99, 0, 1]),
        with(&[11, 0, 1, 0x7f, 0xff, 0xff, 0xff]),
        with(&[11, 0, 1, 0xff, 0xff, 0xff, 0xff]),
        with(&[15, 0, 1, 2, 0xff, 0xff, 0xff, 0xff]),
        with(&many),
        with(&deep),
    ] {
        assert!(closes(&rig, &bytes), "{bytes:?}");
    }
    let mut client = rig.client();
    let count = client.standard("bm_mt_get_num_entries", [text("I.routes")]);
    assert!(count.is_ok());
}

#[test]
fn calls_that_are_none_are_answered() {
    let rig = Rig::ready();
    let mut client = rig.client();
    let application = |answer| matches!(answer, Err(Failure::Application(_)));
    assert!(application(client.call("standard", "bm_mt_fly", [])));
    assert!(application(client.call(
        "elsewhere",
        "bm_mt_get_num_entries",
        []
    )));
    let get = "bm_mt_get_num_entries";
    assert!(application(client.call(
        "standard",
        get,
        [number(1), text("I.routes")]
    )));
    assert!(application(client.call(
        "standard",
        get,
        [number(0), number(5)]
    )));
    // Left out, an argument is empty.
    assert_eq!(client.call("standard", get, []), Err(Failure::Code(7)));
}

#[test]
fn places_are_bounded_and_idle_clients_make_way() {
    let limits = Limits {
        connections: 2,
        idle: Duration::ZERO,
        ..Limits::default()
    };
    let rig = Rig::start(limits, true);
    let mut idle: Vec<TcpStream> = (0..2)
        .map(|_| TcpStream::connect(rig.address()).unwrap())
        .collect();
    let mut client = rig.client();
    assert!(client.call("standard", "bm_mgmt_get_info", []).is_ok());
    // One of the two had to go.
    let first = idle.remove(0);
    first.set_read_timeout(Some(WAIT)).unwrap();
    assert_eq!((&first).read(&mut [0; 1]).unwrap(), 0);
}
