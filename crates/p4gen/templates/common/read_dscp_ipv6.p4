        meta.dscp = headers.ipv6.dscp;
