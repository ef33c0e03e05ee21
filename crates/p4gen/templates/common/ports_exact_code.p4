                        meta.in_port  = standard_metadata.ingress_port;
                        meta.out_port = standard_metadata.egress_spec;
