    // --- SONiC's maps: DSCP -> traffic class -> priority group (in port), queue (out port) ---------

    @id(ID_ACTION_SET_TC)
    action set_tc(@id(1) bit<4> tc) {
        meta.tc = tc;
    }

    @id(ID_ACTION_SET_PG)
    action set_pg(@id(1) priority_t ing_prio) {
        meta.ing_prio = ing_prio;
    }

    @id(ID_ACTION_SET_QUEUE)
    action set_queue(@id(1) priority_t eg_prio) {
        meta.eg_prio = eg_prio;
    }

    // DSCP_TO_TC_MAP of the in port.
    @id(ID_TABLE_DSCP_TO_TC)
    table dscp_to_tc {
        key = {
            standard_metadata.ingress_port : exact @id(1) @name("in_port");
            meta.code                      : exact @id(2) @name("dscp");
        }
        actions = {
            set_tc;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = TAG_RULE_SIZE;
    }

    // ACL rules that set the traffic class, where the platform has them.
    @id(ID_TABLE_ACL_TC)
    table acl_tc {
        key = {
            standard_metadata.ingress_port : exact @id(1) @name("in_port");
            meta.code                      : exact @id(2) @name("dscp");
            standard_metadata.egress_spec  : exact @id(3) @name("out_port");
        }
        actions = {
            set_tc;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = TAG_RULE_SIZE;
    }

    // TC_TO_PRIORITY_GROUP_MAP of the in port.
    @id(ID_TABLE_TC_TO_PG)
    table tc_to_pg {
        key = {
            standard_metadata.ingress_port : exact @id(1) @name("in_port");
            meta.tc                        : exact @id(2) @name("tc");
        }
        actions = {
            set_pg;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = TAG_RULE_SIZE;
    }

    // TC_TO_QUEUE_MAP of the out port.
    @id(ID_TABLE_TC_TO_QUEUE)
    table tc_to_queue {
        key = {
            standard_metadata.egress_spec  : exact @id(1) @name("out_port");
            meta.tc                        : exact @id(2) @name("tc");
        }
        actions = {
            set_queue;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = TAG_RULE_SIZE;
    }