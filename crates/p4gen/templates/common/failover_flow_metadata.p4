

    // The flow, where the packet has such fields: its routing is chosen by them.
    ipv6_addr_t   flow_src;
    ipv6_addr_t   flow_dst;
    ip_protocol_t flow_protocol;
    l4_port_t     flow_src_port;
    l4_port_t     flow_dst_port;
