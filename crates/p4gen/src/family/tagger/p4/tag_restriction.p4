    @entry_restriction("
        tag != {{ v.tag.lossy_tag }};
{%- if v.tag.sets %}
        in_port::value == 0;
        out_port::value == 0;
{%- endif %}
{%- if v.tag.split %}
        class::mask == 0 || class::mask == {{ v.tag.class_mask }};
{%- endif %}
    ")
