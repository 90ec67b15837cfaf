// Register slice of a stream: every output comes from a register, in both directions. One transfer a cycle, latency 1.
// Holds two words: one at the output, and the one that came while `out_ready` was still on its way to `in_ready`.
module hw_skid #(
    parameter int WIDTH = 8
) (
    input  logic             clk,
    input  logic             rst,
    input  logic             in_valid,
    output logic             in_ready,
    input  logic [WIDTH-1:0] in_data,
    output logic             out_valid,
    input  logic             out_ready,
    output logic [WIDTH-1:0] out_data
);
    logic [WIDTH-1:0] spare;  // Full while `in_ready` is low.

    always_ff @(posedge clk) begin
        if (rst) begin
            in_ready  <= 1'b1;
            out_valid <= 1'b0;
        end else if (out_ready || !out_valid) begin
            in_ready  <= 1'b1;
            out_valid <= in_valid || !in_ready;
        end else if (in_valid) begin
            in_ready <= 1'b0;
        end
        if (out_ready || !out_valid) out_data <= in_ready ? in_data : spare;
        if (in_ready) spare <= in_data;
    end
endmodule
