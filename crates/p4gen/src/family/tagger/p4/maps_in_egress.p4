    // --- SONiC's maps: traffic class -> new DSCP (out port) ----------------------------------------

    @id(ID_ACTION_SET_DSCP)
    action set_dscp(@id(1) code_t dscp) {
        meta.code = dscp;
    }

    // TC_TO_DSCP_MAP of the out port; without one the DSCP stays.
    @id(ID_TABLE_TC_TO_DSCP)
    table tc_to_dscp {
        key = {
            standard_metadata.egress_port : exact @id(1) @name("out_port");
            meta.tc                       : exact @id(2) @name("tc");
        }
        actions = {
            set_dscp;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = TAG_RULE_SIZE;
    }