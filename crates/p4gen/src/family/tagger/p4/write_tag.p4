{%- if v.edge %}
            {{ v.carrier_field }} = {{ v.leaving_code }};
            host_port_out.apply();
{%- else %}
            if (headers.ipv4.isValid()) {
                headers.ipv4.dscp = {{ v.leaving_code }};
            } else {
                headers.ipv6.dscp = {{ v.leaving_code }};
            }
{%- endif %}
