    // --- IslandIn: from a host, or from inside -----------------------------------------------------

    // The stamp of packets that enter here.
    @id(ID_ACTION_FROM_HOST)
    action from_host(@id(1) @refers_to(encap, version) bit<8> version) {
        meta.from_host = true;
        meta.version = version;
        meta.came_from = NO_PORT;
    }
{% if v.tna %}
    // `port`: the plan's number of the port.
{%- endif %}
    @id(ID_ACTION_FROM_FABRIC)
    action from_fabric({% if v.tna %}@id(1) port_id_t port{% endif %}) {
        meta.version = headers.shim.version;
        meta.came_from = {% if v.tna %}port{% else %}{{ v.arch.ingress_port }}{% endif %};
        meta.in_fabric = 1;
    }
{% if !v.tna %}
    @id(ID_ACTION_UNKNOWN_PORT)
    action unknown_port() {
        drop_because(DROP_UNKNOWN_PORT);
    }

    // Number 511 is NO_PORT, which stands for hosts.
{%- endif %}
    @id(ID_TABLE_ISLAND_IN)
{%- if !v.tna %}
    @entry_restriction("port != 511")
{%- endif %}
    table island_in {
        key = {
            {{ v.arch.ingress_port }} : exact @id(1) @name("port");
        }
        actions = {
            from_host;
            from_fabric;
            @defaultonly {% if v.tna %}NoAction{% else %}unknown_port{% endif %};
        }
        const default_action = {% if v.tna %}NoAction{% else %}unknown_port{% endif %}();
        size = ISLAND_IN_SIZE;
    }
