    // To the next switch. {% if v.mixed %}The number and the tree keep the bits of `keep` and get those
    // of `set`; a reverse route, if the packet keeps one, grows by itself.
{%- else if v.reverse %}Nothing else changes: the reverse route grows by itself.
{%- else if v.trees %}Trees keep the bits of `keep` and get those of `set`: failed trees, and the
    // tree that the packet is on from here.
{%- else %}The number keeps the bits of `keep` and gets those of `set`.
{%- endif %}
{%- for send in v.sends %}
{%- if !loop.first %}
{% endif %}
    @id({{ send.id }})
    action {{ send.name }}(
{%- for (kind, name) in send.params -%}
@id({{ loop.index }}) {% if loop.first %}@refers_to(island_in, port) {% endif %}{{ kind }} {{ name }}
{%- if !loop.last %},{% if loop.first || loop.index % 3 == 0 %}
{{ send.indent }}{% else %} {% endif %}{% endif %}
{%- endfor %}) {
{%- if v.tna %}
        for_tm.ucast_egress_port = port;
{%- if v.number %}
        headers.shim.resilience = headers.shim.resilience & keep;
        meta.set = set;
{%- endif %}
{%- if v.trees %}
        headers.shim.tree = headers.shim.tree & keep_tree;
        meta.set_tree = set_tree;
{%- endif %}
{%- else %}
        standard_metadata.egress_spec = port;
{%- if v.number %}
        headers.shim.resilience = (headers.shim.resilience & keep) | set;
{%- endif %}
{%- if v.trees %}
        headers.shim.tree = (headers.shim.tree & keep_tree) | set_tree;
{%- endif %}
{%- endif %}
{%- if v.tag.channels %}
        meta.channel = channel;
{%- endif %}
{%- if send.rest > 0 %}
        headers.shim.forward_hops = {{ send.rest }};
{%- endif %}
{%- for hop in 0..send.rest %}
        headers.forward[{{ hop }}].setValid();
        headers.forward[{{ hop }}].port = hop_{{ hop + 1 }};
{%- endfor %}
    }
{%- endfor %}
