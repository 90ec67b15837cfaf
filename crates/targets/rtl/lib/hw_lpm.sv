// Longest-prefix match: binary search over the sorted ends of at most 2^`LEVELS` intervals, one level of the tree a memory.
// Latency `LEVELS` x (3, or 4 for keys of more than 32 bits) + 2, one lookup a cycle. `LEVELS` is 3 to 16.
//
// There are two banks. The driver fills the one that is not in use and then switches; `switching` is high until no lookup uses
// the other one. The README says what the driver writes.
module hw_lpm #(
    parameter int KEY_BITS = 32,
    parameter int DATA_BITS = 16,
    parameter int LEVELS = 8,
    localparam int WR_BITS = KEY_BITS > DATA_BITS + 1 ? KEY_BITS : DATA_BITS + 1
) (
    input  logic                 clk,
    input  logic                 rst,
    input  logic                 in_valid,
    input  logic [KEY_BITS-1:0]  in_key,
    output logic                 out_valid,
    output logic                 out_hit,
    output logic [DATA_BITS-1:0] out_data,
    output logic                 switching,
    input  logic                 wr_en,
    input  logic [LEVELS+2:0]    wr_addr,
    input  logic [WR_BITS-1:0]   wr_data
);
    localparam int PARTS = (KEY_BITS + 31) / 32;  // The comparison takes two cycles if there are several.
    localparam int STEP = PARTS > 1 ? 4 : 3;
    localparam int LATENCY = LEVELS * STEP + 2;
    localparam int C = $clog2(LATENCY + 1);

    logic [LATENCY-1:0] valids;
    assign out_valid = valids[LATENCY-1];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[LATENCY-2:0], in_valid};

    logic              bank;
    logic [C-1:0]      left;
    logic [1:0]        wr_kind;
    logic              wr_bank;
    logic [LEVELS-1:0] wr_node;
    assign {wr_kind, wr_bank, wr_node} = wr_addr;
    assign switching = left != '0;
    always_ff @(posedge clk) begin
        if (rst) begin
            bank <= 1'b0;
            left <= '0;
        end else if (wr_en && wr_kind == 2'd2) begin
            bank <= wr_data[0];
            left <= C'(LATENCY);
        end else if (switching) left <= left - 1'b1;
    end

    // In front of each level: the key, and the way through the tree, {bank, turns}.
    logic [(LEVELS+1)*KEY_BITS-1:0]     keys;
    logic [(LEVELS+1)*(LEVELS+1)-1:0] ways;
    assign keys[0+:KEY_BITS]   = in_key;
    assign ways[0+:LEVELS+1] = (LEVELS + 1)'(bank);
    generate
        for (genvar l = 0; l < LEVELS; l++) begin : level
            logic [l:0]          way0, way1, way2;
            logic [KEY_BITS-1:0] key0, key1, key2, key3, node;
            logic [l+1:0]        next;
            // A node's number is a one and the turns to it.
            logic [l:0]          wr_way;
            if (l == 0) assign wr_way = wr_bank;
            else assign wr_way = {wr_bank, wr_node[(l > 0 ? l-1 : 0):0]};
            assign way0 = ways[l*(LEVELS+1)+:l+1];
            assign key0 = keys[l*KEY_BITS+:KEY_BITS];
            hw_ram #(
                .WIDTH(KEY_BITS),
                .DEPTH(2 ** (l + 1))
            ) nodes (
                .clk,
                .rd_addr(way0),
                .rd_data(node),
                .wr_en(wr_en && wr_kind == 2'd0 && wr_node >> l == LEVELS'(1)),
                .wr_addr(wr_way),
                .wr_data(wr_data[KEY_BITS-1:0])
            );
            always_ff @(posedge clk) begin
                {way2, way1} <= {way1, way0};
                {key3, key2, key1} <= {key2, key1, key0};
            end
            if (PARTS == 1) begin : narrow
                always_ff @(posedge clk) next <= {way2, key2 >= node};
                assign keys[(l+1)*KEY_BITS+:KEY_BITS] = key3;
            end else begin : wide
                logic [32*PARTS-1:0] a, b;
                logic [PARTS-1:0]    above, same;
                logic [l:0]          way3;
                logic [KEY_BITS-1:0] key4;
                logic                turn;
                assign a = (32 * PARTS)'(key2);
                assign b = (32 * PARTS)'(node);
                always_comb begin
                    turn = 1'b1;
                    for (int p = 0; p < PARTS; p++) turn = above[p] || (same[p] && turn);
                end
                always_ff @(posedge clk) begin
                    for (int p = 0; p < PARTS; p++) begin
                        above[p] <= a[32*p+:32] > b[32*p+:32];
                        same[p]  <= a[32*p+:32] == b[32*p+:32];
                    end
                    way3 <= way2;
                    key4 <= key3;
                    next <= {way3, turn};
                end
                assign keys[(l+1)*KEY_BITS+:KEY_BITS] = key4;
            end
            assign ways[(l+1)*(LEVELS+1)+:LEVELS+1] = (LEVELS + 1)'(next);
        end
    endgenerate

    hw_ram #(
        .WIDTH(DATA_BITS + 1),
        .DEPTH(2 ** (LEVELS + 1))
    ) intervals (
        .clk,
        .rd_addr(ways[LEVELS*(LEVELS+1)+:LEVELS+1]),
        .rd_data({out_hit, out_data}),
        .wr_en(wr_en && wr_kind == 2'd1),
        .wr_addr({wr_bank, wr_node}),
        .wr_data(wr_data[DATA_BITS:0])
    );

    // The last level's key.
    logic unused;
    assign unused = &{1'b0, keys, ways, wr_data};
endmodule
