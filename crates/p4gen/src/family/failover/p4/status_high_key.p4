{%- if v.tna && v.wide %}
            meta.port_status_high : ternary @id({{ v.status_high_id }}) @name("port_status_high");
{%- endif %}
