// Hash of `DATA_BITS` bits (whole bytes, the first highest): `ALGORITHM` 0 CRC-32, 1 CRC-16, 2 exclusive or of 16-bit words (an odd
// last byte is the high half of one), 3 the first eight bytes. As `ir::hash`. Latency 2, one a cycle.
module hw_hash #(
    parameter int ALGORITHM = 0,
    parameter int DATA_BITS = 104,
    localparam int HASH_BITS = ALGORITHM == 0 ? 32 : ALGORITHM == 3 ? 64 : 16
) (
    input  logic                 clk,
    input  logic [DATA_BITS-1:0] in_data,
    output logic [HASH_BITS-1:0] out_hash
);
    generate
        if (ALGORITHM <= 1) begin : crc
            hw_crc #(
                .BITS(DATA_BITS),
                .OUT_BITS(HASH_BITS),
                .POLYNOMIAL(ALGORITHM == 0 ? 32'hedb88320 : 32'h0000a001),
                .INITIAL(ALGORITHM == 0 ? 32'hffffffff : 32'h0),
                .FINAL(ALGORITHM == 0 ? 32'hffffffff : 32'h0)
            ) crc (
                .clk,
                .in_data,
                .out_crc(out_hash)
            );
        end else if (ALGORITHM == 2) begin : xors
            localparam int WORDS = (DATA_BITS + 15) / 16;
            localparam int GROUPS = (WORDS + 15) / 16;
            logic [256*GROUPS-1:0] words;
            logic [16*GROUPS-1:0]  parts, parts_next;
            logic [15:0]           all;
            assign words = (256 * GROUPS)'({in_data, {16 * WORDS - DATA_BITS{1'b0}}});
            always_comb begin
                parts_next = '0;
                for (int w = 0; w < 16 * GROUPS; w++) parts_next[16*(w/16)+:16] ^= words[16*w+:16];
                all = '0;
                for (int g = 0; g < GROUPS; g++) all ^= parts[16*g+:16];
            end
            always_ff @(posedge clk) begin
                parts    <= parts_next;
                out_hash <= all;
            end
        end else begin : bytes
            localparam int TAKEN = DATA_BITS < 64 ? DATA_BITS : 64;
            logic [63:0] first;
            always_ff @(posedge clk) {out_hash, first} <= {first, 64'(in_data[DATA_BITS-1-:TAKEN])};
            logic unused;
            assign unused = &{1'b0, in_data};
        end
    endgenerate
endmodule
