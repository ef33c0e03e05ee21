    // --- Local: has the packet arrived, and is the host's port up? ---------------------------------

    @id(ID_ACTION_DELIVER)
    action deliver(@id(1) @refers_to(island_in, port) {{ v.arch.port_type }} port) {
        {{ v.arch.egress_port }} = port;
{%- if !v.tna %}
        meta.decided = true;
{%- endif %}
    }

    @id(ID_ACTION_NO_HOST)
    action no_host() {
        drop_because({{ v.arch.reason }}DROP_NO_HOST);
    }

    @id(ID_TABLE_LOCAL_HOST)
    @entry_restriction("
        dst_addr::mask == 0 || dst_addr::mask == 0xffffffffffff;
{% include "failover/p4/status_restriction.p4" %}
    ")
    table local_host {
        key = {
            meta.version              : exact @id(1) @name("version");
            headers.shim.destination  : exact @id(2) @name("destination");
            headers.ethernet.dst_addr : ternary @id(3) @name("dst_addr") @format(MAC_ADDRESS);
            meta.port_status          : ternary @id(4) @name("port_status");
{%- include "failover/p4/status_high_key.p4" %}
        }
        actions = {
            deliver;
            no_host;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = {{ v.sizes.local_hosts }};
    }
