{%- if v.split %}
    bit<{{ v.class_bits }}>       class_bits;
    tag_t        tag;
{%- else %}
    code_t       code;
{%- endif %}
