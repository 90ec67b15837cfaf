// Table indexed by its key: a word for each of 2^`KEY_BITS` keys. Latency 2, one lookup a cycle.
// Writes: `wr_addr` is the key, `wr_data` is {valid, data}.
module hw_index #(
    parameter int KEY_BITS = 8,
    parameter int DATA_BITS = 8
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 in_valid,
    input  logic [KEY_BITS-1:0]  in_key,
    output logic                 out_valid,
    output logic                 out_hit,
    output logic [DATA_BITS-1:0] out_data,
    input  logic                 wr_en,
    input  logic [KEY_BITS-1:0]  wr_addr,
    input  logic [DATA_BITS:0]   wr_data
);
    logic valid_q;
    always_ff @(posedge clk) {out_valid, valid_q} <= rst ? 2'b0 : {valid_q, in_valid};

    hw_ram #(
        .WIDTH(DATA_BITS + 1),
        .DEPTH(2 ** KEY_BITS)
    ) ram (
        .clk,
        .rd_addr(in_key),
        .rd_data({out_hit, out_data}),
        .wr_en,
        .wr_addr,
        .wr_data
    );
endmodule
