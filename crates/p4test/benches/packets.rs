//! Packets per second of every executor on a generated `tagger` program: 64-byte IPv4 packets that
//! are routed, classified and retagged. And how long the findings of a program take.

#![allow(
    clippy::expect_used,
    reason = "a bench without its program has nothing to say"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use p4exec::Outputs;
use p4front::Options;
use p4test::{build, compile};
use quantities::{Nanos, PortId};

const ENTRIES: &str = "
add ipv4_route dst_addr:0x0a000000/8 next_hop(port:1, src_mac:0x02, dst_mac:0x04)
add ipv4_route dst_addr:0x0a000200/24 next_hop(port:2, src_mac:0x02, dst_mac:0x04)
add classify tag:1 in_port:1 out_port:2 set_priorities(ing_prio:1, eg_prio:2)
add rewrite tag:1 in_port:1 out_port:2 set_tag(tag:2)
";

/// Ethernet, IPv4 (DSCP 1, right checksum), UDP, 64 bytes in all.
fn packet() -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x08, 0x00];
    bytes.extend([
        0x45,
        1 << 2,
        0,
        50,
        0,
        0,
        0,
        0,
        64,
        17,
        0,
        0,
        10,
        0,
        1,
        1,
        10,
        0,
        2,
        1,
    ]);
    let sum = p4exec::externs::hash::internet_checksum(&bytes[14..34]);
    bytes[24..26].copy_from_slice(&sum.to_be_bytes());
    bytes.extend([0x12, 0x34, 0x56, 0x78]);
    bytes.resize(64, 0);
    bytes
}

fn packets(c: &mut Criterion) {
    let root = p4test::root();
    let options = Options {
        include_paths: vec![root.join("p4src")],
        ..Options::on_disk()
    };
    let path = root.join("p4src/generated/tagger-dscp-exact.p4");
    let program = compile(&path, &options).expect("the generated program compiles");
    let entries = stf::parse(ENTRIES).expect("the entries are well-formed");
    let mut group = c.benchmark_group("tagger-dscp-exact");
    group.throughput(Throughput::Elements(1));
    for (name, mut executor) in build(&program).expect("the generated program runs") {
        stf::run(&entries, executor.as_mut()).expect("the entries fit");
        let packet = packet();
        let mut out = Outputs::default();
        executor.process(Nanos::new(0), &packet, PortId::new(1), &mut out);
        assert_eq!(out.sent.len(), 1, "{:?}", out.dropped);
        assert_eq!(
            (out.sent[0].port.get(), out.sent[0].bytes[15] >> 2),
            (2, 2),
            "retagged"
        );
        group.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                executor.process(Nanos::new(0), black_box(&packet), PortId::new(1), &mut out);
                black_box(&out);
            });
        });
    }
    group.finish();
}

/// What a language server does at every key: the findings of our longest program.
fn findings(c: &mut Criterion) {
    let mut options = Options::on_disk();
    options.include_paths.push(p4test::root().join("p4src"));
    let mut programs: Vec<_> = std::fs::read_dir(p4test::generated())
        .expect("the folder of generated programs")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "p4"))
        .collect();
    programs.sort_by_key(|path| std::fs::metadata(path).map_or(0, |m| m.len()));
    let longest = programs.last().expect("a program");
    c.bench_function("findings of the longest program", |b| {
        b.iter(|| compile(black_box(longest), &options).expect("it has no errors"));
    });
}

criterion_group!(benches, packets, findings);
criterion_main!(benches);
