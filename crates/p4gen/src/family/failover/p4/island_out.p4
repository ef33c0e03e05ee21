    // --- IslandOut: hosts never see the header -----------------------------------------------------

    @id(ID_ACTION_DECAPSULATE)
    action decapsulate() {
        headers.ethernet.ether_type = headers.shim.ether_type;
        headers.shim.setInvalid();
{%- if v.routes %}
{%- include "failover/p4/drop_route.p4" %}
{%- endif %}
{%- if v.reverse %}
{%- if v.tna %}
        headers.arrived.setInvalid();
{%- for hop in 0..v.stack %}
        headers.reverse[{{ hop }}].setInvalid();
{%- endfor %}
{%- else %}
        headers.reverse.pop_front({{ v.stack }});
{%- endif %}
{%- endif %}
    }

    @id(ID_TABLE_ISLAND_OUT)
    table island_out {
        key = {
            {{ v.out_port }} : exact @id(1) @name("port"){% if v.tna %} @refers_to(island_in, port){% endif %};
        }
        actions = {
            decapsulate;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = ISLAND_OUT_SIZE;
    }
