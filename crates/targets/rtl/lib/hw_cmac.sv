// AES-CMAC (RFC 4493) of messages of `MESSAGE_BYTES` bytes, at least one, the first in the highest bits. Each block of a message has an
// AES engine of its own with `ROUNDS` and `TURN` (see `hw_aes128`); with ten rounds there may be a message every cycle. Latency: a cycle,
// and for each block that of the engine and one more; 1 + 32 x blocks with ten rounds.
//
// The driver expands keys: `wr_addr` is {key index, round}; rounds 0 to 10 are the round keys, 11 and 12 the subkeys K1 and K2.
// Keys can be written and never read; a block may take one two cycles after its last write.
module hw_cmac #(
    parameter int MESSAGE_BYTES = 16,
    parameter int KEYS = 16,
    parameter int LUTS = 0,
    parameter int ROUNDS = 10,
    parameter int TURN = 31,
    localparam int KEY_BITS = KEYS > 1 ? $clog2(KEYS) : 1
) (
    input  logic                       clk,
    input  logic                       rst,
    input  logic                       in_valid,
    input  logic [KEY_BITS-1:0]        in_key_index,
    input  logic [8*MESSAGE_BYTES-1:0] in_message,
    output logic                       out_valid,
    output logic [127:0]               out_mac,
    input  logic                       wr_en,
    input  logic [KEY_BITS+3:0]        wr_addr,
    input  logic [127:0]               wr_data
);
    localparam int BLOCKS = (MESSAGE_BYTES + 15) / 16;
    localparam int REST = 16 * BLOCKS - MESSAGE_BYTES;
    localparam int LATENCY = 2 + (10 / ROUNDS - 1) * TURN + 3 * ROUNDS;  // Of a block.

    // The last block is completed with a one and zeros, and then takes K2, a whole one K1. Cycle 0 reads the subkey, cycle 1 adds it.
    logic [127:0]        subkeys[0:KEYS-1];
    logic [127:0]        subkey;
    logic [128*BLOCKS-1:0] message, message1;
    logic [KEY_BITS-1:0] index1, index2;
    logic                valid1, valid2;
    logic                write;
    logic [KEY_BITS-1:0] write_index;
    logic [127:0]        write_data;
    generate
        if (REST > 0) assign message = {in_message, 1'b1, {8 * REST - 1{1'b0}}};
        else assign message = in_message;
    endgenerate
    always_ff @(posedge clk) begin
        write       <= wr_en && wr_addr[3:0] == (REST > 0 ? 4'd12 : 4'd11);
        write_index <= wr_addr[KEY_BITS+3:4];
        write_data  <= wr_data;
        if (write) subkeys[write_index] <= write_data;
        subkey   <= subkeys[in_key_index];
        message1 <= message;
        {index2, index1} <= {index1, in_key_index};
        {valid2, valid1} <= rst ? 2'b0 : {valid1, in_valid};
    end

    // What enters each block's pipeline, LATENCY cycles after the block before.
    logic [BLOCKS-1:0]          valids;
    logic [BLOCKS*KEY_BITS-1:0] indices;
    logic [BLOCKS*128-1:0]      inputs;
    logic [(BLOCKS+1)*128-1:0]  chain;
    logic [BLOCKS:0]            chain_valid;
    assign valids[0]             = valid2;
    assign indices[0+:KEY_BITS] = index2;
    assign chain[0+:128]         = '0;
    assign chain_valid[0]        = 1'b0;
    generate
        for (genvar b = 0; b < BLOCKS; b++) begin : block
            logic [127:0] mine, waited, entering;
            assign mine = message1[128*(BLOCKS-1-b)+:128] ^ (b == BLOCKS - 1 ? subkey : 128'b0);
            if (b == 0) begin : first
                assign waited = mine;
            end else begin : later
                // Which messages have been under way for how long: the block before is encrypted in the meantime.
                logic [LATENCY*b-3:0]     under_way;
                logic [KEY_BITS-1:0] waited_index, index;
                logic                valid;
                hw_delay #(
                    .WIDTH(128 + KEY_BITS),
                    .DELAY(LATENCY * b)
                ) line (
                    .clk,
                    .rst,
                    .in_valid(valid1),
                    .in_data({mine, index1}),
                    .out_soon(under_way[LATENCY*b-3]),
                    .out_data({waited, waited_index})
                );
                always_ff @(posedge clk) begin
                    under_way <= rst ? '0 : {under_way[LATENCY*b-4:0], valid1};
                    index     <= waited_index;
                    valid     <= !rst && chain_valid[b];
                end
                assign valids[b] = valid;
                assign indices[b*KEY_BITS+:KEY_BITS] = index;
            end
            always_ff @(posedge clk) entering <= waited ^ chain[b*128+:128];
            assign inputs[b*128+:128] = entering;
            hw_aes128 #(
                .KEYS(KEYS),
                .LUTS(LUTS),
                .ROUNDS(ROUNDS),
                .TURN(TURN)
            ) aes (
                .clk,
                .rst,
                .in_valid(valids[b]),
                .in_key_index(indices[b*KEY_BITS+:KEY_BITS]),
                .in_block(inputs[b*128+:128]),
                .out_valid(chain_valid[b+1]),
                .out_block(chain[(b+1)*128+:128]),
                .wr_en,
                .wr_addr,
                .wr_data
            );
        end
    endgenerate
    assign out_valid = chain_valid[BLOCKS];
    assign out_mac   = chain[BLOCKS*128+:128];
endmodule
