// `@NAME@` with packet streams in and out: packets pass `@NAME@_pass`, and those that the program repeats pass it again. There is a
// verdict for each copy of a packet that leaves or is dropped, and one with `verdict_last`, which sends nothing, when nothing of the packet is left.
module @NAME@ #(
    localparam int BUS_BYTES = @BUS@,
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
    input  logic [8:0]             in_port,
    input  logic [47:0]            in_now,
    output logic                   in_dropped,
    output logic                   verdict,
    output logic                   verdict_sends,
    output logic                   verdict_last,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [8*BUS_BYTES-1:0] out_data,
    output logic [BYTES_BITS-1:0]  out_bytes,
    output logic                   out_last,
    output logic [8:0]             out_port,
    input  logic                   bus_wr_en,
    output logic                   bus_wr_ready,
    input  logic [15:0]            bus_wr_addr,
    input  logic [31:0]            bus_wr_data,
    input  logic                   bus_rd_en,
    input  logic [15:0]            bus_rd_addr,
    output logic                   bus_rd_valid,
    output logic [31:0]            bus_rd_data
);
    logic                   pass_valid, pass_ready, pass_last, pass_bad, back_valid, back_ready, back_loops;
    logic [8*BUS_BYTES-1:0] pass_data;
    logic [BYTES_BITS-1:0]  pass_bytes;
    logic [47:0]            pass_now;
    logic [@AGAIN@-1:0]     pass_again, back_again;
    logic                   done, done_last, done_sends, done_loops, done_mirrored, settled;
    assign verdict       = (done && !done_loops) || settled;
    assign verdict_sends = done && done_sends && !done_loops;
    assign verdict_last  = settled;
    hw_loop #(
        .BUS_BYTES(BUS_BYTES),
        .META_BITS(@AGAIN@),
        .WORDS(@LOOP@),
        .MAX_BYTES(@MAX@),
        .PRIORITY(@PRIORITY@)
    ) repeats (
        .clk,
        .rst,
        .in_valid,
        .in_ready,
        .in_data,
        .in_bytes,
        .in_last,
        .in_bad,
        .in_now,
        .pass_valid,
        .pass_ready,
        .pass_data,
        .pass_bytes,
        .pass_last,
        .pass_bad,
        .pass_now,
        .pass_again,
        .verdict(done),
        .verdict_last(done_last),
        .verdict_sends(done_sends),
        .verdict_loops(done_loops),
        .verdict_mirrored(done_mirrored),
        .dropped(in_dropped),
        .back_valid,
        .back_ready,
        .back_data(out_data),
        .back_bytes(out_bytes),
        .back_last(out_last),
        .back_loops,
        .back_again,
        .out_valid,
        .out_ready,
        .settled
    );
    @NAME@_pass pass (
        .clk,
        .rst,
        .in_valid(pass_valid),
        .in_ready(pass_ready),
        .in_data(pass_data),
        .in_bytes(pass_bytes),
        .in_last(pass_last),
        .in_bad(pass_bad),
        .in_port,
        .in_now(pass_now),
        .in_again(pass_again),
        .in_dropped,
        .verdict(done),
        .verdict_sends(done_sends),
        .verdict_loops(done_loops),
        .verdict_mirrored(done_mirrored),
        .verdict_last(done_last),
        .out_valid(back_valid),
        .out_ready(back_ready),
        .out_data,
        .out_bytes,
        .out_last,
        .out_port,
        .out_loops(back_loops),
        .out_again(back_again),
        .bus_wr_en,
        .bus_wr_ready,
        .bus_wr_addr,
        .bus_wr_data,
        .bus_rd_en,
        .bus_rd_addr,
        .bus_rd_valid,
        .bus_rd_data
    );
endmodule
