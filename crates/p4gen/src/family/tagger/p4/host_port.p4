    // --- Edge: what happens only at ports that face hosts -----------------------------------------

    @id(ID_ACTION_FACE_HOST)
    action face_host(@id(1) @format(MAC_ADDRESS) mac_addr_t gateway_mac) {
        meta.from_host = true;
        meta.gateway_mac = gateway_mac;
    }

    // The ports that face hosts, with the address that the fabric shows there.
    @id(ID_TABLE_HOST_PORT)
    table host_port {
        key = {
            {{ v.arch.ingress_port }} : exact @id(1) @name("port");
        }
        actions = {
            face_host;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = HOST_PORT_SIZE;
    }

    action answer_arp() {
        ipv4_addr_t asked = headers.arp.target_ip;
        headers.ethernet.dst_addr = headers.ethernet.src_addr;
        headers.ethernet.src_addr = meta.gateway_mac;
        headers.arp.operation = ARP_REPLY;
        headers.arp.target_mac = headers.arp.sender_mac;
        headers.arp.target_ip = headers.arp.sender_ip;
        headers.arp.sender_mac = meta.gateway_mac;
        headers.arp.sender_ip = asked;
        {{ v.arch.egress_port }} = {{ v.arch.ingress_port }};
        meta.has_carrier = false;        // it goes back as it came, no tag is rewritten
    }
