{%- if v.shim %}
            ETHERTYPE_SHIM: parse_shim;
{%- endif %}
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_ARP:  parse_arp;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
{%- include "tagger/p4/parse_shim.p4" %}
