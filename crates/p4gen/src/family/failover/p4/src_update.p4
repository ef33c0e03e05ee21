{%- if v.routes || v.reverse %}

    // --- SrcUpdate: pop the hop that was followed, push the port that the packet came by -----------
{%- for update in v.updates %}

    @id(ID_ACTION_{{ update.name|upper }})
    action {{ update.name }}() {
{%- if update.pops %}
{%- if v.tna %}
        headers.forward[0].setInvalid();
{%- else %}
        headers.forward.pop_front(1);
{%- endif %}
        headers.shim.forward_hops = headers.shim.forward_hops - 1;
{%- endif %}
{%- if update.pushes %}
{%- if v.tna %}
        headers.arrived.setValid();
        headers.arrived.port = (bit<8>)meta.came_from;
{%- else %}
        headers.reverse.push_front(1);
        headers.reverse[0].setValid();
        headers.reverse[0].port = (bit<8>)standard_metadata.ingress_port;
{%- endif %}
        headers.shim.reverse_hops = headers.shim.reverse_hops + 1;
{%- endif %}
    }
{%- endfor %}

    @id(ID_TABLE_SRC_UPDATE)
    table src_update {
        key = {
            meta.by_route  : exact @id(1) @name("by_route");
            meta.{{ v.grows }} : exact @id(2) @name("{{ v.grows }}");
        }
        actions = {
{%- for update in v.updates %}
            {{ update.name }};
{%- endfor %}
            @defaultonly NoAction;
        }
        const entries = {
{%- for update in v.updates %}
{%- for key in update.keys %}
            {{ key }} : {{ update.name }}();
{%- endfor %}
{%- endfor %}
        }
        const default_action = NoAction();
    }
{%- endif %}
