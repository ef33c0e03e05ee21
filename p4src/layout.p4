// Widths, protocol numbers, sizes and control-plane ids: one file, shared by every generated program.
//
// `src/plan/layout.rs` holds the same names and numbers for the side that writes table entries; a
// test keeps the two files together. Ids are stable: an id that was published is never given to
// anything else, so that a controller may keep entries across two builds.

#ifndef SWITCHWRIGHT_LAYOUT_P4_
#define SWITCHWRIGHT_LAYOUT_P4_

// ---------------------------------------------------------------------------------------------
// Widths
// ---------------------------------------------------------------------------------------------

typedef bit<48>  mac_addr_t;
typedef bit<32>  ipv4_addr_t;
typedef bit<128> ipv6_addr_t;
typedef bit<16>  ether_type_t;
typedef bit<8>   ip_protocol_t;
typedef bit<16>  l4_port_t;
typedef bit<6>   dscp_t;
typedef bit<12>  vlan_id_t;

typedef bit<9>   port_id_t;      // as v1model numbers ports
typedef bit<3>   priority_t;     // IEEE 802.1Qbb: eight classes
typedef bit<16>  ecmp_group_t;   // 0: no group
typedef bit<16>  flow_hash_t;

// ---------------------------------------------------------------------------------------------
// Protocol numbers (`@noWarn("unused")` marks constants that only some programs use)
// ---------------------------------------------------------------------------------------------

const ether_type_t ETHERTYPE_IPV4 = 0x0800;
const ether_type_t ETHERTYPE_ARP  = 0x0806;
const ether_type_t ETHERTYPE_VLAN = 0x8100;
const ether_type_t ETHERTYPE_IPV6 = 0x86DD;
const ether_type_t ETHERTYPE_MAC_CONTROL = 0x8808;   // PAUSE and PFC
@noWarn("unused")
const ether_type_t ETHERTYPE_SHIM = 0x88B5;          // IEEE 802: local experimental 1

const ip_protocol_t PROTOCOL_TCP  = 6;
const ip_protocol_t PROTOCOL_UDP  = 17;
const ip_protocol_t PROTOCOL_SCTP = 132;

const bit<16> ARP_HARDWARE_ETHERNET = 1;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY   = 2;

// ---------------------------------------------------------------------------------------------
// Conventions
// ---------------------------------------------------------------------------------------------

const priority_t LOSSY_PRIORITY = 0;     // never paused, may drop; 1 to 7 are lossless
@noWarn("unused")
const vlan_id_t  FABRIC_VLAN    = 1;     // VLAN of frames that hosts sent untagged (carrier vlan-pcp)

// Why a packet was dropped: index into ingress.dropped.
const bit<32> DROP_MALFORMED    = 0;     // the parser met a header that is too short or unusable
const bit<32> DROP_CHECKSUM     = 1;     // IPv4 header checksum
const bit<32> DROP_MAC_CONTROL  = 2;     // PAUSE and PFC end at the port that receives them
const bit<32> DROP_GROUP        = 3;     // broadcast or multicast, except an ARP request of a host
const bit<32> DROP_NOT_ROUTABLE = 4;     // neither IPv4 nor IPv6
const bit<32> DROP_TTL          = 5;     // TTL or hop limit used up
const bit<32> DROP_NO_ROUTE     = 6;     // no route, or an ECMP group without members
const bit<32> DROP_BY_ROUTE     = 7;     // a route that says discard
@noWarn("unused")
const bit<32> DROP_FOREIGN_SHIM = 8;     // a host sent the fabric's own header

// ---------------------------------------------------------------------------------------------
// Sizes
// ---------------------------------------------------------------------------------------------

#define HOST_PORT_SIZE        512
#define EDGE_CLASS_SIZE       64
#define ROUTE_SIZE            65536
#define ECMP_GROUP_SIZE       4096
#define ECMP_SELECTOR_SIZE    32768      // members over all groups
#define ECMP_GROUP_MEMBERS    512        // members of one group
#define TAG_RULE_SIZE         65536
#define CLASS_COUNTER_SIZE    4096       // port (9 bits) ++ priority (3 bits)
#define DROP_COUNTER_SIZE     16

// ---------------------------------------------------------------------------------------------
// Control-plane ids (P4Runtime: the first byte says what kind of object it is)
// ---------------------------------------------------------------------------------------------

#define ID_TABLE_HOST_PORT          0x02000001
#define ID_TABLE_EDGE_CLASS         0x02000002
#define ID_TABLE_IPV4_ROUTE         0x02000003
#define ID_TABLE_IPV6_ROUTE         0x02000004
#define ID_TABLE_ECMP_GROUP         0x02000005
#define ID_TABLE_CLASSIFY           0x02000006
#define ID_TABLE_REWRITE            0x02000007
#define ID_TABLE_HOST_PORT_OUT      0x02000008

#define ID_ACTION_FACE_HOST         0x01000001
#define ID_ACTION_SET_INITIAL_CODE  0x01000002
#define ID_ACTION_NEXT_HOP          0x01000003
#define ID_ACTION_ECMP              0x01000004
#define ID_ACTION_DISCARD           0x01000005
#define ID_ACTION_SET_PRIORITIES    0x01000006
#define ID_ACTION_LOSSY             0x01000007
#define ID_ACTION_SET_TAG           0x01000008
#define ID_ACTION_SET_LOSSY_CODE    0x01000009
#define ID_ACTION_STRIP_CARRIER     0x0100000A
#define ID_ACTION_SET_EDGE_LOSSY    0x0100000B

#define ID_SELECTOR_ECMP            0x11000001

#define ID_COUNTER_DROPPED          0x12000001
#define ID_COUNTER_INGRESS_CLASS    0x12000002
#define ID_COUNTER_EGRESS_CLASS     0x12000003

#endif  // SWITCHWRIGHT_LAYOUT_P4_
