// AES-128 encryption (FIPS 197), one block a cycle. Latency 31: a cycle for the first round key, three for each round. The first
// byte of a block is in the highest bits. S-boxes are block RAM, or logic with `LUTS`.
//
// The driver expands keys: `wr_addr` is {key index, round}, rounds 0 to 10. Round keys can be written and never read.
module hw_aes128 #(
    parameter int KEYS = 16,
    parameter int LUTS = 0,
    localparam int KEY_BITS = KEYS > 1 ? $clog2(KEYS) : 1
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                in_valid,
    input  logic [KEY_BITS-1:0] in_key_index,
    input  logic [127:0]        in_block,
    output logic                out_valid,
    output logic [127:0]        out_block,
    input  logic                wr_en,
    input  logic [KEY_BITS+3:0] wr_addr,
    input  logic [127:0]        wr_data
);
    logic [30:0] valids;
    assign out_valid = valids[30];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[29:0], in_valid};

    // The key's index in each cycle.
    logic [29*KEY_BITS-1:0] indices_q;
    logic [30*KEY_BITS-1:0] indices;
    assign indices = {indices_q, in_key_index};
    always_ff @(posedge clk) indices_q <= indices[29*KEY_BITS-1:0];

    // FIPS 197, 4.2.1.
    function automatic [7:0] doubled(input [7:0] byte_in);
        doubled = {byte_in[6:0], 1'b0} ^ (byte_in[7] ? 8'h1b : 8'h00);
    endfunction

    logic [11*128-1:0] states;  // In front of each round, and the result.
    assign out_block = states[10*128+:128];
    generate
        for (genvar r = 0; r <= 10; r++) begin : round
            logic [127:0]        keys[0:KEYS-1];
            logic [127:0]        state;
            logic [KEY_BITS-1:0] index;
            always_ff @(posedge clk)
                if (wr_en && wr_addr[3:0] == 4'(r)) keys[wr_addr[KEY_BITS+3:4]] <= wr_data;
            assign states[r*128+:128] = state;
            if (r == 0) begin : first
                assign index = in_key_index;
                always_ff @(posedge clk) state <= in_block ^ keys[index];
            end else begin : other
                // The key is there in the third cycle of the round.
                logic [127:0] from, substituted, shifted, mixed, key;
                assign from = states[(r-1)*128+:128];
                assign index  = indices[(3*r-1)*KEY_BITS+:KEY_BITS];
                for (genvar i = 0; i < 8; i++) begin : sboxes
                    hw_sbox #(
                        .LUTS(LUTS)
                    ) pair (
                        .clk,
                        .in_bytes(from[16*i+:16]),
                        .out_bytes(substituted[16*i+:16])
                    );
                end
                // Byte b is row b mod 4 of column b / 4; row n moves n columns to the left.
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
                    key   <= keys[index];
                    state <= mixed ^ key;
                end
            end
        end
    endgenerate
endmodule
