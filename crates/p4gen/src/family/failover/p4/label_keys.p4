{%- if v.reverse %}
            meta.reverse_hops : ternary @id(5) @name("hops");
{%- for hop in 0..v.stack %}
            meta.rev_{{ hop }} : ternary @id({{ hop + 6 }}) @name("rev_{{ hop }}");
{%- endfor %}
{%- else %}
            headers.shim.resilience : ternary @id(5) @name("tag");
{%- if v.trees %}
            headers.shim.tree : ternary @id(6) @name("tree");
{%- endif %}
{%- endif %}
