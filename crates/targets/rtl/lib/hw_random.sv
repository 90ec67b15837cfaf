// 64 random bits a cycle: Marsaglia's xorshift (Journal of Statistical Software 8, 14), which begins with `SEED` and its complement and repeats after 2^64 - 1
// cycles. They are not for secrets: who sees some of them knows the others.
module hw_random #(
    parameter logic [31:0] SEED = 32'h1
) (
    input  logic        clk,
    input  logic        rst,
    output logic [63:0] out_data
);
    logic [63:0] state = {SEED, ~SEED};
    logic [63:0] first, second;
    assign first    = state ^ (state << 13);
    assign second   = first ^ (first >> 7);
    assign out_data = state;
    always_ff @(posedge clk) state <= rst ? {SEED, ~SEED} : second ^ (second << 17);
endmodule
