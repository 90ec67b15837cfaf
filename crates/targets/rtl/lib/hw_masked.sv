// Ternary match of many entries by hashing (tuple space search, Srinivasan, Suri and Varghese, SIGCOMM 1999): for each mask in use, the
// key under that mask is looked up among the values of this mask. Of the entries that match, the one with the greatest order wins.
//
// There are `LANES` (a power of two, at least 2) with an exact-match engine each, and each looks up the key under `PASSES` masks (a power of
// two), one after the other: lookups are at least `PASSES` cycles apart. A mask with more values than a lane has room for is in several
// lanes. Latency 13 + 2 x log2(`LANES`) + `PASSES`. `out_found` is the `out_hit` of the next cycle.
//
// Writes: `wr_addr` is {kind, lane, low}, see the README. Address and data stay for 4 cycles after the one with `wr_en`, and no other write
// begins in those of a lookup: each lookup sees the table before or after a write.
module hw_masked #(
    parameter int KEY_BITS = 32,
    parameter int ORDER_BITS = 40,
    parameter int DATA_BITS = 16,
    parameter int LANES = 4,
    parameter int PASSES = 16,
    parameter int BUCKETS = 64,
    parameter int SLOTS = 4,
    localparam int LANE_BITS = $clog2(LANES),
    localparam int PASS_BITS = $clog2(PASSES),
    localparam int PLACE_BITS = 1 + $clog2(SLOTS) + $clog2(BUCKETS),
    localparam int LOW_BITS = PLACE_BITS > PASS_BITS ? PLACE_BITS : PASS_BITS,
    localparam int STORED_BITS = ORDER_BITS + DATA_BITS
) (
    input  logic                                    clk,
    input  logic                                    rst,
    input  logic                                    in_valid,
    input  logic [KEY_BITS-1:0]                     in_key,
    output logic                                    out_valid,
    output logic                                    out_found,
    output logic                                    out_hit,
    output logic [DATA_BITS-1:0]                    out_data,
    input  logic                                    wr_en,
    input  logic [LOW_BITS+LANE_BITS:0]             wr_addr,
    input  logic [PASS_BITS+KEY_BITS+STORED_BITS:0] wr_data
);
    localparam int CANDIDATE = 12 + 2 * LANE_BITS;  // The cycle in which all lanes have looked up the first mask.
    localparam int LATENCY = CANDIDATE + PASSES + 1;

    logic [LATENCY-1:0] valids;
    assign out_valid = valids[LATENCY-1];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[LATENCY-2:0], in_valid};

    logic                 wr_kind;
    logic [LANE_BITS-1:0] wr_lane;
    logic [LOW_BITS-1:0]  wr_low;
    assign {wr_kind, wr_lane, wr_low} = wr_addr;

    // From cycle 1 on, a pass each. Masks are there two cycles later.
    logic [PASS_BITS-1:0] pass, pass_1, pass_2, pass_3;
    logic [KEY_BITS-1:0]  key, key_1, key_2;
    always_ff @(posedge clk) begin
        pass <= in_valid ? '0 : pass + 1'b1;
        if (in_valid) key <= in_key;
        {key_2, key_1} <= {key_1, key};
        {pass_3, pass_2, pass_1} <= {pass_2, pass_1, pass};
    end

    // What lanes find are the leaves of a tree: node n has the children 2n and 2n + 1, and node 1 is the best of a pass.
    logic [2*LANES-1:1]                       hits;
    logic [2*LANES*STORED_BITS-1:STORED_BITS] stored;
    logic [LANES-1:0]                         unused_valid, unused_found;
    generate
        for (genvar l = 0; l < LANES; l++) begin : lane
            logic [KEY_BITS-1:0] mask, masked;
            logic                mine;
            assign mine = wr_en && wr_lane == LANE_BITS'(l);
            hw_ram #(
                .WIDTH(KEY_BITS),
                .DEPTH(PASSES)
            ) masks (
                .clk,
                .rd_addr(pass),
                .rd_data(mask),
                .wr_en(mine && !wr_kind),
                .wr_addr(wr_low[PASS_BITS-1:0]),
                .wr_data(wr_data[KEY_BITS-1:0])
            );
            always_ff @(posedge clk) masked <= key_2 & mask;
            // Equal values of different masks are different keys.
            hw_exact #(
                .KEY_BITS(PASS_BITS + KEY_BITS),
                .DATA_BITS(STORED_BITS),
                .BUCKETS(BUCKETS),
                .SLOTS(SLOTS)
            ) entries (
                .clk,
                .rst,
                .in_valid(1'b1),
                .in_key({pass_3, masked}),
                .out_valid(unused_valid[l]),
                .out_found(unused_found[l]),
                .out_hit(hits[LANES+l]),
                .out_data(stored[(LANES+l)*STORED_BITS+:STORED_BITS]),
                .wr_en(mine && wr_kind),
                .wr_addr(wr_low[PLACE_BITS-1:0]),
                .wr_data
            );
        end
        // A comparison in one cycle, and the choice in the next one.
        for (genvar n = 1; n < LANES; n++) begin : node
            logic [STORED_BITS-1:0] first, second, first_1, second_1, better;
            logic                   any, any_1, take;
            assign first  = stored[2*n*STORED_BITS+:STORED_BITS];
            assign second = stored[(2*n+1)*STORED_BITS+:STORED_BITS];
            always_ff @(posedge clk) begin
                any  <= hits[2*n] || hits[2*n+1];
                take <= hits[2*n+1] && (!hits[2*n] || second[DATA_BITS+:ORDER_BITS] > first[DATA_BITS+:ORDER_BITS]);
                {first_1, second_1} <= {first, second};
                any_1  <= any;
                better <= take ? second_1 : first_1;
            end
            assign hits[n] = any_1;
            assign stored[n*STORED_BITS+:STORED_BITS] = better;
        end
    endgenerate

    // The best of all passes so far: its order, and its data a cycle later.
    logic                  begins, takes, taken;
    logic [ORDER_BITS-1:0] order, best;
    logic [DATA_BITS-1:0]  data, data_1;
    assign begins        = valids[CANDIDATE-1];
    assign {order, data} = stored[STORED_BITS+:STORED_BITS];
    assign takes         = begins || hits[1] && (!out_found || order > best);
    always_ff @(posedge clk) begin
        out_found <= hits[1] || out_found && !begins;
        if (takes) best <= order;
        {taken, data_1} <= {takes, data};
        out_hit <= out_found;
        if (taken) out_data <= data_1;
    end

    logic unused;
    assign unused = &{1'b0, wr_low, unused_valid, unused_found};
endmodule
