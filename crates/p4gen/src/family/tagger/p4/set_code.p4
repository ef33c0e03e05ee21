{%- if v.tna && v.split %}
{{ indent }}{{ owner }}.class_bits = {{ value }}[{{ v.code_top }}:{{ v.tag_bits }}];
{{ indent }}{{ owner }}.tag = {{ value }}[{{ v.tag_top }}:0];
{%- else %}
{{ indent }}{{ owner }}.code = {{ value }};
{%- endif %}
