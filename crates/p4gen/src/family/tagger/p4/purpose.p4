{% if v.tag.maps -%}
// This is the pipeline of a switch under SONiC, as far as lossless traffic goes: the DSCP gives a
// traffic class, the traffic class the priority group at the in port, and queue and new DSCP at the
// out port. The tables are filled from the switch's config_db.json.
//
{% endif -%}
// The tag of a packet says which lossless class it may use and so breaks every cycle of buffers
// that wait for each other. Routing knows nothing of it: the output port is chosen first.
//
{%- if v.shim %}
// The tag travels in a header of the fabric's own between Ethernet and what Ethernet carried. The
// switch port that faces a host puts it on (first tag by DSCP) and takes it off: hosts never see it,
// and a frame in which a host sends it is dropped.
{%- else if v.pcp %}
// The tag travels in the priority code point (PCP) of an 802.1Q tag. A host that sends 802.1Q frames
// chooses its class with their PCP; a frame that a host sends untagged gets the fabric VLAN and the
// first tag of the class that its DSCP picks. Towards hosts the 802.1Q tag is taken off.
{%- else if v.vlan %}
// The tag travels in the VLAN id of an 802.1Q tag; PCP is left alone. A host that sends 802.1Q frames
// chooses its class with their VLAN id; a frame that a host sends untagged gets the first tag of the
// class that its DSCP picks. Towards hosts the 802.1Q tag is taken off.
{%- else %}
// The tag travels in the DSCP of IPv4 and IPv6: nothing is added to a packet, and end hosts choose
// their class with the DSCP that they send. ECN is left alone.
{%- endif %}
