    // --- Routing: longest prefix, then a member of the ECMP group ----------------------------------

    @id(ID_ACTION_NEXT_HOP)
    action next_hop(@id(1) {{ v.arch.port_type }} port,
                    @id(2) @format(MAC_ADDRESS) mac_addr_t src_mac,
                    @id(3) @format(MAC_ADDRESS) mac_addr_t dst_mac) {
        {{ v.arch.egress_port }} = port;
        headers.ethernet.src_addr = src_mac;
        headers.ethernet.dst_addr = dst_mac;
        meta.routed = true;
    }

    // `hash_shift` (0 to 16) picks the bits of the flow hash that this switch uses. Where two tiers
    // used the same bits, the second would send all flows that reach it the same way.
    @id(ID_ACTION_ECMP)
    action ecmp(@id(1) @refers_to(ecmp_group, group) ecmp_group_t group, @id(2) bit<8> hash_shift) {
        meta.ecmp_group = group;
        meta.hash_shift = hash_shift;
    }

    @id(ID_ACTION_DISCARD)
    action discard() {
{%- if !v.tna %}
        meta.routed = false;
{%- endif %}
        drop_because({{ v.arch.reason }}DROP_BY_ROUTE);
    }
{%- if v.tna %}

    action no_route() {
        drop_because({{ v.arch.reason }}DROP_NO_ROUTE);
    }
{%- endif %}

    @id(ID_TABLE_IPV4_ROUTE)
    table ipv4_route {
        key = {
            headers.ipv4.dst_addr : lpm @id(1) @name("dst_addr") @format(IPV4_ADDRESS);
        }
        actions = {
            next_hop;
            ecmp;
            discard;
            @defaultonly {{ v.no_route }};
        }
        const default_action = {{ v.no_route }}();
        size = {{ v.sizes.ipv4_routes }};
    }

    @id(ID_TABLE_IPV6_ROUTE)
    table ipv6_route {
        key = {
            headers.ipv6.dst_addr : lpm @id(1) @name("dst_addr") @format(IPV6_ADDRESS);
        }
        actions = {
            next_hop;
            ecmp;
            discard;
            @defaultonly {{ v.no_route }};
        }
        const default_action = {{ v.no_route }}();
        size = {{ v.sizes.ipv6_routes }};
    }
