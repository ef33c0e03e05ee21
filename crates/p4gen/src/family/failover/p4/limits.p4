//   - Broadcast and multicast frames are dropped. An ARP request of a host is answered here, with
//     the other host's own address.
//   - The fabric must carry frames that are longer by the header: 14 bytes{% if v.routes || v.reverse %}, and one for every hop{% endif %}.
