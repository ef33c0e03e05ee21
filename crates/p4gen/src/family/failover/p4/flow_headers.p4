{%- if v.multipath %}
    ipv4_t       ipv4;             // of hosts' packets, for the choice of a routing
    ipv6_t       ipv6;
    l4_ports_t   l4;
{%- endif %}
