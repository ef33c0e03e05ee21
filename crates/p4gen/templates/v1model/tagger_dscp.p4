{% extends "v1model/tagger.p4" %}
{%- block stages %}//   ingress                                                                       egress
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| classify      |=>| rewrite       |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | (tag, in, out |  | (tag, in, out |
//  |        |  |       |  |  ARP)     |  |                 |  |  port)        |  |  port)        |
//  +--------+  +-------+  +-----------+  +-----------------+  +---------------+  +---------------+
//   the tag     bad                       out port             ING_PRIO,          new tag
//               frames                                         EG_PRIO
//               dropped{% endblock %}
{%- block carrier_doc %}// The tag travels in the DSCP of IPv4 and IPv6: nothing is added to a packet, and end hosts choose
// their class with the DSCP that they send. ECN is left alone.
{% endblock %}
{%- block read_ipv4 %}
        meta.code = headers.ipv4.dscp;
        meta.has_carrier = true;
{%- endblock %}
{%- block read_ipv6 %}
        meta.code = headers.ipv6.dscp;
        meta.has_carrier = true;
{%- endblock %}
{%- block write_tag %}
            if (headers.ipv4.isValid()) {
                headers.ipv4.dscp = meta.code;
            } else {
                headers.ipv6.dscp = meta.code;
            }
{%- endblock %}
