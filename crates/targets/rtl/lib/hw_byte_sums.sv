// The sums of the bytes of packets at even places and at odd ones, counted from the first byte, for checksums over what does not enter a pipeline.
// Packets pass with `META_BITS` bits for each word; with the last word of a packet, `out_sums` is {even, odd}, 24 bits each. One word a cycle,
// latency log2(`BUS_BYTES`) + 2.
module hw_byte_sums #(
    parameter int BUS_BYTES = 64,
    parameter int META_BITS = 8,
    localparam int BYTES_BITS = $clog2(BUS_BYTES) + 1
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    output logic                   in_ready,
    input  logic [8*BUS_BYTES-1:0] in_data,
    input  logic [BYTES_BITS-1:0]  in_bytes,
    input  logic                   in_last,
    input  logic                   in_bad,
    input  logic [META_BITS-1:0]   in_meta,
    output logic                   out_valid,
    input  logic                   out_ready,
    output logic [8*BUS_BYTES-1:0] out_data,
    output logic [BYTES_BITS-1:0]  out_bytes,
    output logic                   out_last,
    output logic                   out_bad,
    output logic [META_BITS-1:0]   out_meta,
    output logic [47:0]            out_sums
);
    localparam int LEVELS = $clog2(BUS_BYTES) - 1;
    localparam int N = BUS_BYTES / 2;
    localparam int S = 8 + LEVELS;
    localparam int W = 8 * BUS_BYTES + BYTES_BITS + 2 + META_BITS;

    logic word_valid, word_ready, skid_ready, moves;
    logic [W-1:0] word;
    hw_skid #(
        .WIDTH(W)
    ) skid (
        .clk,
        .rst,
        .in_valid,
        .in_ready(skid_ready),
        .in_data({in_last, in_bad, in_meta, in_bytes, in_data}),
        .out_valid(word_valid),
        .out_ready(word_ready),
        .out_data(word)
    );
    assign moves      = out_ready || !out_valid;
    assign word_ready = moves;
    assign in_ready   = skid_ready && !rst;

    // A word waits until the sums of its bytes are there, those at even places in the lower half of each level.
    logic [(LEVELS+2)*W-1:0] words;
    logic [LEVELS+1:0] valid;
    logic [(LEVELS+1)*2*N*S-1:0] sums;
    assign out_valid = valid[LEVELS+1];
    assign {out_last, out_bad, out_meta, out_bytes, out_data} = words[(LEVELS+1)*W+:W];
    always_ff @(posedge clk) begin
        if (rst) valid <= '0;
        else if (moves) valid <= {valid[LEVELS:0], word_valid};
        if (moves) words <= {words[(LEVELS+1)*W-1:0], word};
    end
    generate
        for (genvar i = 0; i < BUS_BYTES; i++) begin : bytes
            localparam int PLACE = (i % 2) * N + i / 2;
            logic [7:0] kept;
            always_ff @(posedge clk)
                if (moves) kept <= word[8*BUS_BYTES+:BYTES_BITS] > BYTES_BITS'(i) ? word[8*i+:8] : '0;
            assign sums[PLACE*S+:S] = S'(kept);
        end
        for (genvar level = 0; level < LEVELS; level++) begin : levels
            logic [2*N*S-1:0] from, to;
            assign from = sums[level*2*N*S+:2*N*S];
            always_ff @(posedge clk)
                if (moves) begin
                    to <= '0;
                    for (int half = 0; half < 2; half++)
                        for (int i = 0; i < N / 2; i++)
                            to[(half*N+i)*S+:S] <= from[(half*N+2*i)*S+:S] + from[(half*N+2*i+1)*S+:S];
                end
            assign sums[(level+1)*2*N*S+:2*N*S] = to;
        end
    endgenerate

    // The sums of the packet so far.
    logic first;
    logic [23:0] even, odd;
    assign even = 24'(sums[LEVELS*2*N*S+:S]) + (first ? 24'd0 : out_sums[47:24]);
    assign odd  = 24'(sums[(LEVELS*2*N+N)*S+:S]) + (first ? 24'd0 : out_sums[23:0]);
    always_ff @(posedge clk) begin
        if (rst) first <= 1'b1;
        else if (moves && valid[LEVELS]) first <= words[(LEVELS+1)*W-1];
        if (moves && valid[LEVELS]) out_sums <= {even, odd};
    end

    // What is left at the narrow end.
    logic unused;
    assign unused = &{1'b0, sums};
endmodule
