// A queue of packets that pass a design again, each with `META_BITS` bits. It has `WORDS` words of the bus and room for `PACKETS` packets
// (powers of two). It never makes the design wait, which would wait for ever: a packet that finds no room for `MAX_BYTES` bytes, or comes when
// `allow` is low, is dropped as a whole; then `lost` is high with its last word.
module hw_loop_queue #(
    parameter int BUS_BYTES = 64,
    parameter int META_BITS = 8,
    parameter int WORDS = 1024,
    parameter int PACKETS = 64,
    parameter int MAX_BYTES = 9216,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   allow,
    input  logic                   put,
    input  logic [8*BUS_BYTES-1:0] put_data,
    input  logic [BYTES_BITS-1:0]  put_bytes,
    input  logic                   put_last,
    input  logic [META_BITS-1:0]   put_meta,
    output logic                   lost,
    output logic                   word_valid,
    input  logic                   word_take,
    output logic [8*BUS_BYTES-1:0] word_data,
    output logic [BYTES_BITS-1:0]  word_bytes,
    output logic                   word_last,
    output logic                   meta_valid,
    output logic [META_BITS-1:0]   meta
);
    localparam int MAX_WORDS = (MAX_BYTES + BUS_BYTES - 1) / BUS_BYTES;
    localparam int W = $clog2(WORDS) + 1;
    localparam int P = $clog2(PACKETS) + 1;

    logic first, taking, takes, has_room, word_room, meta_room, meta_take;
    logic [W-1:0] words, words_next;
    logic [P-1:0] packets, packets_next;
    assign takes     = first ? has_room : taking;
    assign lost      = put && put_last && !takes;
    assign meta_take = word_take && word_last;
    hw_fifo #(
        .WIDTH(8 * BUS_BYTES + BYTES_BITS + 1),
        .DEPTH(WORDS),
        .ROOM(1'b1)
    ) queue (
        .clk,
        .rst,
        .in_valid(put && takes),
        .in_ready(word_room),
        .in_data({put_last, put_bytes, put_data}),
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
        .in_data(put_meta),
        .out_valid(meta_valid),
        .out_ready(meta_take),
        .out_data(meta)
    );
    assign words_next   = words + W'(put && takes) - W'(word_take);
    assign packets_next = packets + P'(put && takes && first) - P'(meta_take);
    always_ff @(posedge clk) begin
        words    <= rst ? '0 : words_next;
        packets  <= rst ? '0 : packets_next;
        has_room <= !rst && words_next <= W'(WORDS - MAX_WORDS) && packets_next < P'(PACKETS) && allow;
        if (rst) first <= 1'b1;
        else if (put) first <= put_last;
        if (put && first) taking <= has_room;
    end

    // There is always room.
    logic unused;
    assign unused = &{1'b0, word_room, meta_room};
endmodule
