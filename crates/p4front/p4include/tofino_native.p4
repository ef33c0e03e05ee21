// What `tna.p4` and `t2na.p4` have in common. __TARGET_TOFINO__ is the chip, 1 or 2; TNA_T2NA is defined for `t2na.p4`;
// TNA_OPTIONAL stands before parameters that only `tna.p4` lets a program leave out.

#ifndef _TOFINO_NATIVE_P4_
#define _TOFINO_NATIVE_P4_

#include <core.p4>

// ----- widths and types of the chip -----

#define PORT_ID_WIDTH            9
#define MULTICAST_GROUP_ID_WIDTH 16
#define RESUBMIT_TYPE_WIDTH      3
#define DIGEST_TYPE_WIDTH        3
#define REPLICATION_ID_WIDTH     16
#define L1_EXCLUSION_ID_WIDTH    16
#define L2_EXCLUSION_ID_WIDTH    9
#if __TARGET_TOFINO__ == 2
#define QUEUE_ID_WIDTH    7
#define MIRROR_TYPE_WIDTH 4
#define MIRROR_ID_WIDTH   8
#else
#define QUEUE_ID_WIDTH    5
#define MIRROR_TYPE_WIDTH 3
#define MIRROR_ID_WIDTH   10
#endif

typedef bit<PORT_ID_WIDTH>            PortId_t;
typedef bit<MULTICAST_GROUP_ID_WIDTH> MulticastGroupId_t;
typedef bit<QUEUE_ID_WIDTH>           QueueId_t;
typedef bit<MIRROR_TYPE_WIDTH>        MirrorType_t;
typedef bit<MIRROR_ID_WIDTH>          MirrorId_t;
typedef bit<RESUBMIT_TYPE_WIDTH>      ResubmitType_t;
typedef bit<DIGEST_TYPE_WIDTH>        DigestType_t;
typedef bit<REPLICATION_ID_WIDTH>     ReplicationId_t;
typedef bit<L1_EXCLUSION_ID_WIDTH>    L1ExclusionId_t;
typedef bit<L2_EXCLUSION_ID_WIDTH>    L2ExclusionId_t;
#ifdef TNA_T2NA
typedef MirrorType_t                  CloneId_t;
#endif

typedef error ParserError_t;

// Bits between ingress_intrinsic_metadata_t and the packet: the port's metadata, or what was resubmitted.
#if __TARGET_TOFINO__ == 2
const bit<32> PORT_METADATA_SIZE = 32w192;
#else
const bit<32> PORT_METADATA_SIZE = 32w64;
#endif

// A device port is a pipe and a port in it.
#define DEVPORT_PIPE_MASK  0x180
#define DEVPORT_PIPE(port) (port)[8:7]
#define DEVPORT_PORT_MASK  0x7f
#define DEVPORT_PORT(port) (port)[6:0]

// Flags of `parser_err`.
const bit<16> PARSER_ERROR_OK           = 16w0x0000;
const bit<16> PARSER_ERROR_NO_MATCH     = 16w0x0001;
const bit<16> PARSER_ERROR_PARTIAL_HDR  = 16w0x0002;
const bit<16> PARSER_ERROR_CTR_RANGE    = 16w0x0004;
const bit<16> PARSER_ERROR_TIMEOUT_USER = 16w0x0008;
const bit<16> PARSER_ERROR_TIMEOUT_HW   = 16w0x0010;
const bit<16> PARSER_ERROR_SRC_EXT      = 16w0x0020;
#ifndef TNA_T2NA
const bit<16> PARSER_ERROR_DST_CONT     = 16w0x0040;
#endif
const bit<16> PARSER_ERROR_PHV_OWNER    = 16w0x0080;
const bit<16> PARSER_ERROR_MULTIWRITE   = 16w0x0100;
const bit<16> PARSER_ERROR_ARAM_MBE     = 16w0x0400;
const bit<16> PARSER_ERROR_FCS          = 16w0x0800;
#ifdef TNA_T2NA
const bit<16> PARSER_ERROR_CSUM_MBE     = 16w0x1000;
#endif

enum MeterType_t { PACKETS, BYTES }
enum bit<8> MeterColor_t { GREEN = 8w0, YELLOW = 8w1, RED = 8w3 }
enum CounterType_t { PACKETS, BYTES, PACKETS_AND_BYTES }
enum SelectorMode_t { FAIR, RESILIENT }
enum HashAlgorithm_t { IDENTITY, RANDOM, XOR8, XOR16, XOR32, CRC8, CRC16, CRC32, CRC64, CUSTOM }

match_kind {
    range,
    selector,              // not matched: input of an action selector's hash
    atcam_partition_index,
#ifdef TNA_T2NA
    dleft_hash
#endif
}

error {
    CounterRange,
    Timeout,
    PhvOwner,
    MultiWrite,
    IbufOverflow,
    IbufUnderflow
}

// ----- ingress metadata -----

// Stands before every packet that enters the ingress parser.
header ingress_intrinsic_metadata_t {
    bit<1>  resubmit_flag;          // it comes a second time
    @padding bit<1> _pad1;
    bit<2>  packet_version;
    @padding bit<3> _pad2;
    PortId_t ingress_port;
    bit<48> ingress_mac_tstamp;     // ns
}

// What the traffic manager is told.
struct ingress_intrinsic_metadata_for_tm_t {
    PortId_t ucast_egress_port;     // no unicast copy unless it is set
    bit<1>  bypass_egress;          // straight to the port
    bit<1>  deflect_on_drop;
    bit<3>  ingress_cos;            // the priority group that is accounted and paused upstream
    QueueId_t qid;                  // the queue of the port
    bit<3>  icos_for_copy_to_cpu;
    bit<1>  copy_to_cpu;
    bit<2>  packet_color;
    bit<1>  disable_ucast_cutthru;
    bit<1>  enable_mcast_cutthru;
    MulticastGroupId_t mcast_grp_a; // 0: none
    MulticastGroupId_t mcast_grp_b;
    bit<13> level1_mcast_hash;
    bit<13> level2_mcast_hash;
    L1ExclusionId_t level1_exclusion_id;
    L2ExclusionId_t level2_exclusion_id;
    bit<16> rid;
}

struct ingress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;          // ns
    bit<32> global_ver;
    bit<16> parser_err;             // PARSER_ERROR_*
}

struct ingress_intrinsic_metadata_for_deparser_t {
    bit<3> drop_ctl;                // bit 0: no copy to ports and no resubmission; 1: none to the CPU; 2: no mirror
    DigestType_t digest_type;
    ResubmitType_t resubmit_type;
    MirrorType_t mirror_type;
#ifdef TNA_T2NA
    bit<1>  mirror_io_select;       // mirror the packet as it came (0) or as it leaves (1)
    bit<13> mirror_hash;
    bit<3>  mirror_ingress_cos;
    bit<1>  mirror_deflect_on_drop;
    bit<1>  mirror_multicast_ctrl;
    PortId_t mirror_egress_port;
    QueueId_t mirror_qid;
    bit<8>  mirror_coalesce_length;
    bit<32> adv_flow_ctl;
    bit<14> mtu_trunc_len;
    bit<1>  mtu_trunc_err_f;
    bit<1>  pktgen;
    bit<14> pktgen_address;
    bit<10> pktgen_length;
#endif
}

#ifdef TNA_T2NA
// What a ghost thread sees: the length of a queue that changed.
header ghost_intrinsic_metadata_t {
    bit<1>  ping_pong;
    bit<18> qlength;
    bit<11> qid;
    bit<2>  pipe_id;
}
#endif

// ----- egress metadata -----

// Stands before every packet that enters the egress parser.
header egress_intrinsic_metadata_t {
    @padding bit<7> _pad0;
    PortId_t egress_port;
    @padding bit<5> _pad1;
    bit<19> enq_qdepth;
    @padding bit<6> _pad2;
    bit<2>  enq_congest_stat;
#if __TARGET_TOFINO__ == 2
#ifdef TNA_T2NA
    bit<32> enq_tstamp;
#else
    @padding bit<14> _pad3;
    bit<18> enq_tstamp;
#endif
#else
    @padding bit<14> _pad3;
    bit<18> enq_tstamp;
#endif
    @padding bit<5> _pad4;
    bit<19> deq_qdepth;
    @padding bit<6> _pad5;
    bit<2>  deq_congest_stat;
    bit<8>  app_pool_congest_stat;
#ifdef TNA_T2NA
    bit<32> deq_timedelta;
#else
    @padding bit<14> _pad6;
    bit<18> deq_timedelta;
#endif
    bit<16> egress_rid;             // which multicast copy
    @padding bit<7> _pad7;
    bit<1>  egress_rid_first;
    @padding bit<(8 - QUEUE_ID_WIDTH % 8)> _pad8;
    QueueId_t egress_qid;
    @padding bit<5> _pad9;
    bit<3>  egress_cos;
    @padding bit<7> _pad10;
    bit<1>  deflection_flag;
    bit<16> pkt_length;             // bytes
#ifdef TNA_T2NA
    @padding bit<8> _pad11;
#endif
}

struct egress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;
    bit<32> global_ver;
    bit<16> parser_err;
}

struct egress_intrinsic_metadata_for_deparser_t {
    bit<3> drop_ctl;                // bit 0: not sent; 2: no mirror
    MirrorType_t mirror_type;
    bit<1> coalesce_flush;
    bit<7> coalesce_length;
#ifdef TNA_T2NA
    bit<1>  mirror_io_select;
    bit<13> mirror_hash;
    bit<3>  mirror_ingress_cos;
    bit<1>  mirror_deflect_on_drop;
    bit<1>  mirror_multicast_ctrl;
    PortId_t mirror_egress_port;
    QueueId_t mirror_qid;
    bit<8>  mirror_coalesce_length;
    bit<32> adv_flow_ctl;
    bit<14> mtu_trunc_len;
    bit<1>  mtu_trunc_err_f;
#endif
}

struct egress_intrinsic_metadata_for_output_port_t {
    bit<1> capture_tstamp_on_tx;
    bit<1> update_delay_on_tx;
}

// ----- headers of generated packets -----

#ifdef TNA_T2NA
#define TNA_PKTGEN_APP @padding bit<2> _pad1; bit<2> pipe_id; bit<4> app_id;
#else
#define TNA_PKTGEN_APP @padding bit<3> _pad1; bit<2> pipe_id; bit<3> app_id;
#endif

header pktgen_timer_header_t {
    TNA_PKTGEN_APP
    @padding bit<8> _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_port_down_header_t {
    TNA_PKTGEN_APP
    @padding bit<15> _pad2;
    PortId_t port_num;
    bit<16> packet_id;
}

header pktgen_recirc_header_t {
    TNA_PKTGEN_APP
#ifdef TNA_T2NA
    @padding bit<8> _pad2;
    bit<16> batch_id;
#else
    bit<24> key;
#endif
    bit<16> packet_id;
}

#ifdef TNA_T2NA
header pktgen_deparser_header_t {
    TNA_PKTGEN_APP
    @padding bit<8> _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_pfc_header_t {
    TNA_PKTGEN_APP
    @padding bit<40> _pad2;
}
#endif

// Before a packet whose departure is time-stamped: what the egress MAC shall mend.
header ptp_metadata_t {
    bit<8>  udp_cksum_byte_offset;
    bit<8>  cf_byte_offset;
    bit<48> updated_cf;
}

// ----- packets: checksums, counters of the parser, hashes -----

// The Internet checksum: one's complement sum of 16-bit words.
extern Checksum {
    Checksum();
    void add<T>(in T data);
    void subtract<T>(in T data);
    // Parser: whether what was added is wrong (a right header sums up to ones).
    bool verify();
    void subtract_all_and_deposit<T>(out T residual);
    // Parser: the sum, as a residual for `update`.
    bit<16> get();
    // Deparser: the checksum of the data.
    bit<16> update<T>(in T data, @optional in bool zeros_as_ones);
}

extern ParserCounter {
    ParserCounter();
    void set<T>(in T value);
#ifdef TNA_T2NA
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add);
    void push<T>(in T value, @optional bool update_with_top);
    void push<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add,
                 @optional bool update_with_top);
    void pop();
#else
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<3> mask, in bit<8> add);
#endif
    bool is_zero();
    bool is_negative();
    void increment(in bit<8> value);
    void decrement(in bit<8> value);
}

extern ParserPriority {
    ParserPriority();
    void set(in bit<3> prio);
}

extern CRCPolynomial<T> {
    CRCPolynomial(T coeff, bool reversed, bool msb, bool extended, T init, T xor);
}

extern Hash<W> {
    Hash(HashAlgorithm_t algo);
    Hash(HashAlgorithm_t algo, CRCPolynomial<_> poly);
    W get<D>(in D data);
}

extern Random<W> {
    Random();
    W get();
}

extern T max<T>(in T t1, in T t2);
extern T min<T>(in T t1, in T t2);
#ifdef TNA_T2NA
extern void funnel_shift_right<T>(out T dst, in T src1, in T src2, int shift_amount);
#else
extern void funnel_shift_right<T>(inout T dst, in T src1, in T src2, int shift_amount);
#endif
extern void invalidate<T>(in T field);
extern bool is_validated<T>(in T field);
// Takes the port metadata, all PORT_METADATA_SIZE bits of it; the first of them are the result.
extern T port_metadata_unpack<T>(packet_in pkt);
extern bit<32> sizeInBits<H>(in H h);
extern bit<32> sizeInBytes<H>(in H h);

#ifdef TNA_T2NA
extern IdleTimeout {
    IdleTimeout();
}
#endif

// ----- state: counters, meters, registers -----

#ifdef TNA_T2NA
#define TNA_ACCOUNTING , @optional bool true_egress_accounting
#else
#define TNA_ACCOUNTING
#endif

extern Counter<W, I> {
    Counter(bit<32> size, CounterType_t type TNA_ACCOUNTING);
    void count(in I index, @optional in bit<32> adjust_byte_count);
}

extern DirectCounter<W> {
    DirectCounter(CounterType_t type TNA_ACCOUNTING);
    void count(@optional in bit<32> adjust_byte_count);
}

// `execute` tells the colour, as MeterColor_t.
extern Meter<I> {
    Meter(bit<32> size, MeterType_t type TNA_ACCOUNTING);
    Meter(bit<32> size, MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green TNA_ACCOUNTING);
    bit<8> execute(in I index, @optional in MeterColor_t color, @optional in bit<32> adjust_byte_count);
}

extern DirectMeter {
    DirectMeter(MeterType_t type TNA_ACCOUNTING);
    DirectMeter(MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green TNA_ACCOUNTING);
    bit<8> execute(@optional in MeterColor_t color, @optional in bit<32> adjust_byte_count);
}

extern Lpf<T, I> {
    Lpf(bit<32> size);
    T execute(in T val, in I index);
}

extern DirectLpf<T> {
    DirectLpf();
    T execute(in T val);
}

extern Wred<T, I> {
    Wred(bit<32> size, bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val, in I index);
}

extern DirectWred<T> {
    DirectWred(bit<8> drop_value, bit<8> no_drop_value);
    bit<8> execute(in T val);
}

extern Register<T, I> {
    Register(bit<32> size);
    Register(bit<32> size, T initial_value);
    T read(in I index);
    T write(in I index, in T value);
#ifdef TNA_T2NA
    void clear(in T value, @optional in T busy);
#endif
}

extern DirectRegister<T> {
    DirectRegister();
    DirectRegister(T initial_value);
    T read();
    T write(in T value);
#ifdef TNA_T2NA
    void clear(in T value, @optional in T busy);
#endif
}

extern RegisterParam<T> {
    RegisterParam(T initial_value);
    T read();
}

enum MathOp_t { MUL, SQR, SQRT, DIV, RSQR, RSQRT }

extern MathUnit<T> {
    MathUnit(bool invert, int<2> shift, int<6> scale,
             tuple<bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>,
                   bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>> data);
    MathUnit(MathOp_t op, int factor);
    MathUnit(MathOp_t op, int A, int B);
    T execute(in T x);
}

// A program of the stateful ALU: `execute` reads the register's cell, runs `apply` on it, and writes it back.
#ifdef TNA_T2NA
#define TNA_MINMAX \
    bit<8>  min8<N>(in N val, in bit<16> mask, @optional out bit<4> index); \
    bit<8>  max8<N>(in N val, in bit<16> mask, @optional out bit<4> index); \
    bit<16> min16<N>(in N val, in bit<8> mask, @optional out bit<3> index); \
    bit<16> max16<N>(in N val, in bit<8> mask, @optional out bit<3> index);

extern RegisterAction<T, I, U> {
    RegisterAction(Register<_, _> reg);
    U execute(@optional in I index, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    U execute_log(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U enqueue(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U dequeue(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U push(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U pop(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    void sweep(@optional in U busy);
    @synchronous(execute, execute_log, enqueue, dequeue, push, pop, sweep)
    abstract void apply(inout T value, @optional out U rv1, @optional out U rv2,
                        @optional out U rv3, @optional out U rv4);
    @synchronous(enqueue, push)
    @optional abstract void overflow(@optional inout T value, @optional out U rv1, @optional out U rv2,
                                     @optional out U rv3, @optional out U rv4);
    @synchronous(dequeue, pop)
    @optional abstract void underflow(@optional inout T value, @optional out U rv1, @optional out U rv2,
                                      @optional out U rv3, @optional out U rv4);
    U address(@optional bit<1> subword);
    U predicate(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    TNA_MINMAX
}

extern RegisterAction2<T, I, U1, U2> {
    RegisterAction2(Register<_, _> reg);
    U1 execute(in I index, out U2 rv2);
    @synchronous(execute)
    abstract void apply(inout T value, out U1 rv1, out U2 rv2);
    U address<U>(@optional bit<1> subword);
    U predicate<U>(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    TNA_MINMAX
}

extern RegisterAction3<T, I, U1, U2, U3> {
    RegisterAction3(Register<_, _> reg);
    U1 execute(in I index, out U2 rv2, out U3 rv3);
    @synchronous(execute)
    abstract void apply(inout T value, out U1 rv1, out U2 rv2, out U3 rv3);
    U address<U>(@optional bit<1> subword);
    U predicate<U>(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    TNA_MINMAX
}

extern RegisterAction4<T, I, U1, U2, U3, U4> {
    RegisterAction4(Register<_, _> reg);
    U1 execute(in I index, out U2 rv2, out U3 rv3, out U4 rv4);
    @synchronous(execute)
    abstract void apply(inout T value, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    U address<U>(@optional bit<1> subword);
    U predicate<U>(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    TNA_MINMAX
}

extern DirectRegisterAction<T, U> {
    DirectRegisterAction(DirectRegister<T> reg);
    U execute(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    @synchronous(execute)
    abstract void apply(inout T value, @optional out U rv, @optional out U rv2,
                        @optional out U rv3, @optional out U rv4);
    U address(@optional bit<1> subword);
    U predicate(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    TNA_MINMAX
}

extern LearnAction<T, I, D, U> {
    LearnAction(Register<T, I> reg);
    U execute(in I index, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    @synchronous(execute)
    abstract void apply(inout T value, in D digest, in bool learn,
                        @optional out U rv1, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    U address(@optional bit<1> subword);
    U predicate(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    TNA_MINMAX
}

extern MinMaxAction<T, I, U> {
    MinMaxAction(Register<T, _> reg);
    U execute(@optional in I index, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    @synchronous(execute)
    abstract void apply(inout bit<128> value, @optional out U rv1, @optional out U rv2,
                        @optional out U rv3, @optional out U rv4);
    U address(@optional bit<1> subword);
    U predicate(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    bit<8>  min8(in bit<128> val, in bit<16> mask, @optional out bit<4> index, @optional in int<8> postmod);
    bit<8>  max8(in bit<128> val, in bit<16> mask, @optional out bit<4> index, @optional in int<8> postmod);
    bit<16> min16(in bit<128> val, in bit<8> mask, @optional out bit<3> index, @optional in int<8> postmod);
    bit<16> max16(in bit<128> val, in bit<8> mask, @optional out bit<3> index, @optional in int<8> postmod);
}
#else
extern RegisterAction<T, I, U> {
    RegisterAction(Register<_, _> reg);
    U execute(in I index);
    U execute_log();
    @synchronous(execute, execute_log)
    abstract void apply(inout T value, @optional out U rv);
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
}

extern DirectRegisterAction<T, U> {
    DirectRegisterAction(DirectRegister<T> reg);
    U execute();
    @synchronous(execute)
    abstract void apply(inout T value, @optional out U rv);
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
}
#endif

// ----- shared action data -----

extern ActionProfile {
    ActionProfile(bit<32> size);
}

extern ActionSelector {
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode,
                   bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode, Register<bit<1>, _> reg,
                   bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode, Register<bit<1>, _> reg);
}

extern SelectorAction {
    SelectorAction(ActionSelector sel);
    bit<1> execute(@optional in bit<32> index);
    @synchronous(execute)
    abstract void apply(inout bit<1> value, @optional out bit<1> rv);
}

// ----- what deparsers ask for -----

extern Mirror {
    Mirror();
    Mirror(MirrorType_t mirror_type);
    void emit(in MirrorId_t session_id);
    void emit<T>(in MirrorId_t session_id, in T hdr);
}

extern Resubmit {
    Resubmit();
    Resubmit(ResubmitType_t resubmit_type);
    void emit();
    void emit<T>(in T hdr);
}

extern Digest<T> {
    Digest();
    Digest(DigestType_t digest_type);
    void pack(in T data);
}

#ifdef TNA_T2NA
extern Pktgen {
    Pktgen();
    void emit<T>(in T hdr);
}
#endif

// ----- algorithmic tables -----

extern Atcam {
    Atcam(@optional bit<32> number_partitions);
}

extern Alpm {
    Alpm(@optional bit<32> number_partitions, @optional bit<32> subtrees_per_partition,
         @optional bit<32> atcam_subset_width, @optional bit<32> shift_granularity);
}

// ----- the six blocks -----

parser IngressParserT<H, M>(
    packet_in pkt,
    out H hdr,
    out M ig_md,
    TNA_OPTIONAL out ingress_intrinsic_metadata_t ig_intr_md,
    @optional out ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm,
    @optional out ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr);

parser EgressParserT<H, M>(
    packet_in pkt,
    out H hdr,
    out M eg_md,
    TNA_OPTIONAL out egress_intrinsic_metadata_t eg_intr_md,
    @optional out egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
    @optional out egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr);

control IngressT<H, M>(
    inout H hdr,
    inout M ig_md,
    TNA_OPTIONAL in ingress_intrinsic_metadata_t ig_intr_md,
    TNA_OPTIONAL in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
    TNA_OPTIONAL inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
#ifdef TNA_T2NA
    inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm,
    @optional in ghost_intrinsic_metadata_t gh_intr_md);

control GhostT(in ghost_intrinsic_metadata_t gh_intr_md);
#else
    @optional inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm);
#endif

control EgressT<H, M>(
    inout H hdr,
    inout M eg_md,
    TNA_OPTIONAL in egress_intrinsic_metadata_t eg_intr_md,
    TNA_OPTIONAL in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
    TNA_OPTIONAL inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
    TNA_OPTIONAL inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport);

control IngressDeparserT<H, M>(
    packet_out pkt,
    inout H hdr,
    in M metadata,
    TNA_OPTIONAL in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
    @optional in ingress_intrinsic_metadata_t ig_intr_md);

control EgressDeparserT<H, M>(
    packet_out pkt,
    inout H hdr,
    in M metadata,
    TNA_OPTIONAL in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
    @optional in egress_intrinsic_metadata_t eg_intr_md,
    @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr);

package Pipeline<IH, IM, EH, EM>(
    IngressParserT<IH, IM> ingress_parser,
    IngressT<IH, IM> ingress,
    IngressDeparserT<IH, IM> ingress_deparser,
    EgressParserT<EH, EM> egress_parser,
    EgressT<EH, EM> egress,
#ifdef TNA_T2NA
    EgressDeparserT<EH, EM> egress_deparser,
    @optional GhostT ghost);
#else
    EgressDeparserT<EH, EM> egress_deparser);
#endif

package Switch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1,
               IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(
    Pipeline<IH0, IM0, EH0, EM0> pipe0,
    @optional Pipeline<IH1, IM1, EH1, EM1> pipe1,
    @optional Pipeline<IH2, IM2, EH2, EM2> pipe2,
    @optional Pipeline<IH3, IM3, EH3, EM3> pipe3);

#endif  // _TOFINO_NATIVE_P4_
