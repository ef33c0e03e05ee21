{%- if v.multipath || v.tagged %}
    ipv4_t       ipv4;             // of hosts' packets, for the {% if v.multipath %}choice of a routing{% else %}class{% endif %}
    ipv6_t       ipv6;
{%- if v.multipath %}
    l4_ports_t   l4;
{%- endif %}
{%- endif %}
