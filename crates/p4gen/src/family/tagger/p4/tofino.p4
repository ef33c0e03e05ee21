{% include "tagger/p4/title.p4" %}
{% if v.edge -%}
//   ingress                                                                          egress
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| edge_class       |=>| write the tag |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | classify rewrite |  | host_port_out |
//  |        |  |       |  |  ARP)     |  |                 |  | (tag, in, out)   |  |               |
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//   the tag     bad                       out port             first tag of what     carrier off
//               frames                                         hosts send;           towards hosts
//               dropped                                        ingress_cos, qid;
//                                                              new tag
{%- else -%}
//   ingress                                                                          egress
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| classify rewrite |=>| write the tag |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | (tag, in, out    |  |               |
//  |        |  |       |  |  ARP)     |  |                 |  |  port)           |  |               |
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//   the tag     bad                       out port             ingress_cos, qid;     checksum
//               frames                                         new tag
//               dropped
{%- endif %}
//
{% include "tagger/p4/purpose.p4" %}
//
// Priorities are decoupled, and the traffic manager is told both:
//   ingress_cos  ING_PRIO, the class of the ARRIVING tag: the priority group that this switch accounts,
//                and pauses upstream;
//   qid          EG_PRIO, the class of the NEW tag: the queue in which the packet waits for the wire,
//                hence the class that the next switch pauses.
// If the queue followed the old tag, a PAUSE from downstream would stop the wrong queue, and packets of
// a lossless class would be lost.
//
{% include "tagger/p4/lossy_doc.p4" %}
//
// `classify` and `rewrite` are looked up side by side once the output port is known. Egress gets what
// the carrier shall hold in a bridged header of {{ v.bridge_bytes }} and writes it: it looks nothing up.
//
// Restrictions, and why:
//   - The traffic manager maps ingress_cos to priority groups and qid to queues as it was configured:
//     one to one, with PFC on the lossless ones, is what the plan counts on.
//   - IPv4 headers with options are dropped and counted: the checksum is verified and updated over
//     twenty bytes. No data-center host sends options.
{% include "tagger/p4/limits_doc.p4" %}

#include <core.p4>
#include <{{ v.architecture }}.p4>
#include "headers.p4"
{% include "tagger/p4/types.p4" %}

// From ingress to egress: what the carrier shall hold when the packet leaves.
header bridge_t {
    @padding
    bit<{{ v.bridge_padding }}> padding;
    bit<1>       has_carrier;
{%- include "tagger/p4/code_fields.p4" %}
}

struct headers_t {
    bridge_t     bridge;
{% include "tagger/p4/headers.p4" %}
}

struct ingress_metadata_t {
    // What the carrier held on arrival.
{%- include "tagger/p4/code_fields.p4" %}
    bool         has_carrier;
{%- if v.edge %}
    dscp_t       dscp;             // of the IP header: the class at the edge
{%- endif %}
    bool         malformed;
    bool         checksum_error;
    priority_t   ing_prio;

    // The ports as `classify` and `rewrite` match them.
    port_key_t   in_port;
    port_key_t   out_port;

    // Edge.
    bool         from_host;
    mac_addr_t   gateway_mac;
    ipv4_addr_t  arp_difference;   // of sender and target address

    // Forwarding. The ports are zero where the packet has none, or is a later fragment.
    l4_port_t    l4_src_port;
    l4_port_t    l4_dst_port;
    ecmp_group_t ecmp_group;
    bit<8>       hash_shift;
    bit<32>      flow;
    flow_hash_t  flow_hash;
    bool         routed;

    bool         dropped;
    drop_index_t drop_reason;
}

struct egress_metadata_t {}

// -------------------------------------------------------------------------------------------------
// Ingress parser
// -------------------------------------------------------------------------------------------------

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out ingress_metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    Checksum() ipv4_checksum;

    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
{%- let owner = "meta" %}{% let value = "LOSSY_CODE" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
        meta.has_carrier = false;
{%- if v.edge %}
        meta.dscp = 0;
{%- endif %}
        meta.malformed = false;
        meta.checksum_error = false;
        meta.ing_prio = LOSSY_PRIORITY;
        meta.in_port = 0;
        meta.out_port = 0;
        meta.from_host = false;
        meta.gateway_mac = 0;
        meta.arp_difference = 0;
        meta.l4_src_port = 0;
        meta.l4_dst_port = 0;
        meta.ecmp_group = 0;
        meta.hash_shift = 0;
        meta.flow = 0;
        meta.flow_hash = 0;
        meta.routed = false;
        meta.dropped = false;
        meta.drop_reason = 0;
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
{%- include "tagger/p4/ethernet.p4" %}

    state parse_vlan {
        packet.extract(headers.vlan);
{% include "tagger/p4/after_vlan.p4" %}

    state parse_ipv4 {
        packet.extract(headers.ipv4);
        ipv4_checksum.add(headers.ipv4);
        meta.checksum_error = ipv4_checksum.verify();
        transition select(headers.ipv4.version, headers.ipv4.ihl,
                          headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (4, 5, 0, PROTOCOL_TCP):  parse_l4;
            (4, 5, 0, PROTOCOL_UDP):  parse_l4;
            (4, 5, 0, PROTOCOL_SCTP): parse_l4;
            (4, 5, _, _):             accept;
            default:                  unsupported;
        }
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
        transition select(headers.ipv6.version, headers.ipv6.next_header) {
            (6, PROTOCOL_TCP):  parse_l4;
            (6, PROTOCOL_UDP):  parse_l4;
            (6, PROTOCOL_SCTP): parse_l4;
            (6, _):             accept;
            default:            unsupported;
        }
    }

{% include "p4/parse_l4.p4" %}

    // An IPv4 header that is not version 4 with twenty bytes, or an IPv6 one not version 6.
    state unsupported {
        meta.malformed = true;
        transition accept;
    }
}

// -------------------------------------------------------------------------------------------------
// Ingress
// -------------------------------------------------------------------------------------------------

control ingress(inout headers_t headers,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {

    // Packets dropped by ingress, by the DROP_* reasons of `layout.p4`.
    Counter<bit<64>, drop_index_t>(DROP_COUNTER_SIZE, CounterType_t.PACKETS_AND_BYTES) dropped;

    // Packets accepted for forwarding, by ingress port ++ ING_PRIO.
    Counter<bit<64>, bit<12>>(CLASS_COUNTER_SIZE, CounterType_t.PACKETS_AND_BYTES) ingress_class;

    action drop_because(drop_index_t reason) {
        meta.dropped = true;
        meta.drop_reason = reason;
    }

    action drop_packet() {
        dropped.count(meta.drop_reason);
        for_deparser.drop_ctl = 1;
    }

{% include "tagger/p4/host_port.p4" %}

    action drop_request() {
        drop_because((drop_index_t)DROP_GROUP);
    }

    // An ARP request from a host that is neither an address probe nor an announcement. A table: the
    // condition is too wide for a gateway.
    table arp_request {
        key = {
            headers.arp.isValid()     : exact;
            meta.from_host            : exact;
            headers.arp.hardware_type : exact;
            headers.arp.protocol_type : exact;
            headers.arp.operation     : exact;
            headers.arp.sender_ip     : ternary;
            meta.arp_difference       : ternary;
        }
        actions = {
            answer_arp;
            drop_request;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (true, true, ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4, ARP_REQUEST, 0, _) : drop_request();
            (true, true, ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4, ARP_REQUEST, _, 0) : drop_request();
            (true, true, ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4, ARP_REQUEST, _, _) : answer_arp();
        }
        size = 4;
    }

{% include "tagger/p4/routes.p4" %}

    Hash<bit<32>>(HashAlgorithm_t.CRC32) ipv4_flow;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) ipv6_flow;

    action hash_ipv4_flow() {
        meta.flow = ipv4_flow.get({ headers.ipv4.src_addr, headers.ipv4.dst_addr,
                                    headers.ipv4.protocol, meta.l4_src_port, meta.l4_dst_port });
    }

    action hash_ipv6_flow() {
        meta.flow = ipv6_flow.get({ headers.ipv6.src_addr, headers.ipv6.dst_addr,
                                    headers.ipv6.next_header, meta.l4_src_port, meta.l4_dst_port });
    }
{% for shift in v.shifts %}
    action shift_flow_{{ shift.low }}() {
        meta.flow_hash = meta.flow[{{ shift.high }}:{{ shift.low }}];
    }
{% endfor %}
    // An ALU does not shift by a variable: one action for every shift.
    table shift_flow {
        key = {
            meta.hash_shift : exact;
        }
        actions = {
{%- for shift in v.shifts %}
            shift_flow_{{ shift.low }};
{%- endfor %}
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
{%- for shift in v.shifts %}
            {{ shift.low }} : shift_flow_{{ shift.low }}();
{%- endfor %}
        }
        size = 32;
    }

    // The members are next hops; the flow hash picks one, so all packets of a flow (5-tuple) follow
    // one path.
    Hash<bit<16>>(HashAlgorithm_t.IDENTITY) member_hash;
    ActionProfile({{ v.sizes.ecmp_members }}) ecmp_profile;
    ActionSelector(ecmp_profile, member_hash, SelectorMode_t.FAIR,
                   {{ v.sizes.ecmp_group_members }}, {{ v.sizes.ecmp_groups }}) ecmp_selector;

    @id(ID_TABLE_ECMP_GROUP)
    @entry_restriction("group != 0")
    table ecmp_group {
        key = {
            meta.ecmp_group : exact @id(1) @name("group");
            meta.flow_hash  : selector;
        }
        actions = {
            next_hop;
            @defaultonly no_route;
        }
        const default_action = no_route();
        implementation = ecmp_selector;
        size = {{ v.sizes.ecmp_groups }};
    }
{% include "tagger/p4/ecmp_return.p4" %}{% include "tagger/p4/put_carrier.p4" %}
{% if v.tag.sets %}{% include "tagger/p4/port_bits.p4" %}

{% endif %}{% include "tagger/p4/priorities.p4" %}

    // What this text is: a switch tells it with its tables, and `push` holds it against the build's.
    @switchwright("{{ v.title }} for {{ v.architecture }}, {{ v.stamp }}")
{% include "tagger/p4/classify.p4" %}

    // --- Tagger: (arriving tag, in port, out port) -> new tag --------------------------------------

    @id(ID_ACTION_SET_TAG)
    action set_tag(@id(1) tag_t tag) {
        headers.bridge.{% if v.tag.split %}tag{% else %}code{% endif %} = tag;
{%- if v.tag.split %}
        headers.bridge.has_carrier = 1;
{%- endif %}
    }

    @id(ID_ACTION_SET_LOSSY_CODE)
    action set_lossy_code() {
{%- let owner = "headers.bridge" %}{% let value = "LOSSY_CODE" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
{%- if v.tag.split %}
        headers.bridge.has_carrier = 1;
{%- endif %}
    }

{% include "tagger/p4/rewrite.p4" %}

    apply {
        headers.bridge.setValid();
        headers.bridge.has_carrier = 0;
{%- let owner = "headers.bridge" %}{% let value = "LOSSY_CODE" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
{%- if v.edge %}
        if ({{ v.carrier_header }}.isValid()) {
{%- let owner = "meta" %}{% let value = v.carrier_field %}{% let indent = "            " %}{% include "tagger/p4/set_code.p4" %}
            meta.has_carrier = true;
        }
        if (headers.ipv4.isValid()) {
            meta.dscp = headers.ipv4.dscp;
        } else if (headers.ipv6.isValid()) {
            meta.dscp = headers.ipv6.dscp;
        }
{%- else %}
        if (headers.ipv4.isValid()) {
{%- let owner = "meta" %}{% let value = "headers.ipv4.dscp" %}{% let indent = "            " %}{% include "tagger/p4/set_code.p4" %}
            meta.has_carrier = true;
        } else if (headers.ipv6.isValid()) {
{%- let owner = "meta" %}{% let value = "headers.ipv6.dscp" %}{% let indent = "            " %}{% include "tagger/p4/set_code.p4" %}
            meta.has_carrier = true;
        }
{%- endif %}
        meta.arp_difference = headers.arp.sender_ip ^ headers.arp.target_ip;
        host_port.apply();

        // Admit.
        if (from_parser.parser_err != PARSER_ERROR_OK || meta.malformed) {
            drop_because((drop_index_t)DROP_MALFORMED);
        } else if (meta.checksum_error) {
            drop_because((drop_index_t)DROP_CHECKSUM);
        } else if (headers.ethernet.ether_type == ETHERTYPE_MAC_CONTROL) {
            drop_because((drop_index_t)DROP_MAC_CONTROL);
        } else if (!arp_request.apply().hit) {
            if (headers.ethernet.dst_addr[40:40] == 1) {
                drop_because((drop_index_t)DROP_GROUP);
{%- include "tagger/p4/edge_admit.p4" %}
            } else {
                // Route.
                if (headers.ipv4.isValid()) {
                    if (headers.ipv4.ttl <= 1) {
                        drop_because((drop_index_t)DROP_TTL);
                    } else {
                        ipv4_route.apply();
                        headers.ipv4.ttl = headers.ipv4.ttl - 1;
                        hash_ipv4_flow();
                    }
                } else if (headers.ipv6.isValid()) {
                    if (headers.ipv6.hop_limit <= 1) {
                        drop_because((drop_index_t)DROP_TTL);
                    } else {
                        ipv6_route.apply();
                        headers.ipv6.hop_limit = headers.ipv6.hop_limit - 1;
                        hash_ipv6_flow();
                    }
                } else {
                    drop_because((drop_index_t)DROP_NOT_ROUTABLE);
                }
                if (meta.ecmp_group != 0) {
                    shift_flow.apply();
                    if (!ecmp_return.apply().hit) {
                        ecmp_group.apply();
                    }
                }

                // Classify what leaves.
                if (meta.routed) {
{%- include "tagger/p4/edge_apply.p4" %}
                    if (meta.has_carrier) {
{%- if !v.tag.split %}
                        headers.bridge.has_carrier = 1;
{%- endif %}
{%- if v.tag.sets %}
                        in_port_bit.apply();
                        out_port_bit.apply();
                        // A port outside the bitmap leaves no bit, and a key without a bit would match
                        // every set.
                        if (meta.in_port == 0 || meta.out_port == 0) {
{%- let owner = "meta" %}{% let value = "LOSSY_CODE" %}{% let indent = "                            " %}{% include "tagger/p4/set_code.p4" %}
                        }
{%- else %}
                        meta.in_port  = intrinsic.ingress_port;
                        meta.out_port = for_tm.ucast_egress_port;
{%- endif %}
{%- if v.tag.split %}
                        headers.bridge.class_bits = meta.class_bits;
{%- else %}
                        headers.bridge.code = meta.code;
{%- endif %}
                        classify.apply();
                        rewrite.apply();
                    }
                    ingress_class.count(intrinsic.ingress_port ++ meta.ing_prio);
                }
            }
        }
        if (meta.dropped) {
            drop_packet();
        }
    }
}

control ingress_deparser(packet_out packet,
                         inout headers_t headers,
                         in ingress_metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(headers);
    }
}

// -------------------------------------------------------------------------------------------------
// Egress
// -------------------------------------------------------------------------------------------------

parser egress_parser(packet_in packet,
                     out headers_t headers,
                     out egress_metadata_t meta,
                     out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.extract(headers.bridge);
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
{%- if v.shim %}
            ETHERTYPE_SHIM: parse_shim;
{%- endif %}
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
{%- include "tagger/p4/parse_shim.p4" %}

    state parse_vlan {
        packet.extract(headers.vlan);
        transition select(headers.vlan.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(headers.ipv4);
        transition accept;
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
        transition accept;
    }
}

control egress(inout headers_t headers,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t from_parser,
               inout egress_intrinsic_metadata_for_deparser_t for_deparser,
               inout egress_intrinsic_metadata_for_output_port_t for_port) {

    // Packets sent, by egress port ++ EG_PRIO.
    Counter<bit<64>, bit<12>>(CLASS_COUNTER_SIZE, CounterType_t.PACKETS_AND_BYTES) egress_class;
{% include "tagger/p4/host_port_out.p4" %}
    apply {
        if (headers.bridge.has_carrier == 1) {
{%- include "tagger/p4/write_tag.p4" %}
        }
        headers.bridge.setInvalid();
        egress_class.count(intrinsic.egress_port ++ intrinsic.egress_qid[2:0]);
    }
}

control egress_deparser(packet_out packet,
                        inout headers_t headers,
                        in egress_metadata_t meta,
                        in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    Checksum() ipv4_checksum;

    apply {
        // TTL and DSCP change.
        if (headers.ipv4.isValid()) {
            headers.ipv4.header_checksum = ipv4_checksum.update(
                { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp, headers.ipv4.ecn,
                  headers.ipv4.total_length, headers.ipv4.identification, headers.ipv4.flags,
                  headers.ipv4.fragment_offset, headers.ipv4.ttl, headers.ipv4.protocol,
                  headers.ipv4.src_addr, headers.ipv4.dst_addr });
        }
        packet.emit(headers);          // in the order of headers_t, valid ones only
    }
}

Pipeline(ingress_parser(), ingress(), ingress_deparser(),
         egress_parser(), egress(), egress_deparser()) pipe;

Switch(pipe) main;

