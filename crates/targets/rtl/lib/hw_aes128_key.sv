// AES-128 encryption (FIPS 197) with a key of its own for each block, which is expanded beside the rounds. One block a cycle.
// Latency 31. The first byte of a block is in the highest bits. S-boxes are block RAM, or logic with `LUTS`.
module hw_aes128_key #(
    parameter int LUTS = 0
) (
    input  logic         clk,
    input  logic [127:0] in_key,
    input  logic [127:0] in_block,
    output logic [127:0] out_block
);
    // FIPS 197, 4.2.1.
    function automatic [7:0] doubled(input [7:0] byte_in);
        doubled = {byte_in[6:0], 1'b0} ^ (byte_in[7] ? 8'h1b : 8'h00);
    endfunction
    localparam bit [79:0] CONSTANTS = 80'h361b8040201008040201;

    logic [11*128-1:0] states, keys;  // In front of each round, and the result.
    assign out_block = states[10*128+:128];
    logic [127:0] first_state, first_key;
    always_ff @(posedge clk) begin
        first_state <= in_block ^ in_key;
        first_key   <= in_key;
    end
    assign states[0+:128] = first_state;
    assign keys[0+:128]   = first_key;
    generate
        for (genvar r = 1; r <= 10; r++) begin : round
            logic [127:0] from, substituted, shifted, mixed, key, key1, key2, next, state, state_key;
            logic [31:0]  word;
            assign from = states[(r-1)*128+:128];
            assign key  = keys[(r-1)*128+:128];
            for (genvar i = 0; i < 8; i++) begin : sboxes
                hw_sbox #(
                    .LUTS(LUTS)
                ) pair (
                    .clk,
                    .in_bytes(from[16*i+:16]),
                    .out_bytes(substituted[16*i+:16])
                );
            end
            for (genvar i = 0; i < 2; i++) begin : key_sboxes
                hw_sbox #(
                    .LUTS(LUTS)
                ) pair (
                    .clk,
                    .in_bytes(key[16*i+:16]),
                    .out_bytes(word[16*i+:16])
                );
            end
            // FIPS 197, 5.2: the last word, turned by a byte, is substituted; every word adds the one before.
            logic [31:0] added, word0, word1, word2, word3;
            assign added = {word[23:0], word[31:24]} ^ {CONSTANTS[8*(r-1)+:8], 24'd0};
            assign word0 = key2[127:96] ^ added;
            assign word1 = key2[95:64] ^ word0;
            assign word2 = key2[63:32] ^ word1;
            assign word3 = key2[31:0] ^ word2;
            assign next  = {word0, word1, word2, word3};
            for (genvar b = 0; b < 16; b++) begin : shift
                assign shifted[127-8*b-:8] = substituted[127-8*((b+4*(b%4))%16)-:8];
            end
            for (genvar b = 0; b < 16; b++) begin : mix
                localparam int COLUMN = b / 4 * 4;
                logic [7:0] a0, a1, a2, a3;
                assign a0 = shifted[127-8*b-:8];
                assign a1 = shifted[127-8*(COLUMN+(b+1)%4)-:8];
                assign a2 = shifted[127-8*(COLUMN+(b+2)%4)-:8];
                assign a3 = shifted[127-8*(COLUMN+(b+3)%4)-:8];
                assign mixed[127-8*b-:8] = r == 10 ? a0 : doubled(a0) ^ doubled(a1) ^ a1 ^ a2 ^ a3;
            end
            always_ff @(posedge clk) begin
                key1      <= key;
                key2      <= key1;
                state     <= mixed ^ next;
                state_key <= next;
            end
            assign states[r*128+:128] = state;
            assign keys[r*128+:128]   = state_key;
        end
    endgenerate

    // The key behind the last round.
    logic unused;
    assign unused = &{1'b0, keys[10*128+:128]};
endmodule
