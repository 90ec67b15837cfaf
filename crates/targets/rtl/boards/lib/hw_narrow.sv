// From words of `BUS_BYTES` (a power of two, at least 8) to words of four bytes, the first byte lowest. `META_BITS` travel with each word.
// A word of four bytes a cycle.
module hw_narrow #(
    parameter int BUS_BYTES = 32,
    parameter int META_BITS = 1,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [8*BUS_BYTES-1:0] in_data,
    input  logic [BYTES_BITS-1:0]  in_bytes,
    input  logic                   in_last,
    input  logic [META_BITS-1:0]   in_meta,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [31:0]            out_data,
    output logic [1:0]             out_rest,
    output logic                   out_last,
    output logic [META_BITS-1:0]   out_meta
);
    localparam int P = $clog2(BUS_BYTES / 4);

    logic [8*BUS_BYTES-1:0] left;
    logic [P-1:0] parts;  // Words of four bytes behind this one.
    logic         last, ends;
    logic [1:0]   rest;
    assign ends     = parts == '0;
    assign in_ready = !out_valid || (out_ready && ends);
    assign out_data = left[31:0];
    assign out_rest = ends ? rest : 2'd3;
    assign out_last = ends && last;
    always_ff @(posedge clk) begin
        if (in_ready) begin
            out_valid <= in_valid;
            left      <= in_data;
            last      <= in_last;
            rest      <= 2'(in_bytes - 1'b1);
            parts     <= P'((in_bytes - 1'b1) >> 2);
            out_meta  <= in_meta;
        end else if (out_ready) begin
            left  <= left >> 32;
            parts <= parts - 1'b1;
        end
        if (rst) out_valid <= 1'b0;
    end
endmodule
