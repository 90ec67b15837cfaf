// Exact-match table: cuckoo hashing with two functions and `SLOTS` entries a bucket (1, 2 or 4), 2 x `SLOTS` x `BUCKETS` entries
// in all. Latency 7, one lookup a cycle.
//
// The bucket is the low bits of CRC-32 (function 0) or CRC-32C (function 1) of the key, see the README.
// Writes: `wr_addr` is {function, slot, bucket}, `wr_data` is {valid, key, data}.
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

    logic [6:0] valids;
    assign out_valid = valids[6];
    always_ff @(posedge clk) valids <= rst ? '0 : {valids[5:0], in_valid};

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

    // Cycles 4 and 5: comparison, eight bits at a time, then all. Cycle 6: the entry that matches; two that do are equal.
    logic [WAYS-1:0]           hits;
    logic [WAYS*DATA_BITS-1:0] datas;
    generate
        for (genvar w = 0; w < WAYS; w++) begin : way
            logic [DATA_BITS+KEY_BITS:0] entry;
            hw_ram #(
                .WIDTH(1 + KEY_BITS + DATA_BITS),
                .DEPTH(BUCKETS)
            ) entries (
                .clk,
                .rd_addr(buckets[w/SLOTS*BUCKET_BITS+:BUCKET_BITS]),
                .rd_data(entry),
                .wr_en(wr_en && wr_addr[BUCKET_BITS+SLOT_BITS:BUCKET_BITS] == (SLOT_BITS + 1)'(w)),
                .wr_addr(wr_addr[BUCKET_BITS-1:0]),
                .wr_data
            );
            logic [8*GROUPS-1:0] differs;
            logic [GROUPS-1:0]   equal;
            logic                valid, hit;
            logic [DATA_BITS-1:0] data5, data6;
            assign differs = (8 * GROUPS)'(entry[DATA_BITS+:KEY_BITS]) ^ (8 * GROUPS)'(key4);
            assign hits[w] = hit;
            assign datas[w*DATA_BITS+:DATA_BITS] = data6;
            always_ff @(posedge clk) begin
                for (int g = 0; g < GROUPS; g++) equal[g] <= differs[8*g+:8] == '0;
                valid <= entry[DATA_BITS+KEY_BITS];
                data5 <= entry[DATA_BITS-1:0];
                hit   <= valid && &equal;
                data6 <= data5;
            end
        end
    endgenerate

    logic [DATA_BITS-1:0] data;
    always_comb begin
        data = '0;
        for (int w = 0; w < WAYS; w++) data |= datas[w*DATA_BITS+:DATA_BITS] & {DATA_BITS{hits[w]}};
    end
    always_ff @(posedge clk) begin
        out_hit  <= |hits;
        out_data <= data;
    end
endmodule
