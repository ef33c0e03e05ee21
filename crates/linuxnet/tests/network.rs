//! Real namespaces, real veth pairs, real TCP. Needs root; says so and passes where it is not.

#![allow(clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use linuxnet::veth::End;
use linuxnet::{
    Driver, LinkEvent, LinkWatch, Namespace, NetError, PacketOptions, PacketSocket, Poller, Veth,
    rtnl::Rtnl,
};

/// Bounded waits: what takes longer is broken.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Whether the machine lets us; prints what is skipped.
fn may() -> bool {
    match linuxnet::permitted() {
        Ok(()) => true,
        Err(why) => {
            println!("skipped: {why}");
            false
        }
    }
}

/// The drivers that this machine has; prints what is skipped.
fn drivers() -> Vec<PacketOptions> {
    let mut drivers = vec![Driver::Ring, Driver::Packet];
    match linuxnet::xdp_available() {
        Ok(()) => drivers.push(Driver::Xdp),
        Err(why) => println!("skipped: {why}"),
    }
    let options = |driver| PacketOptions {
        driver,
        ..PacketOptions::default()
    };
    drivers.into_iter().map(options).collect()
}

/// A namespace without the chatter of IPv6.
fn quiet() -> Namespace {
    let namespace = Namespace::new().expect("permitted");
    let _ = namespace.set("ipv6/conf/default/disable_ipv6", "1");
    namespace
}

/// Frames of a socket until there are `count`.
fn gather(socket: &mut PacketSocket, count: usize) -> Vec<Vec<u8>> {
    let poller = Poller::new().expect("poller");
    poller.add(socket).expect("watched");
    let (mut frames, start) = (Vec::new(), Instant::now());
    while frames.len() < count && start.elapsed() < TIMEOUT {
        if socket.receive(64, |frame| frames.push(frame.to_vec())) == 0 {
            let _ = poller.wait(Some(Duration::from_millis(50)));
        }
    }
    frames
}

fn frame(length: usize, mark: u8) -> Vec<u8> {
    let mut frame = vec![mark; length];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]); // for experiments (IEEE 802)
    frame
}

#[test]
fn frames_cross_a_pair_unchanged_whatever_their_length_and_tags() {
    if !may() {
        return;
    }
    for options in drivers() {
        quiet().run(|| cross_unchanged(&options)).expect("ran");
    }
}

fn cross_unchanged(options: &PacketOptions) {
    let _pair = Veth::new(End::here("a"), End::here("b")).expect("pair");
    let mut a = PacketSocket::open("a", options).expect("a");
    let mut b = PacketSocket::open("b", options).expect("b");
    let mut sent: Vec<Vec<u8>> = [60, 64, 65, 1000, 1514]
        .iter()
        .map(|&l| frame(l, l as u8))
        .collect();
    // One tag, an outer service tag, and two tags: the kernel takes off the first.
    for tags in [
        vec![0x81, 0, 0xa0, 5],
        vec![0x88, 0xa8, 0, 7, 0x81, 0, 0x60, 9],
        vec![0x81, 0, 0, 1],
    ] {
        let mut tagged = frame(100, 3);
        tagged.splice(12..12, tags);
        sent.push(tagged);
    }
    for frame in &sent {
        a.send(frame);
    }
    a.flush();
    assert_eq!(gather(&mut b, sent.len()), sent);
    assert_eq!(a.receive(1, |_| ()), 0, "our own frames are not received");
    let stats = b.stats();
    assert_eq!(
        (stats.received, stats.receive_damaged),
        (sent.len() as u64, 0)
    );
    if options.driver == Driver::Xdp {
        return; // what is too long is lost in the kernel, uncounted
    }
    a.send(&frame(4000, 1));
    a.send(&frame(80, 2));
    a.flush();
    assert_eq!(
        a.stats().send_refused,
        1,
        "longer than the interface can carry"
    );
    assert_eq!(gather(&mut b, 1), [frame(80, 2)]);
}

/// A UDP datagram between these ports, over IPv4.
fn datagram(source: u16, number: u8) -> Vec<u8> {
    let [high, low] = source.to_be_bytes();
    let mut frame = vec![2; 12];
    frame.extend([8, 0, 0x45, 0, 0, 29, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend([
        10, 0, 0, 1, 10, 0, 0, 2, high, low, 0, 53, 0, 9, 0, 0, number,
    ]);
    frame
}

#[test]
fn the_kernel_shares_flows_out_among_the_sockets_of_an_interface() {
    if !may() {
        return;
    }
    quiet()
        .run(|| {
            for driver in [Driver::Ring, Driver::Packet] {
                let options = PacketOptions {
                    driver,
                    ..PacketOptions::default()
                };
                let _pair = Veth::new(End::here("a"), End::here("b")).expect("pair");
                let mut near = PacketSocket::open("a", &options).expect("opened");
                let mut shared = PacketSocket::open_shared("b", &options, 2).expect("opened");
                // Another group on the same interface is another: it gets everything too.
                let mut others = PacketSocket::open_shared("b", &options, 1).expect("opened");
                for number in 0..10 {
                    for source in 0..60 {
                        near.send(&datagram(source, number));
                    }
                    near.flush();
                }
                let all = gather(&mut others[0], 600);
                assert_eq!(all.len(), 600);
                let mut parts: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 2];
                let start = Instant::now();
                while parts.iter().map(Vec::len).sum::<usize>() < 600 && start.elapsed() < TIMEOUT {
                    for (socket, part) in shared.iter_mut().zip(&mut parts) {
                        socket.receive(64, |frame| part.push(frame.to_vec()));
                    }
                }
                let of = |part: &[Vec<u8>], source: u16| {
                    let own = part.iter().filter(|f| f[34..36] == source.to_be_bytes());
                    own.map(|f| f[42]).collect::<Vec<u8>>()
                };
                for source in 0..60 {
                    let [first, second] = [of(&parts[0], source), of(&parts[1], source)];
                    assert!(
                        first.is_empty() || second.is_empty(),
                        "a flow has one socket"
                    );
                    assert_eq!([first, second].concat(), (0..10).collect::<Vec<u8>>());
                }
                assert!(parts.iter().all(|part| !part.is_empty()), "both have flows");
                // What this host sends is not received.
                shared[0].send(&datagram(1, 1));
                shared[0].flush();
                assert_eq!(gather(&mut near, 1).len(), 1);
                let own = shared.iter_mut().map(|s| s.receive(64, |_| ()));
                assert_eq!(own.sum::<usize>(), 0);
            }
            let xdp = PacketOptions {
                driver: Driver::Xdp,
                ..PacketOptions::default()
            };
            let _pair = Veth::new(End::here("a"), End::here("b")).expect("pair");
            let refused = PacketSocket::open_shared("a", &xdp, 2).expect_err("refused");
            assert!(matches!(refused, NetError::XdpShared { .. }), "{refused}");
        })
        .expect("permitted");
}

#[test]
fn a_missing_interface_is_named_with_those_that_exist() {
    if !may() {
        return;
    }
    let error = quiet()
        .run(|| PacketSocket::open("veth9", &PacketOptions::default()).map(|_| ()))
        .expect("ran")
        .expect_err("there is none");
    assert!(matches!(&error, NetError::NoInterface { known, .. } if known == &["lo"]));
}

/// A host in its own namespace behind the far end of a pair.
fn host(near: &str, number: u8) -> (Namespace, Veth) {
    let namespace = quiet();
    let pair = Veth::new(End::here(near), End::inside("eth0", &namespace)).expect("pair");
    namespace
        .run(|| {
            let mut rtnl = Rtnl::open().expect("netlink");
            let address = IpAddr::V4(Ipv4Addr::new(10, 9, 0, number));
            rtnl.add_address("eth0", address, 24).expect("address");
        })
        .expect("ran");
    (namespace, pair)
}

/// Carries frames between two interfaces until told to stop.
fn carry(mut ends: [PacketSocket; 2], stop: &AtomicBool) -> [PacketSocket; 2] {
    let poller = Poller::new().expect("poller");
    poller.add(&ends[0]).expect("watched");
    poller.add(&ends[1]).expect("watched");
    while !stop.load(Ordering::Acquire) {
        let [a, b] = &mut ends;
        let mut taken = a.receive(64, |frame| b.send(frame));
        taken += b.receive(64, |frame| a.send(frame));
        a.flush();
        b.flush();
        if taken == 0 {
            let _ = poller.wait(Some(Duration::from_millis(20)));
            a.settle();
            b.settle();
        }
    }
    ends
}

/// Hosts with all offloads on: partial checksums and 64 KiB segments must come out whole.
#[test]
fn tcp_crosses_with_offloads_on() {
    if !may() {
        return;
    }
    for options in drivers() {
        quiet().run(|| tcp_crosses(&options)).expect("ran");
    }
}

fn tcp_crosses(options: &PacketOptions) {
    const LENGTH: usize = 8 << 20;
    let (one, _first) = host("p1", 1);
    let (two, _second) = host("p2", 2);
    let ends = ["p1", "p2"].map(|name| PacketSocket::open(name, options).expect("open"));
    let stop = AtomicBool::new(false);
    let [mut a, _] = thread::scope(|scope| {
        let carrier = scope.spawn(|| carry(ends, &stop));
        let server = two
            .run(|| TcpListener::bind("10.9.0.2:7000"))
            .expect("ran")
            .expect("bind");
        let reader = scope.spawn(move || {
            let (mut stream, _) = server.accept().expect("accept");
            stream.set_read_timeout(Some(TIMEOUT)).expect("timeout");
            let mut all = Vec::new();
            stream.read_to_end(&mut all).expect("read");
            all
        });
        let data: Vec<u8> = (0..LENGTH as u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let mut stream = one
            .run(|| TcpStream::connect_timeout(&([10, 9, 0, 2], 7000).into(), TIMEOUT))
            .expect("ran")
            .expect("connect");
        stream.set_write_timeout(Some(TIMEOUT)).expect("timeout");
        stream.write_all(&data).expect("write");
        drop(stream);
        assert!(
            reader.join().expect("reader") == data,
            "the bytes arrive as they were sent"
        );
        stop.store(true, Ordering::Release);
        carrier.join().expect("carrier")
    });
    assert_eq!(a.stats().receive_damaged, 0);
}

#[test]
fn links_going_down_and_away_are_told() {
    if !may() {
        return;
    }
    quiet()
        .run(|| {
            let pair = Veth::new(End::here("a"), End::here("b")).expect("pair");
            let (tell, told) = mpsc::channel();
            let _watch = LinkWatch::start(move |event| {
                let _ = tell.send(event);
            })
            .expect("watch");
            let wait_for = |wanted: &dyn Fn(&LinkEvent) -> bool| {
                let start = Instant::now();
                while start.elapsed() < TIMEOUT {
                    match told.recv_timeout(TIMEOUT) {
                        Ok(event) if wanted(&event) => return,
                        Ok(_) => {}
                        Err(_) => break,
                    }
                }
                panic!("never told");
            };
            let state = |name: &'static str, up: bool| {
                move |event: &LinkEvent| matches!(event, LinkEvent::State(link) if link.name == name && link.up == up)
            };
            wait_for(&state("a", true));
            let mut rtnl = Rtnl::open().expect("netlink");
            rtnl.set_up("b", false).expect("down");
            wait_for(&state("a", false)); // the cable's other end: carrier is lost
            rtnl.set_up("b", true).expect("up");
            wait_for(&state("a", true));
            drop(pair);
            wait_for(&|event| matches!(event, LinkEvent::Gone { name, .. } if name == "a"));
        })
        .expect("ran");
}

/// An interface that was off and is on again works again, also if more was sent meanwhile than its
/// driver has room for.
#[test]
fn a_socket_survives_its_interface_going_down() {
    if !may() {
        return;
    }
    for options in drivers() {
        for side in ["a", "b"] {
            quiet()
                .run(|| survive_going_down(&options, side))
                .expect("ran");
        }
    }
}

fn survive_going_down(options: &PacketOptions, side: &str) {
    let _pair = Veth::new(End::here("a"), End::here("b")).expect("pair");
    let mut a = PacketSocket::open("a", options).expect("a");
    let mut b = PacketSocket::open("b", options).expect("b");
    let mut rtnl = Rtnl::open().expect("netlink");
    rtnl.set_up(side, false).expect("down");
    for _ in 0..100 {
        for _ in 0..50 {
            a.send(&frame(64, 1));
        }
        a.flush();
    }
    b.settle();
    let poller = Poller::new().expect("poller");
    poller.add(&b).expect("watched");
    let woke = poller.wait(Some(Duration::from_millis(1))).expect("wait");
    assert!(!woke, "the pending error is gone");
    rtnl.set_up(side, true).expect("up");
    a.settle();
    // The first ones may find the driver full of what it could not send.
    let start = Instant::now();
    let mut arrived = false;
    while !arrived && start.elapsed() < TIMEOUT {
        a.send(&frame(64, 2));
        a.flush();
        if b.receive(4096, |got| arrived |= got == frame(64, 2)) == 0 {
            let _ = poller.wait(Some(Duration::from_millis(50)));
        }
    }
    assert!(arrived, "{options:?}: nothing is sent after {side} was off");
}

#[test]
fn leftovers_of_the_dead_are_swept_and_the_living_keep_theirs() {
    if !may() {
        return;
    }
    let mine = Namespace::named().expect("named");
    let name = mine.name().expect("it has one").to_owned();
    let found = std::process::Command::new("ip")
        .args(["netns", "exec", &name, "true"])
        .status();
    assert!(found.is_err() || found.is_ok_and(|s| s.success()));
    assert!(!linuxnet::sweep().expect("sweep").contains(&name));
    // A record whose process has ended: what a crash leaves behind.
    let dead = Namespace::named().expect("named");
    let left = dead.name().expect("it has one").to_owned();
    std::mem::forget(dead);
    let record = format!("/run/switchwright/linuxnet/netns-{left}");
    std::fs::write(&record, "1 1\n").expect("record");
    assert!(linuxnet::sweep().expect("sweep").contains(&left));
    assert!(!std::path::Path::new("/run/netns").join(&left).exists());
    assert!(std::path::Path::new("/run/netns").join(&name).exists());
}
