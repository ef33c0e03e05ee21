

    // All packets of a flow take one of `ways` routings, whose destinations follow on each other.
    @id(ID_ACTION_ENCAPSULATE_FLOW)
    action encapsulate_flow(@id(1) bit<16> destination, @id(2) bit<16> ways) {
        push_shim(destination);
        meta.ways = ways;
    }
