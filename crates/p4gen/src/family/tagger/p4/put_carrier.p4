{%- if v.edge %}
{% include "tagger/p4/edge_class.p4" %}
{% if v.shim %}
    // The lossless tag is written by egress.
    action push_shim() {
        headers.shim.setValid();
        headers.shim.version = 0;
        headers.shim.multipath = 0;
        headers.shim.destination = 0;
        headers.shim.resilience = 0;
        headers.shim.tree = 0;
        headers.shim.hop_limit = 0;
{%- if v.tna %}
        headers.shim.lossless_tag = 0;
{%- endif %}
        headers.shim.forward_hops = 0;
        headers.shim.reverse_hops = 0;
        headers.shim.ether_type = headers.ethernet.ether_type;
        headers.ethernet.ether_type = ETHERTYPE_SHIM;
    }
{%- else %}
    // {% if v.pcp %}PCP{% else %}The VLAN id{% endif %} is written by egress.
    action push_vlan() {
        headers.vlan.setValid();
{%- if v.tna %}
        {{ v.carrier_field }} = 0;
{%- endif %}
        headers.vlan.ether_type = headers.ethernet.ether_type;
        headers.vlan.dei = 0;
{%- if v.pcp %}
        headers.vlan.vid = FABRIC_VLAN;
{%- else %}
        headers.vlan.pcp = 0;
{%- endif %}
        headers.ethernet.ether_type = ETHERTYPE_VLAN;
    }
{%- endif %}
{% endif %}
