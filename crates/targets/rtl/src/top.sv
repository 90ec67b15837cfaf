// `@NAME@` with packet streams in and out: what comes in is stored, its header window goes through the pipeline, and the
// verdict rewrites it at the exit. Words have their first byte in the lowest bits. There is a verdict for each copy of a packet;
// `verdict_last` says that it is the last one.
module @MODULE@ #(
    localparam int BUS_BYTES = @BUS@,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1,
    localparam int LENGTH_BITS = $clog2(@MAX@ + 1)
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [8*BUS_BYTES-1:0] in_data,
    input  logic [BYTES_BITS-1:0]  in_bytes,
    input  logic                   in_last,
    input  logic                   in_bad,
    input  logic [8:0]             in_port,
    input  logic [47:0]            in_now,@AGAIN_IN@
    output logic                   in_dropped,
    output logic                   verdict,
    output logic                   verdict_sends,@LOOPS_OUT@
    output logic                   verdict_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [8*BUS_BYTES-1:0] out_data,
    output logic [BYTES_BITS-1:0]  out_bytes,
    output logic                   out_last,
    output logic [8:0]             out_port,@AGAIN_OUT@
    input  logic                   bus_wr_en,
    output logic                   bus_wr_ready,
    input  logic [15:0]            bus_wr_addr,
    input  logic [31:0]            bus_wr_data,
    input  logic                   bus_rd_en,
    input  logic [15:0]            bus_rd_addr,
    output logic                   bus_rd_valid,
    output logic [31:0]            bus_rd_data
);
    localparam int HEADER_BYTES = @HEADER@;
    localparam int HEADER_BITS = $clog2(HEADER_BYTES + 1);
    localparam int WORD_BITS = LENGTH_BITS > BYTES_BITS ? LENGTH_BITS - BYTES_BITS + 2 : 2;

    // A reset that reaches all parts of the chip. Until it has, `in_ready` is low. It is active from the start, so that nothing is written.
    logic reset_near = 1'b1;
    logic [2:0] resets = '1;
    always_ff @(posedge clk) reset_near <= rst;
    generate
        for (genvar i = 0; i < 3; i++) begin : parts
            (* keep *) always_ff @(posedge clk) resets[i] <= reset_near;
        end
    endgenerate

    // Verdicts.
    logic                   done_soon, done_valid, done_last, done_drop;
    logic [8:0] done_port;
    logic [8*HEADER_BYTES-1:0] done_header;
    logic [15:0] done_header_bytes, done_skip, done_length;
    assign verdict       = done_valid;
    assign verdict_last  = done_last;
    logic                   order_valid, order_ready;
    logic                   win_soon;
    logic                   win_valid;
    logic [8*@WINDOW@-1:0]  win_window;
    logic [LENGTH_BITS-1:0] win_length;
    logic [@META_TOP@:0]            win_meta;@AGAIN_DONE@
    logic                   rd_valid, rd_room, rd_free, words_valid, words_ready;
    logic [WORD_BITS-1:0]   rd_first, rd_words;
    logic [8*BUS_BYTES-1:0] words_data;
    logic                   put;
    logic [8*BUS_BYTES-1:0] put_data;
    logic [$clog2(@DEPTH@)-1:0] put_addr, win_start;
    logic [@EDITS1@-1:0]             edit_enable;
    logic [16*@EDITS1@-1:0]          edit_offset;
    logic [@EDITS1@*LENGTH_BITS-1:0] edit_place;
    logic [@EDIT_BITS@-1:0]          edit_data;
    generate
        for (genvar e = 0; e < @EDITS1@; e++) begin : places
            assign edit_place[e*LENGTH_BITS+:LENGTH_BITS] = edit_offset[16*e+:LENGTH_BITS];
        end
    endgenerate
    // What is stored.
    logic store_valid, store_ready, store_last, store_bad;
    logic [8*BUS_BYTES-1:0] store_data;
    logic [BYTES_BITS-1:0]  store_bytes;
    logic [@META_TOP@:0]            store_meta;@STORE@
    hw_packet_store #(
        .BUS_BYTES(BUS_BYTES),
        .WINDOW_BYTES(@WINDOW@),
        .DEPTH(@DEPTH@),
        .MAX_BYTES(@MAX@),
        .PACKETS(@PACKETS@),
        .COMMANDS(2 * @VERDICTS@),
        .META_BITS(@META@),
        .LATE_BITS(@LATE@),
        .GAP(@GAP@),
        .ALIGNED(@ALIGNED@),
        .EDITS(@EDITS@),
        .SIZES(@SIZES@)
    ) store (
        .clk,
        .rst(resets[0]),
        .in_valid(store_valid),
        .in_ready(store_ready),
        .in_data(store_data),
        .in_bytes(store_bytes),
        .in_last(store_last),
        .in_bad(store_bad),
        .in_meta(store_meta),
        .dropped(in_dropped),
        .win_soon,
        .win_valid,
        .win_window,
        .win_length,
        .win_meta,
        .win_start,
        .put,
        .put_addr,
        .put_data,
        .edit_valid(done_valid),
        .edit_enable,
        .edit_offset(edit_place),
        .edit_data,
        .rd_valid,
        .rd_room,
        .rd_first,
        .rd_words,
        .rd_free,
        .out_valid(words_valid),
        .out_ready(words_ready),
        .out_data(words_data)
    );

    @NAME@_pipeline pipeline (
        .clk,
        .rst,
        .in_soon(win_soon),
        .in_valid(win_valid),
        .in_window(win_window),
        .in_length(16'(win_length)),
        .in_port(win_meta[56:48]),
        .in_now(win_meta[47:0]),@AGAIN_PASS@@SUMS_PASS@
        .in_start(win_start),
        .in_put(put),
        .in_put_addr(put_addr),
        .in_put_data(put_data),
        .in_done(order_valid && order_ready),
        .out_soon(done_soon),
        .out_valid(done_valid),
        .out_last(done_last),
        .out_drop(done_drop),
        .out_port(done_port),
        .out_header(done_header),
        .out_header_bytes(done_header_bytes),
        .out_skip(done_skip),
        .out_length(done_length),
        .out_sends(verdict_sends),
        .out_edit_enable(edit_enable),
        .out_edit_offset(edit_offset),
        .out_edit_data(edit_data),
        .bus_wr_en,
        .bus_wr_ready,
        .bus_wr_addr,
        .bus_wr_data,
        .bus_rd_en,
        .bus_rd_addr,
        .bus_rd_valid,
        .bus_rd_data
    );

    localparam int VERDICT_BITS = HEADER_BITS + 2 * LENGTH_BITS + @VERDICT_META@;
    // Verdicts have a register on both sides of their FIFO: the pipeline's end, the FIFO and the exit may be far from each other.
    logic has_room, judged_valid, waiting_valid, waiting_ready;
    logic [VERDICT_BITS-1:0] judged, waiting, order;
    always_ff @(posedge clk) begin
        judged_valid <= !resets[1] && done_valid;
        judged       <= {@AGAIN_JUDGED@HEADER_BITS'(done_header_bytes), LENGTH_BITS'(done_skip), LENGTH_BITS'(done_length), done_last, done_port};
    end
    hw_fifo #(
        .WIDTH(VERDICT_BITS),
        .DEPTH(@VERDICTS@),
        .ROOM(1'b1)
    ) verdicts (
        .clk,
        .rst(resets[1]),
        .in_valid(judged_valid),
        .in_ready(has_room),
        .in_data(judged),
        .out_valid(waiting_valid),
        .out_ready(waiting_ready),
        .out_data(waiting)
    );
    hw_skid #(
        .WIDTH(VERDICT_BITS)
    ) orders (
        .clk,
        .rst(resets[1]),
        .in_valid(waiting_valid),
        .in_ready(waiting_ready),
        .in_data(waiting),
        .out_valid(order_valid),
        .out_ready(order_ready),
        .out_data(order)
    );
    hw_join #(
        .BUS_BYTES(BUS_BYTES),
        .HEADER_BYTES(HEADER_BYTES),
        .HEADERS(2 * @VERDICTS@),
        .GAP(@GAP@),
        .MAX_BYTES(@MAX@),
        .META_BITS(@EXIT_META@)
    ) exit (
        .clk,
        .rst(resets[2]),
        .header_soon(done_soon),
        .header_valid(done_valid && verdict_sends),
        .header(done_header),
        .header_bytes(HEADER_BITS'(done_header_bytes)),
        .in_valid(order_valid),
        .in_ready(order_ready),
        .in_header_bytes(order[2*LENGTH_BITS+10+:HEADER_BITS]),
        .in_skip(order[LENGTH_BITS+10+:LENGTH_BITS]),
        .in_length(order[10+:LENGTH_BITS]),
        .in_free(order[9]),
        .in_meta(@AGAIN_ORDER@),
        .rd_valid,
        .rd_room,
        .rd_first,
        .rd_words,
        .rd_free,
        .words_valid,
        .words_ready,
        .words_data,
        .out_valid,
        .out_ready,
        .out_data,
        .out_bytes,
        .out_last,
        .out_meta(@AGAIN_EXIT@)
    );

    // No more packets or copies are under way than there is room for verdicts.
    logic unused;
    assign unused = &{1'b0, has_room, done_drop, done_header_bytes, done_skip, done_length, edit_offset};
endmodule
