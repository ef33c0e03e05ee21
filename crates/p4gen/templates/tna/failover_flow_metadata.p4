

    // The flow. The ports are zero where the packet has none, or is a later fragment.
    l4_port_t    l4_src_port;
    l4_port_t    l4_dst_port;
    bit<16>      flow_hash;
    bit<16>      ways;             // routings to choose from; 0: one
