module skid (
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
    hw_skid #(.WIDTH(2)) dut (.clk, .rst, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data);
    stream #(.WIDTH(2), .CAPACITY(2), .LATENCY(1)) check (
        .clk, .rst, .in_valid, .in_ready, .in_data, .out_valid, .out_ready, .out_data
    );
endmodule
