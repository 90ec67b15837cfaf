module fifo #(
    parameter bit BLOCK = 0
) (
    input logic       clk,
    input logic       reset,
    input logic       in_valid,
    input logic [1:0] in_data,
    input logic       out_ready
);
    logic started = 1'b0;
    always_ff @(posedge clk) started <= 1'b1;
    logic rst;
    assign rst = reset || !started;

    logic in_ready, out_valid;
    logic [1:0] out_data;
    hw_fifo #(.WIDTH(2), .DEPTH(4), .BLOCK(BLOCK)) dut (
        .clk, .rst, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data
    );
    stream #(.WIDTH(2), .CAPACITY(4), .LATENCY(BLOCK ? 3 : 1)) check (
        .clk, .rst, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data
    );
endmodule
