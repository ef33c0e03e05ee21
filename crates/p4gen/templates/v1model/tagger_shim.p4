{% extends "v1model/tagger.p4" %}
{%- block stages %}//   ingress                                                                       egress
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| edge_class    |=>| rewrite       |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | classify      |  | (tag, in, out |
//  |        |  |       |  |  ARP)     |  |                 |  | (tag, in, out |  |  port)        |
//  |        |  |       |  |           |  |                 |  |  port)        |  | host_port_out |
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//   the tag     bad                       out port             first tag of       new tag;
//               frames                                         what hosts send;   carrier off
//               dropped                                        ING_PRIO, EG_PRIO  towards hosts{% endblock %}
{%- block carrier_doc %}// The tag travels in a header of the fabric's own between Ethernet and what Ethernet carried. The
// switch port that faces a host puts it on (first tag by DSCP) and takes it off: hosts never see it,
// and a frame in which a host sends it is dropped.
{% endblock %}
{%- block carrier_header %}
    shim_t       shim;
{%- endblock %}
{%- block carrier_metadata %}
    dscp_t       dscp;             // of the IP header: the class at the edge
{%- endblock %}
{%- block ethernet_select %}
            ETHERTYPE_SHIM: parse_shim;
{%- endblock %}
{%- block carrier_state %}

    state parse_shim {
        packet.extract(headers.shim);
        meta.code = headers.shim.lossless_tag;
        meta.has_carrier = true;
        transition select(headers.shim.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
{%- endblock %}
{%- block read_ipv4 %}
        meta.dscp = headers.ipv4.dscp;{% endblock %}
{%- block read_ipv6 %}
        meta.dscp = headers.ipv6.dscp;{% endblock %}
{%- block edge_tables %}{% include "common/edge_class.p4" %}
    // The lossless tag is written by egress.
    action push_shim() {
        headers.shim.setValid();
        headers.shim.version = 0;
        headers.shim.multipath = 0;
        headers.shim.destination = 0;
        headers.shim.resilience = 0;
        headers.shim.tree = 0;
        headers.shim.hop_limit = 0;
        headers.shim.forward_hops = 0;
        headers.shim.reverse_hops = 0;
        headers.shim.ether_type = headers.ethernet.ether_type;
        headers.ethernet.ether_type = ETHERTYPE_SHIM;
    }
{% endblock %}
{%- block edge_admit %}
            } else if (meta.from_host && headers.shim.isValid()) {
                drop_because(DROP_FOREIGN_SHIM);
{%- endblock %}
{%- block edge_apply %}
                    if (meta.from_host) {
                        edge_class.apply();
                        push_shim();
                    }
{%- endblock %}
{%- block egress_tables %}{% include "common/host_port_out.p4" %}{% endblock %}
{%- block write_tag %}
            headers.shim.lossless_tag = meta.code;
            host_port_out.apply();
{%- endblock %}
