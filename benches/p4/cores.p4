// The program of `switchwright bench cores`: addresses of IPv4 packets choose the next hop, which is counted. With REGISTER
// packets of each flow are numbered in a register too, which every packet reads and writes.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<8>  version_ihl;
    bit<8>  tos;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t { }

parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Forward(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    direct_counter(CounterType.packets_and_bytes) hops;
    counter(512, CounterType.packets) arrived;
#ifdef REGISTER
    register<bit<32>>(256) numbers;
#endif

    action drop() {
        mark_to_drop(std);
    }

    action forward(bit<48> dst, bit<9> port) {
        hdr.ethernet.dst = dst;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        std.egress_spec = port;
        hops.count();
    }

    table next_hop {
        key = {
            hdr.ipv4.dst: lpm;
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        counters = hops;
        const entries = {
            0x0a000000 &&& 0xff000000: forward(0x020000000001, 1);
            0x0a010000 &&& 0xffff0000: forward(0x020000000002, 2);
        }
    }

    apply {
        arrived.count((bit<32>) std.ingress_port);
        if (hdr.ipv4.isValid()) {
            next_hop.apply();
        } else {
            drop();
        }
#ifdef REGISTER
        bit<32> number;
        numbers.read(number, (bit<32>) hdr.ipv4.src[7:0]);
        numbers.write((bit<32>) hdr.ipv4.src[7:0], number + 1);
        hdr.ipv4.id = number[15:0];
#endif
    }
}

control Leave(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version_ihl, hdr.ipv4.tos, hdr.ipv4.length, hdr.ipv4.id, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(Parse(), Verify(), Forward(), Leave(), Compute(), Deparse()) main;
