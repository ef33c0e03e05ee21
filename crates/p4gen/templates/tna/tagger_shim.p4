{% extends "tna/tagger.p4" %}
{%- block stages %}{% include "tna/stages_edge.p4" %}{% endblock %}
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
{%- block carrier_start %}
        meta.dscp = 0;
{%- endblock %}
{%- block ethernet_select %}
            ETHERTYPE_SHIM: parse_shim;
{%- endblock %}
{%- block carrier_state %}

    state parse_shim {
        packet.extract(headers.shim);
        transition select(headers.shim.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
{%- endblock %}
{%- block read_carrier %}
        if (headers.shim.isValid()) {
{%- let owner = "meta" %}{% let value = "headers.shim.lossless_tag" %}{% let indent = "            " %}{% include "tagger/set_code.p4" %}
            meta.has_carrier = true;
        }
{%- include "tna/read_dscp.p4" %}
{%- endblock %}
{%- block edge_tables %}{% include "tna/edge_class.p4" %}
    // The lossless tag is written by egress.
    action push_shim() {
        headers.shim.setValid();
        headers.shim.version = 0;
        headers.shim.multipath = 0;
        headers.shim.destination = 0;
        headers.shim.resilience = 0;
        headers.shim.tree = 0;
        headers.shim.hop_limit = 0;
        headers.shim.lossless_tag = 0;
        headers.shim.forward_hops = 0;
        headers.shim.reverse_hops = 0;
        headers.shim.ether_type = headers.ethernet.ether_type;
        headers.ethernet.ether_type = ETHERTYPE_SHIM;
    }
{% endblock %}
{%- block edge_admit %}
            } else if (meta.from_host && headers.shim.isValid()) {
                drop_because((drop_index_t)DROP_FOREIGN_SHIM);
{%- endblock %}
{%- block edge_apply %}
                    if (meta.from_host) {
                        edge_class.apply();
                        push_shim();
                    }
{%- endblock %}
{%- block egress_select %}
            ETHERTYPE_SHIM: parse_shim;
{%- endblock %}
{%- block egress_state %}

    state parse_shim {
        packet.extract(headers.shim);
        transition select(headers.shim.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
{%- endblock %}
{%- block egress_tables %}{% include "tna/host_port_out.p4" %}{% endblock %}
{%- block write_tag %}
            headers.shim.lossless_tag = {% if v.split %}headers.bridge.class_bits ++ headers.bridge.tag{% else %}headers.bridge.code{% endif %};
            host_port_out.apply();
{%- endblock %}
