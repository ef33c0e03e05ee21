{% include "failover/p4/title.p4" %}
//   ingress                                                                               egress
//  +-----------+ +----------+ +-------+ +-------------+ +-------------+ +------------+ +------------+
//  | island_in |>| security |>| encap |>| src_forward |>| res_forward |>| src_update |>| island_out |
//  |           | | neighbor | | (path | | local_host  | | (rules,     | | pop, push  | | header off |
//  |           | | (ARP)    | | choice| |             | | port status)| |            | |            |
//  +-----------+ +----------+ +-------+ +-------------+ +-------------+ +------------+ +------------+
//   from a host?   hosts' packets only    next hop up?    next way that    both routes   towards hosts
//                                         arrived?        is left
//
{% include "failover/p4/purpose.p4" %}
//
{% include "failover/p4/versions.p4" %}
//
{%- if v.tagged %}
{% include "failover/p4/lossless.p4" %}
//
{%- endif %}
// Restrictions, and why:
//   - The port status comes from the switch itself where it fills the field that is annotated
//     @switchwright("port_status"): at once. BMv2 does not; there the field stays zero, which is
//     never true of a switch that has just received a packet, and the default action of the table
//     `port_status` carries the status, kept up to date over P4Runtime by `switchwright agent`.
{% include "failover/p4/limits.p4" %}
{%- if v.tagged %}
//   - BMv2 knows one priority, the egress queue (standard_metadata.priority, with
//     `--priority-queues 8`), and neither sends nor obeys PFC.
{%- endif %}

#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
{%- if v.tagged %}
{% include "tagger/p4/types.p4" %}
{%- endif %}

typedef bit<{{ v.port_bits }}> port_set_t;       // bit p stands for port p
{%- if v.mixed %}

// The number of hops of a packet that keeps no reverse route.
const bit<8> NO_REVERSE = {{ v.no_reverse }};
{%- endif %}

struct headers_t {
    ethernet_t   ethernet;
    shim_t       shim;
{%- if v.routes %}
    {{ v.stack_type }} forward;
{%- endif %}
{%- if v.reverse %}
    {{ v.stack_type }} reverse;
{%- endif %}
    arp_ipv4_t   arp;
{%- include "failover/p4/flow_headers.p4" %}
}

struct metadata_t {
    // Ports that are up: as the switch fills it, and as tables match it.
    @switchwright("port_status")
    port_set_t   link_status;
    port_set_t   port_status;

    // Where the packet comes from.
    bool         from_host;
    bit<8>       version;          // that its tables belong to
    port_id_t    came_from;        // the port towards the last switch, NO_PORT from a host
{%- if v.routes %}
    bit<8>       unread;           // hops of the forward route that are still to be parsed
{%- endif %}
{%- include "failover/p4/reverse_metadata.p4" %}
{%- if v.multipath %}

    // The flow, where the packet has such fields: its routing is chosen by them.
    ipv6_addr_t   flow_src;
    ipv6_addr_t   flow_dst;
    ip_protocol_t flow_protocol;
    l4_port_t     flow_src_port;
    l4_port_t     flow_dst_port;
{%- endif %}
{%- if v.tagged %}

    // The lossless tag: as it arrived until `rewrite`, as it leaves afterwards.
    code_t       code;
    dscp_t       dscp;             // of what a host sends: its class
{%- if v.tag.channels %}
    code_t       channel;          // the tag that it was just given, zero if none
{%- endif %}

    // What the queues act on. Zero, as v1model starts all metadata, is lossy.
    @switchwright("ing_prio")
    priority_t   ing_prio;
    @switchwright("eg_prio")
    priority_t   eg_prio;

    // The ports as `classify` and `rewrite` match them.
    port_key_t   in_port;
    port_key_t   out_port;
{%- endif %}

    // What is decided.
    bool         decided;
    bit<1>       by_route;         // it follows its forward route
    bit<1>       in_fabric;        // it comes from a switch
}

// -------------------------------------------------------------------------------------------------
// Parser
// -------------------------------------------------------------------------------------------------

// Raised where a count in the header cannot be true.
error { RouteCount }

parser packet_parser(packet_in packet,
                     out headers_t headers,
                     inout metadata_t meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHERTYPE_SHIM: parse_shim;
            ETHERTYPE_ARP:  parse_arp;
{%- include "failover/p4/flow_select.p4" %}
            default: accept;
        }
    }

    state parse_shim {
        packet.extract(headers.shim);
        verify(
{%- if v.routes %}headers.shim.forward_hops <= {{ v.stack }}{% else %}headers.shim.forward_hops == 0{% endif %}
               && {% if v.mixed %}(headers.shim.reverse_hops <= {{ v.stack }}
                   || headers.shim.reverse_hops == NO_REVERSE){% else if v.reverse %}headers.shim.reverse_hops <= {{ v.stack }}{% else %}headers.shim.reverse_hops == 0{% endif %}, error.RouteCount);
{%- if v.routes %}
        meta.unread = headers.shim.forward_hops;
        transition select(headers.shim.forward_hops) {
            0: {{ v.after_forward }};
            default: parse_forward;
        }
    }

    state parse_forward {
        packet.extract(headers.forward.next);
        meta.unread = meta.unread - 1;
        transition select(meta.unread) {
            0: {{ v.after_forward }};
            default: parse_forward;
        }
    }
{%- else %}
        transition {{ v.after_forward }};
    }
{%- endif %}
{%- if v.reverse %}

    // One state a hop, so that every hop has its own place in the key. This switch's port comes
    // before them.
    state parse_reverse {
        transition select(headers.shim.reverse_hops) {
            0: accept;
{%- if v.mixed %}
            NO_REVERSE: accept;
{%- endif %}
            default: parse_reverse_1;
        }
    }
{%- for hop in 1..v.stack %}

    state parse_reverse_{{ hop }} {
        packet.extract(headers.reverse.next);
        meta.rev_{{ hop }} = headers.reverse.last.port;
        transition select(headers.shim.reverse_hops) {
            {{ hop }}: accept;
            default: parse_reverse_{{ hop + 1 }};
        }
    }
{%- endfor %}

    state parse_reverse_{{ v.stack }} {
        packet.extract(headers.reverse.next);
        transition accept;
    }
{%- endif %}

{% include "failover/p4/parse_flow.p4" %}
}

control verify_checksums(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control update_checksums(inout headers_t headers, inout metadata_t meta) {
    apply { }                      // nothing that hosts sent is changed
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

    action drop_because(bit<32> reason) {
        dropped.count(reason);
        mark_to_drop(standard_metadata);
        exit;
    }

    // --- Port status, for switches that do not fill it themselves ----------------------------------

    @id(ID_ACTION_SET_PORT_STATUS)
    action set_port_status(@id(1) port_set_t up) {
        meta.port_status = up;
    }

    @id(ID_TABLE_PORT_STATUS)
    @switchwright("port_status")
    table port_status {
        actions = {
            set_port_status;
            @defaultonly NoAction;
        }
        default_action = NoAction();
    }

{% include "failover/p4/island_in.p4" %}

    // --- Security: what hosts may send. The plan has no entries here; an operator may add some. -----

    @id(ID_ACTION_DENY)
    action deny() {
        drop_because(DROP_DENIED);
    }

    @id(ID_TABLE_SECURITY)
    table security {
        key = {
            standard_metadata.ingress_port : ternary @id(1) @name("port");
            headers.ethernet.src_addr      : ternary @id(2) @name("src_addr") @format(MAC_ADDRESS);
            headers.ethernet.dst_addr      : ternary @id(3) @name("dst_addr") @format(MAC_ADDRESS);
            headers.ethernet.ether_type    : ternary @id(4) @name("ether_type");
        }
        actions = {
            deny;
            NoAction;
        }
        const default_action = NoAction();
        size = {{ v.sizes.security }};
    }

    // --- ARP: hosts find each other without broadcast ----------------------------------------------

{% include "failover/p4/neighbor.p4" %}

    // --- Encap/MPath: the header, the virtual destination, and which of its routings ----------------

{% include "failover/p4/push_shim.p4" %}

    @id(ID_ACTION_ENCAPSULATE)
    action encapsulate(@id(1) bit<16> destination{% if v.mixed %}, @id(2) bit<8> reverse_hops{% endif %}) {
        push_shim(destination, 0{% if v.mixed %}, reverse_hops{% endif %});
    }
{%- if v.multipath %}

    // All packets of a flow take one of `ways` routings, whose destinations follow on each other.
    @id(ID_ACTION_ENCAPSULATE_FLOW)
    action encapsulate_flow(@id(1) bit<16> destination, @id(2) bit<16> ways{% if v.mixed %},
                            @id(3) bit<8> reverse_hops{% endif %}) {
        bit<16> path;
        hash(path, HashAlgorithm.crc32, 16w0,
             { headers.ethernet.src_addr, headers.ethernet.dst_addr, meta.flow_src, meta.flow_dst,
               meta.flow_protocol, meta.flow_src_port, meta.flow_dst_port }, ways);
        push_shim(destination + path, (bit<8>)path{% if v.mixed %}, reverse_hops{% endif %});
    }
{%- endif %}

{% include "failover/p4/encap.p4" %}
{%- include "failover/p4/src_forward.p4" %}

{% include "failover/p4/local_host.p4" %}

{% include "failover/p4/res_forward.p4" %}
{%- include "failover/p4/src_update.p4" %}
{%- if v.tagged %}

    // --- The class of what hosts send, and so the first tag ----------------------------------------

{% include "tagger/p4/edge_class.p4" %}

{% include "tagger/p4/priorities.p4" %}

{% include "tagger/p4/classify.p4" %}
{%- endif %}

    apply {
        // Admit.
        meta.port_status = meta.link_status;
        if (meta.link_status == 0) {
            port_status.apply();
        }
        if (standard_metadata.parser_error != error.NoError) {
            drop_because(DROP_MALFORMED);
        }
        if (headers.ethernet.ether_type == ETHERTYPE_MAC_CONTROL) {
            drop_because(DROP_MAC_CONTROL);
        }
        island_in.apply();
        if (meta.from_host) {
            if (headers.shim.isValid()) {
                drop_because(DROP_FOREIGN_SHIM);
            }
            security.apply();
            if (headers.arp.isValid()
                && headers.arp.hardware_type == ARP_HARDWARE_ETHERNET
                && headers.arp.protocol_type == ETHERTYPE_IPV4
                && headers.arp.operation == ARP_REQUEST
                && headers.arp.sender_ip != 0                        // not an address probe,
                && headers.arp.sender_ip != headers.arp.target_ip) { // not an announcement
                neighbor.apply();
            }
            if (headers.ethernet.dst_addr[40:40] == 1) {
                drop_because(DROP_GROUP);
            }
            encap.apply();
{%- if v.tagged %}
            edge_class.apply();
{%- endif %}
        } else {
            if (!headers.shim.isValid()) {
                drop_because(DROP_NO_SHIM);
            }
            if (headers.shim.hop_limit == 0) {
                drop_because(DROP_TTL);
            }
{%- if v.tagged %}
            meta.code = headers.shim.lossless_tag;
{%- endif %}
{%- if v.reverse %}
            if (headers.shim.reverse_hops == {{ v.stack }}) {
                drop_because(DROP_TOO_LONG);
            }
{%- if v.mixed %}
            if (headers.shim.reverse_hops != NO_REVERSE) {
                meta.keeps_way = 1;
                meta.reverse_hops = headers.shim.reverse_hops + 1;
                meta.rev_0 = (bit<8>)standard_metadata.ingress_port;
            }
{%- else %}
            meta.reverse_hops = headers.shim.reverse_hops + 1;
            meta.rev_0 = (bit<8>)standard_metadata.ingress_port;
{%- endif %}
{%- endif %}
        }
        headers.shim.hop_limit = headers.shim.hop_limit - 1;

        // Decide.
{%- if v.routes %}
        if (headers.shim.forward_hops != 0) {
            src_forward.apply();
        }
{%- endif %}
        if (!meta.decided) {
            local_host.apply();
        }
        if (!meta.decided) {
            res_forward.apply();
            if (((meta.port_status >> (bit<8>)standard_metadata.egress_spec) & 1) == 0) {
                drop_because(DROP_DEAD_PORT);
            }
        }
{%- if v.tagged %}

        // Classify what leaves.
{%- if v.tag.sets %}
        meta.in_port  = (port_key_t)1 << (bit<8>)standard_metadata.ingress_port;
        meta.out_port = (port_key_t)1 << (bit<8>)standard_metadata.egress_spec;
{%- else %}
        meta.in_port  = standard_metadata.ingress_port;
        meta.out_port = standard_metadata.egress_spec;
{%- endif %}
        classify.apply();
        standard_metadata.priority = meta.eg_prio;
{%- endif %}
{%- if v.routes || v.reverse %}

        src_update.apply();
{%- endif %}
    }
}

// -------------------------------------------------------------------------------------------------
// Egress
// -------------------------------------------------------------------------------------------------

control egress(inout headers_t headers,
               inout metadata_t meta,
               inout standard_metadata_t standard_metadata) {

{% if v.tagged -%}
{% include "tagger/p4/rewrite_in_egress.p4" %}

{% endif -%}
{% include "failover/p4/island_out.p4" %}

    apply {
        if (headers.shim.isValid()) {
{%- if v.tagged %}
            rewrite.apply();
            headers.shim.lossless_tag = meta.code;
{%- endif %}
            island_out.apply();
        }
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

