// From words of four bytes to words of `BUS_BYTES` (a power of two, at least 8), the first byte lowest. `META_BITS` come with each
// word of four bytes; a word has those of its last one. A word of four bytes a cycle.
module hw_widen #(
    parameter int BUS_BYTES = 32,
    parameter int META_BITS = 1,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [31:0]            in_data,
    input  logic [1:0]             in_rest,
    input  logic                   in_last,
    input  logic [META_BITS-1:0]   in_meta,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [8*BUS_BYTES-1:0] out_data,
    output logic [BYTES_BITS-1:0]  out_bytes,
    output logic                   out_last,
    output logic [META_BITS-1:0]   out_meta
);
    localparam int PARTS = BUS_BYTES / 4;
    localparam int P = $clog2(PARTS);

    // What comes is gathered while the word before waits.
    logic [32*PARTS-1:0] gathered;
    logic [P-1:0] at;
    logic         ends, moves;
    assign ends     = in_last || at == P'(PARTS - 1);
    assign in_ready = !ends || !out_valid || out_ready;
    assign moves    = in_valid && in_ready;
    always_ff @(posedge clk) begin
        if (moves) begin
            at <= ends ? '0 : at + 1'b1;
            gathered[32*at+:32] <= in_data;
        end
        if (!out_valid || out_ready) begin
            out_valid <= in_valid && ends;
            out_bytes <= BYTES_BITS'({at, 2'd0}) + BYTES_BITS'(in_rest) + 1'b1;
            out_last  <= in_last;
            out_meta  <= in_meta;
            out_data  <= gathered;
            out_data[32*at+:32] <= in_data;
        end
        if (rst) begin
            at        <= '0;
            out_valid <= 1'b0;
        end
    end
endmodule
