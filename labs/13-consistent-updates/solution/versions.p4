#include "net.p4"

header version_t {
    bit<8>  version;
    bit<16> ether_type;
}

struct headers_t {
    ethernet_t ethernet;
    version_t  version;
}

struct metadata_t {

}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x88b9: parse_version;
            default: accept;
        }
    }
    state parse_version {
        packet.extract(hdr.version);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action deliver(bit<9> port) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.ether_type = hdr.version.ether_type;
        hdr.version.setInvalid();
    }

    action set_version(bit<8> version) {
        hdr.version.setValid();
        hdr.version.version = version;
        hdr.version.ether_type = hdr.ethernet.ether_type;
        hdr.ethernet.ether_type = 0x88b9;
    }

    table version {
        actions = { set_version; }
        default_action = set_version(0);
    }

    table routes {
        key = {
            hdr.version.version: exact;
            hdr.ethernet.dst: exact;
        }
        actions = { forward; deliver; drop; }
        default_action = drop();
    }

    apply {
        if (!hdr.version.isValid()) {
            version.apply();
        }
        routes.apply();
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
