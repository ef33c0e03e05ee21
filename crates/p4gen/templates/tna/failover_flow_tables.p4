

    // The flow: addresses, and ports where the packet has them; zeros for what it has not.
    Hash<bit<16>>(HashAlgorithm_t.CRC32) ipv4_flow;
    Hash<bit<16>>(HashAlgorithm_t.CRC32) ipv6_flow;
    Hash<bit<16>>(HashAlgorithm_t.CRC32) other_flow;

    action hash_ipv4_flow() {
        meta.flow_hash = ipv4_flow.get({ headers.ethernet.src_addr, headers.ethernet.dst_addr,
                                         96w0, headers.ipv4.src_addr, 96w0, headers.ipv4.dst_addr,
                                         headers.ipv4.protocol, meta.l4_src_port, meta.l4_dst_port });
    }

    action hash_ipv6_flow() {
        meta.flow_hash = ipv6_flow.get({ headers.ethernet.src_addr, headers.ethernet.dst_addr,
                                         headers.ipv6.src_addr, headers.ipv6.dst_addr,
                                         headers.ipv6.next_header, meta.l4_src_port,
                                         meta.l4_dst_port });
    }

    action hash_other_flow() {
        meta.flow_hash = other_flow.get({ headers.ethernet.src_addr, headers.ethernet.dst_addr,
                                          128w0, 128w0, 8w0, 16w0, 16w0 });
    }

    @id(ID_ACTION_TAKE_WAY)
    action take_way(@id(1) bit<16> path) {
        headers.shim.destination = headers.shim.destination + path;
        headers.shim.multipath = path[7:0];
    }

    // The hash modulo the number of ways. A table: an ALU does not divide.
    @id(ID_TABLE_WAY)
    table way {
        key = {
            meta.ways      : exact @id(1) @name("ways");
            meta.flow_hash : ternary @id(2) @name("flow_hash");
        }
        actions = {
            take_way;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = {{ROOM}};
    }
