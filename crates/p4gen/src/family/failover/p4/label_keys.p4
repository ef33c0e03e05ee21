{%- if v.reverse %}
            meta.reverse_hops : ternary @id(5) @name("hops");
{%- for hop in 0..v.stack %}
            meta.rev_{{ hop }} : ternary @id({{ hop + 6 }}) @name("rev_{{ hop }}");
{%- endfor %}
{%- endif %}
{%- if v.number %}
            headers.shim.resilience : ternary @id({{ v.tag_id }}) @name("tag");
{%- if v.trees %}
            headers.shim.tree : ternary @id({{ v.tree_id }}) @name("tree");
{%- endif %}
{%- endif %}
