    @entry_restriction("
        tag != {{ v.lossy_tag }};
{%- if v.sets %}
        in_port::value == 0;
        out_port::value == 0;
{%- endif %}
{%- if v.split %}
        class::mask == 0 || class::mask == {{ v.class_mask }};
{%- endif %}
    ")
