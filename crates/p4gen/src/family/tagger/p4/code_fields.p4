{%- if v.tag.split %}
    bit<{{ v.tag.class_bits }}>       class_bits;
    tag_t        tag;
{%- else %}
    code_t       code;
{%- endif %}
