{%- if v.tna && v.tag.split %}
{{ indent }}{{ owner }}.class_bits = {{ value }}[{{ v.tag.code_top }}:{{ v.tag.tag_bits }}];
{{ indent }}{{ owner }}.tag = {{ value }}[{{ v.tag.tag_top }}:0];
{%- else %}
{{ indent }}{{ owner }}.code = {{ value }};
{%- endif %}
