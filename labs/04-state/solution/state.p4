#include "net.p4"

header probe_t {
    bit<8>  flow;
    bit<8>  colour;
    bit<16> lost;
    bit<32> sequence;
}

struct headers_t {
    ethernet_t ethernet;
    probe_t    probe;
}

struct metadata_t {

}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x88b6: parse_probe;
            default: accept;
        }
    }
    state parse_probe {
        packet.extract(hdr.probe);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    counter(256, CounterType.packets_and_bytes) flows;
    meter(256, MeterType.packets) police;
    register<bit<32>>(256) last;

    apply {
        if (!hdr.probe.isValid()) {
            mark_to_drop(standard_metadata);
            return;
        }
        bit<32> flow = (bit<32>) hdr.probe.flow;
        flows.count(flow);
        police.execute_meter(flow, hdr.probe.colour);
        bit<32> before;
        last.read(before, flow);
        last.write(flow, hdr.probe.sequence);
        if (before != 0) {
            hdr.probe.lost = (bit<16>) (hdr.probe.sequence - before - 1);
        }
        standard_metadata.egress_spec = 1;
        if (hdr.probe.colour == 2) {
            mark_to_drop(standard_metadata);
        }
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {

    }
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
