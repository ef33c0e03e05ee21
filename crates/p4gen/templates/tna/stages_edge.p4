//   ingress                                                                          egress
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//  | parser |->| admit |->| host_port |->| ipv4/ipv6_route |->| edge_class       |=>| write the tag |
//  |        |  |       |  | (edge:    |  | ecmp_group      |  | classify rewrite |  | host_port_out |
//  |        |  |       |  |  ARP)     |  |                 |  | (tag, in, out)   |  |               |
//  +--------+  +-------+  +-----------+  +-----------------+  +------------------+  +---------------+
//   the tag     bad                       out port             first tag of what     carrier off
//               frames                                         hosts send;           towards hosts
//               dropped                                        ingress_cos, qid;
//                                                              new tag
