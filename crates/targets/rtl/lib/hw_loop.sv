// Lets packets pass a design again. What comes from the design with `back_loops` waits in a queue and enters again, with `META_BITS` bits of
// `back_again`; the rest leaves. Packets from outside have zeros there.
//
// A packet from outside enters when nothing of the one before is left: passes of a packet and of its copies are made in the order in which
// they were asked for, and see what those of packets before have left in registers. `settled` is high for a cycle when a packet and all
// that has become of it is through.
//
// With `PRIORITY`, packets with the highest of these bits (`verdict_mirrored` in their verdict) wait in a queue of their own: they are clones that
// were made at the end of egress. They enter first, and others only when nothing is left of those before.
//
// A queue has `WORDS` words of the bus and room for `PACKETS` packets (powers of two). It never makes the design wait, which would wait
// for ever: a packet that finds no room for `MAX_BYTES` bytes is dropped, and so is one after 2^`PASS_BITS` - 1 repetitions.
//
// `verdict`, `verdict_last`, `verdict_sends`, `verdict_loops`, `verdict_mirrored` and `dropped` are those of the design.
module hw_loop #(
    parameter int BUS_BYTES = 64,
    parameter int META_BITS = 8,
    parameter int WORDS = 1024,
    parameter int PACKETS = 64,
    parameter int MAX_BYTES = 9216,
    parameter int PASS_BITS = 12,
    parameter int PRIORITY = 0,
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
    input  logic                   verdict_mirrored,
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
    localparam int COUNT = 16;

    // What comes back, and the queues. A packet is taken or dropped as a whole.
    logic mirrored, allow, lost, lost_mirrored, word_valid, word_last, meta_valid, mirror_valid;
    logic [8*BUS_BYTES-1:0] word_data;
    logic [BYTES_BITS-1:0]  word_bytes;
    logic [META_BITS-1:0]   meta;
    logic [PASS_BITS-1:0]   passes;
    assign mirrored   = PRIORITY != 0 && back_again[META_BITS-1];
    assign allow      = passes != '1;
    assign back_ready = back_loops || out_ready;
    assign out_valid  = back_valid && !back_loops;

    // What enters: mirrored packets first, then others from the queue.
    typedef enum logic [1:0] {NOTHING, AGAIN, OUTSIDE, MIRRORED} from_t;
    from_t from;
    logic idle, quiet, enters, mirror_ready, mirror_last, mirror_meta_valid;
    logic [8*BUS_BYTES-1:0] mirror_data;
    logic [BYTES_BITS-1:0]  mirror_bytes;
    logic [META_BITS-1:0]   mirror_meta;
    logic [47:0] now;
    hw_loop_queue #(
        .BUS_BYTES(BUS_BYTES),
        .META_BITS(META_BITS),
        .WORDS(WORDS),
        .PACKETS(PACKETS),
        .MAX_BYTES(MAX_BYTES)
    ) repeats (
        .clk,
        .rst,
        .allow,
        .put(back_valid && back_loops && !mirrored),
        .put_data(back_data),
        .put_bytes(back_bytes),
        .put_last(back_last),
        .put_meta(back_again),
        .lost,
        .word_valid,
        .word_take(from == AGAIN && word_valid && pass_ready),
        .word_data,
        .word_bytes,
        .word_last,
        .meta_valid,
        .meta
    );
    generate
        if (PRIORITY != 0) begin : mirrors
            hw_loop_queue #(
                .BUS_BYTES(BUS_BYTES),
                .META_BITS(META_BITS),
                .WORDS(WORDS),
                .PACKETS(PACKETS),
                .MAX_BYTES(MAX_BYTES)
            ) queue (
                .clk,
                .rst,
                .allow,
                .put(back_valid && back_loops && mirrored),
                .put_data(back_data),
                .put_bytes(back_bytes),
                .put_last(back_last),
                .put_meta(back_again),
                .lost(lost_mirrored),
                .word_valid(mirror_valid),
                .word_take(from == MIRRORED && mirror_valid && pass_ready),
                .word_data(mirror_data),
                .word_bytes(mirror_bytes),
                .word_last(mirror_last),
                .meta_valid(mirror_meta_valid),
                .meta(mirror_meta)
            );
        end else begin : no_mirrors
            assign {lost_mirrored, mirror_valid, mirror_last, mirror_meta_valid} = '0;
            assign {mirror_data, mirror_bytes, mirror_meta} = '0;
        end
    endgenerate
    assign mirror_ready = mirror_valid && mirror_meta_valid;
    assign in_ready   = from == OUTSIDE && pass_ready;
    assign pass_valid = from == AGAIN ? word_valid : from == MIRRORED ? mirror_valid : from == OUTSIDE && in_valid;
    assign pass_data  = from == AGAIN ? word_data : from == MIRRORED ? mirror_data : in_data;
    assign pass_bytes = from == AGAIN ? word_bytes : from == MIRRORED ? mirror_bytes : in_bytes;
    assign pass_last  = from == AGAIN ? word_last : from == MIRRORED ? mirror_last : in_last;
    assign pass_bad   = from == OUTSIDE && in_bad;
    assign pass_now   = from == OUTSIDE ? in_now : now;
    assign pass_again = from == AGAIN ? meta : from == MIRRORED ? mirror_meta : '0;
    assign enters     = pass_valid && pass_ready && pass_last;

    // Packets between their last word and their last verdict, and those that have been asked to enter again and have not.
    logic [COUNT-1:0] held, held_next, looping, looping_next, copying, copying_next;
    logic asked, again;
    assign asked = verdict && verdict_sends && verdict_loops;
    assign again = (from == AGAIN || from == MIRRORED) && enters;
    logic idle_before;
    assign held_next  = held + COUNT'(enters) - COUNT'(verdict && verdict_last) - COUNT'(dropped);
    assign looping_next = looping + COUNT'(asked) - COUNT'(again) - COUNT'(lost) - COUNT'(lost_mirrored);
    // Those of them that are mirrored.
    assign copying_next = copying + COUNT'(asked && PRIORITY != 0 && verdict_mirrored) - COUNT'(from == MIRRORED && enters) - COUNT'(lost_mirrored);
    always_ff @(posedge clk) begin
        if (rst) from <= NOTHING;
        else if (from == NOTHING)
            from <= mirror_ready ? MIRRORED : word_valid && meta_valid && (PRIORITY == 0 || quiet) ? AGAIN : idle ? OUTSIDE : NOTHING;
        else if (enters) from <= NOTHING;
        if (from == OUTSIDE && enters) now <= in_now;
        if (rst || (from == OUTSIDE && enters)) passes <= '0;
        else if (again && passes != '1) passes <= passes + 1'b1;
        held      <= rst ? '0 : held_next;
        looping     <= rst ? '0 : looping_next;
        copying     <= rst ? '0 : copying_next;
        quiet       <= !rst && held_next == '0 && copying_next == '0;
        idle        <= rst || (held_next == '0 && looping_next == '0);
        idle_before <= rst || idle;
        settled     <= !rst && idle && !idle_before;
    end
endmodule
