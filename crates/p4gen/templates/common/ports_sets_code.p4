                        meta.in_port  = (port_key_t)1 << (bit<8>)standard_metadata.ingress_port;
                        meta.out_port = (port_key_t)1 << (bit<8>)standard_metadata.egress_spec;
                        // A number beyond the bitmap, which only a CPU port has, leaves no bit, and a
                        // key without a bit would match every set.
                        if (meta.in_port == 0 || meta.out_port == 0) {
                            meta.code = LOSSY_CODE;
                        }
