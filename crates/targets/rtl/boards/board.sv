// `@NAME@` between Ethernet ports with GMII, and its control by Etherbone. Port i of the program is port i here.
//
// A frame waits twice until it is complete: behind its MAC, where bad ones are dropped, and in the queue of its egress port,
// where those are dropped for which there is no room. Frames to ports that are not here are dropped. Everything between is in the
// clock of the core, `clk`.
module @NAME@_board #(
    localparam int PORTS = @PORTS@
) (
    input  logic               clk,
    input  logic               rst,
    input  logic               tx_clk,  // 125 MHz.
    input  logic [PORTS-1:0]   rx_clk,
    input  logic [8*PORTS-1:0] rxd,
    input  logic [PORTS-1:0]   rx_dv,
    input  logic [PORTS-1:0]   rx_er,
    output logic [8*PORTS-1:0] txd,
    output logic [PORTS-1:0]   tx_en
);
    localparam int BUS_BYTES = @BUS@;
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1;
    localparam int PORT_BITS = PORTS > 1 ? $clog2(PORTS) : 1;
    localparam int CONTROL = @CONTROL@;  // The port by which the board is controlled.
    localparam logic [47:0] MAC = @MAC@;
    localparam logic [31:0] IP = @IP@;

    // From the MACs to the core.
    logic [PORTS-1:0] came_valid, came_ready, came_last;
    logic [34*PORTS-1:0] came;
    logic [PORTS-1:0] enters_valid, enters_ready, enters_last;
    logic [34*PORTS-1:0] enters;
    logic control_taken;
    logic [32*PORTS-1:0] received_bad, sent_not;
    generate
        for (genvar p = 0; p < PORTS; p++) begin : receive
            logic valid, last, bad, dropped;
            logic [31:0] data;
            logic [1:0] rest;
            hw_gmii_rx #(
                .MAX_BYTES(@MAX@)
            ) mac (
                .clk(rx_clk[p]),
                .rxd(rxd[8*p+:8]),
                .rx_dv(rx_dv[p]),
                .rx_er(rx_er[p]),
                .out_valid(valid),
                .out_data(data),
                .out_rest(rest),
                .out_last(last),
                .out_bad(bad)
            );
            hw_packet_cdc #(
                .DEPTH(1024)
            ) queue (
                .wr_clk(rx_clk[p]),
                .in_valid(valid),
                .in_data(data),
                .in_rest(rest),
                .in_last(last),
                .in_bad(bad),
                .dropped,
                .rd_clk(clk),
                .out_valid(came_valid[p]),
                .out_ready(came_ready[p]),
                .out_data(came[34*p+:32]),
                .out_rest(came[34*p+32+:2]),
                .out_last(came_last[p])
            );
            hw_pulse_count drops (
                .from_clk(rx_clk[p]),
                .pulse(dropped),
                .clk,
                .count(received_bad[32*p+:32])
            );
            if (p == CONTROL) begin : tapped
                hw_control_tap #(
                    .MAC(MAC)
                ) tap (
                    .clk,
                    .rst,
                    .in_valid(came_valid[p]),
                    .in_ready(came_ready[p]),
                    .in_data(came[34*p+:32]),
                    .in_rest(came[34*p+32+:2]),
                    .in_last(came_last[p]),
                    .out_valid(enters_valid[p]),
                    .out_ready(enters_ready[p]),
                    .out_data(enters[34*p+:32]),
                    .out_rest(enters[34*p+32+:2]),
                    .out_last(enters_last[p]),
                    .control_valid(control_taken)
                );
            end else begin : plain
                assign enters_valid[p]    = came_valid[p];
                assign came_ready[p]      = enters_ready[p];
                assign enters[34*p+:34]   = came[34*p+:34];
                assign enters_last[p]     = came_last[p];
            end
        end
    endgenerate

    logic merged_valid, merged_ready, merged_last;
    logic [33:0] merged;
    logic [PORT_BITS-1:0] merged_port;
    hw_arbiter #(
        .WIDTH(34),
        .PORTS(PORTS)
    ) merge (
        .clk,
        .rst,
        .in_valid(enters_valid),
        .in_ready(enters_ready),
        .in_data(enters),
        .in_last(enters_last),
        .out_valid(merged_valid),
        .out_ready(merged_ready),
        .out_data(merged),
        .out_last(merged_last),
        .out_port(merged_port)
    );
    logic in_valid, in_ready, in_last;
    logic [8*BUS_BYTES-1:0] in_data;
    logic [BYTES_BITS-1:0] in_bytes;
    logic [PORT_BITS-1:0] in_port;
    hw_widen #(
        .BUS_BYTES(BUS_BYTES),
        .META_BITS(PORT_BITS)
    ) widen (
        .clk,
        .rst,
        .in_valid(merged_valid),
        .in_ready(merged_ready),
        .in_data(merged[31:0]),
        .in_rest(merged[33:32]),
        .in_last(merged_last),
        .in_meta(merged_port),
        .out_valid(in_valid),
        .out_ready(in_ready),
        .out_data(in_data),
        .out_bytes(in_bytes),
        .out_last(in_last),
        .out_meta(in_port)
    );

    // Microseconds since the start.
    logic [31:0] fraction = '0;
    logic [47:0] now = '0;
    logic        carry = 1'b0;
    always_ff @(posedge clk) begin
        {carry, fraction} <= {1'b0, fraction} + 33'd@MICROSECOND@;
        if (carry) now <= now + 1'b1;
    end

    logic out_valid, out_ready, out_last;
    logic [8*BUS_BYTES-1:0] out_data;
    logic [BYTES_BITS-1:0] out_bytes;
    logic [8:0] out_port;
    logic core_wr_en, core_wr_ready, core_rd_en, core_rd_valid;
    logic [31:0] wr_addr, wr_data, rd_addr, core_rd_data;
    logic in_dropped;
    @NAME@ core (
        .clk,
        .rst,
        .in_valid,
        .in_ready,
        .in_data,
        .in_bytes,
        .in_last,
        .in_bad(1'b0),
        .in_port(9'(in_port)),
        .in_now(now),
        .in_dropped,
        .verdict(),
        .verdict_sends(),
        .verdict_last(),
        .out_valid,
        .out_ready,
        .out_data,
        .out_bytes,
        .out_last,
        .out_port,
        .bus_wr_en(core_wr_en),
        .bus_wr_ready(core_wr_ready),
        .bus_wr_addr(wr_addr[15:0]),
        .bus_wr_data(wr_data),
        .bus_rd_en(core_rd_en),
        .bus_rd_addr(rd_addr[15:0]),
        .bus_rd_valid(core_rd_valid),
        .bus_rd_data(core_rd_data)
    );

    // From the core to the MACs. What a frame's port does not have is dropped.
    logic leaves_valid, leaves_ready, leaves_last, nowhere;
    logic [31:0] leaves_data;
    logic [1:0] leaves_rest;
    logic [8:0] leaves_port;
    hw_narrow #(
        .BUS_BYTES(BUS_BYTES),
        .META_BITS(9)
    ) narrow (
        .clk,
        .rst,
        .in_valid(out_valid),
        .in_ready(out_ready),
        .in_data(out_data),
        .in_bytes(out_bytes),
        .in_last(out_last),
        .in_meta(out_port),
        .out_valid(leaves_valid),
        .out_ready(leaves_ready),
        .out_data(leaves_data),
        .out_rest(leaves_rest),
        .out_last(leaves_last),
        .out_meta(leaves_port)
    );
    assign nowhere = leaves_port >= 9'(PORTS);
    logic [PORTS-1:0] leaves_to, leaves_taken;
    logic answer_valid, answer_ready, answer_last;
    logic [31:0] answer_data;
    logic [1:0] answer_rest;
    assign leaves_ready = nowhere || |(leaves_to & leaves_taken);
    generate
        for (genvar p = 0; p < PORTS; p++) begin : send
            logic valid, last, dropped;
            logic [33:0] word;
            assign leaves_to[p] = leaves_port == 9'(p);
            if (p == CONTROL) begin : merged
                logic port;
                hw_arbiter #(
                    .WIDTH(34),
                    .PORTS(2)
                ) merge (
                    .clk,
                    .rst,
                    .in_valid({answer_valid, leaves_valid && leaves_to[p]}),
                    .in_ready({answer_ready, leaves_taken[p]}),
                    .in_data({answer_rest, answer_data, leaves_rest, leaves_data}),
                    .in_last({answer_last, leaves_last}),
                    .out_valid(valid),
                    .out_ready(1'b1),
                    .out_data(word),
                    .out_last(last),
                    .out_port(port)
                );
                logic unused;
                assign unused = &{1'b0, port};
            end else begin : plain
                assign valid           = leaves_valid && leaves_to[p];
                assign leaves_taken[p] = 1'b1;
                assign word            = {leaves_rest, leaves_data};
                assign last            = leaves_last;
            end
            logic sends_valid, sends_ready, sends_last;
            logic [31:0] sends_data;
            logic [1:0] sends_rest;
            hw_packet_cdc #(
                .DEPTH(@QUEUE@)
            ) queue (
                .wr_clk(clk),
                .in_valid(valid),
                .in_data(word[31:0]),
                .in_rest(word[33:32]),
                .in_last(last),
                .in_bad(1'b0),
                .dropped,
                .rd_clk(tx_clk),
                .out_valid(sends_valid),
                .out_ready(sends_ready),
                .out_data(sends_data),
                .out_rest(sends_rest),
                .out_last(sends_last)
            );
            hw_gmii_tx mac (
                .clk(tx_clk),
                .in_valid(sends_valid),
                .in_ready(sends_ready),
                .in_data(sends_data),
                .in_rest(sends_rest),
                .in_last(sends_last),
                .txd(txd[8*p+:8]),
                .tx_en(tx_en[p])
            );
            logic [31:0] count = '0;
            always_ff @(posedge clk) if (dropped) count <= count + 1'b1;
            assign sent_not[32*p+:32] = count;
        end
    endgenerate

    // The control: requests wait in a queue, so that a port's packets do not wait for them.
    logic asked_valid, asked_ready, asked_last, asked_dropped;
    logic [31:0] asked_data;
    logic [1:0] asked_rest;
    hw_packet_cdc #(
        .DEPTH(512)
    ) requests (
        .wr_clk(clk),
        .in_valid(control_taken),
        .in_data(enters[34*CONTROL+:32]),
        .in_rest(enters[34*CONTROL+32+:2]),
        .in_last(enters_last[CONTROL]),
        .in_bad(1'b0),
        .dropped(asked_dropped),
        .rd_clk(clk),
        .out_valid(asked_valid),
        .out_ready(asked_ready),
        .out_data(asked_data),
        .out_rest(asked_rest),
        .out_last(asked_last)
    );
    logic wr_en, wr_ready, rd_en, rd_valid;
    logic [31:0] rd_data;
    hw_etherbone #(
        .MAC(MAC),
        .IP(IP)
    ) etherbone (
        .clk,
        .rst,
        .in_valid(asked_valid),
        .in_ready(asked_ready),
        .in_data(asked_data),
        .in_last(asked_last),
        .out_valid(answer_valid),
        .out_ready(answer_ready),
        .out_data(answer_data),
        .out_rest(answer_rest),
        .out_last(answer_last),
        .bus_wr_en(wr_en),
        .bus_wr_ready(wr_ready),
        .bus_wr_addr(wr_addr),
        .bus_wr_data(wr_data),
        .bus_rd_en(rd_en),
        .bus_rd_addr(rd_addr),
        .bus_rd_valid(rd_valid),
        .bus_rd_data(rd_data)
    );

    // Registers: those of the core, and from 0x10000 on the board's: of each port the frames that were bad or came too fast, and those for
    // which its queue had no room; then those to no port.
    localparam int COUNTS = 2 * PORTS + 1;
    logic core_wr, core_rd, board_valid;
    logic [31:0] to_nowhere = '0, board_data;
    logic [32*COUNTS-1:0] counts;
    assign counts     = {to_nowhere, sent_not, received_bad};
    assign core_wr    = wr_addr[31:16] == '0;
    assign core_rd    = rd_addr[31:16] == '0;
    assign core_wr_en = wr_en && core_wr;
    assign core_rd_en = rd_en && core_rd;
    assign wr_ready   = !core_wr || core_wr_ready;
    assign rd_valid   = core_rd ? core_rd_valid : board_valid;
    assign rd_data    = core_rd ? core_rd_data : board_data;
    always_ff @(posedge clk) begin
        if (leaves_valid && leaves_last && nowhere) to_nowhere <= to_nowhere + 1'b1;
        board_data <= '0;
        for (int i = 0; i < COUNTS; i++) if (rd_addr == 32'h1_0000 + 32'(4 * i)) board_data <= counts[32*i+:32];
        board_valid <= rd_en && !core_rd && !board_valid;
    end

    logic unused;
    assign unused = &{1'b0, asked_rest, asked_dropped, in_dropped};
endmodule
