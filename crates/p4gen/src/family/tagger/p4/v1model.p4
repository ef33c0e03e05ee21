{% include "tagger/p4/title.p4" %}
{% if v.tag.maps -%}
//   ingress                                                                       egress
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| dscp_to_tc    |=>| tc_to_dscp    |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | acl_tc        |  | (out port,    |
//  |        |  |       |  |  ARP)     |  |                 |  | tc_to_pg      |  |  class)       |
//  |        |  |       |  |           |  |                 |  | tc_to_queue   |  |               |
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//   the DSCP    bad                       out port             traffic class,     new DSCP
//               frames                                         ING_PRIO, EG_PRIO
//               dropped
{%- else if v.edge -%}
//   ingress                                                                       egress
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| edge_class    |=>| rewrite       |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | classify      |  | (tag, in, out |
//  |        |  |       |  |  ARP)     |  |                 |  | (tag, in, out |  |  port)        |
//  |        |  |       |  |           |  |                 |  |  port)        |  | host_port_out |
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//   the tag     bad                       out port             first tag of       new tag;
//               frames                                         what hosts send;   carrier off
//               dropped                                        ING_PRIO, EG_PRIO  towards hosts
{%- else -%}
//   ingress                                                                       egress
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| classify      |=>| rewrite       |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | (tag, in, out |  | (tag, in, out |
//  |        |  |       |  |  ARP)     |  |                 |  |  port)        |  |  port)        |
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//   the tag     bad                       out port             ING_PRIO,          new tag
//               frames                                         EG_PRIO
//               dropped
{%- endif %}
//
{% include "tagger/p4/purpose.p4" %}
//
// Priorities are decoupled:
//   ING_PRIO  the class of the ARRIVING tag: the class this switch accounts, and pauses upstream;
//   EG_PRIO   the class of the NEW tag: the queue in which the packet waits for the wire, hence the
//             class that the next switch pauses.
// If EG_PRIO followed the old tag, a PAUSE from downstream would stop the wrong queue, and packets of
// a lossless class would be lost.
//
{% include "tagger/p4/lossy_doc.p4" %}
//
// Restrictions, and why:
//   - BMv2 knows one priority, the egress queue (standard_metadata.priority, with
//     `--priority-queues 8`), and neither sends nor obeys PFC. It uses EG_PRIO and carries ING_PRIO in
//     metadata without acting on it. A switch that implements PFC finds the two in the fields
//     annotated @switchwright("ing_prio") and @switchwright("eg_prio") when ingress ends.
//   - IPv4 headers with options are dropped and counted: the checksum is verified and updated over
//     twenty bytes, as hardware does it. No data-center host sends options.
{% include "tagger/p4/limits_doc.p4" %}

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
{% include "tagger/p4/types.p4" %}

struct headers_t {
{% include "tagger/p4/headers.p4" %}
}

struct metadata_t {
    // What the carrier holds: as it arrived until `rewrite`, as it leaves afterwards.
    code_t       code;
    bool         has_carrier;
{%- if v.edge %}
    dscp_t       dscp;             // of the IP header: the class at the edge
{%- endif %}

    // What the queues act on. Zero, as v1model starts all metadata, is lossy.
    @switchwright("ing_prio")
    priority_t   ing_prio;
    @switchwright("eg_prio")
    priority_t   eg_prio;
{% if v.tag.maps %}
    // The traffic class, by which maps say everything else. Zero is lossy.
    bit<4>       tc;
{%- else %}
    // The ports as `classify` and `rewrite` match them.
    port_key_t   in_port;
    port_key_t   out_port;
{%- endif %}

    // Edge.
    bool         from_host;
    mac_addr_t   gateway_mac;

    // Forwarding. The ports are zero where the packet has none, or is a later fragment.
    l4_port_t    l4_src_port;
    l4_port_t    l4_dst_port;
    ecmp_group_t ecmp_group;
    bit<8>       hash_shift;
    flow_hash_t  flow_hash;
    bool         routed;
}

// -------------------------------------------------------------------------------------------------
// Parser
// -------------------------------------------------------------------------------------------------

// Raised on an IPv4 header that is not version 4 with twenty bytes, or an IPv6 one not version 6.
error { UnsupportedIpHeader }

parser packet_parser(packet_in packet,
                     out headers_t headers,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
{%- include "tagger/p4/ethernet.p4" %}

    state parse_vlan {
        packet.extract(headers.vlan);
{%- if v.vlan %}
        meta.code = {{ v.carrier_field }};
        meta.has_carrier = true;
{%- endif %}
{% include "tagger/p4/after_vlan.p4" %}

    state parse_ipv4 {
        packet.extract(headers.ipv4);
        verify(headers.ipv4.version == 4 && headers.ipv4.ihl == 5, error.UnsupportedIpHeader);
{%- if v.edge %}
        meta.dscp = headers.ipv4.dscp;
{%- else %}
        meta.code = headers.ipv4.dscp;
        meta.has_carrier = true;
{%- endif %}
        transition select(headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (0, PROTOCOL_TCP):  parse_l4;
            (0, PROTOCOL_UDP):  parse_l4;
            (0, PROTOCOL_SCTP): parse_l4;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
        verify(headers.ipv6.version == 6, error.UnsupportedIpHeader);
{%- if v.edge %}
        meta.dscp = headers.ipv6.dscp;
{%- else %}
        meta.code = headers.ipv6.dscp;
        meta.has_carrier = true;
{%- endif %}
        transition select(headers.ipv6.next_header) {
            PROTOCOL_TCP:  parse_l4;
            PROTOCOL_UDP:  parse_l4;
            PROTOCOL_SCTP: parse_l4;
            default: accept;
        }
    }

{% include "p4/parse_l4.p4" %}
}

// -------------------------------------------------------------------------------------------------
// IPv4 header checksum: verified before ingress, updated after egress (TTL and DSCP change).
// -------------------------------------------------------------------------------------------------

control verify_checksums(inout headers_t headers, inout metadata_t meta) {
    apply {
        verify_checksum(headers.ipv4.isValid(),
            { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp, headers.ipv4.ecn,
              headers.ipv4.total_length, headers.ipv4.identification, headers.ipv4.flags,
              headers.ipv4.fragment_offset, headers.ipv4.ttl, headers.ipv4.protocol,
              headers.ipv4.src_addr, headers.ipv4.dst_addr },
            headers.ipv4.header_checksum, HashAlgorithm.csum16);
    }
}

control update_checksums(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(headers.ipv4.isValid(),
            { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp, headers.ipv4.ecn,
              headers.ipv4.total_length, headers.ipv4.identification, headers.ipv4.flags,
              headers.ipv4.fragment_offset, headers.ipv4.ttl, headers.ipv4.protocol,
              headers.ipv4.src_addr, headers.ipv4.dst_addr },
            headers.ipv4.header_checksum, HashAlgorithm.csum16);
    }
}

// -------------------------------------------------------------------------------------------------
// Ingress
// -------------------------------------------------------------------------------------------------

control ingress(inout headers_t headers,
                inout metadata_t meta,
                inout standard_metadata_t standard_metadata) {

    // Packets dropped by ingress, by the DROP_* reasons of `layout.p4`.
    @id(ID_COUNTER_DROPPED)
    counter(DROP_COUNTER_SIZE, CounterType.packets_and_bytes) dropped;

    // Packets accepted for forwarding, by ingress port ++ ING_PRIO.
    @id(ID_COUNTER_INGRESS_CLASS)
    counter(CLASS_COUNTER_SIZE, CounterType.packets_and_bytes) ingress_class;

    action drop_because(bit<32> reason) {
        dropped.count(reason);
        mark_to_drop(standard_metadata);
    }

{% include "tagger/p4/host_port.p4" %}
{% include "tagger/p4/put_carrier.p4" %}
{% include "tagger/p4/routes.p4" %}

    // The members are next hops; the flow hash is taken modulo their number, so all packets of a
    // flow (5-tuple) follow one path.
    @id(ID_SELECTOR_ECMP) @max_group_size(ECMP_GROUP_MEMBERS)
    action_selector(HashAlgorithm.identity, ECMP_SELECTOR_SIZE, 16) ecmp_selector;

    // p4c warns that BMv2 has no default action here, as it does of every table whose actions are
    // members. None is needed: a miss leaves meta.routed false.
    @id(ID_TABLE_ECMP_GROUP)
    @entry_restriction("group != 0")
    table ecmp_group {
        key = {
            meta.ecmp_group : exact @id(1) @name("group");
            meta.flow_hash  : selector;
        }
        actions = {
            next_hop;
        }
        implementation = ecmp_selector;
        size = ECMP_GROUP_SIZE;
    }
{% include "tagger/p4/ecmp_return.p4" %}
    action hash_ipv4_flow() {
        bit<32> flow;
        hash(flow, HashAlgorithm.crc32, 32w0,
             { headers.ipv4.src_addr, headers.ipv4.dst_addr, headers.ipv4.protocol,
               meta.l4_src_port, meta.l4_dst_port }, 33w0x100000000);
        meta.flow_hash = (flow_hash_t)(flow >> meta.hash_shift);
    }

    action hash_ipv6_flow() {
        bit<32> flow;
        hash(flow, HashAlgorithm.crc32, 32w0,
             { headers.ipv6.src_addr, headers.ipv6.dst_addr, headers.ipv6.next_header,
               meta.l4_src_port, meta.l4_dst_port }, 33w0x100000000);
        meta.flow_hash = (flow_hash_t)(flow >> meta.hash_shift);
    }

{% if v.tag.maps -%}
{% include "tagger/p4/maps.p4" %}
{%- else -%}
{% include "tagger/p4/priorities.p4" %}

{% include "tagger/p4/classify.p4" %}
{%- endif %}

    apply {
        // Admit.
        if (standard_metadata.parser_error != error.NoError) {
            drop_because(DROP_MALFORMED);
        } else if (standard_metadata.checksum_error == 1) {
            drop_because(DROP_CHECKSUM);
        } else if (headers.ethernet.ether_type == ETHERTYPE_MAC_CONTROL) {
            drop_because(DROP_MAC_CONTROL);
        } else {
            host_port.apply();
            if (headers.arp.isValid() && meta.from_host
                && headers.arp.hardware_type == ARP_HARDWARE_ETHERNET
                && headers.arp.protocol_type == ETHERTYPE_IPV4
                && headers.arp.operation == ARP_REQUEST
                && headers.arp.sender_ip != 0                        // not an address probe,
                && headers.arp.sender_ip != headers.arp.target_ip) { // not an announcement
                answer_arp();
            } else if (headers.ethernet.dst_addr[40:40] == 1) {
                drop_because(DROP_GROUP);
{%- include "tagger/p4/edge_admit.p4" %}
            } else {
                // Route. The hash is computed only where a group asks for it.
                if (headers.ipv4.isValid()) {
                    if (headers.ipv4.ttl <= 1) {
                        drop_because(DROP_TTL);
                    } else if (ipv4_route.apply().hit) {
                        headers.ipv4.ttl = headers.ipv4.ttl - 1;
                        if (meta.ecmp_group != 0) {
                            hash_ipv4_flow();
                        }
                    } else {
                        drop_because(DROP_NO_ROUTE);
                    }
                } else if (headers.ipv6.isValid()) {
                    if (headers.ipv6.hop_limit <= 1) {
                        drop_because(DROP_TTL);
                    } else if (ipv6_route.apply().hit) {
                        headers.ipv6.hop_limit = headers.ipv6.hop_limit - 1;
                        if (meta.ecmp_group != 0) {
                            hash_ipv6_flow();
                        }
                    } else {
                        drop_because(DROP_NO_ROUTE);
                    }
                } else {
                    drop_because(DROP_NOT_ROUTABLE);
                }
                if (meta.ecmp_group != 0 && !ecmp_return.apply().hit) {
                    ecmp_group.apply();
                }

                // Classify what leaves.
                if (meta.routed) {
{%- include "tagger/p4/edge_apply.p4" %}
                    if (meta.has_carrier) {
{%- if v.tag.maps %}
                        dscp_to_tc.apply();
                        // The group is chosen before the out port is known, and so before the ACL.
                        tc_to_pg.apply();
                        acl_tc.apply();
                        tc_to_queue.apply();
{%- else if v.tag.sets %}
                        meta.in_port  = (port_key_t)1 << (bit<8>)standard_metadata.ingress_port;
                        meta.out_port = (port_key_t)1 << (bit<8>)standard_metadata.egress_spec;
                        // A number beyond the bitmap, which only a CPU port has, leaves no bit, and a
                        // key without a bit would match every set.
                        if (meta.in_port == 0 || meta.out_port == 0) {
                            meta.code = LOSSY_CODE;
                        }
{%- else %}
                        meta.in_port  = standard_metadata.ingress_port;
                        meta.out_port = standard_metadata.egress_spec;
{%- endif %}
{%- if !v.tag.maps %}
                        classify.apply();
{%- endif %}
                    }
                    standard_metadata.priority = meta.eg_prio;
                    ingress_class.count((bit<32>)(standard_metadata.ingress_port ++ meta.ing_prio));
                } else if (meta.ecmp_group != 0) {
                    drop_because(DROP_NO_ROUTE);     // no such group, or no member of it is alive
                }
            }
        }
    }
}

// -------------------------------------------------------------------------------------------------
// Egress
// -------------------------------------------------------------------------------------------------

control egress(inout headers_t headers,
               inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {

    // Packets sent, by egress port ++ EG_PRIO.
    @id(ID_COUNTER_EGRESS_CLASS)
    counter(CLASS_COUNTER_SIZE, CounterType.packets_and_bytes) egress_class;

{% if v.tag.maps -%}
{% include "tagger/p4/maps_in_egress.p4" %}
{%- else -%}
{% include "tagger/p4/rewrite_in_egress.p4" %}
{%- endif %}
{% include "tagger/p4/host_port_out.p4" %}
    apply {
        if (meta.has_carrier) {
{%- if v.tag.maps %}
            tc_to_dscp.apply();
{%- else %}
            rewrite.apply();
{%- endif %}
{%- include "tagger/p4/write_tag.p4" %}
        }
        egress_class.count((bit<32>)(standard_metadata.egress_port ++ meta.eg_prio));
    }
}

// -------------------------------------------------------------------------------------------------
// Deparser
// -------------------------------------------------------------------------------------------------

control packet_deparser(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers);          // in the order of headers_t, valid ones only
    }
}

V1Switch(packet_parser(), verify_checksums(), ingress(), egress(), update_checksums(),
         packet_deparser()) main;

