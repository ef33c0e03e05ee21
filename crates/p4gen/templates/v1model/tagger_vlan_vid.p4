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
{%- block carrier_doc %}// The tag travels in the VLAN id of an 802.1Q tag; PCP is left alone. A host that sends 802.1Q frames
// chooses its class with their VLAN id; a frame that a host sends untagged gets the first tag of the
// class that its DSCP picks. Towards hosts the 802.1Q tag is taken off.
{% endblock %}
{%- block carrier_metadata %}
    dscp_t       dscp;             // of the IP header: the class at the edge
{%- endblock %}
{%- block read_vlan %}
        meta.code = headers.vlan.vid;
        meta.has_carrier = true;
{%- endblock %}
{%- block read_ipv4 %}
        meta.dscp = headers.ipv4.dscp;{% endblock %}
{%- block read_ipv6 %}
        meta.dscp = headers.ipv6.dscp;{% endblock %}
{%- block edge_tables %}{% include "common/edge_class.p4" %}
    // The VLAN id is written by egress.
    action push_vlan() {
        headers.vlan.setValid();
        headers.vlan.ether_type = headers.ethernet.ether_type;
        headers.vlan.dei = 0;
        headers.vlan.pcp = 0;
        headers.ethernet.ether_type = ETHERTYPE_VLAN;
    }
{% endblock %}
{%- block edge_apply %}
                    if (meta.from_host && !meta.has_carrier) {
                        edge_class.apply();
                        push_vlan();
                    }
{%- endblock %}
{%- block egress_tables %}{% include "common/host_port_out.p4" %}{% endblock %}
{%- block write_tag %}
            headers.vlan.vid = meta.code;
            host_port_out.apply();
{%- endblock %}
