

    // All packets of a flow take one of `ways` routings, whose destinations follow on each other.
    @id(ID_ACTION_ENCAPSULATE_FLOW)
    action encapsulate_flow(@id(1) bit<16> destination, @id(2) bit<16> ways) {
        bit<16> path;
        hash(path, HashAlgorithm.crc32, 16w0,
             { headers.ethernet.src_addr, headers.ethernet.dst_addr, meta.flow_src, meta.flow_dst,
               meta.flow_protocol, meta.flow_src_port, meta.flow_dst_port }, ways);
        push_shim(destination + path, (bit<8>)path);
    }
