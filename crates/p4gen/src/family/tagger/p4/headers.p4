    ethernet_t   ethernet;
{%- if v.shim %}
    shim_t       shim;
{%- endif %}
    vlan_t       vlan;
    arp_ipv4_t   arp;
    ipv4_t       ipv4;
    ipv6_t       ipv6;
    l4_ports_t   l4;
