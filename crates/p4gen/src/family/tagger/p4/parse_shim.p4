{%- if v.shim %}

    state parse_shim {
        packet.extract(headers.shim);
{%- if !v.tna %}
        meta.code = headers.shim.lossless_tag;
        meta.has_carrier = true;
{%- endif %}
        transition select(headers.shim.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }
{%- endif %}
