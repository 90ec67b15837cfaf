// AES-128 encryption (FIPS 197). The first byte of a block is in the highest bits. S-boxes are block RAM, or logic with `LUTS`.
//
// There is hardware for `ROUNDS` of the ten rounds (1, 2, 5 or 10). A block passes it 10 / ROUNDS times, every `TURN` cycles, which are at
// least 3 * ROUNDS + 1. No block must enter a multiple of TURN cycles behind another one that passes again. With all ten rounds a
// block may enter every cycle, and `TURN` does not matter. Latency: a cycle for the first round key, TURN for each time but the
// last, and three for each round in hardware; 31 with ten.
//
// The driver expands keys: `wr_addr` is {key index, round}, rounds 0 to 10. Round keys can be written and never read;
// a block may take one two cycles after its last write.
module hw_aes128 #(
    parameter int KEYS = 16,
    parameter int LUTS = 0,
    parameter int ROUNDS = 10,
    parameter int TURN = 31,
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
    localparam int STEPS = 3 * ROUNDS;  // Cycles from the first state to the last one.
    localparam int TAG_BITS = 5 + KEY_BITS;

    // FIPS 197, 4.2.1.
    function automatic [7:0] doubled(input [7:0] byte_in);
        doubled = {byte_in[6:0], 1'b0} ^ (byte_in[7] ? 8'h1b : 8'h00);
    endfunction

    // Beside each state: whether there is a block, how many rounds it had when it entered, and its key.
    logic [STEPS*TAG_BITS-1:0]     tags_q;
    logic [(STEPS+1)*TAG_BITS-1:0] tags;
    logic [(ROUNDS+1)*128-1:0]     states;  // In front of each round, and behind the last one.
    logic [TAG_BITS-1:0]           tag, again, leaving;
    logic [127:0]                  state, again_state;  // What enters again has passed.
    logic                          left, left_valid;
    logic [3:0]                    left_rounds;
    assign tags    = {tags_q, tag};
    assign leaving = tags[STEPS*TAG_BITS+:TAG_BITS];
    assign {left_valid, left_rounds} = leaving[TAG_BITS-1-:5];
    assign left      = left_rounds == 4'(10 - ROUNDS);
    assign out_valid = left_valid && left;
    assign out_block = states[ROUNDS*128+:128];

    // Keys are written a cycle later, with an enable for each round's.
    logic [10:0]         writes;
    logic [KEY_BITS+3:0] write_addr;
    logic [127:0]        write_data;
    always_ff @(posedge clk) begin
        for (int r = 0; r <= 10; r++) writes[r] <= wr_en && wr_addr[3:0] == 4'(r);
        write_addr <= wr_addr;
        write_data <= wr_data;
    end

    // The first round key.
    logic [127:0] first_keys[0:KEYS-1];
    assign states[0+:128] = state;
    always_ff @(posedge clk) begin
        if (writes[0]) first_keys[write_addr[KEY_BITS+3:4]] <= write_data;
        state  <= ROUNDS == 10 || in_valid ? in_block ^ first_keys[in_key_index] : again_state;
        tag    <= ROUNDS == 10 || in_valid ? {in_valid, 4'd0, in_key_index} : again;
        tags_q <= tags[STEPS*TAG_BITS-1:0];
        if (rst) begin
            tag[TAG_BITS-1] <= 1'b0;
            for (int i = 1; i <= STEPS; i++) tags_q[i*TAG_BITS-1] <= 1'b0;
        end
    end
    generate
        if (ROUNDS == 10) begin : once
            logic unused;
            assign again       = '0;
            assign again_state = '0;
            assign unused      = &{1'b0, again, again_state, leaving[KEY_BITS-1:0], write_addr[3:0]};
        end else begin : turns
            localparam int REST = TURN - STEPS - 1;  // Cycles from the last state until it enters again.
            logic [TAG_BITS+127:0]              next;
            logic [(REST+1)*(TAG_BITS+128)-1:0] line;
            assign next = {left_valid && !left, left_rounds + 4'(ROUNDS), leaving[KEY_BITS-1:0], out_block};
            if (REST == 0) begin : directly
                assign line = next;
            end else begin : waits
                logic [REST*(TAG_BITS+128)-1:0] line_q;
                assign line = {line_q, next};
                always_ff @(posedge clk) begin
                    line_q <= line[REST*(TAG_BITS+128)-1:0];
                    if (rst) for (int i = 1; i <= REST; i++) line_q[i*(TAG_BITS+128)-1] <= 1'b0;
                end
            end
            assign {again, again_state} = line[REST*(TAG_BITS+128)+:TAG_BITS+128];
        end

        for (genvar r = 1; r <= ROUNDS; r++) begin : round
            logic [127:0]        from, substituted, shifted, mixed, key, result;
            logic [3:0]          rounds;
            logic [KEY_BITS-1:0] index;
            logic                last;  // FIPS 197, 5.1: the last round does not mix columns.
            assign from = states[(r-1)*128+:128];
            assign states[r*128+:128] = result;
            // The key is there in the third cycle of the round.
            if (ROUNDS == 10) begin : own
                logic [127:0] keys[0:KEYS-1];
                assign {rounds, index} = tags[(3*r-2)*TAG_BITS+:TAG_BITS-1];
                assign last = r == 10;
                always_ff @(posedge clk) begin
                    if (writes[r]) keys[write_addr[KEY_BITS+3:4]] <= write_data;
                    key <= keys[index];
                end
                logic unused;
                assign unused = &{1'b0, rounds};
            end else begin : all
                (* ram_style = "block", no_rw_check *) logic [127:0] keys[0:(1<<(KEY_BITS+4))-1];
                logic [127:0] read;
                logic         write, unused;
                assign unused = &{1'b0, writes};
                assign {rounds, index} = tags[(3*r-3)*TAG_BITS+:TAG_BITS-1];
                assign last = r == ROUNDS && tags[(3*r-1)*TAG_BITS+KEY_BITS+:4] == 4'(10 - ROUNDS);
                always_ff @(posedge clk) begin
                    write <= wr_en;
                    if (write) keys[write_addr] <= write_data;
                    read <= keys[{index, rounds + 4'(r)}];
                    key  <= read;
                end
            end
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
                assign mixed[127-8*b-:8] = last ? a0 : doubled(a0) ^ doubled(a1) ^ a1 ^ a2 ^ a3;
            end
            always_ff @(posedge clk) result <= mixed ^ key;
        end
    endgenerate
endmodule
