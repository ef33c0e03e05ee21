

    state parse_ipv4 {
        packet.extract(headers.ipv4);
        transition select(headers.ipv4.ihl, headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP):  parse_l4;
            (5, 0, PROTOCOL_UDP):  parse_l4;
            (5, 0, PROTOCOL_SCTP): parse_l4;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
        transition select(headers.ipv6.next_header) {
            PROTOCOL_TCP:  parse_l4;
            PROTOCOL_UDP:  parse_l4;
            PROTOCOL_SCTP: parse_l4;
            default: accept;
        }
    }

    state parse_l4 {
        packet.extract(headers.l4);
        meta.l4_src_port = headers.l4.src_port;
        meta.l4_dst_port = headers.l4.dst_port;
        transition accept;
    }
