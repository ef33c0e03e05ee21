{%- if v.edge %}
    @id(ID_ACTION_SET_INITIAL_CODE)
    action set_initial_code(@id(1) code_t code) {
{%- let owner = "meta" %}{% let value = "code" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
        meta.has_carrier = true;
    }

    @id(ID_ACTION_SET_EDGE_LOSSY)
    action set_edge_lossy() {
{%- let owner = "meta" %}{% let value = "LOSSY_CODE" %}{% let indent = "        " %}{% include "tagger/p4/set_code.p4" %}
        meta.has_carrier = true;
    }

    // A packet that a host sent without a carrier: its DSCP picks the class, and so the first tag.
    @id(ID_TABLE_EDGE_CLASS)
    @entry_restriction("dscp != 0")
    table edge_class {
        key = {
            meta.dscp : exact @id(1) @name("dscp");
        }
        actions = {
            set_initial_code;
            @defaultonly set_edge_lossy;
        }
        const default_action = set_edge_lossy();
        size = EDGE_CLASS_SIZE;
    }
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
