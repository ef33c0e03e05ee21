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

@noWarn("unused")
typedef bit<9>   port_id_t;      // as v1model numbers ports, and Tofino 1 and 2 their device ports
typedef bit<3>   priority_t;     // IEEE 802.1Qbb: eight classes
@noWarn("unused")
typedef bit<16>  ecmp_group_t;   // 0: no group
@noWarn("unused")
typedef bit<16>  flow_hash_t;

// ---------------------------------------------------------------------------------------------
// Protocol numbers (`@noWarn("unused")` marks what only some programs use)
// ---------------------------------------------------------------------------------------------

@noWarn("unused")
const ether_type_t ETHERTYPE_IPV4 = 0x0800;
const ether_type_t ETHERTYPE_ARP  = 0x0806;
@noWarn("unused")
const ether_type_t ETHERTYPE_VLAN = 0x8100;
@noWarn("unused")
const ether_type_t ETHERTYPE_IPV6 = 0x86DD;
const ether_type_t ETHERTYPE_MAC_CONTROL = 0x8808;   // PAUSE and PFC
@noWarn("unused")
const ether_type_t ETHERTYPE_SHIM = 0x88B5;          // IEEE 802: local experimental 1

@noWarn("unused")
const ip_protocol_t PROTOCOL_TCP  = 6;
@noWarn("unused")
const ip_protocol_t PROTOCOL_UDP  = 17;
@noWarn("unused")
const ip_protocol_t PROTOCOL_SCTP = 132;

const bit<16> ARP_HARDWARE_ETHERNET = 1;
const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY   = 2;

// ---------------------------------------------------------------------------------------------
// Conventions
// ---------------------------------------------------------------------------------------------

@noWarn("unused")
const priority_t LOSSY_PRIORITY = 0;     // never paused, may drop; 1 to 7 are lossless
@noWarn("unused")
const vlan_id_t  FABRIC_VLAN    = 1;     // VLAN of frames that hosts sent untagged (carrier vlan-pcp)

@noWarn("unused")
const port_id_t  NO_PORT        = 511;   // where a failover program says "came from a host"
@noWarn("unused")
const bit<8>     MOST_SWITCHES  = 255;   // hop limit with which a packet enters a failover fabric

// Why a packet was dropped: index into ingress.dropped.
@noWarn("unused")
typedef bit<4> drop_index_t;
const bit<32> DROP_MALFORMED    = 0;     // the parser met a header that is too short or unusable
@noWarn("unused")
const bit<32> DROP_CHECKSUM     = 1;     // IPv4 header checksum
const bit<32> DROP_MAC_CONTROL  = 2;     // PAUSE and PFC end at the port that receives them
const bit<32> DROP_GROUP        = 3;     // broadcast or multicast, except an ARP request of a host
@noWarn("unused")
const bit<32> DROP_NOT_ROUTABLE = 4;     // neither IPv4 nor IPv6
const bit<32> DROP_TTL          = 5;     // TTL or hop limit used up
const bit<32> DROP_NO_ROUTE     = 6;     // no route, or an ECMP group without members
const bit<32> DROP_BY_ROUTE     = 7;     // a route that says discard
@noWarn("unused")
const bit<32> DROP_FOREIGN_SHIM = 8;     // a host sent the fabric's own header
@noWarn("unused")
const bit<32> DROP_NO_SHIM      = 9;     // a switch sent a packet without it
@noWarn("unused")
const bit<32> DROP_UNKNOWN_PORT = 10;    // came in by a port that the plan does not know
@noWarn("unused")
const bit<32> DROP_DENIED       = 11;    // the security table says so
@noWarn("unused")
const bit<32> DROP_NO_HOST      = 12;    // arrived, but the host is not here or its port is down
@noWarn("unused")
const bit<32> DROP_NO_SUCH_PORT = 13;    // a source route names a port that leads to no switch
@noWarn("unused")
const bit<32> DROP_DEAD_PORT    = 14;    // a rule sends it out of a port that is down
@noWarn("unused")
const bit<32> DROP_TOO_LONG     = 15;    // its reverse route no longer fits the header

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
#define ISLAND_IN_SIZE        512
#define SECURITY_SIZE         4096
#define NEIGHBOR_SIZE         65536
#define ENCAP_SIZE            131072     // two plans side by side
#define SRC_FORWARD_SIZE      1024
#define LOCAL_HOST_SIZE       16384
#define ISLAND_OUT_SIZE       512

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
#define ID_TABLE_PORT_STATUS        0x02000009
#define ID_TABLE_ISLAND_IN          0x0200000A
#define ID_TABLE_SECURITY           0x0200000B
#define ID_TABLE_NEIGHBOR           0x0200000C
#define ID_TABLE_ENCAP              0x0200000D
#define ID_TABLE_SRC_FORWARD        0x0200000E
#define ID_TABLE_LOCAL_HOST         0x0200000F
#define ID_TABLE_RES_FORWARD        0x02000010
#define ID_TABLE_SRC_UPDATE         0x02000011
#define ID_TABLE_ISLAND_OUT         0x02000012
#define ID_TABLE_IN_PORT_BIT        0x02000013
#define ID_TABLE_OUT_PORT_BIT       0x02000014
#define ID_TABLE_PORT_DOWN          0x02000015
#define ID_TABLE_PORT_ALIVE         0x02000016
#define ID_TABLE_WAY                0x02000017

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
#define ID_ACTION_SET_PORT_STATUS     0x0100000C
#define ID_ACTION_FROM_HOST           0x0100000D
#define ID_ACTION_FROM_FABRIC         0x0100000E
#define ID_ACTION_UNKNOWN_PORT        0x0100000F
#define ID_ACTION_DENY                0x01000010
#define ID_ACTION_ANSWER              0x01000011
#define ID_ACTION_ENCAPSULATE         0x01000012
#define ID_ACTION_ENCAPSULATE_FLOW    0x01000013
#define ID_ACTION_UNKNOWN_DESTINATION 0x01000014
#define ID_ACTION_FOLLOW              0x01000015
#define ID_ACTION_ABANDON             0x01000016
#define ID_ACTION_NO_SUCH_PORT        0x01000017
#define ID_ACTION_DELIVER             0x01000018
#define ID_ACTION_NO_HOST             0x01000019
#define ID_ACTION_NO_WAY              0x0100001A
#define ID_ACTION_NO_RULE             0x0100001B
#define ID_ACTION_POP                 0x0100001C
#define ID_ACTION_PUSH                0x0100001D
#define ID_ACTION_POP_AND_PUSH        0x0100001E
#define ID_ACTION_DECAPSULATE         0x0100001F
#define ID_ACTION_SET_IN_PORT         0x01000020
#define ID_ACTION_SET_OUT_PORT        0x01000021
#define ID_ACTION_TAKE_DOWN           0x01000022
#define ID_ACTION_ALIVE               0x01000023
#define ID_ACTION_TAKE_WAY            0x01000024
#define ID_ACTION_SEND                0x01000040   // send_1, send_2, ... follow

#define ID_SELECTOR_ECMP            0x11000001

#define ID_COUNTER_DROPPED          0x12000001
#define ID_COUNTER_INGRESS_CLASS    0x12000002
#define ID_COUNTER_EGRESS_CLASS     0x12000003

#endif  // SWITCHWRIGHT_LAYOUT_P4_
