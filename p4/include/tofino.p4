// What the architectures of Tofino and Tofino 2 share. Programs include tna.p4 or t2na.p4, which define the widths.
//
// The names are those of the published Tofino Native Architecture. docs/tofino.md says what Hopwright does with them.

#ifndef _TOFINO_P4_
#define _TOFINO_P4_

#include <core.p4>

match_kind {
    range,                 // between two bounds, both included
    selector,              // not matched; input of an action selector's hash
    atcam_partition_index, // exact
    dleft_hash             // exact
}

error {
    CounterRange,
    Timeout,
    PhvOwner,
    MultiWrite,
    IbufOverflow,
    IbufUnderflow
}

// ---------------------------------------------------------------------------------------------------------
// Numbers

typedef bit<PORT_ID_WIDTH>            PortId_t;     // two bits of pipe, seven of port
typedef bit<MULTICAST_GROUP_ID_WIDTH> MulticastGroupId_t;
typedef bit<QUEUE_ID_WIDTH>           QueueId_t;
typedef bit<MIRROR_TYPE_WIDTH>        MirrorType_t;
typedef bit<MIRROR_ID_WIDTH>          MirrorId_t;   // a mirror session
typedef bit<RESUBMIT_TYPE_WIDTH>      ResubmitType_t;
typedef bit<DIGEST_TYPE_WIDTH>        DigestType_t;
typedef bit<REPLICATION_ID_WIDTH>     ReplicationId_t;
typedef bit<L1_EXCLUSION_ID_WIDTH>    L1ExclusionId_t;
typedef bit<L2_EXCLUSION_ID_WIDTH>    L2ExclusionId_t;
typedef error                         ParserError_t;

// Bits of `parser_err`.
const bit<16> PARSER_ERROR_OK           = 0x0000;
const bit<16> PARSER_ERROR_NO_MATCH     = 0x0001;
const bit<16> PARSER_ERROR_PARTIAL_HDR  = 0x0002;
const bit<16> PARSER_ERROR_CTR_RANGE    = 0x0004;
const bit<16> PARSER_ERROR_TIMEOUT_USER = 0x0008;
const bit<16> PARSER_ERROR_TIMEOUT_HW   = 0x0010;
const bit<16> PARSER_ERROR_SRC_EXT      = 0x0020;
const bit<16> PARSER_ERROR_DST_CONT     = 0x0040;
const bit<16> PARSER_ERROR_PHV_OWNER    = 0x0080;
const bit<16> PARSER_ERROR_MULTIWRITE   = 0x0100;
const bit<16> PARSER_ERROR_ARAM_MBE     = 0x0400;
const bit<16> PARSER_ERROR_FCS          = 0x0800;
const bit<16> PARSER_ERROR_CSUM_MBE     = 0x1000;

enum MeterType_t { PACKETS, BYTES }

enum bit<8> MeterColor_t { GREEN = 0, YELLOW = 1, RED = 3 }

enum CounterType_t { PACKETS, BYTES, PACKETS_AND_BYTES }

enum SelectorMode_t { FAIR, RESILIENT }

enum HashAlgorithm_t { IDENTITY, RANDOM, XOR8, XOR16, XOR32, CRC8, CRC16, CRC32, CRC64, CUSTOM }

enum MathOp_t {
    MUL,    // factor * x
    SQR,    // factor * x^2
    SQRT,   // factor * sqrt(x)
    DIV,    // factor / x
    RSQR,   // factor / x^2
    RSQRT   // factor / sqrt(x)
}

// ---------------------------------------------------------------------------------------------------------
// Metadata. Padding is part of what parsers extract.

// In front of each packet that ingress parses. Port metadata of PORT_METADATA_SIZE bits follow, or those of a resubmission.
header ingress_intrinsic_metadata_t {
    bit<1>   resubmit_flag;
    @padding bit<1> _pad1;
    bit<2>   packet_version;
    @padding bit<(4 - PORT_ID_WIDTH % 8)> _pad2;
    PortId_t ingress_port;
    bit<48>  ingress_mac_tstamp;     // nanoseconds
}

struct ingress_intrinsic_metadata_for_tm_t {
    PortId_t           ucast_egress_port;     // 511 at first: none
    bit<1>             bypass_egress;         // leaves as the ingress deparser made it
    bit<1>             deflect_on_drop;       // ignored
    bit<3>             ingress_cos;
    QueueId_t          qid;
    bit<3>             icos_for_copy_to_cpu;  // ignored
    bit<1>             copy_to_cpu;
    bit<2>             packet_color;          // ignored
    bit<1>             disable_ucast_cutthru; // ignored
    bit<1>             enable_mcast_cutthru;  // ignored
    MulticastGroupId_t mcast_grp_a;
    MulticastGroupId_t mcast_grp_b;
    bit<13>            level1_mcast_hash;     // ignored
    bit<13>            level2_mcast_hash;     // ignored
    L1ExclusionId_t    level1_exclusion_id;   // ignored
    L2ExclusionId_t    level2_exclusion_id;   // ignored
    bit<16>            rid;
}

struct ingress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;           // nanoseconds
    bit<32> global_ver;              // zero
    bit<16> parser_err;              // a program that reads it receives packets with errors; others are dropped
}

struct ingress_intrinsic_metadata_for_deparser_t {
    bit<3>         drop_ctl;         // bit 0: the packet, bit 1: its copy to the CPU, bit 2: its mirrored copy
    DigestType_t   digest_type;
    ResubmitType_t resubmit_type;
    MirrorType_t   mirror_type;
#ifdef _TOFINO2_FIELDS_
    bit<1>    mirror_io_select;      // in ingress ignored, as the rest but for mtu_trunc_len
    bit<13>   mirror_hash;
    bit<3>    mirror_ingress_cos;
    bit<1>    mirror_deflect_on_drop;
    bit<1>    mirror_multicast_ctrl;
    PortId_t  mirror_egress_port;
    QueueId_t mirror_qid;
    bit<8>    mirror_coalesce_length;
    bit<32>   adv_flow_ctl;
    bit<14>   mtu_trunc_len;         // bytes that are left of a longer packet
    bit<1>    mtu_trunc_err_f;
    bit<1>    pktgen;
    bit<14>   pktgen_address;
    bit<10>   pktgen_length;
#endif
}

#ifdef _TOFINO2_FIELDS_
header ghost_intrinsic_metadata_t {
    bit<1>  ping_pong;
    bit<18> qlength;
    bit<11> qid;
    bit<2>  pipe_id;
}
#endif

// In front of each packet that egress parses.
header egress_intrinsic_metadata_t {
    @padding bit<(8 - PORT_ID_WIDTH % 8)> _pad0;
    PortId_t  egress_port;
    @padding bit<5> _pad1;
    bit<19>   enq_qdepth;            // packets
    @padding bit<6> _pad2;
    bit<2>    enq_congest_stat;
#ifdef _TOFINO2_FIELDS_
    bit<32>   enq_tstamp;            // nanoseconds
    @padding bit<5> _pad3;
    bit<19>   deq_qdepth;
    @padding bit<6> _pad4;
    bit<2>    deq_congest_stat;
    bit<8>    app_pool_congest_stat;
    bit<32>   deq_timedelta;
    bit<16>   egress_rid;
    @padding bit<7> _pad5;
    bit<1>    egress_rid_first;
    @padding bit<(8 - QUEUE_ID_WIDTH % 8)> _pad6;
    QueueId_t egress_qid;
    @padding bit<5> _pad7;
    bit<3>    egress_cos;
    @padding bit<7> _pad8;
    bit<1>    deflection_flag;
    bit<16>   pkt_length;            // bytes, without the frame check sequence
    @padding bit<8> _pad9;
#else
    @padding bit<14> _pad3;
    bit<18>   enq_tstamp;            // nanoseconds
    @padding bit<5> _pad4;
    bit<19>   deq_qdepth;
    @padding bit<6> _pad5;
    bit<2>    deq_congest_stat;
    bit<8>    app_pool_congest_stat;
    @padding bit<14> _pad6;
    bit<18>   deq_timedelta;
    bit<16>   egress_rid;
    @padding bit<7> _pad7;
    bit<1>    egress_rid_first;
    @padding bit<(8 - QUEUE_ID_WIDTH % 8)> _pad8;
    QueueId_t egress_qid;
    @padding bit<5> _pad9;
    bit<3>    egress_cos;
    @padding bit<7> _pad10;
    bit<1>    deflection_flag;
    bit<16>   pkt_length;            // bytes, without the frame check sequence
#endif
}

struct egress_intrinsic_metadata_from_parser_t {
    bit<48> global_tstamp;           // nanoseconds
    bit<32> global_ver;              // zero
    bit<16> parser_err;
}

struct egress_intrinsic_metadata_for_deparser_t {
    bit<3>       drop_ctl;           // bit 0: the packet, bit 2: its mirrored copy
    MirrorType_t mirror_type;
    bit<1>       coalesce_flush;     // ignored, as the rest but for mtu_trunc_len
    bit<7>       coalesce_length;
#ifdef _TOFINO2_FIELDS_
    bit<1>    mirror_io_select;
    bit<13>   mirror_hash;
    bit<3>    mirror_ingress_cos;
    bit<1>    mirror_deflect_on_drop;
    bit<1>    mirror_multicast_ctrl;
    PortId_t  mirror_egress_port;
    QueueId_t mirror_qid;
    bit<8>    mirror_coalesce_length;
    bit<32>   adv_flow_ctl;
    bit<14>   mtu_trunc_len;
    bit<1>    mtu_trunc_err_f;
#endif
}

struct egress_intrinsic_metadata_for_output_port_t {
    bit<1> capture_tstamp_on_tx;     // ignored
    bit<1> update_delay_on_tx;       // ignored
}

// What a packet generator puts in front of its packets.
#ifdef _TOFINO2_FIELDS_
#define PKTGEN_PADDING 2
#define PKTGEN_APP_WIDTH 4
#else
#define PKTGEN_PADDING 3
#define PKTGEN_APP_WIDTH 3
#endif

header pktgen_timer_header_t {
    @padding bit<PKTGEN_PADDING> _pad1;
    bit<2>  pipe_id;
    bit<PKTGEN_APP_WIDTH> app_id;
    @padding bit<8> _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_port_down_header_t {
    @padding bit<PKTGEN_PADDING> _pad1;
    bit<2>   pipe_id;
    bit<PKTGEN_APP_WIDTH> app_id;
    @padding bit<(16 - PORT_ID_WIDTH % 8)> _pad2;
    PortId_t port_num;
    bit<16>  packet_id;
}

header pktgen_recirc_header_t {
    @padding bit<PKTGEN_PADDING> _pad1;
    bit<2>  pipe_id;
    bit<PKTGEN_APP_WIDTH> app_id;
#ifdef _TOFINO2_FIELDS_
    @padding bit<8> _pad2;
    bit<16> batch_id;
#else
    bit<24> key;
#endif
    bit<16> packet_id;
}

#ifdef _TOFINO2_FIELDS_
header pktgen_deparser_header_t {
    @padding bit<2> _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding bit<8> _pad2;
    bit<16> batch_id;
    bit<16> packet_id;
}

header pktgen_pfc_header_t {
    @padding bit<2> _pad1;
    bit<2>  pipe_id;
    bit<4>  app_id;
    @padding bit<40> _pad2;
}
#endif

header ptp_metadata_t {
    bit<8>  udp_cksum_byte_offset;
    bit<8>  cf_byte_offset;
    bit<48> updated_cf;
}

// ---------------------------------------------------------------------------------------------------------
// Externs

extern void invalidate<T>(in T field);

@noSideEffects
extern T max<T>(in T t1, in T t2);

@noSideEffects
extern T min<T>(in T t1, in T t2);

extern void funnel_shift_right<T>(inout T dst, in T src1, in T src2, int shift_amount);

extern T port_metadata_unpack<T>(packet_in pkt);

extern bit<32> sizeInBits<H>(in H h);

extern bit<32> sizeInBytes<H>(in H h);

// The one's complement sum of 16-bit words.
extern Checksum {
    Checksum();
    void add<T>(in T data);
    void subtract<T>(in T data);
    bool verify();                                           // true if the checksum is wrong
    bit<16> get();
    void subtract_all_and_deposit<T>(out T residual);
    bit<16> update<T>(in T data, @optional in bool zeros_as_ones);
}

// A signed number of eight bits that counts bytes of a header.
extern ParserCounter {
    ParserCounter();
    void set<T>(in T value);
    void set<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<PARSER_COUNTER_MASK_WIDTH> mask, in bit<8> add);
#ifdef _TOFINO2_FIELDS_
    // The counter becomes the upper one of a stack of four. With `update_with_top` what is below counts with it.
    void push<T>(in T value, @optional bool update_with_top);
    void push<T>(in T field, in bit<8> max, in bit<8> rotate, in bit<8> mask, in bit<8> add, @optional bool update_with_top);
    void pop();
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

extern IdleTimeout {
    IdleTimeout();
}

@noWarn("unused")
extern Counter<W, I> {
    Counter(bit<32> size, CounterType_t type, @optional bool true_egress_accounting);
    void count(in I index, @optional in bit<32> adjust_byte_count);
}

@noWarn("unused")
extern DirectCounter<W> {
    DirectCounter(CounterType_t type, @optional bool true_egress_accounting);
    void count(@optional in bit<32> adjust_byte_count);
}

extern Meter<I> {
    Meter(bit<32> size, MeterType_t type, @optional bool true_egress_accounting);
    Meter(bit<32> size, MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green, @optional bool true_egress_accounting);
    bit<8> execute(in I index, in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(in I index, @optional in bit<32> adjust_byte_count);
}

extern DirectMeter {
    DirectMeter(MeterType_t type, @optional bool true_egress_accounting);
    DirectMeter(MeterType_t type, bit<8> red, bit<8> yellow, bit<8> green, @optional bool true_egress_accounting);
    bit<8> execute(in MeterColor_t color, @optional in bit<32> adjust_byte_count);
    bit<8> execute(@optional in bit<32> adjust_byte_count);
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

@noWarn("unused")
extern Register<T, I> {
    Register(bit<32> size);
    Register(bit<32> size, T initial_value);
    T read(in I index);
    T write(in I index, in T value);
#ifdef _TOFINO2_FIELDS_
    void clear(in T value, @optional in T busy);             // writes all cells
#endif
}

@noWarn("unused")
extern DirectRegister<T> {
    DirectRegister();
    DirectRegister(T initial_value);
    T read();
    T write(in T value);
#ifdef _TOFINO2_FIELDS_
    void clear(in T value, @optional in T busy);
#endif
}

extern RegisterParam<T> {
    RegisterParam(T initial_value);
    T read();
}

extern MathUnit<T> {
    MathUnit(bool invert, int<2> shift, int<6> scale,
             tuple<bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>,
                   bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>, bit<8>> data);
    MathUnit(MathOp_t op, int factor);
    MathUnit(MathOp_t op, int A, int B);
    T execute(in T x);
}

// Reads a cell, applies the program's method to it, and writes it back. Its methods call those of _TOFINO_THIS by `this`:
// where the cell lies, one bit of 4 or 16 by what its comparisons say, and the least or greatest of the masked parts of 128 bits.
#ifdef _TOFINO2_FIELDS_
#define _TOFINO_EXTREMES                                                         \
    bit<8> min8<V>(in V val, in bit<16> mask, @optional out bit<4> index);    \
    bit<8> max8<V>(in V val, in bit<16> mask, @optional out bit<4> index);    \
    bit<16> min16<V>(in V val, in bit<8> mask, @optional out bit<3> index);   \
    bit<16> max16<V>(in V val, in bit<8> mask, @optional out bit<3> index);
#define _TOFINO_THIS                                                                  \
    U predicate(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3); \
    U address(@optional in bit<1> subword);                                   \
    _TOFINO_EXTREMES
#define _TOFINO_THIS_OF_SEVERAL                                                       \
    U predicate<U>(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3); \
    U address<U>(@optional in bit<1> subword);
#else
#define _TOFINO_THIS                                                                  \
    U predicate(@optional in bool cmplo, @optional in bool cmphi);
#endif

@noWarn("unused")
extern RegisterAction<T, I, U> {
    RegisterAction(Register<_, _> reg);
    U execute(@optional in I index, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    // The cells of a log, a queue and a stack.
    U execute_log(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U enqueue(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U dequeue(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U push(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    U pop(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    abstract void apply(inout T value, @optional out U rv, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    @optional
    abstract void overflow(@optional inout T value, @optional out U rv, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    @optional
    abstract void underflow(@optional inout T value, @optional out U rv, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    _TOFINO_THIS
#ifdef _TOFINO2_FIELDS_
    void sweep(@optional in U busy);
#endif
}

@noWarn("unused")
extern DirectRegisterAction<T, U> {
    DirectRegisterAction(DirectRegister<T> reg);
    U execute(@optional out U rv2, @optional out U rv3, @optional out U rv4);
    abstract void apply(inout T value, @optional out U rv, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    _TOFINO_THIS
}

#ifdef _TOFINO2_FIELDS_
// With results of several types.
@noWarn("unused")
extern RegisterAction2<T, I, U1, U2> {
    RegisterAction2(Register<_, _> reg);
    U1 execute(in I index, out U2 rv2);
    U1 execute_log(out U2 rv2);
    U1 enqueue(out U2 rv2);
    U1 dequeue(out U2 rv2);
    U1 push(out U2 rv2);
    U1 pop(out U2 rv2);
    abstract void apply(inout T value, out U1 rv1, out U2 rv2);
    @optional
    abstract void overflow(@optional inout T value, out U1 rv1, out U2 rv2);
    @optional
    abstract void underflow(@optional inout T value, out U1 rv1, out U2 rv2);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

@noWarn("unused")
extern DirectRegisterAction2<T, U1, U2> {
    DirectRegisterAction2(DirectRegister<T> reg);
    U1 execute(out U2 rv2);
    abstract void apply(inout T value, out U1 rv1, out U2 rv2);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

@noWarn("unused")
extern RegisterAction3<T, I, U1, U2, U3> {
    RegisterAction3(Register<_, _> reg);
    U1 execute(in I index, out U2 rv2, out U3 rv3);
    U1 execute_log(out U2 rv2, out U3 rv3);
    U1 enqueue(out U2 rv2, out U3 rv3);
    U1 dequeue(out U2 rv2, out U3 rv3);
    U1 push(out U2 rv2, out U3 rv3);
    U1 pop(out U2 rv2, out U3 rv3);
    abstract void apply(inout T value, out U1 rv1, out U2 rv2, out U3 rv3);
    @optional
    abstract void overflow(@optional inout T value, out U1 rv1, out U2 rv2, out U3 rv3);
    @optional
    abstract void underflow(@optional inout T value, out U1 rv1, out U2 rv2, out U3 rv3);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

@noWarn("unused")
extern DirectRegisterAction3<T, U1, U2, U3> {
    DirectRegisterAction3(DirectRegister<T> reg);
    U1 execute(out U2 rv2, out U3 rv3);
    abstract void apply(inout T value, out U1 rv1, out U2 rv2, out U3 rv3);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

@noWarn("unused")
extern RegisterAction4<T, I, U1, U2, U3, U4> {
    RegisterAction4(Register<_, _> reg);
    U1 execute(in I index, out U2 rv2, out U3 rv3, out U4 rv4);
    U1 execute_log(out U2 rv2, out U3 rv3, out U4 rv4);
    U1 enqueue(out U2 rv2, out U3 rv3, out U4 rv4);
    U1 dequeue(out U2 rv2, out U3 rv3, out U4 rv4);
    U1 push(out U2 rv2, out U3 rv3, out U4 rv4);
    U1 pop(out U2 rv2, out U3 rv3, out U4 rv4);
    abstract void apply(inout T value, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    @optional
    abstract void overflow(@optional inout T value, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    @optional
    abstract void underflow(@optional inout T value, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

@noWarn("unused")
extern DirectRegisterAction4<T, U1, U2, U3, U4> {
    DirectRegisterAction4(DirectRegister<T> reg);
    U1 execute(out U2 rv2, out U3 rv3, out U4 rv4);
    abstract void apply(inout T value, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

// The same on rows of 128 bits: a row has the cells from its number times their count on, the first one in the lowest bits. `postmod` is added to the
// cell that was found.
#define _TOFINO_EXTREMES_OF_ROW(P)                                               \
    bit<8> min8(in bit<128> val, in bit<16> mask, @optional out bit<4> index, @optional in P postmod);  \
    bit<8> max8(in bit<128> val, in bit<16> mask, @optional out bit<4> index, @optional in P postmod);  \
    bit<16> min16(in bit<128> val, in bit<8> mask, @optional out bit<3> index, @optional in P postmod); \
    bit<16> max16(in bit<128> val, in bit<8> mask, @optional out bit<3> index, @optional in P postmod);

@noWarn("unused")
extern MinMaxAction<T, I, U> {
    MinMaxAction(Register<T, _> reg);
    U execute(@optional in I index, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    abstract void apply(inout bit<128> value, @optional out U rv, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    U predicate(@optional in bool cmp0, @optional in bool cmp1, @optional in bool cmp2, @optional in bool cmp3);
    U address(@optional in bit<1> subword);
    _TOFINO_EXTREMES_OF_ROW(int<8>)
}

@noWarn("unused")
extern MinMaxAction2<T, I, U1, U2> {
    MinMaxAction2(Register<T, _> reg);
    U1 execute(@optional in I index, out U2 rv2);
    abstract void apply(inout bit<128> value, out U1 rv1, out U2 rv2);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES_OF_ROW(int<9>)
}

@noWarn("unused")
extern MinMaxAction3<T, I, U1, U2, U3> {
    MinMaxAction3(Register<T, _> reg);
    U1 execute(@optional in I index, out U2 rv2, out U3 rv3);
    abstract void apply(inout bit<128> value, out U1 rv1, out U2 rv2, out U3 rv3);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES_OF_ROW(int<9>)
}

@noWarn("unused")
extern MinMaxAction4<T, I, U1, U2, U3, U4> {
    MinMaxAction4(Register<T, _> reg);
    U1 execute(@optional in I index, out U2 rv2, out U3 rv3, out U4 rv4);
    abstract void apply(inout bit<128> value, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES_OF_ROW(int<9>)
}

// An action of a d-left hash table, which the device's match hardware gives a digest and says whether another way has it. Not supported.
extern LearnAction<T, I, D, U> {
    LearnAction(Register<T, I> reg);
    U execute(in I index, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    abstract void apply(inout T value, in D digest, in bool learn, @optional out U rv, @optional out U rv2, @optional out U rv3, @optional out U rv4);
    _TOFINO_THIS
}

extern LearnAction2<T, I, D, U1, U2> {
    LearnAction2(Register<T, I> reg);
    U1 execute(in I index, out U2 rv2);
    abstract void apply(inout T value, in D digest, in bool learn, out U1 rv1, out U2 rv2);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

extern LearnAction3<T, I, D, U1, U2, U3> {
    LearnAction3(Register<T, I> reg);
    U1 execute(in I index, out U2 rv2, out U3 rv3);
    abstract void apply(inout T value, in D digest, in bool learn, out U1 rv1, out U2 rv2, out U3 rv3);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

extern LearnAction4<T, I, D, U1, U2, U3, U4> {
    LearnAction4(Register<T, I> reg);
    U1 execute(in I index, out U2 rv2, out U3 rv3, out U4 rv4);
    abstract void apply(inout T value, in D digest, in bool learn, out U1 rv1, out U2 rv2, out U3 rv3, out U4 rv4);
    _TOFINO_THIS_OF_SEVERAL
    _TOFINO_EXTREMES
}

#endif

extern ActionProfile {
    ActionProfile(bit<32> size);
}

extern ActionSelector {
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode, bit<32> max_group_size,
                   bit<32> num_groups);
    ActionSelector(ActionProfile action_profile, Hash<_> hash, SelectorMode_t mode, Register<bit<1>, _> reg,
                   bit<32> max_group_size, bit<32> num_groups);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode);
    ActionSelector(bit<32> size, Hash<_> hash, SelectorMode_t mode, Register<bit<1>, _> reg);
}

extern SelectorAction {
    SelectorAction(ActionSelector sel);
    bit<1> execute(@optional in bit<32> index);
    abstract void apply(inout bit<1> value, @optional out bit<1> rv);
}

// In deparsers: makes a copy of the packet, with a header in front of it.
extern Mirror {
    Mirror();
    Mirror(MirrorType_t mirror_type);
    void emit(in MirrorId_t session_id);
    void emit<T>(in MirrorId_t session_id, in T hdr);
}

// In ingress deparsers: processes the packet again as it was received, with a header instead of port metadata.
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

extern Pktgen {
    Pktgen();
    void emit<T>(in T hdr);
}

extern Atcam {
    Atcam(@optional bit<32> number_partitions);
}

extern Alpm {
    Alpm(@optional bit<32> number_partitions, @optional bit<32> subtrees_per_partition,
         @optional bit<32> atcam_subset_width, @optional bit<32> shift_granularity);
}

// ---------------------------------------------------------------------------------------------------------
// Blocks. Parameters of intrinsic metadata may be left out.

parser IngressParserT<H, M>(
    packet_in pkt,
    out H hdr,
    out M ig_md,
    @optional out ingress_intrinsic_metadata_t ig_intr_md,
    @optional out ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm,
    @optional out ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr);

parser EgressParserT<H, M>(
    packet_in pkt,
    out H hdr,
    out M eg_md,
    @optional out egress_intrinsic_metadata_t eg_intr_md,
    @optional out egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
    @optional out egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr);

control IngressT<H, M>(
    inout H hdr,
    inout M ig_md,
    @optional in ingress_intrinsic_metadata_t ig_intr_md,
    @optional in ingress_intrinsic_metadata_from_parser_t ig_intr_md_from_prsr,
    @optional inout ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
    @optional inout ingress_intrinsic_metadata_for_tm_t ig_intr_md_for_tm
#ifdef _TOFINO2_FIELDS_
    , @optional in ghost_intrinsic_metadata_t gh_intr_md
#endif
    );

control EgressT<H, M>(
    inout H hdr,
    inout M eg_md,
    @optional in egress_intrinsic_metadata_t eg_intr_md,
    @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr,
    @optional inout egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
    @optional inout egress_intrinsic_metadata_for_output_port_t eg_intr_md_for_oport);

control IngressDeparserT<H, M>(
    packet_out pkt,
    inout H hdr,
    in M metadata,
    @optional in ingress_intrinsic_metadata_for_deparser_t ig_intr_md_for_dprsr,
    @optional in ingress_intrinsic_metadata_t ig_intr_md);

control EgressDeparserT<H, M>(
    packet_out pkt,
    inout H hdr,
    in M metadata,
    @optional in egress_intrinsic_metadata_for_deparser_t eg_intr_md_for_dprsr,
    @optional in egress_intrinsic_metadata_t eg_intr_md,
    @optional in egress_intrinsic_metadata_from_parser_t eg_intr_md_from_prsr);

#ifdef _TOFINO2_FIELDS_
control GhostT(in ghost_intrinsic_metadata_t gh_intr_md);
#endif

package Pipeline<IH, IM, EH, EM>(
    IngressParserT<IH, IM> ingress_parser,
    IngressT<IH, IM> ingress,
    IngressDeparserT<IH, IM> ingress_deparser,
    EgressParserT<EH, EM> egress_parser,
    EgressT<EH, EM> egress,
    EgressDeparserT<EH, EM> egress_deparser
#ifdef _TOFINO2_FIELDS_
    , @optional GhostT ghost
#endif
    );

// A program for each pipe; with one only, all pipes run it.
@pkginfo(arch=TOFINO_ARCHITECTURE)
package Switch<IH0, IM0, EH0, EM0, IH1, IM1, EH1, EM1, IH2, IM2, EH2, EM2, IH3, IM3, EH3, EM3>(
    Pipeline<IH0, IM0, EH0, EM0> pipe0,
    @optional Pipeline<IH1, IM1, EH1, EM1> pipe1,
    @optional Pipeline<IH2, IM2, EH2, EM2> pipe2,
    @optional Pipeline<IH3, IM3, EH3, EM3> pipe3);

#endif
