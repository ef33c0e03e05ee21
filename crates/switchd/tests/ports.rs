//! Ports under the engine: sockets, capture files, real interfaces (those need root and say so
//! where it is not).
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use linuxnet::veth::End;
use linuxnet::{Driver, Namespace, PacketOptions, PacketSocket, Veth, rtnl::Rtnl};
use p4front::source::SourceMap;
use quantities::PortId;
use switchd::engine::{Engine, EngineConfig, Notification};
use switchd::ports::{PortBinding, PortError, PortOptions, Ports};
use tokio::sync::mpsc::Receiver;

/// What comes in at 1 leaves by 2 and the other way round; what comes in at 3 leaves by 3.
const PROGRAM: &str = r"
#include <core.p4>
#include <v1model.p4>
struct H { }
struct M { }
parser P(packet_in b, out H h, inout M m, inout standard_metadata_t s) { state start { transition accept; } }
control V(inout H h, inout M m) { apply { } }
control I(inout H h, inout M m, inout standard_metadata_t s) {
    apply {
        if (s.ingress_port == 3) { s.egress_spec = 3; } else { s.egress_spec = s.ingress_port ^ 3; }
    }
}
control E(inout H h, inout M m, inout standard_metadata_t s) { apply { } }
control D(packet_out b, in H h) { apply { } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
";

const WAIT: Duration = Duration::from_secs(20);

/// A running switch with these ports.
fn switch(ports: &[&str], options: PortOptions) -> (Engine, Ports, Receiver<Notification>) {
    switch_on(1, ports, options)
}

/// The same with so many threads.
fn switch_on(
    threads: usize,
    ports: &[&str],
    options: PortOptions,
) -> (Engine, Ports, Receiver<Notification>) {
    let bindings: Vec<PortBinding> = ports.iter().map(|p| p.parse().unwrap()).collect();
    let (mut ports, sets) = Ports::open_threads(&bindings, options, threads).unwrap();
    let config = EngineConfig {
        ports: ports.numbers(),
        ..EngineConfig::default()
    };
    let (engine, notifications) = Engine::start_threads(&config, sets).unwrap();
    let mut map = SourceMap::new();
    let main = map.add("test.p4", PROGRAM).unwrap();
    let compiled = p4front::compile(&mut map, main, &p4front::Options::default()).unwrap();
    let executor = engine.handle().build(Arc::new(compiled.ir)).unwrap();
    engine.handle().replace(executor).unwrap();
    ports.attach(engine.handle()).unwrap();
    (engine, ports, notifications)
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    socket.set_read_timeout(Some(WAIT)).unwrap();
    let mut buffer = [0; 2048];
    let length = socket.recv(&mut buffer).unwrap();
    buffer[..length].to_vec()
}

/// A UDP socket and the text that makes a port talk to it.
fn udp_end(number: u16) -> (UdpSocket, String) {
    let end = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    end.connect(port).unwrap();
    let text = format!("{number}=udp:{port}->{}", end.local_addr().unwrap());
    (end, text)
}

#[test]
fn datagrams_cross_and_ports_come_and_go() {
    for threads in [1, 3] {
        datagrams_cross(threads);
    }
}

fn datagrams_cross(threads: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (udp, one) = udp_end(1);
    let (near, far) = (folder.path().join("near"), folder.path().join("far"));
    let unix = UnixDatagram::bind(&far).unwrap();
    unix.set_read_timeout(Some(WAIT)).unwrap();
    // A socket file that a killed switch left behind is no obstacle.
    drop(UnixDatagram::bind(&near).unwrap());
    let two = format!("2=unix:{}->{}", near.display(), far.display());
    let (engine, mut ports, _) = switch_on(threads, &[&one, &two], PortOptions::default());

    udp.send(b"to two").unwrap();
    let mut buffer = [0; 64];
    let length = unix.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..length], b"to two");
    unix.send_to(b"to one", &near).unwrap();
    assert_eq!(receive(&udp), b"to one");

    let (third, three) = udp_end(3);
    ports.add(three.parse().unwrap()).unwrap();
    third.send(b"round").unwrap();
    assert_eq!(receive(&third), b"round");
    let again = ports.add(three.parse().unwrap()).unwrap_err();
    assert!(matches!(again, PortError::Taken(port) if port == PortId::new(3)));

    let list = ports.list();
    let passed: Vec<_> = list
        .iter()
        .map(|p| (p.port.get(), p.stats.received, p.stats.sent))
        .collect();
    assert_eq!(passed, [(1, 1, 1), (2, 1, 1), (3, 1, 1)]);
    ports.remove(PortId::new(3)).unwrap();
    assert!(ports.remove(PortId::new(3)).is_err());
    assert_eq!(engine.handle().ports().unwrap().len(), 2);
    drop((ports, engine));
    assert!(!near.exists(), "the socket's file goes with the port");
}

/// A capture file with these frames, taken at these seconds.
fn write_capture(path: &Path, frames: &[(u32, &[u8])]) {
    let mut bytes = vec![
        0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0,
    ];
    for (second, frame) in frames {
        let length = frame.len() as u32;
        for number in [*second, 0, length, length] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend_from_slice(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

/// The frames of a capture file once there are `count`.
fn read_capture(path: &Path, count: usize) -> Vec<Vec<u8>> {
    let start = std::time::Instant::now();
    loop {
        let bytes = std::fs::read(path).unwrap();
        let (mut rest, mut frames) = (&bytes[24..], Vec::new());
        while rest.len() >= 16 {
            let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let Some(frame) = rest.get(16..16 + length) else {
                break;
            };
            frames.push(frame.to_vec());
            rest = &rest[16 + length..];
        }
        if frames.len() >= count || start.elapsed() > WAIT {
            return frames;
        }
        std::thread::yield_now();
    }
}

#[test]
fn capture_files_play_in_their_order_and_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    write_capture(&file("1.pcap"), &[(1, b"first"), (4, b"fourth")]);
    write_capture(&file("2.pcap"), &[(2, b"second"), (3, b"third")]);
    let port =
        |n: u8, extra: &str| format!("{n}=pcap:{},{extra}", file(&format!("{n}.pcap")).display());
    let out = file("out.pcap");
    let options = PortOptions {
        capture: Some(folder.path().to_owned()),
        files_wait: Duration::from_millis(500), // the program is loaded after the ports are opened
        ..PortOptions::default()
    };
    let (_engine, _ports, _) = switch(
        &[&port(1, &out.display().to_string()), &port(2, "")],
        options,
    );
    assert_eq!(
        read_capture(&out, 2),
        [b"second".to_vec(), b"third".to_vec()]
    );
    assert_eq!(
        read_capture(&file("port2_out.pcap"), 2),
        [b"first".to_vec(), b"fourth".to_vec()]
    );

    let missing: PortBinding = "1=pcap:/nowhere/x.pcap".parse().unwrap();
    let error = Ports::open(&[missing], PortOptions::default())
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("/nowhere/x.pcap"), "{error}");
}

/// A datagram of a flow, with its number.
fn numbered(flow: u8, number: u8) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0, flow, 0, 53, 0, 0, 0, 0, number]);
    frame
}

/// That these are the frames of [`numbered`], each once, and those of a flow in order.
fn assert_in_order(frames: &[Vec<u8>], flows: u8, each: u8) {
    for flow in 0..flows {
        let of = |frame: &&Vec<u8>| frame[35] == flow;
        let numbers = frames.iter().filter(of).map(|frame| frame[42]);
        assert_eq!(numbers.collect::<Vec<u8>>(), (0..each).collect::<Vec<u8>>());
    }
    assert_eq!(frames.len(), usize::from(flows) * usize::from(each));
}

#[test]
fn capture_files_are_shared_out_among_threads_and_written_whole() {
    let (flows, each) = (40, 50);
    let frames: Vec<_> = (0..each)
        .flat_map(|number| (0..flows).map(move |flow| numbered(flow, number)))
        .collect();
    let taken: Vec<(u32, &[u8])> = (0..).zip(frames.iter().map(Vec::as_slice)).collect();
    for threads in [1, 2, 3] {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        write_capture(&file("in.pcap"), &taken);
        let options = PortOptions {
            capture: Some(folder.path().to_owned()),
            ..PortOptions::default()
        };
        let two = format!("2=pcap:,{}", file("out.pcap").display());
        let (engine, mut ports, _) = switch_on(threads, &[&two], options);
        let one = format!("1=pcap:{}", file("in.pcap").display());
        ports.add(one.parse().unwrap()).unwrap();
        for written in ["out.pcap", "port2_out.pcap"] {
            let written = read_capture(&file(written), frames.len());
            assert_in_order(&written, flows, each);
        }
        let total = frames.len() as u64;
        assert_eq!(ports.list()[1].stats.sent, total, "summed over threads");
        let counters = |port| {
            engine
                .handle()
                .port_counters(PortId::new(port))
                .unwrap()
                .unwrap()
        };
        assert_eq!((counters(1).received, counters(2).sent), (total, total));
    }
}

#[test]
fn a_capture_file_has_one_port() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.pcap");
    let link = folder.path().join("link.pcap");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let open = |second: &Path| {
        let ports = [&file, second].map(|path| format!("pcap:,{}", path.display()));
        let bindings: Vec<PortBinding> = (1..)
            .zip(&ports)
            .map(|(number, port)| format!("{number}={port}").parse().unwrap())
            .collect();
        Ports::open(&bindings, PortOptions::default()).map(|_| ())
    };
    for same in [&file, &link] {
        let error = open(same).unwrap_err().to_string();
        assert!(
            error.contains("port 2") && error.contains("another port"),
            "{error}"
        );
    }
    open(&folder.path().join("y.pcap")).unwrap();
    let null = ["1=pcap:,/dev/null", "2=pcap:,/dev/null"].map(|port| port.parse().unwrap());
    assert!(Ports::open(&null, PortOptions::default()).is_ok());
}

fn may() -> bool {
    linuxnet::permitted()
        .inspect_err(|why| println!("skipped: {why}"))
        .is_ok()
}

/// A host behind `near`.
fn host(near: &str, number: u8) -> (Namespace, Veth) {
    let namespace = Namespace::new().unwrap();
    let pair = Veth::new(End::here(near), End::inside("eth0", &namespace)).unwrap();
    namespace
        .run(|| {
            let mut rtnl = Rtnl::open().unwrap();
            let address = IpAddr::V4(Ipv4Addr::new(10, 9, 0, number));
            rtnl.add_address("eth0", address, 24).unwrap();
        })
        .unwrap();
    (namespace, pair)
}

#[test]
fn hosts_ping_and_talk_tcp_through_the_switch() {
    if may() {
        [1, 2].into_iter().for_each(ping_and_talk);
    }
}

fn ping_and_talk(threads: usize) {
    let lab = Namespace::new().unwrap();
    lab.run(|| {
        let ((one, _a), (two, _b)) = (host("p1", 1), host("p2", 2));
        let (_engine, ports, _) = switch_on(threads, &["1@p1", "2@p2"], PortOptions::default());
        let ping = one.run(|| {
            let mut ping = std::process::Command::new("ping");
            ping.args(["-c", "3", "-i", "0.2", "-W", "5", "10.9.0.2"]);
            ping.stdout(Stdio::null()).status()
        });
        match ping.unwrap() {
            Ok(status) => assert!(status.success(), "ping"),
            Err(why) => println!("skipped: ping: {why}"),
        }
        let server = two
            .run(|| TcpListener::bind("10.9.0.2:7000"))
            .unwrap()
            .unwrap();
        let data: Vec<u8> = (0..1_000_000u32).map(|i| ((i * 31) >> 7) as u8).collect();
        let sent = data.clone();
        let writer = std::thread::spawn(move || {
            let address = ([10, 9, 0, 2], 7000).into();
            let connect = || TcpStream::connect_timeout(&address, WAIT);
            let mut stream = one.run(connect).unwrap().unwrap();
            stream.write_all(&sent).unwrap();
            one
        });
        let (mut stream, _) = server.accept().unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == data);
        writer.join().unwrap();
        assert!(ports.list().iter().all(|p| p.stats.receive_damaged == 0));
    })
    .unwrap();
}

#[test]
fn interfaces_are_shared_out_among_threads() {
    if !may() {
        return;
    }
    let lab = Namespace::new().unwrap();
    let _ = lab.set("ipv6/conf/default/disable_ipv6", "1");
    lab.run(|| {
        let _inward = Veth::new(End::here("gen"), End::here("p1")).unwrap();
        let _outward = Veth::new(End::here("p2"), End::here("sink")).unwrap();
        let plain = PacketOptions::default();
        let mut gen_end = PacketSocket::open("gen", &plain).unwrap();
        let mut sink = PacketSocket::open("sink", &plain).unwrap();
        for threads in [2, 3] {
            let options = PortOptions::default();
            let (engine, mut ports, _) = switch_on(threads, &["1@p1", "2@p2"], options);
            let mut round = |flows: u8, each: u8| {
                let (mut came, start) = (Vec::new(), std::time::Instant::now());
                let total = usize::from(flows) * usize::from(each);
                for number in 0..each {
                    (0..flows).for_each(|flow| gen_end.send(&numbered(flow, number)));
                    gen_end.flush();
                }
                while came.len() < total && start.elapsed() < WAIT {
                    sink.receive(64, |frame| came.push(frame.to_vec()));
                }
                assert_in_order(&came, flows, each);
            };
            round(100, 20);
            // The port goes and comes back.
            ports.remove(PortId::new(2)).unwrap();
            ports.add("2@p2".parse().unwrap()).unwrap();
            // Every thread has the port when all have answered.
            assert_eq!(ports.list().len(), 2);
            round(50, 10);
            let stats: Vec<u64> = ports.list().iter().map(|p| p.stats.received).collect();
            assert_eq!(stats, [2500, 0]);
            let counters = engine.handle().port_counters(PortId::new(1)).unwrap();
            assert_eq!(counters.unwrap().received, 2500);
            let xdp = PortOptions {
                packet: PacketOptions {
                    driver: Driver::Xdp,
                    ..PacketOptions::default()
                },
                ..PortOptions::default()
            };
            drop((ports, engine));
            let refused = Ports::open_threads(&["1@p1".parse().unwrap()], xdp, threads);
            let refused = refused.map(|_| ()).unwrap_err().to_string();
            assert!(refused.contains("shared out among threads"), "{refused}");
        }
    })
    .unwrap();
}

#[test]
fn the_data_plane_hears_of_links_without_a_controller() {
    if !may() {
        return;
    }
    let lab = Namespace::new().unwrap();
    lab.run(|| {
        let pair = Veth::new(End::here("p1"), End::here("far")).unwrap();
        let (engine, mut ports, mut told) = switch(&["1@p1"], PortOptions::default());
        let up = |engine: &Engine| engine.handle().ports().unwrap()[0].1;
        assert!(up(&engine), "known from the start");
        let mut next = |wanted: bool| loop {
            match told.blocking_recv() {
                Some(Notification::Port(change)) if change.up == wanted => break,
                Some(_) => {}
                None => panic!("the engine ended"),
            }
        };
        Rtnl::open().unwrap().set_up("far", false).unwrap();
        next(false);
        assert!(!up(&engine));
        Rtnl::open().unwrap().set_up("far", true).unwrap();
        next(true);
        // The interface goes, and another of the same name comes: it is opened again.
        drop(pair);
        next(false);
        let _pair = Veth::new(End::here("p1"), End::here("far")).unwrap();
        next(true);
        let missing = ports
            .add("2@nosuch0".parse().unwrap())
            .unwrap_err()
            .to_string();
        assert!(missing.contains("'nosuch0'"), "{missing}");
    })
    .unwrap();
}
