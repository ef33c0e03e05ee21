    @id(ID_ACTION_ANSWER)
    action answer(@id(1) @format(MAC_ADDRESS) mac_addr_t mac) {
        ipv4_addr_t asked = headers.arp.target_ip;
        headers.ethernet.dst_addr = headers.ethernet.src_addr;
        headers.ethernet.src_addr = mac;
        headers.arp.operation = ARP_REPLY;
        headers.arp.target_mac = headers.arp.sender_mac;
        headers.arp.target_ip = headers.arp.sender_ip;
        headers.arp.sender_mac = mac;
        headers.arp.sender_ip = asked;
        {{ v.arch.egress_port }} = {{ v.arch.ingress_port }};
        {% if v.tna %}meta.decided = true{% else %}exit{% endif %};
    }

    @id(ID_TABLE_NEIGHBOR)
    @entry_restriction("target_ip != 0")
    table neighbor {
        key = {
            {% if v.tna %}meta.asked{% else %}headers.arp.target_ip{% endif %} : exact @id(1) @name("target_ip") @format(IPV4_ADDRESS);
        }
        actions = {
            answer;
            @defaultonly NoAction;
        }
        const default_action = NoAction();
        size = {{ v.sizes.neighbors }};
    }
