                        meta.in_port  = intrinsic.ingress_port;
                        meta.out_port = for_tm.ucast_egress_port;
