

    // --- SrcFwd: the next hop of the forward route, if that port is up -----------------------------

    @id(ID_ACTION_FOLLOW)
    action follow(@id(1) port_id_t port) {
        standard_metadata.egress_spec = port;
        meta.by_route = 1;
        meta.decided = true;
    }

    // The port is down: the whole forward route is void.
    @id(ID_ACTION_ABANDON)
    action abandon() {
        headers.forward.pop_front({{STACK}});
        headers.shim.forward_hops = 0;
    }

    @id(ID_ACTION_NO_SUCH_PORT)
    action no_such_port() {
        drop_because(DROP_NO_SUCH_PORT);
    }

    @id(ID_TABLE_SRC_FORWARD)
    table src_forward {
        key = {
            meta.version            : exact @id(1) @name("version");
            headers.forward[0].port : exact @id(2) @name("next_hop");
            meta.port_status        : ternary @id(3) @name("port_status");
        }
        actions = {
            follow;
            abandon;
            @defaultonly no_such_port;
        }
        const default_action = no_such_port();
        size = SRC_FORWARD_SIZE;
    }
