
        if (headers.ipv4.isValid()) {
            meta.dscp = headers.ipv4.dscp;
        } else if (headers.ipv6.isValid()) {
            meta.dscp = headers.ipv6.dscp;
        }
