{%- if v.multipath || v.tagged %}
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
{%- endif %}
