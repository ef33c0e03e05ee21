        meta.dscp = headers.ipv4.dscp;
