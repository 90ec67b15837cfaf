// Exact-match table: cuckoo hashing with two functions and `SLOTS` entries a bucket (1, 2 or 4), 2 x `SLOTS` x `BUCKETS` entries
// in all. Lookups are at least `GAP` cycles apart. The ways are read in `PASSES` cycles, a power of two of at most `GAP` and 2 x `SLOTS`:
// each pass reads as many ways as there are lanes, which have a memory and a comparison each. Data are read in `PARTS`, of at most `GAP`.
// Latency 8; with a gap `PARTS` more, and with passes `PASSES` more. `out_found` is the `out_hit` of the next cycle.
//
// The bucket is the low bits of CRC-32 (function 0) or CRC-32C (function 1) of the key, see the README.
// Writes: `wr_addr` is {function, slot, bucket}, `wr_data` is {valid, key, data}. Both stay for `HOLD` cycles after the one with `wr_en`,
// and no other write begins in them.
//
// A lookup sees an entry whole or not at all. Each pass has its own cycle for the keys of its ways, all have the same one for the data, which
// are in one memory that is read when the way is known. Writes keep these distances: a key is written as many cycles later as it is read
// later, and parts of data are written as many cycles after the key of the first pass as they are read after that.
module hw_exact #(
    parameter int KEY_BITS = 32,
    parameter int DATA_BITS = 16,
    parameter int BUCKETS = 256,
    parameter int SLOTS = 2,
    parameter int PASSES = 1,
    parameter int PARTS = 1,
    parameter int GAP = 1,
    localparam int BUCKET_BITS = $clog2(BUCKETS),
    localparam int SLOT_BITS = $clog2(SLOTS)
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic                               in_valid,
    input  logic [KEY_BITS-1:0]                in_key,
    output logic                               out_valid,
    output logic                               out_found,
    output logic                               out_hit,
    output logic [DATA_BITS-1:0]               out_data,
    input  logic                               wr_en,
    input  logic [BUCKET_BITS+SLOT_BITS:0]     wr_addr,
    input  logic [DATA_BITS+KEY_BITS:0]        wr_data
);
    localparam int HASH_BITS = (KEY_BITS + 7) / 8 * 8;
    localparam int WAYS = 2 * SLOTS;
    localparam int LANES = WAYS / PASSES;
    localparam int GROUPS = (KEY_BITS + 7) / 8;
    localparam int ENTRIES = WAYS * BUCKETS;
    localparam int ROWS = PASSES * BUCKETS;
    localparam int ROW_BITS = $clog2(ROWS);
    localparam int ROWS_A_PASS = LANES == 1 ? 1 : 2;  // One lane reads for one function, which the row's highest bit tells.

    // The cycles in which the memories take their addresses: that of keys in the first pass, that of data, which is where the way is known,
    // or with a gap from the next cycle on.
    localparam int KEY_READ = PASSES == 1 ? 2 : 3;
    localparam int DATA_READ = PASSES == 1 ? 6 : 6 + PASSES;
    localparam int LATE = GAP == 1 ? 0 : PARTS;  // The last part, behind `DATA_READ`.
    localparam int HOLD = DATA_READ + LATE - 2;  // With passes, writes are a cycle later.

    logic [DATA_READ+LATE+1:0] valids;
    assign out_valid = valids[DATA_READ+LATE+1];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[DATA_READ+LATE:0], in_valid};

    // Cycles 0 and 1: both functions.
    logic [2*BUCKET_BITS-1:0] buckets;
    hw_crc #(
        .BITS(HASH_BITS),
        .OUT_BITS(BUCKET_BITS),
        .POLYNOMIAL(32'hedb88320)
    ) function0 (
        .clk,
        .in_data(HASH_BITS'(in_key)),
        .out_crc(buckets[0+:BUCKET_BITS])
    );
    hw_crc #(
        .BITS(HASH_BITS),
        .OUT_BITS(BUCKET_BITS),
        .POLYNOMIAL(32'h82f63b78)
    ) function1 (
        .clk,
        .in_data(HASH_BITS'(in_key)),
        .out_crc(buckets[BUCKET_BITS+:BUCKET_BITS])
    );

    // From cycle `KEY_READ` on, a pass each: the row of each function whose ways it reads. The key waits for the memories, the buckets for
    // the data's.
    logic [ROWS_A_PASS-1:0][ROW_BITS-1:0] rows;
    logic [KEY_BITS-1:0]      key;
    logic [2*BUCKET_BITS-1:0] waited;
    generate
        if (PASSES == 1) begin : at_once
            logic [KEY_BITS-1:0]      key1, key2, key3;
            logic [8*BUCKET_BITS-1:0] waiting;
            assign rows   = buckets;
            assign waited = waiting[8*BUCKET_BITS-1-:2*BUCKET_BITS];
            always_ff @(posedge clk) begin
                {key, key3, key2, key1} <= {key3, key2, key1, in_key};
                waiting <= {waiting[6*BUCKET_BITS-1:0], buckets};
            end
        end else begin : passes
            logic [$clog2(PASSES)-1:0] pass, next_pass;
            logic [2*BUCKET_BITS-1:0]  held;
            assign next_pass = valids[1] ? '0 : pass + 1'b1;
            always_ff @(posedge clk) begin
                pass <= next_pass;
                if (valids[1]) held <= buckets;
            end
            if (LANES == 1) begin : only
                logic [BUCKET_BITS-1:0] bucket;
                assign rows = {pass, bucket};
                always_ff @(posedge clk) begin
                    if (valids[1]) bucket <= buckets[0+:BUCKET_BITS];
                    else bucket <= next_pass[$clog2(PASSES)-1] ? held[BUCKET_BITS+:BUCKET_BITS] : held[0+:BUCKET_BITS];
                end
            end else begin : some
                assign rows = {pass, held[BUCKET_BITS+:BUCKET_BITS], pass, held[0+:BUCKET_BITS]};
            end
            logic [KEY_BITS-1:0] asked;
            always_ff @(posedge clk) asked <= in_key;
            hw_delay #(
                .WIDTH(KEY_BITS),
                .DELAY(KEY_READ + 1),
                .GAP(GAP)
            ) keys (
                .clk,
                .rst,
                .in_valid(valids[0]),
                .in_data(asked),
                .out_soon(valids[KEY_READ-1]),
                .out_data(key)
            );
            hw_delay #(
                .WIDTH(2 * BUCKET_BITS),
                .DELAY(DATA_READ - 2),
                .GAP(GAP)
            ) bucket (
                .clk,
                .rst,
                .in_valid(valids[1]),
                .in_data(buckets),
                .out_soon(valids[DATA_READ-3]),
                .out_data(waited)
            );
        end
    endgenerate

    // A write is at the memory of its key in its own cycle, or as many cycles after the next one as the way's pass is.
    logic [HOLD-1:0] writing = '0;  // Nothing is written before the reset arrives.
    logic            key_wr_en;
    always_ff @(posedge clk) writing <= rst ? '0 : {writing[HOLD-2:0], wr_en};
    generate
        if (PASSES == 1) assign key_wr_en = wr_en;
        else begin : later
            logic [PASSES-1:0] written;
            assign written   = {writing[PASSES-2:0], wr_en};
            always_ff @(posedge clk) key_wr_en <= !rst && written[wr_addr[BUCKET_BITS+:$clog2(PASSES)]];
        end
    endgenerate

    // Two cycles after each read: comparison, eight bits at a time, then all.
    logic [WAYS-1:0] hits;
    generate
        for (genvar l = 0; l < LANES; l++) begin : lane
            logic [KEY_BITS:0]   entry;
            logic [ROW_BITS-1:0] row;
            logic                mine;
            assign row = rows[l*PASSES/SLOTS];
            if (LANES == 1) begin : only
                assign mine = 1'b1;
            end else begin : one
                assign mine = wr_addr[BUCKET_BITS+SLOT_BITS:ROW_BITS] == (BUCKET_BITS + SLOT_BITS + 1 - ROW_BITS)'(l);
            end
            hw_ram #(
                .WIDTH(1 + KEY_BITS),
                .DEPTH(ROWS),
                .BLOCK(ROWS > 32 && ROWS * (1 + KEY_BITS) > 2048)
            ) keys (
                .clk,
                .rd_addr(row),
                .rd_data(entry),
                .wr_en(key_wr_en && mine),
                .wr_addr(wr_addr[ROW_BITS-1:0]),
                .wr_data(wr_data[DATA_BITS+:KEY_BITS+1])
            );
            logic [8*GROUPS-1:0] differs;
            logic [GROUPS-1:0]   equal;
            logic                valid, hit;
            assign differs = (8 * GROUPS)'(entry[KEY_BITS-1:0]) ^ (8 * GROUPS)'(key);
            always_ff @(posedge clk) begin
                for (int g = 0; g < GROUPS; g++) equal[g] <= differs[8*g+:8] == '0;
                valid <= entry[KEY_BITS];
                hit   <= valid && &equal;
            end
            // With the last pass's hit come those of the passes before.
            if (PASSES == 1) assign hits[l] = hit;
            else begin : folded
                logic [PASSES-2:0] earlier;
                always_ff @(posedge clk) earlier <= (PASSES - 1)'({hit, earlier} >> 1);
                assign hits[l*PASSES+:PASSES] = {hit, earlier};
            end
        end
    endgenerate

    // Cycle `DATA_READ`: the first way that matches.
    logic [SLOT_BITS:0]             first;
    logic [BUCKET_BITS+SLOT_BITS:0] chosen, row;
    logic [LATE:0]                  found;
    always_comb begin
        first = '0;
        for (int w = WAYS - 1; w >= 0; w--) if (hits[w]) first = (SLOT_BITS + 1)'(w);
    end
    assign chosen    = {first, first[SLOT_BITS] ? waited[BUCKET_BITS+:BUCKET_BITS] : waited[0+:BUCKET_BITS]};
    assign out_found = found[LATE];
    always_ff @(posedge clk) {out_hit, found} <= {found, |hits};

    // Its data, or their parts one after the other.
    generate
        if (GAP == 1) begin : soon
            assign row = chosen;
        end else begin : registered
            always_ff @(posedge clk) if (valids[DATA_READ-1]) row <= chosen;
        end
        if (PARTS == 1) begin : whole
            hw_ram #(
                .WIDTH(DATA_BITS),
                .DEPTH(ENTRIES),
                .BLOCK(ENTRIES > 32 && ENTRIES * DATA_BITS > 2048)
            ) datas (
                .clk,
                .rd_addr(row),
                .rd_data(out_data),
                .wr_en(writing[HOLD-1]),
                .wr_addr,
                .wr_data(wr_data[DATA_BITS-1:0])
            );
        end else begin : in_parts
            localparam int PART_BITS = (DATA_BITS + PARTS - 1) / PARTS;
            logic                           part_wr_en;
            logic [$clog2(PARTS)-1:0]       part, next_part, wr_part;
            logic [PARTS*PART_BITS-1:0]     wr_parts;
            logic [PART_BITS-1:0]           last, written;
            logic [(PARTS-1)*PART_BITS-1:0] earlier;
            assign wr_parts = (PARTS * PART_BITS)'(wr_data[DATA_BITS-1:0]);
            assign out_data = DATA_BITS'({last, earlier});
            always_ff @(posedge clk) begin
                part       <= valids[DATA_READ-1] ? '0 : part + 1'b1;
                next_part  <= writing[HOLD-PARTS-2] ? '0 : next_part + 1'b1;
                wr_part    <= next_part;
                part_wr_en <= !rst && |writing[HOLD-2-:PARTS];
                written    <= wr_parts[PART_BITS*next_part+:PART_BITS];
                earlier    <= ((PARTS - 1) * PART_BITS)'({last, earlier} >> PART_BITS);
            end
            hw_ram #(
                .WIDTH(PART_BITS),
                .DEPTH(PARTS * ENTRIES),
                .BLOCK(1'b1)
            ) datas (
                .clk,
                .rd_addr({part, row}),
                .rd_data(last),
                .wr_en(part_wr_en),
                .wr_addr({wr_part, wr_addr}),
                .wr_data(written)
            );
        end
    endgenerate
endmodule
