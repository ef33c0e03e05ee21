{%- for send in v.sends %}
            {{ send.name }};
{%- endfor %}
