    // --- Ports as one-hot bitmaps ------------------------------------------------------------------

    @id(ID_ACTION_SET_IN_PORT)
    action set_in_port(@id(1) port_key_t bits) {
        meta.in_port = bits;
    }

    @id(ID_TABLE_IN_PORT_BIT)
    table in_port_bit {
        key = {
            intrinsic.ingress_port : exact @id(1) @name("port");
        }
        actions = {
            set_in_port;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = HOST_PORT_SIZE;
    }

    @id(ID_ACTION_SET_OUT_PORT)
    action set_out_port(@id(1) port_key_t bits) {
        meta.out_port = bits;
    }

    @id(ID_TABLE_OUT_PORT_BIT)
    table out_port_bit {
        key = {
            for_tm.ucast_egress_port : exact @id(1) @name("port");
        }
        actions = {
            set_out_port;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = HOST_PORT_SIZE;
    }
