{% include "failover/p4/title.p4" %}
//   ingress
//  +-----------+ +----------+ +-------------+ +-------------+ +------------+ +------------+
//  | island_in |>| security |>| local_host  |>| res_forward |>| src_update |>| island_out |
//  | port_down | | neighbor | | (src_for-   | | (rules,     | | (routes)   | | header off |
//  | (register)| | encap    | |  ward)      | | port status)| | port_alive | |            |
//  +-----------+ +----------+ +-------------+ +-------------+ +------------+ +------------+
//   from a host?   hosts' packets arrived?      next way that   both routes,   towards hosts
//   ports up       only                         is left         out port up?
//
{% include "failover/p4/purpose.p4" %}
//
// Port status is a register that every packet reads once, a bit for every port. Where a port goes
// down, the packet generator of its pipe sends a packet at once, without the control plane: it comes
// in by port {{ v.generator_port }} of the pipe, takes the bit away, and goes on to the other pipes (multicast groups
// from {{ v.port_down_group }} on, their ports {{ v.generator_port }}). That a port is up again is the control plane's to say: it writes the
// register, and re-arms the generator for that port.
//
{% include "failover/p4/versions.p4" %}
//
{%- if v.tagged %}
{% include "failover/p4/lossless.p4" %}
//
{%- endif %}
// Restrictions, and why:
//   - Ports in headers and rules have the plan's numbers; `island_in` and whatever sends translate
//     between them and the device's, which have nine bits.
{% include "failover/p4/limits.p4" %}
//   - Everything is done in ingress, and packets pass egress by.
{%- if v.tagged %}
//   - The traffic manager has to map ingress_cos to priority groups and qid to queues one to one.
{%- endif %}

#include <core.p4>
#include <{{ v.architecture }}.p4>
#include "headers.p4"
{%- if v.tagged %}
{% include "tagger/p4/types.p4" %}
{%- endif %}

typedef bit<32> port_set_t;       // bit p stands for port p{% if v.wide %}, and in `high` ones for port 32 + p{% endif %}

{%- if v.mixed %}

// The number of hops of a packet that keeps no reverse route.
const bit<8> NO_REVERSE = {{ v.no_reverse }};
{%- endif %}

// The port of every pipe from which its packet generator sends, and by which others reach the pipe.
const PortId_t GENERATOR_PORT = {{ v.generator_port }};
const PortId_t PORT_OF_PIPE   = 0x7f;
// Those ports of all pipes but the first; the groups of the others' follow.
const MulticastGroupId_t PORT_DOWN_GROUP = {{ v.port_down_group }};

struct headers_t {
    pktgen_port_down_header_t port_down;
    ethernet_t   ethernet;
    shim_t       shim;
{%- if v.routes %}
    {{ v.stack_type }} forward;
{%- endif %}
{%- if v.reverse %}
    hop_t        arrived;          // the port that the packet came by, before the others
    {{ v.stack_type }} reverse;
{%- endif %}
    arp_ipv4_t   arp;
{%- include "failover/p4/flow_headers.p4" %}
}

struct ingress_metadata_t {
    bool         malformed;

    // Ports that stay up, all but where one has just gone down; and ports that are up.
{%- for high in v.words %}
    port_set_t   stays_up{{ high }};
    port_set_t   port_status{{ high }};
{%- endfor %}

    // Where the packet comes from.
    bool         from_host;
    bit<8>       version;          // that its tables belong to
    port_id_t    came_from;        // the port towards the last switch, NO_PORT from a host

    // ARP.
    ipv4_addr_t  arp_difference;   // of sender and target address
    ipv4_addr_t  asked;            // the address that a request asks for; 0: none
{%- include "failover/p4/reverse_metadata.p4" %}
{%- if v.multipath %}

    // The flow. The ports are zero where the packet has none, or is a later fragment.
    l4_port_t    l4_src_port;
    l4_port_t    l4_dst_port;
    bit<16>      flow_hash;
    bit<16>      ways;             // routings to choose from; 0: one
{%- endif %}
{%- if v.number %}

    // Bits that the header gets.
    bit<24>      set;
{%- if v.trees %}
    bit<8>       set_tree;
{%- endif %}
{%- endif %}
{%- if v.tagged %}

    // The lossless tag as it arrived, or the first of what a host sends; its DSCP says which class.
    code_t       code;
    dscp_t       dscp;
{%- if v.tag.channels %}
    code_t       channel;          // the tag that it was just given, zero if none
{%- endif %}
    priority_t   ing_prio;

    // The ports as `classify` and `rewrite` match them.
    port_key_t   in_port;
    port_key_t   out_port;
{%- endif %}

    // What is decided.
    bool         decided;
    bit<1>       by_route;         // it follows its forward route
    bit<1>       in_fabric;        // it comes from a switch

    bool         dropped;
    drop_index_t drop_reason;
}

// Nothing is left to do there.
struct egress_headers_t {}
struct egress_metadata_t {}

// -------------------------------------------------------------------------------------------------
// Ingress parser
// -------------------------------------------------------------------------------------------------

parser ingress_parser(packet_in packet,
                      out headers_t headers,
                      out ingress_metadata_t meta,
                      out ingress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        packet.advance(PORT_METADATA_SIZE);
        meta.malformed = false;
{%- for high in v.words %}
        meta.stays_up{{ high }} = 0xffffffff;
        meta.port_status{{ high }} = 0;
{%- endfor %}
        meta.from_host = false;
        meta.version = 0;
        meta.came_from = 0;
        meta.arp_difference = 0;
        meta.asked = 0;
{%- if v.reverse %}
        meta.reverse_hops = 0;
{%- if v.mixed %}
        meta.keeps_way = 0;
{%- endif %}
{%- for hop in 0..v.stack %}
        meta.rev_{{ hop }} = 0;
{%- endfor %}
{%- endif %}
{%- if v.multipath %}
        meta.l4_src_port = 0;
        meta.l4_dst_port = 0;
        meta.flow_hash = 0;
        meta.ways = 0;
{%- endif %}
{%- if v.number %}
        meta.set = 0;
{%- if v.trees %}
        meta.set_tree = 0;
{%- endif %}
{%- endif %}
{%- if v.tagged %}
        meta.code = LOSSY_CODE;
        meta.dscp = 0;
{%- if v.tag.channels %}
        meta.channel = 0;
{%- endif %}
        meta.ing_prio = LOSSY_PRIORITY;
        meta.in_port = 0;
        meta.out_port = 0;
{%- endif %}
        meta.decided = false;
        meta.by_route = 0;
        meta.in_fabric = 0;
        meta.dropped = false;
        meta.drop_reason = 0;
        transition select(intrinsic.ingress_port) {
            GENERATOR_PORT &&& PORT_OF_PIPE: parse_port_down;
            default: parse_ethernet;
        }
    }

    state parse_port_down {
        packet.extract(headers.port_down);
        transition accept;
    }

    state parse_ethernet {
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
{%- if v.reverse %}
        transition select(headers.shim.forward_hops) {
            0: parse_reverse;
{%- if v.routes %}
{%- for count in 1..=v.stack %}
            {{ count }}: parse_forward_{{ count }};
{%- endfor %}
{%- endif %}
            default: malformed;
        }
    }
{%- else %}
        transition select(headers.shim.forward_hops, headers.shim.reverse_hops) {
            (0, 0): accept;
{%- if v.routes %}
{%- for count in 1..=v.stack %}
            ({{ count }}, 0): parse_forward_{{ count }};
{%- endfor %}
{%- endif %}
            default: malformed;
        }
    }
{%- endif %}
{%- if v.routes %}
{%- for count in 1..=v.stack %}

    state parse_forward_{{ count }} {
{%- for hop in 0..count %}
        packet.extract(headers.forward[{{ hop }}]);
{%- endfor %}
        transition {{ v.after_forward }};
    }
{%- endfor %}
{%- endif %}
{%- if v.reverse %}

    state parse_reverse {
        transition select(headers.shim.reverse_hops) {
            0: accept;
{%- if v.mixed %}
            NO_REVERSE: accept;
{%- endif %}
{%- for count in 1..=v.stack %}
            {{ count }}: parse_reverse_{{ count }};
{%- endfor %}
            default: malformed;
        }
    }
{%- for count in 1..=v.stack %}

    state parse_reverse_{{ count }} {
{%- for hop in 0..count %}
        packet.extract(headers.reverse[{{ hop }}]);
{%- if hop + 1 < v.stack %}
        meta.rev_{{ hop + 1 }} = headers.reverse[{{ hop }}].port;
{%- endif %}
{%- endfor %}
        transition accept;
    }
{%- endfor %}
{%- endif %}

    // A count that cannot be true.
    state malformed {
        meta.malformed = true;
        transition accept;
    }

{% include "failover/p4/parse_flow.p4" %}
}

// -------------------------------------------------------------------------------------------------
// Ingress
// -------------------------------------------------------------------------------------------------

{% if v.reverse && v.has_clots %}
{%- for hop in 0..v.stack -%}
@do_not_use_clot("ingress", "headers.reverse[{{ hop }}].port")
{% endfor %}
{%- endif -%}
control ingress(inout headers_t headers,
                inout ingress_metadata_t meta,
                in ingress_intrinsic_metadata_t intrinsic,
                in ingress_intrinsic_metadata_from_parser_t from_parser,
                inout ingress_intrinsic_metadata_for_deparser_t for_deparser,
                inout ingress_intrinsic_metadata_for_tm_t for_tm) {

    // Packets dropped by ingress, by the DROP_* reasons of `layout.p4`.
    Counter<bit<64>, drop_index_t>(DROP_COUNTER_SIZE, CounterType_t.PACKETS_AND_BYTES) dropped;

    action drop_because(drop_index_t reason) {
        meta.dropped = true;
        meta.drop_reason = reason;
    }

    action drop_packet() {
        dropped.count(meta.drop_reason);
        for_deparser.drop_ctl = 1;
    }

    // --- Port status --------------------------------------------------------------------------------

    @id(ID_ACTION_TAKE_DOWN)
    action take_down(@id(1) port_set_t others{% if v.wide %}, @id(2) port_set_t others_high{% endif %}) {
{%- for high in v.words %}
        meta.stays_up{{ high }} = others{{ high }};
{%- endfor %}
    }

    // The port that has gone down -> the bits of all the others.
    @id(ID_TABLE_PORT_DOWN)
    table port_down {
        key = {
            headers.port_down.port_num : exact @id(1) @name("port") @refers_to(island_in, port);
        }
        actions = {
            take_down;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = HOST_PORT_SIZE;
    }
{%- for high in v.words %}

    // One cell. Every packet reads it, and one from the generator takes a port away.
    Register<port_set_t, bit<1>>(1, 0xffffffff) ports_up{{ high }};

    RegisterAction<port_set_t, bit<1>, port_set_t>(ports_up{{ high }}) read_status{{ high }} = {
        void apply(inout port_set_t up, out port_set_t now) {
            up = up & meta.stays_up{{ high }};
            now = up;
        }
    };
{%- endfor %}

    action to_other_pipes(MulticastGroupId_t group) {
        for_tm.mcast_grp_a = group;
    }

    action end_here() {
        for_deparser.drop_ctl = 1;
    }

    // A packet from the generator is in its own pipe, or came from another. (A comparison of the two
    // fields would want them at the same bits of a container.)
    table relay_port_down {
        key = {
            headers.port_down.pipe_id : exact;
            intrinsic.ingress_port    : ternary;
        }
        actions = {
            to_other_pipes;
            @defaultonly end_here;
        }
        const default_action = end_here();
        const entries = {
            (0, 0x000 &&& 0x180) : to_other_pipes(PORT_DOWN_GROUP);
            (1, 0x080 &&& 0x180) : to_other_pipes(PORT_DOWN_GROUP + 1);
            (2, 0x100 &&& 0x180) : to_other_pipes(PORT_DOWN_GROUP + 2);
            (3, 0x180 &&& 0x180) : to_other_pipes(PORT_DOWN_GROUP + 3);
        }
        size = 4;
    }

{% include "failover/p4/island_in.p4" %}

    // --- Security: what hosts may send. The plan has no entries here; an operator may add some. -----

    @id(ID_ACTION_DENY)
    action deny() {
        drop_because((drop_index_t)DROP_DENIED);
    }

    @id(ID_TABLE_SECURITY)
    table security {
        key = {
            intrinsic.ingress_port      : ternary @id(1) @name("port");
            headers.ethernet.src_addr   : ternary @id(2) @name("src_addr") @format(MAC_ADDRESS);
            headers.ethernet.dst_addr   : ternary @id(3) @name("dst_addr") @format(MAC_ADDRESS);
            headers.ethernet.ether_type : ternary @id(4) @name("ether_type");
        }
        actions = {
            deny;
            NoAction;
        }
        const default_action = NoAction();
        size = {{ v.sizes.security }};
    }

    // --- ARP: hosts find each other without broadcast ----------------------------------------------

    action set_asked() {
        meta.asked = headers.arp.target_ip;
    }

    action clear_asked() {
        meta.asked = 0;
    }

    // An ARP request that is neither an address probe nor an announcement. A table: the condition is
    // too wide for a gateway.
    table arp_request {
        key = {
            headers.arp.isValid()     : exact;
            headers.arp.hardware_type : exact;
            headers.arp.protocol_type : exact;
            headers.arp.operation     : exact;
            headers.arp.sender_ip     : ternary;
            meta.arp_difference       : ternary;
        }
        actions = {
            set_asked;
            clear_asked;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (true, ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4, ARP_REQUEST, 0, _) : clear_asked();
            (true, ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4, ARP_REQUEST, _, 0) : clear_asked();
            (true, ARP_HARDWARE_ETHERNET, ETHERTYPE_IPV4, ARP_REQUEST, _, _) : set_asked();
        }
        size = 4;
    }

{% include "failover/p4/neighbor.p4" %}

    // --- Encap/MPath: the header, the virtual destination, and which of its routings ----------------

{% include "failover/p4/push_shim.p4" %}

    @id(ID_ACTION_ENCAPSULATE)
    action encapsulate(@id(1) bit<16> destination{% if v.mixed %}, @id(2) bit<8> reverse_hops{% endif %}) {
        push_shim(destination{% if v.mixed %}, reverse_hops{% endif %});
    }
{%- if v.multipath %}

    // All packets of a flow take one of `ways` routings, whose destinations follow on each other.
    @id(ID_ACTION_ENCAPSULATE_FLOW)
    action encapsulate_flow(@id(1) bit<16> destination, @id(2) @refers_to(way, ways) bit<16> ways{% if v.mixed %},
                            @id(3) bit<8> reverse_hops{% endif %}) {
        push_shim(destination{% if v.mixed %}, reverse_hops{% endif %});
        meta.ways = ways;
    }
{%- endif %}

{% include "failover/p4/encap.p4" %}
{%- if v.multipath %}

    // The flow: addresses, and ports where the packet has them; zeros for what it has not.
    Hash<bit<16>>(HashAlgorithm_t.CRC32) ipv4_flow;
    Hash<bit<16>>(HashAlgorithm_t.CRC32) ipv6_flow;
    Hash<bit<16>>(HashAlgorithm_t.CRC32) other_flow;

    action hash_ipv4_flow() {
        meta.flow_hash = ipv4_flow.get({ headers.ethernet.src_addr, headers.ethernet.dst_addr,
                                         96w0, headers.ipv4.src_addr, 96w0, headers.ipv4.dst_addr,
                                         headers.ipv4.protocol, meta.l4_src_port, meta.l4_dst_port });
    }

    action hash_ipv6_flow() {
        meta.flow_hash = ipv6_flow.get({ headers.ethernet.src_addr, headers.ethernet.dst_addr,
                                         headers.ipv6.src_addr, headers.ipv6.dst_addr,
                                         headers.ipv6.next_header, meta.l4_src_port,
                                         meta.l4_dst_port });
    }

    action hash_other_flow() {
        meta.flow_hash = other_flow.get({ headers.ethernet.src_addr, headers.ethernet.dst_addr,
                                          128w0, 128w0, 8w0, 16w0, 16w0 });
    }

    @id(ID_ACTION_TAKE_WAY)
    action take_way(@id(1) bit<16> path) {
        headers.shim.destination = headers.shim.destination + path;
        headers.shim.multipath = path[7:0];
    }

    // The hash modulo the number of ways. A table: an ALU does not divide.
    @id(ID_TABLE_WAY)
    table way {
        key = {
            meta.ways      : exact @id(1) @name("ways");
            meta.flow_hash : ternary @id(2) @name("flow_hash");
        }
        actions = {
            take_way;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = {{ v.sizes.ways }};
    }
{%- endif %}
{%- include "failover/p4/src_forward.p4" %}

{% include "failover/p4/local_host.p4" %}

{% include "failover/p4/res_forward.p4" %}

    // A rule may name a port without asking for its status. The ports that are up:
    @id(ID_ACTION_ALIVE)
    action alive() {}

    action dead_port() {
        drop_because((drop_index_t)DROP_DEAD_PORT);
    }

    @id(ID_TABLE_PORT_ALIVE)
    @entry_restriction("
{% include "failover/p4/status_restriction.p4" %}
    ")
    table port_alive {
        key = {
            for_tm.ucast_egress_port : exact @id(1) @name("port") @refers_to(island_in, port);
            meta.port_status         : ternary @id(4) @name("port_status");
{%- include "failover/p4/status_high_key.p4" %}
        }
        actions = {
            alive;
            @defaultonly dead_port;
        }
        const default_action = dead_port();
        size = HOST_PORT_SIZE;
    }
{%- if v.number %}

    // The other half of what a rule does to the header.
    action set_bits() {
        headers.shim.resilience = headers.shim.resilience | meta.set;
{%- if v.trees %}
        headers.shim.tree = headers.shim.tree | meta.set_tree;
{%- endif %}
    }
{%- endif %}
{%- include "failover/p4/src_update.p4" %}
{%- if v.tagged %}

    // --- The class of what hosts send, and so the first tag ----------------------------------------

{% include "tagger/p4/edge_class.p4" %}

{% if v.tag.sets %}{% include "tagger/p4/port_bits.p4" %}

{% endif %}{% include "tagger/p4/priorities.p4" %}

{% include "tagger/p4/classify.p4" %}

    // --- Tagger: (arriving tag, in port, out port) -> new tag --------------------------------------

    @id(ID_ACTION_SET_TAG)
    action set_tag(@id(1) tag_t tag) {
        headers.shim.lossless_tag = tag;
    }

    @id(ID_ACTION_SET_LOSSY_CODE)
    action set_lossy_code() {
        headers.shim.lossless_tag = LOSSY_CODE;
    }

{% include "tagger/p4/rewrite.p4" %}
{%- endif %}

{% include "failover/p4/island_out.p4" %}

    apply {
        for_tm.bypass_egress = 1;
        meta.arp_difference = headers.arp.sender_ip ^ headers.arp.target_ip;
        island_in.apply();
{%- if v.multipath %}
        if (headers.ipv4.isValid()) {
            hash_ipv4_flow();
        } else if (headers.ipv6.isValid()) {
            hash_ipv6_flow();
        } else {
            hash_other_flow();
        }
{%- endif %}
        if (headers.port_down.isValid()) {
            port_down.apply();
        }
{%- for high in v.words %}
        meta.port_status{{ high }} = read_status{{ high }}.execute(0);
{%- endfor %}
        arp_request.apply();

        // Admit.
        if (headers.port_down.isValid()) {
            relay_port_down.apply();
        } else if (from_parser.parser_err != PARSER_ERROR_OK || meta.malformed) {
            drop_because((drop_index_t)DROP_MALFORMED);
        } else if (headers.ethernet.ether_type == ETHERTYPE_MAC_CONTROL) {
            drop_because((drop_index_t)DROP_MAC_CONTROL);
        } else {
            if (meta.from_host) {
                if (headers.shim.isValid()) {
                    drop_because((drop_index_t)DROP_FOREIGN_SHIM);
                } else {
                    switch (security.apply().action_run) {
                        deny: {}
                        default: {
                            if (!neighbor.apply().hit) {
                                if (headers.ethernet.dst_addr[40:40] == 1) {
                                    drop_because((drop_index_t)DROP_GROUP);
                                } else {
                                    encap.apply();
{%- if v.tagged %}
                                    edge_class.apply();
{%- endif %}
{%- if v.multipath %}
                                    if (meta.ways != 0) {
                                        way.apply();
                                    }
{%- endif %}
                                }
                            }
                        }
                    }
                }
            } else if (meta.in_fabric == 1) {
                if (!headers.shim.isValid()) {
                    drop_because((drop_index_t)DROP_NO_SHIM);
                } else if (headers.shim.hop_limit == 0) {
                    drop_because((drop_index_t)DROP_TTL);
{%- if v.reverse %}
                } else if (headers.shim.reverse_hops == {{ v.stack }}) {
                    drop_because((drop_index_t)DROP_TOO_LONG);
{%- endif %}
                } else {
                    headers.shim.hop_limit = headers.shim.hop_limit - 1;
{%- if v.tagged %}
                    meta.code = headers.shim.lossless_tag;
{%- endif %}
{%- if v.reverse %}
{%- if v.mixed %}
                    if (headers.shim.reverse_hops != NO_REVERSE) {
                        meta.keeps_way = 1;
                        meta.reverse_hops = headers.shim.reverse_hops + 1;
                        meta.rev_0 = (bit<8>)meta.came_from;
                    }
{%- else %}
                    meta.reverse_hops = headers.shim.reverse_hops + 1;
                    meta.rev_0 = (bit<8>)meta.came_from;
{%- endif %}
{%- endif %}
{%- if v.routes %}
                    if (headers.shim.forward_hops != 0) {
                        src_forward.apply();
                    }
{%- endif %}
                }
            } else {
                drop_because((drop_index_t)DROP_UNKNOWN_PORT);
            }

            // Decide.
            if (!meta.dropped) {
                if (!meta.decided) {
                    if (!local_host.apply().hit) {
                        res_forward.apply();
                        if (!meta.dropped) {
                            port_alive.apply();
                        }
                    }
                }
{%- if v.number %}
                set_bits();
{%- endif %}
{%- if v.routes || v.reverse %}
                src_update.apply();
{%- endif %}
{%- if v.tagged %}

                // Classify what leaves; what was dropped above is dropped all the same.
                if (headers.shim.isValid()) {
{%- if v.tag.sets %}
                    in_port_bit.apply();
                    out_port_bit.apply();
                    // A port outside the bitmap leaves no bit, and a key without a bit would match
                    // every set.
                    if (meta.in_port == 0 || meta.out_port == 0) {
                        meta.code = LOSSY_CODE;
                    }
{%- else %}
                    meta.in_port  = intrinsic.ingress_port;
                    meta.out_port = for_tm.ucast_egress_port;
{%- endif %}
                    classify.apply();
                    rewrite.apply();
                }
{%- endif %}
            }
        }
        if (meta.dropped) {
            drop_packet();
        } else if (headers.shim.isValid()) {
            island_out.apply();
        }
    }
}

control ingress_deparser(packet_out packet,
                         inout headers_t headers,
                         in ingress_metadata_t meta,
                         in ingress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply {
        packet.emit(headers);          // in the order of headers_t, valid ones only
    }
}

// -------------------------------------------------------------------------------------------------
// Egress: passed by
// -------------------------------------------------------------------------------------------------

parser egress_parser(packet_in packet,
                     out egress_headers_t headers,
                     out egress_metadata_t meta,
                     out egress_intrinsic_metadata_t intrinsic) {
    state start {
        packet.extract(intrinsic);
        transition accept;
    }
}

control egress(inout egress_headers_t headers,
               inout egress_metadata_t meta,
               in egress_intrinsic_metadata_t intrinsic,
               in egress_intrinsic_metadata_from_parser_t from_parser,
               inout egress_intrinsic_metadata_for_deparser_t for_deparser,
               inout egress_intrinsic_metadata_for_output_port_t for_port) {
    apply { }
}

control egress_deparser(packet_out packet,
                        inout egress_headers_t headers,
                        in egress_metadata_t meta,
                        in egress_intrinsic_metadata_for_deparser_t for_deparser) {
    apply { }
}

Pipeline(ingress_parser(), ingress(), ingress_deparser(),
         egress_parser(), egress(), egress_deparser()) pipe;

Switch(pipe) main;

