
        if (headers.ipv4.isValid()) {
            hash_ipv4_flow();
        } else if (headers.ipv6.isValid()) {
            hash_ipv6_flow();
        } else {
            hash_other_flow();
        }
