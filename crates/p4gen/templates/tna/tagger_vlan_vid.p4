{% extends "tna/tagger.p4" %}
{%- block stages %}{% include "tna/stages_edge.p4" %}{% endblock %}
{%- block carrier_doc %}// The tag travels in the VLAN id of an 802.1Q tag; PCP is left alone. A host that sends 802.1Q frames
// chooses its class with their VLAN id; a frame that a host sends untagged gets the first tag of the
// class that its DSCP picks. Towards hosts the 802.1Q tag is taken off.
{% endblock %}
{%- block carrier_metadata %}
    dscp_t       dscp;             // of the IP header: the class at the edge
{%- endblock %}
{%- block carrier_start %}
        meta.dscp = 0;
{%- endblock %}
{%- block read_carrier %}
        if (headers.vlan.isValid()) {
{%- let owner = "meta" %}{% let value = "headers.vlan.vid" %}{% let indent = "            " %}{% include "tagger/set_code.p4" %}
            meta.has_carrier = true;
        }
{%- include "tna/read_dscp.p4" %}
{%- endblock %}
{%- block edge_tables %}{% include "tna/edge_class.p4" %}
    // The VLAN id is written by egress.
    action push_vlan() {
        headers.vlan.setValid();
        headers.vlan.vid = 0;
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
{%- block egress_tables %}{% include "tna/host_port_out.p4" %}{% endblock %}
{%- block write_tag %}
            headers.vlan.vid = {% if v.split %}headers.bridge.class_bits ++ headers.bridge.tag{% else %}headers.bridge.code{% endif %};
            host_port_out.apply();
{%- endblock %}
