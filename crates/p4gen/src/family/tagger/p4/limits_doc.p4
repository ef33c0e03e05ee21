//   - One 802.1Q tag is understood; a frame with two carries, for this program, neither IPv4 nor IPv6.
//   - Broadcast and multicast frames are not forwarded (this is a routed fabric). An ARP request
//     that arrives from a host is answered with the port's own address, so hosts need no static ARP.
//   - No ICMP errors are generated.
