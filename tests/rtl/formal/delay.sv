// The word of packet n is at the output from `DELAY` cycles after it came until that of packet n + 1 is, for every n.
module delay #(
    parameter int DELAY = 8,
    parameter int GAP = 3,
    parameter bit BLOCK = 0
) (
    input logic       clk,
    input logic       reset,
    input logic       in_valid,
    input logic [1:0] in_data
);
    logic started = 1'b0;
    always_ff @(posedge clk) started <= 1'b1;
    logic rst;
    assign rst = reset || !started;

    // Which packets are under way for how long. They are `GAP` cycles apart.
    logic [DELAY-1:0] under_way;
    logic [1:0] out_data;
    always_ff @(posedge clk) under_way <= rst ? '0 : {under_way[DELAY-2:0], in_valid};
    always_comb if (in_valid && !rst) assume (under_way[GAP-2:0] == 0);
    hw_delay #(.WIDTH(2), .DELAY(DELAY), .GAP(GAP), .BLOCK(BLOCK)) dut (
        .clk, .rst, .in_valid, .in_data, .out_soon(under_way[DELAY-3]), .out_data
    );

    (* anyconst *) logic [2:0] n;
    logic [2:0] came, shown;
    logic [1:0] word;
    logic       some;
    always_ff @(posedge clk) begin
        if (rst) begin
            came  <= '0;
            shown <= '0;
            some  <= 1'b0;
        end else begin
            if (in_valid) begin
                came <= came + 1'b1;
                if (came == n) word <= in_data;
            end
            if (under_way[DELAY-2]) begin
                shown <= shown + 1'b1;
                some  <= 1'b1;
            end
        end
    end
    always_comb if (!rst && some && shown == n + 3'd1) assert (out_data == word);
endmodule
