{%- if v.tna %}
{%- for hop in 0..v.stack %}
        headers.forward[{{ hop }}].setInvalid();
{%- endfor %}
{%- else %}
        headers.forward.pop_front({{ v.stack }});
{%- endif %}
