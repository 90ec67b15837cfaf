// A token bucket of `hw_meter`, by index. The numbers in the names of ports are the stages of the meter's pipeline in which they
// belong. Tokens are in millionths; the bucket is filled with rate x time that has passed, up to the burst, and then gives the
// packet's cost, if it has that much and it may.
//
// Tokens are read in stage 8 and written in stage 10, from where they come back at once for the next packet. So that stage 10 takes
// one addition, all of its possible results are computed side by side, with what does not depend on the tokens added before.
module hw_bucket #(
    parameter int DEPTH = 64,
    parameter int RATE_BITS = 40,
    parameter int Q = 52,
    parameter int TIME_BITS = 48,
    parameter int COST_BITS = 34,
    localparam int INDEX_BITS = DEPTH > 1 ? $clog2(DEPTH) : 1
) (
    input  logic                  clk,
    input  logic [RATE_BITS-1:0]  rate2,
    input  logic [Q-1:0]          burst2,
    input  logic [TIME_BITS-1:0]  passed3,
    input  logic [COST_BITS-1:0]  cost8,
    input  logic [INDEX_BITS-1:0] index8,
    input  logic [INDEX_BITS-1:0] index10,
    input  logic                  fill10,
    input  logic [Q-1:0]          full10,
    input  logic                  update10,
    input  logic                  may_take10,
    output logic                  ok10
);
    // The product, from digits of 18 bits: their products, sums of rows, the sum.
    localparam int A = (TIME_BITS + 17) / 18;
    localparam int B = (RATE_BITS + 17) / 18;
    localparam int P = 18 * (A + B);
    logic [18*A-1:0]   time3;
    logic [18*B-1:0]   rate3;
    logic [36*A*B-1:0] products4;
    logic [P*A-1:0]    rows4, rows5;
    logic [P-1:0]      sum5, sum6, sum7;
    assign time3 = (18 * A)'(passed3);
    always_comb begin
        rows4 = '0;
        for (int i = 0; i < A; i++)
            for (int j = 0; j < B; j++) rows4[P*i+:P] += P'(products4[36*(A*j+i)+:36]) << 18 * (i + j);
        sum5 = '0;
        for (int i = 0; i < A; i++) sum5 += rows5[P*i+:P];
    end
    logic over7;  // More than any burst.
    generate
        if (P > Q) assign over7 = |sum7[P-1:Q];
        else assign over7 = 1'b0;
    endgenerate

    logic [Q-1:0] burst3, burst4, burst5, burst6, burst7, burst8, add8;
    logic         over8;
    always_ff @(posedge clk) begin
        rate3 <= (18 * B)'(rate2);
        for (int i = 0; i < A; i++)
            for (int j = 0; j < B; j++) products4[36*(A*j+i)+:36] <= 36'(time3[18*i+:18]) * 36'(rate3[18*j+:18]);
        rows5 <= rows4;
        sum6  <= sum5;
        sum7  <= sum6;
        add8  <= Q'(sum7);
        over8 <= over7;
        {burst8, burst7, burst6, burst5, burst4, burst3} <= {burst7, burst6, burst5, burst4, burst3, burst2};
    end

    // Signed numbers of S bits hold sums and differences of bursts, costs and tokens.
    localparam int S = (Q > COST_BITS ? Q : COST_BITS) + 2;
    logic [S-1:0] add9, to_full9, after9, spent_full9, add10, to_full10, after10, spent_full10;
    logic [Q-1:0] burst9, burst10;
    logic         over9, over10;
    always_ff @(posedge clk) begin
        add9        <= S'(add8);
        to_full9    <= S'(add8) - S'(burst8);
        after9      <= S'(add8) - S'(cost8);
        spent_full9 <= S'(burst8) - S'(cost8);
        burst9      <= burst8;
        over9       <= over8;
        {add10, to_full10, after10, spent_full10, burst10, over10} <= {add9, to_full9, after9, spent_full9, burst9, over9};
    end

    logic [Q-1:0] tokens, next;
    logic [S-1:0] filled, beyond, spent;
    logic         full;
    assign filled = S'(tokens) + add10;
    assign beyond = S'(tokens) + to_full10;
    assign spent  = S'(tokens) + after10;
    assign full   = over10 || !beyond[S-1];
    assign ok10   = full ? !spent_full10[S-1] : !spent[S-1];
    always_comb begin
        if (fill10) next = full10;
        else if (ok10 && may_take10) next = full ? Q'(spent_full10) : Q'(spent);
        else next = full ? burst10 : Q'(filled);
    end
    hw_ram #(
        .WIDTH(Q),
        .DEPTH(DEPTH),
        .RMW(2)
    ) ram (
        .clk,
        .rd_addr(index8),
        .rd_data(tokens),
        .wr_en(fill10 || update10),
        .wr_addr(index10),
        .wr_data(next)
    );

    // Where `filled` has more bits, the bucket is full.
    logic unused;
    assign unused = &{1'b0, filled};
endmodule
