{% extends "tna/tagger.p4" %}
{%- block stages %}//   ingress                                                                          egress
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| classify rewrite |=>| write the tag |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | (tag, in, out    |  |               |
//  |        |  |       |  |  ARP)     |  |                 |  |  port)           |  |               |
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//   the tag     bad                       out port             ingress_cos, qid;     checksum
//               frames                                         new tag
//               dropped{% endblock %}
{%- block carrier_doc %}// The tag travels in the DSCP of IPv4 and IPv6: nothing is added to a packet, and end hosts choose
// their class with the DSCP that they send. ECN is left alone.
{% endblock %}
{%- block read_carrier %}
        if (headers.ipv4.isValid()) {
{%- let owner = "meta" %}{% let value = "headers.ipv4.dscp" %}{% let indent = "            " %}{% include "tagger/set_code.p4" %}
            meta.has_carrier = true;
        } else if (headers.ipv6.isValid()) {
{%- let owner = "meta" %}{% let value = "headers.ipv6.dscp" %}{% let indent = "            " %}{% include "tagger/set_code.p4" %}
            meta.has_carrier = true;
        }
{%- endblock %}
{%- block write_tag %}
            if (headers.ipv4.isValid()) {
                headers.ipv4.dscp = {% if v.split %}headers.bridge.class_bits ++ headers.bridge.tag{% else %}headers.bridge.code{% endif %};
            } else {
                headers.ipv6.dscp = {% if v.split %}headers.bridge.class_bits ++ headers.bridge.tag{% else %}headers.bridge.code{% endif %};
            }
{%- endblock %}
