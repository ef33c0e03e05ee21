    state parse_arp {
        packet.extract(headers.arp);
        transition accept;
    }
{%- if v.multipath || v.tagged %}

    state parse_ipv4 {
        packet.extract(headers.ipv4);
{%- if v.tagged %}
        meta.dscp = headers.ipv4.dscp;
{%- endif %}
{%- if v.multipath %}
{%- if !v.tna %}
        meta.flow_src = (ipv6_addr_t)headers.ipv4.src_addr;
        meta.flow_dst = (ipv6_addr_t)headers.ipv4.dst_addr;
        meta.flow_protocol = headers.ipv4.protocol;
{%- endif %}
        transition select(headers.ipv4.ihl, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP):  parse_l4;
            (5, 0, PROTOCOL_UDP):  parse_l4;
            (5, 0, PROTOCOL_SCTP): parse_l4;
            default: accept;
        }
{%- else %}
        transition accept;
{%- endif %}
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
{%- if v.tagged %}
        meta.dscp = headers.ipv6.dscp;
{%- endif %}
{%- if v.multipath %}
{%- if !v.tna %}
        meta.flow_src = headers.ipv6.src_addr;
        meta.flow_dst = headers.ipv6.dst_addr;
        meta.flow_protocol = headers.ipv6.next_header;
{%- endif %}
        transition select(headers.ipv6.next_header) {
            PROTOCOL_TCP:  parse_l4;
            PROTOCOL_UDP:  parse_l4;
            PROTOCOL_SCTP: parse_l4;
            default: accept;
        }
{%- else %}
        transition accept;
{%- endif %}
    }
{%- endif %}
{%- if v.multipath && v.tna %}

{% include "p4/parse_l4.p4" %}
{%- else if v.multipath %}

    state parse_l4 {
        packet.extract(headers.l4);
        meta.flow_src_port = headers.l4.src_port;
        meta.flow_dst_port = headers.l4.dst_port;
        transition accept;
    }
{%- endif %}
