// Of any port: word n out is word n in. Packets stay whole. A port that waits is not passed by more packets than there are ports,
// and when no packet is on its way and the output moves, a word is taken after two cycles.
module arbiter #(
    parameter int PORTS = 3
) (
    input logic               clk,
    input logic               reset,
    input logic [PORTS-1:0]   in_valid,
    input logic [2*PORTS-1:0] in_data,
    input logic [PORTS-1:0]   in_last,
    input logic               out_ready
);
    logic started = 1'b0;
    always_ff @(posedge clk) started <= 1'b1;
    logic rst;
    assign rst = reset || !started;

    logic [PORTS-1:0] in_ready;
    logic out_valid, out_last;
    logic [1:0] out_data, out_port;
    hw_arbiter #(.WIDTH(2), .PORTS(PORTS)) dut (
        .clk, .rst, .in_valid, .in_ready, .in_data, .in_last, .out_valid, .out_ready, .out_data, .out_last, .out_port
    );

    (* anyconst *) logic [1:0] port;
    (* anyconst *) logic [2:0] n;
    logic mine_valid, mine_ready, mine_last, others_end;
    logic [1:0] mine_data;
    always_comb begin
        assume (port < PORTS);
        mine_valid = in_valid[port];
        mine_ready = in_ready[port];
        mine_last  = in_last[port];
        mine_data  = in_data[2*port+:2];
        others_end = |(in_valid & in_ready & in_last & ~(PORTS'(1) << port));
    end

    // An offer stays until it is taken.
    logic [PORTS-1:0] waited;
    logic       offered;
    logic [2:0] offer;
    always_ff @(posedge clk) begin
        waited  <= rst ? '0 : in_valid & ~in_ready;
        offered <= !rst && mine_valid && !mine_ready;
        offer   <= {mine_last, mine_data};
    end
    always_comb begin
        if (!rst) assume ((waited & ~in_valid) == 0);
        if (offered && !rst) assume (mine_valid && {mine_last, mine_data} == offer);
    end

    logic [2:0] taken, given, overtaken, word;
    logic       amid;
    logic [1:0] amid_port;
    logic       taking, in_amid;  // Within a packet, at the input.
    logic [1:0] stopped;
    assign taking = |(in_valid & in_ready);
    always_ff @(posedge clk) begin
        if (rst) begin
            taken     <= '0;
            given     <= '0;
            overtaken <= '0;
            amid      <= 1'b0;
            in_amid   <= 1'b0;
            stopped   <= '0;
        end else begin
            if (taking) in_amid <= !(|(in_valid & in_ready & in_last));
            stopped <= mine_valid && !taking && !in_amid && !(out_valid && !out_ready) ? stopped + 1'b1 : '0;
            if (mine_valid && mine_ready) begin
                taken <= taken + 1'b1;
                if (taken == n) word <= {mine_last, mine_data};
            end
            if (out_valid && out_ready) begin
                if (out_port == port) given <= given + 1'b1;
                amid      <= !out_last;
                amid_port <= out_port;
            end
            overtaken <= mine_valid && !mine_ready ? overtaken + 3'(others_end) : '0;
        end
    end
    always_comb
        if (!rst) begin
            assert ((in_ready & (in_ready - 1'b1)) == 0);
            if (out_valid) assert (out_port < PORTS);
            if (out_valid && amid) assert (out_port == amid_port);
            if (out_valid && out_port == port) begin
                assert (taken != given);
                if (given == n) assert ({out_last, out_data} == word);
            end
            assert (overtaken <= PORTS);
            assert (stopped <= 2);
        end
endmodule
