#include "net.p4"

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct metadata_t {
    @switchwright("port_status")
    bit<8> port_status;
    bit<9> primary;
    bit<9> backup;
}

parser TheParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TheIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_ways(bit<9> primary, bit<9> backup) {
        meta.primary = primary;
        meta.backup = backup;
    }

    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { set_ways; drop; }
        default_action = drop();
    }

    apply {
        if (!hdr.ipv4.isValid() || !routes.apply().hit) {
            drop();
            return;
        }
        bool is_lossless = hdr.ipv4.dscp >= 1 && hdr.ipv4.dscp <= 3;
        if ((meta.port_status >> (bit<8>) meta.primary) & 1 == 1) {
            standard_metadata.egress_spec = meta.primary;
        } else if ((meta.port_status >> (bit<8>) meta.backup) & 1 == 1) {
            standard_metadata.egress_spec = meta.backup;
            if (is_lossless && hdr.ipv4.dscp < 3) {
                hdr.ipv4.dscp = hdr.ipv4.dscp + 1;
            } else {
                hdr.ipv4.dscp = 0;
                is_lossless = false;
            }
        } else {
            drop();
            return;
        }
        if (is_lossless) {
            standard_metadata.priority = (bit<3>) hdr.ipv4.dscp;
        }
    }
}

control TheEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply { }
}

control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(),
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_length, hdr.ipv4.identification,
              hdr.ipv4.flags, hdr.ipv4.fragment_offset, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src, hdr.ipv4.dst },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control TheDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(TheParser(), Verify(), TheIngress(), TheEgress(), Compute(), TheDeparser()) main;
