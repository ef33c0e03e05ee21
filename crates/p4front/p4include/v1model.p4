// The v1model architecture: what programs for BMv2's simple_switch are written against.
//
//   Parser -> VerifyChecksum -> Ingress -> (queues, replication) -> Egress -> ComputeChecksum -> Deparser
//
// Two versions exist. Defining V1MODEL_VERSION as 20200408 or later before this file is included
// lets counters, meters and registers be indexed by a type of the program's choice and gives ports
// the type PortId_t; otherwise indices are bit<32> and ports bit<9>.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include "core.p4"

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

match_kind {
    range,      // from a lowest to a highest value
    optional,   // all bits, or anything
    selector    // input of the hash of an action selector; not matched on
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9>  PortId_t;
#endif

// What travels with a packet. @alias names the field of the switch that a field stands for.
@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t    ingress_port;   // where the packet came in
    PortId_t    egress_spec;    // where ingress sends it; 511 drops it
    PortId_t    egress_port;    // where it goes out; for egress to read
#else
    bit<9>      ingress_port;
    bit<9>      egress_spec;
    bit<9>      egress_port;
#endif
    bit<32>     instance_type;  // why egress or ingress sees it: normal, clone, replica, ...
    bit<32>     packet_length;  // in bytes
    // Queueing, for egress to read; microseconds and packets.
    @alias("queueing_metadata.enq_timestamp")
    bit<32>     enq_timestamp;
    @alias("queueing_metadata.enq_qdepth")
    bit<19>     enq_qdepth;
    @alias("queueing_metadata.deq_timedelta")
    bit<32>     deq_timedelta;
    @alias("queueing_metadata.deq_qdepth")
    bit<19>     deq_qdepth;
    // Microseconds since the switch started.
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48>     ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48>     egress_global_timestamp;
    // Replication: ingress chooses a group; egress reads which replica it has.
    @alias("intrinsic_metadata.mcast_grp")
    bit<16>     mcast_grp;
    @alias("intrinsic_metadata.egress_rid")
    bit<16>     egress_rid;
    bit<1>      checksum_error; // 1 if a verify_checksum failed
    error       parser_error;   // how parsing ended
    @alias("intrinsic_metadata.priority")
    bit<3>      priority;       // of the queue
}

// What counters count.
enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

// What meters measure.
enum MeterType {
    packets,
    bytes
}

// An array of counters. An index out of range counts nothing.
extern counter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    counter(bit<32> size, CounterType type);
#if V1MODEL_VERSION >= 20200408
    void count(in I index);
#else
    void count(in bit<32> index);
#endif
}

// A counter per entry of the table whose property `counters` names it. Every hit counts, with or
// without a call of count in the action.
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

// An array of two-rate three-color meters (RFC 2698). The result is one of the colors above; for
// an index out of range it is unspecified.
extern meter
#if V1MODEL_VERSION >= 20200408
<I>
#endif
{
    meter(bit<32> size, MeterType type);
#if V1MODEL_VERSION >= 20200408
    void execute_meter<T>(in I index, out T result);
#else
    void execute_meter<T>(in bit<32> index, out T result);
#endif
}

// A meter per entry of the table whose property `meters` names it; read gives the color of the
// packet being processed.
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

// An array of values that stay from packet to packet. Reading out of range gives an unspecified
// value, writing out of range does nothing.
#if V1MODEL_VERSION >= 20200408
extern register<T, I>
#else
extern register<T>
#endif
{
    register(bit<32> size);
    @noSideEffects
#if V1MODEL_VERSION >= 20200408
    void read(out T result, in I index);
#else
    void read(out T result, in bit<32> index);
#endif
#if V1MODEL_VERSION >= 20200408
    void write(in I index, in T value);
#else
    void write(in bit<32> index, in T value);
#endif
}

// Implementation of a table whose entries name members of actions, shared among entries.
extern action_profile {
    action_profile(bit<32> size);
}

// A random value between lo and hi, both inclusive.
extern void random<T>(out T result, in T lo, in T hi);

// Sends data to the control plane, when ingress ends.
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,     // the one's complement sum of the Internet protocols
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

// Sets egress_spec to the port that drops, and mcast_grp to 0. A later assignment may revive the
// packet.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// result = base + (hash of data) mod max; base if max is 0.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

// Implementation of a table whose entries name groups of actions; the hash of the key's selector
// fields chooses among the members of a group.
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,        // of the packet as it came in, to egress
    E2E         // of the packet as it leaves egress, to egress
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// If the condition holds: compares the checksum of data, or sets it. With payload: the bytes the
// parser left are summed too.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum,
                                  HashAlgorithm algo);

extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum,
                                               HashAlgorithm algo);

@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum,
                                               HashAlgorithm algo);

// A copy of the packet goes to egress, to the ports of the session. The last call decides.
extern void clone(in CloneType type, in bit<32> session);

// The packet starts again: from ingress, as it came in (resubmit), or from egress, as it leaves
// (recirculate). Metadata fields annotated with @field_list(index) keep their values.
@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);
extern void resubmit_preserving_field_list(bit<8> index);

@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);

extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

// Shortens the packet, as deparsed, to at most this many bytes.
extern void truncate(in bit<32> length);

// The program claims that the check holds (assert) or may be taken to hold (assume).
extern void assert(in bool check);
extern void assume(in bool check);

// Writes to the log of the switch; {} stands for the next element of data.
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

// Only calls of verify_checksum and verify_checksum_with_payload.
control VerifyChecksum<H, M>(inout H hdr,
                             inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

// Only calls of update_checksum and update_checksum_with_payload.
control ComputeChecksum<H, M>(inout H hdr,
                              inout M meta);

// Only calls of emit.
@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#endif  // _V1_MODEL_P4_
