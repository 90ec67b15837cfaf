// Meters: two token buckets and three colours (RFC 2698, colour-blind), as `ir::meter::Meter::execute`. Latency 12, one packet a
// cycle, exact with packets of the same meter in a row. `in_now` is in microseconds; `in_length` is the packet's cost in tokens.
//
// Buckets hold millionths of tokens. The driver writes {configured, cir, cbs, pir, pbs}, bursts in millionths of tokens, in a cycle
// without packet, which fills both buckets. A meter without configuration is green; an index of `DEPTH` or more, too.
module hw_meter #(
    parameter int DEPTH = 64,
    parameter int RATE_BITS = 40,
    parameter int BURST_BITS = 32,
    parameter int TIME_BITS = 48,
    parameter int LENGTH_BITS = 14,
    localparam int INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1,
    localparam int Q = BURST_BITS + 20,
    localparam int CONFIG_BITS = 1 + 2 * RATE_BITS + 2 * Q
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    input  logic [INDEX_BITS-1:0]  in_index,
    input  logic [TIME_BITS-1:0]   in_now,
    input  logic [LENGTH_BITS-1:0] in_length,
    output logic                   out_valid,
    output logic [1:0]             out_color,
    input  logic                   ctl_valid,
    output logic                   ctl_ready,
    input  logic                   ctl_write,
    input  logic [INDEX_BITS-1:0]  ctl_index,
    input  logic [CONFIG_BITS-1:0] ctl_wdata,
    output logic                   ctl_done,
    output logic [CONFIG_BITS-1:0] ctl_rdata
);
    // Packets and writes of the driver go through the same stages. The driver's one is held until it has left.
    logic [11:0] packets, writes;
    logic asked, ctl_busy;
    assign asked     = ctl_valid && ctl_ready;
    assign ctl_ready = !in_valid && !ctl_busy;
    assign ctl_done  = writes[11];
    assign ctl_rdata = '0;
    assign out_valid = packets[11];
    logic                   configure;
    logic [CONFIG_BITS-1:0] wdata;
    always_ff @(posedge clk) begin
        packets  <= rst ? '0 : {packets[10:0], in_valid};
        writes   <= rst ? '0 : {writes[10:0], asked};
        ctl_busy <= !rst && (asked || (ctl_busy && !ctl_done));
        if (asked) begin
            configure <= ctl_write;
            wdata     <= ctl_wdata;
        end
    end

    // An index for each stage; one that does not exist writes nothing.
    logic [INDEX_BITS-1:0]    index;
    logic [11*INDEX_BITS-1:0] indices;  // Of stages 0 to 10.
    logic [10*INDEX_BITS-1:0] indices_q;
    logic                     exists;
    logic [9:0]               exist;
    assign index   = in_valid ? in_index : ctl_index;
    assign indices = {indices_q, index};
    generate
        if (DEPTH == 2 ** INDEX_BITS) assign exists = 1'b1;
        else assign exists = index < INDEX_BITS'(DEPTH);
    endgenerate
    always_ff @(posedge clk) begin
        indices_q <= indices[10*INDEX_BITS-1:0];
        exist     <= {exist[8:0], exists};
    end

    // Stages 0 to 2: the configuration, and the time of the last packet, which this one's takes the place of.
    logic                   configured, seen;
    logic [RATE_BITS-1:0]   cir, pir;
    logic [Q-1:0]           cbs, pbs;
    logic [TIME_BITS-1:0]   last, now1, now2;
    logic [LENGTH_BITS-1:0] length1, length2, length3;
    logic                   write2, packet2;
    assign write2  = !rst && writes[1] && configure && exist[1];
    assign packet2 = !rst && packets[1] && exist[1];
    hw_ram #(
        .WIDTH(CONFIG_BITS),
        .DEPTH(DEPTH),
        .RMW(2)
    ) configuration (
        .clk,
        .rd_addr(index),
        .rd_data({configured, cir, cbs, pir, pbs}),
        .wr_en(write2),
        .wr_addr(indices[2*INDEX_BITS+:INDEX_BITS]),
        .wr_data(wdata)
    );
    hw_ram #(
        .WIDTH(1 + TIME_BITS),
        .DEPTH(DEPTH),
        .RMW(2)
    ) times (
        .clk,
        .rd_addr(index),
        .rd_data({seen, last}),
        .wr_en(write2 || packet2),
        .wr_addr(indices[2*INDEX_BITS+:INDEX_BITS]),
        .wr_data({!write2, now2})
    );

    // Stage 3: the time that has passed. Stages 4 to 8: what it adds to each bucket. The rest waits.
    logic [TIME_BITS-1:0] passed;
    logic                 any;
    logic [TIME_BITS-1:0] difference;
    always_ff @(posedge clk) begin
        {now2, now1} <= {now1, in_now};
        {length3, length2, length1} <= {length2, length1, in_length};
        difference <= now2 - last;
        any        <= seen && now2 > last;
    end
    assign passed = any ? difference : '0;

    localparam int COST_BITS = LENGTH_BITS + 20;
    logic [COST_BITS-1:0] cost_a, cost_b, cost5, cost6, cost7, cost8;
    logic [7:0] active;  // Stages 3 to 10: the meter has a configuration.
    always_ff @(posedge clk) begin
        // A million is 2^6 x (2^14 - 2^10 + 2^8 + 2^3 + 1).
        cost_a <= (COST_BITS'(length3) << 20) - (COST_BITS'(length3) << 16);
        cost_b <= (COST_BITS'(length3) << 14) + (COST_BITS'(length3) << 9) + (COST_BITS'(length3) << 6);
        cost5  <= cost_a + cost_b;
        {cost8, cost7, cost6} <= {cost7, cost6, cost5};
        active <= {active[6:0], configured && exist[1]};
    end

    logic peak_ok, committed_ok;
    logic write10, packet10;
    assign write10  = !rst && writes[9] && configure && exist[9];
    assign packet10 = !rst && packets[9] && exist[9] && active[7];
    hw_bucket #(
        .DEPTH(DEPTH),
        .RATE_BITS(RATE_BITS),
        .Q(Q),
        .TIME_BITS(TIME_BITS),
        .COST_BITS(COST_BITS)
    ) peak (
        .clk,
        .rate2(pir),
        .burst2(pbs),
        .passed3(passed),
        .cost8,
        .index8(indices[8*INDEX_BITS+:INDEX_BITS]),
        .index10(indices[10*INDEX_BITS+:INDEX_BITS]),
        .fill10(write10),
        .full10(wdata[Q-1:0]),
        .update10(packet10),
        .may_take10(1'b1),
        .ok10(peak_ok)
    );
    hw_bucket #(
        .DEPTH(DEPTH),
        .RATE_BITS(RATE_BITS),
        .Q(Q),
        .TIME_BITS(TIME_BITS),
        .COST_BITS(COST_BITS)
    ) committed (
        .clk,
        .rate2(cir),
        .burst2(cbs),
        .passed3(passed),
        .cost8,
        .index8(indices[8*INDEX_BITS+:INDEX_BITS]),
        .index10(indices[10*INDEX_BITS+:INDEX_BITS]),
        .fill10(write10),
        .full10(wdata[Q+RATE_BITS+:Q]),
        .update10(packet10),
        .may_take10(peak_ok),
        .ok10(committed_ok)
    );

    // Stage 10 has decided; stage 12 is the output.
    logic [1:0] color;
    always_ff @(posedge clk) begin
        color     <= !packet10 ? 2'd0 : !peak_ok ? 2'd2 : !committed_ok ? 2'd1 : 2'd0;
        out_color <= color;
    end
endmodule
