{%- if v.edge %}
    // --- Edge -------------------------------------------------------------------------------------

    @id(ID_ACTION_STRIP_CARRIER)
    action strip_carrier() {
        headers.ethernet.ether_type = {{ v.carrier_header }}.ether_type;
        {{ v.carrier_header }}.setInvalid();
    }

    // The ports behind which the carrier must not be seen.
    @id(ID_TABLE_HOST_PORT_OUT)
    table host_port_out {
        key = {
            {{ v.arch.out_port }} : exact @id(1) @name("port");
        }
        actions = {
            strip_carrier;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = HOST_PORT_SIZE;
    }
{% endif %}
