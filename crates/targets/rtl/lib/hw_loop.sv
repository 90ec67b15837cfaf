// Lets packets pass a design again. What comes from the design with `back_loops` waits in a queue and enters again, with `META_BITS` bits of
// `back_again`; the rest leaves. Packets from outside have zeros there.
//
// A packet from outside enters when nothing of the one before is left: passes of a packet and of its copies are made in the order in which
// they were asked for, and see what those of packets before have left in registers. `settled` is high for a cycle when a packet and all
// that has become of it is through.
//
// The queue has `WORDS` words of the bus and room for `PACKETS` packets (powers of two). It never makes the design wait, which would wait
// for ever: a packet that finds no room for `MAX_BYTES` bytes is dropped, and so is one after 2^`PASS_BITS` - 1 repetitions.
//
// `verdict`, `verdict_last`, `verdict_sends`, `verdict_loops` and `dropped` are those of the design.
module hw_loop #(
    parameter int BUS_BYTES = 64,
    parameter int META_BITS = 8,
    parameter int WORDS = 1024,
    parameter int PACKETS = 64,
    parameter int MAX_BYTES = 9216,
    parameter int PASS_BITS = 12,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [8*BUS_BYTES-1:0] in_data,
    input  logic [BYTES_BITS-1:0]  in_bytes,
    input  logic                   in_last,
    input  logic                   in_bad,
    input  logic [47:0]            in_now,
    output logic                   pass_valid,
    input  logic                   pass_ready,
    output logic [8*BUS_BYTES-1:0] pass_data,
    output logic [BYTES_BITS-1:0]  pass_bytes,
    output logic                   pass_last,
    output logic                   pass_bad,
    output logic [47:0]            pass_now,
    output logic [META_BITS-1:0]   pass_again,
    input  logic                   verdict,
    input  logic                   verdict_last,
    input  logic                   verdict_sends,
    input  logic                   verdict_loops,
    input  logic                   dropped,
    input  logic                   back_valid,
    output logic                   back_ready,
    input  logic [8*BUS_BYTES-1:0] back_data,
    input  logic [BYTES_BITS-1:0]  back_bytes,
    input  logic                   back_last,
    input  logic                   back_loops,
    input  logic [META_BITS-1:0]   back_again,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic                   settled
);
    localparam int MAX_WORDS = (MAX_BYTES + BUS_BYTES - 1) / BUS_BYTES;
    localparam int W = $clog2(WORDS) + 1;
    localparam int P = $clog2(PACKETS) + 1;
    localparam int COUNT = 16;

    // What comes back. A packet is taken or dropped as a whole.
    logic put, first, taking, takes, has_room, lost;
    logic [W-1:0] words, words_next;
    logic [P-1:0] packets, packets_next;
    logic [PASS_BITS-1:0] passes;
    assign put        = back_valid && back_loops;
    assign takes      = first ? has_room : taking;
    assign lost       = put && back_last && !takes;
    assign back_ready = back_loops || out_ready;
    assign out_valid  = back_valid && !back_loops;

    // The queue, and what goes with each packet.
    logic word_valid, word_take, word_last, word_room, meta_valid, meta_take, meta_room;
    logic [8*BUS_BYTES-1:0] word_data;
    logic [BYTES_BITS-1:0]  word_bytes;
    logic [META_BITS-1:0]   meta;
    hw_fifo #(
        .WIDTH(8 * BUS_BYTES + BYTES_BITS + 1),
        .DEPTH(WORDS),
        .ROOM(1'b1)
    ) queue (
        .clk,
        .rst,
        .in_valid(put && takes),
        .in_ready(word_room),
        .in_data({back_last, back_bytes, back_data}),
        .out_valid(word_valid),
        .out_ready(word_take),
        .out_data({word_last, word_bytes, word_data})
    );
    hw_fifo #(
        .WIDTH(META_BITS),
        .DEPTH(PACKETS),
        .ROOM(1'b1)
    ) metas (
        .clk,
        .rst,
        .in_valid(put && takes && first),
        .in_ready(meta_room),
        .in_data(back_again),
        .out_valid(meta_valid),
        .out_ready(meta_take),
        .out_data(meta)
    );
    assign words_next   = words + W'(put && takes) - W'(word_take);
    assign packets_next = packets + P'(put && takes && first) - P'(meta_take);

    // What enters: packets from the queue first.
    typedef enum logic [1:0] {NOTHING, AGAIN, OUTSIDE} from_t;
    from_t from;
    logic idle, enters;
    logic [47:0] now;
    assign word_take  = from == AGAIN && word_valid && pass_ready;
    assign meta_take  = word_take && word_last;
    assign in_ready   = from == OUTSIDE && pass_ready;
    assign pass_valid = from == AGAIN ? word_valid : from == OUTSIDE && in_valid;
    assign pass_data  = from == AGAIN ? word_data : in_data;
    assign pass_bytes = from == AGAIN ? word_bytes : in_bytes;
    assign pass_last  = from == AGAIN ? word_last : in_last;
    assign pass_bad   = from == OUTSIDE && in_bad;
    assign pass_now   = from == AGAIN ? now : in_now;
    assign pass_again = from == AGAIN ? meta : '0;
    assign enters     = pass_valid && pass_ready && pass_last;

    // Packets between their last word and their last verdict, and those that have been asked to enter again and have not.
    logic [COUNT-1:0] held, held_next, looping, looping_next;
    logic idle_before;
    assign held_next  = held + COUNT'(enters) - COUNT'(verdict && verdict_last) - COUNT'(dropped);
    assign looping_next = looping + COUNT'(verdict && verdict_sends && verdict_loops) - COUNT'(from == AGAIN && enters) - COUNT'(lost);
    always_ff @(posedge clk) begin
        words    <= rst ? '0 : words_next;
        packets  <= rst ? '0 : packets_next;
        has_room <= !rst && words_next <= W'(WORDS - MAX_WORDS) && packets_next < P'(PACKETS) && passes != '1;
        if (rst) first <= 1'b1;
        else if (put) first <= back_last;
        if (put && first) taking <= has_room;
        if (rst) from <= NOTHING;
        else if (from == NOTHING) from <= word_valid && meta_valid ? AGAIN : idle ? OUTSIDE : NOTHING;
        else if (enters) from <= NOTHING;
        if (from == OUTSIDE && enters) now <= in_now;
        if (rst || (from == OUTSIDE && enters)) passes <= '0;
        else if (from == AGAIN && enters && passes != '1) passes <= passes + 1'b1;
        held      <= rst ? '0 : held_next;
        looping     <= rst ? '0 : looping_next;
        idle        <= rst || (held_next == '0 && looping_next == '0);
        idle_before <= rst || idle;
        settled     <= !rst && idle && !idle_before;
    end

    // There is always room.
    logic unused;
    assign unused = &{1'b0, word_room, meta_room};
endmodule
