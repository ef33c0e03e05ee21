    @id(ID_ACTION_UNKNOWN_DESTINATION)
    action unknown_destination() {
        drop_because({{ v.arch.reason }}DROP_NO_ROUTE);
    }

    @id(ID_TABLE_ENCAP)
    table encap {
        key = {
            meta.version              : exact @id(1) @name("version");
            headers.ethernet.dst_addr : exact @id(2) @name("dst_addr") @format(MAC_ADDRESS);
        }
        actions = {
            encapsulate;
{%- if v.multipath %}
            encapsulate_flow;
{%- endif %}
            @defaultonly unknown_destination;
        }
        const default_action = unknown_destination();
        size = {{ v.sizes.destinations }};
    }
