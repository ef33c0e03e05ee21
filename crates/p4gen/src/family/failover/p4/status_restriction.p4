        port_status::value == port_status::mask;
{%- if v.tna && v.wide %}
        port_status_high::value == port_status_high::mask;
{%- endif %}
