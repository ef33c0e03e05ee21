// Header types shared by every generated program. Widths are those of `layout.p4`.

#ifndef SWITCHWRIGHT_HEADERS_P4_
#define SWITCHWRIGHT_HEADERS_P4_

#include "layout.p4"

header ethernet_t {
    mac_addr_t dst_addr;
    mac_addr_t src_addr;
    ether_type_t ether_type;
}

// The fixed part of the fabric's own header, between Ethernet and what Ethernet carried. Hosts never
// see it. `tagger` uses the lossless tag alone and leaves the other fields zero; `failover` uses all
// the others, and the tag where its plan has lossless ones. The hops of both routes follow it, the
// forward route first.
header shim_t {
    bit<8> version; // which of two installed plans forwards the packet
    bit<8> multipath; // path choice of the edge
    bit<16> destination; // virtual destination
    bit<24> resilience; // failures met, or the route in use
    bit<8> lossless_tag; // the Tagger tag
    bit<8> tree; // the tree that the packet is on, from 1; 0: none
    bit<8> hop_limit; // switches that it may still cross
    bit<8> forward_hops; // number of hops of the forward route that follow
    bit<8> reverse_hops; // number of hops of the reverse route that follow
    ether_type_t ether_type; // of what follows
}

// A hop of a route in the shim: a port of the switch that uses it (Axon).
header hop_t {
    bit<8> port;
}

header vlan_t {
    bit<3> pcp; // priority code point
    bit<1> dei;
    vlan_id_t vid;
    ether_type_t ether_type;
}

header arp_ipv4_t {
    bit<16> hardware_type;
    ether_type_t protocol_type;
    bit<8> hardware_length;
    bit<8> protocol_length;
    bit<16> operation;
    mac_addr_t sender_mac;
    ipv4_addr_t sender_ip;
    mac_addr_t target_mac;
    ipv4_addr_t target_ip;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    dscp_t dscp;
    bit<2> ecn; // never written: congestion marks survive every rewrite
    bit<16> total_length;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    ip_protocol_t protocol;
    bit<16> header_checksum;
    ipv4_addr_t src_addr;
    ipv4_addr_t dst_addr;
}

header ipv6_t {
    bit<4> version;
    dscp_t dscp;
    bit<2> ecn; // never written
    bit<20> flow_label;
    bit<16> payload_length;
    ip_protocol_t next_header;
    bit<8> hop_limit;
    ipv6_addr_t src_addr;
    ipv6_addr_t dst_addr;
}

// The first four bytes that TCP, UDP and SCTP have in common.
header l4_ports_t {
    l4_port_t src_port;
    l4_port_t dst_port;
}

#endif  // SWITCHWRIGHT_HEADERS_P4_
