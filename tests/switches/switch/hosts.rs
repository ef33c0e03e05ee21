//! Real hosts behind a switch: ping and TCP with every driver, the controller's packets, a link
//! that goes down.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use linuxnet::veth::End;
use linuxnet::{Namespace, PacketOptions, PacketSocket, Poller, Veth, rtnl::Rtnl};
use p4runtime::client::Endpoint;
use p4runtime::p4::v1::stream_message_request::Update as Say;
use p4runtime::p4::v1::stream_message_response::Update as Hear;
use p4runtime::p4::v1::{PacketMetadata, PacketOut};

use super::support::{PROGRAM, Switch, WAIT, frame, may};

/// Static neighbours by broadcast; two hosts.
const ENTRIES: &str = "mc_mgrp_create 1\nmc_node_create 1 1 2\nmc_node_associate 1 0\n\
    table_add where_to flood ff:ff:ff:ff:ff:ff => 1\n\
    table_add where_to forward 02:00:00:00:00:01 => 1\ntable_add where_to forward 02:00:00:00:00:02 => 2\n";

/// A host with the address 10.9.0.NUMBER behind an interface of the caller's namespace.
fn host(number: u8) -> (Namespace, Veth) {
    let host = Namespace::new().unwrap();
    let near = format!("p{number}");
    let pair = Veth::new(End::here(&near), End::inside("eth0", &host)).unwrap();
    host.run(|| {
        let mut rtnl = Rtnl::open().unwrap();
        rtnl.set_mac("eth0", [2, 0, 0, 0, 0, number]).unwrap();
        let address = IpAddr::V4(Ipv4Addr::new(10, 9, 0, number));
        rtnl.add_address("eth0", address, 24).unwrap();
    })
    .unwrap();
    (host, pair)
}

/// Whether a host reaches an address within some tries; `None` where there is no `ping`.
pub(crate) fn ping(from: &Namespace, to: &str) -> Option<bool> {
    let ping = from.run(|| {
        let mut ping = Command::new("ping");
        ping.args(["-c", "3", "-i", "0.2", "-W", "5", to])
            .stdout(Stdio::null());
        ping.status()
    });
    match ping.unwrap() {
        Ok(status) => Some(status.success()),
        Err(why) => {
            println!("skipped: ping: {why}");
            None
        }
    }
}

/// Sends so many bytes by TCP from one host to another, and compares what arrives.
pub(crate) fn tcp(from: &Namespace, to: &Namespace, address: SocketAddr, length: usize) {
    let server = to.run(|| TcpListener::bind(address)).unwrap().unwrap();
    let data: Vec<u8> = (0..length as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let (mut stream, _) = server.accept().unwrap();
            stream.set_read_timeout(Some(WAIT)).unwrap();
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all
        });
        let stream = from.run(|| TcpStream::connect_timeout(&address, WAIT));
        let stream = stream.unwrap();
        if stream.is_err() {
            // So that the reader ends as well.
            drop(to.run(|| TcpStream::connect_timeout(&address, WAIT)));
        }
        let stream = stream.map_err(|why| format!("TCP to {address}: {why}"));
        let mut stream = stream.unwrap();
        stream.set_write_timeout(Some(WAIT)).unwrap();
        stream.write_all(&data).unwrap();
        drop(stream);
        assert!(
            reader.join().unwrap() == data,
            "the bytes arrive as they were sent"
        );
    });
}

/// Hosts with all offloads on: partial checksums and 64 KiB segments come out whole, by every
/// driver.
#[test]
fn hosts_ping_and_speak_tcp_through_the_process_by_every_driver() {
    if !may() {
        return;
    }
    let mut drivers = vec!["auto", "packet"];
    match linuxnet::xdp_available() {
        Ok(()) => drivers.push("xdp"),
        Err(why) => println!("skipped: {why}"),
    }
    for driver in drivers {
        let folder = tempfile::tempdir().unwrap();
        let lab = Namespace::new().unwrap();
        lab.run(|| {
            let hosts = [host(1), host(2)];
            let switch = Switch::start(
                folder.path(),
                &[
                    "-i",
                    "1@p1",
                    "-i",
                    "2@p2",
                    "--driver",
                    driver,
                    PROGRAM,
                    "--grpc-server-addr",
                    "127.0.0.1:0",
                ],
            );
            switch.done(ENTRIES);
            assert_ne!(
                ping(&hosts[0].0, "10.9.0.2"),
                Some(false),
                "ping by {driver}"
            );
            tcp(
                &hosts[0].0,
                &hosts[1].0,
                ([10, 9, 0, 2], 7000).into(),
                8 << 20,
            );
            let ports = switch.done("show_ports\n");
            assert!(ports.contains("p1") && ports.contains("up"), "{ports}");
            assert_eq!(switch.stop(), Some(0));
        })
        .unwrap();
    }
}

/// Frames of a socket until one is this one.
fn arrives(socket: &mut PacketSocket, wanted: &[u8]) -> bool {
    let poller = Poller::new().unwrap();
    poller.add(socket).unwrap();
    let start = Instant::now();
    let mut found = false;
    while !found && start.elapsed() < WAIT {
        if socket.receive(64, |frame| found |= frame == wanted) == 0 {
            let _ = poller.wait(Some(Duration::from_millis(50)));
        }
    }
    found
}

#[test]
fn the_controllers_packets_pass_real_ports() {
    if !may() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let lab = Namespace::new().unwrap();
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let _pair = Veth::new(End::here("p1"), End::here("far")).unwrap();
        let mut far = PacketSocket::open("far", &PacketOptions::default()).unwrap();
        let line = [
            "-i",
            "1@p1",
            PROGRAM,
            "--",
            "--grpc-server-addr",
            "127.0.0.1:0",
            "--cpu-port",
            "255",
        ];
        let switch = Switch::start(folder.path(), &line);
        switch.done("table_add routes to_controller 10.0.0.0/8 =>\n");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let endpoint = Endpoint::plain(&switch.address, 0);
            let client = endpoint.connect().await.unwrap();
            let bid = Some(endpoint.identity().arbitration());
            let mut stream = client.stream(bid).await.unwrap();
            assert!(stream.arbitration().await.unwrap().is_some());

            let metadata = [(1, 1), (2, 0)].map(|(metadata_id, value)| PacketMetadata {
                metadata_id,
                value: vec![value],
            });
            let out = PacketOut {
                payload: frame(3),
                metadata: metadata.to_vec(),
            };
            assert!(stream.say(Say::Packet(out)).await);
            assert!(arrives(&mut far, &frame(3)), "the packet leaves by port 1");

            // An IPv4 packet for 10.1.1.1 goes to the controller with the number of its port.
            let mut packet = frame(8);
            packet[12..14].copy_from_slice(&[8, 0]);
            packet[14..34].copy_from_slice(&[
                0x45, 0, 0, 50, 0, 0, 0, 0, 64, 253, 0, 0, 10, 0, 0, 9, 10, 1, 1, 1,
            ]);
            far.send_all([packet.as_slice()]);
            let heard = tokio::time::timeout(WAIT, stream.next())
                .await
                .unwrap()
                .unwrap();
            match heard {
                Some(Hear::Packet(packet_in)) => {
                    assert_eq!(packet_in.payload[..14], packet[..14]);
                    assert_eq!(packet_in.payload[26..], packet[26..]);
                    assert_eq!(packet_in.metadata[0].value, [1]);
                }
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(switch.stop(), Some(0));
    })
    .unwrap();
}
