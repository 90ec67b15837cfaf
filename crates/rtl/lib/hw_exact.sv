// Exact-match table: cuckoo hashing with two functions and `SLOTS` entries a bucket (1, 2 or 4), 2 x `SLOTS` x `BUCKETS` entries
// in all. Latency 8, one lookup a cycle.
//
// The bucket is the low bits of CRC-32 (function 0) or CRC-32C (function 1) of the key, see the README.
// Writes: `wr_addr` is {function, slot, bucket}, `wr_data` is {valid, key, data}. Both stay for four cycles after the one with `wr_en`, and
// no other write begins in them.
//
// Each way has a memory of its keys; the data of all ways are in one memory, which is read when the way is known. That is four cycles
// after the keys have been read, and data are written four cycles after their key: a lookup sees an entry whole or not at all.
module hw_exact #(
    parameter int KEY_BITS = 32,
    parameter int DATA_BITS = 16,
    parameter int BUCKETS = 256,
    parameter int SLOTS = 2,
    localparam int BUCKET_BITS = $clog2(BUCKETS),
    localparam int SLOT_BITS = $clog2(SLOTS)
) (
    input  logic                               clk,
    input  logic                               rst,
    input  logic                               in_valid,
    input  logic [KEY_BITS-1:0]                in_key,
    output logic                               out_valid,
    output logic                               out_hit,
    output logic [DATA_BITS-1:0]               out_data,
    input  logic                               wr_en,
    input  logic [BUCKET_BITS+SLOT_BITS:0]     wr_addr,
    input  logic [DATA_BITS+KEY_BITS:0]        wr_data
);
    localparam int HASH_BITS = (KEY_BITS + 7) / 8 * 8;
    localparam int WAYS = 2 * SLOTS;
    localparam int GROUPS = (KEY_BITS + 7) / 8;

    localparam int ENTRIES = WAYS * BUCKETS;
    localparam int KEY_READ = 2, DATA_READ = 6;  // The cycles in which the memories take their addresses.

    logic [7:0] valids;
    assign out_valid = valids[7];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[6:0], in_valid};

    // Cycles 0 and 1: both functions. Cycles 2 and 3: the memories. The key waits.
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
    logic [KEY_BITS-1:0] key1, key2, key3, key4;
    always_ff @(posedge clk) {key4, key3, key2, key1} <= {key3, key2, key1, in_key};

    // Cycles 4 and 5: comparison, eight bits at a time, then all.
    logic [WAYS-1:0] hits;
    generate
        for (genvar w = 0; w < WAYS; w++) begin : way
            logic [KEY_BITS:0] entry;
            hw_ram #(
                .WIDTH(1 + KEY_BITS),
                .DEPTH(BUCKETS)
            ) keys (
                .clk,
                .rd_addr(buckets[w/SLOTS*BUCKET_BITS+:BUCKET_BITS]),
                .rd_data(entry),
                .wr_en(wr_en && wr_addr[BUCKET_BITS+SLOT_BITS:BUCKET_BITS] == (SLOT_BITS + 1)'(w)),
                .wr_addr(wr_addr[BUCKET_BITS-1:0]),
                .wr_data(wr_data[DATA_BITS+:KEY_BITS+1])
            );
            logic [8*GROUPS-1:0] differs;
            logic [GROUPS-1:0]   equal;
            logic                valid, hit;
            assign differs = (8 * GROUPS)'(entry[KEY_BITS-1:0]) ^ (8 * GROUPS)'(key4);
            assign hits[w] = hit;
            always_ff @(posedge clk) begin
                for (int g = 0; g < GROUPS; g++) equal[g] <= differs[8*g+:8] == '0;
                valid <= entry[KEY_BITS];
                hit   <= valid && &equal;
            end
        end
    endgenerate

    // Cycles 6 and 7: the data of the first way that matches. The buckets have waited.
    localparam int WAIT = DATA_READ - KEY_READ;
    logic [WAIT*2*BUCKET_BITS-1:0] waiting;
    logic [2*BUCKET_BITS-1:0]      waited;
    logic [SLOT_BITS:0]            first;
    logic [WAIT-1:0]               writing;
    logic                          found;
    assign waited = waiting[WAIT*2*BUCKET_BITS-1-:2*BUCKET_BITS];
    always_comb begin
        first = '0;
        for (int w = WAYS - 1; w >= 0; w--) if (hits[w]) first = (SLOT_BITS + 1)'(w);
    end
    always_ff @(posedge clk) begin
        waiting          <= {waiting[(WAIT-1)*2*BUCKET_BITS-1:0], buckets};
        writing          <= rst ? '0 : {writing[WAIT-2:0], wr_en};
        {out_hit, found} <= {found, |hits};
    end
    hw_ram #(
        .WIDTH(DATA_BITS),
        .DEPTH(ENTRIES),
        .BLOCK(ENTRIES > 32 && ENTRIES * DATA_BITS > 1024)
    ) datas (
        .clk,
        .rd_addr({first, first[SLOT_BITS] ? waited[BUCKET_BITS+:BUCKET_BITS] : waited[0+:BUCKET_BITS]}),
        .rd_data(out_data),
        .wr_en(writing[WAIT-1]),
        .wr_addr,
        .wr_data(wr_data[DATA_BITS-1:0])
    );
endmodule
