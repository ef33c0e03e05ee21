{%- if v.tag.split %}
// What the carrier holds: the class ({{ v.tag.class_bits }} bits) above the code of a tag ({{ v.tag.tag_bits }} bits). Codes are the
// plan's choice, not a count of bounces. The class never changes, so that every class may have a limit
// of its own.
typedef bit<{{ v.tag.code_bits }}> code_t;
typedef bit<{{ v.tag.tag_bits }}> tag_t;
{%- else %}
// What the carrier holds: the code of a tag. Codes are the plan's choice, not a count of bounces.
typedef bit<{{ v.tag.code_bits }}> code_t;
typedef code_t tag_t;
{%- endif %}
const code_t LOSSY_CODE = {{ v.tag.lossy }};
{%- if !v.tag.maps %}

{% if v.tag.sets -%}
// A port as `classify` and `rewrite` match it: bit p stands for port p.
typedef bit<{{ v.tag.port_bits }}> port_key_t;
{%- else -%}
// A port as `classify` and `rewrite` match it: its number.
typedef port_id_t port_key_t;
{%- endif %}
{%- endif %}
