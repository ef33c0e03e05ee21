{%- if v.routes %}

    // --- SrcFwd: the next hop of the forward route, if that port is up -----------------------------

    @id(ID_ACTION_FOLLOW)
    action follow(@id(1) @refers_to(island_in, port) {{ v.arch.port_type }} port) {
        {{ v.arch.egress_port }} = port;
        meta.by_route = 1;
        meta.decided = true;
    }

    // The port is down: the whole forward route is void.
    @id(ID_ACTION_ABANDON)
    action abandon() {
{%- include "failover/p4/drop_route.p4" %}
        headers.shim.forward_hops = 0;
    }

    @id(ID_ACTION_NO_SUCH_PORT)
    action no_such_port() {
        drop_because({{ v.arch.reason }}DROP_NO_SUCH_PORT);
    }

    // Only ports that are up are asked for.
    @id(ID_TABLE_SRC_FORWARD)
    @entry_restriction("
{% include "failover/p4/status_restriction.p4" %}
    ")
    table src_forward {
        key = {
            meta.version            : exact @id(1) @name("version");
            headers.forward[0].port : exact @id(2) @name("next_hop");
            meta.port_status        : ternary @id(3) @name("port_status");
{%- include "failover/p4/status_high_key.p4" %}
        }
        actions = {
            follow;
            abandon;
            @defaultonly no_such_port;
        }
        const default_action = no_such_port();
        size = {{ v.sizes.next_hops }};
    }
{%- endif %}
