
    // A packet that comes in by the port of a member has come back: the switch there has lost the
    // link that this switch still counts on. The hash would choose that member again and again, so
    // the packet goes on by the next member that leads to another switch.
    @id(ID_TABLE_ECMP_RETURN)
    @entry_restriction("group != 0")
    table ecmp_return {
        key = {
            meta.ecmp_group : exact @id(1) @name("group");
            {{ v.arch.ingress_port }} : exact @id(2) @name("in_port");
        }
        actions = {
            next_hop;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = {{ v.sizes.ecmp_returns }};
    }
