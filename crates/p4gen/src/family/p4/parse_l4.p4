    state parse_l4 {
        packet.extract(headers.l4);
        meta.l4_src_port = headers.l4.src_port;
        meta.l4_dst_port = headers.l4.dst_port;
        transition accept;
    }
