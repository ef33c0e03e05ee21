// Between its first and its last switch a packet carries the fabric's own header (`shim_t`) behind
// Ethernet, and hosts never see it: what a host sends is what the other gets, byte for byte. Every
// switch matches the status of its own ports, so that a packet turns to a backup way at the switch
// that sees the failure, with nothing but a lookup, and its header tells the next switches of it.
//
{%- include "failover/p4/doc.p4" %}
